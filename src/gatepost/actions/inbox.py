"""
How an inbox is read.

A reader claims a batch, does with it what it does, and acks; or releases it, or dies, and then the items go to the
next one. Why nothing is lost and nothing is given out twice at once:

- All claims on an inbox take its row (`claims.lock`) first: they happen one after the other, each with a higher fence.
- An item changes hands only by an update that names the state it must be in. Ack, release and lapse all end the
  claim's own row first, and only one of them finds it open.
- A drain's claim has a deadline by the database's clock. Past it the next claim (or the janitor) takes the items back.
  Until somebody does, a late ack still counts: the items have been shown, and nobody else has them.
- What a hook has printed is held by a claim of kind `session`: the same claim, extended (`extend`) until a model's
  reply proves that it was read (`hooks/proof.py`).
- A run's claim has no deadline: the run is resumed instead. While there is one, a drain of that inbox is a Conflict.

    pending --claim--> claimed --ack--> delivered
       ^                  |
       `-- release, lapse-'                           (a failure of its own, too often: dead)
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NoReturn, TypedDict, Unpack

from gatepost.actions import asked, directory, push
from gatepost.core import batch as batch_rules
from gatepost.core import claim as claim_rules
from gatepost.core import ids
from gatepost.core.batch import Candidate, SelectedItem
from gatepost.core.claim import Batch, Claim
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.event import EventType, Item, ItemState, Json, Priority, Push, Ref
from gatepost.core.signals import Signal
from gatepost.core.times import MAX_DURATION, Duration, Instant
from gatepost.errors import Conflict, Invalid, NotFound, Refused
from gatepost.ports import Reader, Transaction
from gatepost.tables import broadcasts, claims, entities, gates, items

_LAPSE_LIMIT: Final = 100
_SHOW_LIMIT: Final = 100


def peek(
    tx: Reader, name: str, *, limit: int = batch_rules.GUEST_LIMIT, after: tuple[int, int] = (-1, 0)
) -> list[Item]:
    """What waits, most urgent first; nothing changes. `after` is the priority and the arrival of the last one seen."""
    return items.peek(tx, directory.find(tx, name).number, limit, after=after)


class ItemFilter(TypedDict, total=False):
    """Which items are wanted; what is left out, or None, lets all of them through."""

    state: ItemState | None
    type: EventType | None
    sender: str | None
    ref: Ref | None
    #: made at that time or later, and before that time
    since: Instant | None
    until: Instant | None


def page(
    tx: Reader,
    name: str | None = None,
    *,
    after: int = 0,
    after_recipient: str | None = None,
    limit: int = 100,
    **filters: Unpack[ItemFilter],
) -> list[Item]:
    """
    Items of one inbox, or of all, in order of arrival; `after` is the arrival of the last one seen. An event of several
    recipients has an item for each: `beyond` is the one whose item was seen last, without it all of them were.
    """
    sender = filters.get("sender")
    return items.page(
        tx,
        recipient=directory.find_number(tx, name),
        state=filters.get("state"),
        type=filters.get("type"),
        sender=directory.find(tx, sender).name if sender is not None else None,
        ref=filters.get("ref"),
        since=filters.get("since"),
        until=filters.get("until"),
        after=after,
        beyond=directory.find_number(tx, after_recipient),
        limit=limit,
    )


def show(tx: Reader, event: str) -> list[Item]:
    """An event as it stands with each of its recipients."""
    event_items = [item for _, item in items.of_event(tx, ids.check("evt", event))]
    event_items += items.of_broadcast(tx, event, _SHOW_LIMIT)
    if not event_items:
        raise build_missing_error(event)
    return [replace(item, state=_compute_state(item, tx.now)) for item in event_items]


def build_missing_error(event: str) -> NotFound:
    return NotFound(f"there is no event {event!r}", hint="it may have been delivered and forgotten since")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimTerms:
    """On what terms a batch is claimed."""

    owner: str
    kind: str = "drain"
    limit: int = batch_rules.GUEST_LIMIT
    budget: int = batch_rules.GUEST_BUDGET
    hold: Duration | None = None

    def validate(self) -> None:
        claim_rules.check_owner(self.owner)
        if self.kind not in ("drain", "run"):
            raise Invalid(f"{self.kind!r} is not a kind of claim", hint="use drain or run")
        if self.hold is not None and not 0 < self.hold <= MAX_DURATION:
            raise Invalid(f"a claim cannot be held for {self.hold} microseconds")
        if not 1 <= self.limit <= 1_000:
            raise Invalid(f"{self.limit} is not a size of a batch", hint="use 1 to 1000")
        if self.budget < batch_rules.MIN_BUDGET:
            raise Invalid(f"{self.budget} bytes are too few for a batch", hint=f"use {batch_rules.MIN_BUDGET} or more")


def claim(
    tx: Transaction,
    name: str | Entity,
    *,
    owner: str,
    kind: str = "drain",
    limit: int = batch_rules.GUEST_LIMIT,
    budget: int = batch_rules.GUEST_BUDGET,
    hold: Duration | None = None,
) -> Batch:
    """Take the next batch of an inbox for a while."""
    terms = ClaimTerms(owner=owner, kind=kind, limit=limit, budget=budget, hold=hold)
    recipient, fence = lock_inbox(tx, name, terms)
    waiting_items = find_candidates(tx, recipient.number, terms)
    selection = batch_rules.select_batch(waiting_items, limit=limit, budget=budget)
    # Fewer than `candidates` ever asks for are all there are.
    is_complete = len(waiting_items) < min(
        batch_rules.CANDIDATES_PER_SLOT * limit, batch_rules.count_lines_that_fit(budget)
    )
    return claim_items(
        tx, recipient, fence, selection, terms, waiting_count=len(waiting_items) if is_complete else None
    )


def lock_inbox(tx: Transaction, name: str | Entity, terms: ClaimTerms) -> tuple[Entity, int]:
    """Lock an inbox to claim from it, and bring it up to date; return whose it is, and the fence of the claim."""
    terms.validate()
    recipient = directory.find_live(tx, name)
    if recipient.kind is EntityKind.HUMAN:
        raise Refused(
            f"{recipient.name!r} is a person: their items wait until they are done",
            hint="use `gatepost inbox done EVENT`",
        )
    fence, cursor = claims.lock(tx, recipient.number)
    run, has_lapsed, last_broadcast = claims.standing(tx, recipient.number)
    if terms.kind == "drain" and run is not None:
        raise Conflict(f"{recipient.name!r} is thinking: its run {run!r} has the inbox")
    if has_lapsed:
        _release_lapsed(tx, recipient.number)
    _take_broadcasts(tx, recipient, cursor, last_broadcast)
    return recipient, fence


def find_candidates(
    tx: Transaction, recipient: int, terms: ClaimTerms, *, exclude: Collection[int] = ()
) -> list[Candidate]:
    """What waits, as far as a batch on these terms could be chosen from it, but for the items of these arrivals."""
    limit = batch_rules.CANDIDATES_PER_SLOT * terms.limit + len(exclude)
    waiting_items = items.candidates(tx, recipient, limit)
    if len(waiting_items) == limit and waiting_items[-1].priority == Priority.CRITICAL:
        waiting_items = items.candidates(tx, recipient, batch_rules.count_lines_that_fit(terms.budget) + len(exclude))
    elif len(waiting_items) == limit:
        waiting_items += _find_other_sources(tx, recipient, waiting_items, terms.limit)
    return [item for item in waiting_items if item.arrival not in exclude] if exclude else waiting_items


def claim_items(
    tx: Transaction,
    recipient: Entity,
    fence: int,
    selection: Sequence[SelectedItem],
    terms: ClaimTerms,
    *,
    waiting_count: int | None = None,
) -> Batch:
    """Claim what was chosen of so many `waiting`, if that is known."""
    if not selection:
        return Batch(claim=None, at=tx.now)
    new_claim = begin_claim(tx, recipient, fence, terms)
    batch = _fill_claim(tx, new_claim, recipient.number, selection, waiting_count)
    if not batch.items:
        claims.end(tx, new_claim.id, terms.owner, fence, "released")
        return replace(batch, claim=None)
    return batch


def begin_claim(tx: Transaction, recipient: Entity, fence: int, terms: ClaimTerms) -> Claim:
    """A new claim, with nothing under it yet."""
    deadline = tx.now + (terms.hold or tx.limits.hold) if terms.kind == "drain" else None
    return claims.begin(
        tx, recipient, id=tx.new_id("clm"), kind=terms.kind, owner=terms.owner, fence=fence, deadline=deadline
    )


def pull(
    tx: Transaction,
    id: str,
    *,
    owner: str,
    fence: int,
    limit: int = 1,
    type: EventType | None = None,
    budget: int | None = None,
) -> Batch:
    """Take more items into an open claim, most urgent first; with a budget (bytes), only what fits, cut to it."""
    if not 1 <= limit <= 1_000:
        raise Invalid(f"{limit} is not a number of items", hint="use 1 to 1000")
    open_claim = claims.read(tx, id)
    if open_claim is None:
        raise _build_claim_error(tx, id)
    recipient = directory.find_live(tx, open_claim.recipient)
    _, cursor = claims.lock(tx, recipient.number)
    if not claims.hold(tx, id, owner, fence):
        raise _build_claim_error(tx, id)
    _take_broadcasts(tx, recipient, cursor, broadcasts.last(tx))
    if budget is not None:
        selection = batch_rules.select_batch(items.candidates(tx, recipient.number, limit), limit=limit, budget=budget)
    else:
        selection = [SelectedItem(item.event.arrival) for item in items.peek(tx, recipient.number, limit, type)]
    return _fill_claim(tx, open_claim, recipient.number, selection) if selection else Batch(claim=None, at=tx.now)


def extend(tx: Transaction, id: str, *, owner: str, fence: int, hold: Duration) -> None:
    """Hold a guest's claim for its session, for so long from now. A stale owner is refused."""
    _check_holder(id, owner, fence)
    if not claims.extend(tx, id, owner, fence, tx.now + hold):
        raise _build_claim_error(tx, id)


