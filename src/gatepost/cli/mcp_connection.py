"""
How the MCP server on stdio reaches Gatepost, and who its caller is.

Both are found anew with every call. A gateway may start or stop while the server runs; the hooks of the host may report
the session, and with it the agent, after the host has started the server. Requests go to the gateway of this home, with
the administrator's key and as the agent, and without a gateway to the store.
"""

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, aclosing, contextmanager, suppress
from functools import partial
from importlib.metadata import version
from typing import Any, Final

from gatepost import app, settings, telemetry
from gatepost.cli import output
from gatepost.cli.current_agent import find_current_agent, find_session
from gatepost.cli.gateway_or_store import build_signal_sink, check_gateway, end_due, find_gateway
from gatepost.client import Client, LocalClient
from gatepost.core.ports import Store
from gatepost.core.signals import Topic
from gatepost.core.times import format_duration
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity_api import ShowEntity
from gatepost.errors import GatepostError, Invalid
from gatepost.guests.hooks.drain import get_claim_owner
from gatepost.guests.hooks.session_state import Session, find_guest
from gatepost.guests.session import FOLLOWED, FOLLOWED_IN_TURN, IDLE, Guest, PrintedBatch
from gatepost.inbox.item_api import BatchView, WatchAll
from gatepost.mcp.server_port import ANYTHING, Peer
from gatepost.mcp.stdio_server import serve_stdio
from gatepost.operations.access import Caller, CallerKind
from gatepost.operations.operation import Request
from gatepost.settings import Configuration, gateway_files

#: seconds in which a gateway that is just restarting is back; after that the store is used
_RETRY_TIME: Final = 3.0
#: seconds between two looks at a store whose changes nobody signals
_POLL_INTERVAL: Final = 1.0


def serve_agent(configuration: Configuration, agent: str | None) -> None:
    """Serve an agent, the one that is named or the current one, until stdin ends or a signal comes."""
    telemetry.configure_logging(configuration.settings.gateway.log)
    asyncio.run(_serve(configuration, agent))


async def _serve(configuration: Configuration, agent: str | None) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with StdioConnector(configuration, agent) as connector:
        await serve_stdio(connector, version("gatepost"), stop)


class _SessionHooks:
    """The hooks of the session in which this server runs, as they were when a request came."""

    def __init__(self, configuration: Configuration, guest: Guest) -> None:
        self._configuration = configuration
        self._session = guest.session
        self._state = Session(configuration.home, guest.session).read()
        self.timeout = format_duration(configuration.settings.hooks.proof)
        self.owner = get_claim_owner(guest.session)

    async def await_proof(self, batch: BatchView) -> None:
        await asyncio.to_thread(self._record, batch)

    def _record(self, batch: BatchView) -> None:
        assert batch.claim is not None
        now = time.time_ns() // 1_000
        printed_batch = PrintedBatch(
            event=FOLLOWED if self._state.state == IDLE else FOLLOWED_IN_TURN,
            printed_at=now,
            expires_at=now + self._configuration.settings.hooks.proof,
            prompts=self._state.prompts,
            claim=(batch.claim.claim_id, batch.claim.owner, batch.claim.fence),
            keys=tuple(item.dedup_key or item.event_id for item in batch.items),
        )
        with app.build_spool(self._configuration).settle_unproved(self._session) as unproved:
            unproved.add(printed_batch)


