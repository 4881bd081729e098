"""
The two readers of the stream INBOX_EVENTS on JetStream: the subscription of a courier, and the intake queue.

`JetStreamSubscription` receives what gateways publish for one agent and for all agents. Its consumer `inbox-{agent}`
outlives the courier. The server delivers everything that was published since the consumer was created, and after
`ack_wait` it delivers again what was not acked: because the courier died, the connection was lost or the ack was. The
courier waits until the server confirms an ack. A second courier of the same agent shares the consumer: each event goes
to one of them. The courier leaves a message of another program to the gateways. When one of them has taken it in,
couriers are asked to check the store (`gatepost.looks.{agent}`): by then the event is in the store, with its position
and its trust.

`JetStreamIntakeQueue` receives what other programs publish.

    inbox.targeted.{agent}, inbox.broadcast    messages of other programs, and of gateways: these have our header
    gatepost.rejected                          rejected messages, as {"subject", "reason", "entry"}

All gateways share the durable consumer `gatepost-intake`, so each message goes to one of them. A message is acked after
its event is committed. If the gateway dies before that, another one receives the message after `ack_wait`; the key of
the event then shows that it is a repeat. Messages of gateways are acked without reading: their events are in the store.
The consumer starts with messages that are published after its creation. Entries that were taken and not settled are
returned first, as the port demands; if the server has delivered one to another gateway meanwhile, its key shows that.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Final, TypeVar

import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from gatepost.core.ports import EventHandler, ResyncHandler
from gatepost.core.transport_records import QueuedEntry, SubscribedEvent
from gatepost.errors import Unavailable
from gatepost.transports import codec
from gatepost.transports.nats import (
    BROADCAST_SUBJECT,
    EVENT_HEADER,
    INTAKE_CONSUMER,
    STREAM,
    STREAM_TIMEOUT,
    NatsConnection,
    build_agent_subject,
    build_look_subject,
    escape_name,
    parse_recipient,
)
from gatepost.transports.reconnect import cancel_tasks, describe_error

REJECTED_SUBJECT: Final = "gatepost.rejected"

_NEXT_SUBJECT: Final = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{INTAKE_CONSUMER}"
#: seconds after which the server delivers a message again that was not acked
_ACK_WAIT: Final = 30.0
#: messages that the intake queue pulls at once
_BATCH_SIZE: Final = 100
#: seconds to wait until a message that was signalled is in the stream
_FIRST_MESSAGE_WAIT: Final = 0.2
#: statuses of the server for "no message" and "no message in time"
_NO_MESSAGE_STATUSES: Final = ("404", "408")
#: bytes of a message to `gatepost.rejected` in addition to the entry
_ENVELOPE_BYTES: Final = 8 * 1024

T = TypeVar("T")


class JetStreamSubscription:
    name: ClassVar[str] = "nats"

    def __init__(
        self,
        url: str,
        agent: str,
        *,
        ack_wait: float = _ACK_WAIT,
        heartbeat_interval: float = 5.0,
        timeout: float = 5.0,
    ) -> None:
        """
        All times are in seconds: `ack_wait` until an event that was not acked comes again, `heartbeat_interval` between
        two heartbeats, `timeout` for an answer of the server.
        """
        self._url = url
        self._agent = agent
        self._consumer = f"inbox-{escape_name(agent)}"
        self._ack_wait = ack_wait
        self._heartbeat_interval = heartbeat_interval
        self._timeout = timeout

    async def follow(self, handle: EventHandler, resync: ResyncHandler) -> None:
        connection = NatsConnection()
        lost_task = asyncio.create_task(connection.wait_until_lost())
        try:
            async with asyncio.timeout(self._timeout):
                await _wait_unless_lost(lost_task, self._open(connection, resync))
            resync()
            subscription = await connection.client.jetstream().pull_subscribe_bind(self._consumer, STREAM)
            while True:
                try:
                    [message] = await _wait_unless_lost(
                        lost_task, subscription.fetch(1, timeout=self._heartbeat_interval)
                    )
                except nats.errors.TimeoutError:
                    await _wait_unless_lost(lost_task, connection.client.flush(self._timeout))  # type: ignore[arg-type] # a float works
                else:
                    await self._deliver(message, handle, resync)
        finally:
            await cancel_tasks(lost_task)
            await connection.close()

    async def _open(self, connection: NatsConnection, resync: ResyncHandler) -> None:
        async def on_look_request(_: Msg) -> None:
            resync()

        await connection.open(self._url, self._timeout)
        await connection.ensure_stream()
        subjects = [build_agent_subject(self._agent), BROADCAST_SUBJECT]
        await _ensure_consumer(connection.client, self._consumer, self._ack_wait, subjects)
        for name in (self._agent, "*"):
            await connection.client.subscribe(build_look_subject(name), cb=on_look_request)
        await connection.client.flush(self._timeout)  # type: ignore[arg-type] # a float works

    async def _deliver(self, message: Msg, handle: EventHandler, resync: ResyncHandler) -> None:
        async def ack() -> None:
            await message.ack_sync(self._timeout)

        if not (message.headers and EVENT_HEADER in message.headers):
            await ack()
            return
        try:
            document: Any = json.loads(message.data)
        except (ValueError, RecursionError):
            document = None
        if isinstance(document, dict) and "eventId" in document and "content" not in document:
            resync()  # the event was too large for the server
            await ack()
            return
        event = codec.decode_event(document) if isinstance(document, dict) else None
        await handle(
            SubscribedEvent(
                event=event,
                error="" if event is not None else f"it is not an event: {message.data[:60]!r}",
                broadcast=message.subject == BROADCAST_SUBJECT,
                ack=ack,
                refuse=message.nak,
            )
        )


class JetStreamIntakeQueue:
    source: ClassVar[str] = "nats"

    def __init__(self, url: str, *, ack_wait: float = _ACK_WAIT, timeout: float = 5.0) -> None:
        """
        Both times are in seconds: `ack_wait` until a message that was not acked goes to another gateway, `timeout` for
        an answer of the server.
        """
        self._url = url
        self._ack_wait = ack_wait
        self._timeout = timeout
        self._connection: NatsConnection | None = None
        self._replies: Subscription | None = None
        self._request_lock = asyncio.Lock()
        #: entries that were taken and are not settled, by their position in the stream
        self._unsettled: dict[str, tuple[QueuedEntry, Msg]] = {}

    async def open(self) -> None:
        """Create the consumer if it is missing."""
        async with self._use_connection():
            pass

    async def agents(self) -> list[str]:
        """Return `*`: one queue holds the entries of all agents."""
        return ["*"]

    async def take(self, agents: Sequence[str]) -> list[QueuedEntry]:
        """Ignore `agents`: the stream has one order for all of them."""
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
        """Ack the entries, after the server has received the rejected ones."""
        async with self._use_connection() as connection:
            for entry, reason in entries:
                if reason is not None and (pair := self._unsettled.get(entry.position or "")):
                    max_bytes = connection.client.max_payload - _ENVELOPE_BYTES
                    await connection.client.publish(REJECTED_SUBJECT, _encode_rejection(pair[1], reason, max_bytes))
            await connection.client.flush(self._timeout)  # type: ignore[arg-type] # a float works
            for entry, _ in entries:
                if pair := self._unsettled.pop(entry.position or "", None):
                    await pair[1].ack()
            await connection.client.flush(self._timeout)  # type: ignore[arg-type] # a float works

    async def close(self) -> None:
        """Close the connection; the server delivers unsettled messages again."""
        connection, self._connection, self._unsettled = self._connection, None, {}
        if connection is not None:
            await connection.close()

    @asynccontextmanager
    async def _use_connection(self) -> AsyncIterator[NatsConnection]:
        async with self._request_lock:
            try:
                async with asyncio.timeout(2 * self._timeout):
                    yield self._connection or await self._connect()
            except (nats.errors.Error, TimeoutError, OSError) as error:
                await self.close()
                raise Unavailable(
                    f"JetStream cannot be asked: {describe_error(error)}", hint="see `transport` in the settings"
                ) from error

    async def _connect(self) -> NatsConnection:
        connection = NatsConnection()
        try:
            await connection.open(self._url, self._timeout)
            await connection.ensure_stream()
            await _ensure_consumer(connection.client, INTAKE_CONSUMER, self._ack_wait)
            self._replies = await connection.client.subscribe(connection.client.new_inbox())
        except BaseException:
            await connection.close()
            raise
        self._connection = connection
        return connection

    async def _pull(self, connection: NatsConnection, count: int, wait: float | None = None) -> list[Msg]:
        """Return up to `count` messages: those in the stream, or those that come in `wait` seconds."""
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


async def _ensure_consumer(client: Client, name: str, ack_wait: float, subjects: list[str] | None = None) -> None:
    """Create a durable consumer if it is missing, for these subjects or for all of the stream."""
    stream = client.jetstream(timeout=STREAM_TIMEOUT)
    try:
        await stream.consumer_info(STREAM, name)
    except nats.js.errors.NotFoundError:
        await stream.add_consumer(
            STREAM,
            ConsumerConfig(
                name=name,
                durable_name=name,
                deliver_policy=DeliverPolicy.NEW,
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=ack_wait,
                filter_subjects=subjects,
            ),
        )


async def _wait_unless_lost(lost_task: asyncio.Task[None], action: Coroutine[Any, Any, T]) -> T:
    """
    Wait for a call of the driver, or raise if the connection is lost meanwhile. The call runs in its own task, because
    the driver may swallow a cancellation and continue.
    """
    task = asyncio.create_task(action)
    try:
        await asyncio.wait([task, lost_task], return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel_tasks(task)
    if lost_task.done():
        await lost_task
        raise ConnectionError("the connection was closed")
    return task.result()


def _make_entry(message: Msg) -> QueuedEntry:
    metadata = message.metadata
    # The number alone is not unique: it starts again when the stream is deleted and created again.
    position = f"{metadata.sequence.stream}@{metadata.timestamp.timestamp():.6f}"
    return QueuedEntry(parse_recipient(message.subject), message.data, position)


def _encode_rejection(message: Msg, reason: str, max_bytes: int) -> bytes:
    """Return a rejected message as JSON of at most `max_bytes`; a long one is cut at the end."""
    entry = message.data.decode(errors="backslashreplace")
    while (
        len(text := codec.dump_json({"subject": message.subject, "reason": reason, "entry": entry}) or "") > max_bytes
    ):
        entry = entry[: len(entry) // 2]
    return text.encode()
