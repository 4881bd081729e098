"""
Proof of delivery: a reply of the model shows that it has read what a hook printed.

After a hook has printed a batch, its host decides what happens to it. The request may fail, a person may interrupt it
or leave, a veto of another hook may drop the text. So a printed batch is not delivered yet: its items stay under a
claim of kind `session`, its lines stay in a file beside the spool, the note (`guests/session.py`), and the hooks
that follow decide:

    printed by                       proved by                                   released by
    SessionStart                     the next tool event or Stop                 SessionEnd, a failed Stop, the second
                                                                                 prompt of a person, another start
    UserPromptSubmit, Stop           the next tool event or Stop                 SessionEnd, a failed Stop, the next
                                                                                 prompt of a person, a start
    PostToolUse, PostToolUseFailure  the next Stop: tools that run side by side  the same
                                     belong to one reply
    the program, as a task           the next tool event or Stop                 SessionEnd, a failed Stop, the second
                                                                                 prompt of a person, a start
    the program, during a turn       a Stop after the next tool event, or after  SessionEnd, a failed Stop, the next
                                     the next prompt or stop                     prompt of a person, a start

A program that follows a decision shows its answer by itself (`mcp/tasks.py`): to an idle session in a turn that it
begins, and during a turn after the next tool, or else in a turn of its own. Only events of the agent itself count, not
those of subagents. A start is a SessionStart that does not follow a compaction. A Stop for a turn without a reply
(`is_failed`) proves nothing, and neither does a Stop with no more reply characters than there were when the batch was
printed. If no event decides within `hooks.proof`, the claim lapses, and the next drain releases the lines. Tool events
of the agent renew both. Some programs end without a SessionEnd: so a new session of the same agent in the same program
releases what sessions whose process is gone have not proved. While a batch is unproved, its session does not show it
again. A prompt that wakes the session settles nothing by itself. The proof of what it was shown also proves that the
session can be woken.

Why no batch counts as delivered that no model has read: a tool event and a Stop follow a reply, the reply follows a
request, and everything printed before the request is in it, or the host has dropped it together with the request or the
prompt. In the last case no proof comes before the next prompt of a person, and that begins another turn: Claude Code
and Codex send an id of the turn with each event; for the others a hook counts prompts, before it does anything else. A
batch of another turn is released by the first hook that notices. Where a host drops text and continues all the same, it
gets no text (`dialects/gemini.py`).

Why nothing is lost: proof and release change the note last. If a hook is killed before that, the next hook does the
same again. The store refuses a second ack or release, a line is not put back twice, and a key that is recorded as shown
twice is recorded once. If the store is out of reach, the files are settled at once, and the note keeps what the store
must still be told until a hook reaches it.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from gatepost.core.times import Duration, Instant
from gatepost.errors import GatepostError, Unavailable
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.hook_events import HookEvent
from gatepost.guests.hooks.session_state import list_abandoned
from gatepost.guests.session import FOLLOWED, FOLLOWED_IN_TURN, PROVED, RELEASED, PrintedBatch

TYPE_CHECKING = False
if TYPE_CHECKING:  # most hooks have nothing to settle, and import none of these at run time
    from gatepost.core.ports import Store
    from gatepost.guests.ports import Spool

#: events that follow a reply in which the model asks for a tool
TOOL_EVENTS: Final = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure"})

#: what to do with a printed batch
KEEP: Final = "keep"
PROVE: Final = "prove"
RELEASE: Final = "release"
RENEW: Final = "renew"
#: the batch is settled in the files, and the store must still be told
FINISH: Final = "finish"


def judge(batch: PrintedBatch, event: HookEvent, *, prompts: int, now: Instant, hold: Duration) -> str | PrintedBatch:
    """
    Return what to do at this event with a batch printed before, or the batch as it is from now on; `prompts` counts the
    prompts of the session.
    """
    if batch.outcome is not None:
        return FINISH
    if event.name == "SessionEnd":
        return RELEASE
    if event.subagent is not None or event.woken_for is not None:
        return KEEP
    if not _is_current(batch, event, prompts):
        return RELEASE
    if batch.event == FOLLOWED_IN_TURN and event.name in TOOL_EVENTS:
        return batch._replace(event="PostToolUse", turn=event.turn)
    if batch.event == FOLLOWED_IN_TURN and event.name == "Stop" and not event.is_failed:
        return batch._replace(event=FOLLOWED)
    if event.name == "Stop":
        is_answered = not event.is_failed and (not batch.replies or event.replies > batch.replies)
        return PROVE if is_answered else RELEASE
    if event.name in TOOL_EVENTS and batch.event not in TOOL_EVENTS:
        return PROVE
    if event.name in TOOL_EVENTS and now >= batch.expires_at - hold // 2:
        return RENEW
    return KEEP


def _is_current(batch: PrintedBatch, event: HookEvent, prompts: int) -> bool:
    """Return True if the event is in the turn in which the batch was printed, or in the one after that start."""
    if batch.event in ("SessionStart", FOLLOWED):
        return prompts in (batch.prompts, batch.prompts + 1)
    if batch.turn and event.turn:
        return batch.turn == event.turn
    return prompts == batch.prompts


def settle(ctx: HookContext, event: HookEvent) -> None:
    """Prove, release or renew the batches that earlier hooks of this session printed."""
    now, hold = ctx.clock.now(), ctx.options.proof_timeout

    def choose_action(batch: PrintedBatch) -> str | PrintedBatch:
        return judge(batch, event, prompts=ctx.state.prompts, now=now, hold=hold)

    if ctx.open_spool is not None and any(choose_action(batch) is not KEEP for batch in ctx.read_unproved()):
        settle_batches(ctx.run_sync, ctx.open_spool(), ctx.session.id, choose_action, now=now, hold=hold)


def release_abandoned(ctx: HookContext, host: str) -> None:
    """Release what sessions of this agent in the same program were shown and did not prove before the program ended."""
    if ctx.open_spool is None or ctx.agent is None:
        return
    spool = ctx.open_spool()
    for session in list_abandoned(ctx.home, agent=ctx.agent, host=host):
        with suppress(GatepostError):  # then the claim lapses
            if session != ctx.session.id and spool.read_unproved(session):
                settle_batches(ctx.run_sync, spool, session, _choose_release, now=ctx.clock.now(), hold=0)


def _choose_release(batch: PrintedBatch) -> str:
    return RELEASE if batch.outcome is None else FINISH


def release_expired(store: "Store | None", spool: "Spool", session: str, now: Instant) -> None:
    """Release the batches of a session that were not proved in time."""

    def choose_action(batch: PrintedBatch) -> str:
        return RELEASE if batch.outcome is None and batch.expires_at <= now else KEEP

    if any(choose_action(batch) is RELEASE for batch in spool.read_unproved(session)):
        call_store = store.run_sync if store else _raise_unreachable
        settle_batches(call_store, spool, session, choose_action, now=now, hold=0)


def settle_batches(
    call_store: Callable[..., object],
    spool: "Spool",
    session: str,
    choose_action: Callable[[PrintedBatch], str | PrintedBatch],
    *,
    now: Instant,
    hold: Duration,
) -> None:
    """Settle each printed batch of a session as `choose_action` says, while nobody else drains the session."""
    from gatepost.guests import session_actions as sessions
    from gatepost.inbox import claim_actions as inbox

    def update_claim(verb: Callable[..., object], batch: PrintedBatch, **options: object) -> bool | None:
        """
        Ack, release or extend the claim of a batch in the store. Return False if there is no claim, or it has ended (it
        lapsed, or this was done before), None if the store is out of reach.
        """
        if batch.claim is None:
            return False
        id, owner, fence = batch.claim
        try:
            call_store(verb, id, owner=owner, fence=fence, **options)
        except Unavailable:
            return None
        except GatepostError:
            return False
        return True

    def settle_batch(batch: PrintedBatch) -> PrintedBatch | None:
        """Apply an action to a batch; return what the note must keep of it, or None."""
        match choose_action(batch):
            case "prove":
                store_result = update_claim(inbox.ack, batch)
                with suppress(GatepostError):  # then only the store recognises a repeat
                    spool.record_shown_keys(session, batch.keys, is_known=store_result is True, at=now)
                if batch.woken_for is not None:
                    with suppress(GatepostError):  # then the next wake proves that the session can be woken
                        latency = max(0, batch.printed_at - batch.woken_for)
                        call_store(sessions.prove_wake, session, latency=latency)
                return _get_unreported(batch, PROVED, store_result)
            case "release":
                if batch.lines:
                    settling.put_back(batch.lines)
                return _get_unreported(batch, RELEASED, update_claim(inbox.release, batch))
            case "renew":
                if update_claim(inbox.extend, batch, hold=hold) is None:
                    return batch
                # A claim that lapsed cannot be renewed. The note can, so this session does not show the batch again.
                return batch._replace(expires_at=now + hold)
            case "finish":
                verb = inbox.ack if batch.outcome == PROVED else inbox.release
                return batch if update_claim(verb, batch) is None else None
            case PrintedBatch() as changed_batch:
                return changed_batch
            case _:
                return batch

    with spool.settle_unproved(session) as settling:
        old_batches = settling.batches
        new_batches = [rest for batch in old_batches if (rest := settle_batch(batch)) is not None]
        if new_batches != old_batches:
            settling.replace(new_batches)


def _raise_unreachable(*_: object, **__: object) -> object:
    raise Unavailable("the store is out of reach")


def _get_unreported(batch: PrintedBatch, outcome: str, store_result: bool | None) -> PrintedBatch | None:
    """Return what the store must still be told about a batch that is settled in the files, or None."""
    return None if store_result is not None else batch._replace(outcome=outcome, keys=(), lines=())
