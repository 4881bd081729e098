"""
Letterboxes on Redis, which any program may LPUSH to.

    inbox:{agent}               entries, the newest first
    inbox:{agent}:processing    those that were taken and are not settled, the newest first
    inbox:{agent}:holder        who is emptying the box; expires by itself
    inbox:{agent}:rejected      what could not be used, as {"reason", "entry"}, the newest first, up to 10,000

One connection serves them all, however many agents there are. Taking is one script, so nobody comes in between. The
holder only saves several gateways from doing the same work. What makes it right is that everybody is given everything
that is set aside, from the oldest on, and that what is given twice is recognised by its id: then whichever of two
takers commits first, the order is kept and nothing is doubled.
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
from gatepost.adapters.transports.lifeline import why
from gatepost.adapters.transports.redis import open_client
from gatepost.errors import Unavailable
from gatepost.ports import QueuedEntry

log = structlog.get_logger("gatepost.letterbox")

_BOX: Final = "inbox:"
_PROCESSING: Final = ":processing"
_OTHERS: Final = (":rejected", ":holder")
_RESERVED: Final = (_PROCESSING, *_OTHERS)
#: entries of one agent that may be set aside, and rejected ones that are kept
_ASIDE: Final = 50
_REJECTED: Final = 10_000

_TAKE: Final = """
local holder = redis.call('GET', KEYS[3])
if holder and holder ~= ARGV[1] then return {} end
for _ = 1, ARGV[3] - redis.call('LLEN', KEYS[2]) do
    if not redis.call('LMOVE', KEYS[1], KEYS[2], 'RIGHT', 'LEFT') then break end
end
local taken = redis.call('LRANGE', KEYS[2], 0, -1)
if #taken > 0 then
    redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[2])
elseif holder then
    redis.call('DEL', KEYS[3])
end
return taken
"""

_SETTLE: Final = """
for i = 2, #ARGV, 2 do
    if redis.call('LREM', KEYS[1], -1, ARGV[i]) > 0 and ARGV[i + 1] ~= '' then
        redis.call('LPUSH', KEYS[2], ARGV[i + 1])
    end
end
redis.call('LTRIM', KEYS[2], 0, ARGV[1] - 1)
"""


class RedisLetterbox:
    source: ClassVar[str] = "redis"

    def __init__(self, url: str, *, hold: float = 10.0, patience: float = 5.0) -> None:
        """Seconds after which a holder that says nothing is taken for dead, and seconds to wait for Redis."""
        self._client = open_client(url, patience=patience, timeout=patience)
        self._hold = hold
        self._self = secrets.token_hex(8)
        self._one_at_a_time = asyncio.Lock()

    async def open(self) -> None:
        """A list keeps what is left in it, whoever is there."""

    async def take(self, agents: Sequence[str]) -> list[QueuedEntry]:
        agents = [agent for agent in agents if not agent.endswith(_RESERVED)]
        async with self._asking(), self._client.pipeline(transaction=False) as pipe:
            for agent in agents:
                box = f"{_BOX}{agent}"
                pipe.eval(
                    _TAKE, 3, box, f"{box}{_PROCESSING}", f"{box}:holder", self._self, int(self._hold * 1000), _ASIDE
                )
            taken = await pipe.execute(raise_on_error=False)
        return [
            QueuedEntry(agent, raw)
            for agent, found in zip(agents, taken, strict=True)
            for raw in reversed(self._readable(agent, found))
        ]

    async def settle(self, entries: Sequence[tuple[QueuedEntry, str | None]]) -> None:
        async with self._asking(), self._client.pipeline(transaction=False) as pipe:
            for agent, group in groupby(entries, lambda settled: settled[0].agent):
                box = f"{_BOX}{agent}"
                pairs = [word for entry, reason in group for word in (entry.raw, _rejection(entry, reason))]
                pipe.eval(_SETTLE, 2, f"{box}{_PROCESSING}", f"{box}:rejected", _REJECTED, *pairs)
            await pipe.execute()

    async def agents(self) -> list[str]:
        async with self._asking():
            keys = [key async for key in self._client.scan_iter(match=f"{_BOX}*", count=1_000, _type="list")]
        names = (key.decode(errors="replace").removeprefix(_BOX) for key in keys)
        return sorted({name.removesuffix(_PROCESSING) for name in names if not name.endswith(_OTHERS)})

    async def close(self) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[None]:
        async with self._one_at_a_time:
            try:
                yield
            except (RedisError, OSError) as error:
                raise Unavailable(
                    f"Redis cannot be asked: {why(error)}", hint="see `transport` in the settings"
                ) from error

    def _readable(self, agent: str, found: Any) -> list[bytes]:
        """What was found; what is there but is no list is another program's mistake, and not to hold up the others."""
        if isinstance(found, ResponseError) and "WRONGTYPE" in str(found):
            log.warning("not a list", key=f"{_BOX}{agent}")
            return []
        if isinstance(found, Exception):
            raise Unavailable(f"Redis cannot be asked: {why(found)}", hint="see `transport` in the settings") from found
        return list(found)


def _rejection(entry: QueuedEntry, reason: str | None) -> str:
    """What is kept of a rejected entry; nothing for one that was accepted."""
    if reason is None:
        return ""
    return codec.text({"reason": reason, "entry": entry.raw.decode(errors="backslashreplace")}) or ""
