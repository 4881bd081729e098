"""Collectors are killed between taking and removing, Redis is killed and stopped: nothing is lost or doubled."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Final

import pytest
from redis.asyncio import Redis as Client

from gatepost.actions import inbox
from gatepost.adapters.transports.letterbox import RedisIntakeQueue
from gatepost.app import open_store
from gatepost.errors import Unavailable
from gatepost.ports import Store
from gatepost.runtime.queue_reader import QueueReader
from gatepost.testing.transports import WAIT_TIMEOUT
from tests.brokers import Redis

#: Collects, and dies by its own hand: as soon as entries were taken, or once they were committed.
VICTIM: Final = """
import asyncio, os, signal, sys
from gatepost.adapters.transports.letterbox import RedisIntakeQueue
from gatepost.app import open_store
from gatepost.runtime.queue_reader import QueueReader

url, store, moment = sys.argv[1:]

class Letterbox(RedisIntakeQueue):
    async def take(self, agents):
        taken = await super().take(agents)
        if moment == "taken":
            os.kill(os.getpid(), signal.SIGKILL)
        return taken

    async def settle(self, entries):
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(QueueReader(Letterbox(url, lease_seconds=0.01), open_store(store)).read_all_queues())
"""


@pytest.fixture
async def client(own_redis: Redis) -> AsyncIterator[Client]:
    async with Client.from_url(own_redis.url, protocol=2) as client:
        yield client


@pytest.fixture
async def letterbox(own_redis: Redis) -> AsyncIterator[RedisIntakeQueue]:
    letterbox = RedisIntakeQueue(own_redis.url, lease_seconds=0.01, timeout=0.5)
    yield letterbox
    await letterbox.close()


async def leave(client: Client, *numbers: int) -> None:
    for number in numbers:
        await client.lpush("inbox:ana", json.dumps({"eventId": f"e-{number}", "type": "event", "data": number}))


def told(store: Store) -> list[int]:
    return [item.event.data for item in store.query(inbox.page, "ana", limit=10_000)]


async def collected(collector: QueueReader, client: Client) -> None:
    """Collect until nothing is left: a holder that died is waited for until its hold expires."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while await client.exists("inbox:ana", "inbox:ana:processing"):
            await collector.read_all_queues()


@pytest.mark.parametrize("moment", ["taken", "committed"])
async def test_a_collector_that_is_killed_loses_and_doubles_nothing(
    office: str, own_redis: Redis, client: Client, letterbox: RedisIntakeQueue, moment: str
) -> None:
    await leave(client, *range(5))
    victim = await asyncio.create_subprocess_exec(sys.executable, "-c", VICTIM, own_redis.url, office, moment)
    assert await victim.wait() == -signal.SIGKILL
    assert await client.llen("inbox:ana:processing") == 5
    with closing(open_store(office)) as store:
        assert told(store) == ([] if moment == "taken" else list(range(5)))
        await leave(client, *range(5, 10))
        await collected(QueueReader(letterbox, store), client)
        assert told(store) == list(range(10))


async def test_redis_is_killed_and_stopped_while_a_collector_collects(
    sqlite_office: str, own_redis: Redis, client: Client, letterbox: RedisIntakeQueue
) -> None:
    await leave(client, *range(120))
    with closing(open_store(sqlite_office)) as store:
        collector = QueueReader(letterbox, store)
        own_redis.kill()
        with pytest.raises(Unavailable, match="Redis cannot be asked"):
            await collector.read_all_queues()
        await asyncio.to_thread(own_redis.restart)
        await letterbox.take(["ana"])
        own_redis.stop()
        with pytest.raises(Unavailable, match="Redis cannot be asked"):
            await collector.read_all_queues()
        own_redis.cont()
        await collected(collector, client)
        assert told(store) == list(range(120))
