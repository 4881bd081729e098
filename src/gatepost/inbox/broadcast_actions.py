"""
Broadcasts: an event for every agent. It is one row, of which each agent makes an item when it next reads its inbox; a
cursor in each inbox says how far that agent is.

A registration and a broadcast lock the same counter, so for every agent and every broadcast it is clear which came
first: an agent gets the broadcasts that are pushed after it was registered. The lock lasts until the commit, so the
numbers of broadcasts become visible in their order.
"""

from msgspec.structs import replace

from gatepost.core.ports import Transaction
from gatepost.core.signals import EVERY_INBOX, Signal
from gatepost.core.times import DAY, Instant
from gatepost.directory.entity import Entity, EntityKind, Registered, Registering
from gatepost.errors import LimitReached
from gatepost.inbox import event_rows as events
from gatepost.inbox.event import Event, PushResult
from gatepost.inbox.item_rows import ITEM_COLUMNS, NewItem
from gatepost.stores.row_mapping import fetch_number


def store(tx: Transaction, event: Event, item: NewItem, sender: Entity | None, data: str | None) -> PushResult:
    """
    Store a broadcast, with the columns that its items will have and its data as JSON. An entity may make only so many
    in 24 hours (`limits.broadcasts`).
    """
    key = event.dedup_key or f"broadcast:{event.id}"
    _lock(tx)
    if event.dedup_key and (first := tx.fetch_one("inbox/broadcasts/find_by_key", dedup_key=key)):
        return PushResult(first.event, broadcast=first.number, duplicate=True)
    sender_number, limit = sender.number if sender else None, tx.policy.broadcasts
    if sender and fetch_number(tx, "inbox/broadcasts/count_since", sender=sender_number, since=tx.now - DAY) >= limit:
        raise LimitReached(
            f"{sender.name!r} has made {limit} broadcasts in the last 24 hours, the limit for one entity",
            hint="push to a team or to those whom it concerns, or raise limits.broadcasts",
        )
    number = fetch_number(tx, "inbox/broadcasts/lock_number", increment=1)
    event = replace(event, dedup_key=key)
    events.insert(tx, [(event, sender_number, data)])
    columns = dict(zip(ITEM_COLUMNS.split(), item, strict=True)) | {"dedup_key": key}
    del columns["recipient"]
    tx.execute_later("inbox/broadcasts/insert", number=number, sender=sender_number, **columns)
    tx.after_commit(Signal(EVERY_INBOX, event.type, event, event.wakes))
    return PushResult(event.id, broadcast=number)


def take(tx: Transaction, recipient: Entity, cursor: int, last: int | None = None) -> None:
    """
    Make an item of each broadcast after `cursor`, up to the `last` one, in the inbox of an agent; the caller has locked
    the inbox.
    """
    if recipient.kind is not EntityKind.AGENT:
        return
    last = fetch_number(tx, "inbox/broadcasts/read_last_number") if last is None else last
    if last <= cursor:
        return
    new_broadcasts = {"recipient": recipient.number, "cursor": cursor, "last": last, "now": tx.now}
    tx.execute_later("inbox/broadcasts/take_keys", **new_broadcasts)
    count = tx.execute("inbox/broadcasts/take", **new_broadcasts)
    tx.execute_later("inbox/inboxes/advance", recipient=recipient.number, cursor=last)
    if count:
        tx.add_to_account(recipient.number, "accepted", count)


def hold_broadcasts(tx: Transaction, event: Registering) -> None:  # noqa: ARG001 (as every reaction)
    """Let broadcasts wait until the new entity is committed."""
    _lock(tx)


def open_inbox(tx: Transaction, event: Registered) -> None:
    """Give a new entity an empty inbox: it gets the broadcasts from now on."""
    tx.execute_later("inbox/inboxes/insert", recipient=event.entity.number, cursor=_lock(tx))


def reap(tx: Transaction, before: Instant, limit: int) -> list[int]:
    """Delete the broadcasts that every live agent has taken; return their arrivals."""
    return [row.arrival for row in tx.fetch_all("inbox/broadcasts/reap", before=before, limit=limit)]


def _lock(tx: Transaction) -> int:
    """Lock the counter of broadcasts until the commit, and return the last number."""
    return fetch_number(tx, "inbox/broadcasts/lock_number", increment=0)
