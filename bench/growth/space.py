"""The cost of calls against the number of messages of a space."""

from collections.abc import Iterator
from contextlib import ExitStack, closing

from bench.claim import create_file
from bench.growth._curve import Effort, Plot, Step, build_timer, measure_curves
from bench.support import fixtures
from gatepost.api import ListMembers, ListSpaces, PostMessage, ReadMessages, ShowSpace
from gatepost.app import open_store
from gatepost.client import LocalClient
from gatepost.core.ports import Store, Transaction
from gatepost.spaces import actions as spaces

_BATCH = 1_000
_SPACE = "office"


def main(effort: Effort) -> Iterator[Plot]:
    with ExitStack() as stack:
        steps = {}
        for size in effort.messages:
            store = stack.enter_context(closing(open_store(stack.enter_context(create_file()))))
            _create_messages(store, size)
            steps[size] = _build_steps(LocalClient(store), size)
        yield Plot(
            "space", "One space with two members, SQLite", "messages of the space", measure_curves(steps, effort)
        )


def _create_messages(store: Store, count: int) -> None:
    fixtures.create_agents(store, agents=2)
    store.run_sync(spaces.create, name=_SPACE, members=[fixtures.get_agent_name(0), fixtures.get_agent_name(1)])
    for first in range(0, count, _BATCH):
        store.run_sync(_post_batch, first, min(count, first + _BATCH))


def _post_batch(tx: Transaction, first: int, last: int) -> None:
    for number in range(first, last):
        spaces.post(tx, _SPACE, sender=fixtures.get_agent_name(0), content=f"{number}: {fixtures.CONTENT}")


def _build_steps(client: LocalClient, size: int) -> dict[str, Step]:
    name = fixtures.get_agent_name(0)
    return {
        "PostMessage": build_timer(client.send, PostMessage(id=_SPACE, sender=name, content="Hello")),
        "ReadMessages, the last": build_timer(client.send, ReadMessages(id=_SPACE)),
        "ReadMessages, in the middle": build_timer(client.send, ReadMessages(id=_SPACE, before_seq=size // 2)),
        "ListSpaces": build_timer(client.send, ListSpaces(member=name)),
        "ShowSpace": build_timer(client.send, ShowSpace(id=_SPACE)),
        "ListMembers": build_timer(client.send, ListMembers(id=_SPACE)),
    }
