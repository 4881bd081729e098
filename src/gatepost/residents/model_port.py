"""
The ports behind which language models and tools outside lie, and what is passed through them.

A conversation with a model is a sequence of turns: what the agent was shown, what its model replied, what its tools
returned.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from gatepost.core.json_limits import Json
from gatepost.residents.agent_config import ConfiguredTool, ToolServer


class Prompt(Struct, frozen=True, omit_defaults=True):
    """A text that the agent is shown: its inbox, or a note of Gatepost."""

    text: str
    #: the events that are in it
    events: tuple[str, ...] = ()
    #: the gates whose instructions are in it
    gates: tuple[str, ...] = ()
    #: the events by which people wrote on channels, each with its channel session
    user_prompts: tuple[tuple[str, str], ...] = ()


class ToolCall(Struct, frozen=True):
    """A call of a tool by the model."""

    id: str
    tool: str
    #: the JSON that the model wrote; it may be anything
    arguments: str


class Usage(Struct, frozen=True):
    prompt: int = 0
    completion: int = 0


class ModelReply(Struct, frozen=True):
    """A reply of the model."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    #: the name of the model
    model: str = ""
    #: the message as the adapter of the model needs it back, unchanged
    raw: str | None = None
    #: calls beyond the limit of one reply, which are not run
    dropped_calls: int = 0


class CallResult(Struct, frozen=True):
    """The result of a call, as JSON."""

    call: str
    tool: str
    content: str
    ok: bool = True


Turn = Prompt | ModelReply | CallResult


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


class Model(Protocol):
    """A language model: it reads a conversation and replies, word by word if it can."""

    @property
    def name(self) -> str:
        """The name in the configuration, such as `openai:gpt-5`."""

    def respond(self, request: ChatRequest) -> AsyncGenerator[ModelOutput]:
        """
        Yield what the model writes as it writes it, and last the complete `ModelReply`. Raise `ModelFailed`
        (`residents/model_failures.py`), and nothing else, if there is no reply; what was yielded before is then void.
        """

    async def close(self) -> None: ...


class ToolCaller(Struct, frozen=True, kw_only=True):
    """The caller of a tool. A Python function gets it as a parameter of this type."""

    agent: str
    #: an id of the call: the same if this call is repeated, and different for every other call
    call: str


class ToolResult(Struct, frozen=True):
    """The result of a tool: any JSON, and whether the tool succeeded."""

    value: Json
    ok: bool = True


class HttpToolCaller(Protocol):
    """
    Calls tools behind a URL. As with `ToolServerSession`, a failure there is a result, also if there was no response:
    `call` raises only for a problem of the call itself (an argument that cannot be put into the URL). A call may be
    repeated with the same id, if the process died before it wrote down the result.
    """

    async def call(self, tool: ConfiguredTool, id: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Send the HTTP request of a tool."""


class ToolServerSession(Protocol):
    """The MCP servers of one agent for the length of a cycle; it connects to a server when it is first needed."""

    async def list_tools(self, server: ToolServer) -> Sequence[ToolSpec]:
        """Return the tools of a server, under their own names. Raise Unavailable if it does not answer."""

    async def call(self, server: ToolServer, tool: str, arguments: Mapping[str, Json]) -> ToolResult: ...


class ToolServers(Protocol):
    def open_session(self) -> AbstractAsyncContextManager[ToolServerSession]:
        """Return a session with the server; leaving it closes the connections and ends the commands."""
