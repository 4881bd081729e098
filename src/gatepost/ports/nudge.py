"""Guests of this machine, and how one that is idle is told that something waits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """A session of an agent that lives in another program, as its hooks noted it."""

    session: str
    agent: str
    #: whether it has nothing to do; one of which nothing is known is not idle
    idle: bool = False
    #: another number whenever its hooks have noted something
    noted: int = 0


Guests = Callable[[], Sequence[Guest]]


class Nudge(Protocol):
    async def __call__(self, guest: Guest, text: str) -> None:
        """Tell a guest that something waits. Unavailable if it cannot be told."""
