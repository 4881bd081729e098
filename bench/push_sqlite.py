"""
Durable push on SQLite. The floor is what SQLite itself needs: `executemany` into the same tables and indexes with the
store's settings (WAL, synchronous FULL, foreign keys).
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

from bench import _office, _push
from bench._measure import FULL, Effort
from bench._raw import RawSqlite, newest
from bench._table import Row, at_least
from gatepost.app import open_store

#: the tables a push writes
TABLES: Final = {"counters", "events", "items", "tallies"}

_COUNT: Final = "UPDATE counters SET value = value + ? WHERE name = 'arrival'"
_ADD: Final = (
    "INSERT INTO tallies (recipient, accepted, delivered, expired, discarded) VALUES (?, ?, 0, 0, 0)"
    " ON CONFLICT (recipient) DO UPDATE SET accepted = accepted + excluded.accepted"
)

Rows = list[tuple[Any, ...]]


def main(effort: Effort = FULL) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="gatepost-bench-") as folder:
        url, raw_url = f"sqlite:///{folder}/ours.db", f"sqlite:///{folder}/raw.db"
        with (
            closing(_office.furnish(open_store(url))) as store,
            closing(_office.furnish(open_store(raw_url))) as watched,
            closing(RawSqlite(raw_url)) as raw,
        ):
            _push.watch(watched, raw, TABLES)
            yield from _push.compare(
                "SQLite FULL", store, Inserts(raw), "raw executemany into the same tables", at_least(0.50), effort
            )


class Inserts:
    def __init__(self, raw: RawSqlite) -> None:
        self._db = raw.db
        self._event = newest(raw, "events")
        self._item = newest(raw, "items")
        self._insert_events, self._insert_items = insert("events", self._event), insert("items", self._item)
        self._agents = [number for [number] in raw.rows("SELECT number FROM entities ORDER BY number")]

    def insert(self, count: int, batch: int) -> float:
        ready = [self.rows(places) for places in _push.batches(count, batch)]
        began = time.perf_counter()
        for rows in ready:
            self.write(*rows)
        return count / (time.perf_counter() - began)

    def write(self, events: Rows, items: Rows, tallies: Rows) -> None:
        """One transaction."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute(_COUNT, (len(events),))
        self._db.executemany(self._insert_items, items)
        self._db.executemany(self._insert_events, events)
        self._db.executemany(_ADD, tallies)
        self._db.execute("COMMIT")

    def rows(self, places: range) -> tuple[Rows, Rows, Rows]:
        """The rows of a batch for events, items and tallies, at so many places after the last push there is."""
        [last] = self._db.execute("SELECT value FROM counters WHERE name = 'arrival'").fetchone()
        arrivals = [last + 1 + place for place in places]
        recipients = [self._agents[arrival % len(self._agents)] for arrival in arrivals]
        events = [self._event | {"arrival": arrival, "id": _office.event_id()} for arrival in arrivals]
        items = [
            self._item | {"recipient": recipient, "arrival": arrival, "dedup_key": _office.key()}
            for recipient, arrival in sorted(zip(recipients, arrivals, strict=True))
        ]
        tallies = [(recipient, recipients.count(recipient)) for recipient in sorted(set(recipients))]
        return [tuple(row.values()) for row in events], [tuple(row.values()) for row in items], tallies


def insert(table: str, columns: dict[str, Any]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
