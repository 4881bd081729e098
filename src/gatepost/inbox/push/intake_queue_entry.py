"""
Events that other programs put on a queue for an agent (Redis, NATS): JSON objects in one of two forms.

    {"eventId": "...", "type": "...", "timestamp": "2026-02-18T15:06:55Z", "data": {...}}
    {"id": "...", "type": "...", "source": "...", "content": "...", "priority": 2,
     "timestamp": 1707858243000, "dedup_key": "...", "ttl_seconds": 600}

The second form is a line of a spool (`guests/spool_line.py`). Both may have `subject`, `content`, `source`, `priority`
and `data`. A missing field gets its default; a field of the wrong type is an error that names it.

The dedup key begins with the name of the transport, so that it cannot be the key of another push. The event is
external: its sender is shown as an outsider, and its time is what its source says.
"""

from typing import Any, Final

from gatepost.core import json_limits as strict
from gatepost.core.times import MAX_DURATION, MAX_INSTANT, SECOND, Duration, Instant, parse_instant
from gatepost.errors import Invalid, Malformed, TooLarge, quote_value
from gatepost.inbox.event import Event, EventType, Priority, Push, Trust
from gatepost.inbox.push import dedup_keys as dedup

#: transports; keys of events from JetStream begin so, and these events are not sent there again
NATS: Final = "nats"
REDIS: Final = "redis"

#: bytes of an entry; the limits of an event are lower
_MAX_BYTES: Final = 4 * 1024 * 1024
_MILLISECOND: Final = 1_000


def read_push(raw: bytes, to: str, *, transport: str, fallback_key: str | None = None) -> Push:
    """
    Return the push of an entry for an address; raise Invalid, Malformed or TooLarge if it is wrong. `fallback_key` is
    the key of an entry that has none; it must be the same whenever this entry is read again.
    """
    if len(raw) > _MAX_BYTES:
        raise TooLarge(f"the entry is {len(raw)} bytes, over the limit of {_MAX_BYTES}")
    strict.check_value_count(raw, "the entry")
    document = strict.parse_json(raw, "the entry")
    if not isinstance(document, dict):
        raise Malformed("the entry is not a JSON object")
    is_line = "eventId" not in document and (fallback_key is not None or "id" in document or "dedup_key" in document)
    if is_line:
        source_time = _parse_milliseconds(document.get("timestamp"))
    else:
        has_time = document.get("timestamp") is not None
        source_time = parse_instant(_read_text(document, "timestamp")) if has_time else None
    ttl = _parse_ttl(document.get("ttl_seconds"))
    return Push(
        to=to,
        type=EventType.parse(_read_text(document, "type", EventType.EVENT if is_line else None)),
        source=_read_text(document, "source", transport) or transport,
        subject=_read_text(document, "subject", "") or None,
        content=_read_text(document, "content", ""),
        data=document.get("data"),
        priority=_parse_priority(document.get("priority")),
        dedup_key=_read_key(document, is_line, fallback_key),
        key_prefix=f"{transport}:",
        source_time=source_time,
        ttl=ttl if source_time is None else None,
        expires_at=source_time + ttl if source_time is not None and ttl is not None else None,
        trust=Trust.EXTERNAL,
    )


def is_from_transport(event: Event, transport: str) -> bool:
    """Return True if another program put the event on that transport."""
    return event.dedup_key is not None and event.dedup_key.startswith(f"{transport}:")


def _read_key(document: dict[str, Any], is_line: bool, fallback_key: str | None) -> str:
    """Return the key that the other program gave the entry: a repeat has the same key."""
    if not is_line:
        return _read_identity(document, "eventId")
    for field in ("dedup_key", "id"):
        if document.get(field) not in (None, ""):
            return _read_identity(document, field)
    if fallback_key is None:
        raise Invalid("the entry has neither a dedup_key nor an id")
    return fallback_key


def _read_identity(document: dict[str, Any], field: str) -> str:
    name = _read_text(document, field)
    if not 0 < len(name) <= dedup.MAX_LENGTH:
        raise Invalid(f"the {field} has {len(name)} characters, not 1 to {dedup.MAX_LENGTH}")
    return name


def _parse_milliseconds(value: Any) -> Instant | None:
    """Return a time in milliseconds, or in RFC 3339. 0 is the default of programs that do not know the time."""
    if value is None or value == 0:
        return None
    if isinstance(value, str):
        return parse_instant(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value * _MILLISECOND <= MAX_INSTANT:
        raise Invalid(f"the timestamp must be in milliseconds since 1970, not {quote_value(value)}")
    return int(value * _MILLISECOND)


def _parse_ttl(value: Any) -> Duration | None:
    if value is None or value == 0:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value * SECOND <= MAX_DURATION:
        raise Invalid(f"the ttl_seconds must be over zero and at most a hundred years, not {quote_value(value)}")
    return int(value * SECOND)


def _read_text(document: dict[str, Any], name: str, default: str | None = None) -> str:
    value = document.get(name)
    if value is None and default is not None:
        return default
    if value is None:
        raise Invalid(f"the entry has no {name}")
    if not isinstance(value, str):
        raise Invalid(f"the {name} must be a string, not {quote_value(value)}")
    return value


def _parse_priority(value: Any) -> Priority:
    if value is None:
        return Priority.NORMAL
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Invalid(f"{quote_value(value)} is not a priority")
    return Priority.parse(value)
