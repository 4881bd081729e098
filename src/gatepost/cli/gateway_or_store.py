"""
How a command reaches Gatepost: through its gateway, or on its store.

With a gateway in this home the client sends requests to it over HTTP; without one it works on the store that is set.
Both answer alike (`tests/client/test_clients_agree.py`), so a command does not know which it is.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gatepost import settings
from gatepost.cli import output
from gatepost.cli.current_agent import find_session
from gatepost.core.address import check_entity_address
from gatepost.core.ports import Reader, SignalSink, Store
from gatepost.core.signals import Signal
from gatepost.core.times import SECOND, Duration, Instant
from gatepost.directory.entity import EntityKind
from gatepost.errors import Conflict, GatepostError, Refused, Unauthorized, Unavailable
from gatepost.operations.operation import Page, Request, Stream
from gatepost.settings import Configuration, gateway_files, mask_passwords
from gatepost.settings.gateway_files import GatewayFile

if TYPE_CHECKING:  # few commands need them
    from gatepost.directory.entity_api import EntityView
    from gatepost.gates.automatic_end_actions import EventScan

R = TypeVar("R")
V = TypeVar("V")

#: seconds in which a gateway that is just restarting is back
_RETRY_TIME: Final = 15.0
#: seconds between two reads of a command that waits: few at first, since some are answered at once
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 1.0


class CommandConnection:
    """
    A client, and the settings under which the command runs.

    The store of a command without a gateway is opened by its first request. Only a request that can be the first in a
    store makes a new one: a command that reads, or that is about something which must be there, runs in the wrong home
    if there is none.
    """

    def __init__(self, configuration: Configuration, *, client: Any = None, stack: ExitStack | None = None) -> None:
        """Take the client of a gateway or, without one, the stack that closes the store."""
        self.configuration = configuration
        self._client = client
        self._stack = stack
        self._store: Store | None = None

    @property
    def store(self) -> Store | None:
        """None if a gateway runs; else a command that waits ends what is due, as a gateway would."""
        return None if self._stack is None else self._open_store(self._stack, can_create=False)

    def send(self, request: Request[R]) -> R:
        """Return the answer to a request."""
        answer: R = self._prepare_client(request).send(request)
        return answer

    def list_all(self, request: Request[Page[V]], limit: int) -> list[V]:
        """Return the first items of a list."""
        return list(self._prepare_client(request).list_all(request, limit=limit))

    def stream(self, request: Stream[R], on_connect: Callable[[], None]) -> Iterator[R]:
        """Return the models of a stream, for ever; `on_connect` is called once, when nothing is missed any more."""
        callbacks = [on_connect]
        client = self._prepare_client(request)
        models: Iterator[R] = client.stream(request, on_connect=lambda: callbacks.pop()() if callbacks else None)
        return models

    def _prepare_client(self, request: Request[Any]) -> Any:
        if self._stack is not None and self._client is None:
            from gatepost.client.local_client import LocalClient

            self._client = LocalClient(self._open_store(self._stack, can_create=request.operation.can_be_first))
        return self._client

    def _open_store(self, stack: ExitStack, *, can_create: bool) -> Store:
        if self._store is None:
            from gatepost import app  # with a gateway, none of what works on a store is imported

            sink = build_signal_sink(self.configuration)
            self._store = stack.enter_context(
                app.prepare_store(self.configuration, signal_sink=sink, report=output.talk, can_create=can_create)
            )
        return self._store

    def read_clock(self) -> Instant:
        """Return the time of the store; with a gateway, that of this machine."""
        return time.time_ns() // 1_000 if self.store is None else self.store.read_sync(lambda tx: tx.now)


@contextmanager
def connect(configuration: Configuration | None = None) -> Iterator[CommandConnection]:
    """Connect to the gateway that runs in this home, or to the store that is set."""
    configuration = configuration or settings.load()
    url = find_gateway(configuration)
    if url is None:
        with ExitStack() as stack:
            yield CommandConnection(configuration, stack=stack)
        return
    from gatepost.client.sync_client import SyncClient  # a command without a gateway does without

    home = configuration.home
    client = SyncClient(
        url,
        key=gateway_files.read_admin_key(home),
        retry_time=_RETRY_TIME,
        check=partial(check_gateway, configuration, url),
    )
    try:
        with client:
            yield CommandConnection(configuration, client=client)
    except Unauthorized:
        raise Unauthorized(
            f"the gateway at {url} does not know the key in {str(home / gateway_files.ADMIN_KEY)!r}",
            hint=f"if the key was revoked, {gateway_files.RENEW_HINT}; else restart the gateway",
        ) from None


def find_gateway(configuration: Configuration) -> str | None:
    """
    Return the URL of the gateway of this home; None if none runs. Raise Conflict if it is on another store than the one
    that is set: whatever a command did there, the gateway and its users would not see.
    """
    gateway = gateway_files.find_gateway(configuration.home)
    if (other_store := find_other_store(configuration, gateway)) is not None:
        own_store = mask_passwords(configuration.settings.store.url)
        raise Conflict(
            f"the gateway of this home uses the store {other_store}, and this command would use {own_store}",
            hint=f"`store` is set here by: {configuration.values['store.url'].origin}; set it as for the gateway,"
            " or name another home in GATEPOST_HOME",
        )
    return gateway.url if gateway else None


def find_other_store(configuration: Configuration, gateway: GatewayFile | None) -> str | None:
    """Return the store of the gateway of this home, if it is not the one that is set. A halted one has a file only."""
    gateway = gateway or gateway_files.read_gateway_file(configuration.home)
    if gateway is None or gateway.socket is None:
        return None
    own_store = mask_passwords(configuration.settings.store.url)
    if gateway.store == own_store:
        return None
    if {gateway.store.partition(":")[0], own_store.partition(":")[0]} == {"sqlite"}:  # one may be a symbolic link
        paths = [Path(store.removeprefix("sqlite:///")) for store in (gateway.store, own_store)]
        with suppress(OSError):
            return None if paths[0].samefile(paths[1]) else gateway.store
    return gateway.store


def check_gateway(configuration: Configuration, url: str) -> None:
    """Raise Unavailable if the gateway of this home is not at that URL: the key is sent only to this gateway."""
    if find_gateway(configuration) != url:
        raise Unavailable(f"the gateway at {url} has stopped", hint="run the command again")


def build_signal_sink(configuration: Configuration) -> SignalSink:
    """
    Return the sink of a command's signals. Local sockets need no connection, so a short command can signal through
    them; who is signalled in other ways polls the store. Guests on this machine find their events in their spools,
    except the guest in whose session this command runs.
    """

    @cache
    def build_sinks() -> Sequence[SignalSink]:
        from gatepost import app  # a command that only reads signals nothing

        write_spools = app.build_spool_writer(configuration, own_session=find_session(configuration))
        if not configuration.settings.transport.startswith("socket:"):
            return [write_spools]
        return [app.build_transport(configuration).send, write_spools]

    def send(signals: Sequence[Signal]) -> None:
        for sink in build_sinks():
            sink(signals)

    return send


def find_entity(configuration: Configuration, name: str) -> "EntityView":
    """Return the entity with a name or an alias."""
    from gatepost.directory.entity_api import ShowEntity

    with connect(configuration) as connection:
        return connection.send(ShowEntity(name=check_entity_address(name)))


def find_agent(configuration: Configuration, name: str) -> "EntityView":
    """Return the agent with a name or an alias; raise Refused if it is a person, who has no guest sessions."""
    entity = find_entity(configuration, name)
    if entity.kind is EntityKind.HUMAN:
        raise Refused(f"{entity.name!r} is a person, and has no guest sessions", hint="name an agent")
    return entity


def get_folder() -> Path:
    """Return the working directory."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Unavailable("the working directory is gone", hint="go to a folder that is there") from None


