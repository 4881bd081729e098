"""
Records that go through the ports of transports: the status of one, an event on its way to a courier, and an entry of a
queue that other programs fill.

They are not in `ports.py`, because every hook imports that page and none of these.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gatepost.inbox.event import Event


@dataclass(frozen=True, slots=True)
class TransportStatus:
    """The status of a transport: up, or degraded and why."""

    is_degraded: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscribedEvent:
    """An event on its way to one agent, as its courier receives it."""

    #: None if it cannot be parsed, now and later
    event: "Event | None"
    #: why it cannot be parsed
    error: str = ""
    #: whether it is for every agent
    broadcast: bool = False
    ack: Callable[[], Awaitable[None]]
    #: takes the seconds after which the event may come again
    refuse: Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class QueuedEntry:
    #: the agent that it is for, as the other program wrote it
    agent: str
    raw: bytes
    #: its position, if the queue has one order of all entries
    position: str | None = None


def build_unkept_event(
    event: "Event | None", resync: Callable[[], None], *, error: str = "", broadcast: bool = False
) -> SubscribedEvent:
    """Return an event of a source that keeps no events: `ack` does nothing, and `refuse` calls `resync`."""

    async def ack() -> None:
        pass

    async def refuse(_: float) -> None:
        resync()

    return SubscribedEvent(event=event, error=error, broadcast=broadcast, ack=ack, refuse=refuse)
