"""
Messages between agents on a ledger, after HCS-10: the memos of topics and transactions, and the bytes that are posted.
`hcs10_operations.py` reads these bytes.

    mail    {"p": "hcs-10", "op": "message", "operator_id": "INBOUND@ACCOUNT", "data": "{...}"}
    note    {"type": "task.note", "from_agent", "note", "notify", "uid", "priority", "ts"}
    event   {"type": "task.blocked", "from_agent", "reason", "uid", "ts"}

A message has at most 1,024 bytes. What makes it longer is put into a file (`hcs1.py`), and the message has a reference
to it; of more than 64 KiB only the SHA-384 is posted.

Agents outside ask for a connection first. The requester posts a request to the inbound topic of the other, who makes a
topic for the two of them, and says so there. Both keep a record on their outbound topics.

    requester                        inbound topic of the other           the other
    connection_request          ->   sequence N
                                     connection_created, N          <-    makes the connection topic
    message, close_connection   ->   connection topic               <-    message, close_connection
"""

import json
import re
from collections.abc import Mapping
from enum import IntEnum
from hashlib import sha384
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct

from gatepost.errors import Invalid, quote_value
from gatepost.ledger.topic import MAX_NUMBER, LedgerId

PROTOCOL: Final = "hcs-10"
#: seconds for which others may keep what they read of a topic
TTL: Final = 3_600
OUTBOUND_MEMO: Final = f"hcs-10:0:{TTL}:1"

_REFERENCE: Final = "hcs://1/"
_CONNECTION_MEMO: Final = re.compile(r"hcs-10:[01]:[0-9]{1,19}:2:([^:]*):([0-9]{1,19})", re.ASCII)
#: fields of operations that are left out if they are empty
_OPTIONAL_FIELDS: Final = ("reason", "requestor_outbound_topic_id", "m")

CloseMethod = Literal["explicit", "admin_key", "submit_key"]


class OperatorId(NamedTuple):
    """How an agent is named in messages: by its inbound topic and its account."""

    inbound: LedgerId
    account: LedgerId

    def __str__(self) -> str:
        return f"{self.inbound}@{self.account}"


class ConnectionMemo(Struct, frozen=True):
    """`inbound` is the topic in which the connection was asked for, `request` the number of the request in it."""

    inbound: LedgerId
    request: int


class OperationCode(IntEnum):
    """How the memo of a transaction names an operation. A proposed transaction has no code."""

    REGISTER = 0
    DELETE = 1
    MIGRATE = 2
    CONNECTION_REQUEST = 3
    CONNECTION_CREATED = 4
    #: both of `connection_closed` and `close_connection`
    CONNECTION_CLOSED = 5
    MESSAGE = 6


class TopicCode(IntEnum):
    """How the memo of a transaction names a kind of topic. The memos of topics have other numbers."""

    REGISTRY = 0
    INBOUND = 1
    OUTBOUND = 2
    CONNECTION = 3


def build_inbound_memo(account: LedgerId) -> str:
    return f"hcs-10:0:{TTL}:0:{account}"


def build_connection_memo(inbound: LedgerId, request: int) -> str:
    return f"hcs-10:1:{TTL}:2:{inbound}:{request}"


def build_work_memo(type: str, id: str) -> str:
    return f"gatepost:{type}:{id}"


def parse_connection_memo(text: str) -> ConnectionMemo:
    """Return what the memo of a connection topic says. How long it may be kept is said there too, but not heeded."""
    match = _CONNECTION_MEMO.fullmatch(text)
    if match is None or int(match[2]) > MAX_NUMBER:
        raise Invalid(f"{quote_value(text)} is not the memo of a connection of agents")
    return ConnectionMemo(LedgerId.parse(match[1]), int(match[2]))


def build_transaction_memo(operation: OperationCode, topic: TopicCode) -> str:
    """Return the memo of a transaction that posts an operation to a kind of topic."""
    return f"hcs-10:op:{operation.value}:{topic.value}"


def build_operator_id(inbound: LedgerId, account: LedgerId) -> str:
    return str(OperatorId(inbound, account))


