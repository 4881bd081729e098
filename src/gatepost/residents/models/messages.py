"""
Converts conversations to and from the messages of pydantic-ai.

Providers are strict where a mind is not: requests and responses alternate, and the first and the last are requests;
every call has its return in the next request, and every return has its call; nothing is empty. A mind that was
compacted, or whose process died, may break these rules. So turns that do not fit are converted:

    Prompt, Prompt                    -> one request
    CallResult of a known call        -> a return, before the prompts of its request
    CallResult of a forgotten call    -> text of a prompt
    a call without a CallResult       -> a return that says so
    ModelReply, ModelReply            -> a request between them that says to go on
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import ValidationError
from pydantic_ai import messages as wire
from pydantic_ai.tools import ToolDefinition
from pydantic_core import PydanticSerializationError, to_json

from gatepost.residents.model_port import CallResult, ChatRequest, ModelReply, Prompt, ToolCall, ToolSpec, Turn, Usage

_CONTINUE_TEXT: Final = "(go on)"
_EMPTY_RESULT: Final = "(nothing)"
_MISSING_RESULT: Final = '{"error":"this call was never answered"}'
_NO_ARGUMENTS: Final = "{}"
#: more than one request can use
_MAX_TOKENS: Final = 10_000_000
_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def build_messages(request: ChatRequest, *, can_mark_failures: bool = True) -> list[wire.ModelMessage]:
    """
    Return the conversation, which ends with a request. `can_mark_failures` says that the protocol has a mark for failed
    results. Without such a mark the library would wrap the result again, which already says that it is a failure.
    """
    system: list[wire.ModelRequestPart] = [wire.SystemPromptPart(request.system)] if request.system.strip() else []
    messages: list[wire.ModelMessage] = []
    for exchange in _split_exchanges(request.turns, can_mark_failures=can_mark_failures):
        if exchange.response is not None:
            if not messages:
                messages.append(wire.ModelRequest([wire.UserPromptPart(_CONTINUE_TEXT)]))
            messages.append(exchange.response)
        messages.append(wire.ModelRequest(exchange.build_parts()))
    first = messages[0]
    assert isinstance(first, wire.ModelRequest)
    return [wire.ModelRequest([*system, *first.parts]), *messages[1:]]


def build_tool_definition(spec: ToolSpec) -> ToolDefinition:
    schema = spec.schema if isinstance(spec.schema, dict) else {"type": "object", "properties": {}}
    return ToolDefinition(
        name=spec.name, description=spec.description, parameters_json_schema=dict(schema), strict=False
    )


def parse_reply(response: wire.ModelResponse, *, model: str, ids: Sequence[str]) -> ModelReply:
    """Return the response as a reply; its calls get these ids, in order."""
    calls: list[ToolCall] = []
    parts: list[wire.ModelResponsePart] = []
    for part in response.parts:
        match part:
            case wire.ToolCallPart():
                call = ToolCall(ids[len(calls)], clean_text(part.tool_name), clean_text(format_arguments(part.args)))
                calls.append(call)
                parts.append(_replace_call(part, call))
            case wire.TextPart() | wire.ThinkingPart():
                parts.append(replace(part, content=clean_text(part.content)))
            case _:
                parts.append(part)
    text = "".join(part.content for part in parts if isinstance(part, wire.TextPart))
    usage = Usage(_read_token_count(response.usage.input_tokens), _read_token_count(response.usage.output_tokens))
    return ModelReply(text, tuple(calls), usage, model, _dump_response(replace(response, parts=parts)))


def _read_token_count(value: Any) -> int:
    """Return the token count of a server; 0, which means unknown, if the value is impossible."""
    is_count = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    return int(value) if is_count and 0 < value <= _MAX_TOKENS else 0


def format_arguments(args: Any) -> str:
    """Return the arguments of a call as JSON, as the model wrote them."""
    if isinstance(args, str):
        return args if args.strip() else _NO_ARGUMENTS
    return to_json(args).decode() if args else _NO_ARGUMENTS


def clean_text(text: str) -> str:
    """Return the text in a form that can be stored: lone surrogates and NULs are replaced."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


