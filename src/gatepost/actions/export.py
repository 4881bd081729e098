"""
The whole store as lines of JSON, and back into an empty one, on SQLite or PostgreSQL alike.

    {"gatepost":"export","format":2,"schema":9,"createdAt":"2026-02-18T09:00:00Z","secrets":false}
    {"table":"entities","row":{"number":1,"name":"admin","kind":"human",...}}     a row a line, parents first
    ...
    {"end":{"entities":4,"items":14,...},"unreadable":[]}                         rows of each table

A row is what the table has, but for columns that are NULL. Times are microseconds, truth values are true and false,
and JSON that the store keeps as text stays that text, so that a row arrives as it was, whichever database it goes to.

*An export is of one moment*: one transaction that reads. It holds a page of rows in memory. Where a part of a table is
damaged it says so, and goes on with the rows behind that part (as far back from the end as all can be read).

*An import is one transaction*, with the store to itself. So whatever goes wrong, at whichever line, by an error, a lost
connection or a kill, the store is as empty as before, and nothing has to be cleaned up. Chunks with commits between
them would need a mark "half imported" that every door respects, and code that removes the half. The price is a
write-ahead log (SQLite) of the size of the store for a moment. It holds a batch of rows in memory.

What is wrong is named by its line: form, types and columns are checked here, everything else by the schema itself. A
batch that the schema refuses is inserted again row by row, to find which row it is.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from gatepost.actions.directory import ADMINISTRATOR
from gatepost.core import agent_config, text
from gatepost.core.times import format_rfc3339
from gatepost.errors import Conflict, Damaged, GatepostError, Invalid, TooLarge
from gatepost.ports import Reader, Transaction
from gatepost.tables import catalog, integrity
from gatepost.tables.catalog import Column, Key, Table
from gatepost.tables.statements import ConstraintViolation

FORMAT: Final = 2
#: every table but `leases` and `schema_version`, each after those that it refers to; `counters` are set, not inserted
TABLES: Final = (  # noqa: SIM905
    "entities names inboxes accounts sessions events broadcasts claims items spaces members messages"
    " agents memories goals minds runs steps calls gates waiters resolutions decisions respondents answers plans"
    " triggers keys idempotency_keys jobs"
).split()
COUNTERS: Final = "counters"
#: what a store may have in it that is empty: the administrator, who registers when it is opened, and their keys
_ADMINISTRATORS: Final = frozenset({"entities", "names", "inboxes", "accounts", "keys"})
#: rows of a page and of a batch, and characters of text in one
PAGE: Final = 500
ROOM: Final = 4 * 1024 * 1024
#: bytes of a line
LONGEST: Final = 64 * 1024 * 1024
_WORDS: Final = {int: "a whole number", str: "a string", bool: "true or false"}
#: what JSON leaves as it is, and a terminal acts on; escaped, it is the same JSON
_CONTROLS: Final = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


@dataclass(slots=True)
class Summary:
    """How many rows of each table were exported or imported, and what was left out."""

    rows: Counter[str] = field(default_factory=Counter)
    omissions: list[str] = field(default_factory=list)


class _Line(NamedTuple):
    number: int
    row: dict[str, Any]


def export_store(tx: Reader, write: Callable[[bytes], None], *, secrets: bool = False) -> Summary:
    """
    Write everything but leases. With `secrets` also what opens doors elsewhere: the secrets of triggers (without them
    they are closed) and of residents' tools, and the administrator's keys.
    """
    summary = Summary()
    tx.room = ROOM
    schema, _ = integrity.read_schema_version(tx)
    head = {"gatepost": "export", "format": FORMAT, "schema": schema, "createdAt": format_rfc3339(tx.now)}
    write(_encode({**head, "secrets": secrets}))
    tables = catalog.read_tables(tx, TABLES)
    for name in (COUNTERS, *TABLES):
        if name == COUNTERS:
            rows: Iterable[dict[str, Any]] = _read_counters(tx, summary)
        elif name in tables:
            rows = _read_rows(tx, tables[name], summary)
        else:
            summary.omissions.append(f"{name}: there is no such table")
            continue
        for row in rows:
            exported = row if secrets else _remove_secrets(name, row, summary)
            if exported is not None:
                present = {column: value for column, value in exported.items() if value is not None}
                write(_encode({"table": name, "row": present}))
                summary.rows[name] += 1
    write(_encode({"end": summary.rows, "unreadable": summary.omissions}))
    return summary


def _encode(document: Mapping[str, Any]) -> bytes:
    line = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", line).encode() + b"\n"


def _read_counters(tx: Reader, summary: Summary) -> list[dict[str, Any]]:
    try:
        return catalog.read_counters(tx)
    except Damaged:
        summary.omissions.append(f"{COUNTERS}: no rows can be read")
        return []


def _read_rows(tx: Reader, table: Table, summary: Summary) -> Iterator[dict[str, Any]]:
    """Every row in the order of the key. If one cannot be read, go on with the rows at the end that can."""
    after: Key | None = None
    limit = PAGE
    while True:
        try:
            page = catalog.read_page(tx, table, after, limit)
        except Damaged:
            if limit > 1:
                limit = 1
                continue
            first = _find_tail(tx, table, after)
            start = f" after {after}" if after is not None else ""
            stop = f" before {table.key_of(first)}" if first is not None else ""
            summary.omissions.append(f"{table.name}: rows{start}{stop} cannot be read")
            if first is None:
                return
            page, limit = [first], PAGE
        if not page:
            return
        yield from page
        after = table.key_of(page[-1])


def _find_tail(tx: Reader, table: Table, after: Key | None) -> dict[str, Any] | None:
    """The first of the rows behind a damaged part from which on all can be read."""
    first: dict[str, Any] | None = None
    limit = PAGE
    while True:
        before = table.key_of(first) if first is not None else None
        try:
            page = catalog.read_page(tx, table, before, limit, backwards=True)
        except Damaged:
            if limit == 1:
                return first
            limit = 1
            continue
        for row in page:
            if after is not None and table.key_of(row) <= after:
                return first
            first = row
        if not page:
            return first


def _remove_secrets(table: str, row: dict[str, Any], summary: Summary) -> dict[str, Any] | None:
    match table:
        case "keys" if row["kind"] == "admin":
            return None
        case "triggers":
            return row | {"secret": None, "active": False}
        case "agents":
            try:
                bare = agent_config.replace_secrets(agent_config.decode(row["config"]), lambda _: {})
            except (GatepostError, ValueError):
                summary.omissions.append(f"agents: the configuration of entity {row['entity']} cannot be read")
                return None
            return row | {"config": agent_config.encode(bare)}
        case _:
            return row


def import_store(tx: Transaction, lines: Iterable[bytes], *, repair: bool = False) -> Summary:
    """
    Fill an empty store with what was exported, or raise what is wrong with it. With `repair`, rows that refer to a
    missing one are left out (or lose the reference), and accounts are made to balance: for what is left of a damaged
    store. The lines are read once, after the lock: from then on nothing can collide, so it is not run again.
    """
    catalog.lock_tables(tx, (*TABLES, "leases", COUNTERS))
    numbered = enumerate(lines, 1)
    number, first = next(numbered, (1, b"{}"))
    _check_head(tx, _decode(number, first))
    tables = catalog.read_tables(tx, TABLES)
    _prepare_store(tx, tables)
    importer = _Importer(tx, tables, repair)
    end: dict[str, Any] | None = None
    for number, line in numbered:
        if end is not None:
            raise Invalid(f"line {number}: the export has ended before it")
        match _decode(number, line):
            case {"table": name, "row": row, **more} if not more:
                importer.add(number, name, row)
            case {"end": dict(counts)}:
                end = counts
            case _:
                raise Invalid(f"line {number}: this is neither a row nor the end of an export")
    if end is None:
        raise Invalid(f"line {number} is the last, and not the end of an export: the rest is missing")
    for name in (COUNTERS, *TABLES):
        if (count := importer.lines[name]) != (expected := end.get(name, 0)):
            raise Invalid(f"line {number}: there should be {expected!r:.20} rows of {name!r} before it, not {count}")
    return importer.finish()


def _prepare_store(tx: Transaction, tables: Mapping[str, Table]) -> None:
    """Refuse a store that is in use; remove the administrator, who comes with the export."""
    others, keys, leases = catalog.count_occupants(tx, ADMINISTRATOR)
    if leases:
        raise Conflict(
            "a gateway is at work in this store", hint="stop it; what one that was killed has held is free again soon"
        )
    filled = [name for name, table in tables.items() if name not in _ADMINISTRATORS and catalog.has_rows(tx, table)]
    filled += ["entities"] * bool(others) + ["keys"] * bool(keys)
    if filled:
        raise Conflict(
            f"the store is not empty: it has {', '.join(filled[:3])}",
            hint="import into a new one: name it in GATEPOST_STORE, or another home in GATEPOST_HOME",
        )
    for table in reversed(list(tables.values())):
        catalog.delete_rows(tx, table)


def _check_head(tx: Transaction, head: Mapping[str, Any]) -> None:
    if head.get("gatepost") != "export":
        raise Invalid("this is not an export of Gatepost", hint="`gatepost export FILE` makes one")
    schema, _ = integrity.read_schema_version(tx)
    if (head.get("format"), head.get("schema")) != (FORMAT, schema):
        raise Invalid(
            f"line 1: the export has format {head.get('format')!r:.20} and schema {head.get('schema')!r:.20},"
            f" and this Gatepost has {FORMAT} and {schema}",
            hint="export again, with this version of Gatepost",
        )


def _decode(number: int, line: bytes) -> dict[str, Any]:
    if len(line) > LONGEST:
        raise TooLarge(f"line {number} has over {LONGEST} bytes")
    try:
        document = _DECODER.decode(line.decode())
    except UnicodeDecodeError:
        raise Invalid(f"line {number}: it is not valid UTF-8") from None
    except (ValueError, RecursionError):
        raise Invalid(f"line {number}: it is not JSON") from None
    if not isinstance(document, dict):
        raise Invalid(f"line {number}: it is not a JSON object")
    return document


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant)


class _Importer:
    """Inserts rows in batches: consecutive lines of one table."""

    def __init__(self, tx: Transaction, tables: Mapping[str, Table], repair: bool) -> None:
        self._tx = tx
        self._tables = tables
        self._repair = repair
        self._table: Table | None = None
        self._batch: list[_Line] = []
        self._size = 0
        #: references to rows of the same table that come later: line, key, column, value
        self._forward: list[tuple[int, Key, Column, Any]] = []
        self._counters: dict[str, int] = {}
        #: of each table
        self.lines: Counter[str] = Counter()
        self.summary = Summary()

    def add(self, number: int, name: Any, row: Any) -> None:
        if name == COUNTERS:
            self._add_counter(number, row)
        elif isinstance(name, str) and name in self._tables:
            table = self._tables[name]
            size = _check_row(number, table, row)
            if table is not self._table:
                self._finish_table()
                self._table = table
            self._size += size
            self._defer_references(number, table, row)
            self._batch.append(_Line(number, row))
            if len(self._batch) >= PAGE or self._size >= ROOM:
                self._flush()
        else:
            raise Invalid(f"line {number}: there is no table {name!r:.60}")
        self.lines[name] += 1

    def finish(self) -> Summary:
        """Insert the rest, and let numbers go on behind it: last, because PostgreSQL does not roll that back."""
        self._finish_table()
        catalog.set_counters(self._tx, self._counters)
        for table in self._tables.values():
            catalog.set_sequences(self._tx, table)
        if self._repair:
            catalog.repair(self._tx)
        return self.summary

    def _add_counter(self, number: int, row: Any) -> None:
        match row:
            case {"name": "arrival" | "broadcast" as name, "value": int(value)} if 0 <= value < 2**63 and len(row) == 2:
                self._counters[name] = value
                self.summary.rows[COUNTERS] += 1
            case _:
                raise Invalid(f"line {number}: this is not a row of {COUNTERS!r}")

    def _defer_references(self, number: int, table: Table, row: dict[str, Any]) -> None:
        """A row is inserted without a reference to one of its table that comes after it, or to itself."""
        for column in table.columns.values():
            if column.parent == table.name and (value := row.get(column.name)) is not None:
                key = table.key_of(row)
                if (value,) >= key:
                    self._forward.append((number, key, column, row.pop(column.name)))

    def _finish_table(self) -> None:
        if self._table is None:
            return
        self._flush()
        for number, key, column, value in self._forward:
            if not catalog.set_reference(self._tx, self._table, key, column, value) and not self._repair:
                raise _refuse_reference(number, self._table, column, value)
        self._forward.clear()

    def _flush(self) -> None:
        table, batch = self._table, self._batch
        self._batch, self._size = [], 0
        if table is not None and batch:
            for lines in [[line] for line in batch] if self._repair else [batch]:
                self._insert(table, lines)

    def _insert(self, table: Table, lines: list[_Line]) -> None:
        """Insert rows or, if that fails, each alone; raise (repairing, note) what is wrong with one."""
        insert = catalog.insert_repaired if self._repair else catalog.insert_rows
        reason = ""
        catalog.set_savepoint(self._tx)
        try:
            is_complete = insert(self._tx, table, [line.row for line in lines]) == len(lines)
        except ConstraintViolation as error:
            is_complete, reason = False, str(error)
        catalog.leave_savepoint(self._tx, keep=is_complete)
        if is_complete:
            self.summary.rows[table.name] += len(lines)
        elif len(lines) > 1:
            for line in lines:
                self._insert(table, [line])
        else:
            refusal = self._explain(table, lines[0], reason)
            if not self._repair:
                raise refusal
            self.summary.omissions.append(refusal.message)

    def _explain(self, table: Table, line: _Line, reason: str) -> Invalid:
        if reason:
            return Invalid(f"line {line.number}: the store does not take this row of {table.name!r}: {reason}")
        columns = [one for one in table.columns.values() if one.parent and line.row.get(one.name) is not None]
        missing = next(one for one in columns if not catalog.has_parent(self._tx, one, line.row[one.name]))
        return _refuse_reference(line.number, table, missing, line.row[missing.name])


def _check_row(number: int, table: Table, row: Any) -> int:
    """Raise what is wrong with the columns of a row; return how much text is in it."""
    if not isinstance(row, dict):
        raise Invalid(f"line {number}: a row is an object, not {row!r:.60}")
    if unknown := row.keys() - table.columns.keys():
        raise Invalid(f"line {number}: {table.name!r} has no column {min(unknown)!r:.60}")
    size = 0
    for name, column in table.columns.items():
        value = row.get(name)
        kind: type = type(value)
        if value is None:
            if column.is_required:
                raise Invalid(f"line {number}: {name!r} of {table.name!r} is missing")
        elif kind is not column.kind:
            raise Invalid(f"line {number}: {name!r} of {table.name!r} must be {_WORDS[column.kind]}, not {value!r:.60}")
        elif column.kind is str:
            size += len(value)
            try:
                text.check_storable(name, value)
            except Invalid as error:
                raise Invalid(f"line {number}: {error.message}", hint=error.hint) from None
        elif not -(2**63) <= value < 2**63:
            raise Invalid(f"line {number}: {name!r} of {table.name!r} is out of range: {value}")
    return size


def _refuse_reference(number: int, table: Table, column: Column, value: Any) -> Invalid:
    return Invalid(
        f"line {number}: {column.name!r} of {table.name!r} is {value!r}, and {column.parent!r} has no such row",
        hint="what is left of a damaged store is imported with --repair",
    )
