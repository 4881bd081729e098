"""
Fill an empty store with an export (`export/export_actions.py` shows the format).

*An import is one transaction*, with the store to itself. So whatever goes wrong, at any line, by an error, a lost
connection or a kill, the store is as empty as before, and nothing has to be cleaned up. Chunks with commits between
them would need a mark "half imported" that every caller respects, and code that removes the half. The price is a
write-ahead log (SQLite) of the size of the store for a moment. It holds a batch of rows in memory.

An error names its line: form, types and columns are checked here, values in `imported_row_check_actions.py`,
everything else by the schema itself. A batch that the schema refuses is inserted again row by row, to find which row it
is.

*An older export takes a detour*: it fills a scratch store with the schema that it was made with, which is migrated and
exported again (`export/commands.py`). Values, rights and accounts are checked when that export is imported, because the
checks know only the present schema; then an error names a line of the migrated export.

*A file is trusted as much as its author*: it can hold keys, open triggers, and the commands of tools and gates. The
result lists these rights, so that the person who imports sees them. A file that says it has no secrets must have none.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from gatepost.core import json_limits as strict, text
from gatepost.core.ports import Transaction, needs_disk_space
from gatepost.directory.entity_actions import ADMINISTRATOR
from gatepost.errors import Conflict, Invalid, TooLarge, quote_value
from gatepost.export import catalog_rows as catalog, imported_row_check_actions as row_checks
from gatepost.export.catalog_rows import Column, Key, Table
from gatepost.export.export_actions import COUNTERS, FORMAT, PAGE_CHARACTERS, PAGE_ROWS, TABLES, Summary
from gatepost.residents import agent_config_json as agent_config
from gatepost.stores import statements
from gatepost.stores.statements import ConstraintViolation

#: tables of older schemas, whose rows the migrations have moved to others
_FORMER_TABLES: Final = ("items",)
#: tables that may have rows in an empty store: the administrator registers when a store is opened, and has keys
_ADMINISTRATOR_TABLES: Final = frozenset({"entities", "names", "inboxes", "accounts", "keys"})
#: bytes
MAX_LINE_LENGTH: Final = 64 * 1024 * 1024
_TYPE_NAMES: Final = {int: "a whole number", str: "a string", bool: "true or false"}


class Head(NamedTuple):
    """The first line of an export."""

    schema: int
    has_secrets: bool


class _Line(NamedTuple):
    number: int
    row: dict[str, Any]


@needs_disk_space()
def import_store(tx: Transaction, lines: Iterable[bytes], *, repair: bool = False, is_scratch: bool = False) -> Summary:
    """
    Insert the rows of an export into an empty store, or raise the first error. With `repair`, for the export of a
    damaged store, leave out rows that refer to a missing row (or the reference, if it is optional), rows with values
    that cannot be read and secrets that the first line denies, and make the accounts balance. The lines are read once,
    after the lock: from then on nothing can collide, so the verb does not run again. A scratch store has an older
    schema; only the form of its rows is checked.
    """
    catalog.lock_tables(tx, (*TABLES, "leases", COUNTERS))
    numbered = enumerate(lines, 1)
    number, first = next(numbered, (1, b"{}"))
    head = read_head(first)
    schema, _ = statements.read_schema_version(tx)
    if head.schema != schema:
        raise Invalid(f"line 1: the export has schema {head.schema}, and this store has {schema}")
    tables = catalog.read_tables(tx, (*TABLES, *_FORMER_TABLES))
    _prepare_store(tx, tables)
    importer = _Importer(tx, tables, repair=repair, has_secrets=head.has_secrets, is_scratch=is_scratch)
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
    for name in (COUNTERS, *TABLES, *_FORMER_TABLES):
        count, expected = importer.lines[name], end.get(name, 0)
        if type(expected) is not int or count != expected:
            raise Invalid(
                f"line {number}: there should be {quote_value(expected)} rows of {name!r} before it, not {count}"
            )
    return importer.finish()


def _prepare_store(tx: Transaction, tables: Mapping[str, Table]) -> None:
    """Refuse a store that is in use. Delete the administrator, who is in the export."""
    others, keys, leases = catalog.count_occupants(tx, ADMINISTRATOR)
    if leases:
        raise Conflict(
            "a gateway is at work in this store", hint="stop it; what one that was killed has held is free again soon"
        )
    filled = [
        name for name, table in tables.items() if name not in _ADMINISTRATOR_TABLES and catalog.has_rows(tx, table)
    ]
    filled += ["entities"] * bool(others) + ["keys"] * bool(keys)
    if filled:
        raise Conflict(
            f"the store is not empty: it has {', '.join(filled[:3])}",
            hint="import into a new one: name it in GATEPOST_STORE, or another home in GATEPOST_HOME",
        )
    for table in reversed(list(tables.values())):
        catalog.delete_rows(tx, table)


def read_head(line: bytes) -> Head:
    """Return what the first line says; refuse what is not an export, or one that cannot be imported here."""
    head = _decode(1, line)
    if head.get("gatepost") != "export":
        raise _build_foreign_error(1, "")
    version, schema = head.get("format"), head.get("schema")
    newest = statements.find_newest_version("sqlite")  # both databases have the same versions
    if type(version) is not int or type(schema) is not int or version != FORMAT or schema < statements.FIRST_VERSION:
        raise Invalid(
            f"line 1: the export has format {quote_value(version)} and schema {quote_value(schema)}, and only format"
            f" {FORMAT} from schema {statements.FIRST_VERSION} on can be imported",
            hint="migrate the store that it came from, and export that: docs/decisions/0028-one-first-migration.md",
        )
    if schema > newest:
        raise Invalid(
            f"line 1: the export has schema {schema}, and this Gatepost knows schemas up to {newest}",
            hint="upgrade gatepost: pip install -U gatepost",
        )
    if not isinstance(has_secrets := head.get("secrets"), bool):
        raise Invalid(f"line 1: 'secrets' must be true or false, not {quote_value(has_secrets)}")
    return Head(schema, has_secrets)


def _build_foreign_error(number: int, problem: str) -> Invalid:
    """Return the error for a line that is not of an export: if it is the first, no line is."""
    if number == 1:
        return Invalid("this is not an export of Gatepost", hint="`gatepost export FILE` makes one")
    return Invalid(f"line {number}: {problem}")


def _decode(number: int, line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE_LENGTH:
        raise TooLarge(f"line {number} has over {MAX_LINE_LENGTH} bytes")
    try:
        document = _DECODER.decode(line.decode())
    except UnicodeDecodeError:
        raise _build_foreign_error(number, "it is not valid UTF-8") from None
    except (ValueError, RecursionError):
        raise _build_foreign_error(number, "it is not JSON") from None
    if not isinstance(document, dict):
        raise _build_foreign_error(number, "it is not a JSON object")
    if strict.is_deeper_than(document, strict.MAX_DEPTH, line.count(b"[") + line.count(b"{")):
        raise Invalid(f"line {number}: it is nested over {strict.MAX_DEPTH} deep")
    return document


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant)


class _Importer:
    """Inserts rows in batches: consecutive lines of one table."""

    def __init__(
        self, tx: Transaction, tables: Mapping[str, Table], *, repair: bool, has_secrets: bool, is_scratch: bool
    ) -> None:
        self._tx = tx
        self._tables = tables
        self._repair = repair
        self._has_secrets = has_secrets
        self._is_scratch = is_scratch
        self._table: Table | None = None
        self._batch: list[_Line] = []
        self._size = 0
        #: references to rows of the same table that come later: line, key, column, value
        self._forward: list[tuple[int, Key, Column, Any]] = []
        self._counters: dict[str, int] = {}
        #: the number of the administrator, and how many valid keys of each kind are not theirs
        self._administrator: int | None = None
        self._key_counts: Counter[str] = Counter()
        #: of each table
        self.lines: Counter[str] = Counter()
        self.summary = Summary()

    def add(self, number: int, name: Any, row: Any) -> None:
        if name == COUNTERS:
            self._add_counter(number, row)
        elif isinstance(name, str) and name in self._tables:
            self._add_row(number, self._tables[name], row)
        else:
            raise Invalid(f"line {number}: there is no table {quote_value(name)}")
        self.lines[name] += 1

    def _add_row(self, number: int, table: Table, row: Any) -> None:
        size = _check_row(number, table, row)
        try:
            if not self._is_scratch:
                row_checks.check_values(table.name, row)
                self._note_rights(table.name, row)
        except Invalid as error:
            refusal = Invalid(f"line {number}: {error.message}", hint=error.hint)
            if not self._repair:
                raise refusal from None
            self.summary.omissions.append(refusal.message)
            return
        if table is not self._table:
            self._finish_table()
            self._table = table
        if (
            table.name == "entities" and not self._is_scratch
        ):  # whatever the file says: it keeps persons from looking like others
            row["display_key"] = text.fold_text(row["display"])
        self._size += size
        self._defer_references(number, table, row)
        self._batch.append(_Line(number, row))
        if len(self._batch) >= PAGE_ROWS or self._size >= PAGE_CHARACTERS:
            self._flush()

    def _note_rights(self, table: str, row: Mapping[str, Any]) -> None:
        """Note what a row lets others do; raise Invalid for a secret in a file that says it has none."""
        secret = right = None
        match table, row:
            case "entities", {"name": name, "number": number} if name == ADMINISTRATOR:
                self._administrator = number
            case "keys", {"kind": "admin", "prefix": prefix}:
                secret = right = f"a key of the administrator: {quote_value(prefix)}"
            case "keys", {"kind": "agent", "prefix": prefix, "entity": entity} if entity == self._administrator:
                right = f"a key that acts as the administrator: {quote_value(prefix)}"
            case "keys", {"kind": kind} if row.get("revoked_at") is None:
                self._key_counts[kind] += 1
            case "triggers", {"name": name, "active": active} if active or row.get("secret") is not None:
                secret = right = f"{'an open trigger' if active else 'the secret of a trigger'}: {name!r}"
            case "agents", {"entity": entity, "config": encoded}:
                config = agent_config.decode(encoded)
                if agent_config.replace_secrets(config, lambda _: {}) != config:
                    secret = f"headers or environment variables of the tools of entity {entity}"
                if programs := [quote_value(server.command[0]) for server in config.mcp.servers if server.command]:
                    right = f"commands of the tools of entity {entity}: {', '.join(programs)}"
            case "gates", {"kind": "command", "name": name} if row.get("ended_at") is None:
                right = f"the command of a gate: {quote_value(name)}"
            case _:
                right = _describe_admission(table, row)
        if secret is not None and not self._has_secrets:
            raise Invalid(
                f"the row has {secret}, and line 1 says that there are no secrets",
                hint="the file was changed after the export",
            )
        if right is not None and row.get("revoked_at") is None:
            self.summary.rights.append(right)

    def finish(self) -> Summary:
        """Insert the rest and set the sequences, which PostgreSQL does not roll back; return the result."""
        self._finish_table()
        if self._is_scratch:
            catalog.write_counters(self._tx, self._counters)
            return self.summary
        catalog.set_counters(self._tx, self._counters)
        for table in self._tables.values():
            catalog.set_sequences(self._tx, table)
        if self._repair:
            catalog.repair(self._tx)
        self.summary.rights += [f"keys of the kind {kind!r}: {count}" for kind, count in self._key_counts.items()]
        return self.summary

    def _add_counter(self, number: int, row: Any) -> None:
        match row:
            case {"name": str(name), "value": int(value)} if (
                len(row) == 2
                and name in catalog.COUNTERS
                and type(value) is int
                and 0 <= value <= row_checks.MAX_NUMBER
                and name not in self._counters
            ):
                self._counters[name] = value
                self.summary.rows[COUNTERS] += 1
            case _:
                raise Invalid(f"line {number}: this is not a row of {COUNTERS!r}")

    def _defer_references(self, number: int, table: Table, row: dict[str, Any]) -> None:
        """Take references to the row itself and to later rows of its table out of a row; `_finish_table` sets them."""
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
        """Insert rows or, if that fails, each alone. Raise the error of a row or, when repairing, note it."""
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
        references = [column for column in table.columns.values() if column.parent]
        for column in references:
            value = line.row.get(column.name)
            if value is not None and not catalog.has_parent(self._tx, column, value):
                return _refuse_reference(line.number, table, column, value)
        return Invalid(f"line {line.number}: the store does not take this row of {table.name!r}: {reason}")


def _describe_admission(table: str, row: Mapping[str, Any]) -> str | None:
    """Return what the row of a user who is let in by a channel lets that user do; None if it is another row."""
    is_admitted = table == "pairings" and row.get("state") == "approved"
    return f"a user of a channel who is let in: {quote_value(row['display'])}" if is_admitted else None


def _check_row(number: int, table: Table, row: Any) -> int:
    """Refuse a row with wrong columns or types; return the number of characters in it."""
    if not isinstance(row, dict):
        raise Invalid(f"line {number}: a row is an object, not {quote_value(row)}")
    if unknown := row.keys() - table.columns.keys():
        raise Invalid(f"line {number}: {table.name!r} has no column {quote_value(min(unknown))}")
    size = 0
    for name, column in table.columns.items():
        value = row.get(name)
        kind: type = type(value)
        if value is None:
            if column.is_required:
                raise Invalid(f"line {number}: {name!r} of {table.name!r} is missing")
        elif kind is not column.kind:
            raise Invalid(
                f"line {number}: {name!r} of {table.name!r} must be {_TYPE_NAMES[column.kind]}, "
                f"not {quote_value(value)}"
            )
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
