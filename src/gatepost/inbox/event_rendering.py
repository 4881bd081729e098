"""
Render an event as an agent reads it: one event, one line, and nothing in it can pretend to be another line.

Content is quoted as a JSON string, and payloads are JSON. A name is quoted if it holds anything but letters, digits and
a few harmless signs, and so is the name of a space that reads like another line (`[Mail]`, `[Gate g_3]`). An unknown
channel could have the name of a space, so it is marked: `[Channel "family"]`. Beside what JSON escapes, these are
written as `\\uXXXX`: control characters, line separators, invisible characters (variation selectors and joiners, those
of emoji too), private use, bidirectional marks, lone surrogates and `<`. So no reader finds a line break in a line, no
tag survives, and a text like `[Space] Name (human):` inside a message stays inside its quotes.

Only Gatepost writes the brackets after the content. `(context "...")` is the prompt of a trigger, and is shown on
events of that trigger only; what an asker adds to a question, or a sender to mail, is shown as theirs.

    [Family Space] Husam (human): "Tell Muhammad the meeting is at 3pm" (space family, message 41)
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, assert_never

from gatepost.core.escaping import escape_unsafe
from gatepost.core.json_limits import Json
from gatepost.core.quoting import encode_compactly, quote, render_json, render_name, render_session
from gatepost.core.text import abbreviate, count_bytes, truncate
from gatepost.core.times import DAY, Instant, format_rfc3339
from gatepost.inbox.batch_selection import COUNT_LIMIT
from gatepost.inbox.event import (
    DECISION_KEY,
    USER_CHANNELS,
    Answered,
    Event,
    EventType,
    GateEnd,
    Item,
    Mailed,
    Noted,
    Notified,
    Outsider,
    PlanDue,
    Posted,
    Priority,
    PromptReceived,
    ServiceCalled,
    ToolReturned,
    Trust,
    parse_body,
)

#: the beginnings of lines that name no space
_RESERVED_NAME: Final = re.compile(
    rf"(?:mail|system|{'|'.join(USER_CHANNELS)}|(?:decision|gate|channel)\s.*)", re.IGNORECASE
)
#: characters of the content, and of a name, in a preview
_PREVIEW_CONTENT_LENGTH: Final = 50
_PREVIEW_NAME_LENGTH: Final = 24
#: the beginnings of dedup keys of what came by triggers, was replayed or passed on
_TRIGGER_KEY_PREFIXES: Final = {
    EventType.SERVICE: ("svc:", "cron:", "unrouted:", "passed:"),
    EventType.CHANNEL: (*(f"{channel}:" for channel in USER_CHANNELS), "channel:", "unrouted:", "passed:"),
}
_TITLES: Final = {EventType.ALERT: "Alert", EventType.EVENT: "Event", EventType.AGENT: "Agent"}


def render_event(event: Event, size_limit: int | None = None, *, rest_location: str | None = None) -> str:
    """Return an event as one line; with `size_limit`, in at most that many bytes, with a note how to read the rest."""
    full_line = _render_full(event)
    if size_limit is None or (size := count_bytes(full_line)) <= size_limit:
        return full_line
    trust = f"{event.trust}, " if event.trust is not Trust.MEMBER else ""
    location = rest_location or f"gatepost inbox show {event.id}"
    note = f" ... ({trust}cut, {size} bytes in all; the rest: {location})"
    if count_bytes(note) > size_limit:  # the path of a file can have any length
        note = f" ... ({trust}cut, {size} bytes in all)"
    return truncate(full_line, size_limit, note)


def measure(event: Event) -> int:
    """Return the number of bytes of an event's line."""
    return count_bytes(_render_full(event))


def render_batch(
    items: Sequence[Item], *, at: Instant, deferred_count: int = 0, size_limits: Iterable[int | None] = ()
) -> str:
    """Return a batch as one text: a header and a line for each event."""
    line_limits = list(size_limits) or [None] * len(items)
    lines = (render_event(item.event, size_limit) for item, size_limit in zip(items, line_limits, strict=True))
    return "\n".join((render_header(len(items), deferred_count, at), *lines))


