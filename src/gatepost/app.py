"""
Build adapters from settings.

Of the modules above the adapters, only this one and `hook_entry` know adapters by name. Adapters are imported when they
are needed, because drivers and libraries of models are slow to import or not installed.
"""

import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from gatepost import paths, transports
from gatepost.core.ports import Clock, IntakeQueue, SignalSink, Store, Subscription, Transport, ignore_signals
from gatepost.core.signals import Frame
from gatepost.core.times import SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import Conflict, GatepostError, Invalid, NoStore, Unavailable, UnknownAddress
from gatepost.guests.ports import Nudge, Spool
from gatepost.settings import Configuration, Settings, check_ledger, mask_passwords
from gatepost.stores.clock import SystemClock

if TYPE_CHECKING:
    from gatepost.channels.background.channel_tasks import ChannelOptions
    from gatepost.channels.speech.transcriber import Transcriber
    from gatepost.channels.triggers.gatepost_toml_actions import FileTrigger
    from gatepost.core.transport_records import TransportStatus
    from gatepost.gates.condition_check_background import GateCommandOptions
    from gatepost.guests.hooks.spool_writer import SpoolWriter
    from gatepost.ledger.public_ledger import PublicLedger
    from gatepost.residents.background.cycle_outcome import CycleDeps

#: the extra of the package that installs the driver, by the scheme of the URL
_EXTRAS: Final = {
    **dict.fromkeys(("redis", "rediss", "unix"), "redis"),
    **dict.fromkeys(("nats", "tls"), "nats"),
    **dict.fromkeys(("postgres", "postgresql"), "postgres"),
    "hedera": "hedera",
    "local": "speech",
}
#: the folder in the home with the sockets through which processes signal each other
SIGNALS_FOLDER: Final = "signals"
#: the folder in the home with the private keys of entities on a public ledger, one folder for each network
KEYS_FOLDER: Final = "ledger/keys"


@contextmanager
def prepare_store(
    configuration: Configuration,
    *,
    signal_sink: SignalSink = ignore_signals,
    report: Callable[[str], None] = lambda _: None,
    register: bool = True,
    can_create: bool = True,
) -> Iterator[Store]:
    """
    While entered, the configured store is ready for use: created if there was none (`report` gets a sentence about it),
    its schema migrated, the administrator registered unless `register` is False. Leaving closes it. Without
    `can_create`, which is for everything that only reads, raise NoStore if there is none.
    """
    settings = configuration.settings
    with closing(build_store(configuration, signal_sink)) as store:
        if can_create and settings.store.url.startswith("sqlite:"):
            path = parse_sqlite_path(settings.store.url)
            if path.parent == configuration.home:
                paths.make_home(configuration.home)
            with suppress(OSError):  # the file exists; or it cannot be created, and the store will say why
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # for this user alone
        version_before, version = store.migrate(can_create=can_create)
        if not version:
            raise NoStore(
                f"there is no store yet: {mask_passwords(settings.store.url)}",
                hint="`gatepost init` makes it; if yours is elsewhere, name its home in GATEPOST_HOME",
            )
        if not version_before:
            report(f"made a new store: {mask_passwords(settings.store.url)}")
        if register:
            register_administrator(store)
        yield store


def build_store(
    configuration: Configuration, signal_sink: SignalSink = ignore_signals, *, busy_timeout: float | None = None
) -> Store:
    """
    Return the configured store; it connects when it is first used. `busy_timeout` is in seconds, and replaces the one
    in the settings for SQLite.
    """
    settings = configuration.settings
    options: dict[str, Any] = {"signal_sink": signal_sink, "policy": settings.build_policy()}
    if settings.store.url.startswith("sqlite:"):
        options["busy_timeout"] = settings.sqlite.busy / SECOND if busy_timeout is None else busy_timeout
    else:
        options["writers"] = settings.postgres.writers
    return open_store(settings.store.url, **options)


