"""
A connection to NATS, and the stream that keeps events for couriers. The transport of the gateways and the couriers both
stand on it.

The driver's own way of reconnecting is switched off: whoever holds the connection makes another.
"""

import asyncio
from contextlib import suppress
from typing import Final

import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig

STREAM: Final = "INBOX_EVENTS"
BROADCAST_SUBJECT: Final = "inbox.broadcast"
_TARGETED_PREFIX: Final = "inbox.targeted."
#: the consumer that all gateways share, for what other programs publish
INTAKE_CONSUMER: Final = "gatepost-intake"
#: the header of what a gateway puts into the stream: the id of the event
EVENT_HEADER: Final = "Gatepost-Event"
#: seconds that the stream may take to answer, and the connection to be closed
STREAM_TIMEOUT: Final = 1.0


class NatsConnection:
    def __init__(self) -> None:
        self.client = Client()
        self._closed_event = asyncio.Event()
        self._error: Exception | None = None

    async def open(self, servers: list[str], connect_timeout: float, *, no_echo: bool = False) -> None:
        async def on_closed() -> None:
            self._closed_event.set()

        async def on_error(error: Exception) -> None:
            self._error = error

        try:
            await self.client.connect(
                servers,
                name="gatepost",
                error_cb=on_error,
                closed_cb=on_closed,
                connect_timeout=connect_timeout,  # type: ignore[arg-type] # a float does
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                no_echo=no_echo,
            )
        except nats.errors.NoServersError:
            raise (self._error or nats.errors.NoServersError()) from None

    async def wait_until_lost(self) -> None:
        """Return, or raise why, when the connection is lost."""
        await self._closed_event.wait()
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        with suppress(Exception):
            async with asyncio.timeout(STREAM_TIMEOUT):
                await self.client.close()

    async def ensure_stream(self) -> None:
        """Make the stream if it is missing."""
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


def build_agent_subject(name: str) -> str:
    """The subject of what is for one agent."""
    return f"{_TARGETED_PREFIX}{escape_name(name)}"


def parse_recipient(subject: str) -> str:
    """Who a subject is for: `*` for every agent, and the subject itself if it is for nobody."""
    return "*" if subject == BROADCAST_SUBJECT else subject.removeprefix(_TARGETED_PREFIX).replace("~", ".")


def build_look_subject(name: str) -> str:
    """The subject on which the couriers of an agent, or of all (`*`), are told to look into the store."""
    return f"gatepost.looks.{'all' if name == '*' else escape_name(name)}"  # nobody can be called `all`


def escape_name(name: str) -> str:
    """A name as one token of a subject, or in the name of a consumer: there a dot separates."""
    return name.replace(".", "~")
