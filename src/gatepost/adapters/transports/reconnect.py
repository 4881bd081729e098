"""
A lifeline: keeps a connection up, and says how it is. Written once, for every transport that can lose one.

    connect -> live until it is lost -> pause -> connect -> ...

The first pause is short, because most losses are; each further one is twice as long, up to the cap of `BACKOFF`, and
all are shortened at random so that processes that lost the same server do not come back in step. Pauses are short again
after a connection that lived for longer than the cap: one that is refused right after it was made must not be tried at
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
from gatepost.retry import Backoff

log = structlog.get_logger("gatepost.transport")

#: seconds between two tries to connect
BACKOFF: Final = Backoff(0.05, cap=5.0, jitter=(0.5, 1.0))
#: seconds after which what was cancelled is cancelled again; until then it may be busy leaving
_CANCEL_RETRY_DELAY: Final = 2.0


class ManagedConnection(Protocol):
    async def run(self) -> None:
        """Serve until the connection is lost; raise why."""

    def abort(self) -> None:
        """Break the connection at once, whatever is under way on it, without waiting for the other side."""


ConnectionFactory = Callable[[], AbstractAsyncContextManager[ManagedConnection]]
ConditionHandler = Callable[[TransportStatus], None]


class Reconnector:
    def __init__(self, name: str, *, connect_timeout: float, on_change: ConditionHandler | None = None) -> None:
        """`changed` is called in the event loop whenever the condition has."""
        self._name = name
        self._connect_timeout = connect_timeout
        self._on_change = on_change
        self._connection: ManagedConnection | None = None
        self.status = TransportStatus()

    @asynccontextmanager
    async def keep_connected(self, connect: ConnectionFactory) -> AsyncIterator[None]:
        """While entered, there is a connection, or it is tried for; entered after the first try."""
        first_attempt = asyncio.Event()
        task = asyncio.create_task(self._run(connect, first_attempt), name=f"transport-{self._name}")
        try:
            await first_attempt.wait()
            yield
        finally:
            if self._connection is not None:
                self._connection.abort()
            await cancel_tasks(task)

    async def _run(self, connect: ConnectionFactory, first_attempt: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        loss_count = 0
        while True:
            started_at = loop.time()
            try:
                await self._connect_once(connect, first_attempt)
            except Exception as error:  # noqa: BLE001 (whatever it was, the next try may go better)
                reason = describe_error(error)
            else:
                reason = "the connection was closed"
            self._set_condition(TransportStatus(is_degraded=True, reason=reason))
            first_attempt.set()
            loss_count = 0 if loop.time() - started_at > BACKOFF.cap else loss_count + 1
            await asyncio.sleep(BACKOFF.delay(loss_count, random.random()))  # noqa: S311 (not for secrecy)

    async def _connect_once(self, connect: ConnectionFactory, first_attempt: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._connect_timeout):
                    connection = await stack.enter_async_context(connect())
            except TimeoutError:
                raise TimeoutError("it does not answer") from None
            self._connection = connection
            try:
                self._set_condition(TransportStatus())
                first_attempt.set()
                await connection.run()
            finally:
                self._connection = None

    def _set_condition(self, condition: TransportStatus) -> None:
        if condition == self.status:
            return
        if condition.is_degraded:
            log.warning("degraded", transport=self._name, reason=condition.reason)
        else:
            log.info("up", transport=self._name)
        self.status = condition
        if self._on_change is not None:
            self._on_change(condition)


async def cancel_tasks(*tasks: asyncio.Task[Any], retry_delay: float = _CANCEL_RETRY_DELAY) -> None:
    """
    Cancel tasks and wait for their end. Some have to be cancelled `again`: `wait_for` of Python 3.11, on which drivers
    stand, forgets that it was cancelled if what it waits for is there at that very moment.
    """
    while pending_tasks := [task for task in tasks if not task.done()]:
        for task in pending_tasks:
            task.cancel()
        await asyncio.wait(pending_tasks, timeout=retry_delay)
    await asyncio.gather(*tasks, return_exceptions=True)  # how they ended matters to nobody


def describe_error(error: BaseException) -> str:
    """The reason in one line. Of a group the first, which is what made the others end."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200].rstrip(".")
