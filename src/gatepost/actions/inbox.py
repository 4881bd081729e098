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

from gatepost.actions import asked, directory, intake
from gatepost.core import batch as rules
from gatepost.core import claim as claim_rules
from gatepost.core import ids
from gatepost.core.batch import Candidate, Chosen
from gatepost.core.claim import Batch, Claim
from gatepost.core.entity import Entity, Kind
from gatepost.core.event import Item, Json, Priority, Push, Ref, State, Type
from gatepost.core.instants import LONGEST, Duration, Instant
from gatepost.core.ring import Ring
from gatepost.errors import Conflict, Invalid, NotFound, Refused
from gatepost.ports import Reader, Transaction
from gatepost.tables import broadcasts, claims, entities, gates, items

_MOST_LAPSED: Final = 100
_MOST_SHOWN: Final = 100


def peek(tx: Reader, name: str, *, limit: int = rules.GUEST_CAP, after: tuple[int, int] = (-1, 0)) -> list[Item]:
    """What waits, most urgent first; nothing changes. `after` is the priority and the arrival of the last one seen."""
    return items.peek(tx, directory.find(tx, name).number, limit, after=after)


class Wanted(TypedDict, total=False):
    """Which items are wanted; what is left out, or None, lets all of them through."""

    state: State | None
    type: Type | None
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
    beyond: str | None = None,
    limit: int = 100,
    **wanted: Unpack[Wanted],
) -> list[Item]:
    """
    Items of one inbox, or of all, in order of arrival; `after` is the arrival of the last one seen. An event of several
    recipients has an item for each: `beyond` is the one whose item was seen last, without it all of them were.
    """
    sender = wanted.get("sender")
    return items.page(
        tx,
        recipient=directory.number(tx, name),
        state=wanted.get("state"),
        type=wanted.get("type"),
        sender=directory.find(tx, sender).name if sender is not None else None,
        ref=wanted.get("ref"),
        since=wanted.get("since"),
        until=wanted.get("until"),
        after=after,
        beyond=directory.number(tx, beyond),
        most=limit,
    )


def show(tx: Reader, event: str) -> list[Item]:
    """An event as it stands with each of its recipients."""
    found = [item for _, item in items.of_event(tx, ids.check("evt", event))]
    found += items.of_broadcast(tx, event, _MOST_SHOWN)
    if not found:
        raise missing(event)
    return [replace(item, state=_standing(item, tx.now)) for item in found]


def missing(event: str) -> NotFound:
    return NotFound(f"there is no event {event!r}", hint="it may have been delivered and forgotten since")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """On what terms a batch is claimed."""

    owner: str
    kind: str = "drain"
    cap: int = rules.GUEST_CAP
    budget: int = rules.GUEST_BUDGET
    hold: Duration | None = None

    def check(self) -> None:
        claim_rules.owner(self.owner)
        if self.kind not in ("drain", "run"):
            raise Invalid(f"{self.kind!r} is not a kind of claim", hint="use drain or run")
        if self.hold is not None and not 0 < self.hold <= LONGEST:
            raise Invalid(f"a claim cannot be held for {self.hold} microseconds")
        if not 1 <= self.cap <= 1_000:
            raise Invalid(f"{self.cap} is not a size of a batch", hint="use 1 to 1000")
        if self.budget < rules.LEAST_BUDGET:
            raise Invalid(f"{self.budget} bytes are too few for a batch", hint=f"use {rules.LEAST_BUDGET} or more")


def claim(
    tx: Transaction,
    name: str | Entity,
    *,
    owner: str,
    kind: str = "drain",
    cap: int = rules.GUEST_CAP,
    budget: int = rules.GUEST_BUDGET,
    hold: Duration | None = None,
) -> Batch:
    """Take the next batch of an inbox for a while."""
    terms = Terms(owner=owner, kind=kind, cap=cap, budget=budget, hold=hold)
    reader, fence = enter(tx, name, terms)
    found = candidates(tx, reader.number, terms)
    chosen = rules.choose(found, cap=cap, budget=budget)
    # Fewer than `candidates` ever asks for are all there are.
    all_of_them = len(found) < min(rules.DEPTH * cap, rules.most_that_fit(budget))
    return take(tx, reader, fence, chosen, terms, waiting=len(found) if all_of_them else None)


