"""
Gateways to test with: in process without a socket (`open_gateway`), and over a real one (`serve_gateway`).

Each has a store and a signal bus of its own, as a process would; give two of them the same URL and they are two
gateways of one installation. Time is the machine's, unless a test brings a clock.
"""

import asyncio
import json
import random
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self
from urllib.parse import quote

import httpx2
import jwt
import uvicorn
from starlette.types import Message

from gatepost.app import open_store, register_administrator
from gatepost.core.policy import Policy
from gatepost.core.ports import Clock, Store, Transport
from gatepost.core.signals import TransportMessage
from gatepost.directory import entity_actions as directory, key_actions as keys
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.directory.key import KeyKind
from gatepost.directory.key_handlers import generate_secret
from gatepost.executor import load_operations
from gatepost.gateway import openapi
from gatepost.gateway.authentication import Authenticator, TokenRules
from gatepost.gateway.gateway_state import GatewayState
from gatepost.gateway.health_checks import Meters
from gatepost.gateway.http_limits import ConnectionLimits, build_protocol
from gatepost.gateway.streams.live_readers import LiveStreams
from gatepost.gateway.web_app import GatewayApp
from gatepost.jobs.periodic_duty_background import Duty, run_duties
from gatepost.residents.agent_config import ModelChoice
from gatepost.residents.model_port import Model
from gatepost.residents.models.factory import open_model
from gatepost.spaces import actions as spaces
from gatepost.transports.signal_bus import SignalBus
from tests.support.waits import LAST_RESORT

#: seconds after which what was waited for is missing
WAIT_TIMEOUT: Final = LAST_RESORT
#: seconds after which a lost signal is made up for
POLL_INTERVAL: Final = 0.02
JWT_SECRET: Final = "a secret of at least thirty-two bytes"
TOKEN_RULES: Final = TokenRules(secret=JWT_SECRET)
CONNECTION_LIMITS: Final = ConnectionLimits()


class LossyBus(SignalBus):
    """A signal bus that loses some of its signals, here and to others."""

    def __init__(self, transport: Transport | None, loss_rate: float, seed: int) -> None:
        super().__init__(transport)
        self._loss_rate = loss_rate
        self._random = random.Random(seed)

    def send(self, signals: Sequence[TransportMessage]) -> None:
        super().send([signal for signal in signals if self._random.random() >= self._loss_rate])


@dataclass(frozen=True, slots=True)
class Gateway:
    app_state: GatewayState
    app: GatewayApp
    #: the administrator's key
    admin_key: str

    @property
    def store(self) -> Store:
        return self.app_state.store

    def create_key(self, kind: KeyKind = "agent", entity: str | None = None) -> str:
        """A new key."""
        secret = generate_secret(public=kind == "public")
        self.store.run_sync(keys.create, kind=kind, secret=secret, entity=entity)
        return secret

    def open_client(self, **headers: str) -> httpx2.AsyncClient:
        """A caller with these headers (`_` for `-`); without any, the administrator."""
        header_map = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx2.AsyncClient(
            transport=httpx2.ASGITransport(self.app, raise_app_exceptions=False),
            base_url="http://gateway",
            headers=header_map or {"x-secret-key": self.admin_key},
        )

    async def open_stream(self, path: str, *, last_event_id: str | None = None, **headers: str) -> "StreamListener":
        """Read a stream, as the same callers."""
        header_map = {name.replace("_", "-"): value for name, value in headers.items()} or {
            "x-secret-key": self.admin_key
        }
        return await StreamListener(
            self.app, path, header_map | ({"last-event-id": last_event_id} if last_event_id is not None else {})
        ).start()


