"""
Parcels from Redis: the rings on `wakeup:{agent}`, and on `wakeup:*` for every agent, that come with their event.

Redis keeps nothing for who does not listen, so a parcel comes once or never. A ring without an event says to look,
whoever made it; but not one of the janitor, who rings again and again for as long as something waits.
"""

import asyncio
import json
from contextlib import AsyncExitStack
from math import inf
from typing import Any, ClassVar, Final

from redis.asyncio import Connection

from gatepost.adapters.transports import codec
from gatepost.adapters.transports.redis import open_connection
from gatepost.core.signals import JANITOR
from gatepost.ports import EventHandler, ResyncHandler, build_unkept_event

_BROADCAST_CHANNEL: Final = "wakeup:*"


class RedisSubscription:
    name: ClassVar[str] = "redis"

    def __init__(self, url: str, agent: str, *, heartbeat_interval: float = 5.0, timeout: float = 5.0) -> None:
        """Seconds between signs of life, and to wait for one."""
        self._url = url
        self._own_channel = f"wakeup:{agent}"
        self._heartbeat_interval = heartbeat_interval
        self._timeout = timeout

    async def follow(self, deliver: EventHandler, check_store: ResyncHandler) -> None:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self._timeout):
                connection = await open_connection(self._url, stack, patience=self._timeout)
                await connection.send_command("SUBSCRIBE", self._own_channel, _BROADCAST_CHANNEL)
                for _ in (self._own_channel, _BROADCAST_CHANNEL):
                    await connection.read_response(timeout=inf)
            check_store()
            while True:
                kind, *parts = await self._read_next(connection)
                if kind == b"message":
                    channel, data = parts
                    await _deliver(data, channel == _BROADCAST_CHANNEL.encode(), deliver, check_store)

    async def _read_next(self, connection: Connection) -> Any:
        """What comes next; if nothing does for a while, the server has to show that it is alive."""
        if (reply := await connection.read_response(timeout=self._heartbeat_interval)) is not None:
            return reply
        await connection.send_command("PING", check_health=False)
        if (reply := await connection.read_response(timeout=self._timeout)) is not None:
            return reply
        raise TimeoutError("it does not answer")


async def _deliver(data: bytes, is_broadcast: bool, deliver: EventHandler, check_store: ResyncHandler) -> None:
    try:
        document = json.loads(data)
        cause, has_event = document["ring"]["cause"], "eventId" in document
    except (ValueError, TypeError, LookupError, RecursionError):  # another program's
        check_store()
        return
    if not has_event:
        if cause != JANITOR:
            check_store()
        return
    await deliver(
        build_unkept_event(
            codec.decode_event(document),
            check_store,
            broadcast=is_broadcast,
            error=f"it is not an event: {data[:60]!r}",
        )
    )
