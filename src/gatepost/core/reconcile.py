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
from typing import Final

from msgspec import Struct

from gatepost.core import ids, render
from gatepost.core import spool_line as spool_lines
from gatepost.core.batch import Candidate, SelectedItem
from gatepost.core.claim import Claim
from gatepost.core.entity import EntityKind
from gatepost.core.event import Event, Item, ItemState
from gatepost.core.spool_line import SpoolLine
from gatepost.core.times import Instant
from gatepost.errors import Invalid

#: arrivals of what only the spool has begin here, behind any that the store will ever give
FIRST_SPOOL_ARRIVAL: Final = 2**62


class StoredState(Struct, frozen=True, kw_only=True):
    """What the store says of a line."""

    arrival: int
    state: ItemState


class SortedLines(Struct):
    #: what only the spool has, in the order to show it
    spool_only: list[SpoolLine] = []
    #: lines of items that are pending in the store, by arrival
    pending_lines: dict[int, SpoolLine] = {}
    #: lines of items that another reader has at the moment
    claimed_lines: list[SpoolLine] = []


class BatchLine(Struct, frozen=True, kw_only=True):
    """One line of a batch."""

    event: Event
    #: the bytes it may be shown in, where it is longer
    size_limit: int | None
    #: where only the spool has it
    spool_line: SpoolLine | None = None


class ReconciledBatch(Struct, frozen=True, kw_only=True):
    """A batch from both roads, in the order to show it."""

    #: on what of it is in the store
    claim: Claim | None = None
    lines: tuple[BatchLine, ...] = ()
    #: lines that stay in the spool
    remaining_lines: tuple[SpoolLine, ...] = ()
    #: how many more wait
    deferred_count: int = 0
    at: Instant


def is_event_id(text: str) -> bool:
    """Whether this is the id of an event."""
    try:
        return bool(ids.check("evt", text))
    except Invalid:
        return False


def sort_lines(
    lines: Iterable[SpoolLine],
    *,
    now: Instant,
    shown_keys: Collection[str],
    stored_states: Mapping[str, StoredState] | None,
) -> SortedLines:
    """
    Say of each line what is to be done with it; what is in none of the three is dropped. `shown` are the keys that were
    shown before; `known` what the store knows, by key and by id, None without it.
    """
    sorted_lines = SortedLines()
    for spool_line in _deduplicate(lines):
        key = spool_line.dedup_key or ""
        if key in shown_keys:
            continue
        stored_state = (
            (stored_states.get(key) or stored_states.get(spool_line.id)) if stored_states is not None else None
        )
        if stored_state is not None:
            if stored_state.state is ItemState.PENDING:
                sorted_lines.pending_lines[stored_state.arrival] = spool_line
            elif stored_state.state is ItemState.CLAIMED:
                sorted_lines.claimed_lines.append(spool_line)
        elif (stored_states is None or not is_event_id(spool_line.id)) and (
            spool_line.expires_at is None or spool_line.expires_at > now
        ):
            sorted_lines.spool_only.append(spool_line)
    sorted_lines.spool_only.sort(key=lambda spool_line: spool_line.timestamp_ms)
    return sorted_lines


def build_candidates(spool_only: Sequence[SpoolLine]) -> list[Candidate]:
    """What only the spool has, as candidates for a batch."""
    return [
        _build_candidate(arrival, spool_lines.to_event(spool_line))
        for arrival, spool_line in enumerate(spool_only, start=FIRST_SPOOL_ARRIVAL)
    ]


def build_batch(
    sorted_lines: SortedLines,
    selection: Sequence[SelectedItem],
    *,
    at: Instant,
    claim: Claim | None = None,
    items: Iterable[Item] = (),
    deferred_count: int = 0,
) -> ReconciledBatch:
    """The batch that was chosen, of which these items could be claimed; whatever is not in it stays in the spool."""
    events = {item.event.arrival: item.event for item in items}
    spool_only = dict(enumerate(sorted_lines.spool_only, start=FIRST_SPOOL_ARRIVAL))
    batch_lines: list[BatchLine] = []
    for selected_item in selection:
        if selected_item.arrival in events:
            batch_lines.append(BatchLine(event=events[selected_item.arrival], size_limit=selected_item.size_limit))
        elif (spool_line := spool_only.pop(selected_item.arrival, None)) is not None:
            batch_lines.append(
                BatchLine(
                    event=spool_lines.to_event(spool_line, at),
                    size_limit=selected_item.size_limit,
                    spool_line=spool_line,
                )
            )
    unclaimed_lines = [
        spool_line for arrival, spool_line in sorted_lines.pending_lines.items() if arrival not in events
    ]
    return ReconciledBatch(
        claim=claim,
        lines=tuple(batch_lines),
        remaining_lines=(*unclaimed_lines, *sorted_lines.claimed_lines, *spool_only.values()),
        deferred_count=deferred_count + len(spool_only),
        at=at,
    )


def _deduplicate(lines: Iterable[SpoolLine]) -> Iterator[SpoolLine]:
    """The first line of each key; one without a key is like no other."""
    seen_keys: set[str] = set()
    for spool_line in lines:
        if spool_line.dedup_key is None or spool_line.dedup_key not in seen_keys:
            seen_keys.add(spool_line.dedup_key or "")
            yield spool_line


def _build_candidate(arrival: int, event: Event) -> Candidate:
    sender = event.sender
    is_person = sender is not None and sender.kind is EntityKind.HUMAN
    return Candidate(arrival, event.priority, is_person, sender.name if sender else event.source, render.measure(event))