def ack(tx: Transaction, id: str, *, owner: str, fence: int, recipient: str | None = None) -> int:
    """Say that the items of a claim (`of` this inbox) were read; return how many. A stale owner is refused."""
    _check_holder(id, owner, fence)
    _check_inbox(tx, id, recipient)
    ended_claim = claims.end(tx, id, owner, fence, "acked")
    if ended_claim is None:
        raise _build_claim_error(tx, id)
    return items.deliver(tx, ended_claim[0])


def release(
    tx: Transaction, id: str, *, owner: str, fence: int, failed_events: Sequence[str] = (), recipient: str | None = None
) -> int:
    """Give the items of a claim back; against those that `failed` of their own it is counted."""
    _check_holder(id, owner, fence)
    _check_inbox(tx, id, recipient)
    ended_claim = claims.end(tx, id, owner, fence, "released")
    stored_claim = claims.read(tx, id)
    if ended_claim is None or stored_claim is None:
        raise _build_claim_error(tx, id)
    count = items.fail(tx, ended_claim[0], failed_events) if failed_events else 0
    count += items.release(tx, ended_claim[0])
    tx.after_commit(Signal(stored_claim.recipient, "release"))
    return count


def mark_done(tx: Transaction, name: str, event: str) -> Item:
    """Mark a person's item as done."""
    person = directory.find_live(tx, name)
    if person.kind is not EntityKind.HUMAN:
        raise Refused(f"{person.name!r} is not a person: it drains its inbox", hint="use `gatepost inbox drain`")
    fence, _ = claims.lock(tx, person.number)
    [(_, item)] = _find_items(tx, event, person)
    if (state := _compute_state(item, tx.now)) is not ItemState.PENDING:
        raise Conflict(f"{event!r} is {state} for {person.name!r}, not pending")
    if not _deliver_with_receipt(tx, person, fence, item, person.name):
        raise Conflict(f"{event!r} is not pending for {person.name!r} any more")
    return _find_items(tx, event, person)[0][1]


