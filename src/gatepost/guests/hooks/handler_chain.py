"""
The handlers of a hook, called one after the other, and what the session records before and after them.

    record the agent and its activity  ->  settle the batches printed before (`delivery_proof.py`)
                                       ->  the handlers  ->  record the result of a stop

    14  loop detector    lets the agent stop if its stops are blocked again and again
    15  stop decision    makes the agent ask for a decision before it stops
    20  gates            blocks the agent until its gates are open
    30  inbox            shows the agent its pending items

Handlers with lower numbers are called first. The numbers between are free for handlers of users: an entry point of the
group `gatepost.hooks` that is a `Handler`. A handler gets the joined verdict of the handlers before it, and its
own verdict is added to that. If a handler raises, a note goes to stderr and the chain continues without it: hooks fail
open.

A handler that cannot decide yet returns a `Wait`, and is called again when the time may have come. The caller of
`handle_event` does the waiting, so that no thread is blocked by it.

The state of a session is on disk, and in the store if that can be reached. A state that cannot be recorded does not
keep a hook from answering: a note goes to stderr. There is one exception. A stop that is blocked, or turned into a
continuation, while nobody can record it, could be blocked forever. So if the result of a stop cannot be recorded, the
agent may stop, unless the user has asked for a gate that fails closed.

A prompt counts as a person's only if a person wrote it. Subagents have prompts of their own, and Gemini sends the
reasons of a denied stop as a prompt, ours and those of other programs in one text. So the text of a stop is recorded
until the next prompt, and a prompt that contains it resets nothing that a person's prompt would reset. So does a prompt
by which a program wakes the session: it contains a token (`Session.take_wake`). If there is nothing to read any more,
the model is not asked.
"""

from collections.abc import Callable, Collection, Generator, Iterable
from importlib import import_module
from typing import Any, Final, NamedTuple

from gatepost.core.times import DAY, Instant
from gatepost.errors import GatepostError, Unavailable, quote_value
from gatepost.guests.hooks import delivery_proof as proof, dialects
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.hook_events import HookEvent, Verdict, do_nothing
from gatepost.guests.hooks.session_state import SessionState
from gatepost.guests.session import ENDED, IDLE, WORKING

#: the events at which an agent, or a subagent of it, wants to stop
STOP_EVENTS: Final = frozenset({"Stop", "SubagentStop"})

#: how long the files of a silent session are kept, and how many sessions are removed at once
_SESSION_RETENTION: Final = 30 * DAY
_SWEEP_LIMIT: Final = 20
#: what a host may change in a text that it sends back: the new form, and the original
_HOST_REPLACEMENTS: Final = (
    *(("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&")),
    *(("<system-reminder>", ""), ("</system-reminder>", "")),
)
#: how many characters of a text are compared: a long text is cut before it is printed
_COMPARED_CHARS: Final = 500
#: characters of the name of a model that are kept
_MAX_MODEL: Final = 100
_UNKNOWN_AGENT_WARNING: Final = (
    "Gatepost does not know which agent this is: set GATEPOST_AGENT, or `agent` in gatepost.toml"
)


_EMPTY_WAKE: Final = "Gatepost: what this session was woken for has been read meanwhile, so there is nothing to do"


class Wait(NamedTuple):
    """A request to call the handler again: when something is committed for this agent, and at `until` at the latest."""

    agent: str
    until: Instant


HandleFunction = Callable[[HookContext, HookEvent, Verdict], Verdict | Wait | None]


class Handler(NamedTuple):
    name: str
    priority: int
    #: the events on which it is called; None for all events
    events: frozenset[str] | None
    #: gets the context, the event, and the joined verdict of the handlers before it
    handle: HandleFunction


class LazyHandler(NamedTuple):
    """A handler that is imported at its first call."""

    name: str
    priority: int
    events: Collection[str] | None
    #: `module:attribute` of a `Handler`, or of its function
    import_path: str


