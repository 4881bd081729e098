"""The office that the benchmarks write to: its agents, and pushes as they might come."""

import random
import time
from typing import Final

from gatepost.actions import directory
from gatepost.actions.directory import Newcomer
from gatepost.core.entity import Kind
from gatepost.core.event import Push
from gatepost.core.ids import mint
from gatepost.ports import Store, Transaction

AGENTS: Final = 100
CONTENT: Final = "The quarterly figures are in; please look them over before noon. ".ljust(200, ".")

#: what is pushed, in words
TERMS: Final = (
    f"{AGENTS} recipients in turn, {len(CONTENT)} characters of content, no data,"
    " a random dedup key of 32 characters each"
)


def furnish(store: Store, agents: int = AGENTS) -> Store:
    """Make the schema and register the agents."""
    store.migrate()
    store.call(_register, agents)
    return store


def _register(tx: Transaction, agents: int) -> None:
    for number in range(agents):
        directory.register(tx, Newcomer(name=name(number), kind=Kind.AGENT))


def name(number: int) -> str:
    return f"agent-{number % AGENTS}"


def wish(number: int, source: str = "bench") -> Push:
    return Push(to=name(number), source=source, content=CONTENT, key=key())


def key() -> str:
    return f"{random.getrandbits(128):032x}"


def event_id() -> str:
    return mint("evt", time.time_ns() // 1000, random.getrandbits(80))
