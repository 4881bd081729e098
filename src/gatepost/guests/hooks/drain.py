"""
Drain: read the spool of a session and the inbox of its agent as one batch.

    drain lock --+ read the lines: those that a killed drain left, then the new ones                      (the spool)
                 | claim the items of these lines; with `include_pending`, all other pending items too    (the store)
                 | choose a batch from both                                              `guests/spool_merge_actions.py`
                 | print, flush                                                                     (the hook itself)
                 | add the batch to the unproved ones, extend its claim                    `await_proof`, in a hook
                 | or ack the claim, record the keys as shown                       `ack`, for every other interface
                 | put back the lines that did not fit; forget the rest
    unlock     --+

The note is the file of unproved batches beside the spool.

Why every line is shown. Until the last step a line is always in the file that writers append to, or in the file that it
was set aside in, or in both (`guests/spool_files.py` argues that). If anything fails before, the next drain gets it
again. A line that is put back is in the first file before the second is removed. A batch that a hook has printed is not
delivered yet: its host may fail, or drop it. So its lines stay in the note, and its items under the claim, until a
reply of the model proves that they were read (`guests/hooks/delivery_proof.py`). The batch is written to the note only
after the flush, because the reply to something else could prove a batch that is in the note and was never printed.

Why no line is shown twice, except after a kill. Drains of one session take turns, by the drain lock. Drains of several
sessions of one agent, and readers through other interfaces, take turns by the claims on the items: a line whose item
another reader has claimed waits in the spool until that reader has acked, and is then dropped, or until the claim has
lapsed. If a drain is killed

- before the flush, nothing was shown; the claim lapses.
- between flush and note, or flush and ack, everything is shown again: nobody can tell whether it was printed.
- between the note and the extension of the claim, a reply within the short time of the claim proves the batch; else the
  claim lapses and the items are shown again.
- after the note, the lines are read again, and those whose key is in the note are dropped. Lines that the note releases
  later come back from the note.
- after the ack, the lines are read again, and the store reports each as delivered. Of the lines that the store does not
  know, those with a key are dropped because the key is recorded as shown; those without a key are shown again.

If the store is out of reach (or locked, or fails half-way), only the spool is shown, and the keys are recorded as
unknown to the store. The next drain that reaches the store marks their items as delivered before it reads anything, so
the store does not show them again. All keys are recorded, also those that the store knows: a copy of a delivered item
may still be on its way to the spool when the store goes out of reach.
"""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from gatepost.core.ports import Store
from gatepost.core.times import DAY, Duration, Instant
from gatepost.errors import Conflict, GatepostError, Unavailable
from gatepost.guests import spool_merge_actions as spool_merge
from gatepost.guests.hooks import delivery_proof as proof
from gatepost.guests.ports import Spool, SpoolDrain
from gatepost.guests.session import PrintedBatch, encode_filename
from gatepost.guests.spool_merge_actions import BatchLine, MergedBatch
from gatepost.inbox import batch_selection as batch_rules, claim_actions as inbox, event_rendering as render
from gatepost.inbox.event import Event

#: characters in the owner of a claim
_MAX_OWNER_CHARS = 200


@dataclass(slots=True)
class DrainedBatch:
    """
    A batch to print. After printing, call one of `ack`, `await_proof` and `release`; until then nobody else can drain
    the session.
    """

    text: str = ""
    #: the events of the text
    events: tuple[Event, ...] = ()
    #: how many items did not fit and are still pending
    deferred_count: int = 0
    #: what went wrong, as sentences for stderr
    notes: tuple[str, ...] = ()
    _ending: "_DrainEnding | None" = field(default=None, repr=False)

    def ack(self) -> None:
        """End the drain: the text was printed and flushed. It never fails: keys that the store missed are recorded."""
        if ending := self._take_ending():
            ending.ack()

    def await_proof(
        self,
        *,
        event_name: str,
        prompts: int,
        hold: Duration,
        turn: str | None = None,
        replies: int = 0,
        woken_for: Instant | None = None,
    ) -> None:
        """
        End the drain: a hook of this event has printed and flushed the text. The batch is delivered when a reply proves
        it, and goes to another drain after `hold`. The other values are those of a `PrintedBatch`.
        """
        if ending := self._take_ending():
            ending.await_proof(event_name, prompts, turn, replies, woken_for, hold)

    def release(self) -> None:
        """End the drain: the text was not printed, so the next drain gets the batch."""
        if ending := self._take_ending():
            ending.release()

    def _take_ending(self) -> "_DrainEnding | None":
        ending, self._ending = self._ending, None
        return ending


