"""
A language model: it is shown a conversation and replies, word by word if it can.

`respond` yields what the model writes as it writes it, and last the whole `Reply`. It raises `ModelFailed`, and nothing
else, when there is no reply; what was yielded before is then void.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from gatepost.core.event import Json
from gatepost.core.mind import Reply, Turn


class Trouble(StrEnum):
    """Why a model failed, which decides how long to wait and whether an event is to blame."""

    #: too many requests, or a quota
    RATE_LIMIT = "rate_limit"
    #: the server is overloaded, broken or out of reach
    OVERLOAD = "overload"
    #: the key is missing or wrong
    AUTH = "auth"
    #: it will not or cannot answer this very conversation
    CONTENT = "content"
    #: it was shown more than it can read; less of the same may do
    LENGTH = "length"
    OTHER = "other"


class ModelFailed(Exception):
    def __init__(self, trouble: Trouble, reason: str, *, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.trouble = trouble
        self.reason = reason
        #: seconds the server asked us to wait
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    #: JSON Schema of its arguments
    schema: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What the model is shown."""

    system: str
    turns: Sequence[Turn]
    tools: Sequence[ToolSpec] = ()
    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the text."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """More of a call: all of its arguments so far, which need not be whole JSON yet."""

    call: str
    tool: str
    arguments: str = field(default="")


Heard = TextDelta | CallDelta | Reply


class Model(Protocol):
    @property
    def name(self) -> str:
        """As it is written in the configuration, such as `openai:gpt-5`."""

    def respond(self, ask: Ask) -> AsyncGenerator[Heard]: ...

    async def close(self) -> None: ...