def enter(tx: Transaction, name: str | Entity, terms: Terms) -> tuple[Entity, int]:
    """Lock an inbox to claim from it, and bring it up to date; return whose it is, and the fence of the claim."""
    terms.check()
    reader = directory.find_live(tx, name)
    if reader.kind is Kind.HUMAN:
        raise Refused(
            f"{reader.name!r} is a person: their items wait until they are done", hint="use `gatepost inbox done EVENT`"
        )
    fence, cursor = claims.lock(tx, reader.number)
    run, lapsed, last = claims.standing(tx, reader.number)
    if terms.kind == "drain" and run is not None:
        raise Conflict(f"{reader.name!r} is thinking: its run {run!r} has the inbox")
    if lapsed:
        _take_back(tx, reader.number)
    _take_broadcasts(tx, reader, cursor, last)
    return reader, fence


def candidates(tx: Transaction, recipient: int, terms: Terms, *, without: Collection[int] = ()) -> list[Candidate]:
    """What waits, as far as a batch on these terms could be chosen from it, but for the items of these arrivals."""
    most = rules.DEPTH * terms.cap + len(without)
    found = items.candidates(tx, recipient, most)
    if len(found) == most and found[-1].priority == Priority.CRITICAL:
        found = items.candidates(tx, recipient, rules.most_that_fit(terms.budget) + len(without))
    elif len(found) == most:
        found += _others(tx, recipient, found, terms.cap)
    return [item for item in found if item.arrival not in without] if without else found


def take(
    tx: Transaction, reader: Entity, fence: int, chosen: Sequence[Chosen], terms: Terms, *, waiting: int | None = None
) -> Batch:
    """Claim what was chosen of so many `waiting`, if that is known."""
    if not chosen:
        return Batch(claim=None, at=tx.now)
    taken = claimed(tx, reader, fence, terms)
    batch = _taken(tx, taken, reader.number, chosen, waiting)
    if not batch.items:
        claims.end(tx, taken.id, terms.owner, fence, "released")
        return replace(batch, claim=None)
    return batch


def claimed(tx: Transaction, reader: Entity, fence: int, terms: Terms) -> Claim:
    """A new claim, with nothing under it yet."""
    deadline = tx.now + (terms.hold or tx.limits.hold) if terms.kind == "drain" else None
    return claims.begin(
        tx, reader, id=tx.new_id("clm"), kind=terms.kind, owner=terms.owner, fence=fence, deadline=deadline
    )


def pull(
    tx: Transaction,
    id: str,
    *,
    owner: str,
    fence: int,
    count: int = 1,
    type: Type | None = None,
    budget: int | None = None,
) -> Batch:
    """Take more items into an open claim, most urgent first; with a budget (bytes), only what fits, cut to it."""
    if not 1 <= count <= 1_000:
        raise Invalid(f"{count} is not a number of items", hint="use 1 to 1000")
    found = claims.read(tx, id)
    if found is None:
        raise _not_held(tx, id)
    reader = directory.find_live(tx, found.recipient)
    _, cursor = claims.lock(tx, reader.number)
    if not claims.hold(tx, id, owner, fence):
        raise _not_held(tx, id)
    _take_broadcasts(tx, reader, cursor, broadcasts.last(tx))
    if budget is not None:
        chosen = rules.choose(items.candidates(tx, reader.number, count), cap=count, budget=budget)
    else:
        chosen = [Chosen(item.event.arrival) for item in items.peek(tx, reader.number, count, type)]
    return _taken(tx, found, reader.number, chosen) if chosen else Batch(claim=None, at=tx.now)


def extend(tx: Transaction, id: str, *, owner: str, fence: int, hold: Duration) -> None:
    """Hold a guest's claim for its session, for so long from now. A stale owner is refused."""
    _check_holder(id, owner, fence)
    if not claims.extend(tx, id, owner, fence, tx.now + hold):
        raise _not_held(tx, id)


def ack(tx: Transaction, id: str, *, owner: str, fence: int, of: str | None = None) -> int:
    """Say that the items of a claim (`of` this inbox) were read; return how many. A stale owner is refused."""
    _check_holder(id, owner, fence)
    _check_inbox(tx, id, of)
    ended = claims.end(tx, id, owner, fence, "acked")
    if ended is None:
        raise _not_held(tx, id)
    return items.deliver(tx, ended[0])


def release(
    tx: Transaction, id: str, *, owner: str, fence: int, failed: Sequence[str] = (), of: str | None = None
) -> int:
    """Give the items of a claim back; against those that `failed` of their own it is counted."""
    _check_holder(id, owner, fence)
    _check_inbox(tx, id, of)
    ended = claims.end(tx, id, owner, fence, "released")
    found = claims.read(tx, id)
    if ended is None or found is None:
        raise _not_held(tx, id)
    count = items.fail(tx, ended[0], failed) if failed else 0
    count += items.release(tx, ended[0])
    tx.after_commit(Ring(found.recipient, "release"))
    return count


