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
from gatepost.adapters.transports.base import BrokerConnection, RemoteTransport
from gatepost.adapters.transports.natslink import (
    BROADCAST_SUBJECT,
    EVENT_HEADER,
    INTAKE_CONSUMER,
    STREAM,
    NatsConnection,
    build_agent_subject,
    build_look_subject,
    parse_recipient,
)
from gatepost.adapters.transports.reconnect import describe_error
from gatepost.core import foreign
from gatepost.core.event import Event
from gatepost.core.frame import Frame, TransportMessage
from gatepost.core.signals import WAKEUP, Signal
from gatepost.ports import MessageHandler

_SIGNALS_SUBJECT: Final = "gatepost.rings"
_FRAMES_SUBJECT: Final = "gatepost.frames"
#: bytes of a message; the server may allow less, and allows 1 MiB by default
_MAX_PAYLOAD_BYTES: Final = 256 * 1024
_HEADER_BYTES: Final = 8 * 1024


class NatsTransport(RemoteTransport):
    name: ClassVar[str] = "nats"

    def __init__(self, url: str, **options: Any) -> None:
        """Several servers of a cluster are separated by commas."""
        super().__init__(**options)
        self._servers = url.split(",")

    @asynccontextmanager
    async def connect(self, on_message: MessageHandler | None) -> AsyncIterator["_TransportConnection"]:
        connection = _TransportConnection()
        try:
            await connection.open(self._servers, self._timeout, no_echo=True)
            if on_message is not None:
                await connection.listen(on_message)
            yield connection
        finally:
            await connection.close()


class _TransportConnection(NatsConnection, BrokerConnection):
    async def listen(self, on_message: MessageHandler) -> None:
        async def on_payload(packet: Msg) -> None:
            for message in codec.decode_payload(packet.data):
                on_message(message)

        async def on_foreign_message(packet: Msg) -> None:
            if not (packet.headers and EVENT_HEADER in packet.headers):
                on_message(Signal(parse_recipient(packet.subject), WAKEUP))

        for subject in (_SIGNALS_SUBJECT, _FRAMES_SUBJECT):
            await self.client.subscribe(subject, cb=on_payload)
        await self.client.subscribe("inbox.>", queue=INTAKE_CONSUMER, cb=on_foreign_message)
        await self.client.flush()
        await self._try_stream()

    async def _try_stream(self) -> None:
        try:
            await self.ensure_stream()
        except (nats.errors.Error, TimeoutError) as error:
            self.impairment = f"the stream {STREAM} cannot be made, so couriers hear nothing: {describe_error(error)}"
        else:
            self.impairment = None

    async def send(self, messages: Sequence[TransportMessage]) -> int:
        max_bytes = min(_MAX_PAYLOAD_BYTES, self.client.max_payload)
        signals = [message for message in messages if isinstance(message, Signal)]
        frames = [message for message in messages if isinstance(message, Frame)]
        lost_count = 0
        for subject, group in ((_SIGNALS_SUBJECT, signals), (_FRAMES_SUBJECT, frames)):
            payloads, unsent_count = codec.encode_payloads(group, max_bytes=max_bytes, include_events=False)
            lost_count += unsent_count
            for payload in payloads:
                await self.client.publish(subject, payload.encode())
        await self._publish(signals)
        return lost_count

    async def _publish(self, signals: Sequence[Signal]) -> None:
        """Hand events to the stream, for each recipient."""
        events = {id(signal.event): signal.event for signal in signals if signal.event is not None}
        payloads = {
            identity: _encode_event(event, self.client.max_payload - _HEADER_BYTES)
            for identity, event in events.items()
        }
        for signal in signals:
            payload = payloads.get(id(signal.event))
            if signal.event is None or payload is None:
                continue
            if foreign.is_from_transport(signal.event, foreign.NATS):
                await self.client.publish(build_look_subject(signal.recipient))
                continue
            subject = BROADCAST_SUBJECT if signal.recipient == "*" else build_agent_subject(signal.recipient)
            key = quote(f"{signal.recipient}/{signal.event.key or signal.event.id}", safe=_HEADER_SAFE)
            headers = {"Nats-Msg-Id": key, EVENT_HEADER: signal.event.id}
            await self.client.publish(subject, payload.encode(), headers=headers)

    async def check(self) -> None:
        await self.client.flush()
        if self.impairment is not None:
            await self._try_stream()


#: all that may stand in a header as it is
_HEADER_SAFE: Final = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%")


def _encode_event(event: Event, max_bytes: int) -> str | None:
    """An event as JSON of at most so many bytes: whole, or what it takes to look it up."""
    document = codec.encode_event(event)
    text = codec.dump_json(document) if document is not None else None
    if document is None or text is None or len(text) <= max_bytes:
        return text
    return codec.dump_json({name: document[name] for name in ("eventId", "type", "timestamp")})
