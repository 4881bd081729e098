"""Items: what an event is to a recipient."""

import json
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from gatepost.core.batch import Candidate
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.event import (
    Event,
    EventType,
    Item,
    ItemState,
    Priority,
    Receipt,
    Ref,
    Route,
    Sender,
    Trust,
)
from gatepost.core.reconcile import StoredState
from gatepost.core.signals import Position
from gatepost.core.times import Instant
from gatepost.ports import Reader, Row, Transaction
from gatepost.tables.events import zip_columns

_COLUMNS = ("recipient arrival dedup_key priority sender_is_person source expires_at wakes size").split()  # noqa: SIM905

#: by their values; to ask the class takes as long as everything else about an item
_TYPES: Final = {type.value: type for type in EventType}
_KINDS: Final = {kind.value: kind for kind in EntityKind}
_PRIORITIES: Final = {priority.value: priority for priority in Priority}
_TRUSTS: Final = {trust.value: trust for trust in Trust}
_STATES: Final = {state.value: state for state in ItemState}

#: recipient, arrival, key, priority, whether a person sent it, source, expiry, whether it wakes, size
NewItem = tuple[int, int, str | None, int, bool, str, Instant | None, bool, int]


def insert(tx: Transaction, rows: Sequence[NewItem]) -> set[tuple[int, int]]:
    """Store items but for repeats of a key; return the (arrival, recipient) of those that are new."""
    stored = tx.execute_many("items/insert", dict(zip(_COLUMNS, zip_columns(rows), strict=True)))
    if stored == len(rows):
        return {(row[1], row[0]) for row in rows}
    return {
        (row.arrival, row.recipient) for row in tx.fetch_all("items/present", arrivals=sorted({row[1] for row in rows}))
    }


def keyed(tx: Reader, recipients: Sequence[int], key: str) -> dict[int, str]:
    """The event that came first with this key, for each of these recipients that have one."""
    rows = tx.fetch_all("items/keyed", recipients=list(recipients), dedup_key=key)
    return {row.recipient: row.event for row in rows}


def candidates(tx: Reader, recipient: int, limit: int) -> list[Candidate]:
    rows = tx.fetch_all("items/candidates", recipient=recipient, now=tx.now, limit=limit)
    return _candidates(rows)


def candidates_at(tx: Reader, recipient: int, arrivals: Sequence[int]) -> list[Candidate]:
    """Those of these items that are pending, whether they are past their time or not."""
    rows = tx.fetch_all("items/candidates_at", recipient=recipient, arrivals=list(arrivals)) if arrivals else []
    return _candidates(rows)


def known(tx: Reader, recipient: int, keys: Sequence[str], events: Sequence[str]) -> dict[str, StoredState]:
    """How items stand, by their keys and by the ids of their events."""
    found: dict[str, StoredState] = {}
    rows = tx.fetch_all("items/known", recipient=recipient, keys=list(keys), events=list(events))
    for row in rows:
        overdue = row.state == "pending" and row.expires_at is not None and row.expires_at <= tx.now
        standing = StoredState(arrival=row.arrival, state=ItemState.EXPIRED if overdue else ItemState(row.state))
        found |= {row.event: standing} | ({row.dedup_key: standing} if row.dedup_key is not None else {})
    return found


def heads(tx: Reader, recipient: int, seen: Sequence[str], *, sources: int, depth: int, limit: int) -> list[Candidate]:
    """The first few items of other sources than those seen."""
    rows = tx.fetch_all(
        "items/heads",
        recipient=recipient,
        now=tx.now,
        seen_sources=list(seen),
        max_steps=sources + len(seen),
        max_sources=sources,
        per_source=depth,
        limit=limit,
    )
    return _candidates(rows)


def waiting(tx: Reader, recipient: int, limit: int) -> int:
    """How many wait, up to `limit`."""
    row = tx.fetch_one("items/waiting", recipient=recipient, now=tx.now, limit=limit)
    assert row is not None
    return int(row.total)


def oldest(tx: Reader) -> Instant | None:
    """When the oldest item that waits for an agent or a service came."""
    row = tx.fetch_one("items/oldest", now=tx.now)
    return row.created_at if row else None


def longest_chains(
    tx: Reader, entities: Sequence[int], *, since: Instant, until: Instant, limit: int
) -> dict[int, int]:
    """
    Return the hops of the longest chain behind what each of these entities sends next, by its number; an entity that
    nothing reached has none. Each inbox is read back to its last item from a person, and for `limit` items at most.
    """
    rows = tx.fetch_all("items/chains", entities=sorted(set(entities)), since=since, until=until, limit=limit)
    return {row.recipient: row.hops for row in rows}


def take(tx: Transaction, recipient: int, arrivals: Sequence[int], claim: int) -> set[int]:
    """Put pending items under a claim; return the arrivals of those that still were."""
    rows = tx.fetch_all("items/take", recipient=recipient, arrivals=list(arrivals), claim=claim)
    return {row.arrival for row in rows}


def read(tx: Reader, recipient: int, arrivals: Sequence[int]) -> list[Item]:
    """Items with their events, in the order to show them."""
    return [_item(row) for row in tx.fetch_all("items/read", recipient=recipient, arrivals=list(arrivals))]


def peek(
    tx: Reader, recipient: int, limit: int, type: EventType | None = None, *, after: tuple[int, int] = (-1, 0)
) -> list[Item]:
    """What waits, most urgent first; `after` is the priority and the arrival of the last one seen."""
    priority, arrival = after
    rows = tx.fetch_page(
        "items/peek",
        recipient=recipient,
        type=type,
        priority=priority,
        arrival=arrival,
        now=tx.now,
        limit=limit,
    )
    return [_item(row) for row in rows]


