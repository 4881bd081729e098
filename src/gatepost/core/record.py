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
from dataclasses import dataclass, field
from typing import Any, Final, assert_never, cast

from gatepost.core import ids, kept, settled, wire
from gatepost.core.entity import Entity, Kind
from gatepost.core.event import Json, Priority, Push, Receipt, Ref, Route, State, Trust, Type
from gatepost.core.fields import Fields
from gatepost.core.gate import Gate
from gatepost.core.instants import Instant, rfc3339
from gatepost.core.kept import DecisionRecord
from gatepost.core.key import Key
from gatepost.core.key import Kind as KeyKind
from gatepost.core.plan import CatchUp, Plan, Status
from gatepost.core.settled import ResidentRecord
from gatepost.core.space import Space
from gatepost.core.trigger import Provider, Trigger
from gatepost.core.webhook import Scheme
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
    state: State
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
    return json.dumps(_document(record), ensure_ascii=False, separators=(",", ":"))


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
    return _record(Fields(document))


def _document(record: Record) -> dict[str, Any]:
    match record:
        case Head():
            return {"record": "export", "format": record.format, "at": rfc3339(record.at)}
        case End():
            return {"record": "end", "lines": record.lines}
        case Entity():
            return {"record": "entity"} | wire.entity(record)
        case Space() | MessageRecord() | MemberRecord():
            return _space_document(record)
        case Gate() | DecisionRecord():
            return kept.document(record)
        case Plan():
            return {"record": "plan"} | wire.plan(record)
        case TriggerRecord():
            return {"record": "trigger"} | wire.trigger(record.trigger) | {"secret": record.secret}
        case KeyRecord():
            return {"record": "key"} | wire.key(record.key) | {"hash": record.hash}
        case ResidentRecord():
            return settled.document(record)
        case EventRecord() | ItemRecord():
            return _event_document(record)
        case AccountRecord():
            return {
                "record": "account",
                "name": record.name,
                "delivered": record.delivered,
                "expired": record.expired,
                "discarded": record.discarded,
            }
        case other:
            assert_never(other)


def _event_document(record: EventRecord | ItemRecord) -> dict[str, Any]:
    match record:
        case EventRecord(wish=wish):
            return {
                "record": "event",
                "eventId": record.id,
                "type": wish.type.value,
                "source": wish.source,
                "sender": wish.sender,
                "subject": wish.subject,
                "content": wish.content,
                "data": wish.data,
                "priority": wish.priority.value,
                "createdAt": rfc3339(record.created_at),
                "ref": {"type": wish.ref.type, "id": wish.ref.id} if wish.ref else None,
                "route": {"channel": wish.route.channel, "sessionId": wish.route.session} if wish.route else None,
                "hops": wish.hops,
                "trust": wish.trust.value,
            }
        case ItemRecord():
            return {
                "record": "item",
                "eventId": record.event,
                "recipient": record.recipient,
                "state": record.state.value,
                "dedupKey": record.key,
                "expiresAt": _time(record.expires_at),
                "wakes": record.wakes,
                "attempts": record.attempts,
                "seenAt": _time(record.seen_at),
                "endedAt": _time(record.ended_at),
                "receipt": wire.receipt(record.receipt),
            }


def _space_document(record: Space | MessageRecord | MemberRecord) -> dict[str, Any]:
    match record:
        case Space():
            return {
                "record": "space",
                "id": record.id,
                "name": record.name,
                "createdAt": rfc3339(record.created_at),
                "archivedAt": _time(record.archived_at),
            }
        case MessageRecord():
            return {
                "record": "message",
                "spaceId": record.space,
                "id": record.id,
                "sender": record.sender,
                "content": record.content,
                "data": record.data,
                "createdAt": rfc3339(record.created_at),
            }
        case MemberRecord():
            return {
                "record": "member",
                "spaceId": record.space,
                "name": record.name,
                "joinedAt": rfc3339(record.joined_at),
                "lastRead": record.read,
            }


def _record(fields: Fields) -> Record:
    kind = fields.text("record")
    if kind not in _READ:
        raise Invalid(f"there is no record {kind!r}")
    return _READ[kind](fields)


def _head(fields: Fields) -> Head:
    return Head(fields.time("at"), fields.whole("format"))


def _entity(fields: Fields) -> Entity:
    return Entity(
        number=0,
        name=fields.text("name"),
        kind=Kind(fields.one_of("kind", *Kind)),
        display=fields.text("displayName"),
        team=fields.text_or_none("team"),
        role=fields.text_or_none("role"),
        owner=fields.text_or_none("owner"),
        aliases=tuple(fields.texts("aliases")),
        created_at=fields.time("createdAt"),
        retired_at=fields.time_or_none("retiredAt"),
    )


def _space(fields: Fields) -> Space:
    return Space(
        id=fields.text("id"),
        name=fields.text("name"),
        last_seq=0,
        created_at=fields.time("createdAt"),
        archived_at=fields.time_or_none("archivedAt"),
    )


def _member(fields: Fields) -> MemberRecord:
    read = fields.text_or_none("lastRead")
    return MemberRecord(
        space=fields.text("spaceId"),
        name=fields.text("name"),
        joined_at=fields.time("joinedAt"),
        read=ids.check("msg", read) if read is not None else None,
    )


