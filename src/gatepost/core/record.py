"""
What is exported, a line of JSON each:

    {"record": "export", "format": 1, ...}      first
    {"record": "entity", ...}                   everybody, whoever is needed before whoever needs them
    {"record": "event", ...}                    each followed by
    {"record": "item", ...}                     what it is to each recipient
    {"record": "account", ...}                  what has ended in each inbox, what is no longer there included
    {"record": "end", "lines": N}               last, so that a file that was cut short is recognised

Reading one checks everything that can be checked without a store.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, assert_never

from gatepost.core import ids, wire
from gatepost.core.entity import Entity, Kind
from gatepost.core.event import Priority, Push, Receipt, Ref, Route, State, Trust, Type
from gatepost.core.instants import Instant, instant, rfc3339
from gatepost.errors import Invalid

FORMAT: Final = 1
#: bytes of a line: the largest content and data, every character of it escaped
LONGEST: Final = 16 * 1024 * 1024

_MOST: Final = 2**53


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


Record = Head | Entity | EventRecord | ItemRecord | AccountRecord | End


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
    return _record(_Fields(document))


def _document(record: Record) -> dict[str, Any]:
    match record:
        case Head():
            return {"record": "export", "format": record.format, "at": rfc3339(record.at)}
        case Entity():
            return {"record": "entity"} | wire.entity(record)
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
        case AccountRecord():
            return {
                "record": "account",
                "name": record.name,
                "delivered": record.delivered,
                "expired": record.expired,
                "discarded": record.discarded,
            }
        case End():
            return {"record": "end", "lines": record.lines}
        case other:
            assert_never(other)


def _record(fields: "_Fields") -> Record:
    match fields.text("record"):
        case "export":
            return Head(fields.time("at"), fields.whole("format"))
        case "entity":
            return _entity(fields)
        case "event":
            return _event(fields)
        case "item":
            return _item(fields)
        case "account":
            return AccountRecord(
                name=fields.text("name"),
                delivered=fields.whole("delivered"),
                expired=fields.whole("expired"),
                discarded=fields.whole("discarded"),
            )
        case "end":
            return End(fields.whole("lines"))
        case other:
            raise Invalid(f"there is no record {other!r}")


def _entity(fields: "_Fields") -> Entity:
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


def _event(fields: "_Fields") -> EventRecord:
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


def _item(fields: "_Fields") -> ItemRecord:
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


def _receipt(fields: "_Fields") -> Receipt:
    return Receipt(fields.one_of("kind", "drain", "run", "person"), fields.text("owner")[:200], fields.time("at"))


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of a line, read with an error for what is missing or of the wrong kind."""

    document: Mapping[str, Any]

    def value(self, name: str) -> Any:
        if name not in self.document:
            raise Invalid(f"{name!r} is missing")
        return self.document[name]

    def text(self, name: str) -> str:
        value = self.value(name)
        if not isinstance(value, str):
            raise Invalid(f"{name!r} must be a string, not {value!r:.60}")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Invalid(f"{name!r} has half of a surrogate pair in it") from None
        if "\x00" in value:
            raise Invalid(f"{name!r} has a NUL character in it")
        return value

    def text_or_none(self, name: str) -> str | None:
        return None if self.value(name) is None else self.text(name)

    def texts(self, name: str) -> list[str]:
        value = self.value(name)
        if not isinstance(value, list):
            raise Invalid(f"{name!r} must be a list, not {value!r:.60}")
        return [_Fields({name: each}).text(name) for each in value]

    def whole(self, name: str) -> int:
        value = self.value(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST:
            raise Invalid(f"{name!r} must be a whole number, not {value!r:.60}")
        return value

    def flag(self, name: str) -> bool:
        value = self.value(name)
        if not isinstance(value, bool):
            raise Invalid(f"{name!r} must be true or false, not {value!r:.60}")
        return value

    def time(self, name: str) -> Instant:
        return instant(self.text(name))

    def time_or_none(self, name: str) -> Instant | None:
        return None if self.value(name) is None else self.time(name)

    def inner(self, name: str) -> "_Fields | None":
        value = self.value(name)
        if value is not None and not isinstance(value, dict):
            raise Invalid(f"{name!r} must be an object, not {value!r:.60}")
        return _Fields(value) if value is not None else None

    def one_of(self, name: str, *choices: str) -> str:
        value = self.text(name)
        if value not in choices:
            raise Invalid(f"{name!r} must be one of {', '.join(choices)}, not {value!r:.60}")
        return value


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _time(value: Instant | None) -> str | None:
    return rfc3339(value) if value is not None else None
