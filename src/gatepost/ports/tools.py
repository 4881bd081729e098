"""
Tools that are somewhere else: behind a URL, or at a server that speaks MCP.

Whatever happens there is an answer, also that nothing did: these raise nothing but what concerns the call itself
(an argument that cannot be put into the URL). What is called may be called again with the same id, if we did not
live to write down the answer.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from gatepost.core.agent import Tool, ToolServer
from gatepost.core.event import Json
from gatepost.ports.model import ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls a tool: a parameter of this type is filled in for a Python function."""

    agent: str
    #: the same when the same call is made again, and no other call's
    call: str


@dataclass(frozen=True, slots=True)
class Answered:
    """What a tool said: any JSON, and whether it did what it was asked to."""

    value: Json
    ok: bool = True


class Web(Protocol):
    async def call(self, tool: Tool, id: str, arguments: Mapping[str, Json]) -> Answered:
        """Make the HTTP request that a tool is."""


class Visit(Protocol):
    """The MCP servers of one agent for the length of a cycle: each is connected to when it is first needed."""

    async def tools(self, server: ToolServer) -> Sequence[ToolSpec]:
        """What a server offers, under its own names; raises Unavailable."""

    async def call(self, server: ToolServer, tool: str, arguments: Mapping[str, Json]) -> Answered: ...


class Servers(Protocol):
    def visit(self) -> AbstractAsyncContextManager[Visit]:
        """Connections are closed, and commands ended, when this is left."""
