"""Statements are named in Python and written in files: whatever is named exists, for both dialects, and runs."""

import ast
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest

import gatepost
from gatepost.stores.statements import PARAMETER, get_statement, read_statements
from gatepost.testing import Kit
from tests.support.collected_failures import CollectedFailures

SOURCE = Path(gatepost.__file__).parent
DIALECTS = ("sqlite", "postgres")
NAME = re.compile(r"[a-z_]+/[a-z_]+/[a-z_]+")
#: where a name begins or ends; a file without any names no statement, and is not parsed
PART_OF_NAME = re.compile(r"""["'][a-z_]+/|/[a-z_]+["']""")
#: the files of statements, by what their names begin with: `inbox/items`
FILES = {f"{path.parent.parent.name}/{path.stem}": path for path in sorted(SOURCE.glob("*/sql/*.sql"))}


@dataclass(frozen=True)
class Use:
    """Where a statement is named, and what it is given there, if that can be read."""

    name: str
    place: str
    given: frozenset[str] | None = None
    method: str = ""


@cache
def find_uses() -> tuple[Use, ...]:
    return tuple(_read_uses())


@cache
def list_names() -> tuple[str, ...]:
    """The names of all statements that the code uses."""
    return tuple(sorted({use.name for use in find_uses()}))


def _read_uses() -> Iterator[Use]:
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if path.is_relative_to(SOURCE / "testing") or not PART_OF_NAME.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Call(
                    func=ast.Attribute(
                        attr="fetch_one"
                        | "fetch_all"
                        | "fetch_page"
                        | "fetch_later"
                        | "execute"
                        | "execute_later"
                        | "execute_many"
                        | "execute_many_later"
                        | "many"
                        | "many_later" as method
                    )
                    | ast.Name("fetch_row" | "fetch_number" as method),
                    args=[ast.Constant(str(name)), *_] | [ast.Name("tx"), ast.Constant(str(name))],
                ) if NAME.fullmatch(name):
                    names = [given(keyword) for keyword in node.keywords]
                    is_known = "many" not in method and None not in names
                    parameters = frozenset().union(*filter(None, names)) if is_known else None
                    yield Use(name, f"{path.name}:{node.lineno}", parameters, method)
                case ast.Constant(str(name)) if NAME.fullmatch(name) and name.rpartition("/")[0] in FILES:
                    yield Use(name, f"{path.name}:{node.lineno}")


def given(keyword: ast.keyword) -> frozenset[str] | None:
    """Return the parameters of `name=...` or `**get_columns(noun, "name ...")`; None for anything else."""
    match keyword:
        case ast.keyword(arg=str(name)):
            return frozenset([name])
        case ast.keyword(value=ast.Call(func=ast.Name("get_columns"), args=[_, ast.Constant(str(names))])):
            return frozenset(names.split())
        case _:
            return None


def parameters(dialect: str, name: str) -> frozenset[str]:
    return frozenset(re.findall(PARAMETER, get_statement(dialect, name)))


def test_statements_are_found_in_the_code() -> None:
    assert {"inbox/items/insert", "inbox/item_changes/leave", "inbox/accounts/add", "inbox/claims/lapse"} <= set(
        list_names()
    )
    assert sum(use.given is not None for use in find_uses()) > 100


def test_a_statement_exists_for_both_dialects_with_the_same_parameters() -> None:
    with CollectedFailures() as failures:
        for name in list_names():
            with failures.check(name):
                assert parameters("sqlite", name) == parameters("postgres", name)


def test_a_statement_is_given_what_it_asks_for() -> None:
    with CollectedFailures() as failures:
        for use in find_uses():
            with failures.check(f"{use.place} {use.name}"):
                assert use.given is None or use.given == parameters("sqlite", use.name)


