"""Requests to a language model, its output, and the results of its tools."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from gatepost.core.json_limits import Json
from gatepost.residents.mind import ModelReply, Turn


class Trouble(StrEnum):
    """Why a model failed. It decides how long to wait, and whether an event may be the cause."""

    #: too many requests, or a quota
    RATE_LIMIT = "rate_limit"
    #: the server is overloaded, broken or unreachable
    OVERLOAD = "overload"
    #: the key is missing or wrong
    AUTH = "auth"
    #: the model will not or cannot answer this conversation
    CONTENT = "content"
    #: the conversation is too long for the model; a part of it may fit
    LENGTH = "length"
    OTHER = "other"


class ModelFailed(Exception):
    def __init__(self, trouble: Trouble, reason: str, *, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.trouble = trouble
        self.reason = reason
        #: seconds that the server asked to wait
        self.retry_after = retry_after


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it."""

    name: str
    description: str
    #: JSON Schema of its arguments
    schema: Json


class ChatRequest(Struct, frozen=True, kw_only=True):
    """One request to the model."""

    system: str
    turns: Sequence[Turn]
    tools: Sequence[ToolSpec] = ()
    temperature: float | None = None
    max_tokens: int | None = None


class TextDelta(Struct, frozen=True):
    """More of the text."""

    text: str


class CallDelta(Struct, frozen=True):
    """More of a call: all of its arguments so far, which may not be complete JSON yet."""

    call: str
    tool: str
    arguments: str = ""


ModelOutput = TextDelta | CallDelta | ModelReply


class ToolCaller(Struct, frozen=True, kw_only=True):
    """The caller of a tool. A Python function gets it as a parameter of this type."""

    agent: str
    #: an id of the call: the same if this call is repeated, and different for every other call
    call: str


class ToolResult(Struct, frozen=True):
    """The result of a tool: any JSON, and whether the tool succeeded."""

    value: Json
    ok: bool = True
