"""Every transport passes the suite as it is."""

import asyncio
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import uvloop

from gatepost.adapters.transports.memory import MemoryBus, MemoryTransport
from gatepost.adapters.transports.nats import NatsTransport
from gatepost.adapters.transports.postgres import PostgresTransport
from gatepost.adapters.transports.redis import RedisTransport
from gatepost.adapters.transports.socket import SocketTransport
from gatepost.core.frame import Frame
from gatepost.core.signals import Signal
from gatepost.testing.transports import WAIT_TIMEOUT, RecordingListener, TransportFactory, TransportSuite
from tests.brokers import Nats, Redis
from tests.servers import Postgres

_IMPORT: Final = "from gatepost.core.signals import Signal"


class Between(TransportSuite):
    """What those who reach other processes have in common."""

    #: how another process makes the transport
    code: str

    async def test_a_process_that_only_sends_and_ends_is_heard(self, make: TransportFactory, where: Any) -> None:
        async with make().listen(ears := RecordingListener()):
            script = f"{self.code.format(where=where)}.send([Signal('ann', 'event')])"
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", f"{_IMPORT}\n{script}")
            async with asyncio.timeout(WAIT_TIMEOUT):
                assert await process.wait() == 0
            await ears.wait_for("ann")

    def test_uvloop_does_as_well(self, make: TransportFactory) -> None:
        async def scene() -> None:
            speaker = make()
            async with make().listen(ears := RecordingListener()), speaker.listen(RecordingListener()):
                speaker.send([Signal("ann", "event"), Frame("space:q4", "delta", "x")])
                await ears.wait_until(lambda ears: len(ears.messages) == 2)

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(scene())


class TestMemory(TransportSuite):
    @pytest.fixture
    def make(self) -> TransportFactory:
        room = MemoryBus()
        return lambda: MemoryTransport(room)


class TestSocket(Between):
    code = (
        "from pathlib import Path\nfrom gatepost.adapters.transports.socket import *\nSocketTransport(Path('{where}'))"
    )

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


class TestPostgres(Between):
    carries_events = False
    code = "from gatepost.adapters.transports.postgres import *\nPostgresTransport('{where}')"

    @pytest.fixture
    def where(self, postgres: Postgres) -> str:
        return postgres.url

    @pytest.fixture
    def make(self, where: str) -> TransportFactory:
        return lambda: PostgresTransport(where)


class TestRedis(Between):
    code = "from gatepost.adapters.transports.redis import *\nRedisTransport('{where}')"

    @pytest.fixture
    def where(self, redis: Redis) -> str:
        return redis.url

    @pytest.fixture
    def make(self, where: str) -> TransportFactory:
        return lambda: RedisTransport(where)


class TestNats(Between):
    carries_events = False
    code = "from gatepost.adapters.transports.nats import *\nNatsTransport('{where}')"

    @pytest.fixture
    def where(self, nats: Nats) -> str:
        return nats.url

    @pytest.fixture
    def make(self, where: str) -> TransportFactory:
        return lambda: NatsTransport(where)
