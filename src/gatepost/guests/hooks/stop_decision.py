"""
15, the stop decision. If `stop_decision.enabled` is set, an agent asks a person before it stops:

    no decision since it was last told to continue    it is told to ask for one
    a decision that is not answered yet               it waits, for at most `stop_decision.wait`; if its program follows
                                                      the decision, it may stop
    the answer "stop", or no answer in time           it may stop
    any other answer                                  it continues, and reads the answer

Every Stop imports this module, and most find the setting off: so the functions import what only a decision needs.
"""

from typing import Final

from gatepost.core.times import Instant
from gatepost.errors import GatepostError
from gatepost.guests.hooks.handler_chain import Wait
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.hook_events import HookEvent, Verdict
from gatepost.guests.session import encode_filename

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gatepost.core.ports import Reader
    from gatepost.gates.decision import Answer, Decision

#: the option that lets an agent stop
STOP_OPTION: Final = "stop"
#: bytes of an answer that is shown beside the inbox
_MAX_ANSWER_BYTES: Final = 3_000
#: characters in the owner of a claim
_MAX_OWNER_CHARS: Final = 200


def require_decision(ctx: HookContext, _: HookEvent, result: Verdict) -> Verdict | Wait | None:
    if not ctx.options.stop_decision or ctx.agent is None or result.block is not None:
        return None
    if ctx.session.is_marked("decision"):
        return None
    try:
        return _check_stop(ctx, ctx.agent)
    except GatepostError:  # the store is out of reach, and a note says so already
        return None


def _check_stop(ctx: HookContext, agent: str) -> Verdict | Wait | None:
    decision = find_decision(ctx, agent)
    if decision is None:
        return Verdict(block=_write_instruction(ctx, agent))
    from gatepost.gates.decision import DecisionStatus

    match decision.status:
        case DecisionStatus.PENDING if decision.is_followed:
            return None
        case DecisionStatus.PENDING:
            deadline = ctx.started_at + ctx.options.decision_wait
            if ctx.clock.now() < deadline:
                return Wait(agent=agent, until=deadline)
            ctx.excused_gates.add(decision.gate)
            return None
        case DecisionStatus.REVISING | DecisionStatus.ANSWERED if (
            decision.last_answer and decision.last_answer.option != STOP_OPTION
        ):
            return _continue_with_answer(ctx, decision, decision.last_answer)
        case DecisionStatus.ANSWERED if (answer := decision.last_answer) is not None:
            ctx.can_stop = True
            key = f"decision:{decision.id}:{answer.iteration}"
            return Verdict(printed=lambda: _mark_answer_delivered(ctx, agent, key))
        case _:
            return None


def find_decision(ctx: HookContext, agent: str) -> "Decision | None":
    """Return the last decision that the agent asked for in this session, since it was last told to continue."""
    turn_start, revised_id = ctx.state.turn, ctx.state.again
    candidates = [
        decision
        for decision in ctx.read_sync(_list_recent_decisions, agent, turn_start)
        if decision.session in (None, ctx.session.id)
        and (decision.created_at >= turn_start or decision.id == revised_id)
    ]
    return max(candidates, key=lambda decision: decision.number, default=None)


def _list_recent_decisions(tx: "Reader", agent: str, turn_start: Instant) -> "list[Decision]":
    """Return all decisions asked for since then: each is open, or one of its rounds has ended since."""
    from gatepost.gates import decision_actions as decisions

    return decisions.list_page(tx, asker=agent, pending=True) + decisions.list_page(tx, asker=agent, since=turn_start)


def _write_instruction(ctx: HookContext, agent: str) -> str:
    options = ("--option", "continue=...", "--option", f"{STOP_OPTION}=Stop here")
    return (
        "Before you stop, ask for a decision on what comes next, then stop again; you will be told the answer. Run: "
        + ctx.build_command("decision", "ask", "QUESTION", *options, "--as", agent)
    )


def _continue_with_answer(ctx: HookContext, decision: "Decision", answer: "Answer") -> Verdict:
    """Make the agent continue; the inbox shows it the answer (`ctx.decision_answer`)."""
    from gatepost.core.quoting import quote, render_name
    from gatepost.core.text import count_bytes, truncate
    from gatepost.gates import decision as rules
    from gatepost.gates.decision import DecisionStatus

    revised_id = decision.id if decision.status is DecisionStatus.REVISING else None
    # An answer counts once: before its next stop the agent must ask again.
    ctx.update_state(lambda state: state._replace(turn=max(ctx.clock.now(), answer.at + 1), again=revised_id))
    author = f" by {render_name(answer.by)}" if answer.by else ""
    outcome = "is to be revised, as asked for" if revised_id else "was answered"
    text = f"The decision {decision.id} {outcome}{author}: {quote(rules.render_answer(decision, answer))}"
    if (size := count_bytes(text)) > _MAX_ANSWER_BYTES:
        note = f" ... (cut, {size} bytes in all; the rest: gatepost decision show {decision.id})"
        text = truncate(text, _MAX_ANSWER_BYTES, note)
    ctx.decision_answer = (f"decision:{decision.id}:{answer.iteration}", text)
    return Verdict(continues=True)


def _mark_answer_delivered(ctx: HookContext, agent: str, key: str) -> None:
    """Mark the answer as delivered: the agent has stopped, so its next session need not read it."""
    from gatepost.guests import spool_merge_actions as spool_merge

    try:
        ctx.run_sync(spool_merge.mark_delivered, agent, [key], owner=encode_filename(ctx.session.id)[:_MAX_OWNER_CHARS])
    except GatepostError as error:
        ctx.add_note(f"the answer stays in the inbox: {error.message}")
