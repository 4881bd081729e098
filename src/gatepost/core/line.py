"""
How an event reads to an agent: one event, one line, and nothing in it can pretend to be another line.

Content is quoted as a JSON string, payloads are JSON, and a name that holds anything but letters, digits and a few
harmless signs is quoted too, and so is the name of a space that reads like a line of ours (`[Mail]`, `[Gate g_3]`). A
channel that nobody has registered could be called like a space, so it is named as what it is: `[Channel "family"]`. On
top of what JSON escapes, every control character, every line separator, what cannot be seen (variation selectors and
joiners, those of emoji too), private use, bidirectional marks, lone surrogates and `<` are written as `\\uXXXX`; so a
line has no line break in it by any reading, no tag survives, and what looks like `[Space] Name (human):` inside a
message stays inside its quotes.

What follows a line's content in brackets is ours to say. `(context "...")` is the prompt of a trigger, and is shown on
what that trigger brought and nowhere else; what an asker adds to a question is shown as the asker's.

    [Family Space] Husam (human): "Tell Muhammad the meeting is at 3pm" (space family, message 41)
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Final, assert_never

from gatepost.core.batch import COUNTED
from gatepost.core.event import (
    Answered,
    Called,
    Due,
    Ended,
    Event,
    Heard,
    Item,
    Json,
    Mailed,
    Noted,
    Outsider,
    Posted,
    Priority,
    Returned,
    Told,
    Trust,
    Type,
    body,
)
from gatepost.core.instants import DAY, Instant, rfc3339
from gatepost.core.text import count_bytes, truncate

#: controls, soft hyphen, bidi marks, joiners, invisible operators and fillers, line separators, variation selectors,
#: tags, surrogates, private use, non-characters
_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff<]"
)
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_PLAIN_NAME: Final = re.compile(r"\w(?:[\w .'@#&+/-]*[\w.])?")
#: how lines of ours begin that name no space
_OURS: Final = re.compile(r"(?:mail|system|telegram|cli|web|(?:decision|gate|channel)\s.*)", re.IGNORECASE)
#: characters of the content, and of a name, in a preview
_CONTENT: Final = 50
_NAME: Final = 24
#: the channels that people write on, as the house has registered them
_CHANNELS: Final = frozenset(("telegram", "cli", "web"))
#: how the dedup keys begin of what a trigger has brought, and of a question
_BY_TRIGGER: Final = "svc:"
_OF_DECISION: Final = "decision:"
_TITLES: Final = {Type.ALERT: "Alert", Type.EVENT: "Event", Type.AGENT: "Agent"}


def line(event: Event, room: int | None = None, *, rest: str | None = None) -> str:
    """Write an event as one line; with `room`, in at most that many bytes, saying how to read the `rest`."""
    full = _line(event)
    if room is None or (size := count_bytes(full)) <= room:
        return full
    trust = f"{event.trust}, " if event.trust is not Trust.MEMBER else ""
    where = rest or f"gatepost inbox show {event.id}"
    note = f" ... ({trust}cut, {size} bytes in all; the rest: {where})"
    if count_bytes(note) > room:  # the path of a file can have any length
        note = f" ... ({trust}cut, {size} bytes in all)"
    return truncate(full, room, note)


def measure(event: Event) -> int:
    """Return how many bytes the line of an event has."""
    return count_bytes(_line(event))


def batch(items: Sequence[Item], *, at: Instant, held: int = 0, rooms: Iterable[int | None] = ()) -> str:
    """Write a batch as one message: a header and a line for each event."""
    cut = list(rooms) or [None] * len(items)
    lines = (line(item.event, room) for item, room in zip(items, cut, strict=True))
    return "\n".join((header(len(items), held, at), *lines))


def header(count: int, held: int, at: Instant) -> str:
    events = "1 event" if count == 1 else f"{count} events"
    plus = "+" if held >= COUNTED else ""
    waiting = f", {held}{plus} more waiting" if held else ""
    return f"INBOX ({events}{waiting}, {rfc3339(at - at % 1_000_000)}):"


def quote(text: str) -> str:
    """Write text as a JSON string that stays on its line."""
    return escaped(_encode(text))


def payload(value: Json) -> str:
    """Write any JSON value on one line."""
    return escaped(_encode(value))


def title(text: str) -> str:
    """Write a name as it is when it is harmless, quoted when it is not."""
    return text if _PLAIN_NAME.fullmatch(text) and not _UNSAFE.search(text) else quote(text)


def _place(text: str) -> str:
    """Write the name of a space, quoted also when it would read like the beginning of another line."""
    return quote(text) if _OURS.fullmatch(text) else title(text)


def _channel(text: str) -> str:
    """Write the name of a channel, so that one that nobody has registered cannot pass for a space."""
    return text.capitalize() if text in _CHANNELS else f"Channel {quote(text)}"


def _line(event: Event) -> str:
    match body(event):
        case Posted() as said:
            where = [f"space {title(said.space)}"] + ([f"message {said.seq}"] if said.seq is not None else [])
            return f"[{_place(said.space_name)}] {_who(event, said.outsider)}: {quote(said.text)}{_notes(event, where)}"
        case Due() as due:
            when = [f"due {_clock(due.due_at, event.created_at)}"] if due.due_at is not None else []
            where = ([f"plan {title(due.plan)}"] if due.plan else []) + when
            return f"[Plan: {title(due.name)}] {quote(due.instruction)}{_notes(event, where)}"
        case Called() as called:
            where = [f"event {title(event.subject)}"] if event.subject else []
            return f"[Service: {title(called.service)}] {_write_value(event, called.payload)}{_notes(event, where)}"
        case Returned() as returned:
            where = [f"call {title(returned.call)}"] if returned.call else []
            value = _write_value(event, returned.result)
            return f"[Tool Result: {title(returned.tool)}] {value}{_notes(event, where)}"
        case Mailed() as mailed:
            urgency = "" if event.priority is Priority.NORMAL else f", {event.priority.name.lower()}"
            subject = f"{quote(mailed.subject)} - " if mailed.subject else ""
            where = [f"mail {title(mailed.mail)}"] if mailed.mail else []
            where += [f"ref {_ref(event)}"] if event.ref else []
            return f"[Mail] {_who(event)}{urgency}: {subject}{quote(mailed.text)}{_notes(event, where)}"
        case Noted() as noted:
            return f"[Note: {title(noted.about)}] {_who(event)}: {quote(noted.text)}{_notes(event)}"
        case Heard() as heard:
            where = [f"session {_session(heard.session)}"] if heard.session else []
            return f"[{_channel(heard.channel)}] {_who(event)}: {quote(heard.text)}{_notes(event, where)}"
        case Answered() as answered:
            by = f" by {title(answered.by)}" if answered.by else ""
            words = f": {quote(answered.text)}" if answered.text else ""
            return f"[Decision {title(answered.decision)}] {title(answered.outcome)}{by}{words}{_notes(event)}"
        case Ended() as ended:
            words = f": {quote(ended.text)}" if ended.text else ""
            return f"[Gate {title(ended.gate)}] {title(ended.outcome)}{words}{_notes(event)}"
        case Told(type=Type.SYSTEM) as told:
            return f"[System] {_told(event, told.text)}{_notes(event)}"
        case Told() as told:
            return f"[{_TITLES[told.type]}: {title(told.source)}] {_told(event, told.text)}{_notes(event)}"
        case other:
            assert_never(other)


def preview(event: Event) -> str:
    """Write the beginning of an event as one line: 50 characters of its content, and 24 of every name in it."""
    who = f" {_brief(event.sender.display)} ({event.sender.kind}):" if event.sender is not None else ""
    match body(event):
        case Posted() as said:
            who = who or f" {write_outsider(said.outsider, _NAME) if said.outsider else _brief(event.source)}:"
            head, text = f"[{_place(_cut(said.space_name, _NAME))}]{who}", said.text
        case Due() as due:
            head, text = f"[Plan: {_brief(due.name)}]", due.instruction
        case Called(service=name, payload=value):
            return f"[Service: {_brief(name)}] {escaped(_cut(_encode(value), _CONTENT))}{_notes_of_trust(event)}"
        case Returned(tool=name, result=value):
            return f"[Tool Result: {_brief(name)}] {escaped(_cut(_encode(value), _CONTENT))}{_notes_of_trust(event)}"
        case Mailed() as mailed:
            head, text = f"[Mail]{who}", f"{mailed.subject} - {mailed.text}" if mailed.subject else mailed.text
        case Noted() as noted:
            head, text = f"[Note: {_brief(noted.about)}]{who}", noted.text
        case Heard() as heard:
            head, text = f"[{_channel(_cut(heard.channel, _NAME))}]{who}", heard.text
        case Answered() as answered:
            by = f" by {_brief(answered.by)}" if answered.by else ""
            head, text = f"[Decision {title(answered.decision)}] {title(answered.outcome)}{by}:", answered.text
        case Ended() as ended:
            head, text = f"[Gate {title(ended.gate)}] {title(ended.outcome)}:", ended.text
        case Told() as told:
            name = "[System]" if told.type is Type.SYSTEM else f"[{_TITLES[told.type]}: {_brief(told.source)}]"
            head, text = f"{name}{who}", f"{event.subject} - {told.text}" if event.subject else told.text
        case other:
            assert_never(other)
    end = "..." if len(text) > _CONTENT else ""
    return f"{head} {quote(text[:_CONTENT])}{end}{_notes_of_trust(event)}"


def _brief(name: str) -> str:
    return title(_cut(name, _NAME))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def _notes_of_trust(event: Event) -> str:
    return f" ({event.trust.value})" if event.trust is not Trust.MEMBER else ""


def _who(event: Event, outsider: Outsider | None = None) -> str:
    if event.sender is not None:
        return f"{title(event.sender.display)} ({event.sender.kind})"
    return write_outsider(outsider) if outsider else title(event.source)


def write_outsider(outsider: Outsider, most: int = 200) -> str:
    """
    Write who somebody outside is said to be: `Husam (external human)`. No entity reads like that, because a display
    name with brackets in it is quoted, and no kind of entity is called so.
    """
    name = title(_cut(outsider.name or outsider.id, most))
    return f"{name} (external{f' {title(_cut(outsider.kind, _NAME))}' if outsider.kind else ''})"


def _write_value(event: Event, value: Json) -> str:
    """Write a value, after what its sender says of it; the content alone may be the value."""
    words = f"{quote(event.content)} " if event.content and value is not event.content else ""
    return words + payload(value)


def _told(event: Event, text: str) -> str:
    who = f"{_who(event)}: " if event.sender else ""
    subject = f"{quote(event.subject)} - " if event.subject else ""
    data = f" {payload(event.data)}" if event.data is not None else ""
    return f"{who}{subject}{quote(text)}{data}"


def _notes(event: Event, where: Sequence[str] = ()) -> str:
    """What follows the content: a trigger's prompt, where it belongs, and how far it is trusted."""
    notes = [*where] + ([event.trust.value] if event.trust is not Trust.MEMBER else [])
    return _context(event) + (f" ({', '.join(notes)})" if notes else "")