def parse_operator_id(text: str) -> OperatorId:
    inbound, _, account = text.partition("@")
    try:
        return OperatorId(LedgerId.parse(inbound), LedgerId.parse(account))
    except Invalid:
        raise Invalid(
            f"{quote_value(text)} is not the id of an agent", hint="write INBOUND@ACCOUNT, such as 0.0.5@0.0.4"
        ) from None


def build_reference(file: LedgerId) -> str:
    return f"{_REFERENCE}{file}"


def find_reference(text: str) -> LedgerId | None:
    """Return the topic of the file if a text is a reference to one, and nothing else; None if it is another text."""
    if not text.startswith(_REFERENCE):
        return None
    try:
        return LedgerId.parse(text.removeprefix(_REFERENCE))
    except Invalid:
        return None


def build_message(operator_id: str, data: str) -> bytes:
    """Return a message to the inbound topic of its recipient, or to a connection topic."""
    return _build_operation("message", operator_id=operator_id, data=data)


def build_connection_request(operator_id: OperatorId, note: str = "") -> bytes:
    """Return what a requester (`operator_id`) posts to the inbound topic of another agent."""
    return _build_operation("connection_request", operator_id=str(operator_id), m=note)


def build_connection_request_record(target: OperatorId, outbound: LedgerId, request: int, note: str = "") -> bytes:
    """
    Return what a requester posts to its own outbound topic. `request` is the number of its request in the inbound
    topic of the agent that it has asked.
    """
    return _build_operation(
        "connection_request",
        operator_id=str(target),
        outbound_topic_id=str(outbound),
        connection_request_id=request,
        m=note,
    )


def build_connection_created(
    operator_id: OperatorId, connection: LedgerId, requester: LedgerId, request: int, note: str = ""
) -> bytes:
    """
    Return what an agent that accepts (`operator_id`) posts to its own inbound topic: the new topic, the account of the
    requester, and the number of the request in this inbound topic.
    """
    return _build_operation(
        "connection_created",
        connection_topic_id=str(connection),
        connected_account_id=str(requester),
        operator_id=str(operator_id),
        connection_id=request,
        m=note,
    )


def build_connection_created_record(
    operator_id: OperatorId,
    connection: LedgerId,
    outbound: LedgerId,
    *,
    requester_outbound: LedgerId | None,
    request: int,
    confirmation: int,
    note: str = "",
) -> bytes:
    """
    Return what either of the two posts to its own outbound topic. `operator_id` is the agent that accepted; `request`
    and `confirmation` are the numbers of the request and the acceptance in the inbound topic of that agent. The
    outbound topic of the requester is left out if it is not known.
    """
    return _build_operation(
        "connection_created",
        connection_topic_id=str(connection),
        outbound_topic_id=str(outbound),
        requestor_outbound_topic_id=str(requester_outbound or ""),
        confirmed_request_id=confirmation,
        connection_request_id=request,
        operator_id=str(operator_id),
        m=note,
    )


def build_connection_closed(
    operator_id: OperatorId, connection: LedgerId, *, method: CloseMethod = "explicit", reason: str = "", note: str = ""
) -> bytes:
    """Return what an agent posts to its own outbound topic; `operator_id` is the agent that has closed."""
    return _build_operation(
        "connection_closed",
        connection_topic_id=str(connection),
        close_method=method,
        operator_id=str(operator_id),
        reason=reason,
        m=note,
    )


def build_close_connection(operator_id: OperatorId, reason: str = "", note: str = "") -> bytes:
    """Return what an agent posts to a connection topic that it leaves."""
    return _build_operation("close_connection", operator_id=str(operator_id), reason=reason, m=note)


def _build_operation(op: str, **fields: str | int) -> bytes:
    filled_fields = {name: value for name, value in fields.items() if value or name not in _OPTIONAL_FIELDS}
    return encode({"p": PROTOCOL, "op": op, **filled_fields})


def build_digest(data: Mapping[str, Any], content: bytes) -> str:
    """Return what is posted in the place of a content that is too long: its hash, and the id of the record."""
    return encode({"uid": data["uid"], "sha384": sha384(content).hexdigest()}).decode()


def encode(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
