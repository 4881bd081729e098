"""What a language model is asked, what it answers, and what the tools that it uses answer."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from gatepost.core.event import Json
from gatepost.core.mind import ModelReply, Turn


class Trouble(StrEnum):
    """Why a model failed. It decides how long to wait and whether an event is to blame."""

    #: too many requests, or a quota
    RATE_LIMIT = "rate_limit"
    #: the server is overloaded, broken or out of reach
    OVERLOAD = "overload"
    #: the key is missing or wrong
    AUTH = "auth"
    #: the model will not or cannot answer this conversation
    CONTENT = "content"
    #: the conversation is longer than the model can read; a part of it may do
    LENGTH = "length"
    OTHER = "other"


class ModelFailed(Exception):
    def __init__(self, trouble: Trouble, reason: str, *, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.trouble = trouble
        self.reason = reason
        #: seconds the server asked us to wait
        self.retry_after = retry_after


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it."""

    name: str
    description: str
    #: JSON Schema of its arguments
    schema: Json


class ChatRequest(Struct, frozen=True, kw_only=True):
    """What the model is shown."""

    system: str
    turns: Sequence[Turn]
    tools: Sequence[ToolSpec] = ()
    temperature: float | None = None
    max_tokens: int | None = None


class TextDelta(Struct, frozen=True):
    """More of the text."""

    text: str


class CallDelta(Struct, frozen=True):
    """More of a call: all of its arguments so far, which need not be whole JSON yet."""

    call: str
    tool: str
    arguments: str = ""


ModelOutput = TextDelta | CallDelta | ModelReply


class Caller(Struct, frozen=True, kw_only=True):
    """Who calls a tool: a parameter of this type is filled in for a Python function."""

    agent: str
    #: the same when the same call is made again, and no other call's
    call: str


class ToolResult(Struct, frozen=True):
    """What a tool returned: any JSON, and whether it did what it was asked to do."""

    value: Json
    ok: bool = True
