"""Where settings meet adapters: the only place that knows adapters by name."""

import asyncio
import os
import random
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from gatepost.actions import directory
from gatepost.actions.directory import ADMINISTRATOR, Newcomer
from gatepost.adapters.clock import SystemClock
from gatepost.core.agent import ModelChoice
from gatepost.core.entity import Kind
from gatepost.core.frame import Frame
from gatepost.core.instants import SECOND
from gatepost.errors import Conflict, Invalid, Unavailable, UnknownAddress
from gatepost.ports import (
    Clock,
    IntakeQueue,
    Model,
    Nudge,
    SignalSink,
    Spool,
    Store,
    Subscription,
    Transport,
    TransportStatus,
    ignore_signals,
)
from gatepost.settings import Configuration, Settings, masked

if TYPE_CHECKING:
    from gatepost.hooks.carrying import Carrier
    from gatepost.runtime.cycle import Means
    from gatepost.runtime.evaluator import Reach

#: the extra of the package that brings the driver for a scheme of URLs
_EXTRAS: Final = {
    **dict.fromkeys(("redis", "rediss", "unix"), "redis"),
    **dict.fromkeys(("nats", "tls"), "nats"),
    **dict.fromkeys(("postgres", "postgresql"), "postgres"),
}
#: the folder in the home where processes hear each other's rings
RINGS: Final = "rings"


@contextmanager
def opened(
    configuration: Configuration, *, bell: SignalSink = ignore_signals, tell: Callable[[str], None] = lambda _: None
) -> Iterator[Store]:
    """
    The store that is set, ready for use: made if there was none (then `tell` is told where), its schema brought up to
    this code, the administrator registered. It is closed afterwards.
    """
    settings = configuration.settings
    with closing(configured_store(configuration, bell)) as store:
        if settings.store.startswith("sqlite:"):
            _make_room(sqlite_path(settings.store), configuration.home)
        had, _ = store.migrate()
        if not had:
            tell(f"made a new store: {masked(settings.store)}")
        register_administrator(store)
        yield store


def configured_store(
    configuration: Configuration, bell: SignalSink = ignore_signals, *, busy: float | None = None
) -> Store:
    """The store that is set; nothing is opened before it is first used. `busy` is for those who wait less long."""
    settings = configuration.settings
    if settings.store.startswith("sqlite:"):
        seconds = settings.sqlite.busy / SECOND if busy is None else busy
        return open_store(settings.store, bell=bell, limits=settings.rules(), busy=seconds)
    return open_store(settings.store, bell=bell, limits=settings.rules(), writers=settings.postgres.writers)


def configured_transport(
    configuration: Configuration, *, changed: Callable[[TransportStatus], None] | None = None
) -> Transport:
    """The transport that is set; it connects when somebody listens or sends, and tells when its condition changes."""
    settings = configuration.settings
    kind = settings.transport.partition(":")[0]
    if kind == "postgres" and settings.store.startswith("sqlite:"):
        raise Invalid(
            "the transport 'postgres:' goes through a store on PostgreSQL, and this one is on SQLite",
            hint="set `transport` to socket:, or `store` to postgresql://...",
        )
    try:
        match kind:
            case "memory":
                from gatepost.adapters.transports.memory import MemoryTransport

                return MemoryTransport()
            case "socket":
                from gatepost.adapters.transports.socket import SocketTransport

                return SocketTransport(configuration.home / RINGS, changed=changed)
            case "postgres":
                from gatepost.adapters.transports.postgres import PostgresTransport

                return PostgresTransport(settings.store, changed=changed)
            case "nats" | "tls":
                from gatepost.adapters.transports.nats import NatsTransport

                return NatsTransport(settings.transport, changed=changed)
            case _:
                from gatepost.adapters.transports.redis import RedisTransport

                return RedisTransport(settings.transport, changed=changed)
    except ImportError:
        raise _missing_driver(settings.transport) from None


