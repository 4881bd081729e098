"""
Read the operations of HCS-10 that others post to topics.

Everybody may post to a topic, so anything may be in it. What is not an operation is Invalid, with the reason; fields
that are not named here are ignored. Whether the poster may do what the operation says is not judged here.

    registry      register, delete, migrate
    inbound       connection_request, connection_created, and message among agents that trust each other
    outbound      connection_request, connection_created, connection_closed, as records
    connection    message, close_connection, transaction
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct, field

from gatepost.core import json_limits as strict
from gatepost.core.json_limits import Json
from gatepost.core.text import parse_field
from gatepost.errors import Invalid, TooLarge, quote_value
from gatepost.ledger.hcs import hcs10_messages as hcs10
from gatepost.ledger.hcs.hcs10_messages import CloseMethod, OperatorId
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


class Register(_Operation, frozen=True, kw_only=True):
    account: LedgerId = field(name="account_id")
    inbound: LedgerId | None = field(default=None, name="inbound_topic_id")


class Delete(_Operation, frozen=True, kw_only=True):
    """Take an entry out of a registry."""

    uid: _Text


class Migrate(_Operation, frozen=True, kw_only=True):
    """Go on in another topic."""

    topic: LedgerId = field(name="t_id")


class ConnectionRequest(_Operation, frozen=True, kw_only=True):
    #: who asks
    operator_id: OperatorId


class ConnectionRequestRecord(_Operation, frozen=True, kw_only=True):
    #: who was asked
    operator_id: OperatorId
    #: the topic in which the record is
    outbound: LedgerId = field(name="outbound_topic_id")
    #: the number of the request in the inbound topic of who was asked
    request: _Number = field(name="connection_request_id")


class ConnectionCreated(_Operation, frozen=True, kw_only=True):
    #: who has accepted
    operator_id: OperatorId
    connection: LedgerId = field(name="connection_topic_id")
    #: the account of who has asked
    requester: LedgerId = field(name="connected_account_id")
    #: the number of the request in the same topic
    request: _Number = field(name="connection_id")


class ConnectionCreatedRecord(_Operation, frozen=True, kw_only=True):
    #: who has accepted
    operator_id: OperatorId
    connection: LedgerId = field(name="connection_topic_id")
    #: the topic in which the record is
    outbound: LedgerId = field(name="outbound_topic_id")
    #: some programs do not know these, and leave them out
    requester_outbound: LedgerId | None = field(default=None, name="requestor_outbound_topic_id")
    request: _Number | None = field(default=None, name="connection_request_id")
    confirmation: _Number | None = field(default=None, name="confirmed_request_id")


class ConnectionClosed(_Operation, frozen=True, kw_only=True):
    """The record that a connection was closed."""

    #: who has closed it
    operator_id: OperatorId
    connection: LedgerId = field(name="connection_topic_id")
    method: CloseMethod = field(default="explicit", name="close_method")
    reason: _Text = ""


class CloseConnectionOperation(_Operation, frozen=True, kw_only=True):
    operator_id: OperatorId
    reason: _Text = ""


class MessageOperation(_Operation, frozen=True, kw_only=True):
    operator_id: OperatorId
    #: a text, which may be JSON or a reference to a file; or an object, as the first version of the standard had it
    data: str | dict[str, Json]

    @property
    def reference(self) -> LedgerId | None:
        """The topic of the file that has the content; None if the content is here."""
        return hcs10.find_reference(self.data) if isinstance(self.data, str) else None


class ProposedTransaction(_Operation, frozen=True, kw_only=True):
    """A transaction that the other side is asked to sign."""

    operator_id: OperatorId
    schedule: LedgerId = field(name="schedule_id")
    data: str


Operation = (
    Register
    | Delete
    | Migrate
    | ConnectionRequest
    | ConnectionRequestRecord
    | ConnectionCreated
    | ConnectionCreatedRecord
    | ConnectionClosed
    | CloseConnectionOperation
    | MessageOperation
    | ProposedTransaction
)


_KINDS: Final[Mapping[str, type[Operation]]] = {
    "register": Register,
    "delete": Delete,
    "migrate": Migrate,
    "connection_request": ConnectionRequest,
    "connection_created": ConnectionCreated,
    "connection_closed": ConnectionClosed,
    "close_connection": CloseConnectionOperation,
    "message": MessageOperation,
    "transaction": ProposedTransaction,
}
_TEXT_PARSERS: Final[Mapping[Any, Callable[[str], Any]]] = {
    LedgerId: LedgerId.parse,
    LedgerId | None: LedgerId.parse,
    OperatorId: hcs10.parse_operator_id,
}


def parse_operation(content: bytes) -> Operation:
    """Return the operation of a message; raise Invalid, with the reason, if it has none."""
    document = parse_document(content)
    if document.get("p") != hcs10.PROTOCOL:
        raise Invalid(f"p: {quote_value(document.get('p'), show_items=False)} is not {hcs10.PROTOCOL!r}")
    op = document.get("op")
    kind = _KINDS.get(op) if isinstance(op, str) else None
    if kind is None:
        raise Invalid(f"op: {quote_value(op, show_items=False)} is not an operation")
    fields = {name: value for name, value in document.items() if value not in (None, "")}  # the same as missing ones
    if kind is ConnectionRequest and fields.keys() & {"outbound_topic_id", "connection_request_id"}:
        kind = ConnectionRequestRecord
    if kind is ConnectionCreated and "outbound_topic_id" in fields:
        kind = ConnectionCreatedRecord
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
        return msgspec.convert(fields, kind)
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
