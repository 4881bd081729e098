"""
Change single items of an inbox: mark them as done or seen, discard them, replay them, close them.

People do not drain their inbox: they mark items as done. The other verbs correct what happened to an item, or follow
what happened elsewhere. An item changes only by an update that names the state it was in, so a verb that loses a race
changes nothing.

The question of a decision is an item too, and may be discarded like any other; but not the last one, if the asker would
wait for ever for its answer and never hear of it.
"""

from collections.abc import Sequence
from typing import Final, NoReturn

from msgspec.structs import replace

from gatepost.core import ids
from gatepost.core.ports import Reader, Transaction
from gatepost.core.quoting import render_name
from gatepost.core.signals import Signal, Topic
from gatepost.core.text import count_bytes
from gatepost.core.times import Instant
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity, EntityKind, Renamed
from gatepost.errors import Conflict, NotFound, Refused
from gatepost.inbox import broadcast_actions as broadcasts, claim_actions as claims, item_rows as items
from gatepost.inbox.claim_actions import ClaimTerms
from gatepost.inbox.event import Event, FindSentEvent, Item, ItemsDiscarded, ItemsRead, ItemState, Push
from gatepost.inbox.push import actions as push, dedup_key_rows as dedup_keys, hop_actions as chains
from gatepost.stores.row_mapping import get_columns

#: agents that have not taken a broadcast yet, and are shown
_SHOW_LIMIT: Final = 100


def show(tx: Reader, event: str) -> list[Item]:
    """Return the items of an event, one for each recipient, in the state they have now."""
    event = find_event_id(tx, event)
    event_items = [item for _, item in items.list_by_event(tx, event)]
    event_items += items.list_by_broadcast(tx, event, _SHOW_LIMIT)
    if not event_items:
        raise build_missing_error(event)
    return [replace(item, state=_compute_state(item, tx.now)) for item in event_items]


def find_event_id(tx: Reader, id: str) -> str:
    """Return the id of an event; that of mail, a note or a work event stands for the event that it became."""
    if ids.check_event(id).startswith("evt_"):
        return id
    event = tx.ask(FindSentEvent(id))
    if event is None:
        raise NotFound(f"there is no event of {id!r}", hint="it was never sent, or has reached no inbox")
    return event


def build_missing_error(event: str, recipient: str | None = None) -> NotFound:
    suffix = f" for {recipient!r}" if recipient is not None else ""
    return NotFound(f"there is no event {event!r}{suffix}", hint="it may have been delivered and forgotten since")


def mark_done(tx: Transaction, name: str, event: str) -> Item:
    """Mark a person's item as done, and return it."""
    person = directory.find_live(tx, name)
    if person.kind is not EntityKind.HUMAN:
        raise Refused(f"{person.name!r} is not a person: it drains its inbox", hint="use `gatepost inbox drain`")
    fence, _ = items.lock_inbox(tx, person.number)
    [(_, item)] = _find_items(tx, event, person)
    if (state := _compute_state(item, tx.now)) is not ItemState.PENDING:
        raise Conflict(f"{event!r} is {state} for {person.name!r}, not pending")
    if not _deliver_with_receipt(tx, person, fence, item, person.name):
        raise Conflict(f"{event!r} is not pending for {person.name!r} any more")
    signal_change(tx, person.name, "done")
    return _find_items(tx, event, person)[0][1]


def mark_seen(tx: Transaction, name: str, events: Sequence[str]) -> int:
    """Record that an entity has seen items, in any state; return how many it had not seen before."""
    recipient = directory.find_live(tx, name).number
    return items.mark_seen(tx, recipient, [find_event_id(tx, event) for event in events])


def discard(tx: Transaction, event: str, name: str | None = None) -> list[Item]:
    """
    Discard the pending and dead items of an event, for one recipient or for all, and return them. A broadcast that an
    agent has not taken yet can be discarded for that agent only. The last question of a decision that nothing else
    would end cannot be discarded.
    """
    event, recipient = find_event_id(tx, event), directory.find(tx, name) if name is not None else None
    if recipient is not None and recipient.is_live and not items.list_by_event(tx, event, recipient.number):
        _, cursor = items.lock_inbox(tx, recipient.number)
        broadcasts.take(tx, recipient, cursor)
    event_items = _find_items(tx, event, recipient)
    tx.react(ItemsDiscarded([item for _, item in event_items]))
    discarded_items = [
        replace(item, state=ItemState.DISCARDED, ended_at=tx.now)
        for number, item in event_items
        if _compute_state(item, tx.now) in (ItemState.PENDING, ItemState.DEAD)
        and items.discard(tx, number, [item.event.arrival])
    ]
    for item in discarded_items:
        signal_change(tx, item.recipient, "discard")
    return discarded_items or _refuse(tx, event, event_items, "discarded", (ItemState.PENDING, ItemState.DEAD))


