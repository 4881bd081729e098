"""
A gateway as a process: the store, the signals, the background duties and the web server, opened in that order and
closed in the other.

Stopping finishes what was accepted. No new connection is taken, connections without a whole request are closed, readers
of streams are told where to resume, requests under way are answered, duties finish their round, and only then is the
store closed.
"""

import asyncio
import gc
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Final

import structlog
import uvicorn

from gatepost import app as house
from gatepost import hook_entry, paths
from gatepost.actions import keys
from gatepost.core.times import SECOND
from gatepost.errors import Refused, Unavailable
from gatepost.gateway.app import GatewayApp
from gatepost.gateway.auth import Doorkeeper, TokenRules
from gatepost.gateway.connections import ConnectionLimits, allow_connections, build_protocol
from gatepost.gateway.doorstep import Doorstep
from gatepost.gateway.health import Meters
from gatepost.gateway.office import Office
from gatepost.gateway.spooling import Spooling
from gatepost.hooks import plugins
from gatepost.ports import Store, TransportStatus
from gatepost.runtime import gateway_file
from gatepost.runtime.admin_key import ADMIN_KEY, ensure_admin_key
from gatepost.runtime.live import LiveStreams
from gatepost.runtime.periodic import Duty, run_duties
from gatepost.runtime.queue_reader import QueueReader
from gatepost.runtime.signal_bus import SignalBus
from gatepost.runtime.worker import Worker, WorkerOptions, run_worker
from gatepost.settings import Configuration, mask_passwords

log = structlog.get_logger("gatepost.gateway")

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
#: seconds that requests under way get when the gateway is stopped
_PATIENCE: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """A gateway whose parts are open: give its `office` to `create`, or serve it."""

    office: Office
    household: Worker


@asynccontextmanager
async def opened(configuration: Configuration) -> AsyncIterator[Gateway]:
    """Open everything a gateway stands on, and do its background duties while entered."""
    settings = configuration.settings
    async with AsyncExitStack() as stack:
        hub = LiveStreams()
        reminded: list[Callable[[], None]] = [hub.wake]
        exchange = SignalBus(house.build_transport(configuration, on_change=partial(_changed, reminded)))
        store = stack.enter_context(house.prepare_store(configuration, signal_sink=exchange.on_commit))
        await stack.enter_async_context(exchange.open())
        means = await stack.enter_async_context(
            house.open_cycle_deps(store, exchange.send, allow_private=settings.tools.allow_private)
        )
        habits = WorkerOptions(
            janitor_interval=settings.janitor.interval / SECOND,
            max_cycles=settings.residents.most,
            lease=settings.residents.lease,
            remind=hub.wake,
            command_options=house.build_command_options(settings),
        )
        household = await stack.enter_async_context(run_worker(means, exchange, habits))
        spooling = Spooling(house.build_spool_writer(configuration))
        stack.enter_context(exchange.subscribe(spooling.heard))
        await stack.enter_async_context(run_duties([spooling.duty]))
        if (letterbox := house.build_intake_queue(configuration)) is not None:
            stack.push_async_callback(letterbox.close)
            with suppress(Unavailable):  # the collector tries again
                await letterbox.open()
            collector = QueueReader(letterbox, store)
            reminded.append(collector.duty.wake)
            stack.enter_context(exchange.subscribe(collector.on_signal))
            await stack.enter_async_context(run_duties([collector.duty]))
        rules = TokenRules(
            secret=settings.auth.jwt_secret,
            jwks_url=settings.auth.jwks_url,
            claim=settings.auth.jwt_claim,
            audience=settings.auth.audience,
            issuer=settings.auth.issuer,
        )
        office = Office(
            store=store,
            exchange=exchange,
            hub=hub,
            doorkeeper=Doorkeeper(store, rules),
            meters=Meters(),
            limits=settings.build_limits(),
            version=version("gatepost"),
            models=means.get_model,
        )
        yield Gateway(office=office, household=household)


def run(configuration: Configuration, host: str, port: int, *, ready: Callable[[str], None]) -> None:
    """The same as `serve`, for a process that does nothing else: on uvloop, where there is one."""
    loops = uvicorn.Config("", log_config=None).get_loop_factory()

    def settled(url: str) -> None:
        freeze_loaded_objects()
        ready(url)

    with asyncio.Runner(loop_factory=loops) as runner:
        runner.run(serve(configuration, host, port, ready=settled))


