"""
A line of a spool: an event for an agent in another program, which its next hook shows.

    {"id": "...", "type": "alert", "source": "ci", "content": "main is red", "priority": 2,
     "timestamp": 1707858243000, "dedup_key": "ci-run-42", "ttl_seconds": 600}

Programs in any language write and read these eight fields; `subject` and `data` may stand beside them. A line may also
be an event as other programs write it to a list or a stream, `{"eventId", "type", "timestamp", "data"}`; its key is its
id. Lines of Gatepost have one more field, `event`, with the rest of the event (its sender, its data), so that it reads
the same if the store cannot be reached. The trust is an exception: a program that may write the file could write that
too, so every line is external. An event that the store knows is shown as the store has it.

The parser is tolerant, because nobody would see a refused line: a field that is missing or makes no sense gets its
default (priority 2 and no expiry), and unknown types are events. Only text without any JSON object is no entry. A
writer that died half-way leaves the beginning of a line, and the next writer, which does not know that, continues in
the same line. So an object counts wherever it begins, if it looks like an entry. It cannot begin within the text of
another entry, where every quotation mark is escaped.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import astuple, replace

from gatepost.core.json_limits import Json
from gatepost.core.times import MAX_DURATION, MAX_INSTANT, SECOND, Instant, parse_instant
from gatepost.directory.entity import EntityKind
from gatepost.errors import GatepostError, quote_value
from gatepost.inbox.event import MAX_HOPS, Event, EventType, Priority, Ref, Route, Sender, Trust, parse_body

_MILLISECOND: Final = 1_000
#: places in a broken line at which an entry is looked for
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
    #: when it was written; 0 if that is not known
    timestamp_ms: int = 0
    #: None if it is no repeat of any other line
    dedup_key: str | None = None
    #: how long it is worth reading, after its timestamp
    ttl_seconds: int | None = None
    #: the rest of the event, if Gatepost wrote the line
    event_fields: Mapping[str, Json] | None = None
    #: the line as it was read, to be written back unchanged
    raw: bytes = b""

    def __eq__(self, other: object) -> bool:
        """Return True if all fields but `raw` are equal."""
        return astuple(self)[:-1] == astuple(other)[:-1] if isinstance(other, SpoolLine) else NotImplemented

    def __hash__(self) -> int:
        return hash(astuple(self)[:-1])

    @property
    def expires_at(self) -> Instant | None:
        if self.ttl_seconds is None or not self.timestamp_ms:
            return None
        return self.timestamp_ms * _MILLISECOND + self.ttl_seconds * SECOND

    def to_bytes(self) -> bytes:
        """Return the line, with its line end."""
        return (self.raw or _encode(_build_document(self)).encode()) + b"\n"


def from_event(event: Event) -> SpoolLine:
    """Return the line of an event. Its key is the key or the id of the event, so that copies are recognised."""
    lifetime = event.expires_at - event.created_at if event.expires_at is not None else None
    return SpoolLine(
        id=event.id,
        type=event.type,
        source=event.source,
        content=event.content,
        priority=event.priority,
        timestamp_ms=event.created_at // _MILLISECOND,
        dedup_key=event.dedup_key or event.id,
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
    """Return the entries of a line, usually one, and the line itself if some of it could not be parsed."""
    raw = line.strip()
    text = raw.decode(errors="replace")
    objects = list(_find_objects(text))
    if len(objects) == 1 and objects[0][1] == text:
        return [_build_spool_line(objects[0][0], raw=raw)], b""
    # the rest of a broken line could be anybody's text, so the fields that only Gatepost writes are not taken from it
    spool_lines = [_build_spool_line({**document, "event": None}) for document, _ in objects]
    return spool_lines, raw if "".join(source for _, source in objects) != text else b""


def to_event(spool_line: SpoolLine, read_at: Instant = 0) -> Event:
    """Return the event of a line. Its trust is external. If the line has no time, the event has `read_at`."""
    base_event = Event(
        id=spool_line.id if _PLAIN_ID.fullmatch(spool_line.id) else "",
        type=EventType(spool_line.type) if spool_line.type in _TYPES else EventType.EVENT,
        source=spool_line.source or "spool",
        content=spool_line.content,
        priority=spool_line.priority,
        dedup_key=spool_line.dedup_key,
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
    """Yield the objects of a line with their texts: the whole line, or every object that looks like an entry."""
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
    """Return the fields of a line for an event that another program wrote to a list or a stream."""
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
    """Return the event fields for an entry of another program: its subject and its data."""
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
    """Return a number, rounded up; None if it is no number, not positive, or above the maximum."""
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
        raise ValueError(f"{quote_value(value)} is not a time")
    return int(value) if value is not None else None


def _check_hops(value: Json) -> int:
    if not 0 <= value <= MAX_HOPS:
        raise ValueError(f"{quote_value(value)} links are not a chain")
    return int(value)


def _check_str(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{quote_value(value)} is not a string")
    return value
