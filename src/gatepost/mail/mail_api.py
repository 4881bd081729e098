"""Mail: what an entity sends to others, and how far each of them is with it; and replies to events."""

from typing import Annotated, Any, Final, Self

from msgspec import UNSET, Meta, UnsetType

from gatepost.core import address
from gatepost.core.text import ParsedEnum
from gatepost.core.times import parse_duration
from gatepost.directory.entity_api import AttentionView
from gatepost.errors import Conflict, NotFound, Refused, TooLarge
from gatepost.inbox.event import ItemState
from gatepost.inbox.event_api import PriorityWord, Reference, RefView
from gatepost.inbox.item_api import MessageType
from gatepost.mail import sent_record as rules
from gatepost.mail.sent_record import AckRequest, AckState, Mail, MailRecipient, PostState
from gatepost.operations.access import ActAs, AnyEntity
from gatepost.operations.fields import (
    EVENT_ID,
    Actor,
    After,
    Count,
    Json,
    Limit,
    Parse,
    Priority,
    RecordView,
    Source,
    Time,
    describe,
)
from gatepost.operations.operation import Page, Request, RequestPart, View, read, write
from gatepost.operations.tool import Scale, Tool, ToolChanges

#: the group of these operations in OpenAPI
TAG = "mail"


#: what a resident is told about priorities
PRIORITY_NOTE: Final = (
    "critical, high, normal, low or fyi; critical interrupts whoever gets it, fyi does not even wake them"
)


_USES: Final = "Use it for blocked issues, review requests, FYIs, feedback and questions."


class MailBox(ParsedEnum, description="a box of mail"):
    SENT = "sent"
    THREAD = "thread"


class MailRecipientView(RecordView[MailRecipient]):
    name: str
    state: ItemState
    seen_at: Time | None
    ended_at: Annotated[Time | None, describe("when it was read, or ended otherwise")]
    reachable: (
        Annotated[bool, describe("when it is sent: false if each of its sessions in another program is lost")]
        | UnsetType
    ) = UNSET
    attention: (
        Annotated[AttentionView, describe("when it is sent: what keeps the mail from waking it until then")] | UnsetType
    ) = UNSET

    @classmethod
    def of(cls, record: MailRecipient, /, **values: Any) -> Self:
        return super().of(record, reachable=UNSET, attention=None, **values)


class MailView(RecordView[Mail]):
    id: str
    event_id: Annotated[str | None, Source("event")]
    sender: str
    to: Annotated[str, describe("address that it was sent to")]
    message_type: Annotated[str, Source("data.message_type")]
    subject: Annotated[str | None, Source("data.subject")]
    text: Annotated[str, Source("data.text"), describe("payload.text, or else the payload as JSON")]
    payload: Annotated[dict[str, Json], Source("data.payload")]
    context: Annotated[Json, Source("data.context")]
    ref: RefView | None
    priority: Annotated[Priority, Source("data.priority")]
    thread_id: Annotated[str, Source("thread")]
    reply_to: Annotated[str | None, describe("event that it replies to")]
    ack: Annotated[AckState | None, describe("null if its sender does not want to know that it was read")]
    ack_deadline: Time | None
    created_at: Time
    post_state: Annotated[PostState | None, Source("post"), describe("null if it is not for a ledger")]
    posted_at: Annotated[Time | None, describe("when it was posted to a ledger")]
    recipients: Annotated[list[MailRecipientView], describe("the first hundred, by name; only its sender sees them")]
    states: Annotated[dict[str, Count], describe("number of recipients in each state; only its sender sees them")]


