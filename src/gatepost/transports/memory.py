"""The transport within one process: for a single gateway, and for tests in which several transports share a bus."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import ClassVar

from gatepost.core.ports import MessageHandler
from gatepost.core.signals import TransportMessage
from gatepost.core.transport_records import TransportStatus


@dataclass(slots=True, eq=False)
class _Listener:
    transport: "MemoryTransport"
    on_message: MessageHandler
    loop: asyncio.AbstractEventLoop
    is_closed: bool = False

    def deliver(self, messages: Sequence[TransportMessage]) -> None:
        for message in messages:
            if not self.is_closed:
                self.on_message(message)


@dataclass(slots=True)
class MemoryBus:
    """Connects the transports that share it."""

    listeners: list[_Listener] = field(default_factory=list)


class MemoryTransport:
    name: ClassVar[str] = "memory"

    def __init__(self, bus: MemoryBus | None = None) -> None:
        """Without a bus, the transport has no receivers."""
        self._bus = bus or MemoryBus()

    @property
    def status(self) -> TransportStatus:
        return TransportStatus()

    def send(self, messages: Sequence[TransportMessage]) -> None:
        for listener in tuple(self._bus.listeners):
            if listener.transport is not self:
                with suppress(RuntimeError):  # the loop of the listener is closed
                    listener.loop.call_soon_threadsafe(listener.deliver, tuple(messages))

    @asynccontextmanager
    async def listen(self, handle: MessageHandler) -> AsyncIterator[None]:
        listener = _Listener(self, handle, asyncio.get_running_loop())
        self._bus.listeners.append(listener)
        try:
            yield
        finally:
            listener.is_closed = True
            self._bus.listeners.remove(listener)
