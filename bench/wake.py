"""
The time from a push in one process until another process has claimed the event durably.

Both are event loops, and run the requests as two gateways do, without HTTP before them: one sends `PushEvent`, its
signal goes through the transport, the other receives the signal and sends `ClaimBatch`. The clock starts before the
push and stops when the claim is answered; the ack comes after it. Events come one at a time, and a turn gives the
median.

The floors do the same without Gatepost: the database alone, which stores everything and checks nothing. On PostgreSQL
that is the rows of a push and a NOTIFY in one transaction, and a listener that takes the item in one statement; on
SQLite the rows in one transaction, a datagram, and the item taken in another transaction.
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

from bench.push_postgres import Inserts
from bench.push_sqlite import Inserts as SqliteInserts
from bench.support import fixtures
from bench.support.measurement import FULL, Effort, measure_in_turns
from bench.support.processes import ChildMain, ChildProcess, ParentPipe
from bench.support.raw_databases import RawPostgres, RawSqlite
from bench.support.table import Row, at_most, micros
from gatepost import telemetry
from gatepost.app import build_transport, open_store, prepare_store
from gatepost.core.signals import Frame, TransportMessage
from gatepost.executor import AsyncExecutor
from gatepost.gateway.serve import freeze_loaded_objects
from gatepost.inbox.item_api import AckClaim, ClaimBatch
from gatepost.inbox.push import actions as push
from gatepost.settings import load
from gatepost.transports.signal_bus import SignalBus
from tests.support.servers.brokers import Nats, Redis
from tests.support.servers.private_servers import Postgres

READER: Final = fixtures.get_agent_name(0)
#: about what a signal with its event takes
_DATAGRAM: Final = b"x" * 600

_NOTIFY: Final = b"NOTIFY bench"
_PAST_COLUMNS: Final = "recipient, arrival, priority, is_from_machine, source, wakes, attempts, size, times"
_CLAIM: Final = f"""
WITH gone AS (
    DELETE FROM pending WHERE (recipient, arrival) IN (
        SELECT recipient, arrival FROM pending WHERE recipient = %s
        ORDER BY priority, is_from_machine, arrival LIMIT 100 FOR UPDATE SKIP LOCKED
    ) RETURNING {_PAST_COLUMNS}
), taken AS (
    INSERT INTO past ({_PAST_COLUMNS}, state) SELECT {_PAST_COLUMNS}, 'taken' FROM gone RETURNING arrival
) SELECT events.* FROM taken JOIN events ON events.arrival = taken.arrival
""".encode()

#: a claim on SQLite, in one transaction
_MOVE_IN_SQLITE: Final = f"""
INSERT INTO past ({_PAST_COLUMNS}, state)
SELECT {_PAST_COLUMNS}, 'taken' FROM pending WHERE recipient = ?
ORDER BY priority, is_from_machine, arrival LIMIT 100
"""
_CLAIM_IN_SQLITE: Final = """
DELETE FROM pending WHERE recipient = ? AND EXISTS (SELECT 1 FROM past WHERE past.arrival = pending.arrival)
RETURNING (SELECT content FROM events WHERE events.arrival = pending.arrival)
"""

#: the floors, in words
_RAW_SQLITE_FLOOR: Final = "raw insert, datagram and claim"
_RAW_POSTGRES_FLOOR: Final = "raw insert, NOTIFY and claim"

_DOOR: Final = "the requests `PushEvent` and `ClaimBatch`, as a gateway runs them"

#: to the same rows, written and read by hand
_MAX_RATIO: Final = 1.8

MeasureWakes = Callable[[], float]


@dataclass(frozen=True, slots=True)
class TransportCase:
    description: str
    transport: str
    floor: str


def main(effort: Effort = FULL) -> Iterator[Row]:
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="gatepost-bench-"))
        raw_arguments = f"sqlite:///{folder}/raw.db", f"{folder}/bell"
        raw_turn = _open_wake_turn(effort, _run_sqlite_reader, _run_sqlite_pusher, *raw_arguments)
        floors = {_RAW_SQLITE_FLOOR: stack.enter_context(raw_turn)}
        yield from _measure_transport(
            TransportCase("SQLite FULL and the socket", "socket:", _RAW_SQLITE_FLOOR),
            f"sqlite:///{folder}/gatepost.db",
            floors,
            effort,
        )
        server = stack.enter_context(Postgres(fsync="on" if effort.fsync else "off"))
        raw_url = stack.enter_context(server.create_database())
        floors[_RAW_POSTGRES_FLOOR] = stack.enter_context(
            _open_wake_turn(effort, _run_postgres_reader, _run_postgres_pusher, raw_url)
        )
        redis, nats = stack.enter_context(Redis()), stack.enter_context(Nats())
        for transport_case in (
            TransportCase("PostgreSQL and NOTIFY", "postgres:", _RAW_POSTGRES_FLOOR),
            TransportCase("PostgreSQL and Redis", redis.url, _RAW_POSTGRES_FLOOR),
            TransportCase("PostgreSQL and NATS", nats.url, _RAW_POSTGRES_FLOOR),
        ):
            with server.create_database() as url:
                yield from _measure_transport(transport_case, url, floors, effort)


def _measure_transport(
    transport_case: TransportCase, url: str, floors: dict[str, MeasureWakes], effort: Effort
) -> Iterator[Row]:
    with TemporaryDirectory(prefix="gatepost-bench-") as home, closing(open_store(url)) as store:
        fixtures.create_agents(store, agents=1)
        environ = {"GATEPOST_HOME": home, "GATEPOST_STORE": url, "GATEPOST_TRANSPORT": transport_case.transport}
        with _open_wake_turn(effort, _run_reader, _run_pusher, environ) as ours:
            yield Row(
                claim=f"from a push to another process that holds the event, {transport_case.description}",
                door=_DOOR,
                floor=transport_case.floor,
                measurement=measure_in_turns(floors[transport_case.floor], ours, effort.rounds),
                unit=micros,
                target=at_most(_MAX_RATIO),
            )


@contextmanager
def _open_wake_turn(
    effort: Effort, reader_main: ChildMain, pusher_main: ChildMain, *args: object
) -> Iterator[MeasureWakes]:
    """Two processes: one waits and says when it had it, the other is told to push and says when it began."""
    with ChildProcess(reader_main, *args) as reader:
        reader.receive()
        with ChildProcess(pusher_main, *args) as pusher:
            pusher.receive()

            def measure_wake() -> float:
                pusher.send()
                start: float = pusher.receive()
                received_at: float = reader.receive()
                return received_at - start

            yield lambda: median(measure_wake() for _ in range(effort.wakes))


async def _run_pusher(pipe: ParentPipe, environ: dict[str, str]) -> None:
    telemetry.configure_logging("json")
    configuration = load(environ)
    bus = SignalBus(build_transport(configuration))
    with prepare_store(configuration, signal_sink=bus.on_commit) as store:
        executor = AsyncExecutor(store)
        async with bus.open():
            freeze_loaded_objects()
            pipe.send("ready")
            while True:
                await pipe.receive()
                request = fixtures.build_request(0)
                start = time.perf_counter()
                await executor.send(request)
                pipe.send(start)


async def _run_reader(pipe: ParentPipe, environ: dict[str, str]) -> None:
    telemetry.configure_logging("json")
    configuration = load(environ)
    bus, wake_event = SignalBus(build_transport(configuration)), asyncio.Event()

    def on_signal(signal: TransportMessage) -> None:
        if not isinstance(signal, Frame) and signal.topic.recipient == READER:
            wake_event.set()

    with prepare_store(configuration, signal_sink=bus.on_commit) as store:
        executor, claim_request = AsyncExecutor(store), ClaimBatch(name=READER, owner="bench")
        async with bus.open():
            with bus.subscribe(on_signal):
                freeze_loaded_objects()
                pipe.send("ready")
                while True:
                    await wake_event.wait()
                    wake_event.clear()
                    batch = await executor.send(claim_request)
                    received_at = time.perf_counter()
                    if batch.claim is not None:
                        claim_id, fence = batch.claim.claim_id, batch.claim.fence
                        await executor.send(AckClaim(name=READER, claim_id=claim_id, owner="bench", fence=fence))
                        pipe.send(received_at)


@contextmanager
def _open_socket(path: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagram_socket:
        datagram_socket.bind(path)
        datagram_socket.setblocking(False)
        yield datagram_socket


async def _run_sqlite_pusher(pipe: ParentPipe, url: str, path: str) -> None:
    with closing(RawSqlite(url)) as raw, _open_socket(f"{path}-from") as sender:
        inserts = SqliteInserts(raw)
        pipe.send("ready")
        while True:
            await pipe.receive()
            rows = inserts.build_rows(range(1))
            start = time.perf_counter()
            inserts.write(*rows)
            sender.sendto(_DATAGRAM, path)
            pipe.send(start)


async def _run_sqlite_reader(pipe: ParentPipe, url: str, path: str) -> None:
    _create_agent(url)
    with closing(RawSqlite(url)) as raw, _open_socket(path) as listener:
        [row] = raw.execute("SELECT number FROM entities")

        def read() -> None:
            listener.recv(len(_DATAGRAM))
            raw.db.execute("BEGIN IMMEDIATE")
            raw.db.execute(_MOVE_IN_SQLITE, row)
            contents = raw.db.execute(_CLAIM_IN_SQLITE, row).fetchall()
            raw.db.execute("COMMIT")
            received_at = time.perf_counter()
            if contents:
                pipe.send(received_at)

        asyncio.get_running_loop().add_reader(listener.fileno(), read)
        pipe.send("ready")
        await asyncio.Event().wait()


async def _run_postgres_pusher(pipe: ParentPipe, url: str) -> None:
    with closing(RawPostgres(url)) as raw:
        inserts = Inserts(raw, _NOTIFY)
        pipe.send("ready")
        while True:
            await pipe.receive()
            columns = inserts.build_columns(range(1))
            start = time.perf_counter()
            inserts.write(*columns)
            pipe.send(start)


async def _run_postgres_reader(pipe: ParentPipe, url: str) -> None:
    _create_agent(url)
    loop = asyncio.get_running_loop()
    with psycopg.connect(url, autocommit=True) as listener, psycopg.connect(url, autocommit=True) as claimer:
        row = claimer.execute("SELECT number FROM entities").fetchone()
        assert row is not None
        listener.execute("LISTEN bench")

        def read() -> None:
            listener.pgconn.consume_input()
            while listener.pgconn.notifies():
                if claimer.execute(_CLAIM, row).fetchall():
                    pipe.send(time.perf_counter())

        loop.add_reader(listener.fileno(), read)
        pipe.send("ready")
        await asyncio.Event().wait()


def _create_agent(url: str) -> None:
    """One agent, and one push that the rows are copies of."""
    with closing(open_store(url)) as store:
        fixtures.create_agents(store, agents=1)
        store.run_sync(push.push_event, fixtures.build_push(0))
