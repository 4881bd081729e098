"""
The shared inbox: what people write on channels, what systems ask them there, and what systems answer.

Nothing else is in it: no commands, no pairing, no refused messages, and no triggers of services.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from gatepost.core.text import ParsedEnum
from gatepost.core.times import Instant
from gatepost.inbox.event import Route

#: the recipients of signals about entries begin with it
TOPIC: Final = "shared:"


class EntryKind(ParsedEnum, description="a kind of entry"):
    USER_PROMPT = "user_prompt"
    SYSTEM_QUESTION = "system_question"
    SYSTEM_RESPONSE = "system_response"


class QuestionStatus(ParsedEnum, description="a status of a question"):
    PENDING = "pending"
    ANSWERED = "answered"
    #: it ended without an answer
    ENDED = "ended"


class SharedEntry(Struct, frozen=True, kw_only=True):
    number: int
    id: str
    kind: EntryKind
    channel: str
    session: str
    #: the name of the trigger that the channel belongs to; None if it has none
    trigger: str | None
    #: who has written it: a person, or a system
    sender: str | None
    #: the name of the writer on the channel, if it is nobody here
    display: str | None
    #: of a question: who asks
    asked_by: str | None
    content: str
    #: of a question only
    status: QuestionStatus | None
    answer: str | None
    answered_at: Instant | None
    metadata: Mapping[str, str]
    #: the decision that a question is about
    decision: str | None
    created_at: Instant
    #: where streams have it: the number of its last change
    position: int


def build_topic(route: Route) -> str:
    """Return the recipient of signals about the entries of a route."""
    return f"{TOPIC}{route.channel}:{route.session}"