def build_transport(
    configuration: Configuration, *, on_change: "Callable[[TransportStatus], None] | None" = None
) -> Transport:
    """Return the configured transport; it connects when it first listens or sends. `on_change` gets each new status."""
    settings = configuration.settings
    if settings.transport.startswith("postgres:") and settings.store.url.startswith("sqlite:"):
        raise Invalid(
            "the transport 'postgres:' goes through a store on PostgreSQL, and this one is on SQLite",
            hint="set `transport` to socket:, or `store` to postgresql://...",
        )
    with _explain_missing_driver(settings.transport):
        return transports.open_transport(
            settings.transport,
            store_url=settings.store.url,
            folder=configuration.home / SIGNALS_FOLDER,
            on_change=on_change,
        )


def build_intake_queue(configuration: Configuration) -> IntakeQueue | None:
    """Return the queue in which other programs leave events; None if the transport has no such queue."""
    url = configuration.settings.transport
    with _explain_missing_driver(url):
        return transports.open_intake_queue(url)


def build_ledger(configuration: Configuration) -> "PublicLedger | None":
    """Return the public ledger that is set; None if there is none, because the local one is in the store."""
    settings = configuration.settings
    check_ledger(settings)
    url, hedera = settings.ledger.url, settings.hedera
    if not url.startswith("hedera:"):
        return None
    with _explain_missing_driver(url, "ledger"):
        from gatepost.ledger.hedera import HederaLedger

        return HederaLedger(
            url.removeprefix("hedera:"),
            operator=str(hedera.operator_id),
            operator_key_file=Path(str(hedera.operator_key_file)),
            keys=find_keys_folder(configuration),
            mirror=hedera.mirror,
            nodes=[f"{host}={account}" for host, account in hedera.nodes],
        )


def find_keys_folder(configuration: Configuration) -> Path:
    """Return the folder with the private keys of entities on the public ledger that is set."""
    return configuration.home / KEYS_FOLDER / configuration.settings.ledger.url.removeprefix("hedera:")


def read_ledger_key(configuration: Configuration, source: Path) -> str:
    """Return the public key of the private key in a file."""
    with _explain_missing_driver(configuration.settings.ledger.url, "ledger"):
        from gatepost.ledger.hedera.keys import read_key

        return read_key(source).public_text


@contextmanager
def import_ledger_key(configuration: Configuration, owner: str, source: Path) -> Iterator[None]:
    """
    Copy a private key to those of entities, and remove a new copy again if what is done while entered is refused: an
    account that is made later must not have it.
    """
    with _explain_missing_driver(configuration.settings.ledger.url, "ledger"):
        from gatepost.ledger.hedera import import_key

        path = find_keys_folder(configuration) / f"{owner}.key"
        is_new = not path.exists()
        import_key(path.parent, owner, source)
    try:
        yield
    except Unavailable:  # it may have been done
        raise
    except GatepostError:
        if is_new:
            path.unlink(missing_ok=True)
        raise


def build_channel_options(
    configuration: Configuration | None = None, environ: Mapping[str, str] | None = None
) -> "ChannelOptions":
    """
    Return what channels need of the outside world: the API of Telegram, tokens, the providers of other packages and,
    with a configuration, speech. Log which providers cannot be loaded.
    """
    import structlog

    from gatepost.channels import provider_plugins as plugins
    from gatepost.channels.background.channel_tasks import ChannelOptions
    from gatepost.channels.telegram.client import TelegramClient

    settings = configuration.settings if configuration is not None else Settings()
    variables = os.environ if environ is None else environ
    loaded = plugins.load_providers()
    for name, problem in loaded.problems.items():
        structlog.get_logger("gatepost.channel").warning("a provider is left out", provider=name, reason=problem)
    return ChannelOptions(
        open_api=partial(TelegramClient, url=settings.telegram.api),
        find_token=partial(find_token, variables),
        providers=loaded.providers,
        transcriber=build_transcriber(configuration, variables) if configuration is not None else None,
    )


