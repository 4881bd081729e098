"""
The dialects of the hosts: the JSON that a host sends to a hook, and the JSON that it reads. One module per host,
imported only when that host calls.

    parse       return the HookEvent of any payload; a field that is missing, or has the wrong type, is left empty
    can_show    return whether text reaches the model on this event; if not, nothing may be taken from an inbox
    render      return a verdict as this host reads it on this event; text that has no field there goes to the person

A host that gets a field it does not know may drop the whole output, or stop. So a dialect uses on each event only the
fields that the host documents for that event, and prints nothing elsewhere.

The dialects share the functions below: they read a field of a payload, whatever its type, and build the output.
"""

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any, Final, Protocol, cast

from gatepost.core import light_json
from gatepost.errors import Invalid
from gatepost.guests.hooks.hook_events import HookEvent, HookOutput, Verdict

#: hosts that escape tags, and show the message for the person instead of the reason
_PLAIN_HOSTS: Final = frozenset({"gemini"})
_REMINDER_TEMPLATE: Final = "<system-reminder>\n{}\n</system-reminder>"
HOSTS: Final = ("claude", "codex", "gemini", "cursor", "opencode")
#: UTF-8 bytes of a string that hosts show; a longer one they put into a file, or cut. Some hosts count UTF-16 units:
#: there are never more of those than bytes.
MAX_TEXT_BYTES: Final = 10_000
_CUT_NOTE: Final = "\n... (cut here; {} bytes in all)"


class Dialect(Protocol):
    def parse(self, event_name: str, payload: object) -> HookEvent:
        """Return the event of a payload; `event_name` is the host's name of it, or ours."""

    def can_show(self, event: HookEvent) -> bool:
        """Return True if the host shows the model the text of this event."""

    def render(self, event: HookEvent, verdict: Verdict) -> HookOutput:
        """Return what to print, and the exit code."""


def parse(host: str, event_name: str, payload: object) -> HookEvent:
    return _load_dialect(host).parse(event_name, payload)


def can_show(event: HookEvent) -> bool:
    return _load_dialect(event.host).can_show(event)


def can_warn(event: HookEvent, verdict: Verdict) -> bool:
    """Return True if the host shows the person the warnings of this verdict."""
    return event.host not in _PLAIN_HOSTS or (verdict.block is None and not verdict.continues)


def render(event: HookEvent, verdict: Verdict, *, wrap: bool = False) -> HookOutput:
    """Return the output for the host; with `wrap`, text for the model is inside a <system-reminder>."""
    context = (verdict.context or "").strip() or None
    if wrap and context and event.host not in _PLAIN_HOSTS:
        max_bytes = MAX_TEXT_BYTES - len(_REMINDER_TEMPLATE.format(""))
        context = _REMINDER_TEMPLATE.format(truncate_text(context, max_bytes))
    trimmed_verdict = Verdict(
        block=verdict.block_reason, context=context, continues=verdict.continues, warnings=verdict.warnings
    )
    return _load_dialect(event.host).render(event, trimmed_verdict)


def _load_dialect(host: str) -> Dialect:
    if host not in HOSTS:
        raise Invalid(f"{host!r} is not a host known here", hint=f"use one of {', '.join(HOSTS)}")
    return cast(Dialect, import_module(f"gatepost.guests.hooks.dialects.{host}"))


def as_object(payload: object) -> Mapping[str, Any]:
    """Return the payload if it is an object, else an empty one."""
    return payload if isinstance(payload, dict) else {}


def read_text(payload: Mapping[str, Any], *names: str) -> str | None:
    """Return the first of these fields that is a string and not empty, with lone surrogates replaced."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value.encode(errors="replace").decode()
    return None


def normalize_event_name(event_name: str, names: Mapping[str, str]) -> str:
    """Return our name of an event, by the host's name or ours, in upper or lower case; an unknown name stays."""
    our_names = {host_name.lower(): name for host_name, name in names.items()} | {
        name.lower(): name for name in names.values()
    }
    return our_names.get(event_name.lower(), event_name)


def build_output(fields: Mapping[str, Any], person_text: str = "") -> HookOutput:
    """Return the fields as JSON on stdout, without empty ones (nothing if all are empty), and the text on stderr."""
    filled_fields = {name: truncate_values(value) for name, value in fields.items() if value not in (None, "", {})}
    return HookOutput(
        stdout=light_json.encode(filled_fields) if filled_fields else "",
        stderr=f"{person_text}\n" if person_text else "",
    )


def truncate_values(value: Any) -> Any:
    """Return a value in which every text that is too long for a host is cut."""
    if isinstance(value, dict):
        return {name: truncate_values(item) for name, item in value.items()}
    return truncate_text(value) if isinstance(value, str) else value


def truncate_text(value: str, limit: int = MAX_TEXT_BYTES) -> str:
    """Return the text if it has at most `limit` bytes, else its beginning and its size."""
    if len(value) * 4 <= limit or (size := len(value.encode(errors="replace"))) <= limit:
        return value
    from gatepost.core.text import truncate  # most texts are short

    return truncate(value, limit, _CUT_NOTE.format(size))


def build_block(event_name: str, reason: str, blockable: Collection[str]) -> dict[str, Any]:
    """Return the fields that block an event in Claude Code and Codex; none if the event cannot be blocked."""
    if event_name in blockable:
        return {"decision": "block", "reason": reason}
    deny = {"hookEventName": event_name, "permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"hookSpecificOutput": deny} if event_name == "PreToolUse" else {}


def build_context(event_name: str, text: str) -> dict[str, Any]:
    """Return the fields that show the model a text, for most hosts; `event_name` is the host's name."""
    return {"hookSpecificOutput": {"hookEventName": event_name, "additionalContext": text}}


def build_host_output(fields: dict[str, Any], verdict: Verdict, *, reads_json: bool) -> HookOutput:
    """Return the output with the text for the person; only that text, on stderr, if the host reads no JSON here."""
    person_text = build_person_text(verdict, has_answer=bool(fields))
    return build_output(fields | {"systemMessage": person_text}) if reads_json else build_output({}, person_text)


def build_person_text(verdict: Verdict, *, has_answer: bool) -> str:
    """Return the text for the person, a sentence a line: the warnings, and without an answer the block and context."""
    unsaid_texts = () if has_answer else (verdict.block, verdict.context)
    return "\n".join(item for item in (*unsaid_texts, *verdict.warnings) if item)
