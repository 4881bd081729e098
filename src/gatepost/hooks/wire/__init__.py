"""
The words of each host: what it tells a hook, and what it understands in return. One dialect a module, imported only
when its host calls.

    parse       any payload at all becomes an occasion; what is missing, or is not what it should be, is left empty
    can_show    whether text given here reaches the model; where it would not, nothing may be taken from an inbox
    render      a verdict as this host takes it on this event; what it has no place for goes to the person

A host that is told something it does not understand may drop all of it, or stop. So a dialect says on each event only
what the host documents for that event, and is silent elsewhere.
"""

from importlib import import_module
from typing import Final, Protocol, cast

from gatepost.errors import Invalid
from gatepost.hooks.events import HookEvent, HookOutput, Verdict

#: hosts that escape a tag, and show a message for the person in place of a reason
_PLAIN_HOSTS: Final = frozenset({"gemini"})
_REMINDER_TEMPLATE: Final = "<system-reminder>\n{}\n</system-reminder>"
HOSTS: Final = ("claude", "codex", "gemini", "cursor")


class Dialect(Protocol):
    def parse(self, event_name: str, payload: object) -> HookEvent:
        """Return what happened; `event` is the host's name of it, or ours."""

    def can_show(self, event: HookEvent) -> bool:
        """Tell whether the host shows the model what it is given here."""

    def render(self, event: HookEvent, verdict: Verdict) -> HookOutput:
        """Return what to print, and how to end."""


def parse(host: str, event_name: str, payload: object) -> HookEvent:
    return _load_dialect(host).parse(event_name, payload)


def can_show(event: HookEvent) -> bool:
    return _load_dialect(event.host).can_show(event)


def can_warn(event: HookEvent, verdict: Verdict) -> bool:
    """Tell whether the host shows the person the warnings of this verdict."""
    return event.host not in _PLAIN_HOSTS or (verdict.block is None and not verdict.continues)


def render(event: HookEvent, verdict: Verdict, *, wrap: bool = False) -> HookOutput:
    """Say it in the host's words; with `wrap`, text for the model stands in a <system-reminder>, as some hosts like."""
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
