"""
Parcels: events on their way to one agent, as its courier is handed them.

A source of parcels may lose, repeat and reorder, as a transport may. One that keeps what it was given (JetStream) hands
a parcel out until it is acked; another (a channel of Redis, a stream of the gateway) hands it out once. So an ack says
that the event is safe here, and whoever refuses a parcel is handed it again, or told to `look`: that something may have
been missed, and the store has to be asked.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from gatepost.core.event import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    #: what is in it; None if it cannot be read, and then never will be
    event: Event | None
    #: what is said of one that cannot be read
    trouble: str = ""
    #: whether it is for every agent
    broadcast: bool = False
    ack: Callable[[], Awaitable[None]]
    #: in how many seconds it may come again
    refuse: Callable[[float], Awaitable[None]]


Take = Callable[[Parcel], Awaitable[None]]
Look = Callable[[], None]


class Parcels(Protocol):
    @property
    def name(self) -> str:
        """What they come from: `nats`, `redis`, `gateway` or `store`."""

    async def follow(self, take: Take, look: Look) -> None:
        """
        Hand every parcel to `take`, one after the other, until the connection is lost; raise why. `look` is called as
        soon as nothing more can be missed, and whenever something may have been.

        Whoever cancels this while `take` runs cancels that too.
        """


def fleeting(event: Event | None, look: Look, *, trouble: str = "", broadcast: bool = False) -> Parcel:
    """A parcel from a source that keeps nothing: there is nothing to ack, and whoever refuses it has to look."""

    async def ack() -> None:
        pass

    async def refuse(_: float) -> None:
        look()

    return Parcel(event=event, trouble=trouble, broadcast=broadcast, ack=ack, refuse=refuse)