def drain(
    store: Store | None,
    spool: Spool,
    *,
    session: str,
    agent: str | None,
    now: Instant,
    include_pending: bool,
    limit: int = batch_rules.GUEST_LIMIT,
    budget: int = batch_rules.GUEST_BUDGET,
    remember_for: Duration = DAY,
) -> DrainedBatch:
    """
    Return the next batch for a session of an agent. Without a store, or an agent, it comes from the spool alone;
    without `include_pending`, only items that have a line in the spool are taken from the store. Keys of shown items
    count for `remember_for`. A GatepostError is never raised: it becomes a note of the batch.
    """
    drainer = _Drainer(store if agent else None, spool, session, agent or "", now, remember_for)
    try:
        with suppress(Conflict, Unavailable):  # then the next drain does it
            proof.release_expired(drainer.store, spool, session, now)
        if not include_pending and spool.is_empty(session):
            return DrainedBatch()
        return drainer.read_batch(include_pending, limit, budget)
    except GatepostError as error:
        return DrainedBatch(notes=(*drainer.notes, error.message_with_hint))


@dataclass(slots=True)
class _Drainer:
    """Reads the batch of one drain, and holds the lock until the batch ends."""

    store: Store | None
    _spool: Spool
    _session: str
    _agent: str
    _now: Instant
    _remember_for: Duration
    #: what went wrong so far, as sentences
    notes: list[str] = field(default_factory=list)

    def read_batch(self, include_pending: bool, limit: int, budget: int) -> DrainedBatch:
        with ExitStack() as stack:
            draining = self._open_spool(stack)
            self.notes += draining.warnings if draining else ()
            merged_batch = self._choose_batch(draining, include_pending, limit, budget)
            if not merged_batch.lines:
                if draining is not None:
                    draining.finish(merged_batch.remaining_lines)
                return DrainedBatch(deferred_count=merged_batch.deferred_count, notes=tuple(self.notes))
            header = render.render_header(len(merged_batch.lines), merged_batch.deferred_count, merged_batch.at)
            text = "\n".join((header, *(_render_line(line, draining) for line in merged_batch.lines)))
            ending = _DrainEnding(
                self.store, self._spool, self._session, self._now, merged_batch, draining, stack.pop_all()
            )
        events = tuple(batch_line.event for batch_line in merged_batch.lines)
        return DrainedBatch(text, events, merged_batch.deferred_count, tuple(self.notes), ending)

    def _open_spool(self, stack: ExitStack) -> SpoolDrain | None:
        """Return the content of the spool; None if it cannot be used: then the batch comes from the store."""
        try:
            return stack.enter_context(self._spool.drain(self._session))
        except Unavailable as error:
            self.notes.append(error.message_with_hint)
            return None

    def _choose_batch(self, draining: SpoolDrain | None, include_pending: bool, limit: int, budget: int) -> MergedBatch:
        lines = draining.lines if draining else ()
        shown_keys: dict[str, bool] = {}
        unproved_keys: set[str] = set()
        with suppress(Unavailable):  # then only the store recognises a repeat
            shown_keys = self._spool.read_shown_keys(self._session, since=self._now - self._remember_for)
            unproved_batches = draining.unproved.batches if draining else ()
            unproved_keys = {key for batch in unproved_batches for key in batch.keys}
        unreported_keys = [key for key, is_stored in shown_keys.items() if not is_stored]
        if self.store is not None:
            try:
                merged_batch = self.store.run_sync(
                    spool_merge.claim_with_spool,
                    self._agent,
                    lines,
                    owner=get_claim_owner(self._session),
                    shown_keys=shown_keys,
                    unconfirmed_keys=unproved_keys,
                    include_pending=include_pending,
                    limit=limit,
                    budget=budget,
                )
            except Conflict as error:  # the agent has a run elsewhere, which reads the inbox
                self.notes.append(error.message_with_hint)
                return MergedBatch(remaining_lines=tuple(lines), at=self._now)
            except GatepostError as error:
                self.notes.append(f"only the spool was read: {error.message_with_hint}")
                self.store = None
            else:
                with suppress(GatepostError):  # then the next drain reports them again
                    self._spool.record_shown_keys(self._session, unreported_keys, is_known=True, at=self._now)
                return merged_batch
        sorted_lines = spool_merge.sort_lines(
            lines, now=self._now, shown_keys=unproved_keys.union(shown_keys), stored_states=None
        )
        selection = batch_rules.select_batch(
            spool_merge.build_candidates(sorted_lines.spool_only), limit=limit, budget=budget
        )
        return spool_merge.build_batch(sorted_lines, selection, at=self._now)