def _message(fields: Fields) -> MessageRecord:
    return MessageRecord(
        space=fields.text("spaceId"),
        id=ids.check("msg", fields.text("id")),
        sender=fields.text("sender"),
        content=fields.text("content"),
        data=fields.value("data"),
        created_at=fields.time("createdAt"),
    )


def _plan(fields: Fields) -> Plan:
    plan = Plan(
        id=ids.check("plan", fields.text("id")),
        owner=fields.text("owner"),
        name=fields.text("name"),
        instruction=fields.text("instruction"),
        cron=fields.text_or_none("cron"),
        zone=fields.text_or_none("timeZone"),
        catch_up=CatchUp.parse(fields.text("catchUp")),
        status=Status.parse(fields.text("status")),
        next_at=fields.time_or_none("nextRunAt"),
        last_at=fields.time_or_none("lastRunAt"),
        fired=fields.whole("fired"),
        created_at=fields.time("createdAt"),
        ended_at=fields.time_or_none("endedAt"),
        gate=fields.text_or_none("onGate") if "onGate" in fields.document else None,
        hops=fields.whole("hops") if "hops" in fields.document else 0,
    )
    due = plan.next_at is not None or (plan.gate is not None and plan.status is Status.PENDING)
    if (plan.status is Status.PENDING) is not due or due is (plan.ended_at is not None):
        raise Invalid(
            f"a plan that is {plan.status} needs {'nextRunAt' if plan.ended_at is None else 'endedAt'!r}, alone"
        )
    return plan


def _trigger(fields: Fields) -> TriggerRecord:
    trigger = Trigger(
        number=0,
        id="",
        name=fields.text("name"),
        provider=Provider(fields.one_of("provider", *Provider)),
        scheme=Scheme.parse(fields.text("scheme")),
        target=fields.text("target"),
        prompt=fields.text_or_none("prompt"),
        owner=fields.text_or_none("owner"),
        active=fields.flag("active"),
        created_at=fields.time("createdAt"),
    )
    secret = fields.text_or_none("secret")
    if secret == "":
        raise Invalid("a secret is not empty")
    return TriggerRecord(trigger, secret)


def _key(fields: Fields) -> KeyRecord:
    kind = fields.one_of("kind", "admin", "agent", "trigger", "public")
    hash = fields.text("hash")
    if not _HASH.fullmatch(hash):
        raise Invalid("'hash' must be the SHA-256 of a key in hexadecimal")
    key = Key(
        id=ids.check("key", fields.text("id")),
        prefix=fields.text("prefix"),
        kind=cast(KeyKind, kind),
        entity=fields.text_or_none("entity"),
        trigger=fields.text_or_none("trigger"),
        name=fields.text("name"),
        created_at=fields.time("createdAt"),
        revoked_at=fields.time_or_none("revokedAt"),
    )
    return KeyRecord(key, hash)


def _event(fields: Fields) -> EventRecord:
    ref, route = fields.inner("ref"), fields.inner("route")
    wish = Push(
        to="",
        type=Type.parse(fields.text("type")),
        source=fields.text("source"),
        sender=fields.text_or_none("sender"),
        subject=fields.text_or_none("subject"),
        content=fields.text("content"),
        data=fields.value("data"),
        priority=Priority.parse(fields.whole("priority")),
        ref=Ref(ref.text("type"), ref.text("id")) if ref else None,
        route=Route(route.text("channel"), route.text("sessionId")) if route else None,
        hops=fields.whole("hops"),
        trust=Trust.parse(fields.text("trust")),
    )
    return EventRecord(ids.check("evt", fields.text("eventId")), fields.time("createdAt"), wish)


def _item(fields: Fields) -> ItemRecord:
    receipt = fields.inner("receipt")
    item = ItemRecord(
        event=ids.check("evt", fields.text("eventId")),
        recipient=fields.text("recipient"),
        state=State.parse(fields.text("state")),
        key=fields.text_or_none("dedupKey"),
        expires_at=fields.time_or_none("expiresAt"),
        wakes=fields.flag("wakes"),
        attempts=min(fields.whole("attempts"), 1_000),
        seen_at=fields.time_or_none("seenAt"),
        ended_at=fields.time_or_none("endedAt"),
        receipt=_receipt(receipt) if receipt else None,
    )
    if item.ended_at is None and item.state not in (State.PENDING, State.CLAIMED):
        raise Invalid(f"an item that is {item.state} needs 'endedAt'")
    return item


def _receipt(fields: Fields) -> Receipt:
    return Receipt(fields.one_of("kind", "drain", "run", "person"), fields.text("owner")[:200], fields.time("at"))


def _account(fields: Fields) -> AccountRecord:
    return AccountRecord(
        name=fields.text("name"),
        delivered=fields.whole("delivered"),
        expired=fields.whole("expired"),
        discarded=fields.whole("discarded"),
    )


def _end(fields: Fields) -> End:
    return End(fields.whole("lines"))


_READ: Final[Mapping[str, Callable[[Fields], Record]]] = {
    "export": _head,
    "entity": _entity,
    "space": _space,
    "message": _message,
    "member": _member,
    "gate": kept.gate,
    "decision": kept.decision,
    "plan": _plan,
    "resident": settled.read,
    "trigger": _trigger,
    "key": _key,
    "event": _event,
    "item": _item,
    "account": _account,
    "end": _end,
}


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _time(value: Instant | None) -> str | None:
    return rfc3339(value) if value is not None else None
