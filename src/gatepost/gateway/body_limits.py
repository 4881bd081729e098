"""
The limits of request bodies beside their size, so that no body keeps the event loop from other callers.

    JSON values of one body      100,000 (`core/json_limits.py`)
    large bodies of one caller   one at a time: the next one is not read before the answer to the first
    large bodies of all callers  64 MiB; what comes then is refused with 503 and can be sent again

A body over 1 MiB is large, also one of unknown size where more than usual is taken. What a body holds in memory is held
until its request is answered.
"""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from gatepost.errors import Unavailable
from gatepost.gateway.http_exchange import HttpExchange
from gatepost.operations.operation import MAX_BODY

LARGE: Final = 1024 * 1024
_MAX_ALL_LARGE: Final = 64 * 1024 * 1024


class CallerLocks:
    """A lock for each caller: what takes long is done for one caller once at a time, and others come in between."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def get(self, caller: Hashable) -> asyncio.Lock:
        lock = self._locks.get(caller)
        if lock is None:
            lock = self._locks[caller] = asyncio.Lock()
        return lock


class LargeBodies:
    """Policy the large bodies that are received and answered at the same time."""

    def __init__(self) -> None:
        self._locks = CallerLocks()
        self._size = 0

    @asynccontextmanager
    async def admit(self, exchange: HttpExchange, caller: Hashable, limit: int) -> AsyncIterator[None]:
        """While entered, the body of a request, which has at most `limit` bytes, may be read and is held."""
        size = exchange.declared_size
        if size is None:  # it is sent in chunks
            size = limit if limit > MAX_BODY else 0
        size = min(size, limit)
        if size <= LARGE:
            yield
            return
        async with self._locks.get(caller):
            if self._size + size > _MAX_ALL_LARGE:
                raise Unavailable("too many large bodies are being received", hint="send it again in a moment")
            self._size += size
            try:
                yield
            finally:
                self._size -= size
