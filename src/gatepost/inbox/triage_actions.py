"""
Triage an inbox: what a person does with many items at once, and what can be undone.

    pending --complete--> delivered        the receipt names the person
    pending <----undo---- delivered        within `UNDO_TIME`; the receipt stays
    pending --snooze--> pending, hidden    until a time, or until an event comes
    pending, hidden --> pending            the time or the event comes (`return_due`, `return_awaited`), or `unsnooze`

A snoozed item is pending, so no account changes. Whoever reads pending items leaves out what is hidden now: claims,
peeks, counts and wakes compare `hidden_until` with the time, so an item returns at its time even if no process runs.
The janitor then clears the columns and signals, so that its recipient wakes.

The items are those that are named, or those that a filter lets through. A filter takes up to `BATCH_LIMIT` items at
once; a caller repeats it while there are more. Items that came after the caller looked are left out by `until`.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import DAY, MAX_DURATION, MAX_INSTANT, SECOND, Duration, Instant, format_rfc3339
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity, EntityKind
from gatepost.errors import Conflict, Invalid, Refused
from gatepost.inbox import broadcast_actions as broadcasts, claim_actions as claims, item_rows as items
from gatepost.inbox.claim_actions import ClaimTerms
from gatepost.inbox.event import EventType, ItemsRead, ItemState, PersonsReached, Priority
from gatepost.inbox.expiry_actions import BATCH_SIZE
from gatepost.inbox.item_actions import build_missing_error, find_event_id, signal_change
from gatepost.inbox.item_rows import ItemFilter
from gatepost.inbox.triage import ItemGroup, TriageResult, check_awaited, is_awaited

#: how long a person can take "done" back
UNDO_TIME: Final[Duration] = 10 * SECOND
#: items that one request changes
BATCH_LIMIT: Final = 1_000
#: an item that waits for an event returns then at the latest
MAX_AWAIT: Final[Duration] = 30 * DAY
#: groups that are returned
_GROUP_LIMIT: Final = 200


class Selection(Struct, frozen=True, kw_only=True):
    """Items of one inbox: these, or those that a filter lets through."""

    events: Sequence[str] = ()
    filters: ItemFilter | None = None


def list_groups(tx: Reader, name: str, filters: ItemFilter) -> list[ItemGroup]:
    """Return groups of the stored items that a filter lets through: the most urgent first, then the largest."""
    recipient = directory.find(tx, name).number
    parameters = items.build_filter_parameters(tx, filters)
    rows = tx.fetch_all("inbox/item_lists/list_groups", recipient=recipient, limit=_GROUP_LIMIT, **parameters)
    latest_items = {item.event.arrival: item for item in items.read(tx, recipient, [row.last_arrival for row in rows])}
    return [
        ItemGroup(
            type=EventType(row.type),
            origin=row.origin,
            count=row.total,
            priority=Priority(row.priority),
            first_at=row.first_at,
            latest=latest_items[row.last_arrival],
        )
        for row in rows
    ]


def complete(tx: Transaction, name: str, selection: Selection) -> TriageResult:
    """Mark pending items of a person as done, with one receipt for all of them."""
    person, fence = _lock(tx, name)
    if person.kind is not EntityKind.HUMAN:
        raise Refused(f"{person.name!r} is not a person: it drains its inbox", hint="use `gatepost inbox drain`")
    arrivals, has_more = _select(tx, person, selection, "done", (ItemState.PENDING,))
    if not arrivals:
        return TriageResult(0, has_more)
    receipt = claims.begin_claim(tx, person, fence, ClaimTerms(owner=person.name, kind="person"))
    items.end_claim(tx, receipt.id, person.name, fence, "acked")
    done = items.take_later(tx, person.number, arrivals, receipt.id, not_expired_at=tx.now)()
    tx.react(ItemsRead(receipt.number))
    signal_change(tx, person.name, "done")
    return TriageResult(len(done), has_more, receipt.id)


def undo(tx: Transaction, name: str, *, events: Sequence[str] = (), receipt: str | None = None) -> int:
    """
    Make items pending again that a person was done with less than `UNDO_TIME` ago: these, or all of one receipt. Return
    how many. The receipts stay: the senders of mail have heard that it was read.
    """
    if (receipt is None) == (not events):
        raise Invalid("say what to undo: `events` or `receipt`")
    person, _ = _lock(tx, name)
    arrivals = list(_find_arrivals(tx, person, events)) if events else []
    undone = items.undo_complete(tx, person.number, arrivals, receipt, tx.now - UNDO_TIME)
    if not undone:
        raise Conflict(
            f"nothing of {person.name!r} was done in the last {UNDO_TIME // SECOND} s that can be undone",
            hint="`gatepost inbox replay EVENT` delivers an event again",
        )
    signal_change(tx, person.name, "undo")
    return len(undone)


def discard(tx: Transaction, name: str, selection: Selection) -> TriageResult:
    """Discard pending and dead items; questions stay, because their askers wait."""
    recipient, _ = _lock(tx, name)
    states = (ItemState.PENDING, ItemState.DEAD)
    arrivals, has_more = _select(tx, recipient, selection, "discarded", states)
    questions = {
        item.event.arrival
        for item in items.read(tx, recipient.number, arrivals)
        if item.event.type is EventType.DECISION
    }
    others = [arrival for arrival in arrivals if arrival not in questions]
    count = items.discard(tx, recipient.number, others, not_expired_at=tx.now) if others else 0
    if not count and questions:
        raise Conflict("questions are not discarded with others", hint="answer them, or discard each by itself")
    signal_change(tx, recipient.name, "discard")
    return TriageResult(count, has_more)


def snooze(
    tx: Transaction,
    name: str,
    selection: Selection,
    *,
    until: Instant | None = None,
    length: Duration | None = None,
    awaits: str | None = None,
) -> tuple[TriageResult, Instant]:
    """
    Hide pending items until a time, or for some time, or until an event comes; also until whichever comes first. Return
    also when they return at the latest. Only what a person waits for can be an event.
    """
    recipient, _ = _lock(tx, name)
    returns_at = _find_return(tx.now, until, length, awaits)
    if awaits is not None:
        check_awaited(awaits)
        if recipient.kind is not EntityKind.HUMAN:
            raise Refused(
                f"{recipient.name!r} is not a person: its items can be snoozed until a time only", hint="give `until`"
            )
    arrivals, has_more = _select(tx, recipient, selection, "snoozed", (ItemState.PENDING,))
    rows = (
        tx.fetch_all(
            "inbox/item_changes/hide",
            recipient=recipient.number,
            arrivals=arrivals,
            until=returns_at,
            awaits=awaits,
            now=tx.now,
        )
        if arrivals
        else []
    )
    signal_change(tx, recipient.name, "snooze")
    return TriageResult(len(rows), has_more), returns_at


def unsnooze(tx: Transaction, name: str, selection: Selection) -> TriageResult:
    """Show snoozed items again now."""
    recipient, _ = _lock(tx, name)
    arrivals, has_more = _select(tx, recipient, selection, "shown again", (ItemState.PENDING,))
    rows = tx.fetch_all("inbox/item_changes/unhide", recipient=recipient.number, arrivals=arrivals) if arrivals else []
    if selection.filters is None and not rows:
        raise Conflict(f"no such item of {recipient.name!r} is snoozed")
    _signal_return(tx, recipient, [row.arrival for row in rows])
    return TriageResult(len(rows), has_more)


def return_due(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Show the items whose time has come, and wake their recipients; return how many."""
    rows = tx.fetch_all("inbox/item_changes/unhide_due", now=tx.now, limit=limit)
    arrivals: dict[str, list[int]] = {}
    for row in rows:
        arrivals.setdefault(row.name, []).append(row.arrival)
    for name, recipient in entities.find_by_names(tx, arrivals).items():
        _signal_return(tx, recipient, arrivals[name])
    return len(rows)


