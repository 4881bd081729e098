"""
From a push in one process until another process holds the event, which is to say has claimed it, durably.

Both are event loops as a gateway has them: one awaits `store.run(intake.push_all, ...)`, its bell rings through the
transport, the other hears the ring and awaits `store.run(inbox.claim, ...)`. The clock starts before the push and stops
when the claim is answered; the ack comes after it. Events come one at a time, and a turn gives the median.

The floors are the same way without us: a datagram from one event loop to another and its answer, of which nobody stores
anything; and the database by hand, which stores everything and checks nothing. On PostgreSQL that is the rows of a push
and a NOTIFY in one transaction, and whoever listens for it takes the item in one statement; on SQLite the rows in one
transaction, a datagram, and the item taken in another.
"""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import psycopg

from bench import _office
from bench._measure import FULL, Effort, in_turns
from bench._process import Act, Elsewhere, Line
from bench._raw import RawPostgres, RawSqlite
from bench._table import Row, at_most, micros
from bench.push_postgres import Inserts
from bench.push_sqlite import Inserts as SqliteInserts
from gatepost import telemetry
from gatepost.actions import inbox, intake
from gatepost.app import configured_transport, open_store, opened
from gatepost.core.frame import Frame, TransportMessage
from gatepost.runtime import memory
from gatepost.runtime.exchange import Exchange
from gatepost.settings import load
from tests.brokers import Nats, Redis
from tests.servers import Postgres

READER: Final = _office.name(0)
#: about what a ring with its event takes
_DATAGRAM: Final = b"x" * 600

_NOTIFY: Final = b"NOTIFY bench"
_TAKE: Final = b"""
WITH taken AS (
    UPDATE items SET state = 'claimed' WHERE (recipient, arrival) IN (
        SELECT recipient, arrival FROM items WHERE recipient = %s AND state = 'pending'
        ORDER BY priority, arrival LIMIT 100 FOR UPDATE SKIP LOCKED
    ) RETURNING arrival
) SELECT events.* FROM taken JOIN events ON events.arrival = taken.arrival
"""
_ACK: Final = b"UPDATE items SET state = 'delivered', ended_at = 0 WHERE recipient = %s AND state = 'claimed'"

_TAKE_IN_SQLITE: Final = """
UPDATE items SET state = 'claimed' WHERE (recipient, arrival) IN (
    SELECT recipient, arrival FROM items WHERE recipient = ? AND state = 'pending'
    ORDER BY priority, sender_is_person DESC, arrival LIMIT 100
) RETURNING (SELECT content FROM events WHERE events.arrival = items.arrival)
"""

#: the floors, in words
_DATAGRAM_ONLY: Final = "unix datagram and its answer"
_BY_HAND_SQLITE: Final = "raw insert, datagram and claim"
_BY_HAND_POSTGRES: Final = "raw insert, NOTIFY and claim"

Wakes = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Way:
    words: str
    transport: str
    floor: str
    most: float
    #: another floor, against which it is told too
    told: str | None = None


def main(effort: Effort = FULL) -> Iterator[Row]:
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="gatepost-bench-"))
        floors = {_DATAGRAM_ONLY: stack.enter_context(_rounds(effort, f"{folder}/ears"))}
        by_hand = f"sqlite:///{folder}/raw.db", f"{folder}/bell"
        floors[_BY_HAND_SQLITE] = stack.enter_context(_waking(effort, _hold_sqlite, _push_sqlite, *by_hand))
        yield from _rows(
            Way("SQLite FULL and the socket", "socket:", _DATAGRAM_ONLY, 6.0, told=_BY_HAND_SQLITE),
            f"sqlite:///{folder}/gatepost.db",
            floors,
            effort,
        )
        server = stack.enter_context(Postgres(fsync="on" if effort.fsync else "off"))
        raw_url = stack.enter_context(server.database())
        floors[_BY_HAND_POSTGRES] = stack.enter_context(_waking(effort, _hold_postgres, _push_postgres, raw_url))
        redis, nats = stack.enter_context(Redis()), stack.enter_context(Nats())
        for way in (
            Way("PostgreSQL and NOTIFY", "postgres:", _DATAGRAM_ONLY, 10.0, told=_BY_HAND_POSTGRES),
            Way("PostgreSQL and Redis", redis.url, _BY_HAND_POSTGRES, 1.2),
            Way("PostgreSQL and NATS", nats.url, _BY_HAND_POSTGRES, 1.2),
        ):
            with server.database() as url:
                yield from _rows(way, url, floors, effort)


def _rows(way: Way, url: str, floors: dict[str, Wakes], effort: Effort) -> Iterator[Row]:
    with TemporaryDirectory(prefix="gatepost-bench-") as home, closing(open_store(url)) as store:
        _office.furnish(store, agents=1)
        environ = {"GATEPOST_HOME": home, "GATEPOST_STORE": url, "GATEPOST_TRANSPORT": way.transport}
        with _waking(effort, _hold, _push, environ) as ours:
            yield Row(
                claim=f"from a push to another process that holds the event, {way.words}",
                floor=way.floor,
                measured=in_turns(floors[way.floor], ours, effort.rounds),
                unit=micros,
                target=at_most(way.most),
            )
            if way.told is not None:
                yield Row(
                    claim=f"the same against the database by hand, {way.words}",
                    floor=way.told,
                    measured=in_turns(floors[way.told], ours, effort.fewer),
                    unit=micros,
                )