def test_every_statement_is_used_and_written_once() -> None:
    heads = [
        f"{noun}/{name}{dialect}"
        for noun, path in FILES.items()
        for name, dialect in re.findall(r"^-- name: (\w+)(.*)$", path.read_text(), re.MULTILINE)
    ]
    assert len(heads) == len(set(heads))
    heads = [head for head in heads if not head.endswith(" (part)")]
    both = {head for head in heads if "(" not in head}
    for dialect in DIALECTS:
        own = {head.removesuffix(f" ({dialect})") for head in heads if head.endswith(f" ({dialect})")}
        assert own.isdisjoint(both)
        assert own | both == set(list_names())


def test_every_part_is_in_several_statements_and_in_none_as_its_name() -> None:
    for noun in FILES:
        statements = read_statements(noun)
        for name in (name for name, kind in statements if kind == "part"):
            assert sum(f"{{{name}}}" in text for text in statements.values()) > 1, f"{noun}/{name}"
    assert [name for name in list_names() if re.search(r"\{[a-z_]+\}", get_statement("sqlite", name))] == []


def test_a_file_begins_with_a_statement() -> None:
    assert [noun for noun, path in FILES.items() if not path.read_text().startswith("-- name: ")] == []


def test_dialects_that_agree_share_the_statement() -> None:
    """Also when they differ only in what the macros write."""

    def words(text: str) -> list[str]:
        return re.sub(r"--[^\n]*|\bFOR UPDATE( OF \w+)?( SKIP LOCKED)?", "", text).split()

    twins = [
        (noun, name)
        for noun in FILES
        for (name, dialect), text in read_statements(noun).items()
        if dialect == "sqlite" and words(text) == words(read_statements(noun)[name, "postgres"])
    ]
    assert twins == []


def test_sqlite_counts_what_a_statement_has_changed() -> None:
    """Its driver does so only if the statement begins with what it does."""
    written = re.compile(r"INSERT|UPDATE|DELETE|REPLACE")
    counted = {use.name for use in find_uses() if "execute" in use.method or "many" in use.method}
    assert [name for name in sorted(counted) if not written.match(get_statement("sqlite", name))] == []


def test_a_list_and_a_lock_are_written_as_the_dialect_does() -> None:
    assert get_statement("sqlite", "inbox/events/lock").endswith(
        "WHERE arrival IN (SELECT value FROM json_each(:arrivals)) ORDER BY arrival"
    )
    assert get_statement("postgres", "inbox/events/lock").endswith(
        "WHERE arrival = ANY (:arrivals) ORDER BY arrival FOR UPDATE"
    )
    assert "source NOT IN (SELECT value FROM json_each(:seen_sources))" in get_statement(
        "sqlite", "inbox/items/list_source_heads"
    )
    assert "source <> ALL (:seen_sources)" in get_statement("postgres", "inbox/items/list_source_heads")
    assert get_statement("postgres", "plans/plans/take_due").endswith("FOR UPDATE OF p SKIP LOCKED")
    assert get_statement("sqlite", "plans/plans/take_due").endswith("LIMIT :limit")


def test_a_statement_is_one_statement() -> None:
    with CollectedFailures() as failures:
        for name in list_names():
            with failures.check(name):
                for dialect in DIALECTS:
                    assert ";" not in get_statement(dialect, name)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    file = tmp_path_factory.mktemp("statements") / "gatepost.db"
    with Kit(f"sqlite:///{file}") as kit:
        kit.store.close()
    with closing(sqlite3.connect(file)) as database:
        yield database


def test_sqlite_takes_every_statement(database: sqlite3.Connection) -> None:
    with CollectedFailures() as failures:
        for name in list_names():
            with failures.check(name):
                nothing: dict[str, Any] = dict.fromkeys(parameters("sqlite", name))
                database.execute("EXPLAIN " + get_statement("sqlite", name), nothing)


Explain = Callable[[str], list[str]]


@pytest.fixture
def explain(database: sqlite3.Connection) -> Explain:
    """Return the steps in which SQLite would run a statement."""

    def explain_statement(name: str) -> list[str]:
        nothing: dict[str, Any] = dict.fromkeys(parameters("sqlite", name))
        return [row[3] for row in database.execute("EXPLAIN QUERY PLAN " + get_statement("sqlite", name), nothing)]

    return explain_statement


