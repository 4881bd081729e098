"""
How a command reaches Gatepost: one path, arguments -> request -> client -> output.

With a gateway in this home the client sends requests to it over HTTP; without one it works on the store that is set.
Both answer alike (`tests/scenario/test_clients_agree.py`), so a command does not know which it is.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from gatepost import settings
from gatepost.api.operation import Page, Request, Stream
from gatepost.cli import identity, output
from gatepost.core.signals import Signal
from gatepost.core.times import Instant
from gatepost.errors import Unauthorized, Unavailable
from gatepost.ports import SignalSink, Store
from gatepost.runtime import gateway_files
from gatepost.settings import Configuration, mask_passwords

R = TypeVar("R")
V = TypeVar("V")

#: seconds in which a gateway that is just restarting is back
_RETRY_TIME = 15.0


@dataclass(frozen=True, slots=True)
class Connection:
    """A client, and the settings under which the command runs."""

    configuration: Configuration
    client: Any
    #: None if a gateway runs; else a command that waits ends what is due, as a gateway would
    store: Store | None = None

    def send(self, request: Request[R]) -> R:
        """Return the answer to a request."""
        answer: R = self.client.send(request)
        return answer

    def list_all(self, request: Request[Page[V]], limit: int) -> list[V]:
        """Return the first items of a list."""
        return list(self.client.list_all(request, limit=limit))

    def stream(self, request: Stream[R], on_connect: Callable[[], None]) -> Iterator[R]:
        """Return the models of a stream, for ever; `on_connect` is called once, when nothing is missed any more."""
        callbacks = [on_connect]
        models: Iterator[R] = self.client.stream(request, on_connect=lambda: callbacks.pop()() if callbacks else None)
        return models

    def read_clock(self) -> Instant:
        """Return the time of the store; with a gateway, that of this machine."""
        return time.time_ns() // 1_000 if self.store is None else self.store.read_sync(lambda tx: tx.now)


def choose_actor(configuration: Configuration, name: str | None) -> str:
    """Return who acts: the entity that `--as` names, else the current agent, else the administrator."""
    from gatepost.actions.directory import ADMINISTRATOR

    return name or identity.find_current_agent(configuration) or ADMINISTRATOR


@contextmanager
def connect(configuration: Configuration | None = None) -> Iterator[Connection]:
    """Connect to the gateway that runs in this home, or open the store that is set, and create it if there is none."""
    configuration = configuration or settings.load()
    url = find_gateway(configuration)
    if url is None:  # with a gateway, none of what works on a store is imported
        from gatepost import app
        from gatepost.client.local import LocalClient

        sink = _build_signal_sink(configuration)
        with app.prepare_store(configuration, signal_sink=sink, report=output.talk) as store:
            yield Connection(configuration, LocalClient(store), store)
        return
    from gatepost.client.sync import SyncClient  # a command without a gateway does without

    home = configuration.home
    client = SyncClient(
        url,
        key=gateway_files.read_admin_key(home),
        retry_time=_RETRY_TIME,
        check=partial(check_gateway, configuration, url),
    )
    try:
        with client:
            yield Connection(configuration, client)
    except Unauthorized:
        raise Unauthorized(
            f"the gateway at {url} does not know the key in {str(home / gateway_files.ADMIN_KEY)!r}",
            hint=f"if the key was revoked, {gateway_files.RENEW_HINT}; else `gatepost up` makes this one good",
        ) from None


def find_gateway(configuration: Configuration) -> str | None:
    """Return the URL of the gateway of this home, if one runs and is on the store that is set."""
    gateway = gateway_files.find_gateway(configuration.home)
    return gateway.url if gateway and gateway.store == mask_passwords(configuration.settings.store) else None


def check_gateway(configuration: Configuration, url: str) -> None:
    """Raise Unavailable if the gateway of this home is not at that URL: the key is sent only to this gateway."""
    if find_gateway(configuration) != url:
        raise Unavailable(f"no gateway is at {url} any more")


def _build_signal_sink(configuration: Configuration) -> SignalSink:
    """
    Return the sink of a command's signals. Local sockets need no connection, so a short command can signal through
    them; who is signalled in other ways polls the store. Guests on this machine find their events in their spools,
    except the guest in whose session this command runs.
    """
    from gatepost import app

    write_spools = app.build_spool_writer(configuration, own_session=identity.find_session(configuration))
    if not configuration.settings.transport.startswith("socket:"):
        return write_spools
    transport = app.build_transport(configuration)

    def send(signals: Sequence[Signal]) -> None:
        transport.send(signals)
        write_spools(signals)

    return send
