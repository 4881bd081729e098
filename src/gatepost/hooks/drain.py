"""
Drain: how a guest reads what is in its session's spool and in its inbox, as one batch.

    drain lock --+ lines: what a drain that died left, then what waits                                    (the spool)
                 | claim the items they tell of, with `reconcile` whatever else is pending                (the store)
                 | choose a batch from both                                                      `core/carried.py`
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

from gatepost.actions import carried, inbox
from gatepost.core import batch as rules
from gatepost.core import carried as merging
from gatepost.core import line
from gatepost.core.carried import Reading, Told
from gatepost.core.entry import Entry
from gatepost.core.event import Event
from gatepost.core.instants import DAY, Duration, Instant
from gatepost.core.session import filename
from gatepost.core.unproved import PrintedBatch
from gatepost.errors import Conflict, GatepostError, Unavailable
from gatepost.hooks import proof
from gatepost.ports import Spool, SpoolDrain, Store, UnprovedBatches

#: characters of an owner of a claim
_LONGEST_OWNER = 200


@dataclass(slots=True)
class Drained:
    """
    What is to be printed. Afterwards say one of `ack`, `await_proof` and `release`; nobody else drains the session
    before that.
    """

    text: str = ""
    #: the same as events
    events: tuple[Event, ...] = ()
    #: how many more wait
    held: int = 0
    #: what went wrong, a sentence each, for stderr
    notes: tuple[str, ...] = ()
    _end: "_End | None" = field(default=None, repr=False)

    def ack(self) -> None:
        """Say that the text was printed and flushed. It does not fail: what cannot be marked now is noted."""
        if end := self._take_end():
            end.ack()

    def await_proof(
        self, *, event: str, prompts: int, hold: Duration, turn: str | None = None, replies: int = 0
    ) -> None:
        """
        Say that a hook of this event has printed and flushed the text, which is delivered once a reply proves it, or
        given to another drain when `hold` is over. `prompts`, `turn` and `replies` are those of a `PrintedBatch`.
        """
        if end := self._take_end():
            end.await_proof(event, prompts, turn, replies, hold)

    def release(self) -> None:
        """Say that it was not printed: it is given to the next drain."""
        if end := self._take_end():
            end.release()

    def _take_end(self) -> "_End | None":
        end, self._end = self._end, None
        return end


def drain(
    store: Store | None,
    spool: Spool,
    *,
    session: str,
    agent: str | None,
    now: Instant,
    reconcile: bool,
    cap: int = rules.GUEST_CAP,
    budget: int = rules.GUEST_BUDGET,
    remember: Duration = DAY,
) -> Drained:
    """
    Take the next batch for a session of an agent. Without a store, or an agent, it is the spool's alone; without
    `reconcile` only what lines tell of is taken from the store. `remember` is how long a key that was shown is known.
    Never raises what Gatepost can explain.
    """
    reader = _Reader(store if agent else None, spool, session, agent or "", now, remember)
    try:
        with suppress(Conflict, Unavailable):  # then the next drain does it
            proof.release_expired(reader.store, spool, session, now)
        if not reconcile and spool.is_empty(session):
            return Drained()
        return reader.begin(reconcile, cap, budget)
    except GatepostError as error:
        return Drained(notes=(*reader.notes, _sentence(error)))


class _Reader:
    """Somebody who drains a session, from the lock to the end."""

    def __init__(
        self, store: Store | None, spool: Spool, session: str, agent: str, now: Instant, remember: Duration
    ) -> None:
        self.store = store
        self._spool = spool
        self._session = session
        self._agent = agent
        self._now = now
        self._remember = remember
        self._owner = session if session.isprintable() and len(session) <= _LONGEST_OWNER else filename(session)
        #: what went wrong so far
        self.notes: list[str] = []

    def begin(self, reconcile: bool, cap: int, budget: int) -> Drained:
        with ExitStack() as stack:
            aside = self._set_aside(stack)
            self.notes += aside.warnings
            reading = self._reading(aside, reconcile, cap, budget)
            if not reading.told:
                aside.finish(reading.left)
                return Drained(held=reading.held, notes=tuple(self.notes))
            text = self._text(reading, aside)
            end = _End(self.store, self._spool, self._session, self._now, reading, aside, stack.pop_all())
        return Drained(text, tuple(told.event for told in reading.told), reading.held, tuple(self.notes), end)

    def _set_aside(self, stack: ExitStack) -> SpoolDrain:
        """What was in the spool; nothing, if that cannot be used: then the store stands in for it."""
        try:
            return stack.enter_context(self._spool.drain(self._session))
        except Unavailable as error:
            self.notes.append(_sentence(error))
            return _NOTHING

    def _reading(self, aside: SpoolDrain, reconcile: bool, cap: int, budget: int) -> Reading:
        lines = aside.lines
        shown: dict[str, bool] = {}
        printed: set[str] = set()
        with suppress(Unavailable):  # then the store alone tells a repeat
            shown = self._spool.read_shown_keys(self._session, since=self._now - self._remember)
            printed = {key for batch in aside.unproved.batches for key in batch.keys}
        untold = [key for key, known in shown.items() if not known]
        if self.store is not None:
            try:
                reading = self.store.call(
                    carried.gather,
                    self._agent,
                    lines,
                    owner=self._owner,
                    shown=shown,
                    unproved=printed,
                    reconcile=reconcile,
                    cap=cap,
                    budget=budget,
                )
            except Conflict as error:  # the agent is thinking elsewhere: it is told there
                self.notes.append(_sentence(error))
                return Reading(left=tuple(lines), at=self._now)
            except GatepostError as error:
                self.notes.append(f"only the spool was read: {_sentence(error)}")
                self.store = None
            else:
                with suppress(GatepostError):  # then they are told again
                    self._spool.record_shown_keys(self._session, untold, is_known=True, at=self._now)
                return reading
        found = merging.sort_out(lines, now=self._now, shown=printed.union(shown), known=None)
        chosen = rules.choose(merging.candidates(found.fresh), cap=cap, budget=budget)
        return merging.reading(found, chosen, at=self._now)

    def _text(self, reading: Reading, aside: SpoolDrain) -> str:
        header = line.header(len(reading.told), reading.held, reading.at)
        return "\n".join((header, *(_line(told, aside) for told in reading.told)))


class _End:
    """How a drain ends: by what became of its text."""

    def __init__(
        self,
        store: Store | None,
        spool: Spool,
        session: str,
        now: Instant,
        reading: Reading,
        aside: SpoolDrain,
        lock: ExitStack,
    ) -> None:
        self._store = store
        self._spool = spool
        self._session = session
        self._now = now
        self._reading = reading
        self._aside = aside
        self._lock = lock

    def ack(self) -> None:
        with self._lock:
            known = self._store is not None
            try:
                self._tell_store(inbox.ack)
            except GatepostError:
                known = False
            with suppress(GatepostError):  # then a repeat is recognised by the store alone
                self._spool.record_shown_keys(self._session, _keys(self._reading), is_known=known, at=self._now)
            with suppress(GatepostError):  # then the next drain does it
                self._aside.finish(self._reading.left)

    def await_proof(self, event: str, prompts: int, turn: str | None, replies: int, hold: Duration) -> None:
        claim, told = self._reading.claim, self._reading.told
        batch = PrintedBatch(
            event=event,
            printed_at=self._now,
            expires_at=self._now + hold,
            prompts=prompts,
            turn=turn,
            replies=replies,
            claim=(claim.id, claim.owner, claim.fence) if claim is not None else None,
            keys=tuple(_keys(self._reading)),
            lines=tuple(one.entry.line().rstrip(b"\n") for one in told if one.entry is not None),
        )
        with self._lock:
            is_noted = False
            with suppress(GatepostError):  # then nothing proves it: the lines stay set aside, and the claim lapses
                self._aside.unproved.add(batch)
                is_noted = True
            with suppress(GatepostError):  # then it lapses sooner
                self._tell_store(inbox.extend, hold=hold)
            if is_noted:
                with suppress(GatepostError):  # then the next drain does it
                    self._aside.finish(self._reading.left)

    def release(self) -> None:
        with self._lock, suppress(GatepostError):  # then the claim lapses
            self._tell_store(inbox.release)

    def _tell_store(self, verb: Callable[..., object], **more: object) -> None:
        if self._store is not None and (claim := self._reading.claim) is not None:
            self._store.call(verb, claim.id, owner=claim.owner, fence=claim.fence, **more)


class _Nothing:
    """What is taken out of a spool that cannot be used; nothing can be noted there either."""

    lines: Sequence[Entry] = ()
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

    def save_copy(self, entry: Entry) -> str:
        raise AssertionError(f"{entry} did not come from here")

    def finish(self, remaining: Iterable[Entry] = ()) -> None:
        assert not list(remaining)


_NOTHING = _Nothing()


def _line(told: Told, aside: SpoolDrain) -> str:
    """A line of the batch. Where only the spool had it and it is cut, the whole is kept where it can be read."""
    if told.room is None or told.entry is None or merging.ours(told.entry.id):
        return line.line(told.event, told.room)
    try:
        kept = aside.save_copy(told.entry)
    except GatepostError:
        kept = "there was no room to keep it"
    return line.line(told.event, told.room, rest=kept)


def _keys(reading: Reading) -> list[str]:
    """By what a repeat is recognised: an item of the store also by its id, a line by its key alone."""
    keys = [told.event.key or ("" if told.entry else told.event.id) for told in reading.told]
    return [key for key in keys if key]


def _sentence(error: GatepostError) -> str:
    return error.message + (f" (hint: {error.hint})" if error.hint else "")
