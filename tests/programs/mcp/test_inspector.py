"""The inspector of MCP on its command line: it lists our tools, finds no fault with their schemas, and calls them."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from mcp.types import CallToolResult, ListToolsResult

from gatepost.operations.operation_tool import load_tools
from tests.mcp.mcp_setup import TRANSPORTS, McpSetup, ToolCaller
from tests.mcp.tour import call_every_tool
from tests.programs import cache
from tests.support.waits import LAST_RESORT


@dataclass(frozen=True)
class Inspector:
    """A client that is one process for each request."""

    target: Sequence[str]
    environ: Mapping[str, str]
    era: str

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None, /) -> CallToolResult:
        options = ["--tool-name", name, "--tool-args-json", json.dumps(arguments or {})]
        return CallToolResult.model_validate(await self.run("tools/call", *options))

    async def list_tools(self) -> ListToolsResult:
        return ListToolsResult.model_validate(await self.run("tools/list", "--strict"))

    async def run(self, method: str, *options: str) -> Any:
        node = cache.find_node()
        assert node is not None
        script = cache.find_folder() / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
        era = ["--protocol-era", self.era, "--format", "json", "--quiet"]
        process = await asyncio.create_subprocess_exec(
            node,
            *[str(script), "--cli", *self.target, *era, "--method", method, *options],
            env=self.environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), LAST_RESORT)
        finally:
            if process.returncode is None:
                process.kill()
        assert out, err.decode()
        assert process.returncode == 0 or method == "tools/call", err.decode()  # which fails if the tool refuses
        return json.loads(out)["result"]


def open_inspector(setup: McpSetup, transport: str, era: str, name: str = "analyst") -> Inspector:
    command = setup.build_command("--as", name)
    environ = {**command["env"], "HOME": str(setup.home)}  # it keeps files there
    if transport == "stdio":
        target = ["-e", f"GATEPOST_HOME={setup.home}", command["command"], *command["args"]]
    else:
        key = setup.gateway_thread.gateway.create_key("agent", name)
        target = [f"{setup.gateway_thread.base_url}/mcp", "--header", f"x-secret-key: {key}"]
    return Inspector(target, environ, era)


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_it_lists_and_calls_tools(setup: McpSetup, transport: str, era: str) -> None:
    inspector = open_inspector(setup, transport, era)
    assert [tool.name for tool in (await inspector.list_tools()).tools] == list(load_tools())
    tools = ToolCaller(inspector)
    gate = await tools.call("set_gate", name="Sign-off", awaits="designer")
    assert [item["id"] for item in (await tools.call("list_gates"))["items"]] == [gate["id"]]
    assert await tools.refuse("drain_inbox", limit=0) == "limit: 0 is less than 1 (hint: use 1 to 1000)"


@pytest.mark.parametrize("transport", [pytest.param("stdio", marks=pytest.mark.nightly), "http"])
async def test_it_calls_every_tool(setup: McpSetup, transport: str) -> None:
    analyst = ToolCaller(open_inspector(setup, transport, "modern"))
    designer = ToolCaller(open_inspector(setup, "http", "modern", "designer"))
    await call_every_tool(setup, analyst, designer)
