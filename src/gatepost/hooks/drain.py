"""
Drain: how a guest reads what is in its session's spool and in its inbox, as one batch.

    drain lock --+ lines: what a drain that died left, then what waits                                    (the spool)
                 | claim the items they tell of, with `reconcile` whatever else is pending                (the store)
                 | choose a batch from both                                                      `core/reconcile.py`
                 | print, flush                                                                     (the hook itself)
                 | note the batch as unproved, extend its claim                            `await_proof`, in a hook
                 | or ack the claim, note the keys as shown                                `ack`, in any other door
                 | put back what did not fit; forget the lines
    unlock    --+

Why every line is seen. A line is always in the file that writers append to, or in the one that it was set aside in, or
in both, until the last step (the argument for that is in `adapters/spool.py`). Whatever goes wrong before, the next
drain is given it again. What is put back is in the first file before the second is removed. What a hook has printed
is not seen yet: its host may fail, or drop it. So its lines stay in the note, and its items under the claim, until a
reply of the model proves that they were read (`hooks/proof.py`). It is noted only after the flush, because what was
noted and never printed could be proved by the reply to something else.

Why none is seen twice, but across a kill. Drains of one session take turns, by the drain lock. Drains of several
sessions of one agent, and of other doors, take turns at the items by their claims: a line whose item another has
claimed waits in the spool until that one has acked, and is then dropped, or until its claim has lapsed. So, killed

- before the flush, nothing was seen; the claim lapses.
- between flush and note, or flush and ack, all is seen again: nobody can tell whether it was printed.
- between the note and the extension of the claim, a reply within the short time of the claim proves it; else the claim
  lapses and the items are seen again.
- after the note, the lines are read again, and those are dropped whose key is in it. What the note releases later comes
  back from the note.
- after the ack, the lines are read again; the store says of each that it was delivered. Of lines that the store does
  not know, those that have a key are dropped because it was noted; those that have none are seen again.

When the store is out of reach (or is locked, or fails half-way) the spool alone is shown, and the keys are noted as
unknown to the store. The next drain that reaches it has their items marked as delivered before it reads anything, so
none of them comes by that road again. All keys are noted, the known ones too: a copy of an item that the store has
delivered may still be under way to the spool when the store goes.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from gatepost.actions import inbox, reconcile
from gatepost.core import batch as batch_rules
from gatepost.core import reconcile as reconcile_rules
from gatepost.core import render
from gatepost.core.event import Event
from gatepost.core.printed_batch import PrintedBatch
from gatepost.core.reconcile import BatchLine, ReconciledBatch
from gatepost.core.session import encode_filename
from gatepost.core.spool_line import SpoolLine
from gatepost.core.times import DAY, Duration, Instant
from gatepost.errors import Conflict, GatepostError, Unavailable
from gatepost.hooks import proof
from gatepost.ports import Spool, SpoolDrain, Store, UnprovedBatches

#: characters of an owner of a claim
_MAX_OWNER_CHARS = 200


@dataclass(slots=True)
class DrainedBatch:
    """
    What is to be printed. Afterwards say one of `ack`, `await_proof` and `release`; nobody else drains the session
    before that.
    """

    text: str = ""
    #: the same as events
    events: tuple[Event, ...] = ()
    #: how many more wait
    deferred_count: int = 0
    #: what went wrong, a sentence each, for stderr
    notes: tuple[str, ...] = ()
    _ending: "_DrainEnding | None" = field(default=None, repr=False)

    def ack(self) -> None:
        """Say that the text was printed and flushed. It does not fail: what cannot be marked now is noted."""
        if ending := self._take_ending():
            ending.ack()

    def await_proof(
        self, *, event_name: str, prompts: int, hold: Duration, turn: str | None = None, replies: int = 0
    ) -> None:
        """
        Say that a hook of this event has printed and flushed the text, which is delivered once a reply proves it, or
        given to another drain when `hold` is over. `prompts`, `turn` and `replies` are those of a `PrintedBatch`.
        """
        if ending := self._take_ending():
            ending.await_proof(event_name, prompts, turn, replies, hold)

    def release(self) -> None:
        """Say that it was not printed: it is given to the next drain."""
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
    Take the next batch for a session of an agent. Without a store, or an agent, it is the spool's alone; without
    `reconcile` only what lines tell of is taken from the store. `remember` is how long a key that was shown is known.
    Never raises what Gatepost can explain.
    """
    drainer = _Drainer(store if agent else None, spool, session, agent or "", now, remember_for)
    try:
        with suppress(Conflict, Unavailable):  # then the next drain does it
            proof.release_expired(drainer.store, spool, session, now)
        if not include_pending and spool.is_empty(session):
            return DrainedBatch()
        return drainer.read_batch(include_pending, limit, budget)
    except GatepostError as error:
        return DrainedBatch(notes=(*drainer.notes, _format_error(error)))


