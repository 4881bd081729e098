"""
The mirror node of a local Hedera network: its REST interface on a port of 127.0.0.1.

    GET /api/v1/topics/{id}                           /api/v1/accounts/{id}
    GET /api/v1/topics/{id}/messages                  /api/v1/transactions/{id}
    GET /api/v1/topics/messages/{timestamp}           /api/v1/blocks

It has what Gatepost asks for; fields and filters are those of the real one. Its faults are methods of `Mirror`.
"""

import asyncio
import copy
import random
import socket
import threading
from base64 import b64encode
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.ledger.hedera.network import mirror_rows
from tests.ledger.hedera.network.mirror_query import (
    MAX_LIMIT,
    NotFound,
    WrongParameter,
    read_id,
    read_parameters,
    read_timestamp,
    read_transaction_id,
)
from tests.ledger.hedera.network.state import Account, Message, State, Topic
from tests.support.servers.private_servers import find_free_port
from tests.support.waits import LAST_RESORT


class Mirror:
    """It shows what has reached consensus, at once, unless it is held."""

    def __init__(self, state: State, count_request: Callable[[str], None]) -> None:
        self._state = state
        self._count_request = count_request
        self._server: MirrorServer | None = None
        self.port = find_free_port()
        self._random = random.Random(8)
        self._held_at: int | None = None
        #: accounts and topics as they were when it was held
        self._snapshot: tuple[dict[str, Account], dict[str, Topic]] = ({}, {})
        self._limited, self._retry_after = 0, 1
        self._failing, self._is_json_broken = 0, False
        self._repeated = 0
        self._hidden: set[tuple[str, int]] = set()
        self._changed_fields: dict[tuple[str, int], dict[str, Any]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def hold(self) -> None:
        """Lag: show nothing that happens from now on, until `release`. The newest block stays the newest."""
        with self._state.changed:
            self._held_at = self._state.close_block()
            self._snapshot = copy.deepcopy((self._state.accounts, self._state.topics))

    def release(self) -> None:
        """Show everything again."""
        with self._state.changed:
            self._held_at = None

    def limit(self, count: int, retry_after: int = 1) -> None:
        """Answer the next `count` requests with 429 and a Retry-After header of `retry_after` seconds."""
        with self._state.changed:
            self._limited, self._retry_after = count, retry_after

    def fail(self, count: int, *, broken_json: bool = False) -> None:
        """Answer the next `count` requests with 503, or with 200 and half a JSON document."""
        with self._state.changed:
            self._failing, self._is_json_broken = count, broken_json

    def repeat_pages(self, count: int) -> None:
        """Answer the next `count` lists of messages out of order, with a row twice, and from an earlier message on."""
        with self._state.changed:
            self._repeated = count

    def hide(self, topic: str, sequence: int) -> None:
        """Leave out a message until `show`."""
        with self._state.changed:
            self._hidden.add((topic, sequence))

    def show(self, topic: str, sequence: int) -> None:
        """Show a message that was hidden, and as it is if it was tampered with."""
        with self._state.changed:
            self._hidden.discard((topic, sequence))
            self._changed_fields.pop((topic, sequence), None)

    def tamper(self, topic: str, sequence: int, **fields: Any) -> None:
        """Show a message with other fields, such as `message=b"forged"` or `payer_account_id="0.0.7"`."""
        with self._state.changed:
            self._changed_fields[topic, sequence] = {
                name: b64encode(value).decode() if isinstance(value, bytes) else value for name, value in fields.items()
            }

    def start(self) -> None:
        if self._server is None:
            self._server = MirrorServer(self._build_app(), self.port)

    def stop(self) -> None:
        """Close the port; `start` opens it again."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def open_client(self) -> httpx2.AsyncClient:
        """Return a client that reaches the mirror without its port, for a third of the cost."""
        transport = _DirectTransport(self._build_app(), lambda: self._server is not None)
        return httpx2.AsyncClient(transport=transport, base_url=self.url)

    def _build_app(self) -> Starlette:
        routes: dict[str, tuple[str, Callable[[Request], Any]]] = {
            "/topics/messages/{timestamp}": ("message", self._find_message),
            "/topics/{id}/messages": ("messages", self._list_messages),
            "/topics/{id}": ("topic", self._find_topic),
            "/accounts/{id}": ("account", self._find_account),
            "/transactions/{id}": ("transaction", self._find_transaction),
            "/blocks": ("blocks", self._list_blocks),
        }
        return Starlette(
            routes=[
                Route(f"/api/v1{path}", partial(self._answer, kind=kind, read=read), methods=["GET"])
                for path, (kind, read) in routes.items()
            ],
            exception_handlers={404: answer_not_found},
        )

    async def _answer(self, request: Request, kind: str, read: Callable[[Request], Any]) -> Response:
        with self._state.changed:
            self._count_request(f"mirror:{kind}")
            if self._limited:
                self._limited -= 1
                headers = {"retry-after": str(self._retry_after)}
                return build_error(429, "Too many requests", headers)
            if self._failing:
                self._failing -= 1
                if self._is_json_broken:
                    return Response('{"messages": [{"chunk_in', media_type="application/json")
                return build_error(503, "Service unavailable")
            try:
                request.state.parameters = read_parameters(request, kind)
                return JSONResponse(read(request))
            except WrongParameter as error:
                return build_error(400, str(error))
            except NotFound:
                return build_error(404, "Not found")

    def _find_now(self) -> int:
        """Return the time of the newest block that is shown."""
        return self._state.close_block() if self._held_at is None else self._held_at

    def _list_visible(self, topic: str) -> list[Message]:
        now = self._find_now()
        messages = self._state.topics[topic].messages if topic in self._state.topics else []
        return [
            message
            for message in messages
            if message.timestamp <= now and (topic, message.sequence) not in self._hidden
        ]

    def _format_message(self, message: Message) -> dict[str, Any]:
        row = mirror_rows.format_message(message)
        return row | self._changed_fields.get((message.topic, message.sequence), {})

    def _list_messages(self, request: Request) -> Any:
        parameters = request.state.parameters
        after, limit = int(parameters["sequencenumber"].removeprefix("gt:")), int(parameters["limit"])
        visible = self._list_visible(read_id(request))
        page = [message for message in visible if message.sequence > after][: min(limit, MAX_LIMIT)]
        if self._repeated and page:
            self._repeated -= 1
            first = visible.index(page[0])
            page = [*visible[max(0, first - 3) : first], *page][:limit]
            page.append(page[0])
            self._random.shuffle(page)
        return {"messages": [self._format_message(message) for message in page]}

    def _find_message(self, request: Request) -> Any:
        timestamp = read_timestamp(request)
        for topic in self._state.topics:
            for message in self._list_visible(topic):
                if message.timestamp == timestamp:
                    return self._format_message(message)
        raise NotFound

    def _find_topic(self, request: Request) -> Any:
        id = read_id(request)
        topics = self._state.topics if self._held_at is None else self._snapshot[1]
        if id not in topics:
            raise NotFound
        return mirror_rows.format_topic(topics[id])

    def _find_account(self, request: Request) -> Any:
        id = read_id(request)
        accounts = self._state.accounts if self._held_at is None else self._snapshot[0]
        if id not in accounts:
            raise NotFound
        return mirror_rows.format_account(accounts[id], self._find_now())

    def _find_transaction(self, request: Request) -> Any:
        transaction = self._state.transactions.get(read_transaction_id(request))
        if transaction is None or transaction.timestamp > self._find_now():
            raise NotFound
        return {"transactions": [mirror_rows.format_transaction(transaction)]}

    def _list_blocks(self, request: Request) -> Any:
        return {"blocks": [mirror_rows.format_block(self._find_now())]}


class _DirectTransport(httpx2.ASGITransport):
    """It fails while the port is closed, as a connection does."""

    def __init__(self, app: Starlette, is_open: Callable[[], bool]) -> None:
        super().__init__(app)
        self._is_open = is_open

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if not self._is_open():
            raise httpx2.ConnectError("the mirror is stopped")
        return await super().handle_async_request(request)


def build_error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"_status": {"messages": [{"message": message}]}}, status, headers)


def answer_not_found(request: Request, error: Exception) -> Response:
    return build_error(404, "Not found")


class MirrorServer(threading.Thread):
    """A web application on a port of 127.0.0.1, in a thread with a loop of its own, from construction to `stop`."""

    def __init__(self, app: Callable[..., Awaitable[None]], port: int) -> None:
        super().__init__(name="mirror", daemon=True)
        self._app = app
        self._socket = socket.create_server(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else an answer waits 40 ms for an ACK
        self._is_ready = threading.Event()
        self.start()
        assert self._is_ready.wait(LAST_RESORT), "the mirror does not start"

    def run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._exit_requested = asyncio.Event()
        config = uvicorn.Config(
            self._app, ws="none", lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets=[self._socket])
        self._is_ready.set()
        await self._exit_requested.wait()
        if server.server_state.connections or server.server_state.tasks:
            await server.shutdown(sockets=[self._socket])
            return
        for listener in server.servers:  # the usual way waits for connections, also if there are none
            listener.close()
            await listener.wait_closed()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._exit_requested.set)
        self.join(LAST_RESORT)
        assert not self.is_alive(), "the mirror does not stop"
        self._socket.close()