def replay(tx: Transaction, event: str, name: str | None = None, *, is_new_chain: bool = True) -> list[Item]:
    """
    Make the dead, expired and discarded items of an event pending again, for one recipient or for all, with their
    failures forgotten; return the items that wait now. A delivered item stays delivered: its recipient gets a new event
    with the same content. That event begins a new chain of events (`is_new_chain`), or continues the longer one of the
    event's chain and the recipient's; a recipient that replays its own items does the latter. Retired recipients get
    nothing.
    """
    event_items = _find_items(tx, event, directory.find_live(tx, name) if name is not None else None)
    recipients = entities.find_by_names(tx, [item.recipient for _, item in event_items])
    replayed_items: list[Item] = []
    for number, item in event_items:
        if not recipients[item.recipient].is_live:
            continue
        match _compute_state(item, tx.now):
            case ItemState.DEAD | ItemState.EXPIRED | ItemState.DISCARDED:
                if items.replay(tx, number, item):
                    new_event = replace(item.event, expires_at=None)
                    replayed_items.append(Item(event=new_event, recipient=item.recipient, seen_at=item.seen_at))
                    tx.after_commit(Signal(Topic("inbox", item.recipient), "replay", new_event))
            case ItemState.DELIVERED:
                recipient = recipients[item.recipient]
                hops = 0 if is_new_chain else max(item.event.hops, chains.count_next_hops(tx, recipient))
                result = push.push_copy(tx, replace(build_copy(item.event, item.recipient), hops=hops), recipient)
                replayed_items += [copy for _, copy in items.list_by_event(tx, result.event)]
            case ItemState.PENDING | ItemState.CLAIMED:
                pass
    return replayed_items or _refuse(
        tx,
        event,
        event_items,
        "replayed",
        (ItemState.DEAD, ItemState.EXPIRED, ItemState.DISCARDED, ItemState.DELIVERED),
    )


def close_items(tx: Transaction, recipients: Sequence[Entity], key: str, *, actor: Entity | None) -> None:
    """
    Close the pending items with this key, because their matter has ended: a person's item is done, by `actor`, any
    other is discarded. Copies that were replayed have no key, and stay. The inboxes are not locked, because there may
    be many of them: the state of each item decides.
    """
    for recipient in recipients:
        for event in dedup_keys.find_events(tx, [recipient.number], key).values():
            for _, item in items.list_by_event(tx, event, recipient.number):
                if item.state is ItemState.PENDING and recipient.kind is EntityKind.HUMAN:
                    _deliver_with_receipt(tx, recipient, 0, item, actor.name if actor is not None else "gatepost")
                elif item.state is ItemState.PENDING:
                    items.discard(tx, recipient.number, [item.event.arrival])


def signal_change(tx: Transaction, recipient: str, cause: str) -> None:
    """Tell who looks at an inbox that items of it have changed; nobody has to wake."""
    tx.after_commit(Signal(Topic("inbox", recipient), cause, wakes=False))


def _deliver_with_receipt(tx: Transaction, person: Entity, fence: int, item: Item, owner: str) -> bool:
    """
    Deliver a person's item with an acked claim as the receipt, which names `owner`; return True if the item still was
    in the state that it has in `item`.
    """
    receipt = claims.begin_claim(tx, person, fence, ClaimTerms(owner=owner, kind="person"))
    items.end_claim(tx, receipt.id, owner, fence, "acked")
    if not items.take_later(tx, person.number, [item.event.arrival], receipt.id)():
        return False
    tx.react(ItemsRead(receipt.number))
    return True


def _find_items(tx: Transaction, event: str, entity: Entity | None) -> list[tuple[int, Item]]:
    event = find_event_id(tx, event)
    event_items = items.list_by_event(tx, event, entity.number if entity else None)
    if not event_items and entity is None and items.list_by_broadcast(tx, event, 1):
        raise Conflict(f"{event!r} is a broadcast that agents have still to take", hint="say for whom: `name`")
    if not event_items:
        raise build_missing_error(event, entity.name if entity is not None else None)
    return event_items


def _compute_state(item: Item, now: Instant) -> ItemState:
    """Return the state of an item now: a pending item past its time is expired, even if no row says so yet."""
    is_overdue = item.event.expires_at is not None and item.event.expires_at <= now
    return ItemState.EXPIRED if is_overdue and item.state is ItemState.PENDING else item.state


def _refuse(
    tx: Transaction, event: str, event_items: Sequence[tuple[int, Item]], action: str, states: Sequence[ItemState]
) -> NoReturn:
    state_text = ", ".join(f"{_compute_state(item, tx.now)} for {item.recipient!r}" for _, item in event_items)
    raise Conflict(
        f"{event!r} cannot be {action}: it is {state_text}",
        hint=f"only an item that is {' or '.join(states)} can be {action}",
    )


def build_copy(event: Event, to: str) -> Push:
    """Return a push with the content of an event, without its dedup key, which would make it a duplicate."""
    content = get_columns(event, "type source subject content data priority source_time ref route trust")
    return Push(to=to, sender=event.sender.name if event.sender else None, **content)


def measure_lines_again(tx: Transaction, event: Renamed) -> None:
    """Add the bytes by which a longer display name makes the lines of an entity's events longer."""
    growth = count_bytes(render_name(event.display)) - count_bytes(render_name(event.entity.display))
    if growth > 0:  # a size never shrinks: not every line has its sender in it, and a shorter line does no harm
        for statement in ("inbox/item_changes/grow_sizes", "inbox/item_changes/grow_claimed_sizes"):
            tx.execute_later(statement, sender=event.entity.number, name=event.entity.name, growth=growth)
        tx.execute_later("inbox/broadcasts/grow_sizes", sender=event.entity.number, growth=growth)
