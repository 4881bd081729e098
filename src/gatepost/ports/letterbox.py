"""
The letterbox: where programs that know nothing of the gateway leave events for agents.

What is taken out is only set aside until it is settled. Whoever takes next for the same agent is given first what was
taken and never settled, whoever had taken it: so nothing is lost when a taker dies, and what is given begins with the
oldest, always. An entry may therefore be given twice; it has an id by which the second time is recognised.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    #: whose box it was in, as it was written there
    agent: str
    raw: bytes
    #: where it stands, if the letterbox keeps an order of all entries
    place: str | None = None


class Letterbox(Protocol):
    @property
    def road(self) -> str:
        """What entries come by, as in the keys of their events: `redis` or `nats`."""

    async def open(self) -> None:
        """Connect, so that nothing is missed that is left from now on. Unavailable if it cannot be reached."""

    async def take(self, agents: Sequence[str]) -> list[Entry]:
        """
        Set aside some of what lies there for each of these agents, and return it, oldest first. Nothing is returned
        for an agent whose box somebody else is emptying at the moment. Unavailable if it cannot be reached.
        """

    async def settle(self, entries: Sequence[tuple[Entry, str | None]]) -> None:
        """Remove entries; those with a reason are put where somebody can look at them."""

    async def close(self) -> None:
        """Let go of the connection."""

    async def agents(self) -> list[str]:
        """Everybody for whom something lies there or was set aside."""