def build_transcriber(configuration: Configuration, environ: Mapping[str, str]) -> "Transcriber | None":
    """Return what transcribes voice messages; None if nothing is set."""
    speech = configuration.settings.speech
    if speech.url is None:
        return None
    if speech.url == "local:":
        with _explain_missing_driver(speech.url, "speech service"):
            from gatepost.channels.speech.local_transcriber import LocalTranscriber

            return LocalTranscriber(speech.model or "small", time_limit=speech.patience / SECOND)
    from gatepost.channels.speech.remote_transcriber import OpenAiTranscriber

    return OpenAiTranscriber(speech.url, model=speech.model or "whisper-1", key=environ.get(speech.key_variable))


def build_file_triggers(
    configuration: Configuration, environ: Mapping[str, str] | None = None
) -> "list[tuple[FileTrigger, str | None]]":
    """Return the triggers of the settings file, each with its secret; None if there is none in the environment."""
    if not configuration.settings.triggers:
        return []
    from gatepost.settings.trigger_tables import parse_triggers

    variables = os.environ if environ is None else environ
    return [
        (trigger, find_token(variables, trigger.secret_reference) if trigger.secret_reference is not None else None)
        for trigger in map(_prepare_file_trigger, parse_triggers(configuration.settings.triggers))
    ]


def _prepare_file_trigger(trigger: "FileTrigger") -> "FileTrigger":
    """Have the provider of another package check a trigger of the settings file."""
    from gatepost.channels import provider_plugins as plugins

    try:
        config = plugins.prepare_config(trigger.spec.provider, trigger.spec.config)
    except Invalid as error:
        return replace(trigger, problem=error)
    return replace(trigger, spec=replace(trigger.spec, config=config))


def find_token(variables: Mapping[str, str], reference: str) -> str | None:
    """Return the token that `env:VARIABLE` names; None if it is not there."""
    kind, _, name = reference.partition(":")
    return variables.get(name, "").strip() or None if kind == "env" else None


def build_spool(configuration: Configuration) -> Spool:
    """Return the spool of guest sessions; its files are created with the first line."""
    from gatepost.guests.spool_files import FileSpool

    return FileSpool(configuration.settings.spool.path)


def build_spool_writer(configuration: Configuration, *, own_session: str | None = None) -> "SpoolWriter":
    """Return a writer of events to the spools of this machine's guests. It waits for another program's lock briefly."""
    from gatepost.guests.hooks.session_state import list_guests
    from gatepost.guests.hooks.spool_writer import SpoolWriter
    from gatepost.guests.spool_files import FileSpool

    clock, spool = SystemClock(), FileSpool(configuration.settings.spool.path, lock_timeout=0.2)
    return SpoolWriter(spool, lambda: list_guests(configuration.home, now=clock.now()), own_session=own_session)


def build_subscription(configuration: Configuration, agent: str) -> Subscription | None:
    """Return the subscription of an agent's courier on the transport; None if the transport has no subscriptions."""
    url = configuration.settings.transport
    with _explain_missing_driver(url):
        return transports.open_subscription(url, agent)


def build_nudge(configuration: Configuration, method: str, sessions: Path) -> Nudge:
    """Return the nudge for idle agents; `method` is `rewake`, a URL or a command."""
    from gatepost.gates.command_runner import ShellCommands
    from gatepost.guests.nudge_background import CommandNudge, FileNudge
    from gatepost.residents.remote_tools.http_tools import UrlNudge

    courier_settings = configuration.settings.courier
    timeout = courier_settings.nudge_limit / SECOND
    if method == "rewake":
        return FileNudge(sessions)
    if re.match(r"[a-z]+://", method):
        return UrlNudge(method, allow_private=courier_settings.allow_private, timeout=timeout)
    return CommandNudge(ShellCommands(), method, timeout=timeout)