def close_items(
    tx: Transaction,
    recipients: Sequence[Entity],
    key: str,
    *,
    source: str,
    data: Mapping[str, Json],
    actor: Entity | None,
) -> None:
    """
    What has this key is over, whoever saw to it: it is done for people and discarded for others, if it still waits. So
    is what was replayed of it, which has no key: it is from that `source`, and says what it is `about` in its data.
    Their inboxes are not locked for it, because many may be asked in many places: each item decides for itself.
    """
    for recipient in recipients:
        first_events = items.keyed(tx, [recipient.number], key)
        for event in [*first_events.values(), *gates.repeats(tx, recipient.number, source, data)]:
            for _, item in items.of_event(tx, event, recipient.number):
                if item.state is ItemState.PENDING and recipient.kind is EntityKind.HUMAN:
                    _deliver_with_receipt(tx, recipient, 0, item, actor.name if actor is not None else "gatepost")
                elif item.state is ItemState.PENDING:
                    items.move(tx, recipient.number, item, ItemState.DISCARDED, ended_at=tx.now)


def mark_seen(tx: Transaction, name: str, events: Sequence[str]) -> int:
    """Record that somebody has seen items, whatever state they are in; return how many were new to them."""
    return items.see(tx, directory.find_live(tx, name).number, [ids.check("evt", event) for event in events])


