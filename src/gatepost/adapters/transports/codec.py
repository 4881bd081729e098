"""
How signals look on a wire that only Gatepost reads: a JSON array of entries.

    {"to": ["ann", "bob"], "cause": "event", "wakes": true, "event": {...}}    rings that say the same, up to 64
    {"topic": "space:q4", "name": "agent.active", "data": {...}}               a frame

An event is written as everywhere (`core/wire.py`). It is the only part that may be left out: where there is no room for
it a ring goes without, because whoever hears it looks into the store. A frame for which there is no room is lost.

Only ASCII is written, so characters are bytes. What cannot be written is counted, what cannot be read is passed over,
and neither raises.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, Final

from gatepost.core.event import Event
from gatepost.core.frame import Frame, TransportMessage
from gatepost.core.ring import Ring
from gatepost.errors import GatepostError

#: rings of one entry: with the longest names still under 8,000 bytes, which is what PostgreSQL takes
_TOGETHER: Final = 64

#: what an event need not have
_ABSENT: Final = dict.fromkeys(("sender", "subject", "dedupKey", "occurredAt", "expiresAt", "ref", "route"))
_UNWRITABLE: Final = (TypeError, ValueError, RecursionError, GatepostError)
_UNREADABLE: Final = (
    *(TypeError, ValueError, LookupError, AttributeError, RecursionError, GatepostError),
    OverflowError,  # of a number that is infinite
)


def messages(signals: Sequence[TransportMessage], *, most: int, events: bool = True) -> tuple[list[str], int]:
    """Write signals as messages of at most so many bytes; return these, and how many signals are in none."""
    written: list[str] = []
    together: list[str] = []
    size = lost = 0
    for count, entry in _entries(signals, most - 2, events):
        if entry is None:
            lost += count
            continue
        if together and size + len(entry) > most - 2:
            written.append(f"[{','.join(together)}]")
            together, size = [], 0
        together.append(entry)
        size += len(entry) + 1
    if together:
        written.append(f"[{','.join(together)}]")
    return written, lost


def read(text: str | bytes | bytearray) -> list[TransportMessage]:
    """Read a message; what is not as it should be is passed over."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return []
    signals: list[TransportMessage] = []
    for entry in entries if isinstance(entries, list) else ():
        with suppress(*_UNREADABLE):
            signals += _signals(entry)
    return signals


def text(document: Any) -> str | None:
    """Write JSON on one line, or nothing if it is not JSON."""
    try:
        return json.dumps(document, allow_nan=False, separators=(",", ":"))
    except _UNWRITABLE:
        return None


def document(event: Event) -> dict[str, Any] | None:
    """An event as other programs see it, or nothing if it cannot be shown."""
    from gatepost.core import wire  # late: it knows every noun, and a process that lives for a moment may need none

    try:
        return wire.event(event)
    except _UNWRITABLE:
        return None


def event(document: dict[str, Any]) -> Event | None:
    """Read an event that was written with `document`, or nothing if it is not one."""
    from gatepost.core import unwire  # late: it knows every noun

    try:
        return unwire.event(_ABSENT | document)
    except _UNREADABLE:
        return None


def _entries(signals: Sequence[TransportMessage], most: int, events: bool) -> Iterator[tuple[int, str | None]]:
    """Each entry and how many signals it stands for; None for what cannot be written, or is too large."""
    for alike, group in groupby(signals, _likeness):
        some = list(group)
        if alike is None:
            for frame in some:
                yield 1, _fitting(_frame_entry(frame), most)
        else:
            for start in range(0, len(some), _TOGETHER):
                rings = [one for one in some[start : start + _TOGETHER] if isinstance(one, Ring)]
                yield len(rings), _rings_entry(rings, most, events)


def _likeness(signal: TransportMessage) -> tuple[str, bool, int] | None:
    """What rings of one entry share; None for frames, which have each their own."""
    return (signal.cause, signal.wakes, id(signal.event)) if isinstance(signal, Ring) else None


def _frame_entry(frame: TransportMessage) -> str | None:
    assert isinstance(frame, Frame)
    return text({"topic": frame.topic, "name": frame.event, "data": frame.data})


def _rings_entry(rings: Sequence[Ring], most: int, events: bool) -> str | None:
    first = rings[0]
    entry: dict[str, Any] = {"to": [ring.recipient for ring in rings], "cause": first.cause, "wakes": first.wakes}
    if events and first.event is not None and (shown := document(first.event)) is not None:
        whole = _fitting(text(entry | {"event": shown}), most)
        if whole is not None:
            return whole
    return _fitting(text(entry), most)


def _fitting(entry: str | None, most: int) -> str | None:
    return entry if entry is not None and len(entry) <= most else None


def _signals(entry: dict[str, Any]) -> list[TransportMessage]:
    if "topic" in entry:
        return [Frame(_str(entry["topic"]), _str(entry["name"]), entry["data"])]
    carried = event(entry["event"]) if "event" in entry else None
    cause, wakes = _str(entry["cause"]), bool(entry["wakes"])
    return [Ring(_str(name), cause, carried, wakes) for name in entry["to"]]


def _str(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not a string")
    return value