class StdioConnector:
    """Sends the requests of one agent, the one of `--as` or the current one."""

    def __init__(self, configuration: Configuration, agent: str | None) -> None:
        self._configuration = configuration
        self._agent = agent
        self._store_stack = ExitStack()
        self._client_stack = AsyncExitStack()
        self._store: Store | None = None
        #: by the URL of a gateway and the entity to act as
        self._clients: dict[tuple[str, str | None], Client] = {}
        #: the name of an entity, by the URL of a gateway and what it was called
        self._names: dict[tuple[str, str], str] = {}
        self._listeners: list[Callable[[Topic], None]] = []
        self._watching: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> "StdioConnector":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client_stack.aclose()
        await asyncio.to_thread(self._store_stack.close)

    async def connect(self) -> Peer:
        """Return the agent; raise Invalid if nobody has said who it is."""
        name, session, url = await asyncio.to_thread(self._look_around)
        if name is None:
            raise Invalid(
                "no agent is set for this server",
                hint="start the server as `gatepost mcp --as NAME`, or set GATEPOST_AGENT, or `agent` in gatepost.toml",
            )
        name = await self._find_name(url, name)
        caller = Caller(CallerKind.ENTITY, name)
        proof = await asyncio.to_thread(self._find_hooks, session, name) if session else None
        return Peer(name=name, caller=caller, send=partial(self._send, caller), session=session, proof=proof)

    def _find_hooks(self, session: str, agent: str) -> _SessionHooks | None:
        """Return the hooks of this session; None if it has none, has ended, or is that of another agent."""
        guest = find_guest(self._configuration.home, session)
        return _SessionHooks(self._configuration, guest) if guest is not None and guest.agent == agent else None

    def _look_around(self) -> tuple[str | None, str | None, str | None]:
        """Return the agent, its guest session, and the URL of the gateway, as far as there are such."""
        agent = self._agent or find_current_agent(self._configuration) or find_current_agent(settings.load())
        return agent, find_session(self._configuration), find_gateway(self._configuration)

    async def _find_name(self, url: str | None, name: str) -> str:
        """Return the name of the entity with a name or an alias."""
        if url is None:
            store = await self._open_store()
            return (await store.read(directory.find_live, name)).name
        if (url, name) not in self._names:
            entity = await self._get_client(url, None).send(ShowEntity(name=name))
            self._names[url, name] = entity.name
        return self._names[url, name]

    async def _send(self, caller: Caller, request: Request[Any]) -> Any:
        url = await self._find_gateway()
        if url is not None:
            return await self._get_client(url, caller.name).send(request)
        store = await self._open_store(can_create=request.operation.can_be_first)
        return await asyncio.to_thread(LocalClient(store, caller).send, request)

    async def _find_gateway(self) -> str | None:
        return await asyncio.to_thread(find_gateway, self._configuration)

    def _get_client(self, url: str, act_as: str | None) -> Client:
        if (url, act_as) not in self._clients:
            client = Client(
                url,
                key=gateway_files.read_admin_key(self._configuration.home),
                act_as=act_as,
                retry_time=_RETRY_TIME,
                check=partial(asyncio.to_thread, check_gateway, self._configuration, url),
            )
            self._client_stack.push_async_exit(client)
            self._clients[url, act_as] = client
        return self._clients[url, act_as]

    async def _open_store(self, *, can_create: bool = False) -> Store:
        async with self._lock:
            if self._store is None:
                self._store = await asyncio.to_thread(self._prepare_store, can_create)
        return self._store

    def _prepare_store(self, can_create: bool) -> Store:
        sink = build_signal_sink(self._configuration)
        return self._store_stack.enter_context(
            app.prepare_store(self._configuration, signal_sink=sink, report=output.talk, can_create=can_create)
        )

    @contextmanager
    def subscribe(self, listener: Callable[[Topic], None]) -> Iterator[None]:
        """While entered, call the listener whenever something may have changed."""
        self._listeners.append(listener)
        self._watching = self._watching or asyncio.create_task(self._watch(), name="mcp-watch")
        try:
            yield
        finally:
            self._listeners.remove(listener)
            if not self._listeners and self._watching is not None:
                self._watching.cancel()
                self._watching = None

    async def _watch(self) -> None:
        """Follow the stream of the gateway while there is one; else look at the store again and again."""
        while True:
            with suppress(GatepostError):
                url = await self._find_gateway()
                if url is not None:
                    await self._watch_gateway(url)
                elif self._store is not None:
                    await asyncio.to_thread(end_due, self._store, None)
            self._notify()
            await asyncio.sleep(_POLL_INTERVAL)

    async def _watch_gateway(self, url: str) -> None:
        peer = await self.connect()
        events = self._get_client(url, peer.name).events(WatchAll(), on_connect=self._notify)
        async with aclosing(events):
            async for _ in events:
                self._notify()

    def _notify(self) -> None:
        for listener in tuple(self._listeners):
            listener(ANYTHING)
