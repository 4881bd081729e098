"""The same commands on PostgreSQL."""

import os

import psycopg
import pytest

from gatepost.adapters.stores.postgres import PostgresConnection
from gatepost.app import open_store
from tests.acceptance.office import Office


def test_a_walk(gatepost: Office, postgres_url: str) -> None:
    gatepost.environ["GATEPOST_STORE"] = postgres_url
    added = gatepost.done("agent", "add", "analyst")
    assert "made a new store: postgresql://postgres@127.0.0.1" in added.err
    assert not gatepost.home.exists()
    gatepost.push("--to", "analyst", "hello", "--data", '{"n": 1}', "--ref", "task:1", "--dedup-key", "k")
    gatepost.push("--broadcast", "all")
    assert gatepost.done("inbox", "push", "--to", "analyst", "--dedup-key", "k", "x").err.startswith("a repeat")
    assert len(gatepost.done("inbox", "list", "--to", "*", "--ref", "task:1", "--since", "1h", "--json").json) == 1
    assert gatepost.done("inbox", "drain", "--to", "analyst").out.splitlines()[1:] == [
        '[Event: cli] "hello" {"n":1}',
        '[Event: cli] "all"',
    ]
    gatepost.done(
        "inbox", "replay", gatepost.done("inbox", "list", "--to", "analyst", "--all", "--json").json[0]["eventId"]
    )
    gatepost.done("export", "out.jsonl")
    assert gatepost.done("import", "out.jsonl", "--json").json["items"] == 0
    # the server of the tests does not wait for the disk
    found = {finding["check"]: finding for finding in gatepost("doctor", "--json").json}
    assert [name for name, finding in found.items() if not finding["ok"]] == ["disk"]
    assert found["disk"]["detail"].startswith("fsync off, full_page_writes on, synchronous_commit ")


def test_two_processes_at_once_make_one_store(gatepost: Office, postgres_url: str) -> None:
    import subprocess

    from tests.acceptance.office import PROGRAM

    environ = os.environ | gatepost.environ | {"GATEPOST_STORE": postgres_url}
    both = [
        subprocess.Popen([*PROGRAM, "person", "list"], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for process in both:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert out.count(b"admin") == 1


def test_a_database_without_our_right_to_make_tables(gatepost: Office, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as db:
        role = f"reader_{db.info.dbname}"
        db.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'hush'".encode())
    address = postgres_url.partition("@")[2]
    ended = gatepost("agent", "list", GATEPOST_STORE=f"postgresql://{role}:hush@{address}")
    assert (ended.code, ended.out) == (3, "")
    assert ended.error.startswith("PostgreSQL cannot do it now: permission denied")
    assert "hush" not in ended.err
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(f"DROP ROLE {role}".encode())


@pytest.mark.parametrize(("default", "ours"), [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")])
def test_a_commit_waits_for_the_disk_whatever_the_default_of_the_server(
    postgres_url: str, default: str, ours: str
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as db:
        name = db.info.dbname
        db.execute(f"ALTER DATABASE {name} SET synchronous_commit = {default}".encode())
    connection = PostgresConnection(postgres_url, writes=True, use_database_time=True)
    connection.begin()
    try:
        assert connection._execute("SHOW synchronous_commit").fetchall() == [(ours,)]
    finally:
        connection.close()
    store = open_store(postgres_url)
    detail = f"fsync off, full_page_writes on, synchronous_commit {default}"
    assert store.check_durability() == (False, detail + ("" if default == ours else " (on for Gatepost)"))
    store.close()
