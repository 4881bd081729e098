"""
Parcels from JetStream: what gateways hand to the stream INBOX_EVENTS for an agent, and for every agent.

The consumer `inbox-{agent}` outlives its courier. The server hands it whatever was published since it was made, and
again after `ack_wait` what was not acked, whether the courier died, the connection was lost or the ack was. An ack is
waited for. A second courier of the same agent shares the consumer: each parcel goes to one of them.

A message of another program is left to the gateways, which take it in (`intake.py`). When one has, the couriers are
told to look (`gatepost.looks.{agent}`): by then it is in the store, with its place and its trust.
"""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, ClassVar, Final, TypeVar

import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from gatepost.adapters.transports import codec
from gatepost.adapters.transports.natslink import (
    BROADCAST_SUBJECT,
    EVENT_HEADER,
    STREAM,
    STREAM_TIMEOUT,
    NatsConnection,
    build_agent_subject,
    build_look_subject,
    escape_name,
)
from gatepost.adapters.transports.reconnect import cancel_tasks
from gatepost.ports import EventHandler, ResyncHandler, SubscribedEvent

_ACK_WAIT: Final = 30.0

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
        """Seconds until an unacked parcel comes again, between signs of life, and to wait for one."""
        self._servers = url.split(",")
        self._agent = agent
        self._ack_wait = ack_wait
        self._heartbeat_interval = heartbeat_interval
        self._timeout = timeout

    async def follow(self, deliver: EventHandler, check_store: ResyncHandler) -> None:
        connection = NatsConnection()
        lost_task = asyncio.create_task(connection.wait_until_lost())
        try:
            async with asyncio.timeout(self._timeout):
                await _wait_unless_lost(lost_task, self._open(connection, check_store))
            check_store()
            subscription = await connection.client.jetstream().pull_subscribe_bind(
                f"inbox-{escape_name(self._agent)}", STREAM
            )
            while True:
                try:
                    [message] = await _wait_unless_lost(
                        lost_task, subscription.fetch(1, timeout=self._heartbeat_interval)
                    )
                except nats.errors.TimeoutError:
                    await _wait_unless_lost(lost_task, connection.client.flush(self._timeout))  # type: ignore[arg-type] # a float does
                else:
                    await self._deliver(message, deliver, check_store)
        finally:
            await cancel_tasks(lost_task)
            await connection.close()

    async def _open(self, connection: NatsConnection, check_store: ResyncHandler) -> None:
        async def on_signal(_: Msg) -> None:
            check_store()

        await connection.open(self._servers, self._timeout)
        await connection.ensure_stream()
        await self._ensure_consumer(connection.client)
        for name in (self._agent, "*"):
            await connection.client.subscribe(build_look_subject(name), cb=on_signal)
        await connection.client.flush(self._timeout)  # type: ignore[arg-type] # a float does

    async def _ensure_consumer(self, client: Client) -> None:
        stream = client.jetstream(timeout=STREAM_TIMEOUT)
        name = f"inbox-{escape_name(self._agent)}"
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
                    ack_wait=self._ack_wait,
                    filter_subjects=[build_agent_subject(self._agent), BROADCAST_SUBJECT],
                ),
            )

    async def _deliver(self, message: Msg, deliver: EventHandler, check_store: ResyncHandler) -> None:
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
            check_store()  # it was too large
            await ack()
            return
        event = codec.decode_event(document) if isinstance(document, dict) else None
        trouble = "" if event is not None else f"it is not an event: {message.data[:60]!r}"
        await deliver(
            SubscribedEvent(
                event=event, error=trouble, broadcast=message.subject == BROADCAST_SUBJECT, ack=ack, refuse=message.nak
            )
        )


async def _wait_unless_lost(lost_task: asyncio.Task[None], action: Coroutine[Any, Any, T]) -> T:
    """
    Wait for something of the driver's, unless the connection is lost. It is done aside, because the driver may forget
    that it was cancelled, and go on.
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
