"""
Redis: channels and lists that other programs know too, for gateways and for the subscriptions of couriers.

    wakeup:{recipient}    a signal; the message is the event as JSON, with the fields of the signal under "signal"
    gatepost:frames       frames of live streams, as `codec` writes them

Any message of another program on `wakeup:{agent}`, even an empty one, is a signal: it says that the list
`inbox:{agent}` may have entries, which the queue reader then takes (`RedisIntakeQueue`). Our own messages name their
sender, so that a process ignores the messages it sent itself.

The transport uses one connection to send and one to listen. The second is read without a time limit
(`socket_timeout=None`); a message to our own channel that comes back shows that both are alive. These are bare
connections of the driver: its client and its pipeline do four times the work for a PUBLISH, and they retry where we
want to know of the failure.

`RedisSubscription` receives the signals for one agent (`wakeup:{agent}`) and for all agents (`wakeup:*`). Redis keeps
nothing for a listener that is away, so an event comes once or never. A signal without an event asks for a look into
the store, no matter who sent it.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import groupby
from math import inf
from typing import Any, ClassVar, Final

import structlog
from redis.asyncio import Connection, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError

from gatepost.core.ports import EventHandler, MessageHandler, ResyncHandler
from gatepost.core.signals import WAKEUP, Frame, Signal, Topic, TransportMessage
from gatepost.core.transport_records import QueuedEntry, build_unkept_event
from gatepost.errors import Unavailable
from gatepost.inbox.event import Event
from gatepost.transports import codec
from gatepost.transports.reconnect import describe_error
from gatepost.transports.server_transport import BrokerConnection, RemoteTransport

log = structlog.get_logger("gatepost.redis")

_SIGNAL_PREFIX: Final = "wakeup:"
_BROADCAST_CHANNEL: Final = f"{_SIGNAL_PREFIX}*"
_FRAMES_CHANNEL: Final = "gatepost:frames"
#: bytes of a message with frames
_MAX_PAYLOAD_BYTES: Final = 1_000_000
_MAX_NAME_LENGTH: Final = 200

_KEY_PREFIX: Final = "inbox:"
_PROCESSING_SUFFIX: Final = ":processing"
_OTHER_SUFFIXES: Final = (":rejected", ":holder")
_RESERVED_SUFFIXES: Final = (_PROCESSING_SUFFIX, *_OTHER_SUFFIXES)
#: entries of one agent in `:processing`, and in `:rejected`
_MAX_UNSETTLED: Final = 50
_MAX_REJECTED: Final = 10_000

_TAKE_SCRIPT: Final = """
local holder = redis.call('GET', KEYS[3])
if holder and holder ~= ARGV[1] then return {} end
for _ = 1, ARGV[3] - redis.call('LLEN', KEYS[2]) do
    if not redis.call('LMOVE', KEYS[1], KEYS[2], 'RIGHT', 'LEFT') then break end
end
local entries = redis.call('LRANGE', KEYS[2], 0, -1)
if #entries > 0 then
    redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[2])
elseif holder then
    redis.call('DEL', KEYS[3])
end
return entries
"""

_SETTLE_SCRIPT: Final = """
for i = 2, #ARGV, 2 do
    if redis.call('LREM', KEYS[1], -1, ARGV[i]) > 0 and ARGV[i + 1] ~= '' then
        redis.call('LPUSH', KEYS[2], ARGV[i + 1])
    end
