"""
A letterbox on JetStream: what other programs publish on the subjects of the stream INBOX_EVENTS.

    inbox.targeted.{agent}, inbox.broadcast    messages of other programs, and of gateways: these have a header of ours
    gatepost.rejected                          what could not be used, as {"subject", "reason", "entry"}

All gateways share the durable consumer `gatepost-intake`, so each message goes to one of them. A message is acked when
what it says is committed. Whoever dies before that leaves it to the next, after `ack_wait`; it is then recognised by
its key. What gateways themselves have put into the stream is acked unread: it is in the store already.

The consumer begins with what is published after it was made. What was taken and not settled is given again first, as
the port wants it; should the server have given it to somebody else meanwhile, that is recognised too.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import ClassVar, Final

import nats.errors
import nats.js.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from gatepost.adapters.transports import codec
from gatepost.adapters.transports.natslink import (
    EVENT_HEADER,
    INTAKE_CONSUMER,
    STREAM,
    STREAM_TIMEOUT,
    NatsConnection,
    parse_recipient,
)
from gatepost.adapters.transports.reconnect import describe_error
from gatepost.errors import Unavailable
from gatepost.ports import QueuedEntry

REJECTED_SUBJECT: Final = "gatepost.rejected"

_NEXT_SUBJECT: Final = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{INTAKE_CONSUMER}"
_ACK_WAIT: Final = 30.0
#: messages that are taken at once
_BATCH_SIZE: Final = 100
#: seconds that the stream may take to have a message that was announced
_FIRST_MESSAGE_WAIT: Final = 0.2
#: what the server says when there is no message, or none came in time
_NO_MESSAGE_STATUSES: Final = ("404", "408")
#: bytes of a message to `gatepost.rejected` beside the entry
_ENVELOPE_BYTES: Final = 8 * 1024


class JetStreamIntakeQueue:
    source: ClassVar[str] = "nats"

    def __init__(self, url: str, *, ack_wait: float = _ACK_WAIT, timeout: float = 5.0) -> None:
        """Seconds until what nobody acked is given to the next, and to wait for the server."""
        self._servers = url.split(",")
        self._ack_wait = ack_wait
        self._timeout = timeout
        self._connection: NatsConnection | None = None
        self._replies: Subscription | None = None
        self._request_lock = asyncio.Lock()
        #: what was taken and is not settled, by where it stands in the stream
        self._unsettled: dict[str, tuple[QueuedEntry, Msg]] = {}

    async def open(self) -> None:
        """Make the consumer, if it is missing."""
        async with self._use_connection():
            pass

    async def agents(self) -> list[str]:
        """One box for all of them."""
        return ["*"]

    async def take(self, agents: Sequence[str]) -> list[QueuedEntry]:
        """`agents` is not looked at: the stream has one order for everybody."""
        del agents
        async with self._use_connection() as connection:
            while not self._unsettled:
                messages = await self._pull(connection, 1, _FIRST_MESSAGE_WAIT)
                if not messages:
                    break
                messages += await self._pull(connection, _BATCH_SIZE)
                for message in messages:
                    if message.headers and EVENT_HEADER in message.headers:
                        await message.ack()
                    else:
                        entry = _make_entry(message)
                        self._unsettled[entry.position or ""] = entry, message
            return [entry for entry, _ in self._unsettled.values()]

    async def settle(self, entries: Sequence[tuple[QueuedEntry, str | None]]) -> None:
        """Ack entries, after the server has had whatever is rejected."""
        async with self._use_connection() as connection:
            for entry, reason in entries:
                if reason is not None and (pair := self._unsettled.get(entry.position or "")):
                    max_bytes = connection.client.max_payload - _ENVELOPE_BYTES
                    await connection.client.publish(REJECTED_SUBJECT, _encode_rejection(pair[1], reason, max_bytes))
            await connection.client.flush(self._timeout)  # type: ignore[arg-type] # a float does
            for entry, _ in entries:
                if pair := self._unsettled.pop(entry.position or "", None):
                    await pair[1].ack()
            await connection.client.flush(self._timeout)  # type: ignore[arg-type] # a float does

    async def close(self) -> None:
        await self._drop()

    @asynccontextmanager
    async def _use_connection(self) -> AsyncIterator[NatsConnection]:
        async with self._request_lock:
            try:
                async with asyncio.timeout(2 * self._timeout):
                    yield self._connection or await self._connect()
            except (nats.errors.Error, TimeoutError, OSError) as error:
                await self._drop()
                raise Unavailable(
                    f"JetStream cannot be asked: {describe_error(error)}", hint="see `transport` in the settings"
                ) from error

    async def _connect(self) -> NatsConnection:
        connection = NatsConnection()
        try:
            await connection.open(self._servers, self._timeout)
            await connection.ensure_stream()
            await self._ensure_consumer(connection)
            self._replies = await connection.client.subscribe(connection.client.new_inbox())
        except BaseException:
            await connection.close()
            raise
        self._connection = connection
        return connection

    async def _drop(self) -> None:
        """Let go of the connection; what was not settled is given out again by the server."""
        connection, self._connection, self._unsettled = self._connection, None, {}
        if connection is not None:
            await connection.close()

    async def _ensure_consumer(self, connection: NatsConnection) -> None:
        stream = connection.client.jetstream(timeout=STREAM_TIMEOUT)
        try:
            await stream.consumer_info(STREAM, INTAKE_CONSUMER)
        except nats.js.errors.NotFoundError:
            await stream.add_consumer(
                STREAM,
                ConsumerConfig(
                    name=INTAKE_CONSUMER,
                    durable_name=INTAKE_CONSUMER,
                    deliver_policy=DeliverPolicy.NEW,
                    ack_policy=AckPolicy.EXPLICIT,
                    ack_wait=self._ack_wait,
                ),
            )

    async def _pull(self, connection: NatsConnection, count: int, wait: float | None = None) -> list[Msg]:
        """Ask for messages: those that are there or, if told to wait, those that come within that time."""
        assert self._replies is not None
        wait_options = {"no_wait": True} if wait is None else {"expires": int(wait * 1_000_000_000)}
        await connection.client.publish(
            _NEXT_SUBJECT, json.dumps({"batch": count} | wait_options).encode(), reply=self._replies.subject
        )
        messages: list[Msg] = []
        while len(messages) < count:
            message = await self._replies.next_msg(self._timeout)
            status = (message.headers or {}).get("Status")
            if status in _NO_MESSAGE_STATUSES:
                break
            if status is not None:
                raise nats.errors.Error(f"the consumer {INTAKE_CONSUMER} answers {status}")
            messages.append(message)
        return messages


def _make_entry(message: Msg) -> QueuedEntry:
    metadata = message.metadata
    # The number alone begins anew when somebody makes the stream anew.
    position = f"{metadata.sequence.stream}@{metadata.timestamp.timestamp():.6f}"
    return QueuedEntry(parse_recipient(message.subject), message.data, position)


def _encode_rejection(message: Msg, reason: str, max_bytes: int) -> bytes:
    """What is told of a rejected message, in so many bytes: of one that is very long only the beginning."""
    entry = message.data.decode(errors="backslashreplace")
    while (
        len(text := codec.dump_json({"subject": message.subject, "reason": reason, "entry": entry}) or "") > max_bytes
    ):
        entry = entry[: len(entry) // 2]
    return text.encode()
