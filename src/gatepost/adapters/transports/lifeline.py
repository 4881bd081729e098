"""
A lifeline: keeps a connection up, and says how it is. Written once, for every transport that can lose one.

    connect -> live until it is lost -> pause -> connect -> ...

The first pause is short, because most losses are; each further one is twice as long, up to `LONGEST`, and all are
shortened at random so that processes that lost the same server do not come back in step. Pauses are short again after
a connection that lived for longer than the longest: one that is refused right after it was made must not be tried at
full speed.

A connection has to be made within `patience`. What is sent or asked on it later is for whoever uses it to watch over.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final, Protocol

import structlog

from gatepost.ports import TransportStatus

log = structlog.get_logger("gatepost.transport")

#: seconds
SHORTEST: Final = 0.05
LONGEST: Final = 5.0
#: seconds after which what was cancelled is cancelled again; until then it may be busy leaving
_AGAIN: Final = 2.0


class Connection(Protocol):
    async def live(self) -> None:
        """Serve until the connection is lost; raise why."""

    def abort(self) -> None:
        """Break the connection at once, whatever is under way on it, without waiting for the other side."""


Connect = Callable[[], AbstractAsyncContextManager[Connection]]
Changed = Callable[[TransportStatus], None]


class Lifeline:
    def __init__(self, name: str, *, patience: float, changed: Changed | None = None) -> None:
        """`changed` is called in the event loop whenever the condition has."""
        self._name = name
        self._patience = patience
        self._changed = changed
        self._connection: Connection | None = None
        self.status = TransportStatus()

    @asynccontextmanager
    async def held(self, connect: Connect) -> AsyncIterator[None]:
        """While entered, there is a connection, or it is tried for; entered after the first try."""
        tried = asyncio.Event()
        task = asyncio.create_task(self._hold(connect, tried), name=f"transport-{self._name}")
        try:
            await tried.wait()
            yield
        finally:
            if self._connection is not None:
                self._connection.abort()
            await end(task)

    async def _hold(self, connect: Connect, tried: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        losses = 0
        while True:
            began = loop.time()
            try:
                await self._live_once(connect, tried)
            except Exception as error:  # noqa: BLE001 (whatever it was, the next try may go better)
                reason = why(error)
            else:
                reason = "the connection was closed"
            self._say(TransportStatus(is_degraded=True, reason=reason))
            tried.set()
            losses = 0 if loop.time() - began > LONGEST else losses + 1
            await asyncio.sleep(_pause(losses))

    async def _live_once(self, connect: Connect, tried: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._patience):
                    connection = await stack.enter_async_context(connect())
            except TimeoutError:
                raise TimeoutError("it does not answer") from None
            self._connection = connection
            try:
                self._say(TransportStatus())
                tried.set()
                await connection.live()
            finally:
                self._connection = None

    def _say(self, condition: TransportStatus) -> None:
        if condition == self.status:
            return
        if condition.is_degraded:
            log.warning("degraded", transport=self._name, reason=condition.reason)
        else:
            log.info("up", transport=self._name)
        self.status = condition
        if self._changed is not None:
            self._changed(condition)


async def end(*tasks: asyncio.Task[Any], again: float = _AGAIN) -> None:
    """
    Cancel tasks and wait for their end. Some have to be cancelled `again`: `wait_for` of Python 3.11, on which drivers
    stand, forgets that it was cancelled if what it waits for is there at that very moment.
    """
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=again)
    await asyncio.gather(*tasks, return_exceptions=True)  # how they ended matters to nobody


def why(error: BaseException) -> str:
    """The reason in one line. Of a group the first, which is what made the others end."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200].rstrip(".")


def _pause(losses: int) -> float:
    longest: float = min(LONGEST, SHORTEST * 2 ** min(losses, 10))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 (not for secrecy)