@asynccontextmanager
async def open_cycle_deps(
    store: Store,
    send: Callable[[Sequence[Frame]], None],
    *,
    environ: Mapping[str, str] | None = None,
    allow_private: bool = False,
    functions: Mapping[str, Mapping[str, Callable[..., Any]]] | None = None,
) -> AsyncIterator["CycleDeps"]:
    """
    While entered, what cycles need is open: models, with their keys from `environ`, and tools; `functions` are Python
    functions of this process, by agent and name.
    """
    import random

    from gatepost.residents.background.cycle_outcome import CycleDeps
    from gatepost.residents.background.toolkit import Toolbox
    from gatepost.residents.models.factory import OpenModels
    from gatepost.residents.remote_tools.http_tools import HttpTools
    from gatepost.residents.remote_tools.mcp_tools import McpServers

    variables = os.environ if environ is None else environ
    toolbox = Toolbox(
        HttpTools(environ=variables, allow_private=allow_private),
        McpServers(environ=variables, allow_private=allow_private),
    )
    for agent, agent_functions in (functions or {}).items():
        for name, function in agent_functions.items():
            toolbox.add(function, agent=agent, name=name)
    models = OpenModels(variables)
    try:
        yield CycleDeps(
            store=store,
            get_model=models.get,
            open_toolkit=toolbox.open,
            send=send,
            draw_random=random.SystemRandom().random,
        )
    finally:
        await models.close()


def build_gate_command_options(settings: Settings | None = None) -> "GateCommandOptions":
    """Return which commands a worker may run for gates and decisions."""
    from gatepost.gates.command_runner import ShellCommands
    from gatepost.gates.condition_check_background import GateCommandOptions

    settings = settings or Settings()
    return GateCommandOptions(
        commands=ShellCommands(),
        can_run_commands=settings.gates.commands,
        repositories=settings.gates.ci,
        interval=settings.gates.interval,
        timeout=settings.gates.limit,
        on_answer=settings.decision.on_answer,
    )


def open_store(url: str, *, clock: Clock | None = None, **options: Any) -> Store:
    """Return the store of a URL; it connects when it is first used. A `clock` replaces time and identity in tests."""
    options |= {"clock": clock or SystemClock(), "prefer_clock": clock is not None}
    match url.partition(":")[0]:
        case "sqlite":
            from gatepost.stores.sqlite import SqliteStore

            return SqliteStore(parse_sqlite_path(url), **options)
        case "postgresql" | "postgres":
            with _explain_missing_driver(url, "store"):
                from gatepost.stores.postgres import PostgresStore

                return PostgresStore(url, **options)
        case _:
            raise Invalid(f"{mask_passwords(url)!r} is not a store", hint="use sqlite:///FILE or postgresql://...")


@contextmanager
def _explain_missing_driver(url: str, setting: str = "transport") -> Iterator[None]:
    """Raise an error that says what to install for a URL, instead of an ImportError."""
    try:
        yield
    except ImportError:
        extra = _EXTRAS[url.partition(":")[0]]
        raise Unavailable(
            f"the {setting} {mask_passwords(url)!r} needs its driver", hint=f"pip install 'gatepost[{extra}]'"
        ) from None


def parse_sqlite_path(url: str) -> Path:
    """Return the file of a URL: `sqlite:///office.db` is a relative path, `sqlite:////var/office.db` is absolute."""
    path = unquote(url.removeprefix("sqlite://"))
    if not path.startswith("/") or path == "/" or "\x00" in path:
        raise Invalid(f"{url!r} names no file", hint="use sqlite:///FILE, or sqlite:////FOLDER/FILE")
    return Path(path[1:])


def register_administrator(store: Store) -> None:
    """Register the administrator unless there is one; a store whose creator died half-way may have none."""
    name = directory.ADMINISTRATOR
    try:
        store.read_sync(directory.find, name)
    except UnknownAddress:
        spec = directory.EntitySpec(name=name, kind=EntityKind.HUMAN, display="Administrator")
        with suppress(Conflict):  # another process was first
            store.run_sync(directory.register, spec)
