"""
A message in a space with 1,000 agents, against 1,000 raw inserts in one transaction.

The floor writes what a message writes, all indexes and foreign keys in place: the message and the space's last number,
one event, an item for every agent, and the account of every agent's inbox. Rows are copies of what a message wrote,
with ids, numbers and keys of their own. Ours and the floor have a database each, and these grow at the same pace.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench import _office
from bench._measure import FULL, Effort, in_turns
from bench._raw import Raw, RawPostgres, RawSqlite, Values, newest, written_by
from bench._table import Row, at_least, rate
from bench.push_postgres import insert as insert_columns
from bench.push_sqlite import insert as insert_row
from gatepost.actions import directory, spaces
from gatepost.actions.directory import Newcomer
from gatepost.app import open_store
from gatepost.core.entity import Kind
from gatepost.ports import Store, Transaction
from tests.servers import Postgres

SPACE: Final = "floor-3"
SPEAKER: Final = "husam"
#: the tables a message writes; on PostgreSQL arrivals come from a sequence
TABLES: Final = {"events", "items", "members", "messages", "spaces", "tallies"}

_NUMBER: Final = "UPDATE spaces SET last_seq = last_seq + 1 WHERE id = 'floor-3' RETURNING number, last_seq"
_READ: Final = "UPDATE members SET read_seq = {seq} WHERE space = {space} AND entity = {speaker}"


def main(effort: Effort = FULL) -> Iterator[Row]:
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        url, raw_url = f"sqlite:///{folder}/ours.db", f"sqlite:///{folder}/raw.db"
        with closing(RawSqlite(raw_url)) as raw:
            yield _compare("SQLite FULL", url, raw_url, raw, effort)
    with (
        Postgres(fsync="on" if effort.fsync else "off") as server,
        server.database() as url,
        server.database() as raw_url,
        closing(RawPostgres(raw_url)) as raw_postgres,
    ):
        yield _compare("PostgreSQL", url, raw_url, raw_postgres, effort)


def _compare(database: str, url: str, raw_url: str, raw: RawSqlite | RawPostgres, effort: Effort) -> Row:
    with closing(open_store(url)) as store, closing(open_store(raw_url)) as watched:
        for each in (store, watched):
            each.migrate()
            each.call(_furnish, effort.hearers)
        _watch(watched, raw)
        inserts = SqliteInserts(raw) if isinstance(raw, RawSqlite) else PostgresInserts(raw)

        def ours() -> float:
            began = time.perf_counter()
            for _ in range(effort.posts):
                store.call(spaces.post, SPACE, sender=SPEAKER, content=_office.CONTENT)
            return effort.posts * effort.hearers / (time.perf_counter() - began)

        def floor() -> float:
            ready = [inserts.ready() for _ in range(effort.posts)]
            began = time.perf_counter()
            for rows in ready:
                inserts.write(*rows)
            return effort.posts * effort.hearers / (time.perf_counter() - began)

        return Row(
            claim=f"space message to {effort.hearers:,} agents, {database}: inboxes",
            floor="raw inserts into the same tables in one transaction",
            measured=in_turns(floor, ours, effort.rounds),
            unit=rate,
            target=at_least(0.40),
        )


def _furnish(tx: Transaction, agents: int) -> None:
    names = [f"hearer-{number}" for number in range(agents)]
    for name in names:
        directory.register(tx, Newcomer(name=name, kind=Kind.AGENT))
    directory.register(tx, Newcomer(name=SPEAKER, kind=Kind.HUMAN))
    spaces.create(tx, name=SPACE, members=[*names, SPEAKER])


def _watch(store: Store, raw: Raw) -> None:
    """Post a message, and see that these are the tables it is written to."""
    post = lambda: store.call(spaces.post, SPACE, sender=SPEAKER, content=_office.CONTENT)  # noqa: E731
    written = written_by(raw, post) - {"counters"}
    assert written == TABLES, f"a message writes {sorted(written)}, the floor {sorted(TABLES)}"


class _Inserts:
    """The rows of a message, made before the clock starts but for the numbers that the database gives."""

    def __init__(self, raw: Raw) -> None:
        self._event, self._item = newest(raw, "events"), newest(raw, "items")
        self._message = newest(raw, "messages", by="seq")
        self._agents = [number for [number] in raw.rows("SELECT number FROM entities WHERE kind = 'agent' ORDER BY 1")]

    def ready(self) -> tuple[Values, Values, str]:
        """A message, its event, and the key of its items."""
        id = _office.event_id().replace("evt", "msg")
        return self._message | {"id": id}, self._event | {"id": _office.event_id()}, f"msg:{id}"


class SqliteInserts(_Inserts):
    _COUNT: Final = "UPDATE counters SET value = value + 1 WHERE name = 'arrival' RETURNING value"
    _ADD: Final = "UPDATE tallies SET accepted = accepted + 1 WHERE recipient = ?"

    def __init__(self, raw: RawSqlite) -> None:
        super().__init__(raw)
        self._db = raw.db

    def write(self, message: Values, event: Values, key: str) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        [[space, seq]] = self._db.execute(_NUMBER).fetchall()
        [[arrival]] = self._db.execute(self._COUNT).fetchall()
        message, event = message | {"seq": seq}, event | {"arrival": arrival}
        self._db.execute(insert_row("messages", message), tuple(message.values()))
        self._db.execute(_READ.format(seq=seq, space=space, speaker=message["sender"]))
        first = self._item | {"arrival": arrival, "dedup_key": key}
        items = [tuple((first | {"recipient": agent}).values()) for agent in self._agents]
        self._db.executemany(insert_row("items", first), items)
        self._db.execute(insert_row("events", event), tuple(event.values()))
        self._db.executemany(self._ADD, [(agent,) for agent in self._agents])
        self._db.execute("COMMIT")


class PostgresInserts(_Inserts):
    _TAKE: Final = b"SELECT nextval('arrivals')"
    _ADD: Final = b"UPDATE tallies SET accepted = accepted + 1 WHERE recipient = ANY (%s)"

    def __init__(self, raw: RawPostgres) -> None:
        super().__init__(raw)
        self._db = raw.db
        self._insert = {
            table: insert_columns(table, columns, raw.columns(table))
            for table, columns in (("events", self._event), ("items", self._item), ("messages", self._message))
        }

    def write(self, message: Values, event: Values, key: str) -> None:
        self._db.execute("BEGIN")
        [[space, seq]] = self._db.execute(_NUMBER.encode()).fetchall()
        [[arrival]] = self._db.execute(self._TAKE).fetchall()
        self._db.execute(self._insert["messages"], _columns(message | {"seq": seq}))
        self._db.execute(_READ.format(seq=seq, space=space, speaker=message["sender"]).encode())
        items = _columns(self._item | {"arrival": arrival, "dedup_key": key}, len(self._agents))
        self._db.execute(self._insert["items"], items | {"recipient": self._agents})
        self._db.execute(self._insert["events"], _columns(event | {"arrival": arrival}))
        self._db.execute(self._ADD, (self._agents,))
        self._db.execute("COMMIT")


def _columns(row: Values, count: int = 1) -> dict[str, list[Any]]:
    return {name: [value] * count for name, value in row.items()}
