"""
A transport that talks to a server: PostgreSQL, Redis, NATS.

`send` only puts signals into the outbox. While somebody listens, a task in the event loop takes them out and passes
them on in bunches, as they come. In a process that listens to nothing (the command line, a hook) a thread connects,
sends what waits and ends; the process outlives it, so a command that has just pushed something rings before it exits.

Three things end a connection, and each leads to a new one: the driver says that it is lost; something sent was not
taken within `patience`; the sign of life that is asked for every `beat` seconds did not come within `patience`. The
last is how a server is noticed that is stopped, or behind a cable that was pulled: its connections look whole.

What was under way when a connection ended is sent again on the next one: rings may be repeated. Frames are not, and
while there is no connection they are dropped: they are worth nothing later.
"""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import ClassVar, Final, TypeVar

from gatepost.adapters.transports.reconnect import ConditionHandler, Reconnector, cancel_tasks
from gatepost.adapters.transports.send_queue import SendQueue
from gatepost.core.frame import TransportMessage
from gatepost.core.signals import Signal
from gatepost.ports import MessageHandler, TransportStatus

#: signals that are passed on together
_BATCH_SIZE: Final = 500
#: seconds that a process without an event loop gives the server, at most
_ONE_SHOT_TIMEOUT: Final = 2.0
#: seconds between breaking a line and giving up on what was under way on it
_ABORT_GRACE: Final = 0.1

T = TypeVar("T")


class BrokerConnection(ABC):
    """One connection to the server, or two if it needs one to speak and one to listen."""

    #: what does not work although there is a connection
    impairment: str | None = None

    @abstractmethod
    async def send(self, messages: Sequence[TransportMessage]) -> int:
        """Pass signals on; return how many could not be, however often they were tried."""

    @abstractmethod
    async def check(self) -> None:
        """Return when the server has shown that it is alive and that we would hear of it."""

    @abstractmethod
    async def wait_until_lost(self) -> None:
        """Return, or raise why, when the driver says that the connection is lost."""

    def abort(self) -> None:  # noqa: B027 (there is nothing to do with most drivers)
        """Break the connection at once. With most drivers, whatever waits on one ends at once when it is cancelled."""


class RemoteTransport(ABC):
    name: ClassVar[str]

    def __init__(
        self, *, heartbeat_interval: float = 5.0, timeout: float = 5.0, on_change: ConditionHandler | None = None
    ) -> None:
        """Seconds between signs of life, seconds to wait for one, and who is told when the condition changes."""
        self._heartbeat_interval = heartbeat_interval
        self._timeout = timeout
        self._reconnector = Reconnector(self.name, connect_timeout=timeout, on_change=on_change)
        self._send_queue = SendQueue()
        self._connection: BrokerConnection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wakeup = asyncio.Event()

    @abstractmethod
    def connect(self, on_message: MessageHandler | None) -> AbstractAsyncContextManager[BrokerConnection]:
        """Connect and, if there is somebody to hear, subscribe; entered when the subscription stands."""

    @property
    def status(self) -> TransportStatus:
        impairment = self._connection.impairment if self._connection else None
        return TransportStatus(is_degraded=True, reason=impairment) if impairment else self._reconnector.status

    @property
    def lost_count(self) -> int:
        """Signals that were dropped, for lack of room or of a connection."""
        return self._send_queue.lost_count

    def send(self, messages: Sequence[TransportMessage]) -> None:
        loop = self._loop
        if loop is not None and self._connection is None:
            signals = [message for message in messages if isinstance(message, Signal)]
            self._send_queue.add_lost(len(messages) - len(signals))
            messages = signals
        if not messages or not self._send_queue.put(messages):
            return
        if loop is not None:
            with suppress(RuntimeError):  # closed: then nobody listens
                loop.call_soon_threadsafe(self._wakeup.set)
                return
        self._start_sender_thread()

    @asynccontextmanager
    async def listen(self, handle: MessageHandler) -> AsyncIterator[None]:
        self._loop, self._wakeup = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with self._reconnector.keep_connected(lambda: self._use_connection(handle)):
                yield
        finally:
            self._loop = None
            if self._send_queue.detach_consumer() and not self.status.is_degraded:
                self._start_sender_thread()

    @asynccontextmanager
    async def _use_connection(self, on_message: MessageHandler) -> AsyncIterator["_ConnectionRunner"]:
        async with self.connect(on_message) as connection:
            self._connection = connection
            try:
                yield _ConnectionRunner(
                    connection,
                    self._send_queue,
                    self._wakeup,
                    heartbeat_interval=self._heartbeat_interval,
                    timeout=self._timeout,
                )
            finally:
                self._connection = None

    def _start_sender_thread(self) -> None:
        threading.Thread(target=self._send_in_thread, name=f"gatepost-{self.name}").start()

    def _send_in_thread(self) -> None:
        try:
            asyncio.run(self._send_pending())
        except Exception:  # noqa: BLE001 (what could not be sent now is sent with the next)
            self._send_queue.detach_consumer()

    async def _send_pending(self) -> None:
        timeout = min(_ONE_SHOT_TIMEOUT, self._timeout)
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(timeout):
                connection = await stack.enter_async_context(self.connect(None))
            await _ConnectionRunner(
                connection, self._send_queue, self._wakeup, heartbeat_interval=self._heartbeat_interval, timeout=timeout
            ).flush()


