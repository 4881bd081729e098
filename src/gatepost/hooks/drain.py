"""
Drain: how a guest reads what is in its session's spool and in its inbox, as one batch.

    drain lock --+ lines: what a drain that died left, then what waits                                    (the spool)
                 | claim the items they tell of, with `reconcile` whatever else is pending                (the store)
                 | choose a batch from both                                                      `core/carried.py`
                 | print, flush                                                                     (the hook itself)
                 | ack the claim
                 | note the keys as shown, and whether the store knows it
                 | put back what did not fit; forget the lines
    unlock    --+

Why every line is seen. A line is always in the file that writers append to, or in the one that it was set aside in, or
in both, until the last step (the argument for that is in `adapters/spool.py`). Whatever goes wrong before, the next
drain is given it again. What is put back is in the first file before the second is removed.

Why none is seen twice, but across a kill. Drains of one session take turns, by the drain lock. Drains of several
sessions of one agent, and of other doors, take turns at the items by their claims: a line whose item another has
claimed waits in the spool until that one has acked, and is then dropped, or until its claim has lapsed. So, killed

- before the flush, nothing was seen; the claim lapses.
- between flush and ack, all is seen again: nobody can tell whether it was printed.
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
from gatepost.errors import Conflict, GatepostError, Unavailable
from gatepost.ports.spool import Draining, Spool
from gatepost.ports.store import Store

#: characters of an owner of a claim
_LONGEST_OWNER = 200


@dataclass(slots=True)
class Drained:
    """What is to be printed. Afterwards say either `ack` or `release`; nobody else drains the session before that."""

    text: str = ""
    #: the same as events
    events: tuple[Event, ...] = ()
    #: how many more wait
    held: int = 0
    #: what went wrong, a sentence each, for stderr
    notes: tuple[str, ...] = ()
    _acks: Callable[[], None] | None = field(default=None, repr=False)
    _releases: Callable[[], None] | None = field(default=None, repr=False)

    def ack(self) -> None:
        """Say that the text was printed and flushed. It does not fail: what cannot be marked now is noted."""
        self._end(self._acks)

    def release(self) -> None:
        """Say that it was not printed: it is given to the next drain."""
        self._end(self._releases)

    def _end(self, how: Callable[[], None] | None) -> None:
        self._acks = self._releases = None
        if how is not None:
            how()


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
        if not reconcile and spool.empty(session):
            return Drained()
        return reader.begin(reconcile, cap, budget)
    except GatepostError as error:
        return Drained(notes=(*reader.notes, _sentence(error)))


class _Reader:
    """Somebody who drains a session, from the lock to the end."""

    def __init__(
        self, store: Store | None, spool: Spool, session: str, agent: str, now: Instant, remember: Duration
    ) -> None:
        self._store = store
        self._spool = spool
        self._session = session
        self._agent = agent
        self._now = now
        self._remember = remember
        self._owner = session if session.isprintable() and len(session) <= _LONGEST_OWNER else filename(session)
        #: what went wrong so far
        self.notes: list[str] = []
        self._exit = ExitStack()

    def begin(self, reconcile: bool, cap: int, budget: int) -> Drained:
        with ExitStack() as stack:
            aside = self._set_aside(stack)
            self.notes += aside.notes
            reading = self._reading(aside.entries, reconcile, cap, budget)
            if not reading.told:
                aside.done(reading.left)
                return Drained(held=reading.held, notes=tuple(self.notes))
            text = self._text(reading, aside)
            self._exit = stack.pop_all()
        return Drained(
            text,
            tuple(told.event for told in reading.told),
            reading.held,
            tuple(self.notes),
            lambda: self._ack(reading, aside),
            lambda: self._release(reading),
        )

    def _set_aside(self, stack: ExitStack) -> Draining:
        """What was in the spool; nothing, if that cannot be used: then the store stands in for it."""
        try:
            return stack.enter_context(self._spool.draining(self._session))
        except Unavailable as error:
            self.notes.append(_sentence(error))
            return _NOTHING

    def _reading(self, lines: Sequence[Entry], reconcile: bool, cap: int, budget: int) -> Reading:
        shown: dict[str, bool] = {}
        with suppress(Unavailable):  # then the store alone tells a repeat
            shown = self._spool.shown(self._session, since=self._now - self._remember)
        untold = [key for key, known in shown.items() if not known]
        if self._store is not None:
            try:
                reading = self._store.call(
                    carried.gather,
                    self._agent,
                    lines,
                    owner=self._owner,
                    shown=shown,
                    reconcile=reconcile,
                    cap=cap,
                    budget=budget,
                )
            except Conflict as error:  # the agent is thinking elsewhere: it is told there
                self.notes.append(_sentence(error))
                return Reading(left=tuple(lines), at=self._now)
            except GatepostError as error:
                self.notes.append(f"only the spool was read: {_sentence(error)}")
                self._store = None
            else:
                with suppress(GatepostError):  # then they are told again
                    self._spool.remember(self._session, untold, known=True, at=self._now)
                return reading
        found = merging.sort_out(lines, now=self._now, shown=shown, known=None)
        chosen = rules.choose(merging.candidates(found.fresh), cap=cap, budget=budget)
        return merging.reading(found, chosen, at=self._now)

    def _text(self, reading: Reading, aside: Draining) -> str:
        header = line.header(len(reading.told), reading.held, reading.at)
        return "\n".join((header, *(_line(told, aside) for told in reading.told)))

    def _ack(self, reading: Reading, aside: Draining) -> None:
        with self._exit:
            known = self._store is not None
            if self._store is not None and (claim := reading.claim) is not None:
                try:
                    self._store.call(inbox.ack, claim.id, owner=claim.owner, fence=claim.fence)
                except GatepostError:
                    known = False
            with suppress(GatepostError):  # then a repeat is recognised by the store alone
                self._spool.remember(self._session, _keys(reading), known=known, at=self._now)
            with suppress(GatepostError):  # then the next drain does it
                aside.done(reading.left)

    def _release(self, reading: Reading) -> None:
        with self._exit, suppress(GatepostError):  # then the claim lapses
            if self._store is not None and (claim := reading.claim) is not None:
                self._store.call(inbox.release, claim.id, owner=claim.owner, fence=claim.fence)


class _Nothing:
    """What is taken out of a spool that cannot be used."""

    entries: Sequence[Entry] = ()
    notes: Sequence[str] = ()

    def keep(self, entry: Entry) -> str:
        raise AssertionError(f"{entry} did not come from here")

    def done(self, left: Iterable[Entry] = ()) -> None:
        assert not list(left)


_NOTHING = _Nothing()


def _line(told: Told, aside: Draining) -> str:
    """A line of the batch. Where only the spool had it and it is cut, the whole is kept where it can be read."""
    if told.room is None or told.entry is None or merging.ours(told.entry.id):
        return line.line(told.event, told.room)
    try:
        kept = aside.keep(told.entry)
    except GatepostError:
        kept = "there was no room to keep it"
    return line.line(told.event, told.room, rest=kept)


def _keys(reading: Reading) -> list[str]:
    """By what a repeat is recognised: an item of the store also by its id, a line by its key alone."""
    keys = [told.event.key or ("" if told.entry else told.event.id) for told in reading.told]
    return [key for key in keys if key]


def _sentence(error: GatepostError) -> str:
    return error.message + (f" (hint: {error.hint})" if error.hint else "")
