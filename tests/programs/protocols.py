"""
The four model protocols that the agent programs speak, as far as a scripted model needs them:

    anthropic   POST .../messages                          Claude Code
    openai      POST .../responses                         Codex
    chat        POST .../chat/completions                  OpenCode
    gemini      POST ...:streamGenerateContent (or not)    Gemini CLI

A request is read for two things: whether an agent sent it (it offers tools; the programs also ask for titles and the
like), and which text is new in it, that is, comes after the last turn of the model. A reply is written as the stream
that the protocol has.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True)
class Call:
    """A call of a tool by its name in the program."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Message:
    """What the model answers: text, tool calls, or both. Commands are calls of the program's shell tool."""

    text: str = ""
    commands: Sequence[str] = ()
    calls: Sequence[Call] = ()


@dataclass(frozen=True)
class Request:
    """A request of a program to its model."""

    protocol: str
    body: Mapping[str, Any]

    @property
    def is_from_agent(self) -> bool:
        return bool(self.body.get("tools"))

    @property
    def turns(self) -> Sequence[Mapping[str, Any]]:
        return next((self.body[name] for name in ("messages", "input", "contents") if self.body.get(name)), [])

    @property
    def text(self) -> str:
        """All text of the conversation."""
        return "\n".join(_find_strings(self.turns))

    @property
    def new_text(self) -> str:
        """The text after the last turn of the model: what it is shown for the first time."""
        last = max((index for index, turn in enumerate(self.turns) if _is_from_model(turn)), default=-1)
        return "\n".join(_find_strings(self.turns[last + 1 :]))


#: the content type and the body of an answer
Encoded = tuple[str, bytes]


def find_protocol(path: str) -> str | None:
    """Return the protocol of a request's path."""
    path = path.partition("?")[0]
    if path.endswith("/messages"):
        return "anthropic"
    if path.endswith("/responses"):
        return "openai"
    if path.endswith("/chat/completions"):
        return "chat"
    return "gemini" if path.endswith((":streamGenerateContent", ":generateContent")) else None


def encode(request: Request, message: Message, number: int, *, streams: bool) -> Encoded:
    """Return the answer as the program expects it; `number` makes its ids unique."""
    return _ENCODERS[request.protocol](request, message, number, streams)


def _encode_anthropic(request: Request, message: Message, number: int, streams: bool) -> Encoded:
    calls = [
        *message.calls,
        *(Call("Bash", {"command": shell_command, "description": "run"}) for shell_command in message.commands),
    ]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text else []
    blocks += [
        {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": call.name, "input": call.arguments}
        for index, call in enumerate(calls)
    ]
    envelope: dict[str, Any] = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    stop_reason = "tool_use" if calls else "end_turn"
    if not request.body.get("stream"):
        return _encode_json({**envelope, "content": blocks, "stop_reason": stop_reason})
    events: list[dict[str, Any]] = [{"type": "message_start", "message": envelope}]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    events += [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}, {"type": "message_stop"}]
    return _encode_events(events)


def _encode_openai(request: Request, message: Message, number: int, streams: bool) -> Encoded:
    calls = [*message.calls, *(Call("exec_command", {"cmd": shell_command}) for shell_command in message.commands)]
    namespaces = {
        tool["name"]: group["name"]
        for group in request.body.get("tools", ())
        if group.get("type") == "namespace"
        for tool in group["tools"]
    }
    content = [{"type": "output_text", "text": message.text}]
    items: list[dict[str, Any]] = (
        [{"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}] if message.text else []
    )
    for index, call in enumerate(calls):
        item = {
            "type": "function_call",
            "id": f"fc_{number}_{index}",
            "call_id": f"call_{number}_{index}",
            "name": call.name,
            "arguments": json.dumps(call.arguments),
        }
        items.append(item | ({"namespace": namespaces[call.name]} if call.name in namespaces else {}))
    usage = {
        "input_tokens": 10,
        "input_tokens_details": None,
        "output_tokens": 5,
        "output_tokens_details": None,
        "total_tokens": 15,
    }
    response = {"id": f"resp_{number}"}
    return _encode_events(
        [
            {"type": "response.created", "response": response},
            *(
                {"type": "response.output_item.done", "output_index": output_index, "item": item}
                for output_index, item in enumerate(items)
            ),
            {"type": "response.completed", "response": {**response, "usage": usage}},
        ]
    )


def _encode_chat(request: Request, message: Message, number: int, streams: bool) -> Encoded:
    shell_calls = (Call("bash", {"command": shell_command, "description": "run"}) for shell_command in message.commands)
    calls = [
        {
            "index": index,
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for index, call in enumerate([*message.calls, *shell_calls])
    ]
    reply = {"role": "assistant", "content": message.text or None} | ({"tool_calls": calls} if calls else {})
    finish_reason = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    envelope: dict[str, Any] = {"id": f"chat_{number}", "created": 0, "model": request.body.get("model")}
    if not request.body.get("stream"):
        choice = {"index": 0, "message": reply, "finish_reason": finish_reason}
        return _encode_json({**envelope, "object": "chat.completion", "choices": [choice], "usage": usage})
    envelope["object"] = "chat.completion.chunk"
    chunks: list[dict[str, Any]] = [
        {"delta": reply, "finish_reason": None},
        {"delta": {}, "finish_reason": finish_reason},
    ]
    events: list[dict[str, Any]] = [{**envelope, "choices": [{"index": 0} | chunk]} for chunk in chunks]
    content_type, body = _encode_events([*events, {**envelope, "choices": [], "usage": usage}])
    return content_type, body + b"data: [DONE]\n\n"


def _encode_gemini(request: Request, message: Message, number: int, streams: bool) -> Encoded:
    shell_calls = (
        Call("run_shell_command", {"command": shell_command, "description": "run"})
        for shell_command in message.commands
    )
    parts: list[dict[str, Any]] = [{"text": message.text}] if message.text else []
    parts += [
        {"functionCall": {"id": f"call_{number}_{index}", "name": call.name, "args": call.arguments}}
        for index, call in enumerate([*message.calls, *shell_calls])
    ]
    document = {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
    }
    return _encode_events([document]) if streams else _encode_json(document)


_ENCODERS: Final[Mapping[str, Callable[[Request, Message, int, bool], Encoded]]] = {
    "anthropic": _encode_anthropic,
    "openai": _encode_openai,
    "chat": _encode_chat,
    "gemini": _encode_gemini,
}


def _encode_json(document: Mapping[str, Any]) -> Encoded:
    return "application/json", json.dumps(document).encode()


def _encode_events(events: Sequence[Mapping[str, Any]]) -> Encoded:
    lines = (
        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n" for event in events
    )
    return "text/event-stream", "".join(lines).encode()


def _is_from_model(turn: Mapping[str, Any]) -> bool:
    return turn.get("role") in {"assistant", "model"} or turn.get("type") in {"function_call", "reasoning"}


def _find_strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _find_strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _find_strings(inner)