@contextmanager
def _waking(effort: Effort, hold: Act, push: Act, *args: object) -> Iterator[Wakes]:
    """Two processes: one waits and says when it had it, the other is told to push and says when it began."""
    with Elsewhere(hold, *args) as holder:
        holder.receive()
        with Elsewhere(push, *args) as pusher:
            pusher.receive()

            def wake() -> float:
                pusher.tell()
                began: float = pusher.receive()
                held: float = holder.receive()
                return held - began

            yield lambda: median(wake() for _ in range(effort.wakes))


@contextmanager
def _rounds(effort: Effort, path: str) -> Iterator[Wakes]:
    """Two processes: one answers, the other is told to ask and says how long it waited for the answer."""
    with Elsewhere(_echo, path) as other:
        other.receive()
        with Elsewhere(_ask, path) as asker:
            asker.receive()

            def ask() -> float:
                asker.tell()
                took: float = asker.receive()
                return took

            yield lambda: median(ask() for _ in range(effort.wakes))


async def _push(line: Line, environ: dict[str, str]) -> None:
    telemetry.configure("json")
    configuration = load(environ)
    exchange = Exchange(configured_transport(configuration))
    with opened(configuration, bell=exchange.bell) as store:
        async with exchange.open():
            memory.settled()
            line.tell("ready")
            while True:
                await line.next()
                wish = _office.wish(0)
                began = time.perf_counter()
                await store.run(intake.push_all, [wish], lane=wish.to)
                line.tell(began)


async def _hold(line: Line, environ: dict[str, str]) -> None:
    telemetry.configure("json")
    configuration = load(environ)
    exchange, rung = Exchange(configured_transport(configuration)), asyncio.Event()

    def heard(signal: TransportMessage) -> None:
        if not isinstance(signal, Frame) and signal.recipient == READER:
            rung.set()

    with opened(configuration, bell=exchange.bell) as store:
        async with exchange.open():
            with exchange.subscribed(heard):
                memory.settled()
                line.tell("ready")
                while True:
                    await rung.wait()
                    rung.clear()
                    batch = await store.run(inbox.claim, READER, owner="bench", lane=READER)
                    held = time.perf_counter()
                    if batch.claim is not None:
                        claim = batch.claim
                        await store.run(inbox.ack, claim.id, owner=claim.owner, fence=claim.fence, lane=READER)
                        line.tell(held)


async def _ask(line: Line, path: str) -> None:
    back = asyncio.Event()
    with _ears(f"{path}-back") as ears:

        def read() -> None:
            ears.recv(len(_DATAGRAM))
            back.set()

        asyncio.get_running_loop().add_reader(ears.fileno(), read)
        line.tell("ready")
        while True:
            await line.next()
            back.clear()
            began = time.perf_counter()
            ears.sendto(_DATAGRAM, path)
            await back.wait()
            line.tell(time.perf_counter() - began)


async def _echo(line: Line, path: str) -> None:
    with _ears(path) as ears:
        asyncio.get_running_loop().add_reader(ears.fileno(), lambda: ears.sendto(*ears.recvfrom(len(_DATAGRAM))))
        line.tell("ready")
        await asyncio.Event().wait()


@contextmanager
def _ears(path: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ears:
        ears.bind(path)
        ears.setblocking(False)
        yield ears


async def _push_sqlite(line: Line, url: str, path: str) -> None:
    with closing(RawSqlite(url)) as raw, _ears(f"{path}-from") as mouth:
        inserts = SqliteInserts(raw)
        line.tell("ready")
        while True:
            await line.next()
            rows = inserts.rows(range(1))
            began = time.perf_counter()
            inserts.write(*rows)
            mouth.sendto(_DATAGRAM, path)
            line.tell(began)


async def _hold_sqlite(line: Line, url: str, path: str) -> None:
    _furnish_one(url)
    with closing(RawSqlite(url)) as raw, _ears(path) as ears:
        [row] = raw.rows("SELECT number FROM entities")

        def read() -> None:
            ears.recv(len(_DATAGRAM))
            taken = raw.db.execute(_TAKE_IN_SQLITE, row).fetchall()  # a statement alone is a transaction
            held = time.perf_counter()
            if taken:
                raw.db.execute(_ACK.decode().replace("%s", "?"), row)
                line.tell(held)

        asyncio.get_running_loop().add_reader(ears.fileno(), read)
        line.tell("ready")
        await asyncio.Event().wait()


async def _push_postgres(line: Line, url: str) -> None:
    with closing(RawPostgres(url)) as raw:
        inserts = Inserts(raw, _NOTIFY)
        line.tell("ready")
        while True:
            await line.next()
            columns = inserts.columns(range(1))
            began = time.perf_counter()
            inserts.write(*columns)
            line.tell(began)


async def _hold_postgres(line: Line, url: str) -> None:
    _furnish_one(url)
    loop = asyncio.get_running_loop()
    with psycopg.connect(url, autocommit=True) as ears, psycopg.connect(url, autocommit=True) as hands:
        row = hands.execute("SELECT number FROM entities").fetchone()
        assert row is not None
        ears.execute("LISTEN bench")

        def read() -> None:
            ears.pgconn.consume_input()
            while ears.pgconn.notifies():
                if hands.execute(_TAKE, row).fetchall():
                    held = time.perf_counter()
                    hands.execute(_ACK, row)
                    line.tell(held)

        loop.add_reader(ears.fileno(), read)
        line.tell("ready")
        await asyncio.Event().wait()


def _furnish_one(url: str) -> None:
    """One agent, and one push that the rows are copies of."""
    with closing(open_store(url)) as store:
        _office.furnish(store, agents=1)
        store.call(intake.push, _office.wish(0))
