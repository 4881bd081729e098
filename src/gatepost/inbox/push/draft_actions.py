"""
Event drafts: pushes that were checked, and how they are stored.

Items are inserted before events, because only items can detect a duplicate: the unique key (recipient, dedup key)
refuses it. If all items of an event are refused, the event is not stored, so a duplicate changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from gatepost.core.ports import RetryTransaction, Transaction
from gatepost.core.signals import Signal
from gatepost.core.times import DAY
from gatepost.directory.entity import Entity, EntityKind
from gatepost.errors import LimitReached
from gatepost.inbox import claim_rows as inboxes, event_rows as events, item_rows as items
from gatepost.inbox.event import Delivery, Event, PushResult


@dataclass(slots=True)
class EventDraft:
    """A push that was checked: the event to store, and its recipients."""

    event: Event
    #: JSON
    data: str | None
    sender: Entity | None
    recipients: list[Entity]
    #: bytes of the rendered event
    size: int
    #: the numbers of the recipients for which it is no duplicate; filled when the items are stored
    new_recipients: set[int] = field(default_factory=set)


def store_drafts(tx: Transaction, drafts: Sequence[EventDraft]) -> None:
    """Store the events and an item for each recipient; a duplicate is not stored."""
    rows = [_build_item_row(draft, draft.event, recipient.number) for draft in drafts for recipient in draft.recipients]
    if not rows:
        return
    # In one order everywhere, so that of two writers with the same keys one waits for the other, without a deadlock.
    new_items = items.insert(tx, sorted(rows, key=lambda row: (row[0], row[2] or "")))
    for draft in drafts:
        draft.new_recipients = {
            entity.number for entity in draft.recipients if (draft.event.arrival, entity.number) in new_items
        }
    new_drafts = [draft for draft in drafts if draft.new_recipients]
    if new_drafts:
        events.insert(
            tx, [(draft.event, draft.sender.number if draft.sender else None, draft.data) for draft in new_drafts]
        )
    for draft in new_drafts:
        for recipient in draft.recipients:
            if recipient.number in draft.new_recipients:
                tx.add_to_account(recipient.number, "accepted", 1)
                tx.after_commit(Signal(recipient.name, draft.event.type, draft.event, draft.event.wakes))


def build_result(tx: Transaction, draft: EventDraft) -> PushResult:
    """Return the result of a draft that was stored; for a duplicate, with the event that came first."""
    duplicate_numbers = [
        recipient.number for recipient in draft.recipients if recipient.number not in draft.new_recipients
    ]
    first_events = (
        items.find_by_key(tx, duplicate_numbers, draft.event.dedup_key)
        if duplicate_numbers and draft.event.dedup_key is not None
        else {}
    )
    if len(first_events) < len(duplicate_numbers):
        raise RetryTransaction(f"the first event with the key {draft.event.dedup_key!r} was just removed")
    deliveries = tuple(
        Delivery(
            recipient.name,
            first_events.get(recipient.number, draft.event.id),
            duplicate=recipient.number not in draft.new_recipients,
        )
        for recipient in draft.recipients
    )
    return PushResult(draft.event.id if draft.new_recipients or not deliveries else deliveries[0].event, deliveries)


def store_broadcast(tx: Transaction, draft: EventDraft) -> PushResult:
    """Store a broadcast: one row, of which each agent makes an item when it next reads its inbox."""
    event = draft.event
    key = event.dedup_key or f"broadcast:{event.id}"
    inboxes.lock_broadcasts(tx)
    if event.dedup_key and (first_broadcast := inboxes.find_broadcast(tx, key)):
        return PushResult(first_broadcast[1], broadcast=first_broadcast[0], duplicate=True)
    limit, sender = tx.limits.broadcasts, draft.sender
    if sender is not None and inboxes.count_broadcasts(tx, sender.number, tx.now - DAY) >= limit:
        raise LimitReached(
            f"{sender.name!r} has made {limit} broadcasts in the last 24 hours, the limit for one entity",
            hint="push to a team or to those whom it concerns, or raise limits.broadcasts",
        )
    number = inboxes.take_broadcast_number(tx)
    event = replace(event, dedup_key=key)
    events.insert(tx, [(event, draft.sender.number if draft.sender else None, draft.data)])
    inboxes.insert_broadcast(
        tx, number, _build_item_row(draft, event, 0), draft.sender.number if draft.sender else None
    )
    tx.after_commit(Signal("*", event.type, event, event.wakes))
    return PushResult(event.id, broadcast=number)


def _build_item_row(draft: EventDraft, event: Event, recipient: int) -> items.NewItem:
    is_human = draft.sender is not None and draft.sender.kind is EntityKind.HUMAN
    source = draft.sender.name if draft.sender else event.source
    return (
        recipient,
        event.arrival,
        event.dedup_key,
        event.priority.value,
        is_human,
        source,
        event.expires_at,
        event.wakes,
        draft.size,
    )
