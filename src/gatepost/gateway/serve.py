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
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from types import FrameType
from typing import Final

import structlog
import uvicorn

from gatepost import app, paths
from gatepost.channels.background.channel_tasks import Channels
from gatepost.channels.triggers import gatepost_toml_actions as file_triggers
from gatepost.core.ports import Store
from gatepost.core.signals import Signal, TransportMessage
from gatepost.core.times import SECOND
from gatepost.core.transport_records import TransportStatus
from gatepost.directory import key_actions as keys, sign_in_actions as sign_in
from gatepost.directory.key_handlers import generate_secret, view_link
from gatepost.errors import GatepostError, Refused, Unavailable
from gatepost.gateway.authentication import Authenticator, TokenRules
from gatepost.gateway.browser_checks import is_address
from gatepost.gateway.gateway_state import GatewayState
from gatepost.gateway.health_checks import Meters
from gatepost.gateway.hook_socket import HookSocket
from gatepost.gateway.http_limits import ConnectionLimits, allow_connections, build_protocol
from gatepost.gateway.streams.limits import StreamLimits
from gatepost.gateway.streams.live_readers import LiveStreams
from gatepost.gateway.web_app import GatewayApp
from gatepost.guests import hook_entry
from gatepost.guests.codex.waker_background import INTERVAL, CodexWaker
from gatepost.guests.hooks import handler_chain as chain
from gatepost.guests.hooks.spool_writer import SpoolWriter
from gatepost.jobs.periodic_duty_background import Duty, run_duties
from gatepost.ledger import posting_actions as ledger_posts
from gatepost.settings import Configuration, gateway_files, mask_passwords
from gatepost.settings.gateway_files import ADMIN_KEY, ensure_admin_key
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker.background_tasks import LedgerOptions, Worker, WorkerOptions, build_holder, run_worker
from gatepost.worker.intake_queue_reader import QueueReader

log = structlog.get_logger("gatepost.gateway")

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
#: new objects after which garbage is collected: requests make few that only the collector can free
_GC_THRESHOLD: Final = 10_000
#: seconds between two updates of the date in answers
_TICK: Final = 1.0
#: seconds that requests under way get when the gateway is stopped
_STOP_TIMEOUT: Final = 20
#: signals that wait to be written; of more, the oldest are left to the store
_QUEUE_LIMIT: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """A gateway whose parts are open: give its `state` to a `GatewayApp`."""

    state: GatewayState
    worker: Worker


@asynccontextmanager
async def open_gateway(configuration: Configuration) -> AsyncIterator[Gateway]:
    """Open everything a gateway stands on, and do its background duties while entered."""
    settings = configuration.settings
    async with AsyncExitStack() as stack:
        live_streams = LiveStreams()
        reminders: list[Callable[[], None]] = [live_streams.wake]
        signal_bus = SignalBus(app.build_transport(configuration, on_change=partial(_on_transport_change, reminders)))
        store = stack.enter_context(app.prepare_store(configuration, signal_sink=signal_bus.on_commit))
        await stack.enter_async_context(signal_bus.open())
        await _apply_file_triggers(configuration, store)
        deps = await stack.enter_async_context(
            app.open_cycle_deps(store, signal_bus.send, allow_private=settings.tools.allow_private)
        )
        ledger_options = await _open_ledger(configuration, store, stack)
        channel_options = app.build_channel_options(configuration)
        if channel_options.transcriber is not None:
            stack.push_async_callback(channel_options.transcriber.close)
        channels = Channels(store, channel_options, build_holder())
        options = WorkerOptions(
            recheck_interval=settings.janitor.interval / SECOND,
            max_cycles=settings.residents.max_cycles,
            lease=settings.residents.lease,
            remind=live_streams.wake,
            gate_commands=app.build_gate_command_options(settings),
            ledger_options=ledger_options,
            channels=channels,
        )
        worker = await stack.enter_async_context(run_worker(deps, signal_bus, options))
        spool_relay = SpoolRelay(app.build_spool_writer(configuration))
        stack.enter_context(signal_bus.subscribe(spool_relay.on_signal, "spool relay"))
        await stack.enter_async_context(run_duties([spool_relay.duty]))
        if (intake_queue := app.build_intake_queue(configuration)) is not None:
            stack.push_async_callback(intake_queue.close)
            with suppress(Unavailable):  # the reader tries again
                await intake_queue.open()
            queue_reader = QueueReader(intake_queue, store)
            reminders.append(queue_reader.duty.wake)
            stack.enter_context(signal_bus.subscribe(queue_reader.on_signal, "queue reader"))
            await stack.enter_async_context(run_duties([queue_reader.duty]))
        rules = TokenRules(
            secret=settings.auth.jwt_secret,
            jwks_url=settings.auth.jwks_url,
            claim=settings.auth.jwt_claim,
            audience=settings.auth.audience,
            issuer=settings.auth.issuer,
        )
        state = GatewayState(
            store=store,
            signal_bus=signal_bus,
            live_streams=live_streams,
            authenticator=Authenticator(store, rules),
            meters=Meters(),
            version=version("gatepost"),
            open_model=deps.get_model,
            hosts=frozenset(settings.gateway.hosts),
            channels=channels,
            configuration=configuration,
            stream_limits=StreamLimits(settings.gateway.streams),
        )
        yield Gateway(state=state, worker=worker)


