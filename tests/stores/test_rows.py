"""Every statement runs on both databases and gives the same rows, whose columns have names; booleans are booleans."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from gatepost.core.ports import Row
from gatepost.directory.entity import EntityKind
from gatepost.guests.session import GuestSession
from gatepost.operations.discovery import find_modules
from gatepost.stores.postgres import PostgresConnection, PostgresStore
from gatepost.stores.row_mapping import Mapper, RowMaker, is_boolean, make_row_type
from gatepost.stores.sqlite import SqliteConnection, SqliteStore
from gatepost.stores.statements import PARAMETER, get_statement
from gatepost.testing import FakeClock
from tests.stores.statement_samples import BEFORE, NUMBERS, SAMPLES, TEXTS
from tests.stores.table_rows import ROWS
from tests.stores.test_statements import find_uses, list_names, numbered
from tests.support.collected_failures import CollectedFailures
from tests.support.servers.private_servers import Postgres

BOOL, BOOLS, INTS = 16, {16, 1000}, {20, 21, 23}
INT_LISTS, TEXT_LIST = {1005, 1007, 1016}, 1009

#: statements whose rows differ: numbers that one database does not give or take back, other JSON, names of types
DIFFERENT = {
    "inbox/arrivals/take",
    "export/catalog/list_columns",
    "export/catalog/read_counters",
    "inbox/events/read_watermark",
    "reports/history/read_store_size",
    "inbox/items/list_since",
    "spaces/members/list_first",
}
#: statements that give rows on PostgreSQL only, where more has to be done
ONLY_POSTGRES = {"export/catalog/list_preparations", "export/catalog/set_counters"}


@dataclass(frozen=True)
class Shape:
    """What PostgreSQL says of a statement: its parameters and its columns, each with the number of its type."""

    parameters: dict[str, int]
    columns: dict[str, int]


@dataclass(frozen=True)
class Databases:
    """Both databases, with the same rows in them."""

    lite: SqliteConnection
    post: PostgresConnection
    shapes: dict[str, Shape]
    #: the statements that take a list for each parameter
    batched_names: frozenset[str]

    def run(self, name: str) -> tuple[list[Row], list[Row]]:
        """Run a statement on both, and undo what it did."""
        shape = self.shapes[name]
        sample = {parameter: value(parameter, kind) for parameter, kind in shape.parameters.items()}
        for parameter, given in SAMPLES.get(name, {}).items():
            if parameter in sample:
                sample[parameter] = (
                    [given] if isinstance(sample[parameter], list) and not isinstance(given, list) else given
                )
        found: list[list[Row]] = []
        for connection in (self.lite, self.post):
            connection.begin()
            try:
                for text in BEFORE.get(name, ()):
                    connection._execute(text)
                if shape.columns:
                    found.append(connection.all(name, sample))
                    continue
                run = connection.many if name in self.batched_names else connection.run
                assert run(name, sample) >= 0
                found.append([])
            finally:
                connection.abandon()
        return found[0], found[1]


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> Iterator[Databases]:
    file = tmp_path_factory.mktemp("rows") / "gatepost.db"
    with postgres.create_migrated_database() as url:
        with closing(SqliteStore(file, clock=FakeClock())) as store:
            store.migrate()
        with closing(sqlite3.connect(file)) as lite, psycopg.connect(url, autocommit=True) as post:
            for table, row in ROWS.items():
                head = f"INSERT INTO {table} ({', '.join(row)}) VALUES"
                lite.execute(f"{head} ({', '.join('?' * len(row))})", [*row.values()])
                post.execute(f"{head} ({', '.join(['%s'] * len(row))})".encode(), [*row.values()])
            for connection in (lite, post):
                connection.execute("UPDATE counters SET value = 1")
            for table in (
                table for table, row in ROWS.items() if "number" in row and table not in ("broadcasts", "steps")
            ):
                post.execute("SELECT setval(pg_get_serial_sequence(%s, 'number'), 1)", (table,))
            post.execute("SELECT setval('arrivals', 1)")
            lite.commit()
            shapes = {name: describe(post, name) for name in list_names()}
        with (
            closing(SqliteStore(file, clock=FakeClock()).connect(writes=True)) as ours,
            closing(PostgresStore(url, clock=FakeClock()).connect(writes=True)) as theirs,
        ):
            batched_names = frozenset(use.name for use in find_uses() if "many" in use.method)
            yield Databases(ours, theirs, shapes, batched_names)


def describe(connection: psycopg.Connection[Any], name: str) -> Shape:
    text = get_statement("postgres", name)
    names = list(dict.fromkeys(re.findall(PARAMETER, text)))
    connection.pgconn.prepare(name.encode(), numbered(text).encode())
    said = connection.pgconn.describe_prepared(name.encode())
    columns = [(said.fname(place) or b"").decode() for place in range(said.nfields)]
    assert len(set(columns)) == len(columns), f"{name} has two columns of one name: {columns}"
    return Shape(
        {parameter: said.param_type(place) for place, parameter in enumerate(names)},
        {column: said.ftype(place) for place, column in enumerate(columns)},
    )


def value(parameter: str, kind: int) -> Any:
    """A value that such a parameter may have."""
    if kind in INT_LISTS:
        return [NUMBERS.get(parameter, 1)]
    if kind == TEXT_LIST:
        return [TEXTS.get(parameter, "x")]
    if kind in BOOLS:
        return True if kind == BOOL else [True]
    return NUMBERS.get(parameter, 1) if kind in INTS else TEXTS.get(parameter, "x")


#: whatever runs statements: rows, the verbs of small nouns, and handlers that only report
MODULES = tuple(module for layer in ("rows", "actions", "handlers") for module in find_modules(layer))
#: the fields that are read by `Mapper`, or by the names that a named tuple has
FIELDS = {*GuestSession._fields} | {
    field
    for module in MODULES
    for value in vars(import_module(module)).values()
    for mapper in (value, getattr(value, "__self__", None))
    if isinstance(mapper, Mapper)
    for field in mapper.fields
}


def test_only_statements_that_exist_are_prepared_for() -> None:
    assert {*SAMPLES, *BEFORE, *DIFFERENT, *ONLY_POSTGRES} <= set(list_names())


def test_both_databases_give_the_same_rows(databases: Databases) -> None:
    with CollectedFailures() as failures:
        for name in list_names():
            if name not in ONLY_POSTGRES:
                with failures.check(name):
                    check_rows(databases, name)


def check_rows(databases: Databases, name: str) -> None:
    columns = databases.shapes[name].columns
    lite, post = databases.run(name)

    if columns:
        assert lite, "the statement gave no row: choose other parameters, or change the rows first"
        assert {row.columns for row in (*lite, *post)} == {tuple(columns)}
    for row in lite:
        booleans = {column for column in columns if isinstance(getattr(row, column), bool)}
        assert booleans == {column for column, kind in columns.items() if kind == BOOL}
    if name not in DIFFERENT and not get_statement("sqlite", name).startswith("INSERT"):
        assert [*map(tuple, lite)] == [*map(tuple, post)]


def test_columns_that_are_true_or_false_are_known_by_their_names(databases: Databases) -> None:
    kinds = {(column, kind == BOOL) for shape in databases.shapes.values() for column, kind in shape.columns.items()}
    assert {column for column, is_bool in kinds if is_bool != is_boolean(column)} == set()


def test_every_column_is_read_somewhere(databases: Databases) -> None:
    """A column is the field of a noun, is asked of a row by its name, is the only one, or only says there is a row."""
    modules = (*MODULES, "gatepost.stores.statements")
    code = " ".join(Path(str(import_module(module).__file__)).read_text() for module in modules)
    known = FIELDS | set(re.findall(r"\brow\.([a-z_]+)", code))
    single = {use.name for use in find_uses() if use.method == "fetch_number"}
    assert {len(databases.shapes[name].columns) for name in single} == {1}
    names = [name for name in list_names() if name not in {*ONLY_POSTGRES, *single} and not is_question(name)]
    columns = {column for name in names for column in databases.shapes[name].columns}
    assert columns - known == set()


def is_question(name: str) -> bool:
    return get_statement("sqlite", name).startswith("SELECT TRUE AS ")


class TestRowMaker:
    class Told:
        description = (("name", None), ("is_alias", None))

    def test_a_row_is_read_by_name_and_unpacked(self) -> None:
        [row] = RowMaker(convert_booleans=True).make_all(self.Told(), [("ann", 1)])
        assert (row.name, row.is_alias) == ("ann", True)
        name, is_alias = row
        assert (name, is_alias) == ("ann", True)

    def test_what_is_unknown_stays_so(self) -> None:
        [row] = RowMaker(convert_booleans=True).make_all(self.Told(), [("ann", None)])
        assert row.is_alias is None

    def test_columns_are_asked_for_once(self) -> None:
        maker = RowMaker()
        [first] = maker.make_all(self.Told(), [("ann", True)])
        [second] = maker.make_all(cast(Any, object()), [("bob", False)])
        assert type(first) is type(second)

    @pytest.mark.parametrize("columns", [("name", "name"), ("count(*)",), ("?column?",)])
    def test_columns_without_a_name_of_their_own_are_refused(self, columns: tuple[str, ...]) -> None:
        with pytest.raises(ValueError, match="names of their own"):
            make_row_type(columns)


class TestMapper:
    @dataclass(frozen=True)
    class Noun:
        name: str
        kind: EntityKind
        former: EntityKind | None = None
        aliases: tuple[str, ...] = ()

    def test_a_noun_is_made_by_names_in_whatever_order(self) -> None:
        row = make_row_type(("number", "kind", "former", "name"))((1, "agent", None, "ann"))
        noun = Mapper(self.Noun, without="aliases").read(row, aliases=("a",))
        assert noun == self.Noun("ann", EntityKind.AGENT, None, ("a",))

    def test_a_row_needs_all_fields_but_those_apart(self) -> None:
        row = make_row_type(("name", "kind"))(("ann", "agent"))
        with pytest.raises(ValueError, match="former"):
            Mapper(self.Noun, without="aliases").read(row)
