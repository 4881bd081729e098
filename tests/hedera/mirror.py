"""
The mirror node of a local Hedera network: its REST interface on a port of 127.0.0.1.

    GET /api/v1/topics/{id}                           /api/v1/accounts/{id}
    GET /api/v1/topics/{id}/messages                  /api/v1/transactions/{id}
    GET /api/v1/topics/{id}/messages/{sequence}       /api/v1/transactions
    GET /api/v1/topics/messages/{timestamp}           /api/v1/blocks
    GET /api/v1/network/exchangerate                  /api/v1/network/fees

Fields, filters and links are those of the real one. Its faults are methods of `Mirror`.
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

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.hedera import mirror_rows
from tests.hedera.mirror_query import MirrorQuery, NotFound, WrongParameter, parse_transaction_id
from tests.hedera.state import Account, Message, State, Topic
from tests.servers import find_free_port

WAIT_TIMEOUT = 30.0


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

    def _build_app(self) -> Starlette:
        routes: dict[str, tuple[str, Callable[[Request], Any]]] = {
            "/topics/messages/{timestamp}": ("message", self._find_message_by_time),
            "/topics/{id}/messages/{sequence}": ("message", self._find_message),
            "/topics/{id}/messages": ("messages", self._list_messages),
            "/topics/{id}": ("topic", self._find_topic),
            "/accounts/{id}": ("account", self._find_account),
            "/transactions/{id}": ("transaction", self._find_transaction),
            "/transactions": ("transactions", self._list_transactions),
            "/blocks": ("blocks", self._list_blocks),
            "/network/exchangerate": ("exchangerate", self._read_exchange_rate),
            "/network/fees": ("fees", self._read_fees),
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

    def _format_message(self, message: Message, query: MirrorQuery) -> dict[str, Any]:
        row = mirror_rows.format_message(message, query.encoding)
        return row | self._changed_fields.get((message.topic, message.sequence), {})

    def _list_messages(self, request: Request) -> Any:
        query = MirrorQuery(request, ("encoding", "limit", "order", "sequencenumber", "timestamp"))
        topic = query.read_id("id")
        visible = self._list_visible(topic)
        rows = [message for message in visible if query.matches(message.sequence, message.timestamp)]
        rows = sorted(rows, key=lambda message: message.sequence, reverse=query.is_descending)
        page = rows[: query.limit]
        if self._repeated and page:
            self._repeated -= 1
            first = visible.index(page[0])
            earlier = visible[max(0, first - 3) : first] if not query.is_descending else []
            page = [*earlier, *page][: query.limit]
            shown = [*page, page[0]]
            self._random.shuffle(shown)
        else:
            shown = page
        return {
            "links": {"next": query.build_next_link(page[-1].timestamp) if len(page) == query.limit else None},
            "messages": [self._format_message(message, query) for message in shown],
        }

    def _find_message(self, request: Request) -> Any:
        query = MirrorQuery(request, ("encoding",))
        topic, sequence = query.read_id("id"), query.read_number("sequence")
        for message in self._list_visible(topic):
            if message.sequence == sequence:
                return self._format_message(message, query)
        raise NotFound

    def _find_message_by_time(self, request: Request) -> Any:
        query = MirrorQuery(request, ("encoding",))
        timestamp = query.read_timestamp("timestamp")
        for topic in self._state.topics:
            for message in self._list_visible(topic):
                if message.timestamp == timestamp:
                    return self._format_message(message, query)
        raise NotFound

    def _find_topic(self, request: Request) -> Any:
        id = MirrorQuery(request, ()).read_id("id")
        topics = self._state.topics if self._held_at is None else self._snapshot[1]
        if id not in topics:
            raise NotFound
        return mirror_rows.format_topic(topics[id])

    def _find_account(self, request: Request) -> Any:
        id = MirrorQuery(request, ("limit", "order", "timestamp", "transactions", "transactiontype")).read_id("id")
        accounts = self._state.accounts if self._held_at is None else self._snapshot[0]
        if id not in accounts:
            raise NotFound
        return mirror_rows.format_account(accounts[id], self._find_now())

    def _find_transaction(self, request: Request) -> Any:
        id = parse_transaction_id(request.path_params["id"])
        transaction = self._state.transactions.get(id)
        if transaction is None or transaction.timestamp > self._find_now():
            raise NotFound
        return {"transactions": [mirror_rows.format_transaction(transaction)]}

    def _list_transactions(self, request: Request) -> Any:
        query = MirrorQuery(request, ("account.id", "limit", "order", "result", "timestamp", "transactiontype", "type"))
        now = self._find_now()
        rows = [
            mirror_rows.format_transaction(transaction)
            for transaction in self._state.transactions.values()
            if transaction.timestamp < now and query.matches(0, transaction.timestamp)
        ]
        if query.matches(0, now):  # somebody else's, as there always is one on a public network
            rows.append(mirror_rows.format_foreign_transaction(now))
        page = (rows[::-1] if query.is_descending_by_default else rows)[: query.limit]
        return {"transactions": page, "links": {"next": None}}

    def _list_blocks(self, request: Request) -> Any:
        query = MirrorQuery(request, ("block.number", "limit", "order", "timestamp"))
        blocks = mirror_rows.list_blocks(self._find_now(), query.limit)
        return {"blocks": blocks if query.is_descending_by_default else blocks[::-1], "links": {"next": None}}

    def _read_exchange_rate(self, request: Request) -> Any:
        return mirror_rows.format_exchange_rate(self._find_now())

    def _read_fees(self, request: Request) -> Any:
        return mirror_rows.format_fees(self._find_now())


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
        assert self._is_ready.wait(WAIT_TIMEOUT), "the mirror does not start"

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
        self.join(WAIT_TIMEOUT)
        assert not self.is_alive(), "the mirror does not stop"
        self._socket.close()
