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
from gatepost.hooks.occasion import Answer, Occasion, Verdict

#: hosts that escape a tag, and show a message for the person in place of a reason
_PLAIN: Final = frozenset({"gemini"})
_REMINDER: Final = "<system-reminder>\n{}\n</system-reminder>"
HOSTS: Final = ("claude", "codex", "gemini", "cursor")


class Dialect(Protocol):
    def parse(self, event: str, payload: object) -> Occasion:
        """Return what happened; `event` is the host's name of it, or ours."""

    def can_show(self, occasion: Occasion) -> bool:
        """Tell whether the host shows the model what it is given here."""

    def render(self, occasion: Occasion, verdict: Verdict) -> Answer:
        """Return what to print, and how to end."""


def parse(host: str, event: str, payload: object) -> Occasion:
    return _dialect(host).parse(event, payload)


def can_show(occasion: Occasion) -> bool:
    return _dialect(occasion.host).can_show(occasion)


def can_warn(occasion: Occasion, verdict: Verdict) -> bool:
    """Tell whether the host shows the person the warnings of this verdict."""
    return occasion.host not in _PLAIN or (verdict.block is None and not verdict.continues)


def render(occasion: Occasion, verdict: Verdict, *, wrap: bool = False) -> Answer:
    """Say it in the host's words; with `wrap`, text for the model stands in a <system-reminder>, as some hosts like."""
    context = (verdict.context or "").strip() or None
    if wrap and context and occasion.host not in _PLAIN:
        from gatepost.hooks.wire import words

        room = words.ROOM - len(_REMINDER.format(""))
        context = _REMINDER.format(words.fit(context, room))
    said = Verdict(block=verdict.block_reason, context=context, continues=verdict.continues, warnings=verdict.warnings)
    return _dialect(occasion.host).render(occasion, said)


def _dialect(host: str) -> Dialect:
    if host not in HOSTS:
        raise Invalid(f"{host!r} is not a host known here", hint=f"use one of {', '.join(HOSTS)}")
    return cast(Dialect, import_module(f"gatepost.hooks.wire.{host}"))