def discard(tx: Transaction, event: str, name: str | None = None) -> list[Item]:
    """
    Put away what is pending or dead, for one recipient or for all. A broadcast that an agent has still to take is put
    away for that one alone. The last question of a decision that nothing else would end stays.
    """
    recipient = directory.find(tx, name) if name is not None else None
    if (
        recipient is not None
        and recipient.is_live
        and not items.of_event(tx, ids.check("evt", event), recipient.number)
    ):
        _, cursor = claims.lock(tx, recipient.number)
        _take_broadcasts(tx, recipient, cursor, broadcasts.last(tx))
    event_items = _find_items(tx, event, recipient)
    asked.check_discard(tx, [item for _, item in event_items])
    discarded_items = [
        replace(item, state=ItemState.DISCARDED, ended_at=tx.now)
        for number, item in event_items
        if _compute_state(item, tx.now) in (ItemState.PENDING, ItemState.DEAD)
        and items.move(tx, number, item, ItemState.DISCARDED, ended_at=tx.now)
    ]
    return discarded_items or _refuse(tx, event, event_items, "discarded", (ItemState.PENDING, ItemState.DEAD))


def replay(tx: Transaction, event: str, name: str | None = None, *, is_new_chain: bool = True) -> list[Item]:
    """
    Make what is dead, expired or discarded pending again, from the start, for one recipient or for all. What was
    delivered stays delivered: for those recipients a new event is made with the same content, which begins a new chain
    of events, or (not `anew`, by the recipient itself) goes on with the longer of that event's chain and the
    recipient's. Whoever has retired gets nothing again.
    """
    event_items = _find_items(tx, event, directory.find_live(tx, name) if name is not None else None)
    recipients = entities.by_names(tx, [item.recipient for _, item in event_items])
    replayed_items: list[Item] = []
    for number, item in event_items:
        if not recipients[item.recipient].is_live:
            continue
        match _compute_state(item, tx.now):
            case ItemState.DEAD | ItemState.EXPIRED | ItemState.DISCARDED:
                if items.move(tx, number, item, ItemState.PENDING):
                    new_event = replace(item.event, expires_at=None)
                    replayed_items.append(Item(event=new_event, recipient=item.recipient, seen_at=item.seen_at))
                    tx.after_commit(Signal(item.recipient, "replay", new_event))
            case ItemState.DELIVERED:
                hops = 0 if is_new_chain else max(item.event.hops, push.count_next_hops(tx, recipients[item.recipient]))
                result = push.push_copy(tx, replace(_build_copy(item), hops=hops), recipients[item.recipient])
                replayed_items += [copy for _, copy in items.of_event(tx, result.event)]
            case ItemState.PENDING | ItemState.CLAIMED:
                pass
    return replayed_items or _refuse(
        tx,
        event,
        event_items,
        "replayed",
        (ItemState.DEAD, ItemState.EXPIRED, ItemState.DISCARDED, ItemState.DELIVERED),
    )


def _deliver_with_receipt(tx: Transaction, person: Entity, fence: int, item: Item, owner: str) -> bool:
    """Deliver a person's item, with a receipt of whoever saw to it; say whether it still was in the state it had."""
    receipt = begin_claim(tx, person, fence, ClaimTerms(owner=owner, kind="person"))
    claims.end(tx, receipt.id, owner, fence, "acked")
    return items.move(tx, person.number, item, ItemState.DELIVERED, claim=receipt.number, ended_at=tx.now)


def _release_lapsed(tx: Transaction, recipient: int) -> None:
    """Items of drains that took too long are pending again."""
    for number, _ in claims.lapse(tx, recipient, _LAPSE_LIMIT):
        items.release(tx, number)


def _take_broadcasts(tx: Transaction, recipient: Entity, cursor: int, last_broadcast: int) -> None:
    if recipient.kind is EntityKind.AGENT and (
        count := broadcasts.materialise(tx, recipient.number, cursor, last_broadcast)
    ):
        tx.add_to_tally(recipient.number, "accepted", count)


