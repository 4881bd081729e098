"""
The dialects of the hosts: the JSON that a host sends to a hook, and the JSON that it reads. One module per host,
imported only when that host calls.

    parse       return the HookEvent of any payload; a field that is missing, or has the wrong type, is left empty
    can_show    return whether text reaches the model on this event; if not, nothing may be taken from an inbox
    render      return a verdict as this host reads it on this event; text that has no field there goes to the person

A host that gets a field it does not know may drop the whole output, or stop. So a dialect uses on each event only the
fields that the host documents for that event, and prints nothing elsewhere.
"""

from importlib import import_module
from typing import Final, Protocol, cast

from gatepost.errors import Invalid
from gatepost.hooks.events import HookEvent, HookOutput, Verdict

#: hosts that escape tags, and show the message for the person instead of the reason
_PLAIN_HOSTS: Final = frozenset({"gemini"})
_REMINDER_TEMPLATE: Final = "<system-reminder>\n{}\n</system-reminder>"
HOSTS: Final = ("claude", "codex", "gemini", "cursor")


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
        from gatepost.hooks.wire import hook_json

        max_bytes = hook_json.MAX_TEXT_BYTES - len(_REMINDER_TEMPLATE.format(""))
        context = _REMINDER_TEMPLATE.format(hook_json.truncate_text(context, max_bytes))
    trimmed_verdict = Verdict(
        block=verdict.block_reason, context=context, continues=verdict.continues, warnings=verdict.warnings
    )
    return _load_dialect(event.host).render(event, trimmed_verdict)


def _load_dialect(host: str) -> Dialect:
    if host not in HOSTS:
        raise Invalid(f"{host!r} is not a host known here", hint=f"use one of {', '.join(HOSTS)}")
    return cast(Dialect, import_module(f"gatepost.hooks.wire.{host}"))
