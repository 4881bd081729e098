"""
Claim one batch for a guest from the two ways by which events reach it: lines of its session's spool, and items of its
inbox in the store.

    lines -> one per key -> state in the store -> select a batch (`inbox/batch_selection.py`) from both
                            |- pending     shown as the store has it: the store wins
                            |- claimed     another reader has it now: the line stays in the spool
                            |- ended       it was delivered, or is not worth reading any more: dropped
                            |- forgotten   dropped
                            `- unknown     only the spool has it: shown as the line has it

Only an event of ours, which is recognised by its id, can be forgotten: the store has removed it because it ended long
ago. A line of another program that the store does not know is new, unless it has expired. If the store cannot be
reached, every line is new. In all cases, a line whose key was shown in this session is dropped.

A key in a line is a stored key (`inbox/push/dedup_keys.py`), and is trusted: even `by:ann:k` in a line that ann did not
write. A program that can write the spool of an agent has the rights of that agent's user, and could also remove the
file or drain the inbox. And it reaches no further: lines are compared with the items of the reading agent only.

Within a priority, items of the store come first, in order of arrival. Lines that only the spool has have no place in
that order, and follow by their own time.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from gatepost.core import ids
from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import find_unstorable
from gatepost.core.times import Instant
from gatepost.directory.entity import Entity, EntityKind
from gatepost.errors import Invalid
from gatepost.guests import spool_line as spool_lines
from gatepost.guests.spool_line import SpoolLine
from gatepost.inbox import (
    batch_selection as batch_rules,
    claim_actions as inbox,
    event_rendering as render,
    item_rows as items,
)
from gatepost.inbox.batch_selection import Candidate, SelectedItem, StoredState
from gatepost.inbox.claim_actions import ClaimTerms
from gatepost.inbox.claimed_batch import Claim
from gatepost.inbox.event import Event, Item, ItemState

#: arrivals of lines that only the spool has begin here, after every arrival that the store will ever give
FIRST_SPOOL_ARRIVAL: Final = 2**62


class SortedLines(Struct):
    """The lines of a spool by what is to be done with them."""

    #: lines that only the spool has, in the order to show them
    spool_only: list[SpoolLine] = []
    #: lines of items that are pending in the store, by arrival
    pending_lines: dict[int, SpoolLine] = {}
    #: lines of items that another reader has claimed
    claimed_lines: list[SpoolLine] = []


class BatchLine(Struct, frozen=True, kw_only=True):
    """One line of a batch."""

    event: Event
    #: the number of bytes to cut it to; None if it is not longer
    size_limit: int | None
    #: None if the store has it
    spool_line: SpoolLine | None = None


class MergedBatch(Struct, frozen=True, kw_only=True):
    """A batch of items and lines, in the order to show it."""

    #: the claim on those events that are in the store
    claim: Claim | None = None
    lines: tuple[BatchLine, ...] = ()
    #: lines that stay in the spool
    remaining_lines: tuple[SpoolLine, ...] = ()
    #: the number of other pending events
    deferred_count: int = 0
    at: Instant


def claim_with_spool(
    tx: Transaction,
    name: str,
    lines: Sequence[SpoolLine],
    *,
    owner: str,
    shown_keys: Collection[str] = (),
    unconfirmed_keys: Collection[str] = (),
    include_pending: bool = True,
    limit: int = batch_rules.GUEST_LIMIT,
    budget: int = batch_rules.GUEST_BUDGET,
) -> MergedBatch:
    """
    Select the next batch from an inbox and a spool together, and claim the part of it that is in the inbox. Without
    `include_pending`, take only the items of the inbox that a spool line names. Pending items with a key in
    `shown_keys` are marked as delivered. Items with a key in `unconfirmed_keys` (the session has printed them, but no
    reply proves yet that they were read) are neither taken nor marked.
    """
    terms = ClaimTerms(owner=owner, limit=limit, budget=budget)
    recipient, fence = inbox.lock_inbox(tx, name, terms)
    keys = [line.dedup_key for line in lines if line.dedup_key]
    seen_keys = {*shown_keys, *unconfirmed_keys}
    stored_items = _find_stored_items(
        tx, recipient.number, [*keys, *seen_keys], [*(line.id for line in lines), *seen_keys]
    )
    _mark_items_delivered(tx, recipient, fence, [stored_items[key] for key in shown_keys if key in stored_items], terms)
    sorted_lines = sort_lines(lines, now=tx.now, shown_keys=seen_keys, stored_states=stored_items)
    unconfirmed_arrivals = {
        stored_items[key].arrival
        for key in unconfirmed_keys
        if key in stored_items and stored_items[key].state is ItemState.PENDING
    }
    candidates = (
        inbox.find_candidates(tx, recipient.number, terms, exclude=unconfirmed_arrivals) if include_pending else []
    )
    candidates += items.list_candidates_at(tx, recipient.number, sorted(sorted_lines.pending_lines))
    selection = batch_rules.select_batch(
        [*candidates, *build_candidates(sorted_lines.spool_only)], limit=limit, budget=budget
    )
    batch = inbox.claim_items(
        tx,
        recipient,
        fence,
        [choice for choice in selection if choice.arrival < FIRST_SPOOL_ARRIVAL],
        terms,
    )
    waiting_count = max(
        0, items.count_pending(tx, recipient.number, batch_rules.COUNT_LIMIT) - len(unconfirmed_arrivals)
    )
    return build_batch(
        sorted_lines, selection, at=tx.now, claim=batch.claim, items=batch.items, deferred_count=waiting_count
    )


def mark_delivered(tx: Transaction, name: str, keys: Iterable[str], *, owner: str) -> None:
    """Mark the pending items with these keys as delivered, without showing them."""
    terms = ClaimTerms(owner=owner)
    recipient, fence = inbox.lock_inbox(tx, name, terms)
    _mark_items_delivered(tx, recipient, fence, _find_stored_items(tx, recipient.number, keys, ()).values(), terms)


def _mark_items_delivered(
    tx: Transaction, recipient: Entity, fence: int, stored_items: Iterable[StoredState], terms: ClaimTerms
) -> None:
    """Mark items that were shown from the spool, while this store was out of reach or did not have them yet."""
    pending_arrivals = sorted({item.arrival for item in stored_items if item.state is ItemState.PENDING})
    if pending_arrivals:
        receipt = inbox.begin_claim(tx, recipient, fence, terms)
        items.take_later(tx, recipient.number, pending_arrivals, receipt.id)
        inbox.ack(tx, receipt.id, owner=terms.owner, fence=fence)


def _find_stored_items(
    tx: Reader, recipient: int, keys: Iterable[str], event_ids: Iterable[str]
) -> dict[str, StoredState]:
    """Return the items of an inbox with these dedup keys or event ids, by key and by id."""
    valid_keys = sorted({key for key in keys if key and not find_unstorable(key)})
    own_event_ids = sorted({event_id for event_id in event_ids if is_event_id(event_id)})
    return items.read_states(tx, recipient, valid_keys, own_event_ids) if valid_keys or own_event_ids else {}


def is_event_id(text: str) -> bool:
    """Return True if this is the id of an event."""
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
    Sort the lines by what is to be done with them; a line that is in none of the three groups is dropped. Of lines with
    the same key, the first counts. `shown_keys` are keys that this session has seen; `stored_states` are by key and by
    id, None if the store cannot be reached.
    """
    sorted_lines = SortedLines()
    seen_keys = set(shown_keys)
    for spool_line in lines:
        key = spool_line.dedup_key or ""
        if key in seen_keys:
            continue
        if key:
            seen_keys.add(key)
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
    """Return candidates for lines that only the spool has."""
    candidates = []
    for arrival, spool_line in enumerate(spool_only, start=FIRST_SPOOL_ARRIVAL):
        event = spool_lines.to_event(spool_line)
        is_person = event.sender is not None and event.sender.kind is EntityKind.HUMAN
        source = event.sender.name if event.sender else event.source
        candidates.append(Candidate(arrival, event.priority, is_person, source, render.measure(event)))
    return candidates


def build_batch(
    sorted_lines: SortedLines,
    selection: Sequence[SelectedItem],
    *,
    at: Instant,
    claim: Claim | None = None,
    items: Iterable[Item] = (),
    deferred_count: int = 0,
) -> MergedBatch:
    """Return the batch of a selection, of which these items could be claimed. Other lines stay in the spool."""
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
    return MergedBatch(
        claim=claim,
        lines=tuple(batch_lines),
        remaining_lines=(*unclaimed_lines, *sorted_lines.claimed_lines, *spool_only.values()),
        deferred_count=deferred_count + len(spool_only),
        at=at,
    )
