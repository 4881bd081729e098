"""
Read the operations of HCS-10 that others post to topics which Gatepost reads.

Everybody may post to a topic, so anything may be in it. What is not such an operation is Invalid, with the reason;
fields that are not named here are ignored. Whether the poster may do what the operation says is not judged here.

    inbound       connection_request, connection_created, and message among agents that trust each other
    connection    message, close_connection

Not read are registries, the records on outbound topics, and transactions that another agent proposes.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct, field

from gatepost.core import json_limits as strict, typed_json
from gatepost.core.json_limits import Json
from gatepost.core.text import parse_field
from gatepost.errors import Invalid, TooLarge, quote_value
from gatepost.ledger.hcs import hcs10_messages as hcs10
from gatepost.ledger.hcs.hcs10_messages import OperatorId
from gatepost.ledger.topic import MAX_NUMBER, LedgerId
from gatepost.operations.validation import explain

#: bytes of an operation, joined from its chunks
MAX_SIZE: Final = 64 * 1024

#: a reason, a note, an id
_Text = Annotated[str, Meta(max_length=4 * 1024)]
#: the number of a message in its topic
_Number = Annotated[int, Meta(ge=1, le=MAX_NUMBER)]


class _Operation(Struct, frozen=True, kw_only=True):
    note: _Text = field(default="", name="m")


class ConnectionRequest(_Operation, frozen=True, kw_only=True):
    #: who asks
    operator_id: OperatorId


class ConnectionCreated(_Operation, frozen=True, kw_only=True):
    #: who has accepted
    operator_id: OperatorId
    connection: LedgerId = field(name="connection_topic_id")
    #: the account of who has asked
    requester: LedgerId = field(name="connected_account_id")
    #: the number of the request in the same topic
    request: _Number = field(name="connection_id")


class CloseConnectionOperation(_Operation, frozen=True, kw_only=True):
    operator_id: OperatorId
    reason: _Text = ""


class MessageOperation(_Operation, frozen=True, kw_only=True):
    operator_id: OperatorId
    #: a text, which may be JSON or a reference to a file; or an object, as the first version of the standard had it
    data: str | dict[str, Json]


Operation = ConnectionRequest | ConnectionCreated | CloseConnectionOperation | MessageOperation

_KINDS: Final[Mapping[str, type[Operation]]] = {
    "connection_request": ConnectionRequest,
    "connection_created": ConnectionCreated,
    "close_connection": CloseConnectionOperation,
    "message": MessageOperation,
}
#: the operations of registries, records and proposals, which are not for topics that Gatepost reads
_UNREAD: Final = ("register", "delete", "migrate", "connection_closed", "transaction")
_WRONG_TOPIC: Final = "it is not an operation for this topic"
#: fields by which the record of an operation, on the outbound topic of its writer, differs from the operation
_RECORD_FIELDS: Final[Mapping[type[Operation], set[str]]] = {
    ConnectionRequest: {"outbound_topic_id", "connection_request_id"},
    ConnectionCreated: {"outbound_topic_id"},
}
_TEXT_PARSERS: Final[Mapping[Any, Callable[[str], Any]]] = {
    LedgerId: LedgerId.parse,
    OperatorId: hcs10.parse_operator_id,
}


def parse_operation(content: bytes) -> Operation:
    """Return the operation of a message; raise Invalid, with the reason, if it has none."""
    document = parse_document(content)
    if document.get("p") != hcs10.PROTOCOL:
        raise Invalid(f"p: {quote_value(document.get('p'), show_items=False)} is not {hcs10.PROTOCOL!r}")
    op = document.get("op")
    kind = _KINDS.get(op) if isinstance(op, str) else None
    if op in _UNREAD:
        raise Invalid(_WRONG_TOPIC)
    if kind is None:
        raise Invalid(f"op: {quote_value(op, show_items=False)} is not an operation")
    fields = {name: value for name, value in document.items() if value not in (None, "")}  # the same as missing ones
    if fields.keys() & _RECORD_FIELDS.get(kind, set()):
        raise Invalid(_WRONG_TOPIC)
    return _convert(kind, fields)


def _convert(kind: type[Operation], fields: dict[str, Any]) -> Operation:
    """Return an operation; its ids are texts in a message."""
    for entry in msgspec.structs.fields(kind):
        parse, name = _TEXT_PARSERS.get(entry.type), entry.encode_name
        if parse is not None and name in fields:
            if not isinstance(fields[name], str):
                raise explain(str, fields[name], (name,))
            fields[name] = parse_field(name, fields[name], parse)
    try:
        return typed_json.convert(fields, kind)
    except msgspec.ValidationError:
        raise explain(kind, fields) from None


def parse_document(content: bytes) -> dict[str, Any]:
    """Return the JSON object of a message, all of which can be stored."""
    if len(content) > MAX_SIZE:
        raise TooLarge(f"the message has {len(content)} bytes, over the limit of {MAX_SIZE}")
    document = strict.parse_json(content, "the message", hint="post a JSON object")
    if not isinstance(document, dict):
        raise Invalid("the message is not a JSON object")
    strict.encode_json(document, "message", 2 * MAX_SIZE)
    return document
