"""
The exchange: where this process's signals and those of other processes meet.

It is the store's bell. What is committed here is passed to whoever subscribed in this process and to the transport;
what the transport hears from elsewhere is passed to the same subscribers. So a subscriber need not know where a ring
came from, and must not mind hearing it twice.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress

from gatepost.core.frame import TransportMessage
from gatepost.core.signals import Signal
from gatepost.ports import MessageHandler, Transport, TransportStatus


class SignalBus:
    def __init__(self, transport: Transport | None = None) -> None:
        self._transport = transport
        self._subscribers: list[MessageHandler] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        #: subscribers that raised; they are told the next signal all the same
        self.failures = 0

    @property
    def name(self) -> str:
        """The transport's name, as in the settings."""
        return self._transport.name if self._transport else "none"

    @property
    def status(self) -> TransportStatus:
        return self._transport.status if self._transport else TransportStatus()

    def on_commit(self, signals: Sequence[Signal]) -> None:
        """Pass on what was committed; called on the thread that committed."""
        self.send(signals)

    def send(self, signals: Sequence[TransportMessage]) -> None:
        """Pass signals to the subscribers here and to other processes; from any thread."""
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # it was closed: nobody here listens any more
                loop.call_soon_threadsafe(self.dispatch, signals)
        if self._transport is not None:
            self._transport.send(signals)

    def dispatch(self, signals: Sequence[TransportMessage]) -> None:
        """Pass signals to the subscribers here and to nobody else; from the event loop."""
        for signal in signals:
            for subscriber in tuple(self._subscribers):
                self._call_subscriber(subscriber, signal)

    @contextmanager
    def subscribe(self, subscriber: MessageHandler) -> Iterator[None]:
        """While entered, `heard` is called in the event loop for every signal; it must be quick."""
        self._subscribers.append(subscriber)
        try:
            yield
        finally:
            self._subscribers.remove(subscriber)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """While entered, signals flow."""
        self._loop = asyncio.get_running_loop()
        try:
            if self._transport is None:
                yield
            else:
                async with self._transport.listen(self._on_remote_signal):
                    yield
        finally:
            self._loop = None

    def _on_remote_signal(self, signal: TransportMessage) -> None:
        self.dispatch([signal])

    def _call_subscriber(self, subscriber: Callable[[TransportMessage], None], signal: TransportMessage) -> None:
        try:
            subscriber(signal)
        except Exception:  # noqa: BLE001 (one subscriber's fault is not the others')
            self.failures += 1