@pytest.mark.parametrize(
    ("name", "index"),
    [
        *(
            (name, "PRIMARY KEY (recipient=?")
            for name in (
                "inbox/items/list_candidates",
                "inbox/items/peek",
                "inbox/items/count_pending",
                "residents/agents/is_ready",
                "inbox/inboxes/list_pending",
            )
        ),
        ("directory/entities/find_shown", "entities_display (display_key=?)"),
        ("inbox/items/read_states", "PRIMARY KEY (recipient=? AND dedup_key=?)"),
        ("inbox/items/find_longest_chains", "runs_open (agent=?)"),
        ("inbox/claims/end", "outgoing_arrival (arrival=?)"),
        ("mail/outgoing/find_by_event", "outgoing_event (event=?)"),
        ("mail/outgoing/has_worked_since", "outgoing_posts (sender=? AND created_at>?)"),
        ("mail/outgoing/list_awaited", "outgoing_arrival (arrival=?)"),
        ("mail/outgoing/list_posts", "outgoing_ref (ref_type=? AND ref_id=? AND number>?)"),
        ("mail/outgoing/list_sent", "outgoing_sender (sender=?)"),
        ("mail/outgoing/list_states", "pending_event (arrival=?"),
        ("mail/outgoing/list_thread", "outgoing_thread (thread=?)"),
        ("mail/outgoing/list_thread", "outgoing_ref (ref_type=? AND ref_id=?)"),
        ("mail/outgoing/take_overdue", "outgoing_deadline (ack_deadline<?)"),
    ],
)
def test_sqlite_finds_what_it_looks_for_without_reading_what_was_delivered(
    explain: Explain, name: str, index: str
) -> None:
    plan = explain(name)
    assert any(f"INDEX {index}" in step or f"USING {index}" in step for step in plan)
    assert not any(step.endswith("past USING PRIMARY KEY (recipient=?)") for step in plan)


def test_sqlite_reads_no_inbox_from_end_to_end_for_a_few_of_its_items(explain: Explain) -> None:
    """It has no statistics but those of the migration, and takes the rows of one inbox for few."""
    names = ["leave", "remove_pending", "remove_past", "replay", "hide", "unhide", "mark_pending_seen"]
    with CollectedFailures() as failures:
        for name in [*(f"inbox/item_changes/{name}" for name in names), "inbox/items/read", "inbox/items/list_since"]:
            with failures.check(name):
                searches = [step for step in explain(name) if re.search(r"SEARCH (pending|past)\b", step)]
                assert searches
                assert [step for step in searches if "arrival" not in step] == []


def test_sqlite_reads_no_table_of_what_was_sent_from_end_to_end(explain: Explain) -> None:
    """These tables only grow, and whoever acks or sends waits for the statement."""
    with CollectedFailures() as failures:
        for name in list_names():
            if name.startswith("mail/outgoing/"):
                with failures.check(name):
                    scans = [step for step in explain(name) if re.match(r"SCAN ([oriebx]|outgoing|items)\b", step)]
                    assert scans == []


def test_postgres_takes_every_statement(empty_postgres_url: str) -> None:
    with psycopg.connect(empty_postgres_url, autocommit=True) as database, CollectedFailures() as failures:
        for name in list_names():
            with failures.check(name):
                answer = database.pgconn.prepare(b"", numbered(get_statement("postgres", name)).encode())
                assert answer.status == psycopg.pq.ExecStatus.COMMAND_OK, answer.error_message.decode()


def numbered(text: str) -> str:
    """A statement with its parameters as the server knows them: $1, $2, ..."""
    names = list(dict.fromkeys(re.findall(PARAMETER, text)))
    return re.sub(PARAMETER, lambda match: f"${names.index(match[1]) + 1}", text)
