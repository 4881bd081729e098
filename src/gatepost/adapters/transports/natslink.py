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
BROADCAST: Final = "inbox.broadcast"
_TARGETED: Final = "inbox.targeted."
#: the consumer that all gateways share, for what other programs publish
INTAKE: Final = "gatepost-intake"
#: the header of what a gateway puts into the stream: the id of the event
OURS: Final = "Gatepost-Event"
#: seconds that the stream may take to answer, and the connection to be closed
HASTE: Final = 1.0


class Link:
    def __init__(self) -> None:
        self.client = Client()
        self._closed = asyncio.Event()
        self._error: Exception | None = None

    async def open(self, servers: list[str], patience: float, *, no_echo: bool = False) -> None:
        async def closed() -> None:
            self._closed.set()

        async def failed(error: Exception) -> None:
            self._error = error

        try:
            await self.client.connect(
                servers,
                name="gatepost",
                error_cb=failed,
                closed_cb=closed,
                connect_timeout=patience,  # type: ignore[arg-type] # a float does
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                no_echo=no_echo,
            )
        except nats.errors.NoServersError:
            raise (self._error or nats.errors.NoServersError()) from None

    async def lost(self) -> None:
        """Return, or raise why, when the connection is lost."""
        await self._closed.wait()
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        with suppress(Exception):
            async with asyncio.timeout(HASTE):
                await self.client.close()

    async def ensure_stream(self) -> None:
        """Make the stream if it is missing."""
        stream = self.client.jetstream(timeout=HASTE)
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


def targeted(name: str) -> str:
    """The subject of what is for one agent."""
    return f"{_TARGETED}{token(name)}"


def recipient(subject: str) -> str:
    """Who a subject is for: `*` for every agent, and the subject itself if it is for nobody."""
    return "*" if subject == BROADCAST else subject.removeprefix(_TARGETED).replace("~", ".")


def looks(name: str) -> str:
    """The subject on which the couriers of an agent, or of all (`*`), are told to look into the store."""
    return f"gatepost.looks.{'all' if name == '*' else token(name)}"  # nobody can be called `all`


def token(name: str) -> str:
    """A name as one token of a subject, or in the name of a consumer: there a dot separates."""
    return name.replace(".", "~")
