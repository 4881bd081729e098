"""A gateway in a process of its own: one worker, everything in it as `gatepost up` has it, on SQLite in a new home."""

import asyncio
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import uvicorn

from bench import _office
from bench._process import Elsewhere, Line
from gatepost import app, telemetry
from gatepost.core.event import Delivery, Push, Pushed
from gatepost.gateway.app import create
from gatepost.gateway.connections import ConnectionLimits, allow_connections, build_protocol
from gatepost.gateway.serve import opened
from gatepost.ports import Store
from gatepost.runtime import memory
from gatepost.runtime.keyring import administrator, admit_administrator
from gatepost.settings import load


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
def running(*, stores: bool = True) -> Iterator[Gateway]:
    """A gateway with the agents of the office; one that stores nothing answers a push at once."""
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        home = Path(folder)
        with Elsewhere(_serve, str(home), stores) as process:
            port, pid = process.receive()
            yield Gateway(port, administrator(home), f"sqlite:///{home}/gatepost.db", pid)


async def _serve(line: Line, home: str, stores: bool) -> None:
    telemetry.configure("json")
    configuration = load({"GATEPOST_HOME": home})
    app.make_home(configuration.home)
    async with opened(configuration) as gateway:
        office = gateway.office
        admit_administrator(office.store, configuration.home)
        _office.furnish(office.store)
        if not stores:
            office = replace(office, store=cast(Store, Unstored(office.store)))
        with socket.create_server(("127.0.0.1", 0), backlog=2048) as ears:
            config = uvicorn.Config(
                create(office),
                http=build_protocol(ConnectionLimits(connections=allow_connections(None))),
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
            )
            server = uvicorn.Server(config)
            memory.settled()
            serving = asyncio.create_task(server.serve([ears]))
            line.tell((ears.getsockname()[1], os.getpid()))
            try:
                await asyncio.shield(serving)
            finally:
                server.should_exit = True
                office.hub.end()
                await serving


class Unstored:
    """What a store is to a push, without storing: it is answered in the same turn. Everything else is as it was."""

    _EVENT: Final = _office.event_id()

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run(self, verb: Any, wishes: Sequence[Push], *, lane: str) -> list[Pushed]:  # noqa: ARG002
        return [Pushed(self._EVENT, (Delivery(wish.to, self._EVENT, duplicate=False),)) for wish in wishes]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
