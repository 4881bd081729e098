"""
What reached a guest by two roads, put together: lines of its session's spool, and items of its inbox in the store.

    lines -> one per key -> what the store says of each -> choose a batch (`core/batch.py`) from both
                            |- pending there      it is shown as the store has it: the store wins
                            |- claimed            another reader has it now: the line waits
                            |- ended, or gone     it was delivered, or is not worth reading any more: dropped
                            `- never heard of     only the spool has it: shown as the line has it

"Gone" can be said only of an event of ours, by its id: the store has forgotten it because it ended long ago. Anybody
else's line that the store does not know is new, unless it is past its time. With the store out of reach, that is every
line. Whatever the store says, a line whose key was shown in this session is dropped.

A key in a line is a stored one (`core/dedup.py`), and is believed: also `by:ann:k` in a line that ann never wrote.
Whoever can write the spool of an agent has the rights of that agent's user, and could as well remove the file, or drain
the inbox. Nor does it reach further: lines are held against the items of the agent that reads them, and nobody else's.

Items of the store come first among those of one priority, in order of arrival; what only the spool has has no place in
that order, and follows by its own time.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gatepost.core import entry as entries
from gatepost.core import ids, line
from gatepost.core.batch import Candidate, Chosen
from gatepost.core.claim import Claim
from gatepost.core.entity import Kind
from gatepost.core.entry import Entry
from gatepost.core.event import Event, Item, State
from gatepost.core.instants import Instant
from gatepost.errors import Invalid

#: arrivals of what only the spool has begin here, behind any that the store will ever give
BEHIND: Final = 2**62


@dataclass(frozen=True, slots=True)
class Known:
    """What the store says of a line."""

    arrival: int
    state: State


@dataclass(slots=True)
class Sorted:
    #: what only the spool has, in the order to show it
    fresh: list[Entry] = field(default_factory=list)
    #: lines of items that are pending in the store, by arrival
    stored: dict[int, Entry] = field(default_factory=dict)
    #: lines of items that another reader has at the moment
    waiting: list[Entry] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Told:
    """One line of a batch."""

    event: Event
    #: the bytes it may be shown in, where it is longer
    room: int | None
    #: where only the spool has it
    entry: Entry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A batch from both roads, in the order to show it."""

    #: on what of it is in the store
    claim: Claim | None = None
    told: tuple[Told, ...] = ()
    #: lines that stay in the spool
    left: tuple[Entry, ...] = ()
    #: how many more wait
    held: int = 0
    at: Instant


def ours(text: str) -> bool:
    """Whether this is the id of an event."""
    try:
        return bool(ids.check("evt", text))
    except Invalid:
        return False


def sort_out(
    lines: Iterable[Entry], *, now: Instant, shown: Collection[str], known: Mapping[str, Known] | None
) -> Sorted:
    """
    Say of each line what is to be done with it; what is in none of the three is dropped. `shown` are the keys that were
    shown before; `known` what the store knows, by key and by id, None without it.
    """
    found = Sorted()
    for entry in _once(lines):
        key = entry.dedup_key or ""
        if key in shown:
            continue
        item = (known.get(key) or known.get(entry.id)) if known is not None else None
        if item is not None:
            if item.state is State.PENDING:
                found.stored[item.arrival] = entry
            elif item.state is State.CLAIMED:
                found.waiting.append(entry)
        elif not (known is not None and ours(entry.id)) and not _expired(entry, now):
            found.fresh.append(entry)
    found.fresh.sort(key=lambda entry: entry.timestamp_ms)
    return found


def candidates(fresh: Sequence[Entry]) -> list[Candidate]:
    """What only the spool has, as candidates for a batch."""
    return [_candidate(place, entries.event(entry)) for place, entry in enumerate(fresh, start=BEHIND)]


def reading(
    found: Sorted,
    chosen: Sequence[Chosen],
    *,
    at: Instant,
    claim: Claim | None = None,
    items: Iterable[Item] = (),
    held: int = 0,
) -> Reading:
    """The batch that was chosen, of which these items could be claimed; whatever is not in it stays in the spool."""
    taken = {item.event.arrival: item.event for item in items}
    fresh = dict(enumerate(found.fresh, start=BEHIND))
    told: list[Told] = []
    for one in chosen:
        if one.arrival in taken:
            told.append(Told(taken[one.arrival], one.room))
        elif (entry := fresh.pop(one.arrival, None)) is not None:
            told.append(Told(entries.event(entry, at), one.room, entry))
    left = [entry for arrival, entry in found.stored.items() if arrival not in taken]
    return Reading(
        claim=claim,
        told=tuple(told),
        left=(*left, *found.waiting, *fresh.values()),
        held=held + len(fresh),
        at=at,
    )


def _once(lines: Iterable[Entry]) -> Iterator[Entry]:
    """The first line of each key; one without a key is like no other."""
    seen: set[str] = set()
    for entry in lines:
        if entry.dedup_key is None or entry.dedup_key not in seen:
            seen.add(entry.dedup_key or "")
            yield entry


def _expired(entry: Entry, now: Instant) -> bool:
    return entry.expires_at is not None and entry.expires_at <= now


def _candidate(arrival: int, event: Event) -> Candidate:
    sender = event.sender
    person = sender is not None and sender.kind is Kind.HUMAN
    return Candidate(arrival, event.priority, person, sender.name if sender else event.source, line.measure(event))
