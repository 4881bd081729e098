"""Whoever waits in the queue of a store waits for a locked file no longer than the store says, all in all."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gatepost.app import open_store
from gatepost.errors import Unavailable
from gatepost.stores.call_queues import WriteQueue
from gatepost.stores.group_commit import CallOutcome, PendingCall
from gatepost.stores.sqlite import FileIdentity, SqliteConnection

HOUR_SECONDS = 3600.0


def test_time_in_the_queue_counts_towards_the_time_to_wait_for_others(tmp_path: Path) -> None:
    path = tmp_path / "office.db"
    with closing(open_store(f"sqlite:///{path}")) as store:
        store.migrate()
    connection = SqliteConnection(path, FileIdentity(path), busy_timeout=HOUR_SECONDS, writes=True)
    with closing(connection), closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="locked"):
            connection.begin(waited_seconds=HOUR_SECONDS)  # an hour too late, if it did not count
        other.execute("ROLLBACK")
        connection.begin(waited_seconds=HOUR_SECONDS)
        connection.commit()


class RecordingWriter:
    def __init__(self) -> None:
        self.waits: list[float] = []

    def write(self, calls: Sequence[PendingCall], *, waited_seconds: float) -> list[CallOutcome]:
        self.waits.append(waited_seconds)
        return [CallOutcome() for _ in calls]

    def close(self) -> None:
        pass


def test_a_writer_is_told_how_long_the_first_of_its_callers_has_waited() -> None:
    writer: Any = RecordingWriter()
    queue = WriteQueue(writer, lambda _: None, "test")
    call = PendingCall(lambda: None, ())
    call.waiting_since -= HOUR_SECONDS
    queue.put(call)
    queue.close()
    assert writer.waits[0] >= HOUR_SECONDS
