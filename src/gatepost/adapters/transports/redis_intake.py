"""
The intake queue on Redis: lists to which any program may LPUSH.

    inbox:{agent}               entries, the newest first
    inbox:{agent}:processing    entries that were taken and are not settled, the newest first
    inbox:{agent}:holder        the gateway that empties the list now; expires by itself
    inbox:{agent}:rejected      rejected entries, as {"reason", "entry"}, the newest first, up to 10,000

One connection serves all agents. `take` runs one script for each agent, so it is atomic. The holder only prevents
several gateways from doing the same work; correctness does not depend on it. It depends on two facts: every taker
receives everything in `:processing`, starting with the oldest entry, and an entry that is received twice is recognised
by its id. So whichever of two takers commits first, the order is kept and no event is stored twice.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any, ClassVar, Final

import structlog
from redis.exceptions import RedisError, ResponseError

from gatepost.adapters.transports import codec
from gatepost.adapters.transports.reconnect import describe_error
from gatepost.adapters.transports.redis import open_client
from gatepost.core.transport import QueuedEntry
from gatepost.errors import Unavailable

log = structlog.get_logger("gatepost.letterbox")

_KEY_PREFIX: Final = "inbox:"
_PROCESSING_SUFFIX: Final = ":processing"
_OTHER_SUFFIXES: Final = (":rejected", ":holder")
_RESERVED_SUFFIXES: Final = (_PROCESSING_SUFFIX, *_OTHER_SUFFIXES)
#: entries of one agent in `:processing`, and in `:rejected`
_MAX_UNSETTLED: Final = 50
_MAX_REJECTED: Final = 10_000

_TAKE_SCRIPT: Final = """
local holder = redis.call('GET', KEYS[3])
if holder and holder ~= ARGV[1] then return {} end
for _ = 1, ARGV[3] - redis.call('LLEN', KEYS[2]) do
    if not redis.call('LMOVE', KEYS[1], KEYS[2], 'RIGHT', 'LEFT') then break end
end
local entries = redis.call('LRANGE', KEYS[2], 0, -1)
if #entries > 0 then
    redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[2])
elseif holder then
    redis.call('DEL', KEYS[3])
end
return entries
"""

_SETTLE_SCRIPT: Final = """
for i = 2, #ARGV, 2 do
    if redis.call('LREM', KEYS[1], -1, ARGV[i]) > 0 and ARGV[i + 1] ~= '' then
        redis.call('LPUSH', KEYS[2], ARGV[i + 1])
    end
end
redis.call('LTRIM', KEYS[2], 0, ARGV[1] - 1)
"""


class RedisIntakeQueue:
    source: ClassVar[str] = "redis"

    def __init__(self, url: str, *, lease_seconds: float = 10.0, timeout: float = 5.0) -> None:
        """`lease_seconds` after its last call a holder counts as dead; `timeout` is the seconds to wait for Redis."""
        self._client = open_client(url, connect_timeout=timeout, timeout=timeout)
        self._lease_seconds = lease_seconds
        self._holder_id = secrets.token_hex(8)
        self._request_lock = asyncio.Lock()

    async def open(self) -> None:
        """Do nothing: a list keeps its entries also while no gateway runs."""

    async def take(self, agents: Sequence[str]) -> list[QueuedEntry]:
        agents = [agent for agent in agents if not agent.endswith(_RESERVED_SUFFIXES)]
        async with self._translate_errors(), self._client.pipeline(transaction=False) as pipe:
            for agent in agents:
                key = f"{_KEY_PREFIX}{agent}"
                pipe.eval(
                    _TAKE_SCRIPT,
                    3,
                    key,
                    f"{key}{_PROCESSING_SUFFIX}",
                    f"{key}:holder",
                    self._holder_id,
                    int(self._lease_seconds * 1000),
                    _MAX_UNSETTLED,
                )
            results = await pipe.execute(raise_on_error=False)
        return [
            QueuedEntry(agent, raw)
            for agent, result in zip(agents, results, strict=True)
            for raw in reversed(self._read_result(agent, result))
        ]

    async def settle(self, entries: Sequence[tuple[QueuedEntry, str | None]]) -> None:
        async with self._translate_errors(), self._client.pipeline(transaction=False) as pipe:
            for agent, group in groupby(entries, lambda pair: pair[0].agent):
                key = f"{_KEY_PREFIX}{agent}"
                arguments = [
                    argument for entry, reason in group for argument in (entry.raw, _encode_rejection(entry, reason))
                ]
                pipe.eval(_SETTLE_SCRIPT, 2, f"{key}{_PROCESSING_SUFFIX}", f"{key}:rejected", _MAX_REJECTED, *arguments)
            await pipe.execute()

    async def agents(self) -> list[str]:
        async with self._translate_errors():
            keys = [key async for key in self._client.scan_iter(match=f"{_KEY_PREFIX}*", count=1_000, _type="list")]
        names = (key.decode(errors="replace").removeprefix(_KEY_PREFIX) for key in keys)
        return sorted({name.removesuffix(_PROCESSING_SUFFIX) for name in names if not name.endswith(_OTHER_SUFFIXES)})

    async def close(self) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def _translate_errors(self) -> AsyncIterator[None]:
        async with self._request_lock:
            try:
                yield
            except (RedisError, OSError) as error:
                raise Unavailable(
                    f"Redis cannot be asked: {describe_error(error)}", hint="see `transport` in the settings"
                ) from error

    def _read_result(self, agent: str, result: Any) -> list[bytes]:
        """Return the entries of one agent. A key that is no list is a mistake of another program: skip that agent."""
        if isinstance(result, ResponseError) and "WRONGTYPE" in str(result):
            log.warning("not a list", key=f"{_KEY_PREFIX}{agent}")
            return []
        if isinstance(result, Exception):
            raise Unavailable(
                f"Redis cannot be asked: {describe_error(result)}", hint="see `transport` in the settings"
            ) from result
        return list(result)


def _encode_rejection(entry: QueuedEntry, reason: str | None) -> str:
    """Return the text to keep of a rejected entry; empty for an accepted one."""
    if reason is None:
        return ""
    return codec.dump_json({"reason": reason, "entry": entry.raw.decode(errors="backslashreplace")}) or ""