class _Drainer:
    """Somebody who drains a session, from the lock to the end."""

    def __init__(
        self, store: Store | None, spool: Spool, session: str, agent: str, now: Instant, remember_for: Duration
    ) -> None:
        self.store = store
        self._spool = spool
        self._session = session
        self._agent = agent
        self._now = now
        self._remember_for = remember_for
        self._owner = (
            session if session.isprintable() and len(session) <= _MAX_OWNER_CHARS else encode_filename(session)
        )
        #: what went wrong so far
        self.notes: list[str] = []

    def read_batch(self, include_pending: bool, limit: int, budget: int) -> DrainedBatch:
        with ExitStack() as stack:
            draining = self._open_spool(stack)
            self.notes += draining.warnings
            reconciled_batch = self._choose_batch(draining, include_pending, limit, budget)
            if not reconciled_batch.lines:
                draining.finish(reconciled_batch.remaining_lines)
                return DrainedBatch(deferred_count=reconciled_batch.deferred_count, notes=tuple(self.notes))
            text = self._render_text(reconciled_batch, draining)
            ending = _DrainEnding(
                self.store, self._spool, self._session, self._now, reconciled_batch, draining, stack.pop_all()
            )
        return DrainedBatch(
            text,
            tuple(batch_line.event for batch_line in reconciled_batch.lines),
            reconciled_batch.deferred_count,
            tuple(self.notes),
            ending,
        )

    def _open_spool(self, stack: ExitStack) -> SpoolDrain:
        """What was in the spool; nothing, if that cannot be used: then the store stands in for it."""
        try:
            return stack.enter_context(self._spool.drain(self._session))
        except Unavailable as error:
            self.notes.append(_format_error(error))
            return _EMPTY_DRAINING

    def _choose_batch(self, draining: SpoolDrain, include_pending: bool, limit: int, budget: int) -> ReconciledBatch:
        lines = draining.lines
        shown_keys: dict[str, bool] = {}
        unproved_keys: set[str] = set()
        with suppress(Unavailable):  # then the store alone tells a repeat
            shown_keys = self._spool.read_shown_keys(self._session, since=self._now - self._remember_for)
            unproved_keys = {key for batch in draining.unproved.batches for key in batch.keys}
        unreported_keys = [key for key, is_stored in shown_keys.items() if not is_stored]
        if self.store is not None:
            try:
                reconciled_batch = self.store.call(
                    reconcile.claim_with_spool,
                    self._agent,
                    lines,
                    owner=self._owner,
                    shown_keys=shown_keys,
                    unconfirmed_keys=unproved_keys,
                    include_pending=include_pending,
                    limit=limit,
                    budget=budget,
                )
            except Conflict as error:  # the agent is thinking elsewhere: it is told there
                self.notes.append(_format_error(error))
                return ReconciledBatch(remaining_lines=tuple(lines), at=self._now)
            except GatepostError as error:
                self.notes.append(f"only the spool was read: {_format_error(error)}")
                self.store = None
            else:
                with suppress(GatepostError):  # then they are told again
                    self._spool.record_shown_keys(self._session, unreported_keys, is_known=True, at=self._now)
                return reconciled_batch
        sorted_lines = reconcile_rules.sort_lines(
            lines, now=self._now, shown_keys=unproved_keys.union(shown_keys), stored_states=None
        )
        selection = batch_rules.select_batch(
            reconcile_rules.build_candidates(sorted_lines.spool_only), limit=limit, budget=budget
        )
        return reconcile_rules.build_batch(sorted_lines, selection, at=self._now)

    def _render_text(self, reconciled_batch: ReconciledBatch, draining: SpoolDrain) -> str:
        header = render.render_header(len(reconciled_batch.lines), reconciled_batch.deferred_count, reconciled_batch.at)
        return "\n".join((header, *(_render_line(batch_line, draining) for batch_line in reconciled_batch.lines)))


