"""
A model that follows a script, behind a real port, in the three protocols that the agent programs speak.

The script is a function: it gets a request and returns what the model answers. It runs in the thread of that request,
so whatever it does (push an item, resolve a gate) is done before the program gets the answer; no test has to wait or to
guess. Every request of an agent is recorded with its answer. A request beyond `limit` is refused for good, so that a
program that never stops fails its test instead of hanging it.
"""

import json
import re
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from types import TracebackType
from typing import Any, Final, Self

from tests.programs import protocols
from tests.programs.protocols import Call, Message, Request

DONE: Final = Message("Done.")


@dataclass(frozen=True)
class Failure:
    """The model answers with an error."""

    status: int = 500


@dataclass(frozen=True)
class Disconnect:
    """The model cuts the connection without an answer."""


Reply = Message | Failure | Disconnect
Script = Callable[[Request], Reply]


@dataclass(frozen=True)
class Exchange:
    """A request of an agent, and what it was answered."""

    request: Request
    reply: Reply

    @property
    def shown_text(self) -> str:
        """The text that is new to the model; nothing if it did not answer."""
        return self.request.new_text if isinstance(self.reply, Message) else ""


def follow(*replies: Reply) -> Script:
    """Return a script that gives these replies in turn, and then says that it is done."""
    remaining = iter(replies)
    lock = threading.Lock()

    def script(_: Request) -> Reply:
        with lock:
            return next(remaining, DONE)

    return script


def call_helper(request: Request) -> Reply:
    """Start a helper with the task "Help." and wait for it; then say that it is done."""
    if "Help." not in request.text:
        match request.protocol:
            case "anthropic":
                options = {"subagent_type": "general-purpose", "run_in_background": False}
                call = Call("Agent", {"description": "help", "prompt": "Help.", **options})
            case "openai":
                call = Call("spawn_agent", {"message": "Help."})
            case _:
                call = Call("invoke_agent", {"agent_name": "generalist", "prompt": "Help."})
        return Message(calls=[call])
    match = re.search(r'"agent_id":\s*"([0-9a-f-]+)"', request.new_text)
    if request.protocol == "openai" and match:  # the others have waited for it
        return Message(calls=[Call("wait_agent", {"targets": [match[1]], "timeout_ms": 60_000})])
    return DONE


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A program that was killed leaves its connection; any other error is shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class ScriptedModel:
    """The server. Assign `script` at any time; what it raised is in `errors`."""

    def __init__(self, limit: int = 30) -> None:
        self.script: Script = follow()
        self.exchanges: list[Exchange] = []
        #: requests of agents that have come, also those that are not answered yet
        self.request_count = 0
        self.errors: list[BaseException] = []
        self._limit = limit
        self._numbers = count(1)
        self._server = _Server(("127.0.0.1", 0), self._make_handler())
        self._thread = threading.Thread(target=self._server.serve_forever, name="scripted model")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def count_shown(self, text: str) -> int:
        """Return how often a model that answered was shown the text anew."""
        return sum(exchange.shown_text.count(text) for exchange in self.exchanges)

    def _decide(self, request: Request) -> Reply:
        if not request.is_from_agent:
            return DONE
        self.request_count += 1
        if len(self.exchanges) >= self._limit:
            return Failure(400)
        try:
            reply = self.script(request)
        except BaseException as error:  # noqa: BLE001 (the test raises it again)
            self.errors.append(error)
            reply = Failure(400)
        self.exchanges.append(Exchange(request, reply))
        return reply

    def _make_handler(model: Self) -> type[BaseHTTPRequestHandler]:  # noqa: N805 (the handler has a self of its own)
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self._send(200, "application/json", b"")

            def do_GET(self) -> None:
                self._send_json(200, {"data": [], "models": []})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                path = self.path.partition("?")[0]
                if path.endswith(("/count_tokens", ":countTokens")):
                    self._send_json(200, {"input_tokens": 100, "totalTokens": 100})
                    return
                protocol = protocols.find_protocol(path)
                if protocol is None:
                    self._send_json(404, {"error": {"message": f"there is nothing at {path}"}})
                    return
                request = Request(protocol, json.loads(body))
                match model._decide(request):
                    case Message() as message:
                        number, streams = next(model._numbers), "stream" in path
                        self._send(200, *protocols.encode(request, message, number, streams=streams))
                    case Failure(status):
                        error = {"type": "api_error", "message": "scripted failure", "code": status}
                        self._send_json(status, {"type": "error", "error": error})
                    case Disconnect():
                        self.close_connection = True

            def _send_json(self, status: int, document: Mapping[str, Any]) -> None:
                self._send(status, "application/json", json.dumps(document).encode())

            def _send(self, status: int, content_type: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", content_type)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler
