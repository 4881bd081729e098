"""
How messages look on a wire that only Gatepost reads: a JSON array of entries.

    {"to": ["ann", "bob"], "cause": "event", "wakes": true, "event": {...}}    up to 64 signals that differ in recipient
    {"topic": "space:q4", "name": "agent.active", "data": {...}}               a frame

An event is written as everywhere (`inbox/event_api.py`). It is the only part that may be left out: if there is no room
for it, the signal goes without it, because a receiver reads the store. A frame for which there is no room is lost.

Only ASCII is written, so characters are bytes. Messages that cannot be written are counted and entries that cannot be
read are skipped; neither raises.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, Final

import msgspec

from gatepost.core import typed_json
from gatepost.core.signals import Frame, Signal, Topic, TransportMessage
from gatepost.errors import GatepostError, quote_value
from gatepost.inbox.event import Event, Item

#: with the longest names an entry of this many signals is still under 8,000 bytes, the limit of PostgreSQL
_MAX_SIGNALS_PER_ENTRY: Final = 64

#: fields that a document of an event may leave out
_OPTIONAL_FIELDS: Final = dict.fromkeys(
    ("sender", "senderName", "senderType", "subject", "dedupKey", "occurredAt", "expiresAt", "ref", "route")
)
_ENCODE_ERRORS: Final = (TypeError, ValueError, RecursionError, GatepostError)
_DECODE_ERRORS: Final = (
    *(TypeError, ValueError, LookupError, AttributeError, RecursionError, GatepostError),
    OverflowError,  # an infinite number
    msgspec.ValidationError,
)


def encode_payloads(
    messages: Sequence[TransportMessage], *, max_bytes: int, include_events: bool = True
) -> tuple[list[str], int]:
    """Return payloads of at most `max_bytes` each, and the number of messages that are in none of them."""
    payloads: list[str] = []
    entries: list[str] = []
    size = lost_count = 0
    for count, entry in _encode_entries(messages, max_bytes - 2, include_events):
        if entry is None:
            lost_count += count
            continue
        if entries and size + len(entry) > max_bytes - 2:
            payloads.append(f"[{','.join(entries)}]")
            entries, size = [], 0
        entries.append(entry)
        size += len(entry) + 1
    if entries:
        payloads.append(f"[{','.join(entries)}]")
    return payloads, lost_count


def decode_payload(payload: str | bytes | bytearray) -> list[TransportMessage]:
    """Return the messages of a payload; entries that are malformed are skipped."""
    try:
        entries = json.loads(payload)
    except (ValueError, RecursionError):
        return []
    messages: list[TransportMessage] = []
    for entry in entries if isinstance(entries, list) else ():
        with suppress(*_DECODE_ERRORS):
            messages += _decode_entry(entry)
    return messages


def dump_json(document: Any) -> str | None:
    """Return the document as JSON on one line; None if it cannot be JSON."""
    try:
        return json.dumps(document, allow_nan=False, separators=(",", ":"))
    except _ENCODE_ERRORS:
        return None


def encode_event(event: Event) -> dict[str, Any] | None:
    """Return an event as other programs see it; None if it cannot be written."""
    from gatepost.inbox.event_api import EventView  # a slow import, which a short-lived process may not need

    try:
        document: dict[str, Any] = msgspec.to_builtins(EventView.of(Item(event=event, recipient="")))
    except _ENCODE_ERRORS:
        return None
    return document


def decode_event(document: dict[str, Any]) -> Event | None:
    """Return the event of a document that `encode_event` wrote; None if it is malformed."""
    from gatepost.inbox.event_api import EventView  # a slow import

    try:
        fields = _OPTIONAL_FIELDS | document
        occurred_at = fields["occurredAt"] or fields["createdAt"]
        return typed_json.convert(fields | {"occurredAt": occurred_at, "timestamp": occurred_at}, EventView).to_event()
    except _DECODE_ERRORS:
        return None


def _encode_entries(
    messages: Sequence[TransportMessage], max_bytes: int, include_events: bool
) -> Iterator[tuple[int, str | None]]:
    """Yield the number of messages of each entry, and the entry; None if it is not JSON or too large."""
    for key, group in groupby(messages, _get_group_key):
        members = list(group)
        if key is None:
            for frame in members:
                assert isinstance(frame, Frame)
                document = {"topic": str(frame.topic), "name": frame.event, "data": frame.data}
                yield 1, _drop_if_too_large(dump_json(document), max_bytes)
        else:
            for start in range(0, len(members), _MAX_SIGNALS_PER_ENTRY):
                signals = [
                    member for member in members[start : start + _MAX_SIGNALS_PER_ENTRY] if isinstance(member, Signal)
                ]
                yield len(signals), _encode_signals(signals, max_bytes, include_events)


def _get_group_key(message: TransportMessage) -> tuple[str, bool, int] | None:
    """Return what the signals of one entry have in common; None for frames, which have an entry each."""
    return (message.cause, message.wakes, id(message.event)) if isinstance(message, Signal) else None


def _encode_signals(signals: Sequence[Signal], max_bytes: int, include_events: bool) -> str | None:
    first = signals[0]
    entry: dict[str, Any] = {
        "to": [signal.topic.recipient for signal in signals],
        "cause": first.cause,
        "wakes": first.wakes,
    }
    if include_events and first.event is not None and (document := encode_event(first.event)) is not None:
        full_entry = _drop_if_too_large(dump_json(entry | {"event": document}), max_bytes)
        if full_entry is not None:
            return full_entry
    return _drop_if_too_large(dump_json(entry), max_bytes)


def _drop_if_too_large(entry: str | None, max_bytes: int) -> str | None:
    return entry if entry is not None and len(entry) <= max_bytes else None


def _decode_entry(entry: dict[str, Any]) -> list[TransportMessage]:
    if "topic" in entry:
        return [Frame(Topic.parse(_require_str(entry["topic"])), _require_str(entry["name"]), entry["data"])]
    event = decode_event(entry["event"]) if "event" in entry else None
    cause, wakes = _require_str(entry["cause"]), bool(entry["wakes"])
    return [Signal(Topic.parse(_require_str(name)), cause, event, wakes) for name in entry["to"]]


def _require_str(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{quote_value(value)} is not a string")
    return value
