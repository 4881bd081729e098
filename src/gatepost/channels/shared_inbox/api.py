"""
The shared inbox: what people write on channels, what systems ask them there, and what systems answer. The administrator
sees all of it, a person what is in the sessions of its own.

Nothing else is in it: no commands, no pairing, no refused messages, and no triggers of services.
"""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from gatepost.core.text import ParsedEnum
from gatepost.core.times import Instant
from gatepost.errors import Invalid
from gatepost.operations.access import AnyEntity
from gatepost.operations.fields import After, Limit, RecordView, Seq, Source, Time, describe
from gatepost.operations.operation import Page, Request, Stream, read, stream


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


ChannelName = Annotated[str, Meta(max_length=256, description="only this channel")] | None
Session = Annotated[str, Meta(max_length=256, description="only this session")] | None
Kind = Annotated[EntryKind | None, describe("only entries of this kind")]


class SharedEntryView(RecordView[SharedEntry], kw_only=True):
    id: str
    seq: Annotated[Seq, Source("number")]
    kind: EntryKind
    channel: str
    session_id: Annotated[str, Source("session")]
    sender: Annotated[str | None, describe("who has written it; null if the writer is nobody here")]
    sender_name: Annotated[str | None, describe("name of the writer on the channel"), Source("display")]
    asked_by: Annotated[str | None, describe("who asks a question")]
    content: str
    status: Annotated[QuestionStatus | None, describe("of a question")]
    answer: str | None
    answered_at: Time | None
    metadata: Annotated[dict[str, str], Source(lambda entry: dict(entry.metadata))]
    decision: Annotated[str | None, describe("decision that a question is about")]
    created_at: Time


@read("GET /api/shared-inbox", access=AnyEntity())
class ListSharedEntries(Request[Page[SharedEntryView]]):
    """
    List entries of the shared inbox, the oldest first. With `newest`, a page has the last entries, and `next` leads to
    those before them.
    """

    channel: ChannelName = None
    session: Session = None
    kind: Kind = None
    pending: Annotated[bool, describe("only questions that wait for an answer")] = False
    newest: Annotated[bool, describe("read from the end: the last entries, then those before them")] = False
    after: After = 0
    limit: Limit = 100


@read("GET /api/shared-inbox/{id}", access=AnyEntity())
class ShowSharedEntry(Request[SharedEntryView]):
    """Show an entry of the shared inbox."""

    id: str


@stream("GET /api/shared-inbox/stream", access=AnyEntity(), errors=(Invalid,), event="shared.entry")
class WatchSharedInbox(Stream[SharedEntryView]):
    """
    Watch new entries as they come, and questions again when they have ended. Resumes from Last-Event-ID, or from the
    `seq` of an entry.
    """

    channel: ChannelName = None
    session: Session = None
    kind: Kind = None
