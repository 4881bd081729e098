"""
The reconnector: it keeps a connection open and reports its status, for every transport that can lose one.

    connect -> run until it is lost -> delay -> connect -> ...

The first delay is short, because most losses are. Each further one is twice as long, up to the cap of `BACKOFF`, and
all are shortened at random so that processes that lost the same server do not reconnect in step. Delays are short again
after a connection that lasted longer than the cap: a connection that is refused right after it was opened must not be
retried at full speed.

A connection must be open within `connect_timeout`. Timeouts of later operations are the duty of its user.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final, Protocol

import structlog

from gatepost.core.backoff import Backoff
from gatepost.core.transport_records import TransportStatus

#: the numbers of a program that seeds the global generator stay its own
_RANDOM: Final = random.SystemRandom()
log = structlog.get_logger("gatepost.transport")

#: seconds between two attempts to connect
BACKOFF: Final = Backoff(0.05, cap=5.0, jitter=(0.5, 1.0))
#: seconds after which a task is cancelled again; until then it may be busy with its cleanup
_CANCEL_RETRY_DELAY: Final = 2.0


class ManagedConnection(Protocol):
    async def run(self) -> None:
        """Use the connection until it is lost; raise the reason."""

    def abort(self) -> None:
        """Close the connection at once, whatever runs on it, without waiting for the server."""


ConnectionFactory = Callable[[], AbstractAsyncContextManager[ManagedConnection]]
StatusHandler = Callable[[TransportStatus], None]


class Reconnector:
    def __init__(self, name: str, *, connect_timeout: float, on_change: StatusHandler | None = None) -> None:
        """`on_change` is called in the event loop when the status changes; `connect_timeout` is in seconds."""
        self._name = name
        self._connect_timeout = connect_timeout
        self._on_change = on_change
        self._connection: ManagedConnection | None = None
        self.status = TransportStatus()

    @asynccontextmanager
    async def keep_connected(self, connect: ConnectionFactory) -> AsyncIterator[None]:
        """While entered, keep a connection open or try to open one; entered after the first attempt."""
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
            except Exception as error:  # noqa: BLE001 (the next attempt may succeed, whatever the error was)
                reason = describe_error(error)
            else:
                reason = "the connection was closed"
            self._set_status(TransportStatus(is_degraded=True, reason=reason))
            first_attempt.set()
            loss_count = 0 if loop.time() - started_at > BACKOFF.cap else loss_count + 1
            await asyncio.sleep(BACKOFF.delay(loss_count, _RANDOM.random()))

    async def _connect_once(self, connect: ConnectionFactory, first_attempt: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._connect_timeout):
                    connection = await stack.enter_async_context(connect())
            except TimeoutError:
                raise TimeoutError("it does not answer") from None
            self._connection = connection
            try:
                self._set_status(TransportStatus())
                first_attempt.set()
                await connection.run()
            finally:
                self._connection = None

    def _set_status(self, status: TransportStatus) -> None:
        if status == self.status:
            return
        if status.is_degraded:
            log.warning("degraded", transport=self._name, reason=status.reason)
        else:
            log.info("up", transport=self._name)
        self.status = status
        if self._on_change is not None:
            self._on_change(status)


async def cancel_tasks(*tasks: asyncio.Task[Any], retry_delay: float = _CANCEL_RETRY_DELAY) -> None:
    """
    Cancel tasks and wait until they end. Tasks that still run after `retry_delay` seconds are cancelled again:
    `wait_for` of Python 3.11, which drivers use, loses a cancellation if its result arrives at the same moment.
    """
    while pending_tasks := [task for task in tasks if not task.done()]:
        for task in pending_tasks:
            task.cancel()
        await asyncio.wait(pending_tasks, timeout=retry_delay)
    await asyncio.gather(*tasks, return_exceptions=True)  # their results are not needed


def describe_error(error: BaseException) -> str:
    """Return the reason in one line; of a group that of its first error, which caused the others."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200].rstrip(".")