@dataclass(slots=True)
class _DrainEnding:
    """Ends a drain, by what became of its text."""

    _store: Store | None
    _spool: Spool
    _session: str
    _now: Instant
    _merged_batch: MergedBatch
    #: None if the spool cannot be used
    _draining: SpoolDrain | None
    _lock: ExitStack

    def ack(self) -> None:
        with self._lock:
            is_stored = self._store is not None
            try:
                self._update_claim(inbox.ack)
            except GatepostError:
                is_stored = False
            with suppress(GatepostError):  # then only the store recognises a repeat
                self._spool.record_shown_keys(
                    self._session, _list_keys(self._merged_batch), is_known=is_stored, at=self._now
                )
            self._finish()

    def await_proof(
        self, event_name: str, prompts: int, turn: str | None, replies: int, woken_for: Instant | None, hold: Duration
    ) -> None:
        claim, batch_lines = self._merged_batch.claim, self._merged_batch.lines
        batch = PrintedBatch(
            event=event_name,
            printed_at=self._now,
            expires_at=self._now + hold,
            prompts=prompts,
            turn=turn,
            replies=replies,
            woken_for=woken_for,
            claim=(claim.id, claim.owner, claim.fence) if claim is not None else None,
            keys=tuple(_list_keys(self._merged_batch)),
            lines=tuple(
                batch_line.spool_line.to_bytes().rstrip(b"\n")
                for batch_line in batch_lines
                if batch_line.spool_line is not None
            ),
        )
        with self._lock:
            is_recorded = False
            with suppress(GatepostError):  # then nothing can prove it: the lines stay set aside, and the claim lapses
                if self._draining is not None:
                    self._draining.unproved.add(batch)
                    is_recorded = True
            with suppress(GatepostError):  # then it lapses sooner
                self._update_claim(inbox.extend, hold=hold)
            if is_recorded:
                self._finish()

    def release(self) -> None:
        with self._lock, suppress(GatepostError):  # then the claim lapses
            self._update_claim(inbox.release)

    def _finish(self) -> None:
        with suppress(GatepostError):  # then the next drain does it
            if self._draining is not None:
                self._draining.finish(self._merged_batch.remaining_lines)

    def _update_claim(self, verb: Callable[..., object], **options: object) -> None:
        if self._store is not None and (claim := self._merged_batch.claim) is not None:
            self._store.run_sync(verb, claim.id, owner=claim.owner, fence=claim.fence, **options)


def get_claim_owner(session: str) -> str:
    """Return the owner of the claims of a session."""
    return session if session.isprintable() and len(session) <= _MAX_OWNER_CHARS else encode_filename(session)


def _render_line(batch_line: BatchLine, draining: SpoolDrain | None) -> str:
    """Return the text of a line; if it is cut and only the spool has it, save a copy of the whole and say where."""
    event, size_limit, line = batch_line.event, batch_line.size_limit, batch_line.spool_line
    if size_limit is None or line is None or draining is None or spool_merge.is_event_id(line.id):
        return render.render_event(event, size_limit)
    try:
        location = draining.save_copy(line)
    except GatepostError:
        location = "there was no room to keep it"
    return render.render_event(event, size_limit, rest_location=location)


def _list_keys(merged_batch: MergedBatch) -> list[str]:
    """Return the keys that recognise a repeat: the dedup key, or the id for an item of the store without one."""
    keys = [
        batch_line.event.dedup_key or ("" if batch_line.spool_line else batch_line.event.id)
        for batch_line in merged_batch.lines
    ]
    return [key for key in keys if key]