def render_header(count: int, deferred_count: int, at: Instant) -> str:
    events = "1 event" if count == 1 else f"{count} events"
    plus = "+" if deferred_count >= COUNT_LIMIT else ""
    waiting_text = f", {deferred_count}{plus} more waiting" if deferred_count else ""
    return f"INBOX ({events}{waiting_text}, {format_rfc3339(at - at % 1_000_000)}):"


def _render_space_name(text: str) -> str:
    """Return the name of a space, quoted also if it reads like the beginning of another line."""
    return quote(text) if _RESERVED_NAME.fullmatch(text) else render_name(text)


def _render_channel(text: str) -> str:
    """Return the name of a channel; an unknown channel is marked, so that it does not read like a space."""
    return text.capitalize() if text in USER_CHANNELS else f"Channel {quote(text)}"


def _render_full(event: Event) -> str:
    match parse_body(event):
        case Posted() as message:
            notes = [f"space {render_name(message.space)}"] + (
                [f"message {message.seq}"] if message.seq is not None else []
            )
            author = _render_sender(event, message.outsider)
            head = f"[{_render_space_name(message.space_name)}] {author}"
            return f"{head}: {quote(message.text)}{_render_notes(event, notes)}"
        case PlanDue() as plan:
            due_notes = [f"due {_render_due_time(plan.due_at, event.created_at)}"] if plan.due_at is not None else []
            notes = ([f"plan {render_name(plan.plan)}"] if plan.plan else []) + due_notes
            return f"[Plan: {render_name(plan.name)}] {quote(plan.instruction)}{_render_notes(event, notes)}"
        case ServiceCalled() as service_call:
            notes = [f"event {render_name(event.subject)}"] if event.subject else []
            value = _render_value(event, service_call.payload)
            return f"[Service: {render_name(service_call.service)}] {value}{_render_notes(event, notes)}"
        case ToolReturned() as tool_result:
            notes = [f"call {render_name(tool_result.call)}"] if tool_result.call else []
            value = _render_value(event, tool_result.result)
            return f"[Tool Result: {render_name(tool_result.tool)}] {value}{_render_notes(event, notes)}"
        case Mailed() as mail:
            urgency = "" if event.priority is Priority.NORMAL else f", {event.priority.name.lower()}"
            texts = [quote(text) for text in (mail.subject, mail.text) if text] or [quote("")]
            notes = [f"mail {render_name(mail.mail)}"] if mail.mail else []
            notes += [f"ref {render_name(event.ref.type)}:{render_name(event.ref.id)}"] if event.ref else []
            head = f"[Mail: {render_name(mail.message_type)}]" if mail.message_type else "[Mail]"
            added = _render_additions(event) if mail.mail else ""
            return f"{head} {_render_sender(event)}{urgency}: {' - '.join(texts)}{added}{_render_notes(event, notes)}"
        case Noted() as note:
            return (
                f"[Note: {render_name(note.about)}] {_render_sender(event)}: {quote(note.text)}{_render_notes(event)}"
            )
        case PromptReceived() as channel_message:
            notes = [f"session {render_session(channel_message.session)}"] if channel_message.session else []
            notes += ["forwarded"] if channel_message.is_forwarded else []
            notes += ["reset"] if channel_message.is_reset else []
            notes += [f"button {render_name(channel_message.button)}"] if channel_message.button else []
            user = channel_message.unknown_user
            author = _render_unknown_user(user) if user is not None else _render_sender(event)
            head = f"[{_render_channel(channel_message.channel)}] {author}"
            return f"{head}: {quote(channel_message.text)}{_render_notes(event, notes)}"
        case Answered() as answer:
            by = f" by {render_name(answer.by)}" if answer.by else ""
            text_part = f": {quote(answer.text)}" if answer.text else ""
            head = f"[Decision {render_name(answer.decision)}] {render_name(answer.outcome)}"
            notes = [f"session {render_session(answer.session)}"] if answer.session else []
            return f"{head}{by}{text_part}{_render_notes(event, notes)}"
        case GateEnd() as gate_end:
            text_part = f": {quote(gate_end.text)}" if gate_end.text else ""
            return (
                f"[Gate {render_name(gate_end.gate)}] {render_name(gate_end.outcome)}{text_part}{_render_notes(event)}"
            )
        case Notified(type=EventType.SYSTEM) as report:
            return f"[System] {_render_report(event, report.text)}{_render_notes(event)}"
        case Notified() as report:
            head = f"[{_TITLES[report.type]}: {render_name(report.source)}]"
            return f"{head} {_render_report(event, report.text)}{_render_notes(event)}"
        case other:
            assert_never(other)


