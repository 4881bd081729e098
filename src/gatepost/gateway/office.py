"""What the routes share: the store, the signals, and the rules of the house."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import Request

from gatepost.core.agent import ModelChoice
from gatepost.core.limits import Limits
from gatepost.gateway.auth import Doorkeeper
from gatepost.ports.model import Model
from gatepost.ports.store import Store
from gatepost.runtime.exchange import Exchange
from gatepost.runtime.hub import Hub

if TYPE_CHECKING:
    from gatepost.gateway.health import Meters


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    store: Store
    exchange: Exchange
    hub: Hub
    doorkeeper: Doorkeeper
    meters: "Meters"
    limits: Limits
    version: str
    #: the model that somebody names
    models: Callable[[ModelChoice], Awaitable[Model]]


def office(request: Request) -> Office:
    found: Office = request.app.state.office
    return found
