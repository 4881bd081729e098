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

from gatepost.actions import inbox, maintenance
from gatepost.adapters.clock import SystemClock
from gatepost.adapters.stores import sqlite
from gatepost.adapters.stores.sqlite import SqliteConnection, SqliteStore
from gatepost.app import parse_sqlite_path
from gatepost.core.event import Push
from gatepost.errors import Unavailable
from tests.faults import journal, rounds
from tests.faults.audit import audit, settle
from tests.faults.clerk import Clerk, together, wish
from tests.faults.hands import Hand
from tests.faults.office import CREW, witness

#: what SQLite has by itself
NO_LIMIT = 1_073_741_823


class Cramped(SqliteStore):
    """A store whose disk has only so many pages."""

    pages = NO_LIMIT

    def connect(self, *, writes: bool) -> SqliteConnection:
        store = self

        class Connection(SqliteConnection):
            def begin(self, waited: float = 0.0) -> None:
                super().begin(waited)
                self._execute(f"PRAGMA max_page_count = {store.pages}")

        return Connection(self._path, self._identity, busy_timeout=self._busy_timeout, writes=writes)


@contextmanager
def opened(url: str, folder: Path, **options: float) -> Iterator[tuple[Cramped, Clerk]]:
    with closing(Cramped(parse_sqlite_path(url), clock=SystemClock(), **options)) as store:
        clerk = Clerk(store, folder, "here")
        yield store, clerk


async def test_a_disk_that_is_full_for_a_while(sqlite_office: str, tmp_path: Path) -> None:
    """Under load: some are told, nothing of theirs is there and nothing rang; with more room the same store goes on."""
    told: list[Unavailable] = []

    async def caller(number: int) -> None:
        for turn in range(20):
            name, to = f"{number}-{turn}", ("team:crew", *CREW)[(number + turn) % 4]
            wanted = Push(to=to, source="clerk", content=name, key=name, data={"filling": "x" * 2_000})
            try:
                await clerk.push_soon(wanted)
            except Unavailable as error:
                told.append(error)

    with opened(sqlite_office, tmp_path) as (store, clerk):
        store.pages = pages(sqlite_office) + 60
        await asyncio.gather(*(caller(number) for number in range(20)))
        assert clerk.answers > 20
        assert len(told) > 20
        assert {error.hint for error in told} == {"make room; nothing was stored"}
        audit(sqlite_office, tmp_path)
        await clerk.drain_soon("ana")  # what needs no room still works

        store.pages = NO_LIMIT
        answers, failures = clerk.answers, len(told)
        await asyncio.gather(*(caller(number) for number in range(20, 40)))
        assert clerk.answers == answers + 400
        assert len(told) == failures
        for again in rounds.unanswered(tmp_path):
            clerk.push(again)
        assert clerk.answers == answers + 400 + failures
    settle(sqlite_office, tmp_path)


async def test_what_does_not_fit_among_what_does(sqlite_office: str, tmp_path: Path) -> None:
    """In one group, in one bulk: whoever was answered has it, whoever was told has nothing."""
    large = Push(to="team:crew", source="clerk", content="large", key="large", data={"filling": "x" * 900_000})
    small = [wish(f"small-{number}", CREW[number % 3]) for number in range(21)]
    with opened(sqlite_office, tmp_path) as (store, clerk):
        clerk.push(wish("before", "ana"))
        store.pages = pages(sqlite_office) + 40
        errors = await together(
            store,
            *(clerk.push_soon(one) for one in small[:7]),
            clerk.push_soon(large),
            clerk.push_all(small[7:14]),
            clerk.push_all([large, *small[14:]]),
            lane="",
        )
        assert isinstance(errors[7], Unavailable)
        assert isinstance(errors[9], Unavailable)
        audit(sqlite_office, tmp_path)
        store.pages = NO_LIMIT
        for again in rounds.unanswered(tmp_path):
            clerk.push(again)
    settle(sqlite_office, tmp_path)


def test_a_disk_that_takes_no_more(sqlite_office: str, tmp_path: Path) -> None:
    """Not a limit of SQLite's own: the operating system refuses to write, in the middle of a page or of a commit."""
    with Hand(sqlite_office, tmp_path) as hand:
        hand.start(life="rationed", kind="rationed")
        hand.heard("warm")
        hand.finished()
    entries = journal.read(tmp_path, "journal")["rationed"]
    assert any(entry["word"] == "unavailable" for entry in entries)
    settle(sqlite_office, tmp_path)


HOLDER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
db.execute("ROLLBACK")
"""


async def test_a_file_that_somebody_else_has_locked(sqlite_office: str, tmp_path: Path) -> None:
    """Past the busy timeout callers are told; reading goes on; when it is free, so does writing."""
    with opened(sqlite_office, tmp_path, busy_timeout=0.2) as (store, clerk):
        clerk.push(wish("before", "ana"))
        holder = await asyncio.create_subprocess_exec(
            *[sys.executable, "-c", HOLDER, str(parse_sqlite_path(sqlite_office))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert holder.stdout is not None
        assert await holder.stdout.readline() == b"held\n"
        for again in range(2):
            with pytest.raises(Unavailable, match="locked"):
                clerk.push(wish("during", "ana"))
            errors = await asyncio.gather(
                *(clerk.push_soon(wish(f"during-{again}-{number}", "team:crew")) for number in range(10)),
                return_exceptions=True,
            )
            assert all(isinstance(error, Unavailable) for error in errors)
            assert [item.event.content for item in store.query(inbox.peek, "ana")] == ["before"]
        with pytest.raises(Unavailable, match="locked"):
            store.call(inbox.claim, "ana", owner="here")

        await holder.communicate(b"")
        for left in rounds.unanswered(tmp_path):
            await clerk.push_soon(left)
        assert clerk.answers == 1 + 1 + 20
        assert all(account.is_balanced for account in store.query(maintenance.list_accounts))
    settle(sqlite_office, tmp_path)


def pages(url: str) -> int:
    with witness(url) as ask:
        [[count]] = ask("PRAGMA page_count")
    return int(count)


def test_a_new_file_that_another_is_about_to_write_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite waits for others, but not where it would turn a file to WAL that another has taken for writing."""
    path = tmp_path / "new.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(time, "sleep", lambda _: other.execute("ROLLBACK"))
        with closing(sqlite.open_file(path, 30.0)) as opened:
            assert opened.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_and_not_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="is locked by another process"):
            sqlite.open_file(path, 0.05)