def preview(event: Event) -> str:
    """Return the beginning of an event as one line: 50 characters of its content, and 24 of every name in it."""
    sender = f" {_render_short_name(event.sender.display)} ({event.sender.kind}):" if event.sender is not None else ""
    match parse_body(event):
        case Posted() as message:
            if not sender:
                outsider = message.outsider and render_outsider(message.outsider, _PREVIEW_NAME_LENGTH)
                sender = f" {outsider or _render_short_name(event.source)}:"
            head, text = (
                f"[{_render_space_name(abbreviate(message.space_name, _PREVIEW_NAME_LENGTH))}]{sender}",
                message.text,
            )
        case PlanDue() as plan:
            head, text = f"[Plan: {_render_short_name(plan.name)}]", plan.instruction
        case ServiceCalled(service=name, payload=value):
            text = escape_unsafe(abbreviate(encode_compactly(value), _PREVIEW_CONTENT_LENGTH))
            return f"[Service: {_render_short_name(name)}] {text}{_render_trust(event)}"
        case ToolReturned(tool=name, result=value):
            text = escape_unsafe(abbreviate(encode_compactly(value), _PREVIEW_CONTENT_LENGTH))
            return f"[Tool Result: {_render_short_name(name)}] {text}{_render_trust(event)}"
        case Mailed() as mail:
            kind = f": {_render_short_name(mail.message_type)}" if mail.message_type else ""
            head, text = f"[Mail{kind}]{sender}", " - ".join(filter(None, (mail.subject, mail.text)))
        case Noted() as note:
            head, text = f"[Note: {_render_short_name(note.about)}]{sender}", note.text
        case PromptReceived() as channel_message:
            user = channel_message.unknown_user
            sender = f" {_render_unknown_user(user, _PREVIEW_NAME_LENGTH)}:" if user is not None else sender
            forwarded = " (forwarded)" if channel_message.is_forwarded else ""
            head, text = (
                f"[{_render_channel(abbreviate(channel_message.channel, _PREVIEW_NAME_LENGTH))}]{sender}{forwarded}",
                channel_message.text,
            )
        case Answered() as answer:
            by = f" by {_render_short_name(answer.by)}" if answer.by else ""
            head, text = f"[Decision {render_name(answer.decision)}] {render_name(answer.outcome)}{by}:", answer.text
        case GateEnd() as gate_end:
            head, text = f"[Gate {render_name(gate_end.gate)}] {render_name(gate_end.outcome)}:", gate_end.text
        case Notified() as report:
            name = (
                "[System]"
                if report.type is EventType.SYSTEM
                else f"[{_TITLES[report.type]}: {_render_short_name(report.source)}]"
            )
            head, text = f"{name}{sender}", f"{event.subject} - {report.text}" if event.subject else report.text
        case other:
            assert_never(other)
    ellipsis = "..." if len(text) > _PREVIEW_CONTENT_LENGTH else ""
    return f"{head} {quote(text[:_PREVIEW_CONTENT_LENGTH])}{ellipsis}{_render_trust(event)}"


