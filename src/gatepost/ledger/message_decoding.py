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

import re
from collections.abc import Mapping
from typing import Any, Final

from gatepost.core import address, json_limits as strict
from gatepost.core.address import AllAgentsAddress
from gatepost.core.json_limits import Json
from gatepost.core.json_node import JsonFields, JsonNode
from gatepost.core.text import check_text, parse_field
from gatepost.errors import Invalid
from gatepost.inbox.event import MAX_REF_LENGTH, Priority
from gatepost.ledger.hcs.hcs10_operations import MAX_SIZE, parse_document
from gatepost.mail import sent_mail as mail_rules, work_item as work_rules
from gatepost.mail.sent_mail import DEFAULT_TYPE, MAX_SUBJECT_LENGTH, MAX_TYPE_LENGTH, PRIORITY_OFFSET, MailData
from gatepost.mail.work_item import MAX_ADDRESSES, MAX_REASON_LENGTH, EventData, NoteData, WorkType

#: bytes of mail, with its content from a file
MAX_MAIL_SIZE: Final = 1024 * 1024

_MAIL_FIELDS: Final = frozenset(
    {"uid", "message_type", "subject", "payload", "context", "ref_id", "ref_type", "priority", "sha384"}
)
_MAX_UID_LENGTH: Final = 128
#: bytes of a character, at most
_CHARACTER: Final = 4
_SHA384: Final = re.compile(r"[0-9a-f]{96}")
_NOTE: Final = "note"


class PostedMailData(MailData, frozen=True, kw_only=True):
    """Mail as it was read; of one that was too long, only its id and its hash."""

    #: in hexadecimal digits
    sha384: str | None = None


def parse_work_post(content: bytes) -> NoteData | EventData:
    """Return what a message on the topic of a work item says."""
    document = parse_document(content)
    fields = JsonFields(JsonNode(document), document)
    head, dot, event = _read_text(fields, "type", MAX_TYPE_LENGTH).partition(".")
    if not dot or head not in tuple(WorkType):
        fields["type"].reject_value("is not a note or an event of a work item", hint="such as task.note, task.blocked")
    item_type = WorkType(head)
    author = parse_field("from_agent", _read_text(fields, "from_agent", address.MAX_ALIAS_LENGTH), _check_author)
    uid = _read_text(fields, "uid", _MAX_UID_LENGTH) or None
    if event != _NOTE:
        event = parse_field("type", event, lambda text: work_rules.parse_event(item_type, text))
        return EventData(
            type=f"{item_type}.{event}",
            from_agent=author,
            reason=_read_text(fields, "reason", MAX_REASON_LENGTH),
            uid=uid,
        )
    text = _read_text(fields, "note", MAX_SIZE)
    if not text.strip():
        fields["note"].reject("it is empty")
    targets = fields["notify"].items(MAX_ADDRESSES)
    return NoteData(
        type=f"{item_type}.{_NOTE}",
        from_agent=author,
        note=text,
        notify=tuple(dict.fromkeys(_read_address(node) for node in targets)),
        uid=uid,
        ledger_priority=_read_priority(fields["priority"]),
    )


def parse_mail_data(data: str | Mapping[str, Json]) -> PostedMailData:
    """
    Return the mail of a message. A text that is not a JSON object is the text of the mail. An object that has none of
    the fields of mail is its payload.
    """
    document = _parse_object(data) if isinstance(data, str) else dict(data)
    if document is None or not document.keys() & _MAIL_FIELDS:
        document = {"payload": data if document is None else document}
    strict.encode_json(document, "mail", MAX_MAIL_SIZE)
    fields = JsonFields(JsonNode(document), document)
    payload = fields["payload"].value
    if not isinstance(payload, str | dict | None):
        fields["payload"].reject_value("is not an object or a text")
    ref_type, ref_id = (_read_text(fields, name, MAX_REF_LENGTH) for name in ("ref_type", "ref_id"))
    sha384 = _read_text(fields, "sha384", 96)
    if sha384 and not _SHA384.fullmatch(sha384):
        fields["sha384"].reject_value("is not a hash of 96 hexadecimal digits")
    message_type = _read_text(fields, "message_type", MAX_TYPE_LENGTH)
    return PostedMailData(
        uid=_read_text(fields, "uid", _MAX_UID_LENGTH) or None,
        message_type=parse_field("message_type", message_type or DEFAULT_TYPE, mail_rules.check_type),
        subject=_read_text(fields, "subject", MAX_SUBJECT_LENGTH) or None,
        payload=mail_rules.build_payload(None, payload),
        context=fields["context"].value,
        ref_id=ref_id if ref_type and ref_id else None,
        ref_type=ref_type if ref_type and ref_id else None,
        ledger_priority=_read_priority(fields["priority"]),
        sha384=sha384 or None,
    )


def _parse_object(text: str) -> dict[str, Any] | None:
    """Return the object that a text is as JSON; None if it is another text."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        document = strict.parse_json(text.encode(errors="surrogatepass"), "the mail")
    except Invalid:
        return None
    return document if isinstance(document, dict) else None


def _read_text(fields: JsonFields, name: str, limit: int) -> str:
    """Return a text of at most `limit` characters; an empty one if it is missing."""
    return parse_field(name, fields[name].text(limit * _CHARACTER), lambda text: check_text("value", text, limit))


def _check_author(text: str) -> str:
    if not text:
        raise Invalid("it is missing", hint="name the agent that posts")
    return address.check_entity_address(text)


def _read_address(node: JsonNode) -> str:
    target = parse_field(node.path, node.text(address.MAX_LENGTH * _CHARACTER), address.parse)
    if isinstance(target, AllAgentsAddress):
        node.reject("a note cannot notify every agent", hint="name them, or a team")
    return str(target)


def _read_priority(node: JsonNode) -> int:
    """Return a priority, 1 to 5; 3 if it is missing."""
    normal = Priority.NORMAL + PRIORITY_OFFSET
    return normal if node.is_absent else node.whole(PRIORITY_OFFSET, len(Priority) + PRIORITY_OFFSET - 1)
