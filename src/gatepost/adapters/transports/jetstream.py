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
from gatepost.adapters.transports.lifeline import end
from gatepost.adapters.transports.natslink import BROADCAST, HASTE, OURS, STREAM, Link, looks, targeted, token
from gatepost.ports import EventHandler, ResyncHandler, SubscribedEvent

_ACK_WAIT: Final = 30.0

T = TypeVar("T")


class JetStreamParcels:
    name: ClassVar[str] = "nats"

    def __init__(
        self, url: str, agent: str, *, ack_wait: float = _ACK_WAIT, beat: float = 5.0, patience: float = 5.0
    ) -> None:
        """Seconds until an unacked parcel comes again, between signs of life, and to wait for one."""
        self._servers = url.split(",")
        self._agent = agent
        self._ack_wait = ack_wait
        self._beat = beat
        self._patience = patience

    async def follow(self, take: EventHandler, look: ResyncHandler) -> None:
        link = Link()
        lost = asyncio.create_task(link.lost())
        try:
            async with asyncio.timeout(self._patience):
                await _unless(lost, self._open(link, look))
            look()
            subscription = await link.client.jetstream().pull_subscribe_bind(f"inbox-{token(self._agent)}", STREAM)
            while True:
                try:
                    [message] = await _unless(lost, subscription.fetch(1, timeout=self._beat))
                except nats.errors.TimeoutError:
                    await _unless(lost, link.client.flush(self._patience))  # type: ignore[arg-type] # a float does
                else:
                    await self._hand(message, take, look)
        finally:
            await end(lost)
            await link.close()

    async def _open(self, link: Link, look: ResyncHandler) -> None:
        async def rung(_: Msg) -> None:
            look()

        await link.open(self._servers, self._patience)
        await link.ensure_stream()
        await self._ensure_consumer(link.client)
        for name in (self._agent, "*"):
            await link.client.subscribe(looks(name), cb=rung)
        await link.client.flush(self._patience)  # type: ignore[arg-type] # a float does

    async def _ensure_consumer(self, client: Client) -> None:
        stream = client.jetstream(timeout=HASTE)
        name = f"inbox-{token(self._agent)}"
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
                    filter_subjects=[targeted(self._agent), BROADCAST],
                ),
            )

    async def _hand(self, message: Msg, take: EventHandler, look: ResyncHandler) -> None:
        async def ack() -> None:
            await message.ack_sync(self._patience)

        if not (message.headers and OURS in message.headers):
            await ack()
            return
        try:
            document: Any = json.loads(message.data)
        except (ValueError, RecursionError):
            document = None
        if isinstance(document, dict) and "eventId" in document and "content" not in document:
            look()  # it was too large
            await ack()
            return
        event = codec.event(document) if isinstance(document, dict) else None
        trouble = "" if event is not None else f"it is not an event: {message.data[:60]!r}"
        await take(
            SubscribedEvent(
                event=event, error=trouble, broadcast=message.subject == BROADCAST, ack=ack, refuse=message.nak
            )
        )


async def _unless(lost: asyncio.Task[None], action: Coroutine[Any, Any, T]) -> T:
    """
    Wait for something of the driver's, unless the connection is lost. It is done aside, because the driver may forget
    that it was cancelled, and go on.
    """
    task = asyncio.create_task(action)
    try:
        await asyncio.wait([task, lost], return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end(task)
    if lost.done():
        await lost
        raise ConnectionError("the connection was closed")
    return task.result()
