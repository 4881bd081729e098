"""
Durable push on PostgreSQL. The floor is one psycopg connection that takes the next arrivals and inserts columns with
`unnest` into the same tables and indexes. Ours has two writers, which is the default.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

from bench.support import fixtures, push_rates
from bench.support.measurement import FULL, Effort
from bench.support.raw_databases import RawPostgres, read_newest_row
from bench.support.table import Row, at_least
from gatepost.app import open_store
from tests.support.servers.private_servers import Postgres

#: the tables a push writes; its arrival comes from a sequence
TABLES: Final = {"events", "pending", "dedup_keys", "accounts"}

_NEXT_ARRIVALS: Final = b"SELECT nextval('arrivals') FROM generate_series(1, %s)"
_ADD_ACCOUNTS: Final = (
    b"INSERT INTO accounts (recipient, accepted, delivered, expired, discarded)"
    b" SELECT recipient, accepted, 0, 0, 0"
    b" FROM unnest(%(recipient)s::bigint[], %(accepted)s::bigint[]) AS more (recipient, accepted)"
    b" ON CONFLICT (recipient) DO UPDATE SET accepted = accounts.accepted + excluded.accepted"
)

Columns = dict[str, list[Any]]


def main(effort: Effort = FULL) -> Iterator[Row]:
    with (
        Postgres(fsync="on" if effort.fsync else "off") as server,
        server.create_database() as url,
        server.create_database() as raw_url,
        closing(fixtures.create_agents(open_store(url))),
        closing(fixtures.create_agents(open_store(raw_url))) as raw_store,
        closing(RawPostgres(raw_url)) as raw,
    ):
        push_rates.check_written_tables(raw_store, raw, TABLES)
        yield from push_rates.compare_all(
            "PostgreSQL", url, Inserts(raw), "raw psycopg unnest into the same tables", at_least(0.60), effort
        )


class Inserts:
    def __init__(self, raw: RawPostgres, final_statement: bytes | None = None) -> None:
        """`final_statement`, if given, is run before every commit."""
        self._db = raw.db
        self._final_statement = final_statement
        self._event = read_newest_row(raw, "events")
        self._item, self._key = read_newest_row(raw, "pending"), read_newest_row(raw, "dedup_keys")
        self._insert_events = build_insert("events", self._event, raw.list_columns("events"))
        self._insert_items = build_insert("pending", self._item, raw.list_columns("pending"))
        self._insert_keys = build_insert("dedup_keys", self._key, raw.list_columns("dedup_keys"))
        self._agents = [number for [number] in raw.execute("SELECT number FROM entities ORDER BY number")]

    def insert(self, count: int, batch: int) -> float:
        batches = [self.build_columns(indexes) for indexes in push_rates.split_batches(count, batch)]
        start = time.perf_counter()
        for columns in batches:
            self.write(*columns)
        return count / (time.perf_counter() - start)

    def write(self, events: Columns, items: Columns, keys: Columns, accounts: Columns) -> None:
        """One transaction."""
        self._db.execute("BEGIN")
        arrivals = [arrival for [arrival] in self._db.execute(_NEXT_ARRIVALS, (len(events["id"]),)).fetchall()]
        self._db.execute(self._insert_keys, keys | {"arrival": arrivals})
        self._db.execute(self._insert_events, events | {"arrival": arrivals})
        self._db.execute(self._insert_items, items | {"arrival": arrivals})
        self._db.execute(_ADD_ACCOUNTS, accounts)
        if self._final_statement is not None:
            self._db.execute(self._final_statement)
        self._db.execute("COMMIT")

    def build_columns(self, indexes: range) -> tuple[Columns, Columns, Columns, Columns]:
        """The columns of a batch for events, items, keys and accounts; the arrivals are yet to come."""
        recipients = sorted(self._agents[index % len(self._agents)] for index in indexes)
        events = {name: [value] * len(indexes) for name, value in self._event.items()}
        events["id"] = [fixtures.create_event_id() for _ in indexes]
        items = {name: [value] * len(indexes) for name, value in self._item.items()}
        items["recipient"] = recipients
        events["dedup_key"] = [fixtures.create_key() for _ in indexes]
        keys = {"recipient": recipients, "dedup_key": events["dedup_key"], "arrival": []}
        unique_recipients = sorted(set(recipients))
        return (
            events,
            items,
            keys,
            {
                "recipient": unique_recipients,
                "accepted": [recipients.count(recipient) for recipient in unique_recipients],
            },
        )


def build_insert(table: str, columns: dict[str, Any], types: dict[str, str]) -> bytes:
    arrays = ", ".join(f"%({name})s::{types[name]}[]" for name in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT * FROM unnest({arrays})".encode()
