"""How an agent program on this machine becomes a guest: the commands, with everything filled in."""

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Meta

from gatepost.operations.access import Administrator
from gatepost.operations.fields import describe
from gatepost.operations.operation import Request, View, read

#: the group of these operations in OpenAPI
TAG = "agents"

#: the agent programs in which guests live, by the words of `--host`
TITLES: Final[Mapping[str, str]] = {
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "cursor": "Cursor",
    "opencode": "OpenCode",
}


class SetupCommandView(View):
    """The command that sets up one agent program, for a shell on the machine of the gateway."""

    host: Annotated[str, Meta(examples=["claude"])]
    title: Annotated[str, Meta(examples=["Claude Code"])]
    command: Annotated[str, Meta(examples=["/usr/bin/gatepost setup --host claude --agent quinn"])]


class AgentSetupView(View):
    """What connects agent programs as one agent. It names the home, unless every program finds it by itself."""

    commands: list[SetupCommandView]
    mcp_command: Annotated[list[str], describe("the MCP server on stdio, for any other client")]
    mcp_env: Annotated[dict[str, str], describe("the variables that the MCP server needs")]


@read("GET /api/agents/{name}/setup", access=Administrator())
class ShowAgentSetup(Request[AgentSetupView]):
    """Show the commands that connect an agent program as this agent."""

    name: str