def _render_short_name(name: str) -> str:
    return render_name(abbreviate(name, _PREVIEW_NAME_LENGTH))


def _render_trust(event: Event) -> str:
    return f" ({event.trust.value})" if event.trust is not Trust.MEMBER else ""


def _render_sender(event: Event, outsider: Outsider | None = None) -> str:
    if event.sender is not None:
        return f"{render_name(event.sender.display)} ({event.sender.kind})"
    return render_outsider(outsider) if outsider else render_name(event.source)


def render_outsider(outsider: Outsider, limit: int = 200) -> str:
    """
    Return the name of an outside sender: `Husam (external human)`. No entity reads like that, because a display name
    with brackets in it is quoted, and no kind of entity has such a name.
    """
    name = render_name(abbreviate(outsider.name or outsider.id, limit))
    kind = f" {render_name(abbreviate(outsider.kind, _PREVIEW_NAME_LENGTH))}" if outsider.kind else ""
    return f"{name} (external{kind})"


def _render_unknown_user(name: str, limit: int = 200) -> str:
    """Return the name of a user of a channel who is nobody here: `"Husam" (unknown user)`. It is always quoted."""
    return f"{quote(abbreviate(name, limit))} (unknown user)"


def _render_value(event: Event, value: Json) -> str:
    """Return the content and then the value; once, if they are equal."""
    content_text = f"{quote(event.content)} " if event.content and value != event.content else ""
    return content_text + render_json(value)


def _render_report(event: Event, text: str) -> str:
    sender = f"{_render_sender(event)}: " if event.sender else ""
    subject = f"{quote(event.subject)} - " if event.subject else ""
    data = f" {render_json(event.data)}" if event.data is not None else ""
    return f"{sender}{subject}{quote(text)}{data}"


def _render_additions(event: Event) -> str:
    """Return what mail has besides its text: the other fields of its payload, and its context."""
    data = event.data if isinstance(event.data, dict) else {}
    payload, context = data.get("payload"), data.get("context")
    fields = {name: value for name, value in payload.items() if name != "text"} if isinstance(payload, dict) else {}
    is_shown = not fields or event.content == render_json(payload)  # of a payload without a text, all is the content
    added = "" if is_shown else f" {render_json(fields)}"
    return added + (f" (the sender adds {render_json(context)})" if context not in (None, "") else "")


def _render_notes(event: Event, details: Sequence[str] = ()) -> str:
    """Return what follows the content: the context, the details, and the trust."""
    notes = [*details] + ([f"{event.times} times"] if event.times > 1 else [])
    notes += [event.trust.value] if event.trust is not Trust.MEMBER else []
    return _render_context(event) + (f" ({', '.join(notes)})" if notes else "")


def _render_context(event: Event) -> str:
    """
    Return the context that a trigger adds to its events, or an asker to a question. Anybody can put a `context` into
    the data of an event; but only Gatepost uses these keys, and calls of services have no sender.
    """
    context = event.data.get("context") if isinstance(event.data, dict) else None
    if not isinstance(context, str) or event.dedup_key is None:
        return ""
    is_pushed = event.type is EventType.SERVICE and event.sender is not None
    if not is_pushed and event.dedup_key.startswith(_TRIGGER_KEY_PREFIXES.get(event.type, ())):
        return f" (context {quote(context)})"
    if event.type is EventType.DECISION and event.dedup_key.startswith(DECISION_KEY):
        return f" (the asker adds {quote(context)})"
    return ""


def _render_due_time(due_at: Instant, now: Instant) -> str:
    """Return the time of day if it is due today, or else the date too."""
    full_time = format_rfc3339(due_at - due_at % 1_000_000)
    return f"{full_time[11:16]}Z" if due_at // DAY == now // DAY else full_time
