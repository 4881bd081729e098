"""The ports of residents: models, and tools outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks import this module, and have to start fast
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager

    from gatepost.core.json_limits import Json
    from gatepost.residents.agent_config import Tool, ToolServer
    from gatepost.residents.model_request import ChatRequest, ModelOutput, ToolResult, ToolSpec


class Model(Protocol):
    """A language model: it reads a conversation and replies, word by word if it can."""

    @property
    def name(self) -> str:
        """The name in the configuration, such as `openai:gpt-5`."""

    def respond(self, request: ChatRequest) -> AsyncGenerator[ModelOutput]:
        """
        Yield what the model writes as it writes it, and last the complete `ModelReply`. Raise `ModelFailed`, and
        nothing else, if there is no reply; what was yielded before is then void.
        """

    async def close(self) -> None: ...


class HttpToolCaller(Protocol):
    """
    Calls tools behind a URL. As with `ToolServerSession`, a failure there is a result, also if there was no response:
    `call` raises only for a problem of the call itself (an argument that cannot be put into the URL). A call may be
    repeated with the same id, if the process died before it wrote down the result.
    """

    async def call(self, tool: Tool, id: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Send the HTTP request of a tool."""


class ToolServerSession(Protocol):
    """The MCP servers of one agent for the length of a cycle; it connects to a server when it is first needed."""

    async def list_tools(self, server: ToolServer) -> Sequence[ToolSpec]:
        """Return the tools of a server, under their own names. Raise Unavailable if it does not answer."""

    async def call(self, server: ToolServer, tool: str, arguments: Mapping[str, Json]) -> ToolResult: ...


class ToolServers(Protocol):
    def open_session(self) -> AbstractAsyncContextManager[ToolServerSession]:
        """Return a session; leaving it closes the connections and ends the commands."""