async def _open_ledger(configuration: Configuration, store: Store, stack: AsyncExitStack) -> LedgerOptions | None:
    """Open the public ledger that is set, and say what that means; None if there is none."""
    public_ledger = app.build_ledger(configuration)
    if public_ledger is None:
        return None
    stack.push_async_callback(public_ledger.close)
    settings = configuration.settings
    count = await store.read(ledger_posts.count_posted_today)
    log.warning(
        "what is sent is on a public ledger: everybody can read it, and nothing on it is ever deleted",
        network=public_ledger.network,
        operator=str(public_ledger.operator),
        posts=", ".join(settings.ledger.post) or "nothing",
        messages_a_day=count,
        dollars_a_day=round(count * ledger_posts.MESSAGE_PRICE, 2),
        prices="0.0008 dollars a message, 0.01 a topic, 0.05 an account",
    )
    return LedgerOptions(ledger=public_ledger, poll=settings.ledger.poll / SECOND, fund=settings.hedera.fund)


async def _apply_file_triggers(configuration: Configuration, store: Store) -> None:
    """Make the triggers of gatepost.toml, and remove those that are not in it any more."""
    triggers = app.build_file_triggers(configuration)
    for trigger, secret in triggers:
        try:
            if await store.run(file_triggers.apply, trigger, secret):
                log.info("the trigger is as gatepost.toml says", trigger=trigger.name)
        except Unavailable:
            raise
        except GatepostError as error:  # the others, and the gateway, must not wait for it
            log.warning(
                "a trigger of gatepost.toml is not used", trigger=trigger.name, reason=error.message, hint=error.hint
            )
    names = {trigger.name for trigger, _ in triggers}
    for name in await store.read(file_triggers.list_missing, names):
        await store.run(file_triggers.remove, name)
        log.info("the trigger is not in gatepost.toml any more", trigger=name)


class SpoolRelay:
    """
    Writes events for guests of this machine to their spools, apart from the commit that they wait for: a lock that
    another program holds must not stop the gateway. `duty` writes as soon as there is a signal.
    """

    def __init__(self, writer: SpoolWriter) -> None:
        self._writer = writer
        self._signals: deque[Signal] = deque(maxlen=_QUEUE_LIMIT)
        self.duty = Duty("spool relay", self._write_signals, interval=3600.0)

    def on_signal(self, signal: TransportMessage) -> None:
        """Note a signal to write; for `SignalBus.subscribe`."""
        if isinstance(signal, Signal) and signal.event is not None:
            self._signals.append(signal)
            self.duty.wake()

    async def _write_signals(self) -> None:
        while self._signals:
            signals = list(self._signals)
            self._signals.clear()
            await asyncio.to_thread(self._writer, signals)


#: called with the URL of a gateway that listens, and the one-time link to its page, if one was wanted and could be made
Ready = Callable[[str, str | None], None]


def run(configuration: Configuration, host: str, port: int, *, ready: Ready, person: str | None) -> None:
    """Run `serve` in a process that does nothing else: on uvloop, if there is one."""
    loop_factory = uvicorn.Config("", log_config=None).get_loop_factory()

    def on_ready(url: str, link: str | None) -> None:
        freeze_loaded_objects()
        ready(url, link)

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(serve(configuration, host, port, ready=on_ready, person=person))


