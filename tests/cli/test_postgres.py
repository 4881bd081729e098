"""The same commands on PostgreSQL."""

import os
import subprocess

import psycopg
import pytest

from gatepost.app import open_store
from gatepost.stores.postgres import PostgresConnection
from tests.support.command_line import GATEPOST_COMMAND, CommandLine
from tests.support.processes.fork_server import ForkedProcess
from tests.support.waits import LAST_RESORT


def test_a_walk(empty_cli: CommandLine, postgres_url: str) -> None:
    empty_cli.environ["GATEPOST_STORE"] = postgres_url
    add_result = empty_cli.run_ok("agent", "add", "analyst")
    assert "made a new store: postgresql://postgres@127.0.0.1" in add_result.err
    assert not empty_cli.home.exists()
    empty_cli.push("--to", "analyst", "hello", "--data", '{"n": 1}', "--ref", "task:1", "--dedup-key", "k")
    empty_cli.push("--broadcast", "all")
    assert empty_cli.run_ok("inbox", "push", "--to", "analyst", "--dedup-key", "k", "x").err.startswith("a repeat")
    assert len(empty_cli.run_ok("inbox", "list", "--to", "*", "--ref", "task:1", "--since", "1h", "--json").json) == 1
    assert empty_cli.run_ok("inbox", "drain", "--to", "analyst").out.splitlines()[1:] == [
        '[Event: cli] "hello" {"n":1}',
        '[Event: cli] "all"',
    ]
    empty_cli.run_ok(
        "inbox", "replay", empty_cli.run_ok("inbox", "list", "--to", "analyst", "--all", "--json").json[0]["eventId"]
    )
    empty_cli.run_ok("export", "out.jsonl")
    assert empty_cli("import", "out.jsonl").error.startswith("the store is not empty: it has ")
    store = "sqlite:///moved.db"
    rows = empty_cli.run_ok("import", "out.jsonl", "--json", GATEPOST_STORE=store).json["rows"]
    assert rows["pending"] + rows["past"] == 3
    assert empty_cli("doctor", GATEPOST_STORE=store).code == 0
    # the server of the tests does not wait for the disk
    findings = {finding["check"]: finding for finding in empty_cli("doctor", "--json").json}
    assert [name for name, finding in findings.items() if not finding["ok"]] == ["disk"]
    assert findings["disk"]["detail"].startswith("fsync off, full_page_writes on, synchronous_commit ")


def test_two_processes_at_once_make_one_store(empty_cli: CommandLine, postgres_url: str) -> None:
    environ = os.environ | empty_cli.environ | {"GATEPOST_STORE": postgres_url}
    processes = [
        ForkedProcess(
            [*GATEPOST_COMMAND, "person", "add", f"p{number}"],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in range(3)
    ]
    for process in processes:
        _, err = process.communicate(timeout=LAST_RESORT)
        assert process.returncode == 0, err
    people = empty_cli.run_ok("person", "list", GATEPOST_STORE=postgres_url).out
    assert [people.count(name) for name in ("p0", "p1", "p2")] == [2, 2, 2]


def test_reading_makes_no_tables(empty_cli: CommandLine, postgres_url: str) -> None:
    result = empty_cli("person", "list", GATEPOST_STORE=postgres_url)
    assert result.code == 3
    assert result.error.startswith("there is no store yet: postgresql://")
    with psycopg.connect(postgres_url) as db:
        assert db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall() == []


def test_a_database_without_our_right_to_make_tables(empty_cli: CommandLine, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as db:
        role = f"reader_{db.info.dbname}"
        db.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'hush'".encode())
    address = postgres_url.partition("@")[2]
    result = empty_cli("agent", "add", "x", GATEPOST_STORE=f"postgresql://{role}:hush@{address}")
    assert (result.code, result.out) == (3, "")
    assert result.error.startswith("PostgreSQL cannot do it now: permission denied")
    assert "hush" not in result.err
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(f"DROP ROLE {role}".encode())


@pytest.mark.parametrize(("default", "effective"), [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")])
def test_a_commit_waits_for_the_disk_whatever_the_default_of_the_server(
    postgres_url: str, default: str, effective: str
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as db:
        name = db.info.dbname
        db.execute(f"ALTER DATABASE {name} SET synchronous_commit = {default}".encode())
    connection = PostgresConnection(postgres_url, writes=True, use_database_time=True)
    connection.begin()
    try:
        assert connection._execute("SHOW synchronous_commit").fetchall() == [(effective,)]
    finally:
        connection.close()
    store = open_store(postgres_url)
    detail = f"fsync off, full_page_writes on, synchronous_commit {default}"
    assert store.check_durability() == (False, detail + ("" if default == effective else " (on for Gatepost)"))
    store.close()
