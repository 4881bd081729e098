"""
Durable push on PostgreSQL. The floor is one connection of psycopg that takes the next arrivals and inserts columns with
`unnest` into the same tables and indexes. Ours has two writers, as it is by default.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

from bench import _office, _push
from bench._measure import FULL, Effort
from bench._raw import RawPostgres, newest
from bench._table import Row, at_least
from gatepost.app import open_store
from tests.servers import Postgres

#: the tables a push writes; its arrival comes from a sequence
TABLES: Final = {"events", "items", "tallies"}

_TAKE: Final = b"SELECT nextval('arrivals') FROM generate_series(1, %s)"
_ADD: Final = (
    b"INSERT INTO tallies (recipient, accepted, delivered, expired, discarded)"
    b" SELECT recipient, accepted, 0, 0, 0"
    b" FROM unnest(%(recipient)s::bigint[], %(accepted)s::bigint[]) AS more (recipient, accepted)"
    b" ON CONFLICT (recipient) DO UPDATE SET accepted = tallies.accepted + excluded.accepted"
)

Columns = dict[str, list[Any]]


def main(effort: Effort = FULL) -> Iterator[Row]:
    with (
        Postgres(fsync="on" if effort.fsync else "off") as server,
        server.database() as url,
        server.database() as raw_url,
        closing(_office.furnish(open_store(url))) as store,
        closing(_office.furnish(open_store(raw_url))) as watched,
        closing(RawPostgres(raw_url)) as raw,
    ):
        _push.watch(watched, raw, TABLES)
        yield from _push.compare(
            "PostgreSQL", store, Inserts(raw), "raw psycopg unnest into the same tables", at_least(0.60), effort
        )


class Inserts:
    def __init__(self, raw: RawPostgres, last: bytes | None = None) -> None:
        """With `last`, that statement is run before every commit."""
        self._db = raw.db
        self._last = last
        self._event = newest(raw, "events")
        self._item = newest(raw, "items")
        self._insert_events = insert("events", self._event, raw.columns("events"))
        self._insert_items = insert("items", self._item, raw.columns("items"))
        self._agents = [number for [number] in raw.rows("SELECT number FROM entities ORDER BY number")]

    def insert(self, count: int, batch: int) -> float:
        ready = [self.columns(places) for places in _push.batches(count, batch)]
        began = time.perf_counter()
        for columns in ready:
            self.write(*columns)
        return count / (time.perf_counter() - began)

    def write(self, events: Columns, items: Columns, tallies: Columns) -> None:
        """One transaction."""
        self._db.execute("BEGIN")
        arrivals = [arrival for [arrival] in self._db.execute(_TAKE, (len(events["id"]),)).fetchall()]
        self._db.execute(self._insert_items, items | {"arrival": arrivals})
        self._db.execute(self._insert_events, events | {"arrival": arrivals})
        self._db.execute(_ADD, tallies)
        if self._last is not None:
            self._db.execute(self._last)
        self._db.execute("COMMIT")

    def columns(self, places: range) -> tuple[Columns, Columns, Columns]:
        """The columns of a batch for events, items and tallies; the arrivals are yet to come."""
        recipients = sorted(self._agents[place % len(self._agents)] for place in places)
        events = {name: [value] * len(places) for name, value in self._event.items()}
        events["id"] = [_office.event_id() for _ in places]
        items = {name: [value] * len(places) for name, value in self._item.items()}
        items["recipient"] = recipients
        items["dedup_key"] = [_office.key() for _ in places]
        counted = sorted(set(recipients))
        return events, items, {"recipient": counted, "accepted": [recipients.count(one) for one in counted]}


def insert(table: str, columns: dict[str, Any], types: dict[str, str]) -> bytes:
    arrays = ", ".join(f"%({name})s::{types[name]}[]" for name in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT * FROM unnest({arrays})".encode()
