"""
30, the inbox: what waits, in the spool or in the store, is shown wherever the host passes it on to the model, and only
there. On Stop that makes the agent go on, so it is done a few times in a row at most, and only for what wakes; what
still waits is shown when its person speaks. It counts as delivered when a reply of the model proves that it was read
(`hooks/proof.py`).
"""

from dataclasses import replace
from typing import Final

from gatepost.hooks import wire
from gatepost.hooks.chain import Handler
from gatepost.hooks.desk import Desk
from gatepost.hooks.occasion import Occasion, Verdict

#: how often in a row a stop may become a continuation; hosts cut off at 8
CONTINUATIONS: Final = 5


def _handle(desk: Desk, occasion: Occasion, so_far: Verdict) -> Verdict | None:
    stops = occasion.event == "Stop"
    if so_far.block is not None or not wire.can_show(occasion) or (stops and desk.dismissed):
        return None
    if stops and desk.state.continuations >= CONTINUATIONS and not so_far.continues:
        return None
    beside = (so_far.context or "") + (desk.answer[1] if desk.answer else "")
    verdict, keys = _read(desk, occasion, taken=len(beside.encode(errors="replace")) + 2)
    if desk.answer is not None and desk.answer[0] not in keys:
        verdict = replace(verdict, context="\n".join(filter(None, (desk.answer[1], verdict.context))))
    return replace(verdict, continues=stops) if verdict.context else None


def _read(desk: Desk, occasion: Occasion, *, taken: int) -> tuple[Verdict, set[str | None]]:
    """What waits, to be shown beside text of `taken` bytes, and the dedup keys of what is in it."""
    if desk.spool is None:
        return Verdict(), set()
    # An answer for which the agent goes on is in its inbox too, whether a line tells of it or not.
    reconcile = occasion.event == "SessionStart" or desk.answer is not None or desk.has_items()
    if not (reconcile or desk.waiting()):
        return Verdict(), set()
    from gatepost.core.batch import GUEST_BUDGET, LEAST_BUDGET
    from gatepost.hooks.drain import drain

    if GUEST_BUDGET - taken < LEAST_BUDGET:
        desk.tell("other handlers leave no room for the inbox, so it waits")
        return Verdict(), set()
    drained = drain(
        desk.store,
        desk.spool(),
        session=desk.session.id,
        agent=desk.agent,
        now=desk.clock.now(),
        reconcile=reconcile,
        budget=GUEST_BUDGET - taken,
        remember=desk.rules.remember,
    )
    for note in drained.notes:
        desk.tell(note)
    # What wakes nobody (fyi, the end of a long chain) is no reason to go on; it comes with the next prompt or tool.
    is_reason = desk.answer is not None or any(event.wakes for event in drained.events)
    if occasion.event == "Stop" and not is_reason:
        drained.release()
        return Verdict(), set()
    if not drained.text:
        return Verdict(), set()

    def printed() -> None:
        drained.await_proof(
            event=occasion.event,
            prompts=desk.state.prompts,
            turn=occasion.turn,
            replies=occasion.replies,
            hold=desk.rules.proof,
        )

    verdict = Verdict(context=drained.text, printed=printed, unprinted=drained.release)
    return verdict, {event.key for event in drained.events}


handler = Handler(name="inbox", priority=30, events=None, handle=_handle)
