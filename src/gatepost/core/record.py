"""
What is exported, a line of JSON each:

    {"record": "export", "format": 1, ...}      first
    {"record": "entity", ...}                   everybody, whoever is needed before whoever needs them
    {"record": "space", ...}                    each followed by
    {"record": "message", ...}                  what was said in it, in order, and
    {"record": "member", ...}                   who is in it, and how far they have read
    {"record": "trigger", ...}                  its secret only where it was asked for
    {"record": "key", ...}                      its hash; the administrator's only where secrets were asked for
    {"record": "event", ...}                    each followed by
    {"record": "item", ...}                     what it is to each recipient
    {"record": "gate", ...}                     with who waits for it, and how it ended
    {"record": "decision", ...}                 with its gate, and what was answered
    {"record": "plan", ...}
    {"record": "resident", ...}                 the secrets of its tools only where they were asked for
    {"record": "account", ...}                  what has ended in each inbox, what is no longer there included
    {"record": "end", "lines": N}               last, so that a file that was cut short is recognised

Reading one checks everything that can be checked without a store.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from gatepost.core import ids, kept, settled, wire
from gatepost.core.entity import Entity
from gatepost.core.event import ItemState, Json, Push, Receipt
from gatepost.core.fields import Fields
from gatepost.core.gate import Gate
from gatepost.core.kept import DecisionRecord
from gatepost.core.key import Key
from gatepost.core.plan import Plan, PlanStatus
from gatepost.core.settled import ResidentRecord
from gatepost.core.shape import Shape
from gatepost.core.space import Space
from gatepost.core.times import Instant
from gatepost.core.trigger import Trigger
from gatepost.errors import Invalid

FORMAT: Final = 1
#: bytes of a line: the largest content and data, every character of it escaped
LONGEST: Final = 16 * 1024 * 1024

_HASH: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Head:
    at: Instant
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class EventRecord:
    id: str
    created_at: Instant
    #: what it says; the address is not in it, since each item has its own
    wish: Push


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRecord:
    event: str
    recipient: str
    state: ItemState
    key: str | None
    expires_at: Instant | None
    wakes: bool
    attempts: int
    seen_at: Instant | None
    ended_at: Instant | None
    receipt: Receipt | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRecord:
    """Its number is its place among the messages of its space."""

    space: str
    id: str
    sender: str
    content: str
    data: Json
    created_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRecord:
    space: str
    name: str
    joined_at: Instant
    #: the id of the last message it has read: numbers may be others elsewhere
    read: str | None


@dataclass(frozen=True, slots=True)
class TriggerRecord:
    trigger: Trigger
    #: what is kept of its secret
    secret: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeyRecord:
    key: Key
    hash: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRecord:
    """How many items of an inbox ended in which way since it was opened."""

    name: str
    delivered: int
    expired: int
    discarded: int


@dataclass(frozen=True, slots=True)
class End:
    #: how many lines came before
    lines: int


Record = (
    Head
    | Entity
    | Space
    | MessageRecord
    | MemberRecord
    | Gate
    | DecisionRecord
    | Plan
    | ResidentRecord
    | TriggerRecord
    | KeyRecord
    | EventRecord
    | ItemRecord
    | AccountRecord
    | End
)


def write(record: Record) -> str:
    """One line, without its end."""
    name = _NAMES[type(record)]
    document = {"record": name} | _KINDS[name].write(record)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def read(line: bytes) -> Record:
    """Read a line, or say what is wrong with it."""
    try:
        document = json.loads(line.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise Invalid("it is not valid UTF-8") from None
    except (ValueError, RecursionError):
        raise Invalid("it is not JSON") from None
    if not isinstance(document, dict):
        raise Invalid("it is not a JSON object")
    fields = Fields(document)
    name = fields.text("record")
    if name not in _KINDS:
        raise Invalid(f"there is no record {name!r}")
    return _KINDS[name].read(fields)


def _member(fields: Fields) -> MemberRecord:
    member = _MEMBER.read_fields(fields)
    if member.read is not None:
        ids.check("msg", member.read)
    return member


def _message(fields: Fields) -> MessageRecord:
    message = _MESSAGE.read_fields(fields)
    ids.check("msg", message.id)
    return message


def _plan(fields: Fields) -> Plan:
    plan = wire.PLAN.read_fields(Fields({"onGate": None, "hops": 0, **fields.document}))  # older exports have neither
    ids.check("plan", plan.id)
    due = plan.next_at is not None or (plan.gate is not None and plan.status is PlanStatus.PENDING)
    if (plan.status is PlanStatus.PENDING) is not due or due is (plan.ended_at is not None):
        raise Invalid(
            f"a plan that is {plan.status} needs {'nextRunAt' if plan.ended_at is None else 'endedAt'!r}, alone"
        )
    return plan


def _trigger(fields: Fields) -> TriggerRecord:
    trigger, secret = wire.TRIGGER.read_fields(fields), fields.text_or_none("secret")
    if secret == "":
        raise Invalid("a secret is not empty")
    return TriggerRecord(trigger, secret)


def _key(fields: Fields) -> KeyRecord:
    key, hash = wire.KEY.read_fields(fields), fields.text("hash")
    ids.check("key", key.id)
    if not _HASH.fullmatch(hash):
        raise Invalid("'hash' must be the SHA-256 of a key in hexadecimal")
    return KeyRecord(key, hash)


def _event(fields: Fields) -> EventRecord:
    fields = Fields({"occurredAt": None, **fields.document})  # older exports have none
    event = _EVENT.read_fields(fields, wish=_WISH.read_fields(fields))
    ids.check("evt", event.id)
    return event


def _item(fields: Fields) -> ItemRecord:
    item = _ITEM.read_fields(fields)
    ids.check("evt", item.event)
    if item.receipt is not None:
        fields.inner("receipt").one_of("kind", "drain", "session", "run", "person")
        item = replace(item, receipt=replace(item.receipt, owner=item.receipt.owner[:200]))
    if item.ended_at is None and item.state not in (ItemState.PENDING, ItemState.CLAIMED):
        raise Invalid(f"an item that is {item.state} needs 'endedAt'")
    return replace(item, attempts=min(item.attempts, 1_000))


_HEAD: Final = Shape(Head, "format at")
_SPACE: Final = Shape(Space, "id name createdAt archivedAt", last_seq=0)
_MESSAGE: Final = Shape(MessageRecord, "spaceId=space id sender content data createdAt")
_MEMBER: Final = Shape(MemberRecord, "spaceId=space name joinedAt lastRead=read")
_EVENT: Final = Shape(EventRecord, "eventId=id createdAt")
_WISH: Final = Shape(
    Push,
    "type source sender subject content data priority occurredAt ref route hops trust",
    wire.REF,
    wire.ROUTE,
    to="",
)
_ITEM: Final = Shape(
    ItemRecord,
    "eventId=event recipient state dedupKey=key expiresAt wakes attempts seenAt endedAt receipt",
    wire.RECEIPT,
)
_ACCOUNT: Final = Shape(AccountRecord, "name delivered expired discarded")
_END: Final = Shape(End, "lines")


class _Kind(NamedTuple):
    noun: type[Record]
    write: Callable[[Any], dict[str, Any]]
    read: Callable[[Fields], Record]


_KINDS: Final[Mapping[str, _Kind]] = {
    "export": _Kind(Head, _HEAD.write, _HEAD.read_fields),
    "entity": _Kind(Entity, wire.write_entity, wire.ENTITY.read_fields),
    "space": _Kind(Space, _SPACE.write, _SPACE.read_fields),
    "message": _Kind(MessageRecord, _MESSAGE.write, _message),
    "member": _Kind(MemberRecord, _MEMBER.write, _member),
    "trigger": _Kind(TriggerRecord, lambda one: wire.write_trigger(one.trigger) | {"secret": one.secret}, _trigger),
    "key": _Kind(KeyRecord, lambda one: wire.write_key(one.key) | {"hash": one.hash}, _key),
    "event": _Kind(EventRecord, lambda one: _EVENT.write(one) | _WISH.write(one.wish), _event),
    "item": _Kind(ItemRecord, _ITEM.write, _item),
    "gate": _Kind(Gate, kept.gate_document, kept.gate),
    "decision": _Kind(DecisionRecord, kept.document, kept.decision),
    "plan": _Kind(Plan, wire.write_plan, _plan),
    "resident": _Kind(ResidentRecord, settled.document, settled.read),
    "account": _Kind(AccountRecord, _ACCOUNT.write, _ACCOUNT.read_fields),
    "end": _Kind(End, _END.write, _END.read_fields),
}
_NAMES: Final[Mapping[type[Record], str]] = {kind.noun: name for name, kind in _KINDS.items()}


def _no_constant(name: str) -> Any:
    raise ValueError(name)