@write(
    "POST /api/mail",
    access=ActAs("sender", default="admin"),
    lane="{to|sender}",
    status=201,
    requires_body=True,
    errors=(NotFound, Conflict, TooLarge),
    example={"to": "analyst", "subject": "Blocked on schema", "text": "Which one do we take?", "priority": "high"},
    tool=Tool(
        name="send_message",
        title="Send a message",
        description="Send a message to an agent, a person, a team or every agent. It goes to their inboxes, and on the"
        f" ledger if there is one. {_USES}",
        answer=("id", "event_id", "to", "subject", "thread_id"),
        own=("sender",),
        hidden=("text", "ack", "ack_within"),
        renames={"to": "to_agent"},
        parts={"ref": {"type": "ref_type", "id": "ref_id"}},
        scales={"priority": Scale(minimum=1, maximum=5, offset=1, default=3)},
        notes={
            "to_agent": "a name, team:NAME, team:NAME/ROLE or ALL; default with reply_to: its sender",
            "payload": "the text, or an object with more",
            "ref_type": "what it is about, e.g. task",
            "priority": "1 is critical, 5 is fyi",
            "reply_to": "id of the event or mail to reply to",
        },
        for_residents=ToolChanges(
            name="send_mail",
            description="Write to an agent, a team or a person directly, into their inbox, outside of all spaces."
            f" {_USES}",
            answer=("id", "event_id", "thread_id", "recipients.name"),
            hidden=("ack_within",),
            renames={"id": "mailId"},
            parts={},
            references={"ref": ("ref.type", "ref.id")},
            scales={},
            notes={"payload": "an object with more than a text", "priority": PRIORITY_NOTE},
        ),
    ),
)
class SendMail(Request[MailView]):
    """
    Send mail to an agent, a person, a team or every agent. What is answered with 201 is in their inboxes; with a public
    ledger, mail that is not urgent is there when it was seen on the ledger, or after `ledger.patience`.
    """

    to: Annotated[
        str | None,
        describe(
            "a name, an alias, team:NAME, team:NAME/ROLE or ALL; a reply goes to the sender by default",
            maxLength=address.MAX_LENGTH,
        ),
    ] = None
    text: Annotated[str | None, describe("the text; it becomes payload.text")] = None
    subject: Annotated[str | None, describe("what it is about", maxLength=rules.MAX_SUBJECT_LENGTH)] = None
    payload: Annotated[Json, describe("an object with more than a text; a string is the text")] = None
    message_type: Annotated[
        str | None,
        describe(f"{', '.join(rules.MESSAGE_TYPES)}, or your own", maxLength=rules.MAX_TYPE_LENGTH),
    ] = None
    context: Annotated[Json, describe("any JSON that helps its reader")] = None
    ref: Annotated[Reference, describe("what it is about, such as a task")] = None
    priority: PriorityWord = 2
    reply_to: Annotated[
        str | None,
        Meta(description="event or mail to reply to: its subject, reference and thread are kept", examples=[EVENT_ID]),
    ] = None
    ack: Annotated[AckRequest, describe("required: the sender gets an event when it was read, or was not in time")] = (
        AckRequest.NONE
    )
    ack_within: Annotated[
        str | None, Meta(description="time to read it; default: 1 day", examples=["2h"]), Parse(parse_duration)
    ] = None
    sender: Actor = None


@read("GET /api/mail", access=ActAs("sender", default="admin"), errors=(NotFound,))
class ListMail(Request[Page[MailView]]):
    """List mail, the newest first: what the caller has sent, or a thread that it takes part in."""

    box: Annotated[MailBox, describe("sent: what the sender sent; thread: also what it received")] = MailBox.SENT
    thread: Annotated[str | None, describe("only the thread with this id, or of this mail or event", maxLength=256)] = (
        None
    )
    ref: Annotated[str | None, Meta(description="only mail about this TYPE:ID", examples=["task:0.0.123"])] = None
    message_type: MessageType = None
    sender: Actor = None
    after: After = 0
    limit: Limit = 100


@read("GET /api/mail/{id}", access=AnyEntity())
class ShowMail(Request[MailView]):
    """Show mail that the caller has sent, and its state for each recipient; the administrator sees all."""

    id: str


class ButtonSpec(RequestPart):
    id: Annotated[str, describe("a short word")]
    label: Annotated[str, describe("text shown")]


class SentReplyView(View):
    kind: Annotated[str, describe("mail, message, note or channel: what the reply became")]
    id: str


@write(
    "POST /api/events/{id}/reply",
    access=ActAs("sender", default="admin"),
    status=201,
    errors=(Conflict, Refused, TooLarge),
    example={"text": "Take the second one."},
    tool=Tool(
        name="reply",
        title="Reply to an event",
        description="Reply to an event of your inbox on the way it came.",
        answer=("kind", "id"),
        own=("sender",),
        renames={"id": "event"},
        notes={"event": "event or mail, or channel session of a prompt"},
        is_open_world=True,
        for_residents=ToolChanges(description=""),
    ),
)
class ReplyToEvent(Request[SentReplyView]):
    """Reply to an event on the way it came: by mail, by a message in its space, by a note, or on its channel."""

    id: Annotated[
        str, describe("an event or mail in the inbox of the caller, or the channel session of a prompt there")
    ]
    text: Annotated[str, describe("the text")]
    buttons: Annotated[tuple[ButtonSpec, ...], describe("to press, on a channel")] = ()
    sender: Actor = None