@asynccontextmanager
async def open_gateway(
    url: str,
    *,
    transport: Transport | None = None,
    rules: TokenRules = TOKEN_RULES,
    policy: Policy | None = None,
    loss_rate: float = 0.0,
    streams: LiveStreams | None = None,
    run_lifespan: bool = True,
    clock: Clock | None = None,
    **store_options: Any,
) -> AsyncIterator[Gateway]:
    """A gateway on a store; without `run_lifespan`, its application is for a server to start."""
    bus = LossyBus(transport, loss_rate, seed=1)
    store = open_store(url, clock=clock, signal_sink=bus.on_commit, policy=policy, **store_options)
    streams = streams or LiveStreams()

    try:
        store.migrate()
        register_administrator(store)
        admin_key = generate_secret()
        store.run_sync(keys.create, kind="admin", secret=admin_key)
        app_state = build_app_state(store, bus, streams, rules)
        app = GatewayApp(app_state)
        async with bus.open(), run_duties([_build_stream_duty(streams)]):
            if run_lifespan:
                async with app.lifespan():
                    yield Gateway(app_state, app, admin_key)
            else:
                yield Gateway(app_state, app, admin_key)
    finally:
        store.close()


def build_app_state(store: Store, bus: SignalBus, streams: LiveStreams, rules: TokenRules) -> GatewayState:
    """What the routes of a gateway share."""
    return GatewayState(
        store=store,
        signal_bus=bus,
        live_streams=streams,
        authenticator=Authenticator(store, rules),
        meters=Meters(),
        version="0.1.0",
        open_model=_open_model,
    )


async def _open_model(choice: ModelChoice) -> Model:
    return open_model(choice, {})


@cache
def build_openapi() -> Mapping[str, Any]:
    """The OpenAPI. Nothing is opened for it."""
    return openapi.build_openapi(load_operations(), "0.1.0")


@cache
def list_operations() -> Mapping[str, Mapping[str, Any]]:
    """Every operation of the OpenAPI by its method and path."""
    return {
        f"{method.upper()} {path}": operation
        for path, methods in build_openapi()["paths"].items()
        for method, operation in methods.items()
    }


def _build_stream_duty(streams: LiveStreams) -> Duty:
    """A duty that looks for what signals were lost for, as the janitor of a gateway does."""

    async def wake_streams() -> None:
        streams.wake()

    return Duty("streams", wake_streams, interval=POLL_INTERVAL)


def create_entities(store: Store) -> None:
    """Husam and three agents; Husam and the analyst share a space."""
    store.run_sync(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN, display="Husam"))
    for name in ("analyst", "designer", "developer"):
        store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    store.run_sync(spaces.create, name="Q4 report", members=["husam", "analyst"])


def create_token(entity: str, *, secret: str = JWT_SECRET, **claims: object) -> str:
    """A JWT for an entity; a claim of None is left out."""
    payload = {"sub": entity, "exp": int(time.time()) + 86_400} | claims
    return jwt.encode({name: value for name, value in payload.items() if value is not None}, secret, algorithm="HS256")


@dataclass(frozen=True, slots=True)
class StreamFrame:
    """One event of a stream, or a comment."""

    event: str
    data: Any = None
    id: str | None = None


def parse_frame(text: str) -> StreamFrame:
    if text.startswith(":"):
        return StreamFrame(text)
    fields = dict(line.split(": ", 1) for line in text.split("\n"))
    return StreamFrame(fields["event"], json.loads(fields["data"]), fields.get("id"))