def poll(
    connection: CommandConnection, request: Request[R], is_over: Callable[[R], bool], timeout: Duration | None
) -> R:
    """
    Send a request until its answer is over, or until the timeout, and return the last answer. Without a gateway no
    other process ends what is due, so it is ended here.
    """
    end = time.monotonic() + timeout / SECOND if timeout is not None else None
    pause, last_scan = _FIRST_PAUSE, None
    while True:
        if connection.store is not None:
            last_scan = end_due(connection.store, last_scan)
        answer = connection.send(request)
        remaining = end - time.monotonic() if end is not None else pause
        if is_over(answer) or remaining <= 0:
            return answer
        time.sleep(min(pause, remaining))
        pause = min(_LONGEST_PAUSE, pause * 1.5)


def end_due(store: Store, last_scan: "EventScan | None") -> "EventScan | None":
    """
    End what is due, as a gateway would, and return how far events were scanned. What cannot be ended does not keep this
    command from waiting for something else.
    """
    from gatepost.gates import automatic_end_actions as automatic_ends

    def find_due(tx: Reader) -> "tuple[bool, EventScan]":
        next_due, scan = automatic_ends.find_next_due(tx), automatic_ends.scan_events(tx, last_scan)
        return bool(scan.matches) or (next_due is not None and next_due <= tx.now), scan

    with suppress(GatepostError):
        while True:
            is_due, last_scan = store.read_sync(find_due)
            if not is_due or not store.run_sync(automatic_ends.end_due, last_scan=last_scan):
                break
    return last_scan
