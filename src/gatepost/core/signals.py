"""
What processes tell each other after a commit: signals, frames of live streams, and the position a reader resumes from.

A signal says that something in the store may have changed. It is a hint, never the truth: it may be lost, repeated or
late, and its receiver reads the store. A frame shows something while it happens, such as the text of a reply that is
being written; frames are not stored.

A position is a place in the order of all events: the transaction that stored an event, and its arrival. An arrival
alone would be enough if arrivals became visible in their order. On PostgreSQL they do not (7 may commit after 8), so
there the number of the transaction comes first; on SQLite, which has one writer, it is always 0.

These are named tuples, because a hook with nothing to do imports this module, and Structs would cost it msgspec.
"""

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from gatepost.errors import Invalid, quote_value

if TYPE_CHECKING:
    from gatepost.core.json_limits import Json
    from gatepost.inbox.event import Event

#: the cause of a signal by another program (`wakeup:{agent}` on Redis), which may have put something into a queue
WAKEUP: Final = "wakeup"
#: the cause of a signal for an agent with pending items; the janitor repeats it until nothing is pending
JANITOR: Final = "janitor"

_POSITION_PATTERN: Final = r"(0|[1-9][0-9]{0,18})-(0|[1-9][0-9]{0,18})"
_MAX_NUMBER: Final = 2**63


class Signal(NamedTuple):
    #: the name of an entity, `*` for every agent, or the topic of something else: `space:ID`, `run:ID`, `gate:ID`,
    #: `decision:ID`, `plan:ID`, `trigger:NAME`, `work:TYPE:ID`, `job:KIND`, `keys:` for a change of any key
    recipient: str
    #: why: the type of an event, or the verb that changed something
    cause: str
    #: the event, if there is one: transports that feed couriers carry all of it
    event: "Event | None" = None
    #: whether a sleeping recipient should wake (not for an fyi, and not for a chain that is too long)
    wakes: bool = True


class Frame(NamedTuple):
    """A part of a live stream."""

    #: whose readers it is for: `space:ID`, `inbox:NAME` or `run:ID`
    topic: str
    #: the name of the event as readers see it, such as `agent.active`
    event: str
    data: "Json"


#: what a transport carries to other processes
TransportMessage = Signal | Frame


class Position(NamedTuple):
    """A later position is greater; the default is before every event."""

    transaction: int = 0
    arrival: int = 0

    def __str__(self) -> str:
        return f"{self.transaction}-{self.arrival}"

    @staticmethod
    def parse(text: str) -> "Position":
        match = re.fullmatch(_POSITION_PATTERN, text, re.ASCII)
        if match is None or int(match[1]) >= _MAX_NUMBER or int(match[2]) >= _MAX_NUMBER:
            raise Invalid(
                f"{quote_value(text)} is not a place to resume from", hint="send the last `id:` back as it was"
            )
        return Position(int(match[1]), int(match[2]))
