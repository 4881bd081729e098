"""
NATS: core subjects between gateways, and a stream that keeps events for couriers.

    gatepost.signals, gatepost.frames               messages between gateways, as `codec` writes them
    inbox.targeted.{agent}, inbox.broadcast       events as JSON, kept by the stream INBOX_EVENTS
    gatepost.looks.{agent}, gatepost.looks.all    requests to couriers to check the store, without an event

Other programs publish to the stream too. Events that a gateway publishes there carry a header, so that no gateway takes
them in again (`jetstream.py`). Events that another program published there have reached every reader of the stream;
they are not published a second time, and couriers are asked to check the store instead. A message of another program
becomes a signal with the cause `WAKEUP`, which the queue reader of one gateway receives.

The stream is best effort. An event is published to it without waiting for an answer, so the stream never delays a
signal; `Nats-Msg-Id` lets the server drop repeats. The stream is created if it is missing. While that fails, signals
are sent all the same and the transport reports that it is degraded. A dot separates the tokens of a subject, so the
dots of a name are written `~`. If an event is too large for the server, only its `eventId`, `type` and `timestamp` are
published: couriers then read it from the store.

`NatsConnection` and the subjects are used by `jetstream.py` too. Reconnecting by the driver is switched off: the owner
of a connection makes a new one.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import ClassVar, Final
from urllib.parse import quote

import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig

from gatepost.core.ports import MessageHandler
from gatepost.core.signals import WAKEUP, Frame, Signal, Topic, TransportMessage
from gatepost.inbox.event import Event
from gatepost.inbox.push import intake_queue_entry as foreign
from gatepost.transports import codec
from gatepost.transports.reconnect import describe_error
from gatepost.transports.server_transport import BrokerConnection, RemoteTransport

STREAM: Final = "INBOX_EVENTS"
BROADCAST_SUBJECT: Final = "inbox.broadcast"
#: the consumer that all gateways share, for messages of other programs
INTAKE_CONSUMER: Final = "gatepost-intake"
#: the header of messages that a gateway publishes to the stream; its value is the id of the event
EVENT_HEADER: Final = "Gatepost-Event"
#: seconds to wait for an answer of the stream, and for a connection to close
STREAM_TIMEOUT: Final = 1.0

_TARGETED_PREFIX: Final = "inbox.targeted."
_SIGNALS_SUBJECT: Final = "gatepost.signals"
_FRAMES_SUBJECT: Final = "gatepost.frames"
#: bytes of a message; the server may allow less, and allows 1 MiB by default
_MAX_PAYLOAD_BYTES: Final = 256 * 1024
_HEADER_BYTES: Final = 8 * 1024
#: characters that need no escape in a header
_HEADER_SAFE: Final = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "%")


class NatsConnection:
    def __init__(self) -> None:
        self.client = Client()
        self._closed_event = asyncio.Event()
        self._error: Exception | None = None

    async def open(self, url: str, connect_timeout: float, *, no_echo: bool = False) -> None:
        """
        Connect, or raise why it failed. `url` may list several servers of a cluster, separated by commas. With
        `no_echo`, own messages do not come back.
        """

        async def on_closed() -> None:
            self._closed_event.set()

        async def on_error(error: Exception) -> None:
            self._error = error

        try:
            await self.client.connect(
                url.split(","),
                name="gatepost",
                error_cb=on_error,
                closed_cb=on_closed,
                connect_timeout=connect_timeout,  # type: ignore[arg-type] # a float works
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                no_echo=no_echo,
            )
        except nats.errors.NoServersError:
            raise (self._error or nats.errors.NoServersError()) from None

    async def wait_until_lost(self) -> None:
        """Return, or raise the reason, when the connection is lost."""
        await self._closed_event.wait()
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        with suppress(Exception):
            async with asyncio.timeout(STREAM_TIMEOUT):
                await self.client.close()

    async def ensure_stream(self) -> None:
        """Create the stream if it is missing."""
        stream = self.client.jetstream(timeout=STREAM_TIMEOUT)
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


class NatsTransport(RemoteTransport):
    name: ClassVar[str] = "nats"

    @asynccontextmanager
    async def connect(self, on_message: MessageHandler | None) -> AsyncIterator["_NatsTransportConnection"]:
        connection = _NatsTransportConnection()
        try:
            await connection.open(self._url, self._timeout, no_echo=True)
            if on_message is not None:
                await connection.listen(on_message)
            yield connection
        finally:
            await connection.close()


class _NatsTransportConnection(NatsConnection, BrokerConnection):
    async def listen(self, on_message: MessageHandler) -> None:
        async def on_payload(packet: Msg) -> None:
            for message in codec.decode_payload(packet.data):
                on_message(message)

        async def on_foreign_message(packet: Msg) -> None:
            if not (packet.headers and EVENT_HEADER in packet.headers):
                on_message(Signal(Topic("inbox", parse_recipient(packet.subject)), WAKEUP))

        for subject in (_SIGNALS_SUBJECT, _FRAMES_SUBJECT):
            await self.client.subscribe(subject, cb=on_payload)
        await self.client.subscribe("inbox.>", queue=INTAKE_CONSUMER, cb=on_foreign_message)
        await self.client.flush()
        await self._try_stream()

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
        await self._publish_events(signals)
        return lost_count

    async def check(self) -> None:
        await self.client.flush()
        if self.impairment is not None:
            await self._try_stream()

    async def _try_stream(self) -> None:
        try:
            await self.ensure_stream()
        except (nats.errors.Error, TimeoutError) as error:
            self.impairment = f"the stream {STREAM} cannot be made, so couriers hear nothing: {describe_error(error)}"
        else:
            self.impairment = None

    async def _publish_events(self, signals: Sequence[Signal]) -> None:
        """Publish the event of each signal to the stream, once for each recipient."""
        events = {id(signal.event): signal.event for signal in signals if signal.event is not None}
        payloads = {
            identity: _encode_event(event, self.client.max_payload - _HEADER_BYTES)
            for identity, event in events.items()
        }
        for signal in signals:
            recipient, payload = signal.topic.recipient, payloads.get(id(signal.event))
            if signal.event is None or payload is None:
                continue
            if foreign.is_from_transport(signal.event, foreign.NATS):
                await self.client.publish(build_look_subject(recipient))
                continue
            subject = BROADCAST_SUBJECT if recipient == "*" else build_agent_subject(recipient)
            key = quote(f"{recipient}/{signal.event.dedup_key or signal.event.id}", safe=_HEADER_SAFE)
            headers = {"Nats-Msg-Id": key, EVENT_HEADER: signal.event.id}
            await self.client.publish(subject, payload.encode(), headers=headers)


def build_agent_subject(name: str) -> str:
    """Return the subject of events for one agent."""
    return f"{_TARGETED_PREFIX}{escape_name(name)}"


def parse_recipient(subject: str) -> str:
    """Return the agent of a subject, `*` for every agent, or the subject itself if it names no agent."""
    return "*" if subject == BROADCAST_SUBJECT else subject.removeprefix(_TARGETED_PREFIX).replace("~", ".")


def build_look_subject(name: str) -> str:
    """Return the subject that asks the couriers of an agent, or of all agents (`*`), to check the store."""
    return f"gatepost.looks.{'all' if name == '*' else escape_name(name)}"  # no agent can have the name `all`


def escape_name(name: str) -> str:
    """Return a name as one token of a subject or of a consumer name, in which a dot is a separator."""
    return name.replace(".", "~")


def _encode_event(event: Event, max_bytes: int) -> str | None:
    """Return an event as JSON: all of it or, if that is longer than `max_bytes`, the fields to look it up by."""
    document = codec.encode_event(event)
    text = codec.dump_json(document) if document is not None else None
    if document is None or text is None or len(text) <= max_bytes:
        return text
    return codec.dump_json({name: document[name] for name in ("eventId", "type", "timestamp")})