BUILT_IN: Final = (
    LazyHandler("loop detector", 14, STOP_EVENTS, "gatepost.guests.hooks.loop_detector:detect_loop"),
    LazyHandler("stop decision", 15, frozenset({"Stop"}), "gatepost.guests.hooks.stop_decision:require_decision"),
    LazyHandler("gates", 20, None, "gatepost.guests.hooks.gate_blocking:check_gates"),
    LazyHandler("inbox", 30, None, "gatepost.guests.hooks.inbox_display:show_inbox"),
)
#: the group of entry points of the handlers of users
_ENTRY_POINT_GROUP: Final = "gatepost.hooks"


def handle_event(
    ctx: HookContext, event: HookEvent, handlers: Iterable[Handler | LazyHandler] = BUILT_IN
) -> Generator[Wait, None, Verdict]:
    """Handle one hook event from beginning to end. The caller waits for what it yields, and prints what it returns."""
    if event.is_person_prompt and event.prompt:
        if (woken_for := ctx.session.take_wake(event.prompt)) is not None:
            event = event._replace(is_program_prompt=True, woken_for=woken_for)
        elif ctx.state.stop_text:
            event = event._replace(is_program_prompt=ctx.state.stop_text in normalize_text(event.prompt or ""))
    old_activity = ctx.state.state
    try:
        _record_arrival(ctx, event)
    except Exception as error:  # noqa: BLE001 (whatever it was, the gates are checked all the same)
        ctx.add_note(f"what this session does cannot be noted: {error}")
    try:
        proof.settle(ctx, event)
        if _is_session_start(event):
            proof.release_abandoned(ctx, event.host)
    except Exception as error:  # noqa: BLE001 (then the next hook does it, or the claim lapses)
        ctx.add_note(f"what was printed before cannot be settled: {error}")
    verdict = yield from run_handlers(handlers, ctx, event)
    if event.woken_for is not None and verdict.block is None and verdict.context is None:
        return _refuse_wake(ctx, verdict, old_activity)
    if ctx.agent_problem is not None:
        verdict = verdict.add_warnings(ctx.agent_problem)
    elif _is_session_start(event) and (ctx.settings_problem is not None or ctx.agent is None):
        verdict = verdict.add_warnings(ctx.settings_problem or _UNKNOWN_AGENT_WARNING)
    ctx.can_warn = dialects.can_warn(event, verdict)
    return _record_stop(ctx, event, verdict) if event.name in STOP_EVENTS else verdict


def _refuse_wake(ctx: HookContext, verdict: Verdict, activity: str) -> Verdict:
    """Return a verdict that keeps the model from being asked, because a wake has come and there is nothing to read."""
    from gatepost.guests import session_actions as sessions

    try:
        ctx.update_state(lambda state: state._replace(state=activity))
        if ctx.state.registered:
            _record_activity(ctx, activity, ctx.started_at)
            if not ctx.has_items():  # else it is not known what is wrong, and the wake is not proved
                ctx.run_sync(sessions.forget_wake, ctx.session.id)
    except (OSError, GatepostError) as error:
        ctx.add_note(f"what came of this wake cannot be noted: {error}")
    return verdict._replace(block=_EMPTY_WAKE)


def normalize_text(text: str) -> str:
    """
    Return a form of the text that stays the same if a host trims it, puts it between other texts, or escapes HTML
    characters in it: its lines without spaces, each after a line break.
    """
    for new, old in _HOST_REPLACEMENTS:
        text = text.replace(new, old)
    lines = ("".join(line.split()) for line in text.splitlines())
    return "".join(f"\n{line}" for line in lines if line)


