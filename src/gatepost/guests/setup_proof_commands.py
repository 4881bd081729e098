"""
The live proof of `gatepost setup`: one test item for each agent, and what becomes of it.

    pushed    the item is stored
    woken     a session of the agent works
    shown     a hook has printed the item, and it is under a claim
    proved    a reply of the model has shown that it was read

A session has to be there first: a program must be started, and perhaps be told that our hooks may be trusted. So this
waits for one, and says what it waits for.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gatepost.cli.gateway_or_store import CommandConnection
from gatepost.guests.reachability import ARMED, PROVED
from gatepost.guests.session import WORKING
from gatepost.inbox.event import ItemState

if TYPE_CHECKING:
    from gatepost.residents.agent_api import SessionView

#: seconds between two looks
_INTERVAL: Final = 0.1
_TEXT: Final = "This is a test of `gatepost setup`. Nothing is to be done: answer with one word."
#: how long the item is worth reading
_TTL: Final = "15m"
_STEPS: Final = ("woken", "shown", "proved")


@dataclass(slots=True)
class WakeTest:
    """The test of one agent. The steps are in seconds after the push."""

    #: the programs in which the agent may have sessions
    hosts: tuple[str, ...]
    title: str
    agent: str
    session: str | None = None
    event_id: str | None = None
    pushed_at: float = 0.0
    steps: dict[str, float] = field(default_factory=dict)

    @property
    def is_proved(self) -> bool:
        return "proved" in self.steps

    def describe(self) -> str:
        """Return what has happened, as a line for a person."""
        if self.event_id is None:
            return f"{self.title}: not tested, because no session of {self.agent!r} could be woken"
        steps = ["pushed", *(f"{name} in {seconds:.1f} s" for name, seconds in self.steps.items())]
        return f"{self.title}: {', '.join(steps)}{'' if self.is_proved else ', and not proved'}"


def prove(
    connection: CommandConnection,
    proofs: Iterable[WakeTest],
    *,
    timeout: float,
    report: Callable[[WakeTest], None],
) -> None:
    """Test agents until all are proved, or the time is up. `report` is called at each step."""
    deadline, remaining = time.monotonic() + timeout, list(proofs)
    while remaining and time.monotonic() < deadline:
        for proof in remaining:
            if proof.event_id is None:
                _begin(connection, proof, report)
            else:
                _follow(connection, proof, report)
        remaining = [proof for proof in remaining if not proof.is_proved]
        if remaining:
            time.sleep(_INTERVAL)


def _begin(connection: CommandConnection, proof: WakeTest, report: Callable[[WakeTest], None]) -> None:
    """Push the item if a session can be woken now."""
    from gatepost.inbox.push.api import PushEvent

    reachable = [entry for entry in _list_sessions(connection, proof) if entry.reachability.state in (ARMED, PROVED)]
    session = next(iter(reachable), None)
    if session is None or session.state == WORKING:
        return
    proof.session, proof.pushed_at = session.id, time.monotonic()
    push = PushEvent(to=proof.agent, source="setup", subject="Test", content=_TEXT, ttl=_TTL)
    proof.event_id = connection.send(push).event_id
    report(proof)


def _follow(connection: CommandConnection, proof: WakeTest, report: Callable[[WakeTest], None]) -> None:
    """Note the steps that have happened since the last look."""
    from gatepost.inbox.event_api import ShowEvent

    assert proof.event_id is not None
    passed = time.monotonic() - proof.pushed_at
    state = next(item.state for item in connection.send(ShowEvent(id=proof.event_id)).recipients)
    is_working = any(session.state == WORKING for session in _list_sessions(connection, proof))
    done = {
        "woken": is_working or state is not ItemState.PENDING,
        "shown": state in (ItemState.CLAIMED, ItemState.DELIVERED),
        "proved": state is ItemState.DELIVERED,
    }
    for name in _STEPS:
        if done[name] and name not in proof.steps:
            proof.steps[name] = passed
            report(proof)


def _list_sessions(connection: CommandConnection, proof: WakeTest) -> "list[SessionView]":
    """Return the sessions of the agent in its programs, the newest first."""
    from gatepost.residents.agent_api import ListSessions

    page = connection.send(ListSessions(agent=proof.agent))
    return [session for session in page.items if session.host in proof.hosts]
