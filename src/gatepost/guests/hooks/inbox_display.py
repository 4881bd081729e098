"""
30, the inbox: pending items, from the spool or the store, are shown on every event whose text the host passes on to the
model, and only there. On Stop they make the agent continue, so this happens at most `MAX_CONTINUATIONS` times in a row,
and only if one of them wakes an agent. The rest is shown at the next prompt. Items count as delivered when a reply of
the model proves that they were read (`guests/hooks/delivery_proof.py`).
"""

from collections.abc import Sequence
from typing import Final

from gatepost.errors import GatepostError
from gatepost.guests.hooks import dialects
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.hook_events import HookEvent, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gatepost.inbox.event import Event

#: how many stops in a row may become a continuation; hosts allow 8
MAX_CONTINUATIONS: Final = 5


def show_inbox(ctx: HookContext, event: HookEvent, result: Verdict) -> Verdict | None:
    is_stop = event.name == "Stop"
    if result.block is not None or not dialects.can_show(event) or (is_stop and ctx.can_stop):
        return None
    if is_stop and ctx.state.continuations >= MAX_CONTINUATIONS and not result.continues:
        return None
    other_text = (result.context or "") + (ctx.decision_answer[1] if ctx.decision_answer else "")
    verdict, keys = _drain_inbox(ctx, event, used_bytes=len(other_text.encode(errors="replace")) + 2)
    if ctx.decision_answer is not None and ctx.decision_answer[0] not in keys:
        verdict = verdict._replace(context="\n".join(filter(None, (ctx.decision_answer[1], verdict.context))))
    return verdict._replace(continues=is_stop) if verdict.context else None


def _drain_inbox(ctx: HookContext, event: HookEvent, *, used_bytes: int) -> tuple[Verdict, set[str | None]]:
    """Return a verdict with the next batch, and its dedup keys; `used_bytes` of the budget are used by other text."""
    if ctx.open_spool is None:
        return Verdict(), set()
    # The answer that makes the agent continue is in its inbox too, even if the spool has no line about it.
    include_pending = event.name == "SessionStart" or ctx.decision_answer is not None or ctx.has_items()
    if not (include_pending or ctx.has_lines()):
        return Verdict(), set()
    from gatepost.guests.hooks.drain import drain
    from gatepost.inbox.batch_selection import GUEST_BUDGET, MIN_BUDGET

    if GUEST_BUDGET - used_bytes < MIN_BUDGET:
        ctx.add_note("other handlers leave no room for the inbox, so it waits")
        return Verdict(), set()
    batch = drain(
        ctx.store,
        ctx.open_spool(),
        session=ctx.session.id,
        agent=ctx.agent,
        now=ctx.clock.now(),
        include_pending=include_pending,
        budget=GUEST_BUDGET - used_bytes,
        remember_for=ctx.options.remember_for,
    )
    for note in batch.notes:
        ctx.add_note(note)
    is_stop = event.name == "Stop" and ctx.decision_answer is None
    if is_stop and not _is_reason_to_continue(ctx, batch.events):
        batch.release()
        return Verdict(), set()
    if not batch.text:
        return Verdict(), set()

    def on_printed() -> None:
        batch.await_proof(
            event_name=event.name,
            prompts=ctx.state.prompts,
            turn=event.turn,
            replies=event.replies,
            hold=ctx.options.proof_timeout,
            woken_for=event.woken_for,
        )

    verdict = Verdict(context=batch.text, printed=on_printed, unprinted=batch.release)
    return verdict, {inbox_event.dedup_key for inbox_event in batch.events}


def _is_reason_to_continue(ctx: HookContext, events: Sequence["Event"]) -> bool:
    """
    Return True if one of these events wakes the agent: an fyi, the end of a long chain, and what its attention keeps
    back are shown by a later event.
    """
    waking = [event.priority for event in events if event.wakes]
    if not waking or ctx.agent is None:
        return bool(waking)
    from gatepost.guests import session_actions as sessions

    try:
        return ctx.read_sync(sessions.may_wake, ctx.agent, min(waking))
    except GatepostError:  # what only the spool knows was said by nobody
        return True