def freeze_loaded_objects() -> None:
    """
    Exempt the objects that exist now from garbage collection.

    When a gateway listens it has loaded some hundred thousand objects that stay until it ends. The collector would scan
    them again and again, more often the higher the load: that was a fifth of the cost of a request.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD)


async def serve(configuration: Configuration, host: str, port: int, *, ready: Ready, person: str | None) -> None:
    """Run a gateway until a signal stops it; `ready` gets its URL once it listens, and a link if it is for a person."""
    _check_bindable(host)
    # The port comes first: a gateway whose port is taken must not have begun any work.
    with _open_listener(host, port) as listener:
        async with open_gateway(configuration) as gateway:
            store = gateway.state.store
            paths.make_home(configuration.home)
            ensure_admin_key(store, configuration.home)
            for exposure in gateway_files.find_exposures(configuration.home):
                log.warning(exposure.problem, path=str(exposure.path), fix=exposure.fix)
            if host not in _LOOPBACK:
                all_keys = store.read_sync(keys.list_page)
                if not any(key.name != ADMIN_KEY and key.kind != "page" and key.revoked_at is None for key in all_keys):
                    raise Refused(
                        f"listening on {host!r} lets others in, and no key was made for them",
                        hint="make one first with `gatepost key create`, or listen on 127.0.0.1",
                    )
            own_name = () if is_address(host) else (host.lower(),)
            state = replace(gateway.state, hosts=gateway.state.hosts.union(own_name))
            path = _create_link(store, person) if person is not None else None
            await _serve_on(listener, host, configuration, state, lambda url: ready(url, path and url + path))


def _create_link(store: Store, person: str) -> str | None:
    """Return a one-time link to the page, without its host; None if the store cannot write now."""
    secret = generate_secret("link")
    try:
        return view_link(store.run_sync(sign_in.create_link, secret, person), secret).path
    except Unavailable as error:
        log.warning("there is no link to sign in with", reason=error.message, fix="`gatepost sign-in` prints one")
        return None


async def _serve_on(
    listener: socket.socket, host: str, configuration: Configuration, state: GatewayState, ready: Callable[[str], None]
) -> None:
    requested = configuration.settings.gateway.connections
    limits = ConnectionLimits(connections=allow_connections(requested if isinstance(requested, int) else None))
    config = uvicorn.Config(
        GatewayApp(state),
        http=build_protocol(limits),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_TIMEOUT,
    )
    server = GatewayServer(config, state.live_streams)
    store_name = mask_passwords(configuration.settings.store.url)
    interval = configuration.settings.janitor.interval / SECOND
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 (compared, not bound)
    url = f"http://{f'[{name}]' if ':' in name else name}:{listener.getsockname()[1]}"
    async with _open_hook_socket(configuration, state.signal_bus, store_name, url) as socket_path:
        with gateway_files.publish(configuration.home, url, store_name, socket_path) as check_file:
            watch = Duty("gateway file", partial(asyncio.to_thread, check_file), interval=interval)
            server.on_start = partial(ready, url)
            async with run_duties([watch]):
                await server.serve([listener])


@asynccontextmanager
async def _open_hook_socket(
    configuration: Configuration, signal_bus: SignalBus, store_name: str, url: str
) -> AsyncIterator[str | None]:
    """Answer hooks, on a store of their own, because they do not wait for it as long as others do."""
    with closing(app.build_store(configuration, signal_bus.on_commit, busy_timeout=hook_entry.BUSY_TIMEOUT)) as store:
        hook_socket = HookSocket(configuration.home, store, store_name, chain.list_user_handlers(log.warning), url=url)
        waker = CodexWaker(configuration.home, store, is_unattended=configuration.settings.wake.unattended)
        duty = Duty("codex", waker.run_round, interval=INTERVAL, should_wake=waker.is_wake_signal)
        with signal_bus.subscribe(hook_socket.on_signal, "hook socket"), signal_bus.subscribe(duty.on_signal, "codex"):
            async with run_duties([duty]), hook_socket.open() as path:
                yield path


class GatewayServer(uvicorn.Server):
    """
    Calls `on_start` when it listens, and at the end ends the streams first: they would keep it running for ever. A
    signal ends the server and no more; uvicorn would raise it again afterwards, and nothing here would be closed. It
    would also look ten times a second whether it should end, which was most of what an idle gateway did.
    """

    def __init__(self, config: uvicorn.Config, live_streams: LiveStreams) -> None:
        super().__init__(config)
        self._live_streams = live_streams
        self.on_start: Callable[[], None] = lambda: None
        self._exit_event = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._exit_event.set)

    async def main_loop(self) -> None:
        """Set the date of the answers every second, until a signal comes."""
        self._loop = asyncio.get_running_loop()
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._exit_event.wait(), _TICK)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._live_streams.end()
        await super().shutdown(sockets)


def _check_bindable(host: str) -> None:
    """Refuse an address on which this machine cannot listen, before anything is opened."""
    try:
        with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
            probe.bind((host, 0))
    except (OSError, UnicodeError, TypeError) as error:  # a name that cannot be encoded is a TypeError
        is_unknown = isinstance(error, socket.gaierror | UnicodeError | TypeError)
        reason = "cannot be resolved to an address" if is_unknown else "is not an address of this machine"
        raise Unavailable(
            f"{host!r} {reason}", hint="listen on 127.0.0.1, or on 0.0.0.0 for every address of this machine"
        ) from None


@contextmanager
def _open_listener(host: str, port: int) -> Iterator[socket.socket]:
    try:
        listener = socket.create_server((host, port), family=_family(host), backlog=2048)
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]  # Python adds the address
        raise Unavailable(
            f"cannot listen on {host}:{port}: {reason}",
            hint="a gateway or another program is there; `--port 0` or GATEPOST_GATEWAY__PORT=0 chooses a free port",
        ) from None
    with listener:
        # asyncio sets this only on sockets that it opens; without uvloop a small answer would wait for the client's ack
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _on_transport_change(reminders: Sequence[Callable[[], None]], status: TransportStatus) -> None:
    """Log that the transport is degraded, or up again; signals may have been lost meanwhile."""
    log.warning("the transport has changed", degraded=status.is_degraded, reason=status.reason)
    for remind in reminders:
        remind()