def configured_letterbox(configuration: Configuration) -> IntakeQueue | None:
    """Where outside programs leave events, if the transport has such a place."""
    url = configuration.settings.transport
    try:
        if url.startswith(("nats:", "tls:")):
            from gatepost.adapters.transports.intake import JetStreamLetterbox

            return JetStreamLetterbox(url)
        if url.startswith(("redis", "unix")):
            from gatepost.adapters.transports.letterbox import RedisLetterbox

            return RedisLetterbox(url)
    except ImportError:
        raise _missing_driver(url) from None
    return None


def configured_spool(configuration: Configuration) -> Spool:
    """Where lines wait for the sessions of guests; nothing is made before the first is written."""
    from gatepost.adapters.spool import FileSpool

    return FileSpool(configuration.settings.spool.path)


def configured_carrier(configuration: Configuration, *, own: str | None = None) -> "Carrier":
    """What writes pushes to the spools of guests of this machine. It does not wait long for another program's lock."""
    from gatepost.adapters.spool import FileSpool
    from gatepost.hooks.carrying import Carrier
    from gatepost.hooks.guests import guests

    clock, spool = SystemClock(), FileSpool(configuration.settings.spool.path, patience=0.2)
    return Carrier(spool, lambda: guests(configuration.home, now=clock.now()), own=own)


def configured_parcels(configuration: Configuration, agent: str) -> Subscription | None:
    """What the transport hands to the couriers of an agent, if it does."""
    url = configuration.settings.transport
    try:
        if url.startswith(("nats:", "tls:")):
            from gatepost.adapters.transports.jetstream import JetStreamParcels

            return JetStreamParcels(url, agent)
        if url.startswith(("redis", "unix")):
            from gatepost.adapters.transports.wakeups import RedisParcels

            return RedisParcels(url, agent)
    except ImportError:
        raise _missing_driver(url) from None
    return None


def configured_nudge(configuration: Configuration, how: str, sessions: Path) -> Nudge:
    """How idle agents are nudged: `rewake`, a URL or a command."""
    from gatepost.adapters.command import ShellCommands
    from gatepost.adapters.nudge import UrlNudge
    from gatepost.adapters.tools.guard import Guarded
    from gatepost.runtime.nudging import CommandNudge
    from gatepost.runtime.rewake import FileNudge

    chosen = configuration.settings.courier
    limit = chosen.nudge_limit / SECOND
    if how == "rewake":
        return FileNudge(sessions)
    if re.match(r"[a-z]+://", how):
        allowed = partial(Guarded, allow_private=chosen.allow_private, setting="courier.allow_private")
        return UrlNudge(how, allowed, limit=limit)
    return CommandNudge(ShellCommands(), how, limit=limit)


@asynccontextmanager
async def means(
    store: Store,
    send: Callable[[Sequence[Frame]], None],
    *,
    environ: Mapping[str, str] | None = None,
    allow_private: bool = False,
    functions: Mapping[str, Mapping[str, Callable[..., Any]]] | None = None,
) -> AsyncIterator["Means"]:
    """What residents think with: models with the keys of the environment, and tools, also `functions` by agent."""
    import structlog

    from gatepost.adapters.models.choose import open_model
    from gatepost.adapters.tools.servers import McpServers
    from gatepost.adapters.tools.web import HttpTools
    from gatepost.runtime.cycle import Means
    from gatepost.runtime.toolkit import Toolbox

    where = os.environ if environ is None else environ
    toolbox = Toolbox(
        HttpTools(environ=where, allow_private=allow_private), McpServers(environ=where, allow_private=allow_private)
    )
    for agent, named in (functions or {}).items():
        for name, function in named.items():
            toolbox.add(function, agent=agent, name=name)
    models: dict[ModelChoice, Model] = {}

    async def model(choice: ModelChoice) -> Model:
        if choice not in models:  # the libraries of models take most of a second to import
            models[choice] = opened = await asyncio.to_thread(open_model, choice, where)
            if opened.name != choice.name:
                structlog.get_logger("gatepost.models").warning(
                    "another model stands in", wanted=choice.name, instead=opened.name
                )
        return models[choice]

    try:
        yield Means(store=store, model=model, toolkit=toolbox.open, send=send, chance=random.random)
    finally:
        for each in models.values():
            await each.close()


