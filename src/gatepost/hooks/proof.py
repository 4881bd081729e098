"""
Proof: a reply of the model shows that what a hook printed was read.

What a hook prints is in the hands of its host. The request may fail, a person may interrupt it or leave, another hook's
veto may drop the text. So a printed batch is not delivered yet: its items stay under a claim of kind `session`, its
lines in a note beside the spool (`core/printed_batch.py`), and the hooks that follow say what became of it:

    printed by                       proved by                                   released by
    SessionStart                     the next tool event or Stop                 SessionEnd, a failed Stop, the second
                                                                                 prompt of a person, another start
    UserPromptSubmit, Stop           the next tool event or Stop                 SessionEnd, a failed Stop, the next
                                                                                 prompt of a person, a start
    PostToolUse, PostToolUseFailure  the next Stop: tools that run side by side  the same
                                     belong to one reply

Only events of the agent itself count, not those of helpers inside the session; a start is a SessionStart that does not
follow a compaction. A Stop that a host reports for a turn without a reply (`is_failed`) proves nothing, and neither
does one that tells of no more replies than there were when the batch was printed. If nothing is heard for
`hooks.proof`, the claim lapses, and the next drain releases the lines. While tool events of the agent come, both are
renewed. As long as a batch is unproved, its session shows nothing of it again.

Why nothing counts as delivered that no model has read: a tool event and a Stop follow a reply, the reply follows a
request, and whatever was printed before the request is in it, or the host has dropped it together with the request or
the prompt. In the last case no proof comes before the next prompt of a person, and that begins another turn: Claude
Code and Codex name the turn on each event; for the others prompts are counted, which a hook does before anything else.
A batch of another turn is released, whichever hook is the first to notice. Hosts that drop text and go on all the same
are not given any there (`wire/gemini.py`).

Why nothing is lost: proof and release change the note last. Killed before that, the next hook does the same again. A
second ack or release is refused by the store, a line is not put back twice, and a key that was noted as shown twice is
noted once. With the store out of reach the files are settled at once, and what the store has to hear stays in the note
until a hook reaches it.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from gatepost.core.printed_batch import PROVED, RELEASED, PrintedBatch
from gatepost.core.times import Duration, Instant
from gatepost.errors import GatepostError, Unavailable
from gatepost.hooks.context import HookContext
from gatepost.hooks.events import HookEvent

TYPE_CHECKING = False
if TYPE_CHECKING:  # most hooks have nothing to settle
    from gatepost.ports import Spool, Store, UnprovedBatches

#: a reply of the model has asked for a tool
TOOL_EVENTS: Final = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure"})

#: what a hook means for a printed batch
KEEP: Final = "keep"
PROVE: Final = "prove"
RELEASE: Final = "release"
RENEW: Final = "renew"
#: it was settled before, and the store has still to hear of it
FINISH: Final = "finish"


def judge(batch: PrintedBatch, event: HookEvent, *, prompts: int, now: Instant, hold: Duration) -> str:
    """Return what a hook, after so many `prompts` of the session, means for a batch that an earlier one printed."""
    if batch.outcome is not None:
        return FINISH
    if event.name == "SessionEnd":
        return RELEASE
    if event.subagent is not None:
        return KEEP
    if not _is_current(batch, event, prompts):
        return RELEASE
    if event.name == "Stop":
        is_answered = not event.is_failed and (not batch.replies or event.replies > batch.replies)
        return PROVE if is_answered else RELEASE
    if event.name in TOOL_EVENTS and batch.event not in TOOL_EVENTS:
        return PROVE
    if event.name in TOOL_EVENTS and now >= batch.expires_at - hold // 2:
        return RENEW
    return KEEP


def _is_current(batch: PrintedBatch, event: HookEvent, prompts: int) -> bool:
    """Return True if a hook belongs to the turn in which the batch was printed, or which follows that start."""
    if batch.event == "SessionStart":
        return prompts in (batch.prompts, batch.prompts + 1)
    if batch.turn and event.turn:
        return batch.turn == event.turn
    return prompts == batch.prompts


def settle(ctx: HookContext, event: HookEvent) -> None:
    """Prove, release or renew the batches that earlier hooks of this session printed, as this hook tells."""
    now, hold = ctx.clock.now(), ctx.options.proof_timeout

    def action(batch: PrintedBatch) -> str:
        return judge(batch, event, prompts=ctx.state.prompts, now=now, hold=hold)

    if ctx.open_spool is not None and any(action(batch) is not KEEP for batch in ctx.read_unproved()):
        settle_batches(ctx.call, ctx.open_spool(), ctx.session.id, action, now=now, hold=hold)


def release_expired(store: "Store | None", spool: "Spool", session: str, now: Instant) -> None:
    """Release the batches of a session that nobody has proved in time."""

    def action(batch: PrintedBatch) -> str:
        return RELEASE if batch.outcome is None and batch.expires_at <= now else KEEP

    if any(action(batch) is RELEASE for batch in spool.read_unproved(session)):
        settle_batches(store.call if store else _raise_unreachable, spool, session, action, now=now, hold=0)


def settle_batches(
    call_store: Callable[..., object],
    spool: "Spool",
    session: str,
    action: Callable[[PrintedBatch], str],
    *,
    now: Instant,
    hold: Duration,
) -> None:
    """Do with each printed batch of a session what `action` says, while nobody else drains it."""
    with spool.settle_unproved(session) as settling:
        settler = _Settler(call_store, spool, settling, session, now, hold)
        old_batches = settling.batches
        new_batches = [
            unfinished for batch in old_batches if (unfinished := settler.settle(batch, action(batch))) is not None
        ]
        if new_batches != old_batches:
            settling.replace(new_batches)


def _raise_unreachable(*_: object, **__: object) -> object:
    raise Unavailable("the store is out of reach")


class _Settler:
    """Settles printed batches of a session, one after the other."""

    def __init__(
        self,
        call_store: Callable[..., object],
        spool: "Spool",
        settling: "UnprovedBatches",
        session: str,
        now: Instant,
        hold: Duration,
    ) -> None:
        self._call_store = call_store
        self._spool = spool
        self._settling = settling
        self._session = session
        self._now = now
        self._hold = hold

    def settle(self, batch: PrintedBatch, action: str) -> PrintedBatch | None:
        """Do what has to be done about a batch; return what is left of it to be done."""
        from gatepost.actions import inbox

        match action:
            case "prove":
                store_result = self._update_claim(inbox.ack, batch)
                with suppress(GatepostError):  # then a repeat is recognised by the store alone
                    self._spool.record_shown_keys(
                        self._session, batch.keys, is_known=store_result is True, at=self._now
                    )
                return _get_unreported(batch, PROVED, store_result)
            case "release":
                if batch.lines:
                    self._settling.put_back(batch.lines)
                return _get_unreported(batch, RELEASED, self._update_claim(inbox.release, batch))
            case "renew":
                if self._update_claim(inbox.extend, batch, hold=self._hold) is None:
                    return batch
                # A claim that lapsed cannot be renewed. The note can: what it is about is not shown here again.
                return batch._replace(expires_at=self._now + self._hold)
            case "finish":
                verb = inbox.ack if batch.outcome == PROVED else inbox.release
                return batch if self._update_claim(verb, batch) is None else None
            case _:
                return batch

    def _update_claim(self, verb: Callable[..., object], batch: PrintedBatch, **options: object) -> bool | None:
        """
        Have the store ack, release or extend the claim of a batch. Return False if it has none, or it has ended (it
        lapsed, or this was done before), None if the store is out of reach.
        """
        if batch.claim is None:
            return False
        id, owner, fence = batch.claim
        try:
            self._call_store(verb, id, owner=owner, fence=fence, **options)
        except Unavailable:
            return None
        except GatepostError:
            return False
        return True


def _get_unreported(batch: PrintedBatch, outcome: str, store_result: bool | None) -> PrintedBatch | None:
    """Return what the store has still to hear of a batch that is settled in the files."""
    return None if store_result is not None else batch._replace(outcome=outcome, keys=(), lines=())