end
redis.call('LTRIM', KEYS[2], 0, ARGV[1] - 1)
"""


class RedisTransport(RemoteTransport):
    name: ClassVar[str] = "redis"

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(url, **options)
        self._sender_id = secrets.token_hex(8)

    @asynccontextmanager
    async def connect(self, on_message: MessageHandler | None) -> AsyncIterator["_RedisTransportConnection"]:
        async with AsyncExitStack() as stack:
            sender = await _open_connection(self._url, stack, connect_timeout=self._timeout)
            listener = await _open_connection(self._url, stack, connect_timeout=self._timeout) if on_message else None
            connection = _RedisTransportConnection(sender, listener, on_message, self._sender_id)
            await connection.listen()
            yield connection


@dataclass(eq=False)
class _RedisTransportConnection(BrokerConnection):
    _sender: Connection
    _listener: Connection | None
    _on_message: MessageHandler | None
    _sender_id: str
    _own_channel: str = field(default_factory=lambda: f"gatepost:{secrets.token_hex(8)}")
    _echo: asyncio.Event = field(default_factory=asyncio.Event)
    _send_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

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
        """Return (channel, payload) pairs, and the number of lost messages. Signals of one event share one payload."""
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
                    payloads.append((f"{_SIGNAL_PREFIX}{signal.topic.recipient}", payload))
                else:
                    lost_count += 1
        return payloads + [(_FRAMES_CHANNEL, f"{self._sender_id} {payload}") for payload in frame_payloads], lost_count

    def _encode_signal(self, cause: str, wakes: bool, event: Event | None) -> str | None:
        envelope = {"signal": {"by": self._sender_id, "cause": cause, "wakes": wakes}}
        full_text = codec.dump_json((codec.encode_event(event) or {}) | envelope) if event is not None else None
        return full_text or codec.dump_json(envelope)

    def _handle_reply(self, reply: Any) -> bool:
        """Pass the messages of a reply to the handler; return True if it confirms a subscription instead."""
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
        """Return the signal of another gateway or another program; None for one that this process sent."""
        try:
            document = json.loads(data)
            envelope = document["signal"]
            sender_id, cause, wakes = envelope["by"], envelope["cause"], envelope["wakes"]
        except (ValueError, TypeError, LookupError, RecursionError):
            return Signal(Topic("inbox", recipient), WAKEUP)
        if sender_id == self._sender_id:
            return None
        return Signal(
            Topic.parse(recipient),
            str(cause),
            codec.decode_event(document) if "eventId" in document else None,
            bool(wakes),
        )


class RedisSubscription:
    name: ClassVar[str] = "redis"

    def __init__(self, url: str, agent: str, *, heartbeat_interval: float = 5.0, timeout: float = 5.0) -> None:
        """Both times are in seconds: `heartbeat_interval` between two heartbeats, `timeout` for an answer of Redis."""
        self._url = url
        self._own_channel = f"{_SIGNAL_PREFIX}{agent}"
        self._heartbeat_interval = heartbeat_interval
        self._timeout = timeout

    async def follow(self, handle: EventHandler, resync: ResyncHandler) -> None:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self._timeout):
                connection = await _open_connection(self._url, stack, connect_timeout=self._timeout)
                await connection.send_command("SUBSCRIBE", self._own_channel, _BROADCAST_CHANNEL)
                for _ in (self._own_channel, _BROADCAST_CHANNEL):
                    await connection.read_response(timeout=inf)
            resync()
            while True:
                kind, *parts = await self._read_next(connection)
                if kind == b"message":
                    channel, data = parts
                    await _deliver(data, channel == _BROADCAST_CHANNEL.encode(), handle, resync)

    async def _read_next(self, connection: Connection) -> Any:
        """Return the next reply. After a silence of `heartbeat_interval`, ask the server for a sign of life."""
        if (reply := await connection.read_response(timeout=self._heartbeat_interval)) is not None:
            return reply
        await connection.send_command("PING", check_health=False)
        if (reply := await connection.read_response(timeout=self._timeout)) is not None:
            return reply
        raise TimeoutError("it does not answer")


async def _deliver(data: bytes, is_broadcast: bool, handle: EventHandler, resync: ResyncHandler) -> None:
    try:
        document = json.loads(data)
        is_ours = "cause" in document["signal"] and "eventId" in document
    except (ValueError, TypeError, LookupError, RecursionError):  # a message of another program
        document, is_ours = {}, False
    if not is_ours:
        resync()
        return
    await handle(
        build_unkept_event(
            codec.decode_event(document), resync, broadcast=is_broadcast, error=f"it is not an event: {data[:60]!r}"
        )
    )


async def _open_connection(url: str, stack: AsyncExitStack, *, connect_timeout: float) -> Connection:
    """Return a bare connection, which is closed at once when the stack exits."""
    connection: Connection = open_client(url, connect_timeout=connect_timeout).connection_pool.make_connection()  # type: ignore[no-untyped-call]
    stack.push_async_callback(connection.disconnect, nowait=True)
    await connection.connect()  # type: ignore[no-untyped-call]
    return connection


def open_client(url: str, *, connect_timeout: float, timeout: float | None = None) -> Redis:
    """Return a client that never retries by itself, and connects at its first use."""
    return Redis.from_url(
        url,
        socket_timeout=timeout,
        socket_connect_timeout=connect_timeout,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
        client_name="gatepost",
    )


class RedisIntakeQueue:
    """
    Lists to which any program may LPUSH.

        inbox:{agent}               entries, the newest first
        inbox:{agent}:processing    entries that were taken and are not settled, the newest first
        inbox:{agent}:holder        the gateway that empties the list now; expires by itself
        inbox:{agent}:rejected      rejected entries, as {"reason", "entry"}, the newest first, up to 10,000

    One connection serves all agents. `take` runs one script for each agent, so it is atomic. The holder only prevents
    several gateways from doing the same work; correctness does not depend on it. It depends on two facts: every taker
    receives everything in `:processing`, starting with the oldest entry, and an entry that is received twice is
    recognised by its id. So whichever of two takers commits first, the order is kept and no event is stored twice.
    """

    source: ClassVar[str] = "redis"

    def __init__(self, url: str, *, lease_seconds: float = 10.0, timeout: float = 5.0) -> None:
        """`lease_seconds` after its last call a holder counts as dead; `timeout` is the seconds to wait for Redis."""
        self._client = open_client(url, connect_timeout=timeout, timeout=timeout)
        self._lease_seconds = lease_seconds
        self._holder_id = secrets.token_hex(8)
        self._request_lock = asyncio.Lock()

    async def open(self) -> None:
        """Do nothing: a list keeps its entries also while no gateway runs."""

    async def take(self, agents: Sequence[str]) -> list[QueuedEntry]:
        agents = [agent for agent in agents if not agent.endswith(_RESERVED_SUFFIXES)]
        async with self._translate_errors(), self._client.pipeline(transaction=False) as pipe:
            for agent in agents:
                key = f"{_KEY_PREFIX}{agent}"
                pipe.eval(
                    _TAKE_SCRIPT,
                    3,
                    key,
                    f"{key}{_PROCESSING_SUFFIX}",
                    f"{key}:holder",
                    self._holder_id,
                    int(self._lease_seconds * 1000),
                    _MAX_UNSETTLED,
                )
            results = await pipe.execute(raise_on_error=False)
        return [
            QueuedEntry(agent, raw)
            for agent, result in zip(agents, results, strict=True)
            for raw in reversed(self._read_result(agent, result))
        ]

    async def settle(self, entries: Sequence[tuple[QueuedEntry, str | None]]) -> None:
        async with self._translate_errors(), self._client.pipeline(transaction=False) as pipe:
            for agent, group in groupby(entries, lambda pair: pair[0].agent):
                key = f"{_KEY_PREFIX}{agent}"
                arguments = [
                    argument for entry, reason in group for argument in (entry.raw, _encode_rejection(entry, reason))
                ]
                pipe.eval(_SETTLE_SCRIPT, 2, f"{key}{_PROCESSING_SUFFIX}", f"{key}:rejected", _MAX_REJECTED, *arguments)
            await pipe.execute()

    async def agents(self) -> list[str]:
        async with self._translate_errors():
            keys = [key async for key in self._client.scan_iter(match=f"{_KEY_PREFIX}*", count=1_000, _type="list")]
        names = (key.decode(errors="replace").removeprefix(_KEY_PREFIX) for key in keys)
        return sorted({name.removesuffix(_PROCESSING_SUFFIX) for name in names if not name.endswith(_OTHER_SUFFIXES)})

    async def close(self) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def _translate_errors(self) -> AsyncIterator[None]:
        async with self._request_lock:
            try:
                yield
            except (RedisError, OSError) as error:
                raise _explain_error(error) from error

    def _read_result(self, agent: str, result: Any) -> list[bytes]:
        """Return the entries of one agent. A key that is no list is a mistake of another program: skip that agent."""
        if isinstance(result, ResponseError) and "WRONGTYPE" in str(result):
            log.warning("not a list", key=f"{_KEY_PREFIX}{agent}")
            return []
        if isinstance(result, Exception):
            raise _explain_error(result) from result
        return list(result)


def _explain_error(error: Exception) -> Unavailable:
    return Unavailable(f"Redis cannot be asked: {describe_error(error)}", hint="see `transport` in the settings")


def _encode_rejection(entry: QueuedEntry, reason: str | None) -> str:
    """Return the text to keep of a rejected entry; empty for an accepted one."""
    if reason is None:
        return ""
    return codec.dump_json({"reason": reason, "entry": entry.raw.decode(errors="backslashreplace")}) or ""
