"""Claim a batch for a guest from two sources: its session's spool, and its inbox here (`guests/spool_merge.py`)."""

from collections.abc import Collection, Iterable, Sequence

from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import find_unstorable
from gatepost.directory.entity import Entity
from gatepost.guests import spool_merge
from gatepost.guests.spool_line import SpoolLine
from gatepost.guests.spool_merge import MergedBatch
from gatepost.inbox import (
    batch_selection as batch_rules,
    claim_actions as inbox,
    claim_rows as inboxes,
    item_rows as items,
)
from gatepost.inbox.batch_selection import StoredState
from gatepost.inbox.claim_actions import ClaimTerms
from gatepost.inbox.event import ItemState


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
    sorted_lines = spool_merge.sort_lines(lines, now=tx.now, shown_keys=seen_keys, stored_states=stored_items)
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
        [*candidates, *spool_merge.build_candidates(sorted_lines.spool_only)], limit=limit, budget=budget
    )
    batch = inbox.claim_items(
        tx,
        recipient,
        fence,
        [choice for choice in selection if choice.arrival < spool_merge.FIRST_SPOOL_ARRIVAL],
        terms,
    )
    waiting_count = max(
        0, items.count_pending(tx, recipient.number, batch_rules.COUNT_LIMIT) - len(unconfirmed_arrivals)
    )
    return spool_merge.build_batch(
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
        items.take(tx, recipient.number, pending_arrivals, receipt.number)
        ended_receipt = inboxes.end_claim(tx, receipt.id, terms.owner, fence, "acked")
        assert ended_receipt is not None
        inbox.deliver(tx, ended_receipt)


def _find_stored_items(
    tx: Reader, recipient: int, keys: Iterable[str], event_ids: Iterable[str]
) -> dict[str, StoredState]:
    """Return the items of an inbox with these dedup keys or event ids, by key and by id."""
    valid_keys = sorted({key for key in keys if key and not find_unstorable(key)})
    own_event_ids = sorted({event_id for event_id in event_ids if spool_merge.is_event_id(event_id)})
    return items.read_states(tx, recipient, valid_keys, own_event_ids) if valid_keys or own_event_ids else {}
