"""
The base of transports that talk to a server: PostgreSQL, Redis, NATS.

`send` only puts messages into the send queue. While the process listens, a task in the event loop takes them out and
sends them in batches. In a process that does not listen (the command line, a hook) a thread connects, sends the queue
and ends; the process waits for it, so the signals of a command are sent before it exits.

Three events end a connection, and each leads to a new one: the driver reports that it is lost; the server did not
accept a message within `timeout`; the heartbeat that is sent every `heartbeat_interval` seconds was not answered within
`timeout`. The last one detects a server that is stopped or unplugged: its connections look intact.

Messages that were being sent when a connection ended are sent again on the next one, so signals may be repeated. Frames
are not sent again, and without a connection they are dropped: a late frame is useless.

The send queue never blocks. If it is full the oldest messages are dropped and counted, because a newer signal for the
same recipient says more than an older one.
"""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import ClassVar, Final, TypeVar

from gatepost.core.ports import MessageHandler
from gatepost.core.signals import Signal, TransportMessage
from gatepost.core.transport_records import TransportStatus
from gatepost.transports.reconnect import Reconnector, StatusHandler, cancel_tasks

#: messages that are sent together
_BATCH_SIZE: Final = 500
#: messages that may wait to be sent
MAX_MESSAGES: Final = 10_000
#: longest time to wait for the server in a process without an event loop, in seconds
_ONE_SHOT_TIMEOUT: Final = 2.0
#: seconds between aborting a connection and cancelling the operations on it
_ABORT_GRACE: Final = 0.1

T = TypeVar("T")


class SendQueue:
    """Messages that wait to be sent. Any thread adds them without waiting; one consumer at a time takes them out."""

    def __init__(self, limit: int = MAX_MESSAGES) -> None:
        self._limit = limit
        self._messages: deque[TransportMessage] = deque()
        self._lock = threading.Lock()
        #: a task or a thread takes messages out, or was asked to
        self._has_consumer = False
        #: messages that were dropped: the queue was full, or they could not be sent
        self.lost_count = 0

    def put(self, messages: Sequence[TransportMessage]) -> bool:
        """Add messages; return True if no consumer takes them, so that the caller must start one."""
        with self._lock:
            self._messages.extend(messages)
            self._trim()
            needs_consumer, self._has_consumer = not self._has_consumer, True
            return needs_consumer

    def put_back(self, messages: Sequence[TransportMessage]) -> None:
        """Add messages in front that were taken out and possibly not sent."""
        with self._lock:
            self._messages.extendleft(reversed(messages))
            self._trim()

    def take(self, limit: int) -> list[TransportMessage]:
        """Take out up to `limit` messages, oldest first. An empty result ends the role of consumer."""
        with self._lock:
            messages = [self._messages.popleft() for _ in range(min(limit, len(self._messages)))]
            self._has_consumer = bool(messages)
            return messages

    def detach_consumer(self) -> bool:
        """End the role of consumer; return True if messages are left."""
        with self._lock:
            self._has_consumer = False
            return bool(self._messages)

    def add_lost(self, count: int) -> None:
        """Count messages that could not be sent."""
        with self._lock:
            self.lost_count += count

    def _trim(self) -> None:
        excess = len(self._messages) - self._limit
        for _ in range(excess):
            self._messages.popleft()
        self.lost_count += max(0, excess)


class BrokerConnection(ABC):
    """One connection to the server, or two if sending and listening need one each."""

    #: what does not work although the connection is up
    impairment: str | None = None

    @abstractmethod
    async def send(self, messages: Sequence[TransportMessage]) -> int:
        """Send messages; return the number of those that can never be sent, such as one that is too large."""

    @abstractmethod
    async def check(self) -> None:
        """Return when the server has answered, on the connection that listens too."""

    @abstractmethod
    async def wait_until_lost(self) -> None:
        """Return, or raise the reason, when the driver reports that the connection is lost."""

    def abort(self) -> None:  # noqa: B027 (most drivers need nothing here)
        """Close the connection without waiting. With most drivers, cancelling an operation ends it at once anyway."""


class RemoteTransport(ABC):
    name: ClassVar[str]

    def __init__(
        self,
        url: str,
        *,
        heartbeat_interval: float = 5.0,
        timeout: float = 5.0,
        on_change: StatusHandler | None = None,
    ) -> None:
        """
        Both times are in seconds: `heartbeat_interval` between two checks of the connection, `timeout` for an answer of
        the server. `on_change` is called when the status changes.
        """
        self._url = url
        self._heartbeat_interval = heartbeat_interval
        self._timeout = timeout
        self._reconnector = Reconnector(self.name, connect_timeout=timeout, on_change=on_change)
        self._send_queue = SendQueue()
        self._connection: BrokerConnection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wakeup = asyncio.Event()

    @abstractmethod
    def connect(self, on_message: MessageHandler | None) -> AbstractAsyncContextManager[BrokerConnection]:
        """Connect and, if `on_message` is set, subscribe; entered when the subscription is active."""

    @property
    def status(self) -> TransportStatus:
        impairment = self._connection.impairment if self._connection else None
        return TransportStatus(is_degraded=True, reason=impairment) if impairment else self._reconnector.status

    @property
    def lost_count(self) -> int:
        """The number of messages that were dropped: the queue was full, or there was no connection."""
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
            with suppress(RuntimeError):  # the loop is closed, so nobody listens
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
                    connection, self._send_queue, self._wakeup, self._heartbeat_interval, self._timeout
                )
            finally:
                self._connection = None

    def _start_sender_thread(self) -> None:
        threading.Thread(target=self._send_in_thread, name=f"gatepost-{self.name}").start()

    def _send_in_thread(self) -> None:
        try:
            asyncio.run(self._send_pending())
        except Exception:  # noqa: BLE001 (unsent messages stay in the queue for the next thread)
            self._send_queue.detach_consumer()

    async def _send_pending(self) -> None:
        timeout = min(_ONE_SHOT_TIMEOUT, self._timeout)
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(timeout):
                connection = await stack.enter_async_context(self.connect(None))
            runner = _ConnectionRunner(connection, self._send_queue, self._wakeup, self._heartbeat_interval, timeout)
            await runner.flush()


@dataclass(slots=True)
class _ConnectionRunner:
    """Sends messages and heartbeats on one connection until it is lost."""

    _connection: BrokerConnection
    _send_queue: SendQueue
    _wakeup: asyncio.Event
    _heartbeat_interval: float
    _timeout: float
    _is_unanswered: bool = False

    async def run(self) -> None:
        # Not a task group: if it is cancelled while a task fails, it raises only the failure (Python 3.11).
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
        """Send all messages of the queue."""
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
        Wait for an answer, and abort the connection if none comes in time. The abort precedes the cancellation, because
        a driver that is cancelled may ask the server first, which does not answer.
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
