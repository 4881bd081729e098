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
from gatepost.adapters.transports.lifeline import why
from gatepost.adapters.transports.natslink import HASTE, INTAKE, OURS, STREAM, Link, recipient
from gatepost.errors import Unavailable
from gatepost.ports import QueuedEntry

REJECTED: Final = "gatepost.rejected"

_NEXT: Final = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{INTAKE}"
_ACK_WAIT: Final = 30.0
#: messages that are taken at once
_BATCH: Final = 100
#: seconds that the stream may take to have a message that was announced
_MOMENT: Final = 0.2
#: what the server says when there is no message, or none came in time
_NOTHING: Final = ("404", "408")
#: bytes of a message to `gatepost.rejected` beside the entry
_AROUND: Final = 8 * 1024


class JetStreamLetterbox:
    source: ClassVar[str] = "nats"

    def __init__(self, url: str, *, ack_wait: float = _ACK_WAIT, patience: float = 5.0) -> None:
        """Seconds until what nobody acked is given to the next, and to wait for the server."""
        self._servers = url.split(",")
        self._ack_wait = ack_wait
        self._patience = patience
        self._link: Link | None = None
        self._answers: Subscription | None = None
        self._one_at_a_time = asyncio.Lock()
        #: what was taken and is not settled, by where it stands in the stream
        self._held: dict[str, tuple[QueuedEntry, Msg]] = {}

    async def open(self) -> None:
        """Make the consumer, if it is missing."""
        async with self._asking():
            pass

    async def agents(self) -> list[str]:
        """One box for all of them."""
        return ["*"]

    async def take(self, agents: Sequence[str]) -> list[QueuedEntry]:
        """`agents` is not looked at: the stream has one order for everybody."""
        del agents
        async with self._asking() as link:
            while not self._held:
                messages = await self._pull(link, 1, _MOMENT)
                if not messages:
                    break
                messages += await self._pull(link, _BATCH)
                for message in messages:
                    if message.headers and OURS in message.headers:
                        await message.ack()
                    else:
                        entry = _entry(message)
                        self._held[entry.position or ""] = entry, message
            return [entry for entry, _ in self._held.values()]

    async def settle(self, entries: Sequence[tuple[QueuedEntry, str | None]]) -> None:
        """Ack entries, after the server has had whatever is rejected."""
        async with self._asking() as link:
            for entry, reason in entries:
                if reason is not None and (held := self._held.get(entry.position or "")):
                    room = link.client.max_payload - _AROUND
                    await link.client.publish(REJECTED, _rejection(held[1], reason, room))
            await link.client.flush(self._patience)  # type: ignore[arg-type] # a float does
            for entry, _ in entries:
                if held := self._held.pop(entry.position or "", None):
                    await held[1].ack()
            await link.client.flush(self._patience)  # type: ignore[arg-type] # a float does

    async def close(self) -> None:
        await self._drop()

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[Link]:
        async with self._one_at_a_time:
            try:
                async with asyncio.timeout(2 * self._patience):
                    yield self._link or await self._connect()
            except (nats.errors.Error, TimeoutError, OSError) as error:
                await self._drop()
                raise Unavailable(
                    f"JetStream cannot be asked: {why(error)}", hint="see `transport` in the settings"
                ) from error

    async def _connect(self) -> Link:
        link = Link()
        try:
            await link.open(self._servers, self._patience)
            await link.ensure_stream()
            await self._ensure_consumer(link)
            self._answers = await link.client.subscribe(link.client.new_inbox())
        except BaseException:
            await link.close()
            raise
        self._link = link
        return link

    async def _drop(self) -> None:
        """Let go of the connection; what was not settled is given out again by the server."""
        link, self._link, self._held = self._link, None, {}
        if link is not None:
            await link.close()

    async def _ensure_consumer(self, link: Link) -> None:
        stream = link.client.jetstream(timeout=HASTE)
        try:
            await stream.consumer_info(STREAM, INTAKE)
        except nats.js.errors.NotFoundError:
            await stream.add_consumer(
                STREAM,
                ConsumerConfig(
                    name=INTAKE,
                    durable_name=INTAKE,
                    deliver_policy=DeliverPolicy.NEW,
                    ack_policy=AckPolicy.EXPLICIT,
                    ack_wait=self._ack_wait,
                ),
            )

    async def _pull(self, link: Link, count: int, wait: float | None = None) -> list[Msg]:
        """Ask for messages: those that are there or, if told to wait, those that come within that time."""
        assert self._answers is not None
        how = {"no_wait": True} if wait is None else {"expires": int(wait * 1_000_000_000)}
        await link.client.publish(_NEXT, json.dumps({"batch": count} | how).encode(), reply=self._answers.subject)
        found: list[Msg] = []
        while len(found) < count:
            message = await self._answers.next_msg(self._patience)
            status = (message.headers or {}).get("Status")
            if status in _NOTHING:
                break
            if status is not None:
                raise nats.errors.Error(f"the consumer {INTAKE} answers {status}")
            found.append(message)
        return found


def _entry(message: Msg) -> QueuedEntry:
    metadata = message.metadata
    # The number alone begins anew when somebody makes the stream anew.
    place = f"{metadata.sequence.stream}@{metadata.timestamp.timestamp():.6f}"
    return QueuedEntry(recipient(message.subject), message.data, place)


def _rejection(message: Msg, reason: str, room: int) -> bytes:
    """What is told of a rejected message, in so many bytes: of one that is very long only the beginning."""
    entry = message.data.decode(errors="backslashreplace")
    while len(text := codec.text({"subject": message.subject, "reason": reason, "entry": entry}) or "") > room:
        entry = entry[: len(entry) // 2]
    return text.encode()
