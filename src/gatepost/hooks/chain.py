"""
The handlers that a hook is passed along, one after the other.

    14  loop detector    lets everything go when stops are blocked again and again
    15  stop decision    has the agent ask before it stops
    20  gates            keeps it from stopping until its gates are open
    30  inbox            shows it what waits

Lower numbers come first, and the places between are for handlers of users: an entry point of the group `gatepost.hooks`
that is a `Handler`. A handler is given what those before it said; what it says itself is added to that. One that raises
is noted on stderr, and the chain goes on without it: hooks fail open.

A handler that cannot say yet returns a `Wait`. It is asked again when the time may have come; whoever runs the chain
does the waiting, so that no thread is kept by it.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from importlib import import_module
from typing import Final, NamedTuple

from gatepost.core.instants import Instant
from gatepost.hooks.desk import Desk
from gatepost.hooks.occasion import Occasion, Verdict, nothing


class Wait(NamedTuple):
    """Ask me again when something was committed for this agent, and at that time at the latest."""

    agent: str
    until: Instant


Handle = Callable[[Desk, Occasion, Verdict], Verdict | Wait | None]


class Handler(NamedTuple):
    name: str
    priority: int
    #: the events it is asked on; None for all of them
    events: frozenset[str] | None
    handle: Handle


class Listed(NamedTuple):
    """A handler that is not imported before it is needed."""

    name: str
    priority: int
    events: frozenset[str] | None
    #: `module:attribute`, which is the handler
    where: str

    @staticmethod
    def of(handler: Handler, where: str) -> "Listed":
        return Listed(name=handler.name, priority=handler.priority, events=handler.events, where=where)


#: the events at which an agent, or a helper of it, wants to stop
STOPS: Final = frozenset({"Stop", "SubagentStop"})
_HERE: Final = "gatepost.hooks.handlers"
BUILT_IN: Final = (
    Listed(name="loop detector", priority=14, events=STOPS, where=f"{_HERE}.loop:handler"),
    Listed(name="stop decision", priority=15, events=frozenset({"Stop"}), where=f"{_HERE}.decision:handler"),
    Listed(name="gates", priority=20, events=None, where=f"{_HERE}.gates:handler"),
    Listed(name="inbox", priority=30, events=None, where=f"{_HERE}.inbox:handler"),
)


def run(handlers: Iterable[Handler | Listed], desk: Desk, occasion: Occasion) -> Generator[Wait, None, Verdict]:
    """Ask the handlers of this event, in order; what they have said together is returned."""
    verdict = Verdict()
    try:
        for each in sorted(handlers, key=lambda one: (one.priority, one.name)):
            if each.events is not None and occasion.event not in each.events:
                continue
            said = yield from _asked(each, desk, occasion, verdict)
            verdict = _joined(verdict, said)
            if verdict.final:
                break
    except GeneratorExit:
        verdict.unprinted()
        raise
    return _spoken(verdict)


def _asked(each: Handler | Listed, desk: Desk, occasion: Occasion, so_far: Verdict) -> Generator[Wait, None, Verdict]:
    try:
        handler = load(each.where) if isinstance(each, Listed) else each
        while isinstance(said := handler.handle(desk, occasion, so_far), Wait):
            yield said
        if said is not None and not isinstance(said, Verdict):
            raise TypeError(f"it said {said!r:.80}, which is not a verdict")
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever it was, the host goes on)
        desk.tell(f"the handler {each.name!r} failed: {str(error) or type(error).__name__}")
        return Verdict()
    return said or Verdict()


def load(where: str) -> Handler:
    module, _, attribute = where.partition(":")
    handler = getattr(import_module(module), attribute)
    if not isinstance(handler, Handler):
        raise TypeError(f"{where!r} is not a Handler")
    return handler


def _joined(before: Verdict, said: Verdict) -> Verdict:
    return Verdict(
        block=_lines(before.block, said.block),
        context=_lines(before.context, said.context),
        continues=before.continues or said.continues,
        warnings=tuple(dict.fromkeys(before.warnings + said.warnings)),
        closed=before.closed or said.closed,
        final=said.final,
        printed=_both(before.printed, said.printed),
        unprinted=_both(before.unprinted, said.unprinted),
    )


def _lines(*texts: str | None) -> str | None:
    return "\n".join(dict.fromkeys(text for text in texts if text)) or None


def _both(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    if first is nothing or second is nothing:
        return second if first is nothing else first

    def both() -> None:
        try:
            first()
        finally:
            second()

    return both


def _spoken(verdict: Verdict) -> Verdict:
    """What is blocked is told why, and no more: whatever was taken to be shown is given back."""
    if verdict.block is None or verdict.context is None:
        return verdict
    verdict.unprinted()
    return replace(verdict, context=None, continues=False, printed=nothing, unprinted=nothing)
