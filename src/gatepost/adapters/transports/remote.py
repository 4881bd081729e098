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

from gatepost.adapters.transports.lifeline import Changed, Lifeline, end
from gatepost.adapters.transports.outbox import Outbox
from gatepost.core.frame import TransportMessage
from gatepost.core.ring import Ring
from gatepost.ports import MessageHandler, TransportStatus

#: signals that are passed on together
_BUNCH: Final = 500
#: seconds that a process without an event loop gives the server, at most
_HASTE: Final = 2.0
#: seconds between breaking a line and giving up on what was under way on it
_GRACE: Final = 0.1

T = TypeVar("T")


class Line(ABC):
    """One connection to the server, or two if it needs one to speak and one to listen."""

    #: what does not work although there is a connection
    impaired: str | None = None

    @abstractmethod
    async def send(self, signals: Sequence[TransportMessage]) -> int:
        """Pass signals on; return how many could not be, however often they were tried."""

    @abstractmethod
    async def check(self) -> None:
        """Return when the server has shown that it is alive and that we would hear of it."""

    @abstractmethod
    async def lost(self) -> None:
        """Return, or raise why, when the driver says that the connection is lost."""

    def abort(self) -> None:  # noqa: B027 (there is nothing to do with most drivers)
        """Break the connection at once. With most drivers, whatever waits on one ends at once when it is cancelled."""


class RemoteTransport(ABC):
    name: ClassVar[str]

    def __init__(self, *, beat: float = 5.0, patience: float = 5.0, changed: Changed | None = None) -> None:
        """Seconds between signs of life, seconds to wait for one, and who is told when the condition changes."""
        self._beat = beat
        self._patience = patience
        self._lifeline = Lifeline(self.name, patience=patience, changed=changed)
        self._outbox = Outbox()
        self._line: Line | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._mail = asyncio.Event()

    @abstractmethod
    def connect(self, heard: MessageHandler | None) -> AbstractAsyncContextManager[Line]:
        """Connect and, if there is somebody to hear, subscribe; entered when the subscription stands."""

    @property
    def status(self) -> TransportStatus:
        impaired = self._line.impaired if self._line else None
        return TransportStatus(is_degraded=True, reason=impaired) if impaired else self._lifeline.status

    @property
    def lost(self) -> int:
        """Signals that were dropped, for lack of room or of a connection."""
        return self._outbox.lost

    def send(self, signals: Sequence[TransportMessage]) -> None:
        loop = self._loop
        if loop is not None and self._line is None:
            rings = [signal for signal in signals if isinstance(signal, Ring)]
            self._outbox.drop(len(signals) - len(rings))
            signals = rings
        if not signals or not self._outbox.put(signals):
            return
        if loop is not None:
            with suppress(RuntimeError):  # closed: then nobody listens
                loop.call_soon_threadsafe(self._mail.set)
                return
        self._post_apart()

    @asynccontextmanager
    async def listen(self, handle: MessageHandler) -> AsyncIterator[None]:
        self._loop, self._mail = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with self._lifeline.held(lambda: self._attached(handle)):
                yield
        finally:
            self._loop = None
            if self._outbox.leave() and not self.status.is_degraded:
                self._post_apart()

    @asynccontextmanager
    async def _attached(self, heard: MessageHandler) -> AsyncIterator["_Service"]:
        async with self.connect(heard) as line:
            self._line = line
            try:
                yield _Service(line, self._outbox, self._mail, beat=self._beat, patience=self._patience)
            finally:
                self._line = None

    def _post_apart(self) -> None:
        threading.Thread(target=self._post, name=f"gatepost-{self.name}").start()

    def _post(self) -> None:
        try:
            asyncio.run(self._post_all())
        except Exception:  # noqa: BLE001 (what could not be sent now is sent with the next)
            self._outbox.leave()

    async def _post_all(self) -> None:
        haste = min(_HASTE, self._patience)
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(haste):
                line = await stack.enter_async_context(self.connect(None))
            await _Service(line, self._outbox, self._mail, beat=self._beat, patience=haste).empty()


class _Service:
    """A line in use."""

    def __init__(self, line: Line, outbox: Outbox, mail: asyncio.Event, *, beat: float, patience: float) -> None:
        self._line = line
        self._outbox = outbox
        self._mail = mail
        self._beat = beat
        self._patience = patience
        self._unanswered = False

    async def live(self) -> None:
        # Not a task group: in one, being told to end while a duty fails looks like the failure alone (Python 3.11).
        duties = [asyncio.create_task(duty) for duty in (self._send(), self._check(), self._line.lost())]
        try:
            done, _ = await asyncio.wait(duties, return_when=asyncio.FIRST_COMPLETED)
            for duty in done:
                await duty
        except Exception as error:
            if self._unanswered:
                raise TimeoutError("it does not answer") from error
            raise
        finally:
            self._line.abort()
            await end(*duties, again=_GRACE)

    def abort(self) -> None:
        self._line.abort()

    async def empty(self) -> None:
        """Send what waits."""
        while some := self._outbox.take(_BUNCH):
            try:
                self._outbox.drop(await self._in_time(self._line.send(some)))
            except BaseException:
                rings = [signal for signal in some if isinstance(signal, Ring)]
                self._outbox.drop(len(some) - len(rings))
                self._outbox.put_back(rings)
                raise

    async def _send(self) -> None:
        while True:
            await self.empty()
            await self._mail.wait()
            self._mail.clear()

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(self._beat)
            await self._in_time(self._line.check())

    async def _in_time(self, action: Awaitable[T]) -> T:
        """
        Wait for an answer, and break the line if it does not come. It is broken before the action is cancelled, because
        a driver that is cancelled may want to talk it over with the server, which does not answer.
        """
        breaking = asyncio.get_running_loop().call_later(self._patience, self._give_up)
        try:
            async with asyncio.timeout(self._patience + _GRACE):
                return await action
        finally:
            breaking.cancel()

    def _give_up(self) -> None:
        self._unanswered = True
        self._line.abort()
