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

from gatepost.app import open_store
from gatepost.core.ports import Store
from gatepost.errors import Unavailable
from gatepost.inbox import claim_actions as inbox
from gatepost.testing.transports import WAIT_TIMEOUT
from gatepost.transports.redis import RedisIntakeQueue
from gatepost.worker.intake_queue_reader import QueueReader
from tests.support.servers.brokers import Redis

#: Collects, and dies by its own hand: as soon as entries were taken, or once they were committed.
KILLED_READER: Final = """
import asyncio, os, signal, sys
from gatepost.transports.redis import RedisIntakeQueue
from gatepost.app import open_store
from gatepost.worker.intake_queue_reader import QueueReader

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
async def intake_queue(own_redis: Redis) -> AsyncIterator[RedisIntakeQueue]:
    intake_queue = RedisIntakeQueue(own_redis.url, lease_seconds=0.01, timeout=WAIT_TIMEOUT)
    yield intake_queue
    await intake_queue.close()


@pytest.fixture
async def impatient_queue(own_redis: Redis) -> AsyncIterator[RedisIntakeQueue]:
    """For a server that does not answer: one that does may take longer than this on a busy machine."""
    impatient_queue = RedisIntakeQueue(own_redis.url, lease_seconds=0.01, timeout=0.2)
    yield impatient_queue
    await impatient_queue.close()


async def push_entries(client: Client, *numbers: int) -> None:
    for number in numbers:
        await client.lpush("inbox:ana", json.dumps({"eventId": f"e-{number}", "type": "event", "data": number}))


def list_numbers(store: Store) -> list[int]:
    return [item.event.data for item in store.read_sync(inbox.list_page, "ana", limit=10_000)]


async def read_until_empty(reader: QueueReader, client: Client) -> None:
    """Collect until nothing is left: a holder that died is waited for until its hold expires."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while await client.exists("inbox:ana", "inbox:ana:processing"):
            await reader.read_all_queues()


@pytest.mark.parametrize("moment", ["taken", "committed"])
async def test_a_collector_that_is_killed_loses_and_doubles_nothing(
    crew_url: str, own_redis: Redis, client: Client, intake_queue: RedisIntakeQueue, moment: str
) -> None:
    await push_entries(client, *range(5))
    victim = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED_READER, own_redis.url, crew_url, moment)
    assert await victim.wait() == -signal.SIGKILL
    assert await client.llen("inbox:ana:processing") == 5
    with closing(open_store(crew_url)) as store:
        assert list_numbers(store) == ([] if moment == "taken" else list(range(5)))
        await push_entries(client, *range(5, 10))
        await read_until_empty(QueueReader(intake_queue, store), client)
        assert list_numbers(store) == list(range(10))


async def test_redis_is_killed_and_stopped_while_a_collector_collects(
    sqlite_crew_url: str,
    own_redis: Redis,
    client: Client,
    intake_queue: RedisIntakeQueue,
    impatient_queue: RedisIntakeQueue,
) -> None:
    await push_entries(client, *range(120))
    with closing(open_store(sqlite_crew_url)) as store:
        reader = QueueReader(intake_queue, store)
        own_redis.kill()
        with pytest.raises(Unavailable, match="Redis cannot be asked"):
            await reader.read_all_queues()
        await asyncio.to_thread(own_redis.restart)
        await intake_queue.take(["ana"])
        own_redis.pause()
        with pytest.raises(Unavailable, match="Redis cannot be asked"):
            await QueueReader(impatient_queue, store).read_all_queues()
        own_redis.resume()
        await read_until_empty(reader, client)
        assert list_numbers(store) == list(range(120))
