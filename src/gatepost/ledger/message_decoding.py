"""
Read what Gatepost and programs like it put into the messages of a ledger. The records in the store have the same data
(`MailData`, `NoteData`, `EventData`), and less strict rules: nobody else writes there.

    mail    the `data` of a message: {"uid", "message_type", "subject", "payload", "context", "ref_id", "ref_type",
            "priority"}, as an object or as JSON in a text; {"uid", "sha384"} if the content is too long
    note    {"type": "task.note", "from_agent", "note", "notify", "uid", "priority", "ts"}
    event   {"type": "task.blocked", "from_agent", "reason", "uid", "ts"}

A missing field has a default. A field of the wrong type, or a value that no inbox could show, is Invalid. Other fields
are ignored, and so is `ts`: the time of a message is its consensus time. Priorities are 1 to 5 on a ledger.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from gatepost.core import address, json_limits as strict
from gatepost.core.address import AllAgentsAddress
from gatepost.core.json_limits import Json
from gatepost.core.text import parse_field
from gatepost.errors import Invalid, quote_value
from gatepost.inbox.event import DEFAULT_MESSAGE_TYPE, MAX_REF_LENGTH, Priority
from gatepost.ledger.hcs.hcs10_operations import MAX_SIZE, parse_document
from gatepost.mail import sent_record as mail_rules, work_item as work_rules
from gatepost.mail.sent_record import MAX_SUBJECT_LENGTH, MAX_TYPE_LENGTH, PRIORITY_OFFSET, LedgerPriority, MailData
from gatepost.mail.work_item import MAX_ADDRESSES, MAX_REASON_LENGTH, EventData, NoteData, WorkType
from gatepost.operations import validation

#: bytes of mail, with its content from a file
MAX_MAIL_SIZE: Final = 1024 * 1024

_NOTE: Final = "note"
_NORMAL: Final = Priority.NORMAL + PRIORITY_OFFSET

_Uid = Annotated[str, Meta(max_length=128)]
_Type = Annotated[str, Meta(max_length=MAX_TYPE_LENGTH)]
_RefPart = Annotated[str, Meta(max_length=MAX_REF_LENGTH)]


class PostedMailData(MailData, frozen=True, kw_only=True):
    """Mail as it was read; of one that was too long, only its id and its hash."""

    uid: _Uid | None = None
    message_type: _Type = DEFAULT_MESSAGE_TYPE
    subject: Annotated[str, Meta(max_length=MAX_SUBJECT_LENGTH)] | None = None
    payload: dict[str, Json] = field(default_factory=dict)
    context: Json = None
    ref_id: _RefPart | None = None
    ref_type: _RefPart | None = None
    ledger_priority: LedgerPriority = field(default=_NORMAL, name="priority")
    sha384: (
        Annotated[
            str,
            Meta(pattern=r"\A[0-9a-f]{96}\Z", title="a hash of 96 hexadecimal digits", description="use SHA-384"),
        ]
        | None
    ) = None


class _WorkPost(Struct, frozen=True, kw_only=True):
    type: _Type = ""
    from_agent: Annotated[str, Meta(max_length=address.MAX_ALIAS_LENGTH)]
    uid: _Uid | None = None


class _NotePost(_WorkPost, frozen=True, kw_only=True):
    note: Annotated[str, Meta(max_length=MAX_SIZE)]
    notify: Annotated[tuple[str, ...], Meta(max_length=MAX_ADDRESSES)] = ()
    ledger_priority: LedgerPriority = field(default=_NORMAL, name="priority")


class _EventPost(_WorkPost, frozen=True, kw_only=True):
    reason: Annotated[str, Meta(max_length=MAX_REASON_LENGTH)] = ""


def parse_work_post(content: bytes) -> NoteData | EventData:
    """Return what a message on the topic of a work item says."""
    document = _drop_empty(parse_document(content))
    text = document.get("type")
    head, dot, event = text.partition(".") if isinstance(text, str) else ("", "", "")
    if not dot or head not in tuple(WorkType):
        raise Invalid(
            f"type: {quote_value(text, show_items=False)} is not a note or an event of a work item",
            hint="such as task.note, task.blocked",
        )
    if event != _NOTE:
        parse_field("type", event, lambda text: work_rules.parse_event(WorkType(head), text))
        post = validation.convert(_EventPost, document)
        author = parse_field("from_agent", post.from_agent, address.check_entity_address)
        return EventData(type=post.type, from_agent=author, reason=post.reason, uid=post.uid)
    note = validation.convert(_NotePost, document)
    if not note.note.strip():
        raise Invalid("note: it is empty")
    targets = [parse_field(f"notify[{number}]", text, _parse_target) for number, text in enumerate(note.notify)]
    return NoteData(
        type=note.type,
        from_agent=parse_field("from_agent", note.from_agent, address.check_entity_address),
        note=note.note,
        notify=tuple(dict.fromkeys(targets)),
        uid=note.uid,
        ledger_priority=note.ledger_priority,
    )


def parse_mail_data(data: str | Mapping[str, Json]) -> PostedMailData:
    """
    Return the mail of a message. A text that is not a JSON object is the text of the mail. An object that has none of
    the fields of mail is its payload.
    """
    document = _parse_object(data) if isinstance(data, str) else dict(data)
    if document is None or not document.keys() & set(PostedMailData.__struct_encode_fields__):
        document = {"payload": data if document is None else document}
    strict.encode_json(document, "mail", MAX_MAIL_SIZE)
    if isinstance(document.get("payload"), str):
        document["payload"] = mail_rules.build_payload(None, document["payload"])
    mail = validation.convert(PostedMailData, _drop_empty(document), limit=MAX_MAIL_SIZE)
    parse_field("message_type", mail.message_type, mail_rules.check_type)
    return mail if mail.ref_id and mail.ref_type else replace(mail, ref_id=None, ref_type=None)


def _drop_empty(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without empty texts: as missing fields, except for `context`, which is any JSON value."""
    return {name: value for name, value in document.items() if value != "" or name == "context"}


def _parse_object(text: str) -> dict[str, Any] | None:
    """Return the object that a text is as JSON; None if it is another text."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        document = strict.parse_json(text.encode(errors="surrogatepass"), "the mail")
    except Invalid:
        return None
    return document if isinstance(document, dict) else None


def _parse_target(text: str) -> str:
    target = address.parse(text)
    if isinstance(target, AllAgentsAddress):
        raise Invalid("a note cannot notify every agent", hint="name them, or a team")
    return str(target)
