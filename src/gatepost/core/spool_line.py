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
from typing import Final

from msgspec import Struct
from msgspec.structs import astuple, replace

from gatepost.core.chain import MAX_HOPS
from gatepost.core.entity import EntityKind
from gatepost.core.event import Event, EventType, Json, Priority, Ref, Route, Sender, Trust, parse_body
from gatepost.core.times import MAX_DURATION, MAX_INSTANT, SECOND, Instant, parse_instant
from gatepost.errors import GatepostError

_MILLISECOND: Final = 1_000
#: places in a broken line where an entry is looked for
_MAX_TRIES: Final = 256
_TYPES: Final = frozenset(EventType)
_PLAIN_ID: Final = re.compile(r"[\w.:@-]{1,128}", re.ASCII)

_decode: Final = json.JSONDecoder().raw_decode
_encode: Final = json.JSONEncoder(separators=(",", ":")).encode


class SpoolLine(Struct, frozen=True, kw_only=True):
    id: str = ""
    type: str = EventType.EVENT
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
    event_fields: Mapping[str, Json] | None = None
    #: the line as it was read, to be written again as it was
    raw: bytes = b""

    def __eq__(self, other: object) -> bool:
        """Return True if both lines say the same, however each was written (`raw`)."""
        return astuple(self)[:-1] == astuple(other)[:-1] if isinstance(other, SpoolLine) else NotImplemented

    def __hash__(self) -> int:
        return hash(astuple(self)[:-1])

    @property
    def expires_at(self) -> Instant | None:
        if self.ttl_seconds is None or not self.timestamp_ms:
            return None
        return self.timestamp_ms * _MILLISECOND + self.ttl_seconds * SECOND

    def to_bytes(self) -> bytes:
        """The entry as a line of a spool, its end included."""
        return (self.raw or _encode(_build_document(self)).encode()) + b"\n"


