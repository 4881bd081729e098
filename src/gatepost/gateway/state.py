"""What the operations of one gateway share."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from gatepost.core.agent import ModelChoice
from gatepost.errors import Unavailable
from gatepost.gateway.attempt_limits import AttemptLimits
from gatepost.gateway.auth import Authenticator
from gatepost.ports import Model, Store
from gatepost.runtime.live import LiveStreams
from gatepost.runtime.signal_bus import SignalBus
from gatepost.runtime.telegram_intake import TelegramIntake

if TYPE_CHECKING:
    from gatepost.gateway.health import Meters

#: bytes of bodies with an unverified signature that are held at the same time
_MAX_UNVERIFIED: Final = 16 * 1024 * 1024


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
    #: names by which this gateway is reached, beside addresses and the names of this machine
    hosts: frozenset[str] = frozenset()
    #: takes updates of Telegram bots in webhook mode; None if this gateway has no channels
    telegram: TelegramIntake | None = None
    caller_locks: CallerLocks = field(default_factory=CallerLocks)
    unverified_bodies: UnverifiedBodies = field(default_factory=UnverifiedBodies)
    attempt_limits: AttemptLimits = field(default_factory=AttemptLimits)
