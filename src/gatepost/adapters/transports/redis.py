"""
Redis, with channels that other programs know too.

    wakeup:{recipient}    a ring; the message is the event as JSON, with what belongs to the ring under "ring"
    gatepost:frames       frames of live streams, as `codec` writes them

Whatever another program publishes on `wakeup:{agent}`, an empty message even, is a ring: it says that something may lie
in the list `inbox:{agent}`, which the collector then looks into. Our own messages say who sent them, so that a process
does not take its own for somebody else's.

One connection speaks and one listens, which is read without a time limit (`socket_timeout=None`); that both are alive
shows when a word to oneself comes back. They are the driver's bare connections: its client and its pipeline do four
times the work for a PUBLISH, and try again where we would rather know.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from math import inf
from typing import Any, ClassVar, Final

from redis.asyncio import Connection, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from gatepost.adapters.transports import codec
from gatepost.adapters.transports.remote import Line, RemoteTransport
from gatepost.core.event import Event
from gatepost.core.frame import Frame, TransportMessage
from gatepost.core.ring import WAKEUP, Ring
from gatepost.ports import MessageHandler

_RINGS: Final = "wakeup:"
_FRAMES: Final = "gatepost:frames"
#: bytes of a message with frames
_ROOM: Final = 1_000_000
_LONGEST_NAME: Final = 200


class RedisTransport(RemoteTransport):
    name: ClassVar[str] = "redis"

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(**options)
        self._url = url
        self._self = secrets.token_hex(8)

    @asynccontextmanager
    async def connect(self, heard: MessageHandler | None) -> AsyncIterator["_Line"]:
        async with AsyncExitStack() as stack:
            mouth = await connected(self._url, stack, patience=self._patience)
            ears = await connected(self._url, stack, patience=self._patience) if heard else None
            line = _Line(mouth, ears, heard, self._self)
            await line.listen()
            yield line


class _Line(Line):
    def __init__(self, mouth: Connection, ears: Connection | None, heard: MessageHandler | None, name: str) -> None:
        self._mouth = mouth
        self._ears = ears
        self._heard = heard
        self._self = name
        self._own = f"gatepost:{secrets.token_hex(8)}"
        self._echo = asyncio.Event()
        self._speaking = asyncio.Lock()

    async def listen(self) -> None:
        if self._ears is None:
            return
        await self._ears.send_command("PSUBSCRIBE", f"{_RINGS}*")
        await self._ears.send_command("SUBSCRIBE", _FRAMES, self._own)
        confirmed = 0
        while confirmed < 3:
            confirmed += self._read(await self._ears.read_response(timeout=inf))

    async def send(self, signals: Sequence[TransportMessage]) -> int:
        messages, lost = self._written(signals)
        await self._publish(messages)
        return lost

    async def check(self) -> None:
        self._echo.clear()
        await self._publish([(self._own, "")])
        await self._echo.wait()

    async def _publish(self, messages: Sequence[tuple[str, str]]) -> None:
        async with self._speaking:
            commands = self._mouth.pack_commands([("PUBLISH", *message) for message in messages])
            await self._mouth.send_packed_command(commands, check_health=False)
            for _ in messages:
                await self._mouth.read_response(timeout=inf)

    async def lost(self) -> None:
        assert self._ears is not None
        while True:
            self._read(await self._ears.read_response(timeout=inf))

    def _written(self, signals: Sequence[TransportMessage]) -> tuple[list[tuple[str, str]], int]:
        """The messages, each with its channel. Rings of one event say the same, so that is written only once."""
        said: dict[tuple[str, bool, int], str | None] = {}
        written: list[tuple[str, str]] = []
        frames, lost = codec.messages([signal for signal in signals if isinstance(signal, Frame)], most=_ROOM)
        for ring in signals:
            if isinstance(ring, Ring):
                alike = (ring.cause, ring.wakes, id(ring.event))
                if alike not in said:
                    said[alike] = self._ring(ring.cause, ring.wakes, ring.event)
                if (message := said[alike]) is not None:
                    written.append((f"{_RINGS}{ring.recipient}", message))
                else:
                    lost += 1
        return written + [(_FRAMES, f"{self._self} {message}") for message in frames], lost

    def _ring(self, cause: str, wakes: bool, event: Event | None) -> str | None:
        ring = {"ring": {"by": self._self, "cause": cause, "wakes": wakes}}
        whole = codec.text((codec.document(event) or {}) | ring) if event is not None else None
        return whole or codec.text(ring)

    def _read(self, message: Any) -> bool:
        """Pass on what is heard; return whether it was the confirmation of a subscription."""
        assert self._heard is not None
        match message:
            case [b"pmessage", _, bytes(channel), bytes(data)]:
                name = channel.decode(errors="replace").removeprefix(_RINGS)
                if 0 < len(name) <= _LONGEST_NAME and (ring := self._heard_ring(name, data)) is not None:
                    self._heard(ring)
            case [b"message", bytes(channel), _] if channel.decode() == self._own:
                self._echo.set()
            case [b"message", _, bytes(data)]:
                by, _, rest = data.partition(b" ")
                if by != self._self.encode():
                    for signal in codec.read(rest):
                        self._heard(signal)
            case _:
                return True
        return False

    def _heard_ring(self, name: str, data: bytes) -> Ring | None:
        """A ring of another gateway, or of another program, or none if it is our own."""
        try:
            said = json.loads(data)
            ring = said["ring"]
            by, cause, wakes = ring["by"], ring["cause"], ring["wakes"]
        except (ValueError, TypeError, LookupError, RecursionError):
            return Ring(name, WAKEUP)
        if by == self._self:
            return None
        return Ring(name, str(cause), codec.event(said) if "eventId" in said else None, bool(wakes))


async def connected(url: str, stack: AsyncExitStack, *, patience: float) -> Connection:
    """A bare connection, which is broken off when the stack is left."""
    connection: Connection = open_client(url, patience=patience).connection_pool.make_connection()  # type: ignore[no-untyped-call]
    stack.push_async_callback(connection.disconnect, nowait=True)
    await connection.connect()  # type: ignore[no-untyped-call]
    return connection


def open_client(url: str, *, patience: float, timeout: float | None = None) -> Redis:
    """A client that tries nothing again by itself, and connects when it is first used."""
    return Redis.from_url(
        url,
        socket_timeout=timeout,
        socket_connect_timeout=patience,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
        client_name="gatepost",
    )
