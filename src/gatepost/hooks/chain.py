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

from gatepost.core.times import Instant
from gatepost.hooks.context import HookContext
from gatepost.hooks.events import HookEvent, Verdict, do_nothing


class Wait(NamedTuple):
    """Ask me again when something was committed for this agent, and at that time at the latest."""

    agent: str
    until: Instant


HandleFunction = Callable[[HookContext, HookEvent, Verdict], Verdict | Wait | None]


class Handler(NamedTuple):
    name: str
    priority: int
    #: the events it is asked on; None for all of them
    events: frozenset[str] | None
    handle: HandleFunction


class LazyHandler(NamedTuple):
    """A handler that is not imported before it is needed."""

    name: str
    priority: int
    events: frozenset[str] | None
    #: `module:attribute`, which is the handler
    import_path: str

    @staticmethod
    def from_handler(handler: Handler, import_path: str) -> "LazyHandler":
        return LazyHandler(name=handler.name, priority=handler.priority, events=handler.events, import_path=import_path)


#: the events at which an agent, or a helper of it, wants to stop
STOP_EVENTS: Final = frozenset({"Stop", "SubagentStop"})
_HANDLERS_PACKAGE: Final = "gatepost.hooks.handlers"
BUILT_IN: Final = (
    LazyHandler(name="loop detector", priority=14, events=STOP_EVENTS, import_path=f"{_HANDLERS_PACKAGE}.loop:handler"),
    LazyHandler(
        name="stop decision",
        priority=15,
        events=frozenset({"Stop"}),
        import_path=f"{_HANDLERS_PACKAGE}.decision:handler",
    ),
    LazyHandler(name="gates", priority=20, events=None, import_path=f"{_HANDLERS_PACKAGE}.gates:handler"),
    LazyHandler(name="inbox", priority=30, events=None, import_path=f"{_HANDLERS_PACKAGE}.inbox:handler"),
)


def run_handlers(
    handlers: Iterable[Handler | LazyHandler], ctx: HookContext, event: HookEvent
) -> Generator[Wait, None, Verdict]:
    """Ask the handlers of this event, in order; what they have said together is returned."""
    verdict = Verdict()
    try:
        for handler in sorted(handlers, key=lambda item: (item.priority, item.name)):
            if handler.events is not None and event.name not in handler.events:
                continue
            handler_verdict = yield from _run_handler(handler, ctx, event, verdict)
            verdict = _merge_verdicts(verdict, handler_verdict)
            if verdict.final:
                break
    except GeneratorExit:
        verdict.unprinted()
        raise
    return _drop_context_if_blocked(verdict)


def _run_handler(
    entry: Handler | LazyHandler, ctx: HookContext, event: HookEvent, result: Verdict
) -> Generator[Wait, None, Verdict]:
    try:
        handler = load_handler(entry.import_path) if isinstance(entry, LazyHandler) else entry
        while isinstance(verdict := handler.handle(ctx, event, result), Wait):
            yield verdict
        if verdict is not None and not isinstance(verdict, Verdict):
            raise TypeError(f"it said {verdict!r:.80}, which is not a verdict")
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever it was, the host goes on)
        ctx.add_note(f"the handler {entry.name!r} failed: {str(error) or type(error).__name__}")
        return Verdict()
    return verdict or Verdict()


def load_handler(import_path: str) -> Handler:
    module, _, attribute = import_path.partition(":")
    handler = getattr(import_module(module), attribute)
    if not isinstance(handler, Handler):
        raise TypeError(f"{import_path!r} is not a Handler")
    return handler


def _merge_verdicts(first: Verdict, second: Verdict) -> Verdict:
    return Verdict(
        block=_join_lines(first.block, second.block),
        context=_join_lines(first.context, second.context),
        continues=first.continues or second.continues,
        warnings=tuple(dict.fromkeys(first.warnings + second.warnings)),
        is_fail_closed=first.is_fail_closed or second.is_fail_closed,
        final=second.final,
        printed=_combine_callbacks(first.printed, second.printed),
        unprinted=_combine_callbacks(first.unprinted, second.unprinted),
    )


def _join_lines(*texts: str | None) -> str | None:
    return "\n".join(dict.fromkeys(text for text in texts if text)) or None


def _combine_callbacks(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    if first is do_nothing or second is do_nothing:
        return second if first is do_nothing else first

    def call_both() -> None:
        try:
            first()
        finally:
            second()

    return call_both


def _drop_context_if_blocked(verdict: Verdict) -> Verdict:
    """What is blocked is told why, and no more: whatever was taken to be shown is given back."""
    if verdict.block is None or verdict.context is None:
        return verdict
    verdict.unprinted()
    return replace(verdict, context=None, continues=False, printed=do_nothing, unprinted=do_nothing)