def _find_other_sources(tx: Transaction, recipient: int, first: Sequence[Candidate], limit: int) -> list[Candidate]:
    """The first items of sources further back, as far as they matter: a few of each, and more only if those are few."""
    first_sources = sorted({item.source for item in first})
    others: list[Candidate] = []
    for depth in (
        min(batch_rules.HEADS_PER_SOURCE, batch_rules.compute_share(limit)),
        batch_rules.compute_share(limit),
    ):
        if not batch_rules.is_crowded([*first, *others], limit):
            break
        others = items.heads(
            tx,
            recipient,
            first_sources,
            sources=batch_rules.MAX_OTHER_SOURCES,
            depth=depth,
            limit=batch_rules.CANDIDATES_PER_SLOT * limit,
        )
    return others


def _fill_claim(
    tx: Transaction, claim: Claim, recipient: int, selection: Sequence[SelectedItem], waiting_count: int | None = None
) -> Batch:
    """Put the chosen under the claim. One that another verb got hold of meanwhile is left out."""
    arrivals = items.take(tx, recipient, [choice.arrival for choice in selection], claim.number)
    rooms = {choice.arrival: choice.size_limit for choice in selection}
    batch_items = items.read(tx, recipient, sorted(arrivals))
    return Batch(
        claim=claim,
        items=tuple(batch_items),
        size_limits=tuple(rooms[item.event.arrival] for item in batch_items),
        deferred_count=items.waiting(tx, recipient, batch_rules.COUNT_LIMIT)
        if waiting_count is None
        else waiting_count - len(selection),
        at=tx.now,
    )


def _check_holder(id: str, owner: str, fence: int) -> None:
    """Refuse what cannot be the holder of any claim, before the database does in words of its own."""
    ids.check("clm", id)
    claim_rules.check_owner(owner)
    if not 0 < fence < 2**63:
        raise Invalid(f"{fence} is not a fence")


def _check_inbox(tx: Transaction, id: str, recipient: str | None) -> None:
    """Whose claims there are is for nobody else to know."""
    stored_claim = claims.read(tx, id) if recipient is not None else None
    if recipient is not None and (stored_claim is None or stored_claim.recipient != recipient):
        raise NotFound(f"there is no claim {id!r} in the inbox of {recipient!r}")


def _build_claim_error(tx: Transaction, id: str) -> NotFound | Conflict:
    stored_claim = claims.read(tx, id)
    if stored_claim is None:
        return NotFound(f"there is no claim {id!r}")
    if stored_claim.outcome == "lapsed":
        return Conflict(f"the claim {id!r} lapsed: it was held too long, and its items went to the next reader")
    if stored_claim.outcome:
        return Conflict(f"the claim {id!r} was {stored_claim.outcome} already")
    return Conflict(f"the claim {id!r} belongs to {stored_claim.owner!r} with fence {stored_claim.fence}")


def _find_items(tx: Transaction, event: str, entity: Entity | None) -> list[tuple[int, Item]]:
    event_items = items.of_event(tx, ids.check("evt", event), entity.number if entity else None)
    if not event_items and entity is None and items.of_broadcast(tx, event, 1):
        raise Conflict(
            f"{event!r} is a broadcast that agents have still to take", hint="name the one whom it is about with --to"
        )
    if not event_items:
        raise NotFound(f"there is no event {event!r}" + (f" for {entity.name!r}" if entity else ""))
    return event_items


def _compute_state(item: Item, now: Instant) -> ItemState:
    """The state an item is in, though nobody may have written it down yet: past its time it is expired."""
    is_overdue = item.event.expires_at is not None and item.event.expires_at <= now
    return ItemState.EXPIRED if is_overdue and item.state is ItemState.PENDING else item.state


def _refuse(
    tx: Transaction, event: str, event_items: Sequence[tuple[int, Item]], action: str, states: Sequence[ItemState]
) -> NoReturn:
    state_text = ", ".join(f"{_compute_state(item, tx.now)} for {item.recipient!r}" for _, item in event_items)
    raise Conflict(
        f"{event!r} cannot be {action}: it is {state_text}", hint=f"only what is {' or '.join(states)} can be"
    )


def _build_copy(item: Item) -> Push:
    """The same again as a new wish; without its key, which would make it a repeat."""
    event = item.event
    return Push(
        to=item.recipient,
        type=event.type,
        source=event.source,
        sender=event.sender.name if event.sender else None,
        subject=event.subject,
        content=event.content,
        data=event.data,
        priority=event.priority,
        occurred_at=event.source_time,
        ref=event.ref,
        route=event.route,
        trust=event.trust,
    )
