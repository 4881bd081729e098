"""
Storing what was exported elsewhere, a chunk in one transaction.

Entities are merged by name, events by id, items by event and recipient (and what surrounds them as
`actions/resettle.py` and `actions/reopen.py` say). So an import that was cut off is simply run again, and importing
twice is importing once:

- *What is here stays as it is.* An entity of the same name keeps what it has (and gets the aliases it lacks); an event
  that is here keeps its place; an item that is here keeps its state. A dedup key that is here already makes an item a
  repeat, as with a push.
- *Events keep their order* among themselves, and come after those that are here.
- *A claim does not travel.* What was claimed is pending again; what was delivered keeps its receipt.
- *A broadcast that an agent had still to take* is an item of that agent: cursors do not travel either.
- *What ended longer ago than is remembered* is not stored, since it would be reaped at once; but it is counted.

Why the accounts balance: every item stored here counts as accepted. What ended and is no longer there is counted by the
`account` records, which say how many ended in which way *in all*: where that is more than is known here, the difference
is added to that state and to what was accepted, both. The second time there is no difference.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Final, assert_never

from gatepost.actions import directory, push, reopen, resettle
from gatepost.actions.directory import EntitySpec
from gatepost.actions.push import EventDraft
from gatepost.actions.transfer import Line
from gatepost.core import address, dedup, render
from gatepost.core.address import Address, EntityAddress
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.event import ItemState, Receipt
from gatepost.core.gate import Gate
from gatepost.core.kept import DecisionRecord
from gatepost.core.plan import Plan
from gatepost.core.record import (
    AccountRecord,
    End,
    EventRecord,
    Head,
    ItemRecord,
    KeyRecord,
    MemberRecord,
    MessageRecord,
    Record,
    TriggerRecord,
)
from gatepost.core.settled import ResidentRecord
from gatepost.core.signals import Signal
from gatepost.core.space import Space
from gatepost.errors import Conflict, GatepostError, Invalid
from gatepost.ports import Transaction
from gatepost.tables import broadcasts, claims, entities, events, records, tallies

_ENDED: Final = (ItemState.DELIVERED, ItemState.EXPIRED, ItemState.DISCARDED)
#: what is stored after events: gates wait for those that came later than they did, and residents think about them
_AFTERWARDS: Final = (Gate, DecisionRecord, Plan, ResidentRecord)


@dataclass(frozen=True, slots=True)
class Taken:
    """What was new."""

    entities: int = 0
    spaces: int = 0
    messages: int = 0
    gates: int = 0
    decisions: int = 0
    plans: int = 0
    residents: int = 0
    triggers: int = 0
    keys: int = 0
    events: int = 0
    items: int = 0
    #: items that were here before, or ended too long ago
    known: int = 0

    def __add__(self, other: "Taken") -> "Taken":
        return Taken(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})


def take(tx: Transaction, chunk: Sequence[Line]) -> Taken:
    """Store a chunk. Whatever is wrong with a line of it, nothing of the chunk is stored."""
    broadcasts.number(tx, by=0)  # imports and registrations take turns
    taken = Taken()
    taken += _take_alone(tx, [one for one in chunk if not isinstance(one[1], _AFTERWARDS)])
    taken += _take_items(
        tx,
        [(number, record) for number, record in chunk if isinstance(record, EventRecord)],
        [(number, record) for number, record in chunk if isinstance(record, ItemRecord)],
    )
    taken += _take_alone(tx, [one for one in chunk if isinstance(one[1], _AFTERWARDS)])
    totals: dict[str, AccountRecord] = {}
    for number, record in chunk:
        if isinstance(record, AccountRecord):
            with _of_line(number):
                totals[directory.find(tx, record.name).name] = record
    for record in totals.values():
        _take_account(tx, record)
    return taken


def _take_alone(tx: Transaction, chunk: Sequence[Line]) -> Taken:
    taken = Taken()
    for number, record in chunk:
        with _of_line(number):
            taken += _take_one(tx, record)
    return taken


def _take_one(tx: Transaction, record: Record) -> Taken:
    """Store what stands alone; events and items are stored together, and accounts after them."""
    match record:
        case Entity():
            return Taken(entities=_take_entity(tx, record))
        case Space():
            return Taken(spaces=resettle.take_space(tx, record))
        case MessageRecord():
            return Taken(messages=resettle.take_message(tx, record))
        case MemberRecord():
            resettle.take_member(tx, record)
        case Gate():
            return Taken(gates=reopen.take_gate(tx, record))
        case DecisionRecord():
            return Taken(decisions=reopen.take_decision(tx, record))
        case Plan():
            return Taken(plans=resettle.take_plan(tx, record))
        case ResidentRecord():
            return Taken(residents=resettle.take_resident(tx, record))
        case TriggerRecord():
            return Taken(triggers=resettle.take_trigger(tx, record))
        case KeyRecord():
            return Taken(keys=resettle.take_key(tx, record))
        case Head() | EventRecord() | ItemRecord() | AccountRecord() | End():
            pass
        case _:
            assert_never(record)
    return Taken()


@contextmanager
def _of_line(number: int) -> Iterator[None]:
    """Let an error say which line it is about."""
    try:
        yield
    except GatepostError as error:
        raise type(error)(f"line {number}: {error.message}", hint=error.hint) from None


def _take_entity(tx: Transaction, record: Entity) -> int:
    here = entities.by_names(tx, [record.name]).get(record.name)
    if here is None:
        newcomer = EntitySpec(
            name=record.name,
            kind=record.kind,
            display=record.display,
            team=record.team,
            role=record.role,
        )
        made = directory.register(tx, newcomer)
        if record.owner is not None:  # who may have retired since, or be the entity itself
            owner = directory.find(tx, record.owner).number
            entities.update(tx, made.number, display=made.display, team=made.team, role=made.role, owner=owner)
        entities.date(tx, made.number, record.created_at, record.retired_at)
        _give_aliases(tx, record, made.number)
        return 1
    if here.name != record.name:
        raise Conflict(f"{record.name!r} is an alias of {here.name!r} here")
    if here.kind is not record.kind:
        raise Conflict(f"{record.name!r} is of the kind {here.kind} here, not {record.kind}")
    _give_aliases(tx, record, here.number)
    return 0


def _give_aliases(tx: Transaction, record: Entity, number: int) -> None:
    """Let an entity have the aliases that it had there besides its own, however many that makes."""
    for alias in record.aliases:
        if not entities.give_name(tx, address.check_alias(alias), number, is_alias=True):
            holder = entities.by_names(tx, [alias])[alias]
            if holder.number != number:
                raise Conflict(f"the alias {alias!r} of {record.name!r} is taken by {holder.name!r} here")


def _take_items(
    tx: Transaction, said: Sequence[tuple[int, EventRecord]], meant: Sequence[tuple[int, ItemRecord]]
) -> Taken:
    if not meant:
        return Taken()
    names = {record.wish.sender for _, record in said if record.wish.sender} | {item.recipient for _, item in meant}
    known = entities.by_names(tx, names)
    here = records.arrivals_of(tx, [record.id for _, record in said])
    arriving = _arriving(tx, said, known, here)
    rows: dict[tuple[int, int], records.OldItem] = {}
    receipts: dict[tuple[int, int], Receipt] = {}
    for number, item in meant:
        with _of_line(number):
            row = _row(tx, item, arriving, known)
        if item.state in _ENDED and item.ended_at is not None and item.ended_at <= tx.now - tx.limits.remember:
            continue
        rows[row[1], row[0]] = row
        if item.receipt and item.state is ItemState.DELIVERED:
            receipts[row[1], row[0]] = item.receipt
    new = _restore(tx, rows)
    arrived = {arrival for arrival, _ in new}
    stored = [each for id, each in arriving.items() if id not in here and each.event.arrival in arrived]
    if stored:
        events.insert(tx, [(each.event, each.sender.number if each.sender else None, each.data) for each in stored])
    _attach(tx, {key: receipts[key] for key in sorted(new & receipts.keys())})
    _tell(tx, {entity.number: entity.name for entity in known.values()}, [rows[key] for key in sorted(new)])
    return Taken(events=len(stored), items=len(new), known=len(meant) - len(new))


def _arriving(
    tx: Transaction, said: Sequence[tuple[int, EventRecord]], known: Mapping[str, Entity], here: Mapping[str, int]
) -> dict[str, EventDraft]:
    """Events as they would be pushed, but as they were there, at the place they have here or the one they will have."""
    senders: dict[Address, list[Entity]] = {EntityAddress(name): [entity] for name, entity in known.items()}
    fresh = iter(events.take_arrivals(tx, len(said) - len(here)) if len(said) > len(here) else [])
    arriving: dict[str, EventDraft] = {}
    for number, record in said:
        arrival = here[record.id] if record.id in here else next(fresh)
        with _of_line(number):
            draft = push.build_event(tx, record.wish, arrival, senders, is_copy=True)
        draft.event = replace(draft.event, id=record.id, created_at=record.created_at)
        draft.size = render.measure(draft.event)
        arriving[record.id] = draft
    return arriving


def _row(
    tx: Transaction, item: ItemRecord, arriving: Mapping[str, EventDraft], known: Mapping[str, Entity]
) -> records.OldItem:
    about = arriving.get(item.event)
    if about is None:
        raise Invalid(f"the event {item.event!r} does not stand before its item")
    recipient = known.get(item.recipient)
    if recipient is None:
        raise directory.build_unknown_error(tx, item.recipient)
    if item.key is not None:
        dedup.check_stored(item.key)
    return (
        recipient.number,
        about.event.arrival,
        item.key,
        about.event.priority.value,
        about.sender is not None and about.sender.kind is EntityKind.HUMAN,
        about.sender.name if about.sender else about.event.source,
        item.expires_at,
        item.wakes,
        (ItemState.PENDING if item.state is ItemState.CLAIMED else item.state).value,
        item.attempts,
        item.seen_at,
        item.ended_at,
        about.size,
    )


def _restore(tx: Transaction, rows: Mapping[tuple[int, int], records.OldItem]) -> set[tuple[int, int]]:
    """Store items; return the (arrival, recipient) of those that are new."""
    if not rows:
        return set()
    arrivals = [arrival for arrival, _ in rows]
    before = records.present(tx, arrivals)
    awaited = records.awaited(tx, arrivals)
    wanted = [row for key, row in rows.items() if key not in before and key not in awaited]
    if wanted:
        # in one order everywhere, as in `intake`
        records.restore(tx, sorted(wanted, key=lambda row: (row[0], row[2] or "", row[1])))
    return records.present(tx, arrivals) - before


def _attach(tx: Transaction, receipts: Mapping[tuple[int, int], Receipt]) -> None:
    """Give what was delivered its receipts: one claim for what was taken together."""
    numbers: dict[tuple[int, Receipt], int] = {}
    for (arrival, recipient), receipt in receipts.items():
        together = recipient, receipt
        if together not in numbers:
            numbers[together] = claims.restore(tx, tx.new_id("clm"), recipient, receipt)
        records.attach(tx, recipient, arrival, numbers[together])


def _tell(tx: Transaction, names: Mapping[int, str], rows: Sequence[records.OldItem]) -> None:
    for row in rows:
        tx.add_to_tally(row[0], "accepted", 1)
    for recipient in sorted({row[0] for row in rows if row[8] == ItemState.PENDING.value}):
        tx.after_commit(Signal(names[recipient], "import"))


def _take_account(tx: Transaction, record: AccountRecord) -> None:
    number = directory.find(tx, record.name).number
    [here] = tallies.accounts(tx, number)
    for state, total, known in (
        ("delivered", record.delivered, here.delivered),
        ("expired", record.expired, here.expired),
        ("discarded", record.discarded, here.discarded),
    ):
        if total > known:
            tx.add_to_tally(number, state, total - known)
            tx.add_to_tally(number, "accepted", total - known)
