"""
What processes tell each other after a commit: signals, frames of live streams, and the position a reader resumes from.

A signal says that something in the store may have changed. It is a hint, never the truth: it may be lost, repeated or
late, and its receiver reads the store (docs/architecture.md lists what makes up for a lost signal). A frame shows
something while it happens, such as the text of a reply that is being written; frames are not stored. A topic says what
either is about; `transports/signal_bus.py` lists who listens to which topics.

A position is a place in the order of all events: the transaction that stored an event, and its arrival. An arrival
alone would be enough if arrivals became visible in their order. On PostgreSQL they do not (7 may commit after 8), so
there the number of the transaction comes first; on SQLite, which has one writer, it is always 0.

These are named tuples, because a hook with nothing to do imports this module, and Structs would cost it msgspec.
"""

import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from gatepost.errors import Invalid, quote_value

if TYPE_CHECKING:
    from gatepost.core.json_limits import Json
    from gatepost.inbox.event import Event

#: the cause of a signal by another program (`wakeup:{agent}` on Redis), which may have put something into a queue
WAKEUP: Final = "wakeup"
#: the cause of a signal for an agent with pending items: each process repeats it, for itself, until none is pending
JANITOR: Final = "janitor"

_POSITION_PATTERN: Final = r"(0|[1-9][0-9]{0,18})-(0|[1-9][0-9]{0,18})"
_MAX_NUMBER: Final = 2**63


SignalTopicKind = Literal[
    "inbox",  # of an entity; `*` for those of all agents
    "space",
    "run",
    "gate",
    "decision",
    "plan",
    "trigger",
    "work",  # a work item: TYPE:ID
    "shared",  # entries of the shared inbox: CHANNEL:SESSION
    "job",  # by its kind
    "keys",  # any key, or the entity of a key
    "agent",  # the cycles of an agent: frames only
    "agents",  # those of all agents, all gates and decisions, all plans and triggers: streams only
    "gates",
    "fires",
]


class Topic(NamedTuple):
    """
    What a signal or a frame is about. Its text is `space:q4`; where signals leave the process, that of an inbox is the
    name alone (`ann`, `*`), as other programs write it. A later version may send other kinds, to which nobody listens.
    """

    kind: SignalTopicKind
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @property
    def recipient(self) -> str:
        """Return the text of the topic where signals leave the process."""
        return self.name if self.kind == "inbox" and ":" not in self.name else str(self)

    def includes(self, topic: "Topic") -> bool:
        """Return True for the same topic; one without a name includes all of its kind."""
        return self.kind == topic.kind and self.name in ("", topic.name)

    @staticmethod
    def parse(text: str) -> "Topic":
        """Return the topic of either text."""
        kind, colon, name = text.partition(":")
        return Topic(cast("SignalTopicKind", kind), name) if colon else Topic("inbox", text)


EVERY_INBOX: Final = Topic("inbox", "*")
KEYS: Final = Topic("keys")


class Signal(NamedTuple):
    topic: Topic
    #: why: the type of an event, or the verb that changed something
    cause: str
    #: the event, if there is one: transports that feed couriers carry all of it
    event: "Event | None" = None
    #: whether a sleeping recipient should wake (not for an fyi, and not for a chain that is too long)
    wakes: bool = True


class Frame(NamedTuple):
    """A part of a live stream."""

    #: whose readers it is for
    topic: Topic
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
                f"{quote_value(text)} is not a position to resume from", hint="send the last `id:` back as it was"
            )
        return Position(int(match[1]), int(match[2]))