def from_event(event: Event) -> SpoolLine:
    """An event as an entry. Its key is the event's own, or its id: copies that went other ways are recognised."""
    lifetime = event.expires_at - event.created_at if event.expires_at is not None else None
    return SpoolLine(
        id=event.id,
        type=event.type,
        source=event.source,
        content=event.content,
        priority=event.priority,
        timestamp_ms=event.created_at // _MILLISECOND,
        dedup_key=event.key or event.id,
        ttl_seconds=max(1, -(-lifetime // SECOND)) if lifetime is not None else None,
        event_fields={
            "sender": [event.sender.name, event.sender.display, event.sender.kind] if event.sender else None,
            "subject": event.subject,
            "data": event.data,
            "ref": [event.ref.type, event.ref.id] if event.ref else None,
            "route": [event.route.channel, event.route.session] if event.route else None,
            "hops": event.hops,
            "occurredAt": event.source_time,
        },
    )


def parse_line(line: bytes) -> tuple[list[SpoolLine], bytes]:
    """The entries of a line, usually one, and the line itself if some of it could not be read."""
    raw = line.strip()
    text = raw.decode(errors="replace")
    objects = list(_find_objects(text))
    if len(objects) == 1 and objects[0][1] == text:
        return [_build_spool_line(objects[0][0], raw=raw)], b""
    # what a line holds besides could be anybody's words, so nothing that is ours alone to say is taken from it
    spool_lines = [_build_spool_line({**document, "event": None}) for document, _ in objects]
    return spool_lines, raw if "".join(source for _, source in objects) != text else b""


def to_event(spool_line: SpoolLine, read_at: Instant = 0) -> Event:
    """The event that an entry tells of. It is from outside, and says so. Without a time of its own it has `read_at`."""
    base_event = Event(
        id=spool_line.id if _PLAIN_ID.fullmatch(spool_line.id) else "",
        type=EventType(spool_line.type) if spool_line.type in _TYPES else EventType.EVENT,
        source=spool_line.source or "spool",
        content=spool_line.content,
        priority=spool_line.priority,
        key=spool_line.dedup_key,
        created_at=spool_line.timestamp_ms * _MILLISECOND or read_at,
        expires_at=spool_line.expires_at,
        trust=Trust.EXTERNAL,
    )
    if spool_line.event_fields is None:
        return base_event
    try:
        full_event = _add_event_fields(base_event, spool_line.event_fields)
        parse_body(full_event)
    except (TypeError, ValueError, LookupError, GatepostError):  # somebody else wrote it, and not as we do
        return base_event
    return full_event


def _find_objects(text: str) -> Iterator[tuple[Mapping[str, Json], str]]:
    """The objects of a line and how each was written: the whole line, or what looks like an entry within it."""
    position = 0
    for _ in range(_MAX_TRIES):
        start = text.find("{", position)
        if start < 0:
            return
        try:
            document, end = _decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        position = end
        is_whole_line = end - start == len(text)
        if is_whole_line or (text[end : end + 1] in ("", "{") and {"id", "content"} <= document.keys()):
            yield document, text[start:end]


def _build_spool_line(document: Mapping[str, Json], raw: bytes = b"") -> SpoolLine:
    if "eventId" in document and "id" not in document:
        document = _convert_document(document)
    elif "event" not in document and not {"subject", "data"}.isdisjoint(document):
        document = {**document, "event": _build_event_fields(document)}
    key, event_fields = document.get("dedup_key"), document.get("event")
    return SpoolLine(
        id=_to_text(document.get("id")),
        type=_to_text(document.get("type")) or EventType.EVENT,
        source=_to_text(document.get("source")),
        content=_to_text(document.get("content")),
        priority=_to_priority(document.get("priority")),
        timestamp_ms=_to_positive_int(document.get("timestamp"), MAX_INSTANT // _MILLISECOND) or 0,
        dedup_key=key if isinstance(key, str) and key else None,
        ttl_seconds=_to_positive_int(document.get("ttl_seconds"), MAX_DURATION // SECOND),
        event_fields=event_fields if isinstance(event_fields, dict) else None,
        raw=raw,
    )


def _convert_document(document: Mapping[str, Json]) -> Mapping[str, Json]:
    """The fields of a line from those of an event that another program wrote for a list or a stream."""
    try:
        timestamp_ms = parse_instant(document["timestamp"]) // _MILLISECOND
    except (LookupError, TypeError, GatepostError):
        timestamp_ms = 0
    event_id = document["eventId"]
    return {
        **document,
        "id": event_id,
        "timestamp": timestamp_ms,
        "dedup_key": document.get("dedup_key") or event_id,
        "event": _build_event_fields(document),
    }


def _build_event_fields(document: Mapping[str, Json]) -> dict[str, Json]:
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


def _to_text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _encode(value)


def _to_priority(value: Json) -> Priority:
    try:
        return Priority.parse(int(value) if isinstance(value, float) and value.is_integer() else value)
    except GatepostError:
        return Priority.NORMAL


def _to_positive_int(value: Json, maximum: int) -> int | None:
    """A number as a whole one, rounded up; None for what is none, is zero or less, or is more than can be meant."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= maximum:
        return None
    return -int(-value // 1)


def _build_document(spool_line: SpoolLine) -> dict[str, Json]:
    document: dict[str, Json] = {
        "id": spool_line.id,
        "type": spool_line.type,
        "source": spool_line.source,
        "content": spool_line.content,
        "priority": spool_line.priority.value,
        "timestamp": spool_line.timestamp_ms,
        "dedup_key": spool_line.dedup_key,
        "ttl_seconds": spool_line.ttl_seconds,
    }
    return document | ({"event": dict(spool_line.event_fields)} if spool_line.event_fields is not None else {})


def _add_event_fields(base_event: Event, event_fields: Mapping[str, Json]) -> Event:
    sender, ref, route = event_fields["sender"], event_fields["ref"], event_fields["route"]
    return replace(
        base_event,
        sender=Sender(_check_str(sender[0]), _check_str(sender[1]), EntityKind(sender[2])) if sender else None,
        subject=_check_str(event_fields["subject"]) if event_fields["subject"] is not None else None,
        data=event_fields["data"],
        ref=Ref(_check_str(ref[0]), _check_str(ref[1])) if ref else None,
        route=Route(_check_str(route[0]), _check_str(route[1])) if route else None,
        hops=_check_hops(event_fields["hops"]),
        source_time=_check_time(event_fields.get("occurredAt")),
    )


def _check_time(value: Json) -> Instant | None:
    if value is not None and not 0 <= value <= MAX_INSTANT:
        raise ValueError(f"{value!r:.60} is not a time")
    return int(value) if value is not None else None


def _check_hops(value: Json) -> int:
    if not 0 <= value <= MAX_HOPS:
        raise ValueError(f"{value!r:.60} links are not a chain")
    return int(value)


def _check_str(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not a string")
    return value
