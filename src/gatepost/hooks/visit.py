"""
A visit: one hook of a guest's session, from beginning to end.

    note who the guest is and what it is doing  ->  settle what was printed before (`proof.py`)
                                                ->  the chain  ->  note what came of it

What is noted is on disk, and in the store where it can be reached. Nothing of this keeps a hook from answering: what
cannot be noted is said on stderr. There is one exception, the other way round: a stop that is blocked, or made a
continuation, without anybody remembering it could be so for ever. What cannot be remembered is not done, and the guest
goes.

A prompt counts as a person's only if a person wrote it. Helpers inside a session have prompts of their own, and Gemini
sends the reasons of a denied stop as a prompt, ours and those of other programs one after the other. So the text that
was said at a stop is remembered until the next prompt, and a prompt that holds it changes nothing that a person's
prompt would reset.
"""

from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import Final

from gatepost.core.guest import ENDED, IDLE, WORKING
from gatepost.core.times import DAY, SECOND, Instant
from gatepost.errors import GatepostError, Unavailable
from gatepost.hooks import chain, proof, wire
from gatepost.hooks.chain import STOP_EVENTS, Handler, LazyHandler, Wait
from gatepost.hooks.context import HookContext
from gatepost.hooks.events import HookEvent, Verdict
from gatepost.hooks.session import SessionState

#: how long what a session remembers is kept when nothing is heard of it, and how many are removed at once
_SESSION_RETENTION: Final = 30 * DAY
_SWEEP_LIMIT: Final = 20
#: how long a blocked stop counts
LOOP_WINDOW: Final = 120 * SECOND

#: what a host may change in a text that it sends back, and what it was
_HOST_REPLACEMENTS: Final = (
    *(("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&")),
    *(("<system-reminder>", ""), ("</system-reminder>", "")),
)
#: characters of a text that are compared: a long one is cut before it is printed
_COMPARED_CHARS: Final = 500

_UNKNOWN_AGENT_WARNING: Final = (
    "Gatepost does not know which agent this is: set GATEPOST_AGENT, or `agent` in gatepost.toml"
)


def handle_event(
    ctx: HookContext, event: HookEvent, handlers: Iterable[Handler | LazyHandler] = chain.BUILT_IN
) -> Generator[Wait, None, Verdict]:
    """Answer a hook. What it yields is to be waited for; what it returns is to be said."""
    if event.is_person_prompt and event.prompt and ctx.state.stop_text:
        event = replace(event, is_program_prompt=ctx.state.stop_text in normalize(event.prompt))
    try:
        _record_arrival(ctx, event)
    except Exception as error:  # noqa: BLE001 (whatever it was, the gates are asked all the same)
        ctx.add_note(f"what this session does cannot be noted: {error}")
    try:
        proof.settle(ctx, event)
    except Exception as error:  # noqa: BLE001 (then the next hook does it, or the claim lapses)
        ctx.add_note(f"what was printed before cannot be settled: {error}")
    verdict = yield from chain.run_handlers(handlers, ctx, event)
    if ctx.agent_problem is not None:
        verdict = verdict.add_warnings(ctx.agent_problem)
    elif _is_session_start(event) and (ctx.settings_problem is not None or ctx.agent is None):
        verdict = verdict.add_warnings(ctx.settings_problem or _UNKNOWN_AGENT_WARNING)
    ctx.can_warn = wire.can_warn(event, verdict)
    return _record_stop(ctx, event, verdict) if event.name in STOP_EVENTS else verdict


def normalize(text: str) -> str:
    """
    Return what stays the same of a text if a host trims it, puts it between others, or escapes characters of HTML in
    it: its lines without spaces, each after a line break.
    """
    for new, old in _HOST_REPLACEMENTS:
        text = text.replace(new, old)
    lines = ("".join(line.split()) for line in text.splitlines())
    return "".join(f"\n{line}" for line in lines if line)


