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
from gatepost.core.instants import DAY, SECOND, Instant
from gatepost.errors import GatepostError, Unavailable
from gatepost.hooks import chain, proof, wire
from gatepost.hooks.chain import STOPS, Handler, Listed, Wait
from gatepost.hooks.desk import Desk
from gatepost.hooks.occasion import Occasion, Verdict
from gatepost.hooks.session import State

#: how long what a session remembers is kept when nothing is heard of it, and how many are removed at once
_KEPT: Final = 30 * DAY
_SWEPT: Final = 20
#: how long a blocked stop counts
WINDOW: Final = 120 * SECOND

#: what a host may change in a text that it sends back, and what it was
_REWRITTEN: Final = (
    *(("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&")),
    *(("<system-reminder>", ""), ("</system-reminder>", "")),
)
#: characters of a text that are compared: a long one is cut before it is printed
_COMPARED: Final = 500

_NOBODY: Final = "Gatepost does not know which agent this is: set GATEPOST_AGENT, or `agent` in gatepost.toml"


def receive(
    desk: Desk, occasion: Occasion, handlers: Iterable[Handler | Listed] = chain.BUILT_IN
) -> Generator[Wait, None, Verdict]:
    """Answer a hook. What it yields is to be waited for; what it returns is to be said."""
    if occasion.is_person_prompt and occasion.prompt and desk.state.stop_text:
        occasion = replace(occasion, is_program_prompt=desk.state.stop_text in normalize(occasion.prompt))
    try:
        _arrived(desk, occasion)
    except Exception as error:  # noqa: BLE001 (whatever it was, the gates are asked all the same)
        desk.tell(f"what this session does cannot be noted: {error}")
    try:
        proof.settle(desk, occasion)
    except Exception as error:  # noqa: BLE001 (then the next hook does it, or the claim lapses)
        desk.tell(f"what was printed before cannot be settled: {error}")
    verdict = yield from chain.run(handlers, desk, occasion)
    if desk.agent_problem is not None:
        verdict = verdict.warned(desk.agent_problem)
    elif _begins(occasion) and (desk.settings_problem is not None or desk.agent is None):
        verdict = verdict.warned(desk.settings_problem or _NOBODY)
    desk.can_warn = wire.can_warn(occasion, verdict)
    return _left(desk, occasion, verdict) if occasion.event in STOPS else verdict


def normalize(text: str) -> str:
    """
    Return what stays the same of a text if a host trims it, puts it between others, or escapes characters of HTML in
    it: its lines without spaces, each after a line break.
    """
    for new, old in _REWRITTEN:
        text = text.replace(new, old)
    lines = ("".join(line.split()) for line in text.splitlines())
    return "".join(f"\n{line}" for line in lines if line)


def _arrived(desk: Desk, occasion: Occasion) -> None:
    turns = occasion.is_person_prompt or _begins(occasion)
    if turns:  # before all else: a hook that is killed later must not leave a turn uncounted
        step = 2 if _begins(occasion) else 1
        desk.remember(lambda state: state._replace(prompts=state.prompts + step))
    before = desk.state
    doing = _doing(occasion) or before.state
    changed = before.agent != desk.agent or not before.started_at
    turn = desk.began
    registered = before.registered and not changed
    if occasion.event == "SessionStart" or changed or (not registered and turns):
        registered, turn = _registered(desk, occasion, doing, turn)
    elif registered and (turns or doing != before.state):
        turn = _noted(desk, doing, turn)

    def arrived(state: State) -> State:
        state = state._replace(
            agent=desk.agent,
            named=desk.rules.agent or state.named,
            host=occasion.host,
            unknown_agent=desk.rules.agent if desk.agent_problem else state.unknown_agent,
            state=doing,
            started_at=state.started_at or turn,
            registered=registered,
        )
        if occasion.event == "UserPromptSubmit" and occasion.subagent is None:
            state = state._replace(stop_text=None)
        # A person speaks: whatever went round in circles is over, and decisions are to be asked for anew.
        if turns:
            state = state._replace(turn=turn, again=None, stops=(), helper_stops=(), continuations=0)
        return state

    desk.remember(arrived)
    if turns:
        desk.session.clear("decision")
    if _begins(occasion):
        old = desk.began - _KEPT
        desk.session.sweep(desk.home, old, _SWEPT, lambda id: _cleared(desk, id, old))


