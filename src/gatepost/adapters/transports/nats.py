"""
NATS: core subjects between gateways, and a stream for couriers.

    gatepost.rings, gatepost.frames               what gateways tell each other, as `codec` writes it
    inbox.targeted.{agent}, inbox.broadcast       the event as JSON, kept by the stream INBOX_EVENTS
    gatepost.looks.{agent}, gatepost.looks.all    to couriers, in place of that, for what came by the stream itself

Other programs publish to the stream too. What we put there has a header, so that nobody takes it in again
(`intake.py`); what they put there was heard by everybody who reads the stream, and is not published a second time. A
message of theirs is a ring of the kind `WAKEUP`, which the collector of one gateway hears.

The stream is best effort: an event is published to it without waiting for its answer, so it never holds up a ring, and
`Nats-Msg-Id` lets the server drop repeats. It is made when it is missing. While it cannot be, rings flow all the same
and the transport says that it is degraded. In subjects a dot separates, so the dots of a name are written `~`. Of an
event that is too large for the server only `eventId`, `type` and `timestamp` are told: couriers then look it up.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Final
from urllib.parse import quote

import nats.errors
from nats.aio.msg import Msg

from gatepost.adapters.transports import codec
from gatepost.adapters.transports.lifeline import why
from gatepost.adapters.transports.natslink import BROADCAST, INTAKE, OURS, STREAM, Link, looks, recipient, targeted
from gatepost.adapters.transports.remote import Line, RemoteTransport
from gatepost.core import foreign
from gatepost.core.event import Event
from gatepost.core.frame import Frame, TransportMessage
from gatepost.core.ring import WAKEUP, Ring
from gatepost.ports import MessageHandler

_RINGS: Final = "gatepost.rings"
_FRAMES: Final = "gatepost.frames"
#: bytes of a message; the server may allow less, and allows 1 MiB by default
_ROOM: Final = 256 * 1024
_HEADERS: Final = 8 * 1024


class NatsTransport(RemoteTransport):
    name: ClassVar[str] = "nats"

    def __init__(self, url: str, **options: Any) -> None:
        """Several servers of a cluster are separated by commas."""
        super().__init__(**options)
        self._servers = url.split(",")

    @asynccontextmanager
    async def connect(self, heard: MessageHandler | None) -> AsyncIterator["_Line"]:
        line = _Line()
        try:
            await line.open(self._servers, self._patience, no_echo=True)
            if heard is not None:
                await line.listen(heard)
            yield line
        finally:
            await line.close()


class _Line(Link, Line):
    async def listen(self, heard: MessageHandler) -> None:
        async def read(message: Msg) -> None:
            for signal in codec.read(message.data):
                heard(signal)

        async def ring(message: Msg) -> None:
            if not (message.headers and OURS in message.headers):
                heard(Ring(recipient(message.subject), WAKEUP))

        for subject in (_RINGS, _FRAMES):
            await self.client.subscribe(subject, cb=read)
        await self.client.subscribe("inbox.>", queue=INTAKE, cb=ring)
        await self.client.flush()
        await self._try_stream()

    async def _try_stream(self) -> None:
        try:
            await self.ensure_stream()
        except (nats.errors.Error, TimeoutError) as error:
            self.impaired = f"the stream {STREAM} cannot be made, so couriers hear nothing: {why(error)}"
        else:
            self.impaired = None

    async def send(self, signals: Sequence[TransportMessage]) -> int:
        room = min(_ROOM, self.client.max_payload)
        rings = [signal for signal in signals if isinstance(signal, Ring)]
        frames = [signal for signal in signals if isinstance(signal, Frame)]
        lost = 0
        for subject, some in ((_RINGS, rings), (_FRAMES, frames)):
            messages, unsent = codec.messages(some, most=room, events=False)
            lost += unsent
            for message in messages:
                await self.client.publish(subject, message.encode())
        await self._publish(rings)
        return lost

    async def _publish(self, rings: Sequence[Ring]) -> None:
        """Hand events to the stream, for each recipient."""
        events = {id(ring.event): ring.event for ring in rings if ring.event is not None}
        written = {number: _written(event, self.client.max_payload - _HEADERS) for number, event in events.items()}
        for ring in rings:
            message = written.get(id(ring.event))
            if ring.event is None or message is None:
                continue
            if foreign.is_from(ring.event, foreign.NATS):
                await self.client.publish(looks(ring.recipient))
                continue
            subject = BROADCAST if ring.recipient == "*" else targeted(ring.recipient)
            key = quote(f"{ring.recipient}/{ring.event.key or ring.event.id}", safe=_PLAIN)
            headers = {"Nats-Msg-Id": key, OURS: ring.event.id}
            await self.client.publish(subject, message.encode(), headers=headers)

    async def check(self) -> None:
        await self.client.flush()
        if self.impaired is not None:
            await self._try_stream()


#: all that may stand in a header as it is
_PLAIN: Final = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%")


def _written(event: Event, most: int) -> str | None:
    """An event as JSON of at most so many bytes: whole, or what it takes to look it up."""
    shown = codec.document(event)
    whole = codec.text(shown) if shown is not None else None
    if shown is None or whole is None or len(whole) <= most:
        return whole
    return codec.text({name: shown[name] for name in ("eventId", "type", "timestamp")})
