"""
Everything there is, on its way from one store to another: read out here, cut into chunks, and stored by
`actions/merge.py`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gatepost.actions import directory
from gatepost.core.record import FORMAT, AccountRecord, End, EventRecord, Head, ItemRecord, Record
from gatepost.errors import Invalid
from gatepost.ports.store import Reader
from gatepost.tables import records as stored
from gatepost.tables import tallies

#: records of a chunk; an event and its items stay together up to the second
CHUNK: Final = 200
MOST: Final = 2_000
_PAGE: Final = 100
_ITEMS: Final = 1_000

#: a record and the number of the line it stands on
Line = tuple[int, Record]


def size(reader: Reader) -> int:
    """How many events there are to export."""
    return stored.count_events(reader)


def records(reader: Reader) -> Iterator[Record]:
    """Everything there is. To be read to its end within one query, so that it is of one moment."""
    lines = 0
    for record in _records(reader):
        lines += 1
        yield record
    yield End(lines)


def _records(reader: Reader) -> Iterator[Record]:
    yield Head(reader.now)
    last = 0
    while found := directory.page(reader, retired=True, after=last, limit=_PAGE):
        yield from found
        last = found[-1].number
    arrival = 0
    while page := stored.events(reader, arrival, _PAGE):
        yield from _with_items(reader, page)
        arrival = page[-1][0]
    for account in tallies.accounts(reader):
        if account.delivered or account.expired or account.discarded:
            yield AccountRecord(
                name=account.name,
                delivered=account.delivered,
                expired=account.expired,
                discarded=account.discarded,
            )


def _with_items(reader: Reader, page: Sequence[tuple[int, EventRecord]]) -> Iterator[Record]:
    """Each event, and after it what it is to each recipient."""
    rows = _items_of(reader, page[0][0], page[-1][0])
    row = next(rows, None)
    for arrival, event in page:
        yield event
        while row is not None and row[0] == arrival:
            yield row[1]
            row = next(rows, None)


def _items_of(reader: Reader, first: int, last: int) -> Iterator[tuple[int, ItemRecord]]:
    arrival, recipient = first, 0
    while found := stored.items(reader, first, last, arrival=arrival, recipient=recipient, most=_ITEMS):
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
            case EventRecord() if len(chunk) >= CHUNK:
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