def done(tx: Transaction, name: str, event: str) -> Item:
    """Mark a person's item as done."""
    person = directory.find_live(tx, name)
    if person.kind is not Kind.HUMAN:
        raise Refused(f"{person.name!r} is not a person: it drains its inbox", hint="use `gatepost inbox drain`")
    fence, _ = claims.lock(tx, person.number)
    [(_, item)] = _found(tx, event, person)
    if (standing := _standing(item, tx.now)) is not State.PENDING:
        raise Conflict(f"{event!r} is {standing} for {person.name!r}, not pending")
    if not _sign(tx, person, fence, item, person.name):
        raise Conflict(f"{event!r} is not pending for {person.name!r} any more")
    return _found(tx, event, person)[0][1]


def put_away(
    tx: Transaction,
    recipients: Sequence[Entity],
    key: str,
    *,
    source: str,
    about: Mapping[str, Json],
    by: Entity | None,
) -> None:
    """
    What has this key is over, whoever saw to it: it is done for people and discarded for others, if it still waits. So
    is what was replayed of it, which has no key: it is from that `source`, and says what it is `about` in its data.
    Their inboxes are not locked for it, because many may be asked in many places: each item decides for itself.
    """
    for one in recipients:
        first = items.keyed(tx, [one.number], key)
        for event in [*first.values(), *gates.repeats(tx, one.number, source, about)]:
            for _, item in items.of_event(tx, event, one.number):
                if item.state is State.PENDING and one.kind is Kind.HUMAN:
                    _sign(tx, one, 0, item, by.name if by is not None else "gatepost")
                elif item.state is State.PENDING:
                    items.move(tx, one.number, item, State.DISCARDED, ended_at=tx.now)


def seen(tx: Transaction, name: str, events: Sequence[str]) -> int:
    """Record that somebody has seen items, whatever state they are in; return how many were new to them."""
    return items.see(tx, directory.find_live(tx, name).number, [ids.check("evt", event) for event in events])


def discard(tx: Transaction, event: str, name: str | None = None) -> list[Item]:
    """
    Put away what is pending or dead, for one recipient or for all. A broadcast that an agent has still to take is put
    away for that one alone. The last question of a decision that nothing else would end stays.
    """
    recipient = directory.find(tx, name) if name is not None else None
    if recipient is not None and recipient.live and not items.of_event(tx, ids.check("evt", event), recipient.number):
        _, cursor = claims.lock(tx, recipient.number)
        _take_broadcasts(tx, recipient, cursor, broadcasts.last(tx))
    found = _found(tx, event, recipient)
    asked.keep(tx, [item for _, item in found])
    moved = [
        replace(item, state=State.DISCARDED, ended_at=tx.now)
        for number, item in found
        if _standing(item, tx.now) in (State.PENDING, State.DEAD)
        and items.move(tx, number, item, State.DISCARDED, ended_at=tx.now)
    ]
    return moved or _refuse(tx, event, found, "discarded", (State.PENDING, State.DEAD))


def replay(tx: Transaction, event: str, name: str | None = None, *, anew: bool = True) -> list[Item]:
    """
    Make what is dead, expired or discarded pending again, from the start, for one recipient or for all. What was
    delivered stays delivered: for those recipients a new event is made with the same content, which begins a new chain
    of events, or (not `anew`, by the recipient itself) goes on with the longer of that event's chain and the
    recipient's. Whoever has retired gets nothing again.
    """
    found = _found(tx, event, directory.find_live(tx, name) if name is not None else None)
    everybody = entities.by_names(tx, [item.recipient for _, item in found])
    again: list[Item] = []
    for number, item in found:
        if not everybody[item.recipient].live:
            continue
        match _standing(item, tx.now):
            case State.DEAD | State.EXPIRED | State.DISCARDED:
                if items.move(tx, number, item, State.PENDING):
                    event_again = replace(item.event, expires_at=None)
                    again.append(Item(event=event_again, recipient=item.recipient, seen_at=item.seen_at))
                    tx.after_commit(Ring(item.recipient, "replay", event_again))
            case State.DELIVERED:
                hops = 0 if anew else max(item.event.hops, intake.next_hops(tx, everybody[item.recipient]))
                pushed = intake.repeat(tx, replace(_repeated(item), hops=hops), everybody[item.recipient])
                again += [copy for _, copy in items.of_event(tx, pushed.event)]
            case State.PENDING | State.CLAIMED:
                pass
    return again or _refuse(tx, event, found, "replayed", (State.DEAD, State.EXPIRED, State.DISCARDED, State.DELIVERED))


