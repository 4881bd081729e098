"""Within one process: for a single gateway, and for tests in which several share a room."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import ClassVar

from gatepost.core.frame import TransportMessage
from gatepost.ports import MessageHandler, TransportStatus


@dataclass(slots=True, eq=False)
class _Listener:
    who: "MemoryTransport"
    heard: MessageHandler
    loop: asyncio.AbstractEventLoop
    gone: bool = False

    def tell(self, signals: Sequence[TransportMessage]) -> None:
        for signal in signals:
            if not self.gone:
                self.heard(signal)


@dataclass(slots=True)
class Room:
    """Where transports hear each other."""

    listeners: list[_Listener] = field(default_factory=list)


class MemoryTransport:
    name: ClassVar[str] = "memory"

    def __init__(self, room: Room | None = None) -> None:
        """Without a room it is alone, and nobody hears it."""
        self._room = room or Room()

    @property
    def status(self) -> TransportStatus:
        return TransportStatus()

    def send(self, signals: Sequence[TransportMessage]) -> None:
        for listener in tuple(self._room.listeners):
            if listener.who is not self:
                with suppress(RuntimeError):  # its loop was closed
                    listener.loop.call_soon_threadsafe(listener.tell, tuple(signals))

    @asynccontextmanager
    async def listen(self, handle: MessageHandler) -> AsyncIterator[None]:
        listener = _Listener(self, handle, asyncio.get_running_loop())
        self._room.listeners.append(listener)
        try:
            yield
        finally:
            listener.gone = True
            self._room.listeners.remove(listener)