def return_awaited(tx: Transaction, pushed: PersonsReached) -> None:
    """Show the items of people that have waited for one of these events, which they have just got."""
    new_events = pushed.events
    recipients = {entity.number: entity for _, persons in new_events for entity in persons}
    for row in tx.fetch_all("inbox/item_changes/list_awaited", recipients=sorted(recipients)):
        person = recipients[row.recipient]
        if any(person in persons and is_awaited(row.awaits, event) for event, persons in new_events):
            returned = tx.fetch_all("inbox/item_changes/unhide_awaiting", recipient=person.number, awaits=row.awaits)
            _signal_return(tx, person, [item.arrival for item in returned])


def _find_return(now: Instant, until: Instant | None, length: Duration | None, awaits: str | None) -> Instant:
    if until is not None and length is not None:
        raise Invalid("give only one of `until` and `within`")
    if length is not None:
        if not 0 < length <= MAX_DURATION:
            raise Invalid(
                f"{length} is not a duration to wait", hint="it must be over zero and at most a hundred years"
            )
        return now + length
    if until is None:
        if awaits is None:
            raise Invalid("say until when: `until`, `within` or `awaits`", hint="such as 3h, or from:quinn")
        return now + MAX_AWAIT
    if not now < until <= MAX_INSTANT:
        raise Invalid(f"the time {format_rfc3339(until)} has passed", hint="give a time that is still to come")
    return until


