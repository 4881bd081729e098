"""
A model behind pydantic-ai: one request at a time, streamed.

Calls get ids of ours. Some servers send no ids, or `call_0` in every reply; but a call is stored under its id for good,
and its effect is recognised by it.
"""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final
from uuid import uuid4

from pydantic_ai import exceptions
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from gatepost.residents.model_failures import ModelFailed, Trouble
from gatepost.residents.model_port import CallDelta, ChatRequest, ModelOutput, ModelReply, TextDelta
from gatepost.residents.models import messages

#: seconds for a whole answer
ANSWER_TIMEOUT: Final = 600.0
_CODE_PATTERN: Final = re.compile(r"[a-z]+(?:_[a-z]+){0,6}")
#: seconds; a server that asks for a longer pause is asked again after this one
_MAX_RETRY_AFTER: Final = 3600.0
#: codes of refusals that do not depend on the conversation
_SETTING_ERROR_CODES: Final = frozenset(
    {
        "unsupported_parameter",
        "unsupported_value",
        "unknown_parameter",
        "invalid_function_parameters",
        "model_not_found",
        "unsupported_model",
    }
)


class PydanticModel:
    def __init__(
        self,
        model: Model,
        name: str,
        *,
        has_finish_reason: bool = False,
        can_mark_failures: bool = False,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """
        `has_finish_reason` says that the server always gives the reason why an answer ends: then an answer without one
        was cut off. `can_mark_failures` says that the protocol has a mark for failed results.
        """
        self._model = model
        self.name = name
        self._has_finish_reason = has_finish_reason
        self._can_mark_failures = can_mark_failures
        self._close = close

    async def respond(self, request: ChatRequest) -> AsyncGenerator[ModelOutput]:
        ids: dict[int, str] = {}
        try:
            settings = ModelSettings(request_timeout=ANSWER_TIMEOUT)
            if request.temperature is not None:
                settings["temperature"] = request.temperature
            if request.max_tokens is not None:
                settings["max_tokens"] = request.max_tokens
            async with model_request_stream(
                self._model,
                messages.build_messages(request, can_mark_failures=self._can_mark_failures),
                model_settings=settings,
                model_request_parameters=ModelRequestParameters(
                    function_tools=[messages.build_tool_definition(spec) for spec in request.tools]
                ),
            ) as stream:
                calls: dict[int, ToolCallPart] = {}
                async for event in stream:
                    match event:
                        case (
                            PartStartEvent(part=TextPart(content=text))
                            | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
                        ) if text:
                            yield TextDelta(messages.clean_text(text))
                        case PartStartEvent(index=index, part=ToolCallPart() as part):
                            calls[index] = part
                            yield _build_call_delta(ids.setdefault(index, _new_id()), part)
                        case PartDeltaEvent(index=index, delta=ToolCallPartDelta() as delta) if index in calls:
                            part = delta.apply(calls[index])
                            if isinstance(part, ToolCallPart):
                                calls[index] = part
                                yield _build_call_delta(ids[index], part)
                response = stream.get()
            reply = self._build_reply(response, [ids[index] for index in sorted(ids)])
        except Exception as error:  # noqa: BLE001 (callers know only ModelFailed)
            raise _classify_error(error, self.name) from None
        yield reply

    async def close(self) -> None:
        if self._close is not None:
            await self._close()

    def _build_reply(self, response: ModelResponse, ids: list[str]) -> ModelReply:
        if response.finish_reason == "content_filter":
            raise ModelFailed(Trouble.CONTENT, f"{self.name} refused to answer this")
        is_unfinished = self._has_finish_reason and not (response.provider_details or {}).get("finish_reason")
        if is_unfinished or response.finish_reason == "error" or response.state in {"incomplete", "interrupted"}:
            raise ModelFailed(Trouble.OVERLOAD, f"{self.name} broke off its answer")
        missing_count = sum(isinstance(part, ToolCallPart) for part in response.parts) - len(ids)
        return messages.parse_reply(response, model=self.name, ids=[*ids, *(_new_id() for _ in range(missing_count))])


def _build_call_delta(call: str, part: ToolCallPart) -> CallDelta:
    arguments = part.args if isinstance(part.args, str) else messages.format_arguments(part.args) if part.args else ""
    return CallDelta(call, messages.clean_text(part.tool_name), messages.clean_text(arguments))


def _new_id() -> str:
    return f"call_{uuid4().hex}"


def _classify_error(error: BaseException, model: str) -> ModelFailed:
    """
    Return the failure that an error means. This is the one place where errors of libraries become ours:

        429, an exhausted quota                                        rate limit
        401, 403                                                       auth
        408, 409, 5xx, no connection, silence, a stream that breaks    overload
        413, a context that is too long                                length
        400, 422, a filter, a refusal                                  content, or other if the code names a setting
        anything else, such as 404                                     other

    The reason is a sentence of ours. It names the model, and contains nothing that the server wrote except a short
    code, because servers quote what they received: keys, and the conversation.
    """
    match error:
        case ModelFailed():
            return error
        case exceptions.ContentFilterError():
            return ModelFailed(Trouble.CONTENT, f"{model} refused to answer this")
        case exceptions.ModelContextWindowExceededError() | exceptions.ModelHTTPError(status_code=413):
            return ModelFailed(Trouble.LENGTH, f"{model} was shown more than it can read")
        case exceptions.ModelRequestTimeout() | exceptions.ModelTimeoutError() | TimeoutError():
            return ModelFailed(Trouble.OVERLOAD, f"{model} was silent for too long")
        case exceptions.ModelHTTPError():
            reason = f"{model} answered {error.status_code}{_format_code(error)}"
            return ModelFailed(_classify_status(error), reason, retry_after=_get_retry_after(error))
        case exceptions.ModelAPIError():
            return _classify_without_status(error, model)
        case exceptions.UnexpectedModelBehavior():
            return ModelFailed(Trouble.OVERLOAD, f"{model} answered what cannot be read")
        case OSError():
            return ModelFailed(Trouble.OVERLOAD, f"{model} cannot be reached")
        case _:
            return ModelFailed(Trouble.OTHER, f"{model} failed: {type(error).__name__}")


def _classify_status(error: exceptions.ModelHTTPError) -> Trouble:
    match error.status_code:
        case _ if isinstance(error, exceptions.ModelRateLimitError | exceptions.ModelQuotaExceededError):
            return Trouble.RATE_LIMIT
        case _ if isinstance(error, exceptions.ModelAuthenticationError):
            return Trouble.AUTH
        case _ if isinstance(error, exceptions.ModelNotFoundError):
            return Trouble.OTHER
        case 408 | 409 | 425:
            return Trouble.OVERLOAD
        case 400 | 403 | 422:
            return Trouble.OTHER if error.provider_error_code in _SETTING_ERROR_CODES else Trouble.CONTENT
        case status if status >= 500:
            return Trouble.OVERLOAD
        case _:
            return Trouble.OTHER


def _classify_without_status(error: exceptions.ModelAPIError, model: str) -> ModelFailed:
    match error:
        case exceptions.ModelRateLimitError() | exceptions.ModelQuotaExceededError():
            return ModelFailed(
                Trouble.RATE_LIMIT, f"{model} has a limit{_format_code(error)}", retry_after=_get_retry_after(error)
            )
        case exceptions.ModelAuthenticationError():
            return ModelFailed(Trouble.AUTH, f"{model} does not accept the key{_format_code(error)}")
        case exceptions.ModelConnectionError(phase="connect" | "pool"):
            return ModelFailed(Trouble.OVERLOAD, f"{model} cannot be reached")
        case _:
            return ModelFailed(Trouble.OVERLOAD, f"{model} broke off its answer{_format_code(error)}")


def _get_retry_after(error: exceptions.ModelAPIError) -> float | None:
    return None if error.retry_after is None else min(error.retry_after, _MAX_RETRY_AFTER)


def _format_code(error: exceptions.ModelAPIError) -> str:
    code = error.provider_error_code or error.provider_error_type
    return f" ({code})" if code and len(code) <= 50 and _CODE_PATTERN.fullmatch(code) else ""
