"""What the routes share: the store, the signals, and the rules of the house."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from fastapi import Request

from gatepost.core.agent import ModelChoice
from gatepost.core.limits import Limits
from gatepost.gateway.auth import Doorkeeper
from gatepost.ports import Model, Store
from gatepost.runtime.live import LiveStreams
from gatepost.runtime.signal_bus import SignalBus

if TYPE_CHECKING:
    from gatepost.gateway.health import Meters


class Turns:
    """Gives each caller a lock: what takes long is done for one caller once at a time, and others come in between."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def of(self, who: Hashable) -> asyncio.Lock:
        lock = self._locks.get(who)
        if lock is None:
            lock = self._locks[who] = asyncio.Lock()
        return lock


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


def office(request: Request) -> Office:
    found: Office = request.app.state.office
    return found
