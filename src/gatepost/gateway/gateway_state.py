"""What the operations of one gateway share."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from gatepost.channels.telegram.background.intake import TelegramIntake
from gatepost.core.ports import Store
from gatepost.errors import TooManyStreams, Unavailable
from gatepost.gateway.attempt_limits import AttemptLimits
from gatepost.gateway.authentication import Authenticator
from gatepost.gateway.live_streams import LiveStreams
from gatepost.gateway.page_files import PAGE_FOLDER
from gatepost.operations.access import Caller
from gatepost.residents.agent_config import ModelChoice
from gatepost.residents.ports import Model
from gatepost.transports.signal_bus import SignalBus

if TYPE_CHECKING:
    from gatepost.gateway.health_operations import Meters

#: bytes of bodies with an unverified signature that are held at the same time
_MAX_UNVERIFIED: Final = 16 * 1024 * 1024

#: streams of one caller, if the settings say nothing else
DEFAULT_STREAMS: Final = 100


class CallerLocks:
    """A lock for each caller: what takes long is done for one caller once at a time, and others come in between."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def get(self, caller: Hashable) -> asyncio.Lock:
        lock = self._locks.get(caller)
        if lock is None:
            lock = self._locks[caller] = asyncio.Lock()
        return lock


class UnverifiedBodies:
    """Limits the bytes of all webhooks together that are held while their signature is not verified yet."""

    def __init__(self) -> None:
        self._size = 0

    @contextmanager
    def reserve(self) -> Iterator[Callable[[int], None]]:
        """Yield the function to call with the size of each part before it is kept; at the end all parts are free."""
        reserved = 0

        def count_part(size: int) -> None:
            nonlocal reserved
            if self._size + size > _MAX_UNVERIFIED:
                raise Unavailable("too many webhooks are being received", hint="send it again in a moment")
            reserved += size
            self._size += size

        try:
            yield count_part
        finally:
            self._size -= reserved


class StreamLimits:
    """Limits the streams that one caller reads at the same time: each takes memory, and a part of every signal."""

    def __init__(self, limit: int = DEFAULT_STREAMS) -> None:
        self._limit = limit
        self._counts: Counter[Caller] = Counter()

    @contextmanager
    def reserve(self, caller: Caller) -> Iterator[None]:
        """Count a stream of a caller while entered; raise TooManyStreams if it has as many as it may have."""
        if self._counts[caller] >= self._limit:
            raise TooManyStreams(
                f"this caller reads {self._limit} streams, and may read no more at the same time",
                hint="close some, read several spaces and inboxes in one (GET /api/stream), or raise gateway.streams",
            )
        self._counts[caller] += 1
        try:
            yield
        finally:
            self._counts[caller] -= 1
            if not self._counts[caller]:
                del self._counts[caller]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayState:
    store: Store
    signal_bus: SignalBus
    live_streams: LiveStreams
    authenticator: Authenticator
    meters: "Meters"
    version: str
    #: opens the model of a choice
    open_model: Callable[[ModelChoice], Awaitable[Model]]
    #: names by which this gateway is reached, beside addresses and `localhost`
    hosts: frozenset[str] = frozenset()
    #: where the page was built
    page_folder: Path = PAGE_FOLDER
    #: takes updates of Telegram bots in webhook mode; None if this gateway has no channels
    telegram: TelegramIntake | None = None
    caller_locks: CallerLocks = field(default_factory=CallerLocks)
    unverified_bodies: UnverifiedBodies = field(default_factory=UnverifiedBodies)
    attempt_limits: AttemptLimits = field(default_factory=AttemptLimits)
    stream_limits: StreamLimits = field(default_factory=StreamLimits)
