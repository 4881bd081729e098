"""
Conversations as pydantic-ai has them.

Providers are strict where a mind is not: requests and responses take turns, beginning and ending with a request; every
call has its return in the very next request, and no return is without its call; nothing is empty. A mind that was cut,
or whose process died, may be otherwise. So what has no place is given one:

    Prompt, Prompt             -> one request
    Result of a known call     -> a return, before the prompts of its request
    Result of a forgotten call -> words of a prompt
    a call without a Result    -> a return that says so
    Reply, Reply               -> a request in between that says to go on
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_core import PydanticSerializationError, to_json

from gatepost.core.mind import Call, Prompt, Reply, Result, Turn, Usage
from gatepost.core.model import ChatRequest, ToolSpec

_GO_ON: Final = "(go on)"
_NOTHING: Final = "(nothing)"
_UNANSWERED: Final = '{"error":"this call was never answered"}'
_NO_ARGUMENTS: Final = "{}"
#: more than anybody reads or writes in one answer
_MOST_TOKENS: Final = 10_000_000
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def messages(ask: ChatRequest, *, marks_failures: bool = True) -> list[ModelMessage]:
    """
    The conversation, ending with a request. `marks_failures` if the protocol has a mark for a result that is a failure;
    without one the library would wrap the result, which says itself that it is a failure, once more.
    """
    system: list[ModelRequestPart] = [SystemPromptPart(ask.system)] if ask.system.strip() else []
    said: list[ModelMessage] = []
    for exchange in _exchanges(ask.turns, marks_failures=marks_failures):
        if exchange.response is not None:
            if not said:
                said.append(ModelRequest([UserPromptPart(_GO_ON)]))
            said.append(exchange.response)
        said.append(ModelRequest(exchange.parts()))
    first = said[0]
    assert isinstance(first, ModelRequest)
    return [ModelRequest([*system, *first.parts]), *said[1:]]


def tool(spec: ToolSpec) -> ToolDefinition:
    schema = spec.schema if isinstance(spec.schema, dict) else {"type": "object", "properties": {}}
    return ToolDefinition(
        name=spec.name, description=spec.description, parameters_json_schema=dict(schema), strict=False
    )


def reply(response: ModelResponse, *, model: str, ids: Sequence[str]) -> Reply:
    """What the response says; its calls take these ids, in order."""
    calls: list[Call] = []
    parts: list[ModelResponsePart] = []
    for part in response.parts:
        match part:
            case ToolCallPart():
                call = Call(ids[len(calls)], clean(part.tool_name), clean(arguments(part.args)))
                calls.append(call)
                parts.append(_called(part, call))
            case TextPart() | ThinkingPart():
                parts.append(replace(part, content=clean(part.content)))
            case _:
                parts.append(part)
    text = "".join(part.content for part in parts if isinstance(part, TextPart))
    usage = Usage(prompt=_count(response.usage.input_tokens), completion=_count(response.usage.output_tokens))
    return Reply(text, tuple(calls), usage, model, _raw(replace(response, parts=parts)))


def _count(said: Any) -> int:
    """Return the tokens that a server says it has counted; 0, which is nobody's count, if that cannot be true."""
    if isinstance(said, bool) or not isinstance(said, int | float) or said != said // 1:
        return 0
    return int(said) if 0 < said <= _MOST_TOKENS else 0


def arguments(args: Any) -> str:
    """The arguments of a call as the model wrote them."""
    if isinstance(args, str):
        return args if args.strip() else _NO_ARGUMENTS
    return to_json(args).decode() if args else _NO_ARGUMENTS


def clean(text: str) -> str:
    """The same text as far as it can be stored: halves of characters and NULs are replaced."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


@dataclass(slots=True)
class _Exchange:
    """A response, none at the beginning, and what was shown after it."""

    marks_failures: bool
    response: ModelResponse | None = None
    calls: dict[str, str] = field(default_factory=dict)
    returns: dict[str, ToolReturnPart] = field(default_factory=dict)
    prompts: list[str] = field(default_factory=list)

    def show(self, turn: Prompt | Result) -> None:
        match turn:
            case Prompt(text=text):
                self.prompts.append(text)
            case Result(call=call, tool=name, content=content, ok=ok):
                if call in self.calls and call not in self.returns:
                    outcome = ToolReturnPart(self.calls[call], content or _NOTHING, call)
                    failed = self.marks_failures and not ok
                    self.returns[call] = replace(outcome, outcome="failed") if failed else outcome
                else:
                    self.prompts.append(f"[Result of {name}, from before] {content}")

    def parts(self) -> list[ModelRequestPart]:
        """The returns in the order of the calls, then the prompts."""
        returns = [
            self.returns.get(call) or ToolReturnPart(name, _UNANSWERED, call) for call, name in self.calls.items()
        ]
        prompts = [UserPromptPart(text) for text in self.prompts if text.strip()]
        return [*returns, *prompts] or [UserPromptPart(_GO_ON)]


def _exchanges(turns: Sequence[Turn], *, marks_failures: bool) -> Iterator[_Exchange]:
    current = _Exchange(marks_failures)
    for turn in turns:
        if not isinstance(turn, Reply):
            current.show(turn)
            continue
        response = _response(turn)
        if response is None:
            continue
        if current.response is not None or current.prompts:
            yield current
        calls = {part.tool_call_id: part.tool_name for part in response.parts if isinstance(part, ToolCallPart)}
        current = _Exchange(marks_failures, response, calls)
    yield current


def _response(said: Reply) -> ModelResponse | None:
    """The message as it was, if it was kept and is whole; otherwise made of its parts; none if there are none."""
    if said.raw is not None:
        try:
            (kept,) = ModelMessagesTypeAdapter.validate_json(said.raw)
        except (ValidationError, ValueError):
            kept = None
        if isinstance(kept, ModelResponse) and _ids(kept) == [call.id for call in said.calls]:
            return replace(kept, parts=[_named(part) for part in kept.parts]) if _worth_sending(kept) else None
    parts: list[ModelResponsePart] = [TextPart(said.text)] if said.text.strip() else []
    seen: set[str] = set()
    for call in said.calls:
        if call.id not in seen:
            parts.append(_named(ToolCallPart(call.tool, call.arguments, call.id)))
            seen.add(call.id)
    return ModelResponse(parts) if parts else None


def _named(part: ModelResponsePart) -> ModelResponsePart:
    """The same, but a tool that cannot exist, for models make up names, is called what providers accept."""
    if not isinstance(part, ToolCallPart) or _NAME.fullmatch(part.tool_name):
        return part
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", part.tool_name)[:64] or "unknown"
    return _called(part, Call(part.tool_call_id, name, arguments(part.args)))


def _called(part: ToolCallPart[Any], call: Call) -> ToolCallPart[Any]:
    """The same part, for this call."""
    return ToolCallPart(
        call.tool,
        call.arguments,
        call.id,
        id=part.id,
        provider_name=part.provider_name,
        provider_details=part.provider_details,
    )


def _ids(response: ModelResponse) -> list[str]:
    return [part.tool_call_id for part in response.parts if isinstance(part, ToolCallPart)]


def _worth_sending(response: ModelResponse) -> bool:
    """Whether there is more than thoughts that led to nothing."""
    return any(
        isinstance(part, ToolCallPart) or (isinstance(part, TextPart) and part.content.strip())
        for part in response.parts
    )


def _raw(response: ModelResponse) -> str | None:
    try:
        kept = replace(response, provider_url=None)  # which may have a password in it
        return ModelMessagesTypeAdapter.dump_json([kept], exclude_none=True).decode()
    except (PydanticSerializationError, ValueError):
        return None
