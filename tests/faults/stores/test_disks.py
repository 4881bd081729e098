"""SQLite when the disk is full, or somebody else has the file: callers are told, and the same store goes on later."""

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from gatepost.app import parse_sqlite_path
from gatepost.errors import Unavailable
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.inbox.event import Push
from gatepost.stores import sqlite
from gatepost.stores.clock import SystemClock
from gatepost.stores.sqlite import SqliteConnection, SqliteStore
from tests.faults.crew_store import CREW, open_database
from tests.faults.stores import journal, rounds
from tests.faults.stores.audit import audit, drain_and_audit
from tests.faults.stores.journaled_client import JournaledClient, build_push, run_together
from tests.faults.stores.worker_process import WorkerProcess

#: what SQLite has by itself
NO_LIMIT = 1_073_741_823


class SmallDiskStore(SqliteStore):
    """A store whose disk has only so many pages."""

    max_pages = NO_LIMIT

    def connect(self, *, writes: bool) -> SqliteConnection:
        store = self

        class Connection(SqliteConnection):
            def begin(self, waited: float = 0.0) -> None:
                super().begin(waited)
                self._execute(f"PRAGMA max_page_count = {store.max_pages}")

        return Connection(self._path, self._identity, busy_timeout=self._busy_timeout, writes=writes)


@contextmanager
def open_small_store(url: str, folder: Path, **options: float) -> Iterator[tuple[SmallDiskStore, JournaledClient]]:
    with closing(SmallDiskStore(parse_sqlite_path(url), clock=SystemClock(), **options)) as store:
        client = JournaledClient(store, folder, "here")
        yield store, client


async def test_a_disk_that_is_full_for_a_while(sqlite_crew_url: str, tmp_path: Path) -> None:
    """Under load: some are told, nothing of theirs is there and nothing rang; with more room the same store goes on."""
    errors: list[Unavailable] = []

    async def run_caller(number: int) -> None:
        for turn in range(20):
            name, address = f"{number}-{turn}", ("team:crew", *CREW)[(number + turn) % 4]
            push = Push(to=address, source="clerk", content=name, dedup_key=name, data={"filling": "x" * 2_000})
            try:
                await client.push_async(push)
            except Unavailable as error:
                errors.append(error)

    with open_small_store(sqlite_crew_url, tmp_path) as (store, client):
        store.max_pages = count_pages(sqlite_crew_url) + 60
        await asyncio.gather(*(run_caller(number) for number in range(20)))
        assert client.answer_count > 20
        assert len(errors) > 20
        assert {error.hint for error in errors} == {"make room; nothing was stored"}
        audit(sqlite_crew_url, tmp_path)
        await client.drain_async("ana")  # what needs no room still works

        store.max_pages = NO_LIMIT
        answers, failures = client.answer_count, len(errors)
        await asyncio.gather(*(run_caller(number) for number in range(20, 40)))
        assert client.answer_count == answers + 400
        assert len(errors) == failures
        for push in rounds.list_unanswered(tmp_path):
            client.push(push)
        assert client.answer_count == answers + 400 + failures
    drain_and_audit(sqlite_crew_url, tmp_path)


async def test_what_does_not_fit_among_what_does(sqlite_crew_url: str, tmp_path: Path) -> None:
    """In one group, in one bulk: whoever was answered has it, whoever was told has nothing."""
    large_push = Push(
        to="team:crew", source="clerk", content="large", dedup_key="large", data={"filling": "x" * 900_000}
    )
    small_pushes = [build_push(f"small-{number}", CREW[number % 3]) for number in range(21)]
    with open_small_store(sqlite_crew_url, tmp_path) as (store, client):
        client.push(build_push("before", "ana"))
        store.max_pages = count_pages(sqlite_crew_url) + 40
        outcomes = await run_together(
            store,
            *(client.push_async(push) for push in small_pushes[:7]),
            client.push_async(large_push),
            client.push_all(small_pushes[7:14]),
            client.push_all([large_push, *small_pushes[14:]]),
            lane="",
        )
        assert isinstance(outcomes[7], Unavailable)
        assert isinstance(outcomes[9], Unavailable)
        audit(sqlite_crew_url, tmp_path)
        store.max_pages = NO_LIMIT
        for unanswered_push in rounds.list_unanswered(tmp_path):
            client.push(unanswered_push)
    drain_and_audit(sqlite_crew_url, tmp_path)


def test_a_disk_that_takes_no_more(sqlite_crew_url: str, tmp_path: Path) -> None:
    """Not a limit of SQLite's own: the operating system refuses to write, in the middle of a page or of a commit."""
    with WorkerProcess(sqlite_crew_url, tmp_path) as worker:
        worker.start(life="rationed", kind="rationed")
        worker.wait_for_message("warm")
        worker.wait_until_finished()
    entries = journal.read_journals(tmp_path, "journal")["rationed"]
    assert any(entry["word"] == "unavailable" for entry in entries)
    drain_and_audit(sqlite_crew_url, tmp_path)


LOCK_HOLDER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
db.execute("ROLLBACK")
"""


async def test_a_file_that_somebody_else_has_locked(sqlite_crew_url: str, tmp_path: Path) -> None:
    """Past the busy timeout callers are told; reading goes on; when it is free, so does writing."""
    with open_small_store(sqlite_crew_url, tmp_path, busy_timeout=0.2) as (store, client):
        client.push(build_push("before", "ana"))
        holder = await asyncio.create_subprocess_exec(
            *[sys.executable, "-c", LOCK_HOLDER, str(parse_sqlite_path(sqlite_crew_url))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert holder.stdout is not None
        assert await holder.stdout.readline() == b"held\n"
        for turn in range(2):
            with pytest.raises(Unavailable, match="locked"):
                client.push(build_push("during", "ana"))
            outcomes = await asyncio.gather(
                *(client.push_async(build_push(f"during-{turn}-{number}", "team:crew")) for number in range(10)),
                return_exceptions=True,
            )
            assert all(isinstance(outcome, Unavailable) for outcome in outcomes)
            assert [item.event.content for item in store.read_sync(inbox.peek, "ana")] == ["before"]
        with pytest.raises(Unavailable, match="locked"):
            store.run_sync(inbox.claim, "ana", owner="here")

        await holder.communicate(b"")
        for push in rounds.list_unanswered(tmp_path):
            await client.push_async(push)
        assert client.answer_count == 1 + 1 + 20
        assert all(account.is_balanced for account in store.read_sync(account_actions.list_accounts))
    drain_and_audit(sqlite_crew_url, tmp_path)


def count_pages(url: str) -> int:
    with open_database(url) as query:
        [[count]] = query("PRAGMA page_count")
    return int(count)


def test_a_new_file_that_another_is_about_to_write_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite waits for others, but not where it would turn a file to WAL that another has taken for writing."""
    path = tmp_path / "new.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other_connection:
        other_connection.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(time, "sleep", lambda _: other_connection.execute("ROLLBACK"))
        with closing(sqlite.open_file(path, 30.0)) as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_and_not_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other_connection:
        other_connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="is locked by another process"):
            sqlite.open_file(path, 0.05)