def _record_arrival(ctx: HookContext, event: HookEvent) -> None:
    is_new_turn = event.is_person_prompt or _is_session_start(event)
    if is_new_turn:  # before all else: a hook that is killed later must not leave a turn uncounted
        step = 2 if _is_session_start(event) else 1
        ctx.update_state(lambda state: state._replace(prompts=state.prompts + step))
    old_state = ctx.state
    activity = _get_activity(event) or old_state.state
    is_new_agent = old_state.agent != ctx.agent or not old_state.started_at
    turn_start = ctx.started_at
    is_registered = old_state.registered and not is_new_agent
    if event.name == "SessionStart" or is_new_agent or (not is_registered and is_new_turn):
        is_registered, turn_start = _register_session(ctx, event, activity, turn_start)
    elif is_registered and (is_new_turn or activity != old_state.state):
        turn_start = _record_activity(ctx, activity, turn_start)

    def apply_arrival(state: SessionState) -> SessionState:
        state = state._replace(
            agent=ctx.agent,
            named=ctx.options.agent or state.named,
            host=event.host,
            unknown_agent=ctx.options.agent if ctx.agent_problem else state.unknown_agent,
            state=activity,
            started_at=state.started_at or turn_start,
            registered=is_registered,
        )
        if event.name == "UserPromptSubmit" and event.subagent is None:
            state = state._replace(stop_text=None)
        # A person speaks: whatever went round in circles is over, and decisions are to be asked for anew.
        if is_new_turn:
            state = state._replace(turn=turn_start, again=None, stops=(), helper_stops=(), continuations=0)
        return state

    ctx.update_state(apply_arrival)
    if is_new_turn:
        ctx.session.clear_mark("decision")
    if _is_session_start(event):
        cutoff = ctx.started_at - _SESSION_RETENTION
        ctx.session.sweep(ctx.home, cutoff, _SWEEP_LIMIT, lambda id: _clear_spool(ctx, id, cutoff))


def _clear_spool(ctx: HookContext, id: str, before: Instant) -> bool:
    """Clear the spool of a session that is over; say whether there is nothing more to do about it, or to be done."""
    try:
        return ctx.open_spool is None or ctx.open_spool().clear(id, before=before)
    except GatepostError:
        return True


def _is_session_start(event: HookEvent) -> bool:
    return event.name == "SessionStart" and event.source != "compact" and event.subagent is None


def _get_activity(event: HookEvent) -> str | None:
    """What the guest is doing by now; None where that is not known yet."""
    match event.name:
        case "SessionEnd":
            return ENDED
        case "Stop" | "Notification" | "SubagentStop":
            return None
        case _:
            return IDLE if _is_session_start(event) else WORKING


def _register_session(ctx: HookContext, event: HookEvent, activity: str, now: Instant) -> tuple[bool, Instant]:
    """Have the store know whose session this is; say whether it does, and what time it is there."""
    if ctx.agent is None or event.name == "SessionEnd":
        return False, now
    from gatepost.actions import sessions

    try:
        session = ctx.call(sessions.begin, ctx.session.id, agent=ctx.agent, host=event.host, doing=activity)
    except Unavailable:  # which has been said
        return False, now
    except GatepostError as error:
        problem = error.message + (f" (hint: {error.hint})" if error.hint else "")
        ctx.add_note(problem)
        if _is_session_start(event) or ctx.state.unknown_agent != ctx.options.agent:  # once a session
            ctx.agent_problem = f"Gatepost cannot find the agent of this session: {problem}"
        return False, now
    ctx.agent = session.agent
    return True, session.seen_at


def _record_activity(ctx: HookContext, activity: str, now: Instant) -> Instant:
    from gatepost.actions import sessions

    try:
        return ctx.call(sessions.note_activity, ctx.session.id, activity)
    except GatepostError:
        return now


def _record_stop(ctx: HookContext, event: HookEvent, verdict: Verdict) -> Verdict:
    """Remember what came of a stop, and then let it be said."""
    now = ctx.clock.now()
    helper = event.subagent or ""
    if event.name == "SubagentStop" and verdict.block is None and not ctx.state.helper_stops:
        return verdict

    def apply_stop(state: SessionState) -> SessionState:
        if event.name == "SubagentStop":
            recent_stops = tuple(stop for stop in state.helper_stops if stop[1] > now - LOOP_WINDOW)
            if verdict.block is not None:
                recent_stops = (*recent_stops, (helper, now))
            elif verdict.final:
                recent_stops = tuple(stop for stop in recent_stops if stop[0] != helper)
            return state._replace(helper_stops=recent_stops)
        stops = tuple(at for at in state.stops if at > now - LOOP_WINDOW)
        text = verdict.block_reason or (verdict.context if verdict.continues else None)
        state = state._replace(stop_text=normalize(text)[:_COMPARED_CHARS] if text else None)
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
