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
from typing import Any, Final, cast, get_args

from msgspec import Struct

from gatepost.core import json_limits as strict
from gatepost.core.json_limits import Json
from gatepost.core.json_node import JsonFields, JsonNode
from gatepost.core.text import parse_field
from gatepost.errors import Invalid, TooLarge, quote_value
from gatepost.ledger.hcs import hcs10_messages as hcs10
from gatepost.ledger.hcs.hcs10_messages import CloseMethod, OperatorId
from gatepost.ledger.topic import MAX_NUMBER, LedgerId

#: bytes of an operation, joined from its chunks
MAX_SIZE: Final = 64 * 1024
#: bytes of a reason, a note, an id
_MAX_TEXT: Final = 4 * 1024


class Register(Struct, frozen=True, kw_only=True):
    account: LedgerId
    inbound: LedgerId | None = None
    note: str = ""


class Delete(Struct, frozen=True, kw_only=True):
    """Take an entry out of a registry."""

    uid: str
    note: str = ""


class Migrate(Struct, frozen=True, kw_only=True):
    """Go on in another topic."""

    topic: LedgerId
    note: str = ""


class ConnectionRequest(Struct, frozen=True, kw_only=True):
    #: who asks
    operator_id: OperatorId
    note: str = ""


class ConnectionRequestRecord(Struct, frozen=True, kw_only=True):
    #: who was asked
    operator_id: OperatorId
    #: the topic in which the record is
    outbound: LedgerId
    #: the number of the request in the inbound topic of who was asked
    request: int
    note: str = ""


class ConnectionCreated(Struct, frozen=True, kw_only=True):
    #: who has accepted
    operator_id: OperatorId
    connection: LedgerId
    #: the account of who has asked
    requester: LedgerId
    #: the number of the request in the same topic
    request: int
    note: str = ""


class ConnectionCreatedRecord(Struct, frozen=True, kw_only=True):
    #: who has accepted
    operator_id: OperatorId
    connection: LedgerId
    #: the topic in which the record is
    outbound: LedgerId
    #: some programs do not know these, and leave them out
    requester_outbound: LedgerId | None = None
    request: int | None = None
    confirmation: int | None = None
    note: str = ""


class ConnectionClosed(Struct, frozen=True, kw_only=True):
    """The record that a connection was closed."""

    #: who has closed it
    operator_id: OperatorId
    connection: LedgerId
    method: CloseMethod
    reason: str = ""
    note: str = ""


class CloseConnectionOperation(Struct, frozen=True, kw_only=True):
    operator_id: OperatorId
    reason: str = ""
    note: str = ""


class MessageOperation(Struct, frozen=True, kw_only=True):
    operator_id: OperatorId
    #: a text, which may be JSON or a reference to a file; or an object, as the first version of the standard had it
    data: str | dict[str, Json]
    note: str = ""

    @property
    def reference(self) -> LedgerId | None:
        """The topic of the file that has the content; None if the content is here."""
        return hcs10.find_reference(self.data) if isinstance(self.data, str) else None


class ProposedTransaction(Struct, frozen=True, kw_only=True):
    """A transaction that the other side is asked to sign."""

    operator_id: OperatorId
    schedule: LedgerId
    data: str
    note: str = ""


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


def parse_operation(content: bytes) -> Operation:
    """Return the operation of a message; raise Invalid, with the reason, if it has none."""
    document = parse_document(content)
    if document.get("p") != hcs10.PROTOCOL:
        raise Invalid(f"p: {quote_value(document.get('p'), show_items=False)} is not {hcs10.PROTOCOL!r}")
    op = document.get("op")
    parse = _PARSERS.get(op) if isinstance(op, str) else None
    if parse is None:
        raise Invalid(f"op: {quote_value(op, show_items=False)} is not an operation")
    return parse(_Fields(document))


def parse_document(content: bytes) -> dict[str, Any]:
    """Return the JSON object of a message, all of which can be stored."""
    if len(content) > MAX_SIZE:
        raise TooLarge(f"the message has {len(content)} bytes, over the limit of {MAX_SIZE}")
    document = strict.parse_json(content, "the message", hint="post a JSON object")
    if not isinstance(document, dict):
        raise Invalid("the message is not a JSON object")
    strict.encode_json(document, "message", 2 * MAX_SIZE)
    return document


