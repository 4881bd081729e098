"""Statements are named in Python and written in files: whatever is named exists, for both dialects, and runs."""

import ast
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

import gatepost
from gatepost.tables.statements import PARAMETER, statement
from gatepost.testing import Kit

SOURCE = Path(gatepost.__file__).parent
SQL = SOURCE / "tables" / "sql"
DIALECTS = ("sqlite", "postgres")
NAME = re.compile(r"[a-z_]+/[a-z_]+")


@dataclass(frozen=True)
class Use:
    """Where a statement is named, and what it is given there, if that can be read."""

    name: str
    place: str
    given: frozenset[str] | None = None


def uses() -> Iterator[Use]:
    folders = {path.name for path in (*SQL.iterdir(), *SQL.glob("*/*")) if path.is_dir()}
    for path in sorted(SOURCE.rglob("*.py")):
        if path.is_relative_to(SOURCE / "testing"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="fetch_one" | "fetch_all" | "fetch_page" | "execute"),
                    args=[ast.Constant(str(name))],
                ):
                    names = [given(keyword) for keyword in node.keywords]
                    if NAME.fullmatch(name) and None not in names:
                        yield Use(name, f"{path.name}:{node.lineno}", frozenset().union(*filter(None, names)))
                case ast.Constant(str(name)) if NAME.fullmatch(name) and name.partition("/")[0] in folders:
                    yield Use(name, f"{path.name}:{node.lineno}")


def given(keyword: ast.keyword) -> frozenset[str] | None:
    """The names that a statement is given by `name=...`, or by `**columns(noun, "name ...")`; None by anything else."""
    match keyword:
        case ast.keyword(arg=str(name)):
            return frozenset([name])
        case ast.keyword(value=ast.Call(func=ast.Name("columns"), args=[_, ast.Constant(str(names))])):
            return frozenset(names.split())
        case _:
            return None


USES = list(uses())
NAMES = sorted({use.name for use in USES})


def parameters(dialect: str, name: str) -> frozenset[str]:
    return frozenset(PARAMETER.findall(statement(dialect, name)))


def test_statements_are_found_in_the_code() -> None:
    assert {"items/insert", "items/take", "tallies/add", "claims/lapse"} <= set(NAMES)
    assert sum(use.given is not None for use in USES) > 100


@pytest.mark.parametrize("name", NAMES)
def test_a_statement_exists_for_both_dialects_with_the_same_parameters(name: str) -> None:
    assert parameters("sqlite", name) == parameters("postgres", name)


@pytest.mark.parametrize(
    "use", [use for use in USES if use.given is not None], ids=lambda use: f"{use.place} {use.name}"
)
def test_a_statement_is_given_what_it_asks_for(use: Use) -> None:
    assert use.given == parameters("sqlite", use.name)


def test_every_file_is_used_and_none_is_hidden_by_another() -> None:
    files = {path.relative_to(SQL).with_suffix("").as_posix() for path in SQL.rglob("*.sql")}
    shared = {name for name in files if not name.startswith(tuple(f"{dialect}/" for dialect in DIALECTS))}
    for dialect in DIALECTS:
        own = {name.removeprefix(f"{dialect}/") for name in files if name.startswith(f"{dialect}/")}
        assert own.isdisjoint(shared)
        assert own | shared == set(NAMES)


def test_dialects_that_agree_share_the_file() -> None:
    def words(name: str) -> list[str]:
        return re.sub(r"--[^\n]*", "", (SQL / name).read_text()).split()

    twins = {path.relative_to(SQL / "sqlite") for path in (SQL / "sqlite").rglob("*.sql")}
    assert [twin for twin in twins if words(f"sqlite/{twin}") == words(f"postgres/{twin}")] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_statement_is_one_statement(name: str) -> None:
    for dialect in DIALECTS:
        assert ";" not in statement(dialect, name)


def test_sqlite_takes_every_statement(tmp_path: Path) -> None:
    with Kit(f"sqlite:///{tmp_path}/gatepost.db") as kit:
        kit.store.close()
    database = sqlite3.connect(tmp_path / "gatepost.db")
    try:
        for name in NAMES:
            nothing: dict[str, Any] = dict.fromkeys(parameters("sqlite", name))
            database.execute("EXPLAIN " + statement("sqlite", name), nothing)
    finally:
        database.close()


@pytest.mark.parametrize(
    ("name", "index"),
    [
        *(
            (name, "items_pending (recipient=?")
            for name in ("items/candidates", "items/peek", "items/waiting", "agents/stirring", "inboxes/awaiting")
        ),
        ("items/known", "items_key (recipient=? AND dedup_key=?)"),
        ("items/chains", "runs_open (agent=?)"),
    ],
)
def test_sqlite_finds_what_it_looks_for_without_reading_what_was_delivered(
    tmp_path: Path, name: str, index: str
) -> None:
    with Kit(f"sqlite:///{tmp_path}/gatepost.db") as kit:
        kit.store.close()
    database = sqlite3.connect(tmp_path / "gatepost.db")
    try:
        nothing: dict[str, Any] = dict.fromkeys(parameters("sqlite", name))
        plan = [row[3] for row in database.execute("EXPLAIN QUERY PLAN " + statement("sqlite", name), nothing)]
    finally:
        database.close()

    assert any(f"INDEX {index}" in step for step in plan)
    assert not any(step.endswith("USING PRIMARY KEY (recipient=?)") for step in plan)


def test_postgres_takes_every_statement(postgres_url: str) -> None:
    with Kit(postgres_url) as kit:
        kit.store.close()
    with psycopg.connect(postgres_url, autocommit=True) as database:
        for name in NAMES:
            answer = database.pgconn.prepare(b"", numbered(statement("postgres", name)).encode())
            assert answer.status == psycopg.pq.ExecStatus.COMMAND_OK, f"{name}: {answer.error_message.decode()}"


def numbered(text: str) -> str:
    """A statement with its parameters as the server knows them: $1, $2, ..."""
    names = list(dict.fromkeys(PARAMETER.findall(text)))
    return PARAMETER.sub(lambda match: f"${names.index(match[1]) + 1}", text)
