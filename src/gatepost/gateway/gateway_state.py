"""What the operations of one gateway share."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gatepost.channels.background.channel_tasks import Channels
from gatepost.core.ports import Store
from gatepost.gateway.attempt_limits import AttemptLimits
from gatepost.gateway.authentication import Authenticator
from gatepost.gateway.http_exchange import CallerLocks, LargeBodies
from gatepost.gateway.page_files import PAGE_FOLDER
from gatepost.gateway.streams.limits import StreamLimits
from gatepost.gateway.streams.live_readers import LiveStreams
from gatepost.gateway.webhook_endpoints import UnverifiedBodies
from gatepost.residents.agent_config import ModelChoice
from gatepost.residents.model_port import Model
from gatepost.settings import Configuration
from gatepost.transports.signal_bus import SignalBus

if TYPE_CHECKING:
    from gatepost.gateway.health_checks import Meters


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
    #: None if this gateway has none
    channels: Channels | None = None
    #: None if a program put this gateway together
    configuration: Configuration | None = None
    caller_locks: CallerLocks = field(default_factory=CallerLocks)
    large_bodies: LargeBodies = field(default_factory=LargeBodies)
    unverified_bodies: UnverifiedBodies = field(default_factory=UnverifiedBodies)
    attempt_limits: AttemptLimits = field(default_factory=AttemptLimits)
    stream_limits: StreamLimits = field(default_factory=StreamLimits)