@dataclass(slots=True)
class _ModelExchange:
    """A response and the turns after it; the first exchange may have no response."""

    can_mark_failures: bool
    response: wire.ModelResponse | None = None
    calls: dict[str, str] = field(default_factory=dict)
    returns: dict[str, wire.ToolReturnPart] = field(default_factory=dict)
    prompts: list[str] = field(default_factory=list)

    def add_turn(self, turn: Prompt | CallResult) -> None:
        match turn:
            case Prompt(text=text):
                self.prompts.append(text)
            case CallResult(call=call, tool=name, content=content, ok=ok):
                if call in self.calls and call not in self.returns:
                    outcome = wire.ToolReturnPart(self.calls[call], content or _EMPTY_RESULT, call)
                    is_failure = self.can_mark_failures and not ok
                    self.returns[call] = replace(outcome, outcome="failed") if is_failure else outcome
                else:
                    self.prompts.append(f"[Result of {name}, from before] {content}")

    def build_parts(self) -> list[wire.ModelRequestPart]:
        """Return the tool returns in the order of the calls, then the prompts."""
        returns = [
            self.returns.get(call) or wire.ToolReturnPart(name, _MISSING_RESULT, call)
            for call, name in self.calls.items()
        ]
        prompts = [wire.UserPromptPart(text) for text in self.prompts if text.strip()]
        return [*returns, *prompts] or [wire.UserPromptPart(_CONTINUE_TEXT)]


def _split_exchanges(turns: Sequence[Turn], *, can_mark_failures: bool) -> Iterator[_ModelExchange]:
    current = _ModelExchange(can_mark_failures)
    for turn in turns:
        if not isinstance(turn, ModelReply):
            current.add_turn(turn)
            continue
        response = _build_response(turn)
        if response is None:
            continue
        if current.response is not None or current.prompts:
            yield current
        calls = {part.tool_call_id: part.tool_name for part in response.parts if isinstance(part, wire.ToolCallPart)}
        current = _ModelExchange(can_mark_failures, response, calls)
    yield current


def _build_response(reply: ModelReply) -> wire.ModelResponse | None:
    """Return the original message if it was stored intact, else one built from the reply; None if it is empty."""
    if reply.raw is not None:
        try:
            (message,) = wire.ModelMessagesTypeAdapter.validate_json(reply.raw)
        except (ValidationError, ValueError):
            message = None
        if isinstance(message, wire.ModelResponse):
            call_ids = [part.tool_call_id for part in message.parts if isinstance(part, wire.ToolCallPart)]
            if call_ids == [call.id for call in reply.calls]:
                fixed_parts = [_fix_tool_name(part) for part in message.parts]
                return replace(message, parts=fixed_parts) if _has_content(message) else None
    parts: list[wire.ModelResponsePart] = [wire.TextPart(reply.text)] if reply.text.strip() else []
    seen_ids: set[str] = set()
    for call in reply.calls:
        if call.id not in seen_ids:
            parts.append(_fix_tool_name(wire.ToolCallPart(call.tool, call.arguments, call.id)))
            seen_ids.add(call.id)
    return wire.ModelResponse(parts) if parts else None


def _fix_tool_name(part: wire.ModelResponsePart) -> wire.ModelResponsePart:
    """Return the part with a tool name that providers accept: models sometimes invent names."""
    if not isinstance(part, wire.ToolCallPart) or _TOOL_NAME.fullmatch(part.tool_name):
        return part
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", part.tool_name)[:64] or "unknown"
    return _replace_call(part, ToolCall(part.tool_call_id, name, format_arguments(part.args)))


def _replace_call(part: wire.ToolCallPart[Any], call: ToolCall) -> wire.ToolCallPart[Any]:
    """Return the part with the id, the name and the arguments of this call."""
    return wire.ToolCallPart(
        call.tool,
        call.arguments,
        call.id,
        id=part.id,
        provider_name=part.provider_name,
        provider_details=part.provider_details,
    )


def _has_content(response: wire.ModelResponse) -> bool:
    """Return True if the response has text or calls, not only thinking."""
    return any(
        isinstance(part, wire.ToolCallPart) or (isinstance(part, wire.TextPart) and part.content.strip())
        for part in response.parts
    )


def _dump_response(response: wire.ModelResponse) -> str | None:
    try:
        stored_response = replace(response, provider_url=None)  # it may contain a password
        return wire.ModelMessagesTypeAdapter.dump_json([stored_response], exclude_none=True).decode()
    except (PydanticSerializationError, ValueError):
        return None