def _record_arrival(ctx: HookContext, event: HookEvent) -> None:
    """Record the agent and its activity, on disk and in the store; a start and a person's prompt begin a new turn."""
    is_new_turn = event.is_person_prompt or _is_session_start(event)
    if is_new_turn:  # first of all: a hook that is killed later must not leave a turn uncounted
        step = 2 if _is_session_start(event) else 1
        ctx.update_state(lambda state: state._replace(prompts=state.prompts + step))
    old_state = ctx.state
    activity = _get_activity(event) or old_state.state
    is_new_agent = old_state.agent != ctx.agent or not old_state.started_at
    turn_start = ctx.started_at
    is_registered = old_state.registered and not is_new_agent
    if event.name == "SessionStart" or is_new_agent or (not is_registered and is_new_turn):
        is_registered, turn_start = _register_session(ctx, event, activity, turn_start)
    elif is_registered and (is_new_turn or event.woken_for is not None or activity != old_state.state):
        turn_start = _record_activity(ctx, activity, turn_start)

    def apply_arrival(state: SessionState) -> SessionState:
        state = state._replace(
            agent=ctx.agent,
            named=ctx.options.agent or state.named,
            host=event.host,
            program=ctx.program or state.program,
            unknown_agent=ctx.options.agent if ctx.agent_problem else state.unknown_agent,
            state=activity,
            started_at=state.started_at or turn_start,
            registered=is_registered,
        )
        if event.name == "UserPromptSubmit" and event.subagent is None:
            state = state._replace(stop_text=None)
        # With a person's prompt every loop is over, and the agent must ask for a decision again.
        if is_new_turn:
            state = state._replace(turn=turn_start, again=None, stops=(), helper_stops=(), continuations=0)
        return state

    ctx.update_state(apply_arrival)
    if is_new_turn:
        ctx.session.clear_mark("decision")
    if _is_session_start(event):
        cutoff = ctx.started_at - _SESSION_RETENTION
        ctx.session.sweep(ctx.home, cutoff, _SWEEP_LIMIT, lambda id: _clear_spool(ctx, id, cutoff))


def _is_session_start(event: HookEvent) -> bool:
    """Return True at a start of the agent's own session that does not follow a compaction."""
    return event.name == "SessionStart" and event.source != "compact" and event.subagent is None


def _get_activity(event: HookEvent) -> str | None:
    """Return what the agent does after this event; None if the event does not decide that."""
    match event.name:
        case "SessionEnd":
            return ENDED
        case "Stop" | "Notification" | "SubagentStop":
            return None
        case _:
            return IDLE if _is_session_start(event) else WORKING


def _register_session(ctx: HookContext, event: HookEvent, activity: str, now: Instant) -> tuple[bool, Instant]:
    """Register the session in the store; return whether the store knows it, and the time there."""
    if ctx.agent is None or event.name == "SessionEnd":
        return False, now
    from gatepost.guests import session_actions as sessions

    model = dialects.read_text(event.raw, "model")
    try:
        session = ctx.run_sync(
            sessions.begin,
            ctx.session.id,
            agent=ctx.agent,
            host=event.host,
            doing=activity,
            program=ctx.program or ctx.state.program,
            model=model[:_MAX_MODEL] if model is not None and model.isprintable() else None,
        )
    except Unavailable:  # a note says so already
        return False, now
    except GatepostError as error:
        ctx.add_note(error.message_with_hint)
        if _is_session_start(event) or ctx.state.unknown_agent != ctx.options.agent:  # once a session
            ctx.agent_problem = f"Gatepost cannot find the agent of this session: {error.message_with_hint}"
        return False, now
    ctx.agent = session.agent
    return True, session.seen_at


def _record_activity(ctx: HookContext, activity: str, now: Instant) -> Instant:
    """Record the activity in the store; return the time there, or `now` if it is out of reach."""
    from gatepost.guests import session_actions as sessions

    try:
        return ctx.run_sync(sessions.note_activity, ctx.session.id, activity)
    except GatepostError:
        return now


def _clear_spool(ctx: HookContext, id: str, before: Instant) -> bool:
    """Clear the spool of a session that is over; return True if nothing is left to do, or nothing can be done."""
    try:
        return ctx.open_spool is None or ctx.open_spool().clear(id, before=before)
    except GatepostError:
        return True


def run_handlers(
    handlers: Iterable[Handler | LazyHandler], ctx: HookContext, event: HookEvent
) -> Generator[Wait, None, Verdict]:
    """Call the handlers of this event, in order of priority; return their joined verdict."""
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
    if verdict.block is None or verdict.context is None:
        return verdict
    # A block is shown with its reason and nothing else: items that were taken to be shown are released.
    verdict.unprinted()
    return verdict._replace(context=None, continues=False, printed=do_nothing, unprinted=do_nothing)