class _Fields:
    """The fields of an operation. Null is the same as a missing field."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._nodes = JsonFields(JsonNode(document), dict(document))
        #: every operation may have a note
        self.note = self.read_text("m", default="")

    def has(self, *names: str) -> bool:
        """Return True if one of these fields is there."""
        return any(not self._nodes[name].is_absent for name in names)

    def read_text(self, name: str, *, default: str | None = None, limit: int = _MAX_TEXT) -> str:
        """Return a text; without a default, it must be there and not be empty."""
        text = self._nodes[name].text(limit)
        if not text and default is None:
            self._nodes[name].reject("it is missing")
        return text

    def read_id(self, name: str) -> LedgerId:
        return parse_field(name, self.read_text(name), LedgerId.parse)

    def read_number(self, name: str) -> int:
        """Return the number of a message in its topic."""
        if self._nodes[name].is_absent:
            self._nodes[name].reject("it is missing")
        return self._nodes[name].whole(1, MAX_NUMBER)

    def read_operator(self) -> OperatorId:
        return parse_field("operator_id", self.read_text("operator_id"), hcs10.parse_operator_id)

    def read_method(self) -> CloseMethod:
        methods = get_args(CloseMethod)
        return cast("CloseMethod", self._nodes["close_method"].choice(*methods, default="explicit"))

    def read_data(self) -> str | dict[str, Json]:
        value = self._nodes["data"].value
        return value if isinstance(value, dict) else self.read_text("data", limit=MAX_SIZE)


def _parse_register(fields: _Fields) -> Register:
    inbound = fields.read_id("inbound_topic_id") if fields.has("inbound_topic_id") else None
    return Register(account=fields.read_id("account_id"), inbound=inbound, note=fields.note)


def _parse_delete(fields: _Fields) -> Delete:
    return Delete(uid=fields.read_text("uid"), note=fields.note)


def _parse_migrate(fields: _Fields) -> Migrate:
    return Migrate(topic=fields.read_id("t_id"), note=fields.note)


def _parse_connection_request(fields: _Fields) -> ConnectionRequest | ConnectionRequestRecord:
    if not fields.has("outbound_topic_id", "connection_request_id"):
        return ConnectionRequest(operator_id=fields.read_operator(), note=fields.note)
    return ConnectionRequestRecord(
        operator_id=fields.read_operator(),
        outbound=fields.read_id("outbound_topic_id"),
        request=fields.read_number("connection_request_id"),
        note=fields.note,
    )


def _parse_connection_created(fields: _Fields) -> ConnectionCreated | ConnectionCreatedRecord:
    operator_id, connection = fields.read_operator(), fields.read_id("connection_topic_id")
    if not fields.has("outbound_topic_id"):
        return ConnectionCreated(
            operator_id=operator_id,
            connection=connection,
            requester=fields.read_id("connected_account_id"),
            request=fields.read_number("connection_id"),
            note=fields.note,
        )
    has_requester = bool(fields.read_text("requestor_outbound_topic_id", default=""))
    return ConnectionCreatedRecord(
        operator_id=operator_id,
        connection=connection,
        outbound=fields.read_id("outbound_topic_id"),
        requester_outbound=fields.read_id("requestor_outbound_topic_id") if has_requester else None,
        request=fields.read_number("connection_request_id") if fields.has("connection_request_id") else None,
        confirmation=fields.read_number("confirmed_request_id") if fields.has("confirmed_request_id") else None,
        note=fields.note,
    )


def _parse_connection_closed(fields: _Fields) -> ConnectionClosed:
    return ConnectionClosed(
        operator_id=fields.read_operator(),
        connection=fields.read_id("connection_topic_id"),
        method=fields.read_method(),
        reason=fields.read_text("reason", default=""),
        note=fields.note,
    )


def _parse_close_connection(fields: _Fields) -> CloseConnectionOperation:
    reason = fields.read_text("reason", default="")
    return CloseConnectionOperation(operator_id=fields.read_operator(), reason=reason, note=fields.note)


def _parse_message(fields: _Fields) -> MessageOperation:
    return MessageOperation(operator_id=fields.read_operator(), data=fields.read_data(), note=fields.note)


def _parse_transaction(fields: _Fields) -> ProposedTransaction:
    return ProposedTransaction(
        operator_id=fields.read_operator(),
        schedule=fields.read_id("schedule_id"),
        data=fields.read_text("data", limit=MAX_SIZE),
        note=fields.note,
    )


_PARSERS: Final[Mapping[str, Callable[[_Fields], Operation]]] = {
    "register": _parse_register,
    "delete": _parse_delete,
    "migrate": _parse_migrate,
    "connection_request": _parse_connection_request,
    "connection_created": _parse_connection_created,
    "connection_closed": _parse_connection_closed,
    "close_connection": _parse_close_connection,
    "message": _parse_message,
    "transaction": _parse_transaction,
}
