"""What the routes share: the store, the signals, and the rules of the house."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from fastapi import Request

from gatepost.core.agent import ModelChoice
from gatepost.core.limits import Limits
from gatepost.errors import Unavailable
from gatepost.gateway.auth import Doorkeeper
from gatepost.ports import Model, Store
from gatepost.runtime.live import LiveStreams
from gatepost.runtime.signal_bus import SignalBus

if TYPE_CHECKING:
    from gatepost.gateway.health import Meters

#: bytes of bodies with an unverified signature that are held at the same time
_MAX_UNVERIFIED: Final = 16 * 1024 * 1024


class Turns:
    """Gives each caller a lock: what takes long is done for one caller once at a time, and others come in between."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def of(self, who: Hashable) -> asyncio.Lock:
        lock = self._locks.get(who)
        if lock is None:
            lock = self._locks[who] = asyncio.Lock()
        return lock


class UnverifiedBodies:
    """Limits the bytes of all webhooks together that are held while their signature is not verified yet."""

    def __init__(self) -> None:
        self._size = 0

    @contextmanager
    def reserve(self) -> Iterator[Callable[[int], None]]:
        """Yield the function to call with the size of each part before it is kept; at the end all parts are free."""
        held = 0

        def hold(size: int) -> None:
            nonlocal held
            if self._size + size > _MAX_UNVERIFIED:
                raise Unavailable("too many webhooks are being received", hint="send it again in a moment")
            held += size
            self._size += size

        try:
            yield hold
        finally:
            self._size -= held


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    store: Store
    exchange: SignalBus
    hub: LiveStreams
    doorkeeper: Doorkeeper
    meters: "Meters"
    limits: Limits
    version: str
    #: the model that somebody names
    models: Callable[[ModelChoice], Awaitable[Model]]
    turns: Turns = field(default_factory=Turns)
    unverified_bodies: UnverifiedBodies = field(default_factory=UnverifiedBodies)


def office(request: Request) -> Office:
    found: Office = request.app.state.office
    return found