def _lock(tx: Transaction, name: str) -> tuple[Entity, int]:
    """Lock an inbox and take in new broadcasts; return the entity it belongs to, and the fence."""
    recipient = directory.find_live(tx, name)
    fence, cursor = items.lock_inbox(tx, recipient.number)
    broadcasts.take(tx, recipient, cursor)
    return recipient, fence


def _select(
    tx: Transaction, recipient: Entity, selection: Selection, action: str, states: Sequence[ItemState]
) -> tuple[list[int], bool]:
    """Return the arrivals of the items that are meant, and whether there are more."""
    if selection.filters is not None:
        state = selection.filters.get("state") or ItemState.PENDING
        if state not in states:
            raise Invalid(f"items that are {state} cannot be {action}")
        filters = ItemFilter(**{**selection.filters, "state": state})
        parameters = items.build_filter_parameters(tx, filters)
        rows = tx.fetch_all(
            "inbox/item_lists/find_matching", recipient=recipient.number, limit=BATCH_LIMIT + 1, **parameters
        )
        return [row.arrival for row in rows[:BATCH_LIMIT]], len(rows) > BATCH_LIMIT
    if not selection.events:
        raise Invalid("say which items: `events` or `matching`")
    states_by_arrival = _find_arrivals(tx, recipient, selection.events)
    arrivals = [arrival for arrival, state in states_by_arrival.items() if state in states]
    if not arrivals:
        state = next(iter(states_by_arrival.values()))
        raise Conflict(
            f"{selection.events[0]!r} is {state} for {recipient.name!r}"
            if len(states_by_arrival) == 1
            else f"none of these {len(states_by_arrival)} items can be {action}",
            hint=f"only an item that is {' or '.join(states)} can be {action}",
        )
    return arrivals, False


def _find_arrivals(tx: Transaction, recipient: Entity, events: Sequence[str]) -> dict[int, ItemState]:
    """Return the states of items by their arrivals; each of these events must be in the inbox."""
    ids = list(dict.fromkeys(find_event_id(tx, event) for event in events))
    states = items.read_states(tx, recipient.number, (), ids)
    if missing := [id for id in ids if id not in states]:
        raise build_missing_error(missing[0], recipient.name)
    return {states[id].arrival: states[id].state for id in ids}


def _signal_return(tx: Transaction, recipient: Entity, arrivals: Sequence[int]) -> None:
    """Signal items that are shown again; couriers get them as if they were new."""
    if not arrivals:
        return
    signal_change(tx, recipient.name, "return")
    if recipient.kind is EntityKind.HUMAN:
        return
    for item in items.read(tx, recipient.number, arrivals):
        topic = Topic("inbox", recipient.name)
        tx.after_commit(Signal(topic, item.event.type, item.event, item.event.wakes))