class StreamListener:
    """Reads a stream at the level of ASGI: it can leave between any two frames, and takes them only when asked."""

    def __init__(self, app: GatewayApp, path: str, headers: Mapping[str, str]) -> None:
        route, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": route,
            "raw_path": quote(route).encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
            "client": ("127.0.0.1", 1),
            "server": ("gateway", 80),
        }
        self.status = 0
        self._is_request_sent = False
        self._closed_event = asyncio.Event()
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue(1)
        self._text = ""
        self._task = asyncio.create_task(self._run(app, scope))

    async def _run(self, app: GatewayApp, scope: dict[str, Any]) -> None:
        try:
            await app(scope, self._receive, self._send)
        finally:
            if not self._closed_event.is_set():
                await self._messages.put(None)

    async def _receive(self) -> Message:
        if not self._is_request_sent:
            self._is_request_sent = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._closed_event.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if not self._closed_event.is_set():
            await self._messages.put(message)

    async def start(self) -> Self:
        message = await self._next()
        assert message is not None
        self.status = message["status"]
        return self

    async def _next(self) -> Message | None:
        async with asyncio.timeout(WAIT_TIMEOUT):
            return await self._messages.get()

    async def __aiter__(self) -> AsyncIterator[StreamFrame]:
        while (message := await self._next()) is not None:
            self._text += message.get("body", b"").decode()
            while "\n\n" in self._text:
                frame, self._text = self._text.split("\n\n", 1)
                yield parse_frame(frame)

    async def read_body(self) -> bytes:
        """All of an answer that is no stream."""
        content = b""
        while (message := await self._next()) is not None:
            content += message.get("body", b"")
        return content

    async def close(self) -> None:
        """Hang up, and wait until the gateway has noticed."""
        self._closed_event.set()
        while not self._messages.empty():
            self._messages.get_nowait()
        async with asyncio.timeout(WAIT_TIMEOUT):
            await self._task

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class QuickServer(uvicorn.Server):
    """
    Stops as soon as `request_exit` is called: the usual one looks ten times a second whether it should, and then waits
    for those who are not there.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._exit_requested = asyncio.Event()

    def request_exit(self) -> None:
        self.should_exit = True
        self._exit_requested.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)  # sets the headers of every answer
        await self._exit_requested.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        await finish_accepts()
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for server in self.servers:
            await server.wait_closed()
        for listener in sockets or []:
            listener.close()
        await self.lifespan.shutdown()


async def finish_accepts() -> None:
    """
    Wait until what this loop has accepted is a connection of its server, which closes it. A task of the loop does that;
    a server that stops before would leave the connection open, and a later test would be blamed for it.
    """
    accepts = [task for task in asyncio.all_tasks() if "_accept_connection2" in repr(task.get_coro())]
    await asyncio.gather(*accepts, return_exceptions=True)


class GatewayThread(threading.Thread):
    """A gateway on a free port of 127.0.0.1, in a thread with a loop of its own."""

    gateway: Gateway
    loop: asyncio.AbstractEventLoop

    def __init__(self, url: str, connections: ConnectionLimits, options: Mapping[str, Any]) -> None:
        super().__init__(name="served", daemon=True)
        self._url = url
        self._protocol = build_protocol(connections)
        self._options = options
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)  # as full as soon on every machine
        # asyncio asks for this only on sockets that it opens; without it a small answer waits 40 ms
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ready_event = threading.Event()
        self.uvicorn: QuickServer | None = None
        self._error: BaseException | None = None
        self.port: int = self._socket.getsockname()[1]
        self.start()
        assert self._ready_event.wait(WAIT_TIMEOUT)
        if self._error is not None:
            raise self._error

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def open_client(self, key: str | None = None) -> httpx2.AsyncClient:
        headers = {"x-secret-key": key or self.gateway.admin_key}
        return httpx2.AsyncClient(
            base_url=self.base_url,
            headers=headers,
            timeout=WAIT_TIMEOUT,
            limits=httpx2.Limits(max_connections=200),
            verify=False,  # there is no TLS, and to read the certificates takes longer than a request
        )

    def run(self) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.run(self._serve())
        except BaseException as error:
            self._error = error
            raise
        finally:
            self._ready_event.set()

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        async with open_gateway(self._url, run_lifespan=False, **self._options) as self.gateway:
            config = uvicorn.Config(
                self.gateway.app,
                http=self._protocol,
                ws="none",
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=int(WAIT_TIMEOUT),
            )
            self.uvicorn = QuickServer(config)
            self.uvicorn.config.load()
            self.loop.call_soon(self._ready_event.set)
            await self.uvicorn.serve(sockets=[self._socket])

    def stop(self) -> None:
        if self.uvicorn is not None:
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self.uvicorn.request_exit)
                self.loop.call_soon_threadsafe(self.gateway.app_state.live_streams.end)
        self.join(WAIT_TIMEOUT)
        assert not self.is_alive(), "the gateway does not stop"


@contextmanager
def serve_gateway(
    url: str, *, connections: ConnectionLimits = CONNECTION_LIMITS, **options: Any
) -> Iterator[GatewayThread]:
    """A gateway on a real socket; options as for `open_gateway`."""
    gateway_thread = GatewayThread(url, connections, options)
    try:
        yield gateway_thread
    finally:
        gateway_thread.stop()
