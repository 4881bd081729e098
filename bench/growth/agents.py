"""The cost of calls against the number of agents that are registered, each with an item that waits in its inbox."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial

from bench.claim import create_file
from bench.growth._curve import Effort, Plot, Step, build_timer, measure_curves
from bench.growth.backlog import measure_push, measure_start
from bench.support import fixtures
from gatepost.api import ListAccounts, ListAgents, ListEntities, ListItems, PostMessage, ShowAgent, ShowOverview
from gatepost.app import open_store, register_administrator
from gatepost.client import LocalClient
from gatepost.core.ports import Store, Transaction
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import AgentConfig
from gatepost.spaces import actions as spaces

_BATCH = 1_000
_SPACE = "office"


def main(effort: Effort) -> Iterator[Plot]:
    with ExitStack() as stack:
        steps = {}
        for size in effort.agents:
            url = stack.enter_context(create_file())
            store = stack.enter_context(closing(open_store(url)))
            _create_agents(store, size)
            steps[size] = _build_steps(url, LocalClient(store))
        yield Plot("agents", "Agents that sleep, SQLite", "agents", measure_curves(steps, effort))


def _create_agents(store: Store, count: int) -> None:
    fixtures.create_agents(store, agents=2)
    register_administrator(store)
    for first in range(0, count, _BATCH):
        store.run_sync(_create_batch, first, min(count, first + _BATCH))
    store.run_sync(spaces.create, name=_SPACE, members=[fixtures.get_agent_name(0), fixtures.get_agent_name(1)])


def _create_batch(tx: Transaction, first: int, last: int) -> None:
    names = [f"sleeper-{number}" for number in range(first, last)]
    for name in names:
        agents.make_resident(tx, EntitySpec(name=name, kind=EntityKind.AGENT), AgentConfig(instructions="Sleep."))
    push.push_all(tx, [Push(to=name, source="bench", content=fixtures.CONTENT) for name in names])


def _build_steps(url: str, client: LocalClient) -> dict[str, Step]:
    name = fixtures.get_agent_name(0)
    return {
        "PushEvent": partial(measure_push, client),
        "PostMessage to one agent": build_timer(client.send, PostMessage(id=_SPACE, sender=name, content="Hello")),
        "ListAgents, first page": build_timer(client.send, ListAgents()),
        "ListEntities, first page": build_timer(client.send, ListEntities()),
        "ShowAgent": build_timer(client.send, ShowAgent(name=name)),
        "ListItems, first page": build_timer(client.send, ListItems()),
        "ShowOverview": build_timer(client.send, ShowOverview(name="admin")),
        "ListAccounts": build_timer(client.send, ListAccounts()),
        "start: open, one push": partial(measure_start, url),
    }