def _context(event: Event) -> str:
    """
    What a trigger adds to what it brings, or an asker to a question. Anybody can put a `context` into the data of an
    event; but these keys are the house's own, and no sender but the house has none.
    """
    context = event.data.get("context") if isinstance(event.data, dict) else None
    if not isinstance(context, str) or event.key is None:
        return ""
    if event.type is Type.SERVICE and event.sender is None and event.key.startswith(_BY_TRIGGER):
        return f" (context {quote(context)})"
    if event.type is Type.DECISION and event.key.startswith(_OF_DECISION):
        return f" (the asker adds {quote(context)})"
    return ""


def _ref(event: Event) -> str:
    assert event.ref
    return f"{title(event.ref.type)}:{title(event.ref.id)}"


def _session(text: str) -> str:
    return text if re.fullmatch(r"[\w:.@-]+", text) and not _UNSAFE.search(text) else quote(text)


def _clock(due: Instant, now: Instant) -> str:
    """The time of day for something due today, else the whole date."""
    whole = rfc3339(due - due % 1_000_000)
    return f"{whole[11:16]}Z" if due // DAY == now // DAY else whole


def escaped(text: str) -> str:
    """Write what could break a line, hide or pretend as `\\uXXXX`."""
    return _UNSAFE.sub(lambda match: _escape(ord(match[0])), text)


def _escape(code: int) -> str:
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
