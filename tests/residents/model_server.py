"""
A language model to test with: a real HTTP server that speaks the chat-completions protocol of OpenAI and says what the
test wants, in words or tool calls, streamed or not, whole or broken.

A script is a function from what was asked to an answer. An answer is a part, or several in a row. The server runs in
threads of its own, so any loop and any process may talk to it.

    def script(request: CompletionRequest) -> Answer:
        if request.tool_results:                            # what came back from the tools just used
            return Say("Responded to Husam about the meeting. Nothing is pending.")
        assert "enter_space" in request.tool_names
        return [
            Say("I will tell them. "),
            Use("enter_space", {"spaceId": "family"}),      # arguments are streamed in pieces
            Use("send_message", {"text": "At 3pm."}),
        ]

    with ModelServer(script) as server:
        config = ModelChoice(name="openai:gpt-test", base_url=server.url)
        ...
        await server.wait_for_requests(2)                   # until it was asked twice
        assert server.requests[0].inbox.startswith("INBOX (1 event")

    pause = PausePoint()                                    # the server stops here until the test opens it
    script = follow_script(rate_limit_error(7), [Say("Hel"), pause, Say("lo")], [Say("Hel"), Cut()], Fail(500))

A script that raises (also by `assert`) answers 500, and leaving the `with` raises what it raised.
"""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

from tests.support.waits import LAST_RESORT

#: seconds after which what was waited for is missing
WAIT_TIMEOUT: Final = LAST_RESORT
#: characters of one streamed piece
_PIECE_LENGTH: Final = 7


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class Use:
    """Call a tool. Arguments that are text are sent as they are, and need not be JSON."""

    tool: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    #: None for one that nobody else has; an empty one, or the same twice, is a fault some servers have
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Think:
    """Reasoning, in the field that OpenAI-compatible servers have for it."""

    text: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """Say no in the way the protocol has for it."""

    text: str = "I cannot help with that."


@dataclass(frozen=True, slots=True)
class Finish:
    """Why it ends, where that is not what it did; None ends the stream in good order without having finished."""

    reason: str | None


