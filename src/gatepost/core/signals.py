"""
A ring says that somebody's inbox may have changed. It is a hint, never the truth: it may be lost, repeated or late,
and whoever hears it looks into the store.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gatepost.core.event import Event

#: the cause of a ring by another program (`wakeup:{agent}` on Redis), which may have left something to be collected
WAKEUP: Final = "wakeup"
#: the cause of a ring for whoever something waits for, made again and again until nothing does
JANITOR: Final = "janitor"


@dataclass(frozen=True, slots=True)
class Signal:
    #: the name of the recipient, `*` for every agent, `space:ID` for the readers of a space, `plan:ID` for the tickers,
    #: `keys:` for the doorkeepers
    recipient: str
    #: why: an event's type, or the verb that made something pending again
    cause: str
    #: the event, where there is one: transports that feed couriers carry it whole
    event: "Event | None" = None
    #: whether a sleeper should wake for it (an fyi, or a chain that is too long, should not)
    wakes: bool = True