def page(
    tx: Reader,
    *,
    recipient: int | None,
    state: ItemState | None,
    type: EventType | None,
    sender: str | None,
    ref: Ref | None,
    since: Instant | None,
    until: Instant | None,
    after: int,
    beyond: int | None,
    limit: int,
) -> list[Item]:
    """
    Items in order of arrival, and of recipients, after an arrival or, of that one, beyond a recipient. What is pending
    past its time is shown as expired.
    """
    rows = tx.fetch_page(
        "items/list",
        recipient=recipient,
        state=state,
        type=type,
        sender=sender,
        ref_type=ref.type if ref else None,
        ref_id=ref.id if ref else None,
        since=since,
        until=until,
        after=after if beyond is None else after - 1,
        last_arrival=after,
        after_recipient=beyond,
        now=tx.now,
        limit=limit,
    )
    return [_item(row, tx.now) for row in rows]


def since(tx: Reader, recipient: int, after: Position, to: Position, limit: int) -> list[tuple[Item, Position]]:
    """What came after one position, up to another, each with its own; broadcasts that were not taken yet too."""
    rows = tx.fetch_page(
        "items/since",
        recipient=recipient,
        after_transaction=after.transaction,
        after_arrival=after.arrival,
        to_transaction=to.transaction,
        to_arrival=to.arrival,
        now=tx.now,
        limit=limit,
    )
    return [(_item(row, tx.now), Position(row.xid, row.arrival)) for row in rows]


def of_event(tx: Reader, event: str, recipient: int | None = None) -> list[tuple[int, Item]]:
    """The items of an event, each with the number of its recipient."""
    rows = tx.fetch_all("items/of_event", event=event, recipient=recipient)
    if not rows:
        return []
    first = rows[0]
    data = json.loads(first.data) if first.data is not None else None
    found = [(row.recipient, _item(row)) for row in rows]
    return [
        (number, replace(item, event=replace(item.event, content=first.content, data=data))) for number, item in found
    ]


def of_broadcast(tx: Reader, event: str, limit: int) -> list[Item]:
    """A broadcast as it waits for agents that have not taken it yet."""
    return [_item(row) for row in tx.fetch_all("items/of_broadcast", event=event, limit=limit)]


def widen(tx: Transaction, sender: Entity, by: int) -> None:
    """
    Note that the lines of a sender have grown by so many characters where they are yet to be shown. Not by less when
    they shrink: not every line has its sender in it, and a line that is shorter than noted does no harm.
    """
    for statement in ("items/widen", "items/widen_claimed"):
        tx.execute(statement, sender=sender.number, name=sender.name, growth=by)
    tx.execute("broadcasts/widen", sender=sender.number, growth=by)


def move(
    tx: Transaction,
    recipient: int,
    item: Item,
    to: ItemState,
    *,
    claim: int | None = None,
    ended_at: Instant | None = None,
) -> bool:
    """From the state the item was read in to another; say whether it still was in that state."""
    changed = tx.execute(
        "items/move",
        recipient=recipient,
        arrival=item.event.arrival,
        from_state=item.state,
        to_state=to,
        claim=claim,
        ended_at=ended_at,
    )
    return changed == 1


def see(tx: Transaction, recipient: int, events: Sequence[str]) -> int:
    return tx.execute("items/see", recipient=recipient, events=list(events), now=tx.now)


def deliver(tx: Transaction, claim: int) -> int:
    return tx.execute("items/deliver", claim=claim, now=tx.now)


def release(tx: Transaction, claim: int) -> int:
    return tx.execute("items/release", claim=claim)


def fail(tx: Transaction, claim: int, events: Sequence[str]) -> int:
    """Count a failure against these items of a claim; those with too many are dead, the others pending."""
    return tx.execute("items/fail", claim=claim, events=list(events), attempts=tx.limits.attempts, now=tx.now)


def expire(tx: Transaction, limit: int) -> int:
    return tx.execute("items/expire", now=tx.now, limit=limit)


def reap(tx: Transaction, before: Instant, limit: int) -> list[tuple[int, int, str]]:
    """Delete what ended before then; return the recipient, arrival and state of each."""
    return [(row.recipient, row.arrival, row.state) for row in tx.fetch_all("items/reap", before=before, limit=limit)]


def _candidates(rows: Sequence[Row]) -> list[Candidate]:
    return [Candidate(row.arrival, row.priority, row.sender_is_person, row.source, row.size) for row in rows]


def _item(row: Row, now: Instant | None = None) -> Item:
    event = Event(
        id=row.id,
        type=_TYPES[row.type],
        source=row.source,
        sender=Sender(row.sender_name, row.sender_display, _KINDS[row.sender_kind]) if row.sender_name else None,
        subject=row.subject,
        content=row.content,
        data=json.loads(row.data) if row.data is not None else None,
        priority=_PRIORITIES[row.priority],
        key=row.dedup_key,
        created_at=row.created_at,
        source_time=row.occurred_at,
        expires_at=row.expires_at,
        ref=Ref(row.ref_type, row.ref_id) if row.ref_type else None,
        route=Route(row.route_channel, row.route_session) if row.route_channel else None,
        hops=row.hops,
        trust=_TRUSTS[row.trust],
        wakes=row.wakes,
        arrival=row.arrival,
    )
    overdue = now is not None and row.state == "pending" and row.expires_at is not None and row.expires_at <= now
    return Item(
        event=event,
        recipient=row.recipient_name,
        state=ItemState.EXPIRED if overdue else _STATES[row.state],
        attempts=row.attempts,
        seen_at=row.seen_at,
        ended_at=row.ended_at,
        receipt=Receipt(kind=row.claim_kind, owner=row.claim_owner, at=row.ended_at or row.claim_at)
        if row.claim_kind
        else None,
    )
