"""
Everything there is, on its way from one store to another: read out here, cut into chunks, and stored by
`actions/merge.py`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, TypeVar

from gatepost.actions import decisions, directory, gates, goals, memories, plans, spaces, triggers
from gatepost.core.decision import Decision
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.gate import Gate, GateKind
from gatepost.core.kept import DecisionRecord
from gatepost.core.plan import Plan
from gatepost.core.record import (
    FORMAT,
    AccountRecord,
    End,
    EventRecord,
    Head,
    ItemRecord,
    MessageRecord,
    Record,
    TriggerRecord,
)
from gatepost.core.settled import ResidentRecord, bare
from gatepost.core.space import Space
from gatepost.core.trigger import Trigger
from gatepost.errors import Invalid
from gatepost.ports import Reader
from gatepost.tables import agents, messages, minds, runs, tallies
from gatepost.tables import records as stored
from gatepost.tables import triggers as ways_in

#: records of a chunk; an event and its items stay together up to the second
CHUNK: Final = 200
MOST: Final = 2_000
_PAGE: Final = 100
_ITEMS: Final = 1_000
_END: Final = 2**63 - 1

#: a record and the number of the line it stands on
Line = tuple[int, Record]

#: what has a number
N = TypeVar("N", Entity, Space, Gate, Decision, Plan, Trigger)


def size(tx: Reader) -> int:
    """How many events and messages there are to export."""
    return stored.count_events(tx) + stored.count_messages(tx)


def records(tx: Reader, *, secrets: bool = False) -> Iterator[Record]:
    """
    Everything there is. To be read to its end within one query, so that it is of one moment. With `secrets` also what
    lets others in elsewhere too: what is kept of the secrets of triggers and of residents' tools, and the
    administrator's keys.
    """
    lines = 0
    for record in _records(tx, secrets):
        lines += 1
        yield record
    yield End(lines)


def _records(tx: Reader, secrets: bool) -> Iterator[Record]:
    yield Head(tx.now)
    yield from _entities(tx)
    yield from _spaces(tx)
    for trigger in _all(partial(triggers.page, tx)):
        yield TriggerRecord(trigger, ways_in.secret(tx, trigger.number) if secrets else None)
    yield from _keys(tx, secrets)
    arrival = 0
    while page := stored.events(tx, arrival, _PAGE):
        yield from _with_items(tx, page)
        arrival = page[-1][0]
    yield from (gate for gate in _all(partial(gates.page, tx)) if gate.kind is not GateKind.DECISION)
    for decision in _all(partial(decisions.page, tx)):
        yield DecisionRecord(decision, gates.show(tx, decision.gate))
    yield from _all(partial(plans.page, tx))
    yield from _residents(tx, secrets)
    for account in tallies.accounts(tx):
        if account.delivered or account.expired or account.discarded:
            yield AccountRecord(
                name=account.name,
                delivered=account.delivered,
                expired=account.expired,
                discarded=account.discarded,
            )


def _all(page: Callable[..., Sequence[N]]) -> Iterator[N]:
    """Everything that is to be had in pages, each after the number of the last one seen."""
    last = 0
    while found := page(after=last, limit=_PAGE):
        yield from found
        last = found[-1].number


def _entities(tx: Reader) -> Iterator[Entity]:
    """Every entity, after its owner."""
    written: set[str] = set()
    for entity in _all(partial(directory.page, tx, retired=True)):
        chain = {entity.name: entity}
        owner = entity.owner
        while owner is not None and owner not in written and owner not in chain:
            chain[owner] = directory.show(tx, owner)
            owner = chain[owner].owner
        for name, each in reversed(chain.items()):
            if name not in written:
                written.add(name)
                yield each


def _spaces(tx: Reader) -> Iterator[Record]:
    """Each space, what was said in it, and who is in it."""
    for space in _all(partial(spaces.page, tx)):
        yield space
        seq = 0
        while said := messages.after(tx, space, after=seq, before=_END, limit=_PAGE):
            for each in said:
                yield MessageRecord(
                    space=space.id,
                    id=each.id,
                    sender=each.sender,
                    content=each.content,
                    data=each.data,
                    created_at=each.created_at,
                )
            seq = said[-1].seq
        yield from stored.members(tx, space)


def _residents(tx: Reader, secrets: bool) -> Iterator[Record]:
    """Every resident that is still there, with what is left of its cycles in its own words."""
    for agent in _all(partial(directory.page, tx, kind=EntityKind.AGENT)):
        if (resident := agents.read(tx, agent.number)) is None:
            continue
        carried = minds.read(tx, agent.number)
        cycles = runs.weights(tx, agent.number, carried.run)
        yield ResidentRecord(
            name=agent.name,
            config=resident.config if secrets else bare(resident.config),
            paused_at=resident.paused_at,
            memories={one.key: one.value for one in reversed(memories.page(tx, agent))},
            goals=tuple(goals.page(tx, agent)),
            summaries=(*carried.summaries, *(cycle.summary for cycle in cycles if cycle.summary)),
            dropped=carried.dropped_count,
        )


def _keys(tx: Reader, secrets: bool) -> Iterator[Record]:
    last = 0
    while found := stored.keys(tx, last, _PAGE):
        yield from (each for _, each in found if secrets or each.key.kind != "admin")
        last = found[-1][0]


def _with_items(tx: Reader, page: Sequence[tuple[int, EventRecord]]) -> Iterator[Record]:
    """Each event, and after it what it is to each recipient."""
    rows = _items_of(tx, page[0][0], page[-1][0])
    row = next(rows, None)
    for arrival, event in page:
        yield event
        while row is not None and row[0] == arrival:
            yield row[1]
            row = next(rows, None)


def _items_of(tx: Reader, first: int, last: int) -> Iterator[tuple[int, ItemRecord]]:
    arrival, recipient = first, 0
    while found := stored.items(tx, first, last, arrival=arrival, recipient=recipient, most=_ITEMS):
        yield from ((row[0], row[2]) for row in found)
        arrival, recipient, _ = found[-1]


def chunks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """
    Cut an export into what is stored at once: an event and its items together, unless there are very many; then the
    event is said again before the rest of them. Raises when it is no export, and at its end when that is missing.
    """
    chunk: list[Line] = []
    event: list[Line] = []
    number, ended = 0, False
    for number, record in lines:
        _expect(number, record, ended)
        match record:
            case Head():
                continue
            case End():
                ended = True
                continue
            case ItemRecord() if len(chunk) >= MOST:
                yield chunk
                chunk = [*event]
            case ItemRecord() | Entity() | AccountRecord():
                pass
            case _ if len(chunk) >= CHUNK:
                yield chunk
                chunk = []
            case _:
                pass
        chunk.append((number, record))
        if isinstance(record, EventRecord):
            event = chunk[-1:]
    if chunk:
        yield chunk
    if not number:
        raise _no_export()
    if not ended:
        raise Invalid(f"line {number} is the last, and not the end of an export: the rest is missing")


def _expect(number: int, record: Record, ended: bool) -> None:
    match record:
        case _ if (number == 1) is not isinstance(record, Head):
            raise _no_export() if number == 1 else Invalid(f"line {number}: another export begins here")
        case _ if ended:
            raise Invalid(f"line {number}: the export has ended before it")
        case Head(format=format) if format != FORMAT:
            raise Invalid(f"line {number}: it was exported by another version of Gatepost", hint="upgrade gatepost")
        case End(lines=count) if count != number - 1:
            raise Invalid(f"line {number}: {count} lines should stand before it, not {number - 1}: some are missing")


def _no_export() -> Invalid:
    return Invalid("this is not an export of Gatepost", hint="`gatepost export FILE` makes one")