class _ConnectionRunner:
    """A line in use."""

    def __init__(
        self,
        connection: BrokerConnection,
        send_queue: SendQueue,
        wakeup: asyncio.Event,
        *,
        heartbeat_interval: float,
        timeout: float,
    ) -> None:
        self._connection = connection
        self._send_queue = send_queue
        self._wakeup = wakeup
        self._heartbeat_interval = heartbeat_interval
        self._timeout = timeout
        self._is_unanswered = False

    async def run(self) -> None:
        # Not a task group: in one, being told to end while a duty fails looks like the failure alone (Python 3.11).
        tasks = [
            asyncio.create_task(task)
            for task in (self._send_loop(), self._check_loop(), self._connection.wait_until_lost())
        ]
        try:
            finished_tasks, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in finished_tasks:
                await task
        except Exception as error:
            if self._is_unanswered:
                raise TimeoutError("it does not answer") from error
            raise
        finally:
            self._connection.abort()
            await cancel_tasks(*tasks, retry_delay=_ABORT_GRACE)

    def abort(self) -> None:
        self._connection.abort()

    async def flush(self) -> None:
        """Send what waits."""
        while batch := self._send_queue.take(_BATCH_SIZE):
            try:
                self._send_queue.add_lost(await self._wait_for_answer(self._connection.send(batch)))
            except BaseException:
                signals = [message for message in batch if isinstance(message, Signal)]
                self._send_queue.add_lost(len(batch) - len(signals))
                self._send_queue.put_back(signals)
                raise

    async def _send_loop(self) -> None:
        while True:
            await self.flush()
            await self._wakeup.wait()
            self._wakeup.clear()

    async def _check_loop(self) -> None:
        while True:
            await asyncio.sleep(self._heartbeat_interval)
            await self._wait_for_answer(self._connection.check())

    async def _wait_for_answer(self, action: Awaitable[T]) -> T:
        """
        Wait for an answer, and break the line if it does not come. It is broken before the action is cancelled, because
        a driver that is cancelled may want to talk it over with the server, which does not answer.
        """
        abort_timer = asyncio.get_running_loop().call_later(self._timeout, self._abort_unanswered)
        try:
            async with asyncio.timeout(self._timeout + _ABORT_GRACE):
                return await action
        finally:
            abort_timer.cancel()

    def _abort_unanswered(self) -> None:
        self._is_unanswered = True
        self._connection.abort()
