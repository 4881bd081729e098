"""
Tables as such: statements about any of them, made from the database's own catalog.

Pages go by primary key, in its order, and read the table itself and no index: they are as fast at the end of a large
table as at its beginning, and a damaged index does not matter to them.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from gatepost.core.ports import Reader, Transaction
from gatepost.stores.row_mapping import fetch_row, is_boolean
from gatepost.stores.statements import Sql

_KINDS: Final[Mapping[str, type]] = {
    **dict.fromkeys(("smallint", "integer", "bigint"), int),
    "boolean": bool,
    "text": str,
}
#: the last numbers that were given
COUNTERS: Final = ("arrival", "broadcast", "ledger", "shared")
#: the values of a primary key
Key = tuple[Any, ...]


class Column(NamedTuple):
    name: str
    kind: type
    is_required: bool
    #: the table that it refers to, and the primary key of that
    parent: str | None
    parent_key: str
    #: how a statement for many rows takes its values
    incoming: str
    #: where PostgreSQL takes its numbers from
    sequence: str | None

    def select_parent(self, value: str) -> str:
        return f'(SELECT p."{self.parent_key}" FROM "{self.parent}" p WHERE p."{self.parent_key}" = {value})'


class Table(NamedTuple):
    name: str
    columns: Mapping[str, Column]
    #: the names of the columns of the primary key
    key: Sequence[str]

    def key_of(self, row: Mapping[str, Any]) -> Key:
        return tuple(row[name] for name in self.key)


def read_tables(tx: Reader, names: Sequence[str]) -> dict[str, Table]:
    """Return those of these tables that exist, in this order; what else is in the database is not ours."""
    rows = groupby(tx.fetch_all("export/catalog/list_columns"), lambda row: str(row.table_name))
    described = {name: list(columns) for name, columns in rows if name in names}
    keys = {
        name: [row.column_name for row in sorted(columns, key=lambda row: int(row.key_place)) if row.key_place]
        for name, columns in described.items()
    }
    tables = {}
    for name in sorted(described, key=names.index):
        columns = {
            row.column_name: Column(
                row.column_name,
                bool if is_boolean(row.column_name) else _KINDS[row.type],
                bool(row.is_required or row.key_place),
                row.parent,
                keys.get(row.parent, [""])[0],
                row.incoming,
                row.sequence,
            )
            for row in described[name]
        }
        tables[name] = Table(name, columns, keys[name])
    return tables


def has_rows(tx: Reader, table: Table) -> bool:
    return tx.fetch_one(Sql(f'SELECT TRUE AS has_rows FROM "{table.name}" LIMIT 1')) is not None


def read_page(
    tx: Reader, table: Table, after: Key | None, limit: int, *, backwards: bool = False
) -> list[dict[str, Any]]:
    """Return the rows after a key, or those before it, the last first: as many as the limits of the page allow."""
    keys, order = _quote(table.key), " DESC" if backwards else ""
    start = f"WHERE ({keys}) {'<' if backwards else '>'} (:{', :'.join(table.key)})" if after is not None else ""
    by = ", ".join(f'"{name}"{order}' for name in table.key)
    text = f'SELECT {_quote(table.columns)} FROM "{table.name}" {start} ORDER BY {by} LIMIT :limit'
    parameters = dict(zip(table.key, after or (), strict=False))
    return [dict(zip(row.columns, row, strict=True)) for row in tx.fetch_page(Sql(text), **parameters, limit=limit)]


def insert_rows(tx: Transaction, table: Table, rows: Sequence[Mapping[str, Any]]) -> int:
    """Insert those rows whose references exist, and return how many; those within the table are not looked at."""
    others = [column for column in table.columns.values() if column.parent and column.parent != table.name]
    conditions = [
        f'(r."{column.name}" IS NULL OR EXISTS {column.select_parent(_quote_incoming(column))})' for column in others
    ]
    return _insert(tx, table, rows, {}, conditions)


def insert_repaired(tx: Transaction, table: Table, rows: Sequence[Mapping[str, Any]]) -> int:
    """
    The same, but a reference to a missing row is left empty if it may be. Rows that the same call inserts count as
    missing.
    """
    references = [column for column in table.columns.values() if column.parent]
    parents = {column: column.select_parent(_quote_incoming(column)) for column in references}
    values = {column.name: parent for column, parent in parents.items() if not column.is_required}
    conditions = [f"EXISTS {parent}" for column, parent in parents.items() if column.is_required]
    return _insert(tx, table, rows, values, conditions)


def _insert(
    tx: Transaction,
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    values: Mapping[str, str],
    conditions: Sequence[str],
) -> int:
    selection = ", ".join(values.get(name, _quote_incoming(column)) for name, column in table.columns.items())
    source = ", ".join(f'{column.incoming} AS "{name}"' for name, column in table.columns.items())
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    text = (
        f'INSERT INTO "{table.name}" ({_quote(table.columns)}) SELECT {selection} FROM (SELECT {source}) AS r {where}'
    )
    return tx.execute_many(Sql(text), {name: [row.get(name) for row in rows] for name in table.columns})


def set_reference(tx: Transaction, table: Table, key: Key, column: Column, value: Any) -> bool:
    """Let a row refer to another of its table; return False if that row does not exist."""
    where = " AND ".join(f'"{name}" = :{name}' for name in table.key)
    exists = "EXISTS " + column.select_parent(f":{column.name}")
    text = f'UPDATE "{table.name}" SET "{column.name}" = :{column.name} WHERE {where} AND {exists}'
    return tx.execute(Sql(text), **dict(zip(table.key, key, strict=True)), **{column.name: value}) == 1


def has_parent(tx: Transaction, column: Column, value: Any) -> bool:
    return (
        tx.fetch_one(Sql("SELECT TRUE AS has_parent WHERE EXISTS " + column.select_parent(":value")), value=value)
        is not None
    )


def set_savepoint(tx: Transaction) -> None:
    tx.execute(Sql("SAVEPOINT batch"))


def leave_savepoint(tx: Transaction, *, keep: bool) -> None:
    """Go on with what was done since the savepoint, or without it."""
    if not keep:
        tx.execute(Sql("ROLLBACK TO batch"))
    tx.execute(Sql("RELEASE batch"))


def lock_tables(tx: Transaction, tables: Sequence[str]) -> None:
    """Let nobody else write until the commit, however long that takes."""
    for row in tx.fetch_all("export/catalog/list_preparations"):
        tx.execute(Sql(row.text.format(_quote(tables))))


def delete_rows(tx: Transaction, table: Table) -> None:
    tx.execute(Sql(f'DELETE FROM "{table.name}"'))


def set_sequences(tx: Transaction, table: Table) -> None:
    """Let PostgreSQL go on after the numbers that were inserted; SQLite does so by itself."""
    for column in table.columns.values():
        if column.sequence is not None:
            tx.fetch_one(Sql(f'SELECT setval(\'{column.sequence}\', max("{column.name}")) FROM "{table.name}"'))


def read_counters(tx: Reader) -> list[dict[str, Any]]:
    return [{"name": row.name, "value": row.value} for row in tx.fetch_all("export/catalog/read_counters")]


def set_counters(tx: Transaction, counters: Mapping[str, int]) -> None:
    """Set the last numbers that were given, to those of the rows at least."""
    tx.execute("export/catalog/set_counters", **{name: counters.get(name, 0) for name in COUNTERS})


def write_counters(tx: Transaction, counters: Mapping[str, int]) -> None:
    """Set the counters that an older schema has, on SQLite."""
    for name, value in counters.items():
        tx.execute(Sql("UPDATE counters SET value = :value WHERE name = :name"), name=name, value=value)


def count_occupants(tx: Reader, administrator: str) -> tuple[int, int, int]:
    """Count the entities except the administrator, their keys, and the leases that have a holder."""
    row = fetch_row(tx, "export/catalog/count_occupants", administrator=administrator, now=tx.now)
    return row.others, row.keys, row.leases


def repair(tx: Transaction) -> None:
    """Change the inserted rows so that accounts balance, and every item and event belongs to an inbox."""
    for statement in (
        "export/repairs/items",
        "export/repairs/taken_items",
        "export/repairs/dedup_keys",
        "export/repairs/events",
        "export/repairs/names",
        "export/repairs/inboxes",
        "export/repairs/accounts",
    ):
        tx.execute(statement)


def _quote_incoming(column: Column) -> str:
    return f'r."{column.name}"'


def _quote(names: Sequence[str] | Mapping[str, Any]) -> str:
    return ", ".join(f'"{name}"' for name in names)