def _cleared(desk: Desk, id: str, before: Instant) -> bool:
    """Clear the spool of a session that is over; say whether there is nothing more to do about it, or to be done."""
    try:
        return desk.spool is None or desk.spool().clear(id, before=before)
    except GatepostError:
        return True


def _begins(occasion: Occasion) -> bool:
    return occasion.event == "SessionStart" and occasion.source != "compact" and occasion.subagent is None


def _doing(occasion: Occasion) -> str | None:
    """What the guest is doing by now; None where that is not known yet."""
    match occasion.event:
        case "SessionEnd":
            return ENDED
        case "Stop" | "Notification" | "SubagentStop":
            return None
        case _:
            return IDLE if _begins(occasion) else WORKING


def _registered(desk: Desk, occasion: Occasion, doing: str, now: Instant) -> tuple[bool, Instant]:
    """Have the store know whose session this is; say whether it does, and what time it is there."""
    if desk.agent is None or occasion.event == "SessionEnd":
        return False, now
    from gatepost.actions import sessions

    try:
        session = desk.call(sessions.begin, desk.session.id, agent=desk.agent, host=occasion.host, doing=doing)
    except Unavailable:  # which has been said
        return False, now
    except GatepostError as error:
        sentence = error.message + (f" (hint: {error.hint})" if error.hint else "")
        desk.tell(sentence)
        if _begins(occasion) or desk.state.unknown_agent != desk.rules.agent:  # once a session
            desk.agent_problem = f"Gatepost cannot find the agent of this session: {sentence}"
        return False, now
    desk.agent = session.agent
    return True, session.seen_at


def _noted(desk: Desk, doing: str, now: Instant) -> Instant:
    from gatepost.actions import sessions

    try:
        return desk.call(sessions.note, desk.session.id, doing)
    except GatepostError:
        return now


def _left(desk: Desk, occasion: Occasion, verdict: Verdict) -> Verdict:
    """Remember what came of a stop, and then let it be said."""
    now = desk.clock.now()
    helper = occasion.subagent or ""
    if occasion.event == "SubagentStop" and verdict.block is None and not desk.state.helper_stops:
        return verdict

    def left(state: State) -> State:
        if occasion.event == "SubagentStop":
            recent = tuple(stop for stop in state.helper_stops if stop[1] > now - WINDOW)
            if verdict.block is not None:
                recent = (*recent, (helper, now))
            elif verdict.final:
                recent = tuple(stop for stop in recent if stop[0] != helper)
            return state._replace(helper_stops=recent)
        stops = tuple(at for at in state.stops if at > now - WINDOW)
        text = verdict.block_reason or (verdict.context if verdict.continues else None)
        state = state._replace(stop_text=normalize(text)[:_COMPARED] if text else None)
        if verdict.block is not None:
            return state._replace(state=WORKING, stops=(*stops, now))
        if verdict.continues:
            return state._replace(state=WORKING, stops=stops, continuations=state.continuations + 1)
        return state._replace(state=IDLE, stops=() if verdict.final else stops, continuations=0)

    was = desk.state.state
    try:
        desk.remember(left)
    except OSError as error:
        desk.tell(f"what came of this stop cannot be noted: {error.strerror}")
        if verdict.closed:
            return verdict
        verdict.unprinted()
        return Verdict(warnings=verdict.warnings)
    if desk.state.registered and desk.state.state != was:
        _noted(desk, desk.state.state, now)
    return verdict
