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
from gatepost.adapters.transports.redis import connected
from gatepost.core.ring import JANITOR
from gatepost.ports import EventHandler, ResyncHandler, build_unkept_event

_EVERYBODY: Final = "wakeup:*"


class RedisParcels:
    name: ClassVar[str] = "redis"

    def __init__(self, url: str, agent: str, *, beat: float = 5.0, patience: float = 5.0) -> None:
        """Seconds between signs of life, and to wait for one."""
        self._url = url
        self._own = f"wakeup:{agent}"
        self._beat = beat
        self._patience = patience

    async def follow(self, take: EventHandler, look: ResyncHandler) -> None:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self._patience):
                connection = await connected(self._url, stack, patience=self._patience)
                await connection.send_command("SUBSCRIBE", self._own, _EVERYBODY)
                for _ in (self._own, _EVERYBODY):
                    await connection.read_response(timeout=inf)
            look()
            while True:
                kind, *said = await self._next(connection)
                if kind == b"message":
                    channel, data = said
                    await _hand(data, channel == _EVERYBODY.encode(), take, look)

    async def _next(self, connection: Connection) -> Any:
        """What comes next; if nothing does for a while, the server has to show that it is alive."""
        if (came := await connection.read_response(timeout=self._beat)) is not None:
            return came
        await connection.send_command("PING", check_health=False)
        if (came := await connection.read_response(timeout=self._patience)) is not None:
            return came
        raise TimeoutError("it does not answer")


async def _hand(data: bytes, broadcast: bool, take: EventHandler, look: ResyncHandler) -> None:
    try:
        said = json.loads(data)
        cause, whole = said["ring"]["cause"], "eventId" in said
    except (ValueError, TypeError, LookupError, RecursionError):  # another program's
        look()
        return
    if not whole:
        if cause != JANITOR:
            look()
        return
    await take(
        build_unkept_event(codec.event(said), look, broadcast=broadcast, error=f"it is not an event: {data[:60]!r}")
    )