@dataclass(frozen=True, slots=True)
class Tokens:
    """What it says it has used; otherwise a quarter of the characters."""

    prompt: int
    completion: int


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Something else instead of a chunk: an error, or what is not JSON at all."""

    data: str


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection breaks here, or earlier: after so many chunks."""

    after: int | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """No answer but this status."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


class PausePoint:
    """Where the server stops until the test has opened it. Once open it stays open."""

    def __init__(self) -> None:
        self.reached_event = threading.Event()
        self._open_event = threading.Event()

    def open(self) -> None:
        self._open_event.set()

    def wait_until_open(self) -> None:
        """Called by the server, which is here now."""
        self.reached_event.set()
        if not self._open_event.wait(WAIT_TIMEOUT):
            raise TimeoutError("nobody opened the gate")

    async def wait_until_reached(self) -> None:
        """Until the server has come here."""
        if not await asyncio.to_thread(self.reached_event.wait, WAIT_TIMEOUT):
            raise TimeoutError("the server never came to the gate")


Part = Say | Use | Think | Refuse | Finish | Tokens | Verbatim | Cut | PausePoint
Answer = Part | Fail | Sequence[Part]


def rate_limit_error(retry_after: float | str | None = None) -> Fail:
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Fail(429, _build_error("Rate limit reached", "rate_limit_exceeded"), headers)


def unauthorized_error() -> Fail:
    return Fail(401, _build_error("Incorrect API key provided", "invalid_api_key"))


def policy_error() -> Fail:
    return Fail(400, _build_error("Your request was rejected by our safety system", "content_policy_violation"))


def _build_error(message: str, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


class CompletionRequest(dict[str, Any]):
    """The body of a request, and what scripts and tests want to know of it."""

    #: what was sent as the bearer token
    api_key: str | None = None

    @property
    def model(self) -> str:
        return str(self["model"])

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self["messages"])

    @property
    def tool_names(self) -> list[str]:
        """The names of the tools it may use."""
        return [tool["function"]["name"] for tool in self.get("tools") or ()]

    @property
    def system(self) -> str:
        return "\n".join(
            _extract_text(message) for message in self.messages if message["role"] in {"system", "developer"}
        )

    @property
    def inbox(self) -> str:
        """The last batch it was shown."""
        user_texts = [_extract_text(message) for message in self.messages if message["role"] == "user"]
        return next((text for text in reversed(user_texts) if text.startswith("INBOX (")), "")

    @property
    def tool_results(self) -> list[Any]:
        """What the tools it used last have returned, in order; none if it has used none since it last spoke."""
        recent = self.messages
        for index in reversed(range(len(recent))):
            if recent[index]["role"] == "assistant":
                recent = recent[index + 1 :]
                break
        return [_parse_json(_extract_text(message)) for message in recent if message["role"] == "tool"]


Script = Callable[[CompletionRequest], Answer]


def follow_script(*answers: Answer) -> Script:
    """A script that gives these one after the other, however the question reads, and then has no more."""
    lock, remaining = threading.Lock(), iter(answers)

    def script(request: CompletionRequest) -> Answer:
        with lock:
            for answer in remaining:
                return answer
        raise AssertionError(f"asked once more than the {len(answers)} times there is an answer for: {request.inbox!r}")

    return script


class ModelServer:
    """A server that answers by the script, from construction to `close()`. The script may be replaced at any time."""

    def __init__(self, script: Script) -> None:
        self.script = script
        #: every request, in the order of arrival
        self.requests: list[CompletionRequest] = []
        #: how many answers were not heard to their end
        self.hangup_count = 0
        #: what scripts raised
        self.errors: list[BaseException] = []
        self._changed = threading.Condition()
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if error is None and self.errors:
            raise self.errors[0]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def block_until_requests(self, times: int) -> None:
        """Until it was asked so many times in all."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= times, WAIT_TIMEOUT):
                raise TimeoutError(f"asked {len(self.requests)} times and not {times}")

    async def wait_for_requests(self, times: int) -> None:
        """The same, without holding up a loop."""
        await asyncio.to_thread(self.block_until_requests, times)

    def wait_for_hangups(self, times: int) -> None:
        """Until so many have hung up before the end."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.hangup_count >= times, WAIT_TIMEOUT):
                raise TimeoutError(f"{self.hangup_count} have hung up and not {times}")

    def answer(self, request: CompletionRequest) -> Answer:
        """Called for every request, in a thread of its own."""
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        try:
            return self.script(request)
        except BaseException as error:  # noqa: BLE001 (whatever the script raised is the test's to see)
            with self._changed:
                self.errors.append(error)
            return Fail(500, _build_error(f"the script raised {type(error).__name__}", "server_error"))

    def count_hangup(self) -> None:
        """Called when somebody has hung up before the end."""
        with self._changed:
            self.hangup_count += 1
            self._changed.notify_all()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, model: ModelServer) -> None:
        self.model = model
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is nothing to print."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/v1/chat/completions":
            self._send_response(404, _build_error(f"no such path: {self.path}", "not_found"))
            return
        request = CompletionRequest(json.loads(body))
        request.api_key = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None
        answer = self.server.model.answer(request)
        if isinstance(answer, Fail):
            self._send_response(answer.status, answer.body, answer.headers)
            return
        parts = list(answer) if isinstance(answer, Sequence) else [answer]
        try:
            if request.get("stream"):
                self._stream(request, parts)
            else:
                self._send_response(200, _build_completion(request, parts))
        except (OSError, TimeoutError):
            self.close_connection = True
            self.server.model.count_hangup()

    def _send_response(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        content = (body if isinstance(body, str) else json.dumps(body if body is not None else {})).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if isinstance(body, str) else "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, request: CompletionRequest, parts: Sequence[Part]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        cut_after = next((part.after for part in parts if isinstance(part, Cut) and part.after is not None), None)
        chunk_count = 0
        for step in _build_chunks(request, parts):
            match step:
                case PausePoint():
                    step.wait_until_open()
                case str():
                    if chunk_count == cut_after:
                        return self._break()
                    self._chunk(f"data: {step}\n\n".encode())
                    chunk_count += 1
                case None:
                    return self._break()
        return self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _break(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def _build_chunks(request: CompletionRequest, parts: Sequence[Part]) -> Iterator[str | PausePoint | None]:
    """What is streamed, one chunk after the other; a gate to wait at; None where the connection breaks."""
    head = {"id": f"chatcmpl-{uuid4().hex}", "object": "chat.completion.chunk", "created": 1, "model": request.model}

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return json.dumps({**head, "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    call_indexes = count()
    for part in parts:
        match part:
            case PausePoint():
                yield part
            case Cut(after=None):
                yield None
            case Verbatim(data=data):
                yield data
            case Say(text=text):
                yield from (chunk({"content": piece}) for piece in _split_pieces(text))
            case Think(text=text):
                yield from (chunk({"reasoning_content": piece}) for piece in _split_pieces(text))
            case Refuse(text=text):
                yield chunk({"refusal": text})
            case Use(tool=tool):
                call_index = next(call_indexes)
                function = {"name": tool, "arguments": ""}
                yield chunk(
                    {
                        "tool_calls": [
                            {"index": call_index, "id": _get_call_id(part), "type": "function", "function": function}
                        ]
                    }
                )
                for piece in _split_pieces(_encode_arguments(part)):
                    yield chunk({"tool_calls": [{"index": call_index, "function": {"arguments": piece}}]})
            case Finish() | Tokens() | Cut():
                pass
    reason = _find_finish_reason(parts)
    if reason is None:
        return
    yield chunk({}, reason)
    if (request.get("stream_options") or {}).get("include_usage"):
        yield json.dumps({**head, "choices": [], "usage": _count_usage(request, parts)})
    yield "[DONE]"


def _build_completion(request: CompletionRequest, parts: Sequence[Part]) -> dict[str, Any]:
    for part in parts:
        if isinstance(part, PausePoint):
            part.wait_until_open()
    text = "".join(part.text for part in parts if isinstance(part, Say))
    calls = [
        {
            "id": _get_call_id(part),
            "type": "function",
            "function": {"name": part.tool, "arguments": _encode_arguments(part)},
        }
        for part in parts
        if isinstance(part, Use)
    ]
    message = {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})
    refusals = [part.text for part in parts if isinstance(part, Refuse)]
    if refusals:
        message["refusal"] = "".join(refusals)
    return {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion",
        "created": 1,
        "model": request.model,
        "choices": [{"index": 0, "message": message, "finish_reason": _find_finish_reason(parts), "logprobs": None}],
        "usage": _count_usage(request, parts),
    }


def _find_finish_reason(parts: Sequence[Part]) -> str | None:
    for part in parts:
        if isinstance(part, Finish):
            return part.reason
    return "tool_calls" if any(isinstance(part, Use) for part in parts) else "stop"


def _count_usage(request: CompletionRequest, parts: Sequence[Part]) -> dict[str, int]:
    tokens = next((part for part in parts if isinstance(part, Tokens)), None)
    if tokens is None:
        character_count = sum(len(part.text) for part in parts if isinstance(part, Say))
        character_count += sum(len(part.tool) + len(_encode_arguments(part)) for part in parts if isinstance(part, Use))
        tokens = Tokens(len(json.dumps(request.messages)) // 4, character_count // 4)
    return {
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.completion,
        "total_tokens": tokens.prompt + tokens.completion,
    }


def _get_call_id(tool_use: Use) -> str:
    return f"call_{uuid4().hex[:24]}" if tool_use.id is None else tool_use.id


def _encode_arguments(tool_use: Use) -> str:
    return tool_use.arguments if isinstance(tool_use.arguments, str) else json.dumps(tool_use.arguments)


def _split_pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE_LENGTH] for start in range(0, len(text), _PIECE_LENGTH))


def _extract_text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