def _run_handler(
    entry: Handler | LazyHandler, ctx: HookContext, event: HookEvent, result: Verdict
) -> Generator[Wait, None, Verdict]:
    try:
        target = _import_attribute(entry.import_path) if isinstance(entry, LazyHandler) else entry
        handle: HandleFunction = target.handle if isinstance(target, Handler) else target
        while isinstance(verdict := handle(ctx, event, result), Wait):
            yield verdict
        if verdict is not None and not isinstance(verdict, Verdict):
            raise TypeError(f"it said {quote_value(verdict)}, which is not a verdict")
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever it was, the host continues)
        ctx.add_note(f"the handler {entry.name!r} failed: {str(error) or type(error).__name__}")
        return Verdict()
    return verdict or Verdict()


def list_user_handlers(add_note: Callable[[str], None]) -> list[LazyHandler]:
    """Return the installed handlers of users; leave out those that cannot be imported, with a note on each."""
    from importlib.metadata import entry_points

    handlers: list[LazyHandler] = []
    for entry_point in sorted(entry_points(group=_ENTRY_POINT_GROUP), key=lambda item: item.name):
        try:
            handler = _import_attribute(entry_point.value)
            if not isinstance(handler, Handler):
                raise TypeError(f"{entry_point.value!r} is not a Handler")
            events = sorted(handler.events) if handler.events is not None else None
            handlers.append(LazyHandler(handler.name, handler.priority, events, entry_point.value))
        except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever it was, the others still work)
            add_note(f"the hook handler {entry_point.name!r} ({entry_point.value}) is left out: {error}")
    return handlers


def _import_attribute(import_path: str) -> Any:
    module, _, attribute = import_path.partition(":")
    return getattr(import_module(module), attribute)


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
    """Return a callback that calls both, the second also if the first raises."""
    if first is do_nothing or second is do_nothing:
        return second if first is do_nothing else first

    def call_both() -> None:
        try:
            first()
        finally:
            second()

    return call_both


def _record_stop(ctx: HookContext, event: HookEvent, verdict: Verdict) -> Verdict:
    """Record the result of a stop, and return the verdict; if it cannot be recorded, return one that lets go."""
    from gatepost.guests.hooks.loop_detector import LOOP_WINDOW  # other events do not need it

    now = ctx.clock.now()
    subagent = event.subagent or ""
    if event.name == "SubagentStop" and verdict.block is None and not ctx.state.helper_stops:
        return verdict

    def apply_stop(state: SessionState) -> SessionState:
        if event.name == "SubagentStop":
            recent_stops = tuple(stop for stop in state.helper_stops if stop[1] > now - LOOP_WINDOW)
            if verdict.block is not None:
                recent_stops = (*recent_stops, (subagent, now))
            elif verdict.final:
                recent_stops = tuple(stop for stop in recent_stops if stop[0] != subagent)
            return state._replace(helper_stops=recent_stops)
        stops = tuple(at for at in state.stops if at > now - LOOP_WINDOW)
        text = verdict.block_reason or (verdict.context if verdict.continues else None)
        state = state._replace(stop_text=normalize_text(text)[:_COMPARED_CHARS] if text else None)
        if verdict.block is not None:
            return state._replace(state=WORKING, stops=(*stops, now))
        if verdict.continues:
            return state._replace(state=WORKING, stops=stops, continuations=state.continuations + 1)
        return state._replace(state=IDLE, stops=() if verdict.final else stops, continuations=0)

    old_activity = ctx.state.state
    try:
        ctx.update_state(apply_stop)
    except OSError as error:
        ctx.add_note(f"what came of this stop cannot be noted: {error.strerror}")
        if verdict.is_fail_closed:
            return verdict
        verdict.unprinted()
        return Verdict(warnings=verdict.warnings)
    if ctx.state.registered and ctx.state.state != old_activity:
        _record_activity(ctx, ctx.state.state, now)
    return verdict
