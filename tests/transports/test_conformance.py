"""Every transport passes the suite as it is."""

import asyncio
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import uvloop

from gatepost.core.signals import Frame, Signal, Topic
from gatepost.testing.transports import WAIT_TIMEOUT, RecordingListener, TransportFactory, TransportSuite
from gatepost.transports.memory import MemoryBus, MemoryTransport
from gatepost.transports.nats import NatsTransport
from gatepost.transports.postgres_notify import PostgresTransport
from gatepost.transports.redis import RedisTransport
from gatepost.transports.socket import SocketTransport
from tests.support.servers.brokers import Nats, Redis
from tests.support.servers.private_servers import Postgres

_IMPORT: Final = "from gatepost.core.signals import Signal, Topic"


class ProcessTransportSuite(TransportSuite):
    """What those who reach other processes have in common."""

    #: how another process makes the transport
    setup_code: str

    async def test_a_process_that_only_sends_and_ends_is_heard(self, make: TransportFactory, where: Any) -> None:
        async with make().listen(listener := RecordingListener()):
            script = f"{self.setup_code.format(where=where)}.send([Signal(Topic('inbox', 'ann'), 'event')])"
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", f"{_IMPORT}\n{script}")
            async with asyncio.timeout(WAIT_TIMEOUT):
                assert await process.wait() == 0
            await listener.wait_for("ann")

    def test_uvloop_does_as_well(self, make: TransportFactory) -> None:
        async def send_and_listen() -> None:
            sender = make()
            async with make().listen(listener := RecordingListener()), sender.listen(RecordingListener()):
                sender.send([Signal(Topic("inbox", "ann"), "event"), Frame(Topic("space", "q4"), "delta", "x")])
                await listener.wait_until(lambda listener: len(listener.messages) == 2)

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(send_and_listen())


class TestMemory(TransportSuite):
    @pytest.fixture
    def make(self) -> TransportFactory:
        memory_bus = MemoryBus()
        return lambda: MemoryTransport(memory_bus)


class TestSocket(ProcessTransportSuite):
    setup_code = "from pathlib import Path\nfrom gatepost.transports.socket import *\nSocketTransport(Path('{where}'))"

    @pytest.fixture
    def where(self, tmp_path: Path) -> Path:
        return tmp_path / "doorbells"

    @pytest.fixture
    def make(self, where: Path) -> TransportFactory:
        return lambda: SocketTransport(where)


class TestSocketFarDown(TestSocket):
    """A home whose path is longer than what the kernel takes."""

    @pytest.fixture
    def where(self, tmp_path: Path) -> Path:
        return tmp_path / ("far-" * 20) / ("down-" * 20) / "doorbells"


class TestPostgres(ProcessTransportSuite):
    carries_events = False
    setup_code = "from gatepost.transports.postgres_notify import *\nPostgresTransport('{where}')"

    @pytest.fixture
    def where(self, postgres: Postgres) -> str:
        return postgres.url

    @pytest.fixture
    def make(self, where: str) -> TransportFactory:
        return lambda: PostgresTransport(where)


class TestRedis(ProcessTransportSuite):
    setup_code = "from gatepost.transports.redis import *\nRedisTransport('{where}')"

    @pytest.fixture
    def where(self, redis: Redis) -> str:
        return redis.url

    @pytest.fixture
    def make(self, where: str) -> TransportFactory:
        return lambda: RedisTransport(where)


class TestNats(ProcessTransportSuite):
    carries_events = False
    setup_code = "from gatepost.transports.nats import *\nNatsTransport('{where}')"

    @pytest.fixture
    def where(self, nats: Nats) -> str:
        return nats.url

    @pytest.fixture
    def make(self, where: str) -> TransportFactory:
        return lambda: NatsTransport(where)
