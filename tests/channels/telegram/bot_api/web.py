"""Requests and answers of the Bot API over HTTP, and the thread that serves them."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Send

from tests.channels.telegram.bot_api.faults import Fault
from tests.channels.telegram.bot_api.rules import Refusal
from tests.support.gateways.local_gateways import finish_accepts
from tests.support.waits import LAST_RESORT


async def read_values(request: Request) -> dict[str, str]:
    """Return the parameters of a request as text: those of a JSON object, or none."""
    body = await request.body()
    if request.method == "GET" and not request.url.query:
        return {}
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method != "POST" or content_type != "application/json":
        raise Refusal(400, f'the test server does not read "{content_type}", and parameters only from a POST')
    try:
        document = json.loads(body)
    except UnicodeDecodeError:
        raise Refusal(400, "strings must be encoded in UTF-8") from None
    except ValueError:
        raise Refusal(400, "can't parse object") from None
    if not isinstance(document, dict):
        raise Refusal(400, "JSON object expected")
    # What is no text is kept as JSON; so a null is the text "null", and not nothing.
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in document.items()}


def build_error(refusal: Refusal) -> Response:
    error = {"ok": False, "error_code": refusal.code, "description": refusal.description}
    retry_after = refusal.parameters.get("retry_after")
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    document = {**error, "parameters": refusal.parameters} if refusal.parameters else error
    return JSONResponse(document, refusal.code, headers)


def build_own_answer(fault: Fault) -> Response | None:
    if fault.answer is None:
        return None
    answer = fault.answer
    if isinstance(answer.body, bytes):
        return Response(answer.body, answer.status, dict(answer.headers), media_type="text/html")
    return JSONResponse(answer.body, answer.status, dict(answer.headers))


async def send_response(request: Request, send: Send, response: Response, fault: Fault) -> None:
    """Send an answer, half of it, or nothing."""
    if not fault.is_dropped and not fault.is_cut:
        await response(request.scope, request.receive, send)
        return
    if fault.is_cut:
        await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
        half = bytes(response.body)[: len(response.body) // 2]
        await send({"type": "http.response.body", "body": half, "more_body": True})
    # The way from an ASGI application to its connection: `receive` is a method of uvicorn's request.
    cycle: Any = request.receive
    cycle.__self__.transport.close()
    while (await request.receive())["type"] != "http.disconnect":
        pass


class ServerThread(threading.Thread):
    """The application on a port, in a thread with a loop of its own, from construction to `stop`."""

    loop: asyncio.AbstractEventLoop

    def __init__(self, app: Callable[..., Any], port: int) -> None:
        super().__init__(name="telegram", daemon=True)
        self._app = app
        self._socket = socket.create_server(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else an answer waits 40 ms for an ACK
        self.port: int = self._socket.getsockname()[1]
        self._is_ready = threading.Event()
        self.start()
        assert self._is_ready.wait(LAST_RESORT), "the server does not start"

    def run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._exit_requested = asyncio.Event()
        config = uvicorn.Config(
            self._app,
            interface="asgi3",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
        )
        server = uvicorn.Server(config)
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets=[self._socket])
        self._is_ready.set()
        await self._exit_requested.wait()
        for listener in server.servers:
            listener.close()
        await finish_accepts()
        for connection in list(server.server_state.connections):
            transport: Any = connection.transport
            transport.abort()
        # uvicorn learns of it, and answers nothing to what is cancelled; it has no event that says so.
        while server.server_state.connections:  # noqa: ASYNC110
            await asyncio.sleep(0)
        for task in list(server.server_state.tasks):
            task.cancel()
        await asyncio.gather(*server.server_state.tasks, return_exceptions=True)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self._exit_requested.set)
        self.join(LAST_RESORT)
        assert not self.is_alive(), "the server does not stop"
        self._socket.close()
