"""A gateway in its own process: one worker, configured as `gatepost up` does it, on SQLite in a new home."""

import asyncio
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import uvicorn

from bench.support import fixtures
from bench.support.processes import ChildProcess, ParentPipe
from gatepost import paths, telemetry
from gatepost.app import build_store
from gatepost.core.ports import Store
from gatepost.gateway.http_limits import ConnectionLimits, allow_connections, build_protocol
from gatepost.gateway.serve import GatewayServer, freeze_loaded_objects, open_gateway
from gatepost.gateway.web_app import GatewayApp
from gatepost.inbox.event import Delivery, Push, PushResult
from gatepost.settings import load
from gatepost.settings.gateway_files import ensure_admin_key, read_admin_key


@dataclass(frozen=True, slots=True)
class Gateway:
    port: int
    #: the administrator's
    key: str
    store: str
    pid: int = 0

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """A request, ready to be sent."""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-secret-key: {self.key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


@contextmanager
def run_gateway(
    *, has_store: bool = True, prepare: Callable[[Store], object] = fixtures.create_agents
) -> Iterator[Gateway]:
    """A gateway with what `prepare` makes, by default the agents; one that stores nothing answers a push at once."""
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        home = Path(folder)
        with ChildProcess(_serve, str(home), has_store, prepare) as process:
            port, pid = process.receive()
            yield Gateway(port, read_admin_key(home), f"sqlite:///{home}/gatepost.db", pid)


async def _serve(pipe: ParentPipe, home: str, has_store: bool, prepare: Callable[[Store], object]) -> None:
    telemetry.configure_logging("json")
    configuration = load({"GATEPOST_HOME": home, "GATEPOST_GATEWAY__STREAMS": "100000"})
    paths.make_home(configuration.home)
    with closing(build_store(configuration)) as store:
        prepare(store)
    async with open_gateway(configuration) as gateway:
        app_state = gateway.state
        ensure_admin_key(app_state.store, configuration.home)
        if not has_store:
            app_state = replace(app_state, store=cast(Store, DiscardingStore(app_state.store)))
        with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
            config = uvicorn.Config(
                GatewayApp(app_state),
                http=build_protocol(ConnectionLimits(connections=allow_connections(None))),
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
            )
            server = GatewayServer(config, app_state.live_streams)
            freeze_loaded_objects()
            serve_task = asyncio.create_task(server.serve([listener]))
            pipe.send((listener.getsockname()[1], os.getpid()))
            try:
                await asyncio.shield(serve_task)
            finally:
                server.should_exit = True
                app_state.live_streams.end()
                await serve_task


class DiscardingStore:
    """What a store is to a push, without storing: it is answered in the same turn. Everything else is as it was."""

    _EVENT_ID: Final = fixtures.create_event_id()

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run(self, verb: Any, pushes: Sequence[Push], *, lane: str) -> list[PushResult]:  # noqa: ARG002
        return [PushResult(self._EVENT_ID, (Delivery(push.to, self._EVENT_ID, duplicate=False),)) for push in pushes]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
