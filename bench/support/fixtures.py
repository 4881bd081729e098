"""The agents and the pushes that the benchmarks use."""

import random
import time
from typing import Final

from gatepost.core.ids import mint
from gatepost.core.ports import Store, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox.event import Push
from gatepost.inbox.push.api import PushEvent

AGENTS: Final = 100
CONTENT: Final = "The quarterly figures are in; please look them over before noon. ".ljust(200, ".")

#: what is pushed, in words
PUSH_TERMS: Final = (
    f"{AGENTS} recipients in turn, {len(CONTENT)} characters of content, no data,"
    " a random dedup key of 32 characters each"
)


def create_agents(store: Store, agents: int = AGENTS) -> Store:
    """Make the schema and register the agents."""
    store.migrate()
    store.run_sync(_register_agents, agents)
    return store


def _register_agents(tx: Transaction, agents: int) -> None:
    for number in range(agents):
        directory.register(tx, EntitySpec(name=get_agent_name(number), kind=EntityKind.AGENT))


def get_agent_name(number: int) -> str:
    return f"agent-{number % AGENTS}"


def build_push(number: int, source: str = "bench") -> Push:
    return Push(to=get_agent_name(number), source=source, content=CONTENT, dedup_key=create_key())


def build_request(number: int, source: str = "bench") -> PushEvent:
    return PushEvent(to=get_agent_name(number), source=source, content=CONTENT, dedup_key=create_key())


def create_key() -> str:
    return f"{random.getrandbits(128):032x}"


def create_event_id() -> str:
    return mint("evt", time.time_ns() // 1000, random.getrandbits(80))
