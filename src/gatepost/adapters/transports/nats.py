"""
NATS: core subjects between gateways, and a stream for couriers.

    gatepost.rings, gatepost.frames               what gateways tell each other, as `codec` writes it
    inbox.targeted.{agent}, inbox.broadcast       the event as JSON, kept by the stream INBOX_EVENTS

The stream is best effort: an event is published to it without waiting for its answer, so it never holds up a ring, and
`Nats-Msg-Id` lets the server drop repeats. It is made when it is missing. While it cannot be, rings flow all the same
and the transport says that it is degraded. In subjects a dot separates, so the dots of a name are written `~`.

The driver's own way of reconnecting is switched off: `lifeline` does that, as for every other server.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, ClassVar, Final
from urllib.parse import quote

import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig

from gatepost.adapters.transports import codec
from gatepost.adapters.transports.lifeline import why
from gatepost.adapters.transports.remote import RemoteTransport
from gatepost.core.frame import Frame
from gatepost.core.ring import Ring
from gatepost.ports.transport import Heard, Signal

STREAM: Final = "INBOX_EVENTS"
_RINGS: Final = "gatepost.rings"
_FRAMES: Final = "gatepost.frames"
#: bytes of a message; the server may allow less, and allows 1 MiB by default
_ROOM: Final = 256 * 1024
_HEADERS: Final = 8 * 1024
#: seconds that the stream may take to answer, and the connection to be closed
_HASTE: Final = 1.0


class NatsTransport(RemoteTransport):
    name: ClassVar[str] = "nats"

    def __init__(self, url: str, **options: Any) -> None:
        """Several servers of a cluster are separated by commas."""
        super().__init__(**options)
        self._servers = url.split(",")

    @asynccontextmanager
    async def connect(self, heard: Heard | None) -> AsyncIterator["_Line"]:
        client = Client()
        line = _Line(client)
        try:
            await line.open(self._servers, self._patience)
            if heard is not None:
                await line.listen(heard)
            yield line
        finally:
            with suppress(Exception):
                async with asyncio.timeout(_HASTE):
                    await client.close()


class _Line:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._closed = asyncio.Event()
        self._error: Exception | None = None
        self.impaired: str | None = None

    async def open(self, servers: list[str], patience: float) -> None:
        async def closed() -> None:
            self._closed.set()

        async def failed(error: Exception) -> None:
            self._error = error

        try:
            await self._client.connect(
                servers,
                name="gatepost",
                error_cb=failed,
                closed_cb=closed,
                connect_timeout=patience,  # type: ignore[arg-type] # a float does
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                no_echo=True,
            )
        except nats.errors.NoServersError:
            raise (self._error or nats.errors.NoServersError()) from None

    async def listen(self, heard: Heard) -> None:
        async def read(message: Msg) -> None:
            for signal in codec.read(message.data):
                heard(signal)

        for subject in (_RINGS, _FRAMES):
            await self._client.subscribe(subject, cb=read)
        await self._client.flush()
        await self._ensure_stream()

    async def _ensure_stream(self) -> None:
        stream = self._client.jetstream(timeout=_HASTE)
        try:
            try:
                await stream.stream_info(STREAM)
            except nats.js.errors.NotFoundError:
                await stream.add_stream(
                    StreamConfig(
                        name=STREAM,
                        subjects=["inbox.>"],
                        storage=StorageType.FILE,
                        retention=RetentionPolicy.LIMITS,
                        discard=DiscardPolicy.OLD,
                        max_msgs=10_000,
                    )
                )
        except (nats.errors.Error, TimeoutError) as error:
            self.impaired = f"the stream {STREAM} cannot be made, so couriers hear nothing: {why(error)}"
        else:
            self.impaired = None

    async def send(self, signals: Sequence[Signal]) -> int:
        room = min(_ROOM, self._client.max_payload)
        rings = [signal for signal in signals if isinstance(signal, Ring)]
        frames = [signal for signal in signals if isinstance(signal, Frame)]
        lost = 0
        for subject, some in ((_RINGS, rings), (_FRAMES, frames)):
            messages, unsent = codec.messages(some, most=room, events=False)
            lost += unsent
            for message in messages:
                await self._client.publish(subject, message.encode())
        await self._publish(rings)
        return lost

    async def _publish(self, rings: Sequence[Ring]) -> None:
        """Hand events to the stream, for each recipient; one that is too large is for couriers to look up."""
        events = {id(ring.event): ring.event for ring in rings if ring.event is not None}
        written = {number: codec.text(codec.document(event)) for number, event in events.items()}
        for ring in rings:
            message = written.get(id(ring.event))
            if ring.event is not None and message and len(message) + _HEADERS < self._client.max_payload:
                subject = "inbox.broadcast" if ring.recipient == "*" else f"inbox.targeted.{token(ring.recipient)}"
                headers = {"Nats-Msg-Id": quote(f"{ring.recipient}/{ring.event.key or ring.event.id}", safe=_PLAIN)}
                await self._client.publish(subject, message.encode(), headers=headers)

    async def check(self) -> None:
        await self._client.flush()
        if self.impaired is not None:
            await self._ensure_stream()

    async def lost(self) -> None:
        await self._closed.wait()
        if self._error is not None:
            raise self._error

    def abort(self) -> None:
        """Whatever waits on a connection of this driver ends at once when it is cancelled."""


#: all that may stand in a header as it is
_PLAIN: Final = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%")


def token(name: str) -> str:
    """A name as one token of a subject, or in the name of a consumer."""
    return name.replace(".", "~")
