"""
Durable push on SQLite. The floor is the time that SQLite needs: `executemany` into the same tables and indexes with the
store's settings (WAL, synchronous FULL, foreign keys).
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from bench.support import fixtures, push_rates
from bench.support.measurement import FULL, Effort
from bench.support.raw_databases import RawSqlite, read_newest_row
from bench.support.table import Row, at_least
from gatepost.app import open_store
from gatepost.stores.sqlite import open_file

#: the tables a push writes
TABLES: Final = {"counters", "events", "pending", "dedup_keys", "accounts"}

_BARE: Final = ", beside a bare table"
_ADVANCE_ARRIVAL: Final = "UPDATE counters SET value = value + ? WHERE name = 'arrival'"
_ADD_ACCOUNTS: Final = (
    "INSERT INTO accounts (recipient, accepted, delivered, expired, discarded) VALUES (?, ?, 0, 0, 0)"
    " ON CONFLICT (recipient) DO UPDATE SET accepted = accepted + excluded.accepted"
)

Rows = list[tuple[Any, ...]]


def main(effort: Effort = FULL) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="gatepost-bench-") as folder:
        url, raw_url = f"sqlite:///{folder}/ours.db", f"sqlite:///{folder}/raw.db"
        with (
            closing(fixtures.create_agents(open_store(url))),
            closing(fixtures.create_agents(open_store(raw_url))) as raw_store,
            closing(RawSqlite(raw_url)) as raw,
        ):
            push_rates.check_written_tables(raw_store, raw, TABLES)
            yield from push_rates.compare_all(
                "SQLite FULL", url, Inserts(raw), "raw executemany into the same tables", at_least(0.50), effort
            )
            yield from push_rates.compare("SQLite FULL", url, list_bare_comparisons(Path(folder)), effort)


def list_bare_comparisons(folder: Path) -> list[push_rates.Comparison]:
    """Comparisons with what stores an event and nothing else: so the tables, too, are measured."""
    one_row, table = "raw insert of one row", "raw executemany into one table without other indexes"
    return [
        push_rates.Comparison(1, BareInserts(folder / "bare-1.db"), one_row, at_least(0.45), remark=_BARE),
        push_rates.Comparison(16, BareInserts(folder / "bare-16.db"), one_row, batch=1, remark=_BARE),
        push_rates.Comparison(100, BareInserts(folder / "bare-100.db"), table, at_least(0.22), remark=_BARE),
    ]


class BareInserts:
    """Appends the columns of an event to a table that has nothing else."""

    def __init__(self, path: Path) -> None:
        self._db = open_file(path, 30.0)
        self._db.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, id, recipient, key, content)")

    def insert(self, count: int, batch: int) -> float:
        batches = [
            [(fixtures.create_event_id(), index, fixtures.create_key(), fixtures.CONTENT) for index in indexes]
            for indexes in push_rates.split_batches(count, batch)
        ]
        start = time.perf_counter()
        for rows in batches:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT INTO rows (id, recipient, key, content) VALUES (?, ?, ?, ?)", rows)
            self._db.execute("COMMIT")
        return count / (time.perf_counter() - start)


class Inserts:
    def __init__(self, raw: RawSqlite) -> None:
        self._db = raw.db
        self._event = read_newest_row(raw, "events")
        self._item, self._key = read_newest_row(raw, "pending"), read_newest_row(raw, "dedup_keys")
        self._insert_events, self._insert_items = (
            build_insert("events", self._event),
            build_insert("pending", self._item),
        )
        self._insert_keys = build_insert("dedup_keys", self._key)
        self._agents = [number for [number] in raw.execute("SELECT number FROM entities ORDER BY number")]

    def insert(self, count: int, batch: int) -> float:
        batches = [self.build_rows(indexes) for indexes in push_rates.split_batches(count, batch)]
        start = time.perf_counter()
        for rows in batches:
            self.write(*rows)
        return count / (time.perf_counter() - start)

    def write(self, events: Rows, items: Rows, keys: Rows, accounts: Rows) -> None:
        """One transaction."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute(_ADVANCE_ARRIVAL, (len(events),))
        self._db.executemany(self._insert_keys, keys)
        self._db.executemany(self._insert_events, events)
        self._db.executemany(self._insert_items, items)
        self._db.executemany(_ADD_ACCOUNTS, accounts)
        self._db.execute("COMMIT")

    def build_rows(self, indexes: range) -> tuple[Rows, Rows, Rows, Rows]:
        """The rows of a batch for events, items, keys and accounts, at so many places after the last push there is."""
        [last_arrival] = self._db.execute("SELECT value FROM counters WHERE name = 'arrival'").fetchone()
        arrivals = [last_arrival + 1 + index for index in indexes]
        recipients = [self._agents[arrival % len(self._agents)] for arrival in arrivals]
        events = [
            self._event | {"arrival": arrival, "id": fixtures.create_event_id(), "dedup_key": fixtures.create_key()}
            for arrival in arrivals
        ]
        places = [
            {"recipient": recipient, "arrival": arrival, "dedup_key": event["dedup_key"]}
            for recipient, arrival, event in zip(recipients, arrivals, events, strict=True)
        ]
        places.sort(key=lambda place: (place["recipient"], place["arrival"]))
        items = [{name: place.get(name, value) for name, value in self._item.items()} for place in places]
        keys = [{name: place[name] for name in self._key} for place in places]
        accounts = [(recipient, recipients.count(recipient)) for recipient in sorted(set(recipients))]
        event_rows, item_rows, key_rows = ([tuple(row.values()) for row in rows] for rows in (events, items, keys))
        return event_rows, item_rows, key_rows, accounts


def build_insert(table: str, columns: dict[str, Any]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
