"""
The signal bus: passes signals of this process and of other processes to subscribers.

`on_commit` is the signal sink of the store. Signals of a commit in this process go to the subscribers in this process
and to the transport; signals that the transport receives from other processes go to the same subscribers. So a
subscriber does not know where a signal came from, and must accept a signal twice.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress

from gatepost.core.ports import MessageHandler, Transport
from gatepost.core.signals import Signal, TransportMessage
from gatepost.core.transport_records import TransportStatus


class SignalBus:
    def __init__(self, transport: Transport | None = None) -> None:
        self._transport = transport
        self._subscribers: list[MessageHandler] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        #: how often a subscriber raised; it gets the next signal all the same
        self.failures = 0

    @property
    def name(self) -> str:
        """The transport's name, as in the settings."""
        return self._transport.name if self._transport else "none"

    @property
    def status(self) -> TransportStatus:
        return self._transport.status if self._transport else TransportStatus()

    def on_commit(self, signals: Sequence[Signal]) -> None:
        """Pass on the signals of a commit; called on the thread that committed."""
        self.send(signals)

    def send(self, signals: Sequence[TransportMessage]) -> None:
        """Pass signals to the subscribers in this process and to other processes; from any thread."""
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop is closed: there are no subscribers any more
                loop.call_soon_threadsafe(self.dispatch, signals)
        if self._transport is not None:
            self._transport.send(signals)

    def dispatch(self, signals: Sequence[TransportMessage]) -> None:
        """Pass signals to the subscribers in this process only; call it in the event loop."""
        for signal in signals:
            for subscriber in tuple(self._subscribers):
                try:
                    subscriber(signal)
                except Exception:  # noqa: BLE001 (a failing subscriber must not stop the others)
                    self.failures += 1

    @contextmanager
    def subscribe(self, subscriber: MessageHandler) -> Iterator[None]:
        """While entered, call `subscriber` in the event loop for every signal; it must be quick."""
        self._subscribers.append(subscriber)
        try:
            yield
        finally:
            self._subscribers.remove(subscriber)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """While entered, pass signals on, and receive those of other processes."""
        self._loop = asyncio.get_running_loop()
        try:
            if self._transport is None:
                yield
            else:
                async with self._transport.listen(lambda signal: self.dispatch([signal])):
                    yield
        finally:
            self._loop = None
