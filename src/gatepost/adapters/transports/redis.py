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
from gatepost.adapters.transports.base import BrokerConnection, RemoteTransport
from gatepost.core.event import Event
from gatepost.core.frame import Frame, TransportMessage
from gatepost.core.signals import WAKEUP, Signal
from gatepost.ports import MessageHandler

_SIGNAL_PREFIX: Final = "wakeup:"
_FRAMES_CHANNEL: Final = "gatepost:frames"
#: bytes of a message with frames
_MAX_PAYLOAD_BYTES: Final = 1_000_000
_MAX_NAME_LENGTH: Final = 200


class RedisTransport(RemoteTransport):
    name: ClassVar[str] = "redis"

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(**options)
        self._url = url
        self._sender_id = secrets.token_hex(8)

    @asynccontextmanager
    async def connect(self, on_message: MessageHandler | None) -> AsyncIterator["_TransportConnection"]:
        async with AsyncExitStack() as stack:
            sender = await open_connection(self._url, stack, patience=self._timeout)
            listener = await open_connection(self._url, stack, patience=self._timeout) if on_message else None
            connection = _TransportConnection(sender, listener, on_message, self._sender_id)
            await connection.listen()
            yield connection


class _TransportConnection(BrokerConnection):
    def __init__(
        self, sender: Connection, listener: Connection | None, on_message: MessageHandler | None, sender_id: str
    ) -> None:
        self._sender = sender
        self._listener = listener
        self._on_message = on_message
        self._sender_id = sender_id
        self._own_channel = f"gatepost:{secrets.token_hex(8)}"
        self._echo = asyncio.Event()
        self._send_lock = asyncio.Lock()

    async def listen(self) -> None:
        if self._listener is None:
            return
        await self._listener.send_command("PSUBSCRIBE", f"{_SIGNAL_PREFIX}*")
        await self._listener.send_command("SUBSCRIBE", _FRAMES_CHANNEL, self._own_channel)
        confirmed_count = 0
        while confirmed_count < 3:
            confirmed_count += self._handle_reply(await self._listener.read_response(timeout=inf))

    async def send(self, messages: Sequence[TransportMessage]) -> int:
        payloads, lost_count = self._encode_messages(messages)
        await self._publish(payloads)
        return lost_count

    async def check(self) -> None:
        self._echo.clear()
        await self._publish([(self._own_channel, "")])
        await self._echo.wait()

    async def _publish(self, payloads: Sequence[tuple[str, str]]) -> None:
        async with self._send_lock:
            commands = self._sender.pack_commands([("PUBLISH", *payload) for payload in payloads])
            await self._sender.send_packed_command(commands, check_health=False)
            for _ in payloads:
                await self._sender.read_response(timeout=inf)

    async def wait_until_lost(self) -> None:
        assert self._listener is not None
        while True:
            self._handle_reply(await self._listener.read_response(timeout=inf))

    def _encode_messages(self, messages: Sequence[TransportMessage]) -> tuple[list[tuple[str, str]], int]:
        """The messages, each with its channel. Rings of one event say the same, so that is written only once."""
        payload_by_key: dict[tuple[str, bool, int], str | None] = {}
        payloads: list[tuple[str, str]] = []
        frame_payloads, lost_count = codec.encode_payloads(
            [frame for frame in messages if isinstance(frame, Frame)], max_bytes=_MAX_PAYLOAD_BYTES
        )
        for signal in messages:
            if isinstance(signal, Signal):
                key = (signal.cause, signal.wakes, id(signal.event))
                if key not in payload_by_key:
                    payload_by_key[key] = self._encode_signal(signal.cause, signal.wakes, signal.event)
                if (payload := payload_by_key[key]) is not None:
                    payloads.append((f"{_SIGNAL_PREFIX}{signal.recipient}", payload))
                else:
                    lost_count += 1
        return payloads + [(_FRAMES_CHANNEL, f"{self._sender_id} {payload}") for payload in frame_payloads], lost_count

    def _encode_signal(self, cause: str, wakes: bool, event: Event | None) -> str | None:
        envelope = {"ring": {"by": self._sender_id, "cause": cause, "wakes": wakes}}
        full_text = codec.dump_json((codec.encode_event(event) or {}) | envelope) if event is not None else None
        return full_text or codec.dump_json(envelope)

    def _handle_reply(self, reply: Any) -> bool:
        """Pass on what is heard; return whether it was the confirmation of a subscription."""
        assert self._on_message is not None
        match reply:
            case [b"pmessage", _, bytes(channel), bytes(data)]:
                recipient = channel.decode(errors="replace").removeprefix(_SIGNAL_PREFIX)
                if (
                    0 < len(recipient) <= _MAX_NAME_LENGTH
                    and (signal := self._decode_signal(recipient, data)) is not None
                ):
                    self._on_message(signal)
            case [b"message", bytes(channel), _] if channel.decode() == self._own_channel:
                self._echo.set()
            case [b"message", _, bytes(data)]:
                sender_id, _, payload = data.partition(b" ")
                if sender_id != self._sender_id.encode():
                    for message in codec.decode_payload(payload):
                        self._on_message(message)
            case _:
                return True
        return False

    def _decode_signal(self, recipient: str, data: bytes) -> Signal | None:
        """A ring of another gateway, or of another program, or none if it is our own."""
        try:
            document = json.loads(data)
            envelope = document["ring"]
            sender_id, cause, wakes = envelope["by"], envelope["cause"], envelope["wakes"]
        except (ValueError, TypeError, LookupError, RecursionError):
            return Signal(recipient, WAKEUP)
        if sender_id == self._sender_id:
            return None
        return Signal(
            recipient, str(cause), codec.decode_event(document) if "eventId" in document else None, bool(wakes)
        )


async def open_connection(url: str, stack: AsyncExitStack, *, patience: float) -> Connection:
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