def freeze_loaded_objects() -> None:
    """
    Exempt the objects that exist now from garbage collection.

    When a gateway listens it has loaded some hundred thousand objects that stay until it ends. The collector would scan
    them again and again, more often the higher the load: that was a fifth of the cost of a request.
    """
    gc.collect()
    gc.freeze()


async def serve(configuration: Configuration, host: str, port: int, *, ready: Callable[[str], None]) -> None:
    """Run a gateway until it is told to stop; `ready` is told its URL once it listens."""
    _look_for(host)
    async with opened(configuration) as gateway:
        store, hub = gateway.office.store, gateway.office.hub
        paths.make_home(configuration.home)
        ensure_admin_key(store, configuration.home)
        if host not in _LOOPBACK:
            _refuse_without_keys(store, host)
        chosen = configuration.settings.gateway.connections
        limits = ConnectionLimits(connections=allow_connections(chosen if isinstance(chosen, int) else None))
        config = uvicorn.Config(
            GatewayApp(gateway.office),
            host=host,
            port=port,
            http=build_protocol(limits),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_PATIENCE,
        )
        server = _Server(config, hub)
        on = mask_passwords(configuration.settings.store)
        interval = configuration.settings.janitor.interval / SECOND
        with _listening(host, port) as ears:
            url = _url(host, ears)
            async with _doorstep(configuration, gateway.office.exchange, on, url) as socket_path:
                with gateway_file.publish(configuration.home, url, on, socket_path) as look:
                    watch = Duty("notice", partial(asyncio.to_thread, look), interval=interval)
                    server.on_start = partial(ready, url)
                    async with run_duties([watch]):
                        await server.serve([ears])


@asynccontextmanager
async def _doorstep(configuration: Configuration, exchange: SignalBus, on: str, url: str) -> AsyncIterator[str | None]:
    """Where hooks are answered; on a store of their own, because they do not wait for it as long as others do."""
    with closing(house.build_store(configuration, exchange.on_commit, busy_timeout=hook_entry.BUSY_TIMEOUT)) as store:
        doorstep = Doorstep(configuration.home, store, on, plugins.list_handlers(log.warning), url=url)
        with exchange.subscribe(doorstep.heard):
            async with doorstep.open() as path:
                yield path


class _Server(uvicorn.Server):
    """
    Says when it listens, and at the end lets go of the readers of streams first: they would keep it for ever. A signal
    ends the server and no more; uvicorn would raise it again afterwards, and what is open here would not be closed.
    """

    def __init__(self, config: uvicorn.Config, hub: LiveStreams) -> None:
        super().__init__(config)
        self._hub = hub
        self.on_start: Callable[[], None] = lambda: None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._hub.end()
        await super().shutdown(sockets)


def _look_for(host: str) -> None:
    """Refuse an address at which nobody here can listen, whichever the port, before anything is opened."""
    try:
        with socket.socket(_family(host), socket.SOCK_STREAM) as ears:
            ears.bind((host, 0))
    except (OSError, UnicodeError) as error:
        unknown = isinstance(error, socket.gaierror | UnicodeError)
        wrong = "cannot be resolved to an address" if unknown else "is no address of this machine"
        raise Unavailable(
            f"{host!r} {wrong}", hint="listen on 127.0.0.1, or on 0.0.0.0 for every address of this machine"
        ) from None


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    try:
        found = socket.create_server((host, port), family=_family(host), backlog=2048)
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]  # Python adds the address to what the system says
        raise Unavailable(
            f"cannot listen on {host}:{port}: {reason}", hint="another program may be there: use --port"
        ) from None
    with found:
        yield found


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _refuse_without_keys(store: Store, host: str) -> None:
    made = [key for key in store.query(keys.page) if key.name != ADMIN_KEY and key.revoked_at is None]
    if not made:
        raise Refused(
            f"listening on {host!r} lets others in, and no key was made for them",
            hint="make one first with `gatepost key create`, or listen on 127.0.0.1",
        )


def _url(host: str, ears: socket.socket) -> str:
    """How to reach it from this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 (compared, not bound)
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{ears.getsockname()[1]}"


def _changed(reminded: Sequence[Callable[[], None]], condition: TransportStatus) -> None:
    """Say that the transport is degraded, or up again; what was rung for meanwhile may have been lost."""
    log.warning("the transport has changed", degraded=condition.is_degraded, reason=condition.reason)
    for remind in reminded:
        remind()