def missing_key(choice: ModelChoice) -> str | None:
    """The variable that the environment of this process lacks for a model; without it the demo stands in."""
    from gatepost.adapters.models import choose

    return choose.missing_key(choice, os.environ)


def reach(settings: Settings | None = None) -> "Reach":
    """What a household may do outside for gates and decisions."""
    from gatepost.adapters.command import ShellCommands
    from gatepost.runtime.evaluator import Reach

    wished = settings if settings is not None else Settings()
    return Reach(
        commands=ShellCommands(),
        allowed=wished.gates.commands,
        repositories=wished.gates.ci,
        interval=wished.gates.interval,
        limit=wished.gates.limit,
        on_answer=wished.decision.on_answer,
    )


def open_store(url: str, *, clock: Clock | None = None, **options: Any) -> Store:
    """Make the store that a URL names; nothing is opened before it is first used. A `clock` rules time and identity."""
    options |= {"clock": clock or SystemClock(), "clock_rules": clock is not None}
    match url.partition(":")[0]:
        case "sqlite":
            from gatepost.adapters.stores.sqlite import SqliteStore

            return SqliteStore(sqlite_path(url), **options)
        case "postgresql" | "postgres":
            _check_address(url)
            try:
                from gatepost.adapters.stores.postgres import PostgresStore
            except ImportError:
                raise _missing_driver(url, "store") from None
            return PostgresStore(url, **options)
        case _:
            raise Invalid(f"{masked(url)!r} is not a store", hint="use sqlite:///FILE or postgresql://...")


def _missing_driver(url: str, what: str = "transport") -> Unavailable:
    """What to install for a URL; several schemes are of one driver."""
    extra = _EXTRAS[url.partition(":")[0]]
    return Unavailable(f"the {what} {masked(url)!r} needs its driver", hint=f"pip install 'gatepost[{extra}]'")


def sqlite_path(url: str) -> Path:
    """`sqlite:///office.db` is a file here, `sqlite:////var/office.db` one anywhere."""
    path = unquote(url.removeprefix("sqlite://"))
    if not path.startswith("/") or path == "/" or "\x00" in path:
        raise Invalid(f"{url!r} names no file", hint="use sqlite:///FILE, or sqlite:////FOLDER/FILE")
    return Path(path[1:])


def register_administrator(store: Store) -> None:
    """Nothing is done where there is one: also a store whose maker died half-way gets its administrator."""
    try:
        store.query(directory.find, ADMINISTRATOR)
    except UnknownAddress:
        with suppress(Conflict):  # another process was first
            store.call(directory.register, Newcomer(name=ADMINISTRATOR, kind=Kind.HUMAN, display="Administrator"))


def make_home(home: Path) -> bool:
    """Make the folder, for this user alone; say whether it was missing."""
    if home.is_dir():
        return False
    try:
        home.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise Unavailable(
            f"the folder {str(home)!r} cannot be made: {error.strerror}", hint="name another one in GATEPOST_HOME"
        ) from None
    return True


def _make_room(path: Path, home: Path) -> None:
    """A new file is for this user alone, and so is the home if it is to be made for it."""
    if path.parent == home:
        make_home(home)
    with suppress(OSError):  # it is there; or it cannot be made, and the store will say why
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _check_address(url: str) -> None:
    """Refuse what the driver would take apart in the wrong place, and so name part of a password as a host or port."""
    server, _, rest = url.partition("://")[2].partition("/")
    hosts = server.rpartition("@")[2].partition("?")[0].split(",")
    ports = [port for host in hosts for port in re.findall(r":([^:\]]*)$", host)]
    if (
        server.count("@") > 1
        or "@" in rest.partition("?")[0]
        or not all(re.fullmatch("[0-9]*", port) for port in ports)
    ):
        raise Invalid(
            "the PostgreSQL URL of the store cannot be read",
            hint="in a password / : @ # ? % are written %2F %3A %40 %23 %3F %25",
        )