def _sign(tx: Transaction, person: Entity, fence: int, item: Item, owner: str) -> bool:
    """Deliver a person's item, with a receipt of whoever saw to it; say whether it still was in the state it had."""
    receipt = claimed(tx, person, fence, Terms(owner=owner, kind="person"))
    claims.end(tx, receipt.id, owner, fence, "acked")
    return items.move(tx, person.number, item, State.DELIVERED, claim=receipt.number, ended_at=tx.now)


def _take_back(tx: Transaction, recipient: int) -> None:
    """Items of drains that took too long are pending again."""
    for number, _ in claims.lapse(tx, recipient, _MOST_LAPSED):
        items.release(tx, number)


def _take_broadcasts(tx: Transaction, reader: Entity, cursor: int, last: int) -> None:
    if reader.kind is Kind.AGENT and (made := broadcasts.materialise(tx, reader.number, cursor, last)):
        tx.add_to_tally(reader.number, "accepted", made)


def _others(tx: Transaction, recipient: int, first: Sequence[Candidate], cap: int) -> list[Candidate]:
    """The first items of sources further back, as far as they matter: a few of each, and more only if those are few."""
    seen = sorted({item.source for item in first})
    others: list[Candidate] = []
    for depth in (min(rules.FEW, rules.share(cap)), rules.share(cap)):
        if not rules.crowded([*first, *others], cap):
            break
        others = items.heads(tx, recipient, seen, sources=rules.SOURCES, depth=depth, most=rules.DEPTH * cap)
    return others


def _taken(
    tx: Transaction, claim: Claim, recipient: int, chosen: Sequence[Chosen], waiting: int | None = None
) -> Batch:
    """Put the chosen under the claim. One that another verb got hold of meanwhile is left out."""
    got = items.take(tx, recipient, [one.arrival for one in chosen], claim.number)
    rooms = {one.arrival: one.room for one in chosen}
    shown = items.read(tx, recipient, sorted(got))
    return Batch(
        claim=claim,
        items=tuple(shown),
        rooms=tuple(rooms[item.event.arrival] for item in shown),
        held=items.waiting(tx, recipient, rules.COUNTED) if waiting is None else waiting - len(chosen),
        at=tx.now,
    )


def _check_holder(id: str, owner: str, fence: int) -> None:
    """Refuse what cannot be the holder of any claim, before the database does in words of its own."""
    ids.check("clm", id)
    claim_rules.owner(owner)
    if not 0 < fence < 2**63:
        raise Invalid(f"{fence} is not a fence")


def _check_inbox(tx: Transaction, id: str, of: str | None) -> None:
    """Whose claims there are is for nobody else to know."""
    found = claims.read(tx, id) if of is not None else None
    if of is not None and (found is None or found.recipient != of):
        raise NotFound(f"there is no claim {id!r} in the inbox of {of!r}")


def _not_held(tx: Transaction, id: str) -> NotFound | Conflict:
    found = claims.read(tx, id)
    if found is None:
        return NotFound(f"there is no claim {id!r}")
    if found.outcome == "lapsed":
        return Conflict(f"the claim {id!r} lapsed: it was held too long, and its items went to the next reader")
    if found.outcome:
        return Conflict(f"the claim {id!r} was {found.outcome} already")
    return Conflict(f"the claim {id!r} belongs to {found.owner!r} with fence {found.fence}")


def _found(tx: Transaction, event: str, entity: Entity | None) -> list[tuple[int, Item]]:
    found = items.of_event(tx, ids.check("evt", event), entity.number if entity else None)
    if not found and entity is None and items.of_broadcast(tx, event, 1):
        raise Conflict(
            f"{event!r} is a broadcast that agents have still to take", hint="name the one whom it is about with --to"
        )
    if not found:
        raise NotFound(f"there is no event {event!r}" + (f" for {entity.name!r}" if entity else ""))
    return found


def _standing(item: Item, now: Instant) -> State:
    """The state an item is in, though nobody may have written it down yet: past its time it is expired."""
    overdue = item.event.expires_at is not None and item.event.expires_at <= now
    return State.EXPIRED if overdue and item.state is State.PENDING else item.state


def _refuse(
    tx: Transaction, event: str, found: Sequence[tuple[int, Item]], what: str, states: Sequence[State]
) -> NoReturn:
    standing = ", ".join(f"{_standing(item, tx.now)} for {item.recipient!r}" for _, item in found)
    raise Conflict(f"{event!r} cannot be {what}: it is {standing}", hint=f"only what is {' or '.join(states)} can be")


def _repeated(item: Item) -> Push:
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