class _DrainEnding:
    """How a drain ends: by what became of its text."""

    def __init__(
        self,
        store: Store | None,
        spool: Spool,
        session: str,
        now: Instant,
        reconciled_batch: ReconciledBatch,
        draining: SpoolDrain,
        lock: ExitStack,
    ) -> None:
        self._store = store
        self._spool = spool
        self._session = session
        self._now = now
        self._reconciled_batch = reconciled_batch
        self._draining = draining
        self._lock = lock

    def ack(self) -> None:
        with self._lock:
            is_stored = self._store is not None
            try:
                self._update_claim(inbox.ack)
            except GatepostError:
                is_stored = False
            with suppress(GatepostError):  # then a repeat is recognised by the store alone
                self._spool.record_shown_keys(
                    self._session, _list_keys(self._reconciled_batch), is_known=is_stored, at=self._now
                )
            with suppress(GatepostError):  # then the next drain does it
                self._draining.finish(self._reconciled_batch.remaining_lines)

    def await_proof(self, event_name: str, prompts: int, turn: str | None, replies: int, hold: Duration) -> None:
        claim, batch_lines = self._reconciled_batch.claim, self._reconciled_batch.lines
        batch = PrintedBatch(
            event=event_name,
            printed_at=self._now,
            expires_at=self._now + hold,
            prompts=prompts,
            turn=turn,
            replies=replies,
            claim=(claim.id, claim.owner, claim.fence) if claim is not None else None,
            keys=tuple(_list_keys(self._reconciled_batch)),
            lines=tuple(
                batch_line.spool_line.to_bytes().rstrip(b"\n")
                for batch_line in batch_lines
                if batch_line.spool_line is not None
            ),
        )
        with self._lock:
            is_noted = False
            with suppress(GatepostError):  # then nothing proves it: the lines stay set aside, and the claim lapses
                self._draining.unproved.add(batch)
                is_noted = True
            with suppress(GatepostError):  # then it lapses sooner
                self._update_claim(inbox.extend, hold=hold)
            if is_noted:
                with suppress(GatepostError):  # then the next drain does it
                    self._draining.finish(self._reconciled_batch.remaining_lines)

    def release(self) -> None:
        with self._lock, suppress(GatepostError):  # then the claim lapses
            self._update_claim(inbox.release)

    def _update_claim(self, verb: Callable[..., object], **options: object) -> None:
        if self._store is not None and (claim := self._reconciled_batch.claim) is not None:
            self._store.call(verb, claim.id, owner=claim.owner, fence=claim.fence, **options)


class _EmptyDraining:
    """What is taken out of a spool that cannot be used; nothing can be noted there either."""

    lines: Sequence[SpoolLine] = ()
    warnings: Sequence[str] = ()
    batches: Sequence[PrintedBatch] = ()

    @property
    def unproved(self) -> UnprovedBatches:
        return self

    def add(self, batch: PrintedBatch) -> None:
        raise Unavailable(f"the spool cannot be used: what {batch.event} has printed cannot be noted")

    def replace(self, batches: Sequence[PrintedBatch]) -> None:
        raise AssertionError(f"{batches} did not come from here")

    def put_back(self, lines: Sequence[bytes]) -> None:
        raise AssertionError(f"{lines} did not come from here")

    def save_copy(self, entry: SpoolLine) -> str:
        raise AssertionError(f"{entry} did not come from here")

    def finish(self, remaining: Iterable[SpoolLine] = ()) -> None:
        assert not list(remaining)


_EMPTY_DRAINING = _EmptyDraining()


def _render_line(batch_line: BatchLine, draining: SpoolDrain) -> str:
    """A line of the batch. Where only the spool had it and it is cut, the whole is kept where it can be read."""
    if (
        batch_line.size_limit is None
        or batch_line.spool_line is None
        or reconcile_rules.is_event_id(batch_line.spool_line.id)
    ):
        return render.render_event(batch_line.event, batch_line.size_limit)
    try:
        location = draining.save_copy(batch_line.spool_line)
    except GatepostError:
        location = "there was no room to keep it"
    return render.render_event(batch_line.event, batch_line.size_limit, rest_location=location)


def _list_keys(reconciled_batch: ReconciledBatch) -> list[str]:
    """By what a repeat is recognised: an item of the store also by its id, a line by its key alone."""
    keys = [
        batch_line.event.key or ("" if batch_line.spool_line else batch_line.event.id)
        for batch_line in reconciled_batch.lines
    ]
    return [key for key in keys if key]


def _format_error(error: GatepostError) -> str:
    return error.message + (f" (hint: {error.hint})" if error.hint else "")
