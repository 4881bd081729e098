"""A guest is an agent that lives in another program, and visits in sessions of that program."""

from typing import Final, NamedTuple

from gatepost.core.times import Instant

#: what a session is doing: its agent is at work, or waits for its person, or is gone
WORKING: Final = "working"
IDLE: Final = "idle"
ENDED: Final = "ended"


class GuestSession(NamedTuple):
    """A session as the store knows it. (Named tuples are made ten times faster than dataclasses; a guest waits.)"""

    #: the id that its program gave it
    session: str
    agent: str
    #: the program: `claude`, `codex`, `gemini`, `cursor`
    host: str
    state: str
    started_at: Instant
    seen_at: Instant


class Guest(NamedTuple):
    """A session of a guest on this machine, as its hooks noted it."""

    session: str
    agent: str
    #: whether it has nothing to do; one of which nothing is known is not idle
    is_idle: bool = False
    #: another number whenever its hooks have noted something
    revision: int = 0
