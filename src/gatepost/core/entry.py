"""
A line of a spool: what an agent in another program shall be told at its next hook.

    {"id": "...", "type": "alert", "source": "ci", "content": "main is red", "priority": 2,
     "timestamp": 1707858243000, "dedup_key": "ci-run-42", "ttl_seconds": 600}

These eight fields are what programs in any language write and read; `subject` and `data` may stand beside them. A line
may also be an event as other programs write
it for a list or a stream, `{"eventId", "type", "timestamp", "data"}`; its key is its id. Ours add one field, `event`,
with what else belongs to the event (who sent it, its data), so that it reads the same when the store is out of reach.
But for how far it is trusted: anybody who may write the file can write that too, so whatever a line says, it is from
outside. What the store knows is shown as the store has it.

Reading is tolerant, because a line that is refused is a line that nobody sees: what is missing or makes no sense gets
its default (priority 2 and no expiry), and unknown types are events. Only text in which no object can be found is no
entry. A writer that died half-way leaves the beginning of a line, and the next one, which knows nothing of it, goes on
in the same line: so an object counts wherever it begins, as long as it looks like an entry. It cannot begin within the
text of another, where every quotation mark is escaped.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from gatepost.core.chain import LONGEST_CHAIN
from gatepost.core.entity import Kind
from gatepost.core.event import Event, Json, Priority, Ref, Route, Sender, Trust, Type, body
from gatepost.core.instants import LAST, LONGEST, SECOND, Instant, instant
from gatepost.errors import GatepostError

_MILLISECOND: Final = 1_000
#: places in a broken line where an entry is looked for
_TRIES: Final = 256
_TYPES: Final = frozenset(Type)
_PLAIN_ID: Final = re.compile(r"[\w.:@-]{1,128}", re.ASCII)

_decode: Final = json.JSONDecoder().raw_decode
_encode: Final = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    id: str = ""
    type: str = Type.EVENT
    source: str = ""
    content: str = ""
    priority: Priority = Priority.NORMAL
    #: when it was written, 0 where that is not known
    timestamp_ms: int = 0
    #: without one it is unlike every other entry
    dedup_key: str | None = None
    #: how long it is worth reading, from its timestamp
    ttl_seconds: int | None = None
    #: what else belongs to the event, where one of ours wrote it
    event: Mapping[str, Json] | None = None
    #: the line as it was read, to be written again as it was
    raw: bytes = field(default=b"", compare=False)

    @property
    def expires_at(self) -> Instant | None:
        if self.ttl_seconds is None or not self.timestamp_ms:
            return None
        return self.timestamp_ms * _MILLISECOND + self.ttl_seconds * SECOND

    def line(self) -> bytes:
        """The entry as a line of a spool, its end included."""
        return (self.raw or _encode(_document(self)).encode()) + b"\n"


def of(event: Event) -> Entry:
    """An event as an entry. Its key is the event's own, or its id: copies that went other ways are recognised."""
    lifetime = event.expires_at - event.created_at if event.expires_at is not None else None
    return Entry(
        id=event.id,
        type=event.type,
        source=event.source,
        content=event.content,
        priority=event.priority,
        timestamp_ms=event.created_at // _MILLISECOND,
        dedup_key=event.key or event.id,
        ttl_seconds=max(1, -(-lifetime // SECOND)) if lifetime is not None else None,
        event={
            "sender": [event.sender.name, event.sender.display, event.sender.kind] if event.sender else None,
            "subject": event.subject,
            "data": event.data,
            "ref": [event.ref.type, event.ref.id] if event.ref else None,
            "route": [event.route.channel, event.route.session] if event.route else None,
            "hops": event.hops,
            "occurredAt": event.source_time,
        },
    )


def read(line: bytes) -> tuple[list[Entry], bytes]:
    """The entries of a line, usually one, and the line itself if some of it could not be read."""
    raw = line.strip()
    text = raw.decode(errors="replace")
    found = list(_found(text))
    if len(found) == 1 and found[0][1] == text:
        return [_entry(found[0][0], raw=raw)], b""
    # what a line holds besides could be anybody's words, so nothing that is ours alone to say is taken from it
    entries = [_entry({**document, "event": None}) for document, _ in found]
    return entries, raw if "".join(written for _, written in found) != text else b""


def event(entry: Entry, read_at: Instant = 0) -> Event:
    """The event that an entry tells of. It is from outside, and says so. Without a time of its own it has `read_at`."""
    plain = Event(
        id=entry.id if _PLAIN_ID.fullmatch(entry.id) else "",
        type=Type(entry.type) if entry.type in _TYPES else Type.EVENT,
        source=entry.source or "spool",
        content=entry.content,
        priority=entry.priority,
        key=entry.dedup_key,
        created_at=entry.timestamp_ms * _MILLISECOND or read_at,
        expires_at=entry.expires_at,
        trust=Trust.EXTERNAL,
    )
    if entry.event is None:
        return plain
    try:
        whole = _completed(plain, entry.event)
        body(whole)
    except (TypeError, ValueError, LookupError, GatepostError):  # somebody else wrote it, and not as we do
        return plain
    return whole


def _found(text: str) -> Iterator[tuple[Mapping[str, Json], str]]:
    """The objects of a line and how each was written: the whole line, or what looks like an entry within it."""
    place = 0
    for _ in range(_TRIES):
        begin = text.find("{", place)
        if begin < 0:
            return
        try:
            document, end = _decode(text, begin)
        except (ValueError, RecursionError):
            place = begin + 1
            continue
        place = end
        whole = end - begin == len(text)
        if whole or (text[end : end + 1] in ("", "{") and {"id", "content"} <= document.keys()):
            yield document, text[begin:end]


def _entry(document: Mapping[str, Json], raw: bytes = b"") -> Entry:
    if "eventId" in document and "id" not in document:
        document = _rewrite(document)
    elif "event" not in document and not {"subject", "data"}.isdisjoint(document):
        document = {**document, "event": _complete(document)}
    key, more = document.get("dedup_key"), document.get("event")
    return Entry(
        id=_text(document.get("id")),
        type=_text(document.get("type")) or Type.EVENT,
        source=_text(document.get("source")),
        content=_text(document.get("content")),
        priority=_priority(document.get("priority")),
        timestamp_ms=_positive(document.get("timestamp"), LAST // _MILLISECOND) or 0,
        dedup_key=key if isinstance(key, str) and key else None,
        ttl_seconds=_positive(document.get("ttl_seconds"), LONGEST // SECOND),
        event=more if isinstance(more, dict) else None,
        raw=raw,
    )


def _rewrite(document: Mapping[str, Json]) -> Mapping[str, Json]:
    """The fields of a line from those of an event that another program wrote for a list or a stream."""
    try:
        time = instant(document["timestamp"]) // _MILLISECOND
    except (LookupError, TypeError, GatepostError):
        time = 0
    ident = document["eventId"]
    return {
        **document,
        "id": ident,
        "timestamp": time,
        "dedup_key": document.get("dedup_key") or ident,
        "event": _complete(document),
    }


def _complete(document: Mapping[str, Json]) -> dict[str, Json]:
    """What else belongs to the event of another program: its subject and its data."""
    subject = document.get("subject")
    return {
        "sender": None,
        "ref": None,
        "route": None,
        "hops": 0,
        "subject": subject if isinstance(subject, str) and subject else None,
        "data": document.get("data"),
    }


def _text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _encode(value)


def _priority(value: Json) -> Priority:
    try:
        return Priority.parse(int(value) if isinstance(value, float) and value.is_integer() else value)
    except GatepostError:
        return Priority.NORMAL


def _positive(value: Json, most: int) -> int | None:
    """A number as a whole one, rounded up; None for what is none, is zero or less, or is more than can be meant."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
        return None
    return -int(-value // 1)


def _document(entry: Entry) -> dict[str, Json]:
    document: dict[str, Json] = {
        "id": entry.id,
        "type": entry.type,
        "source": entry.source,
        "content": entry.content,
        "priority": entry.priority.value,
        "timestamp": entry.timestamp_ms,
        "dedup_key": entry.dedup_key,
        "ttl_seconds": entry.ttl_seconds,
    }
    return document | ({"event": dict(entry.event)} if entry.event is not None else {})


def _completed(plain: Event, more: Mapping[str, Json]) -> Event:
    sender, ref, route = more["sender"], more["ref"], more["route"]
    return replace(
        plain,
        sender=Sender(_str(sender[0]), _str(sender[1]), Kind(sender[2])) if sender else None,
        subject=_str(more["subject"]) if more["subject"] is not None else None,
        data=more["data"],
        ref=Ref(_str(ref[0]), _str(ref[1])) if ref else None,
        route=Route(_str(route[0]), _str(route[1])) if route else None,
        hops=_hops(more["hops"]),
        source_time=_time(more.get("occurredAt")),
    )


def _time(value: Json) -> Instant | None:
    if value is not None and not 0 <= value <= LAST:
        raise ValueError(f"{value!r:.60} is not a time")
    return int(value) if value is not None else None


def _hops(value: Json) -> int:
    if not 0 <= value <= LONGEST_CHAIN:
        raise ValueError(f"{value!r:.60} links are not a chain")
    return int(value)


def _str(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not a string")
    return value
