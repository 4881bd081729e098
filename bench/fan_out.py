"""
A message in a space with 1,000 agents, against 1,000 raw inserts in one transaction.

The floor writes what a message writes, with all indexes and foreign keys: the message and the last number of the space,
one event, one item for each agent, and the account of each inbox. The rows are copies of what a message wrote, with
their own ids, numbers and keys. Ours and the floor have one database each, and both grow at the same pace.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.push_postgres import build_insert as insert_columns
from bench.push_sqlite import build_insert as insert_row
from bench.support import fixtures
from bench.support.measurement import FULL, Effort, measure_in_turns
from bench.support.raw_databases import (
    RawDatabase,
    RawPostgres,
    RawSqlite,
    Values,
    find_written_tables,
    read_newest_row,
)
from bench.support.table import Row, at_least, rate
from gatepost.app import open_store
from gatepost.client import LocalClient
from gatepost.core.ports import Store, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.spaces import actions as spaces
from gatepost.spaces.api import PostMessage
from tests.support.servers.private_servers import Postgres

SPACE: Final = "floor-3"
SPEAKER: Final = "husam"
#: the tables a message writes; on PostgreSQL arrivals come from a sequence
TABLES: Final = {"events", "pending", "dedup_keys", "members", "messages", "spaces", "accounts"}

_NEXT_SEQ: Final = "UPDATE spaces SET last_seq = last_seq + 1 WHERE id = 'floor-3' RETURNING number, last_seq"
_MARK_READ: Final = "UPDATE members SET read_seq = {seq} WHERE space = {space} AND entity = {speaker}"


def main(effort: Effort = FULL) -> Iterator[Row]:
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        url, raw_url = f"sqlite:///{folder}/ours.db", f"sqlite:///{folder}/raw.db"
        with closing(RawSqlite(raw_url)) as raw:
            yield _compare("SQLite FULL", url, raw_url, raw, effort)
    with (
        Postgres(fsync="on" if effort.fsync else "off") as server,
        server.create_database() as url,
        server.create_database() as raw_url,
        closing(RawPostgres(raw_url)) as raw_postgres,
    ):
        yield _compare("PostgreSQL", url, raw_url, raw_postgres, effort)


def _compare(database: str, url: str, raw_url: str, raw: RawSqlite | RawPostgres, effort: Effort) -> Row:
    with closing(open_store(url)) as store, closing(open_store(raw_url)) as raw_store:
        for opened_store in (store, raw_store):
            opened_store.migrate()
            opened_store.run_sync(_create_members, effort.recipients)
        _check_written_tables(raw_store, raw)
        inserts = SqliteInserts(raw) if isinstance(raw, RawSqlite) else PostgresInserts(raw)

        client, request = LocalClient(store), PostMessage(id=SPACE, sender=SPEAKER, content=fixtures.CONTENT)

        def ours() -> float:
            start = time.perf_counter()
            for _ in range(effort.posts):
                client.send(request)
            return effort.posts * effort.recipients / (time.perf_counter() - start)

        def floor() -> float:
            row_sets = [inserts.build_rows() for _ in range(effort.posts)]
            start = time.perf_counter()
            for rows in row_sets:
                inserts.write(*rows)
            return effort.posts * effort.recipients / (time.perf_counter() - start)

        return Row(
            claim=f"space message to {effort.recipients:,} agents, {database}: inboxes",
            door="`LocalClient.send(PostMessage)`",
            floor="raw inserts into the same tables in one transaction",
            measurement=measure_in_turns(floor, ours, effort.rounds),
            unit=rate,
            target=at_least(0.40),
        )


def _create_members(tx: Transaction, agents: int) -> None:
    names = [f"hearer-{number}" for number in range(agents)]
    for name in names:
        directory.register(tx, EntitySpec(name=name, kind=EntityKind.AGENT))
    directory.register(tx, EntitySpec(name=SPEAKER, kind=EntityKind.HUMAN))
    spaces.create(tx, name=SPACE, members=[*names, SPEAKER])


def _check_written_tables(store: Store, raw: RawDatabase) -> None:
    """Post a message, and see that these are the tables it is written to."""
    post_message = lambda: store.run_sync(spaces.post, SPACE, sender=SPEAKER, content=fixtures.CONTENT)  # noqa: E731
    written_tables = find_written_tables(raw, post_message) - {"counters"}
    assert written_tables == TABLES, f"a message writes {sorted(written_tables)}, the floor {sorted(TABLES)}"


class _Inserts:
    """The rows of a message, made before the clock starts but for the numbers that the database gives."""

    def __init__(self, raw: RawDatabase) -> None:
        self._event, self._item = read_newest_row(raw, "events"), read_newest_row(raw, "pending")
        self._message = read_newest_row(raw, "messages", order_by="seq")
        self._agents = [
            number for [number] in raw.execute("SELECT number FROM entities WHERE kind = 'agent' ORDER BY 1")
        ]

    def build_rows(self) -> tuple[Values, Values, str]:
        """A message, its event, and the key of its items."""
        id = fixtures.create_event_id().replace("evt", "msg")
        return self._message | {"id": id}, self._event | {"id": fixtures.create_event_id()}, f"msg:{id}"


class SqliteInserts(_Inserts):
    _NEXT_ARRIVAL: Final = "UPDATE counters SET value = value + 1 WHERE name = 'arrival' RETURNING value"
    _ADD_ACCOUNT: Final = "UPDATE accounts SET accepted = accepted + 1 WHERE recipient = ?"

    def __init__(self, raw: RawSqlite) -> None:
        super().__init__(raw)
        self._db = raw.db

    def write(self, message: Values, event: Values, key: str) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        [[space, seq]] = self._db.execute(_NEXT_SEQ).fetchall()
        [[arrival]] = self._db.execute(self._NEXT_ARRIVAL).fetchall()
        message, event = message | {"seq": seq}, event | {"arrival": arrival}
        self._db.execute(insert_row("messages", message), tuple(message.values()))
        self._db.execute(_MARK_READ.format(seq=seq, space=space, speaker=message["sender"]))
        first_item = self._item | {"arrival": arrival}
        items = [tuple((first_item | {"recipient": agent}).values()) for agent in self._agents]
        first_key = {"recipient": 0, "dedup_key": key, "arrival": arrival}
        self._db.executemany(insert_row("dedup_keys", first_key), [(agent, key, arrival) for agent in self._agents])
        self._db.execute(insert_row("events", event), tuple(event.values()))
        self._db.executemany(insert_row("pending", first_item), items)
        self._db.executemany(self._ADD_ACCOUNT, [(agent,) for agent in self._agents])
        self._db.execute("COMMIT")


class PostgresInserts(_Inserts):
    _NEXT_ARRIVAL: Final = b"SELECT nextval('arrivals')"
    _ADD_ACCOUNTS: Final = b"UPDATE accounts SET accepted = accepted + 1 WHERE recipient = ANY (%s)"

    def __init__(self, raw: RawPostgres) -> None:
        super().__init__(raw)
        self._db = raw.db
        self._insert = {
            table: insert_columns(table, columns, raw.list_columns(table))
            for table, columns in (
                ("events", self._event),
                ("pending", self._item),
                ("dedup_keys", {"recipient": 0, "dedup_key": "", "arrival": 0}),
                ("messages", self._message),
            )
        }

    def write(self, message: Values, event: Values, key: str) -> None:
        self._db.execute("BEGIN")
        [[space, seq]] = self._db.execute(_NEXT_SEQ.encode()).fetchall()
        [[arrival]] = self._db.execute(self._NEXT_ARRIVAL).fetchall()
        self._db.execute(self._insert["messages"], _build_columns(message | {"seq": seq}))
        self._db.execute(_MARK_READ.format(seq=seq, space=space, speaker=message["sender"]).encode())
        agents = {"recipient": self._agents}
        keys = _build_columns({"dedup_key": key, "arrival": arrival}, len(self._agents))
        self._db.execute(self._insert["dedup_keys"], keys | agents)
        self._db.execute(self._insert["events"], _build_columns(event | {"arrival": arrival}))
        items = _build_columns(self._item | {"arrival": arrival}, len(self._agents))
        self._db.execute(self._insert["pending"], items | agents)
        self._db.execute(self._ADD_ACCOUNTS, (self._agents,))
        self._db.execute("COMMIT")


def _build_columns(row: Values, count: int = 1) -> dict[str, list[Any]]:
    return {name: [value] * count for name, value in row.items()}
