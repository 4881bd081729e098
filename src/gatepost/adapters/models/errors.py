"""
The classes of model failures: the one place where errors of libraries become ours.

    429, an exhausted quota                                        rate limit
    401, 403                                                       auth
    408, 409, 5xx, no connection, silence, a stream that breaks    overload
    413, a context that is too long                                length
    400, 422, a filter, a refusal                                  content, or other if the code names a setting
    anything else, such as 404                                     other

The reason is a sentence of ours. It contains nothing that the server wrote except a short code, because servers quote
what they received: keys, and the conversation.
"""

import re
from typing import Final

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UnexpectedModelBehavior,
)

from gatepost.core.model import ModelFailed, Trouble

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


def classify_error(error: BaseException, model: str) -> ModelFailed:
    """Return the failure that an error means, with a reason that names the model."""
    match error:
        case ModelFailed():
            return error
        case ContentFilterError():
            return ModelFailed(Trouble.CONTENT, f"{model} refused to answer this")
        case ModelContextWindowExceededError() | ModelHTTPError(status_code=413):
            return ModelFailed(Trouble.LENGTH, f"{model} was shown more than it can read")
        case ModelRequestTimeout() | ModelTimeoutError() | TimeoutError():
            return ModelFailed(Trouble.OVERLOAD, f"{model} was silent for too long")
        case ModelHTTPError():
            reason = f"{model} answered {error.status_code}{_format_code(error)}"
            return ModelFailed(_classify_status(error), reason, retry_after=_get_retry_after(error))
        case ModelAPIError():
            return _classify_without_status(error, model)
        case UnexpectedModelBehavior():
            return ModelFailed(Trouble.OVERLOAD, f"{model} answered what cannot be read")
        case OSError():
            return ModelFailed(Trouble.OVERLOAD, f"{model} cannot be reached")
        case _:
            return ModelFailed(Trouble.OTHER, f"{model} failed: {type(error).__name__}")


def _classify_status(error: ModelHTTPError) -> Trouble:
    match error.status_code:
        case _ if isinstance(error, ModelRateLimitError | ModelQuotaExceededError):
            return Trouble.RATE_LIMIT
        case _ if isinstance(error, ModelAuthenticationError):
            return Trouble.AUTH
        case _ if isinstance(error, ModelNotFoundError):
            return Trouble.OTHER
        case 408 | 409 | 425:
            return Trouble.OVERLOAD
        case 400 | 403 | 422:
            return Trouble.OTHER if error.provider_error_code in _SETTING_ERROR_CODES else Trouble.CONTENT
        case status if status >= 500:
            return Trouble.OVERLOAD
        case _:
            return Trouble.OTHER


def _classify_without_status(error: ModelAPIError, model: str) -> ModelFailed:
    match error:
        case ModelRateLimitError() | ModelQuotaExceededError():
            return ModelFailed(
                Trouble.RATE_LIMIT, f"{model} has a limit{_format_code(error)}", retry_after=_get_retry_after(error)
            )
        case ModelAuthenticationError():
            return ModelFailed(Trouble.AUTH, f"{model} does not accept the key{_format_code(error)}")
        case ModelConnectionError(phase="connect" | "pool"):
            return ModelFailed(Trouble.OVERLOAD, f"{model} cannot be reached")
        case _:
            return ModelFailed(Trouble.OVERLOAD, f"{model} broke off its answer{_format_code(error)}")


def _get_retry_after(error: ModelAPIError) -> float | None:
    return None if error.retry_after is None else min(error.retry_after, _MAX_RETRY_AFTER)


def _format_code(error: ModelAPIError) -> str:
    code = error.provider_error_code or error.provider_error_type
    return f" ({code})" if code and len(code) <= 50 and _CODE_PATTERN.fullmatch(code) else ""
