"""The MCP clients of npm use every tool, and what else the server has: on stdio and over HTTP, each in its revision."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.mcp.server import PROMPTS
from gatepost.operations.operation_tool import load_tools
from tests.mcp.mcp_setup import TRANSPORTS, McpSetup, ToolCaller
from tests.mcp.tour import call_every_tool
from tests.programs.mcp.node_client import REVISIONS, ClientError, NodeClient, open_node_client

each_client = pytest.mark.parametrize("package", REVISIONS)
each_transport = pytest.mark.parametrize("transport", TRANSPORTS)


def describe_server(setup: McpSetup, transport: str, name: str = "analyst") -> Mapping[str, Any]:
    if transport == "stdio":
        return setup.build_command("--as", name)
    key = setup.gateway_thread.gateway.create_key("agent", name)
    return {"url": f"{setup.gateway_thread.base_url}/mcp", "headers": {"authorization": f"Bearer {key}"}}


def open_client(
    setup: McpSetup, package: str, transport: str, name: str = "analyst"
) -> AbstractAsyncContextManager[NodeClient]:
    return open_node_client(package, describe_server(setup, transport, name))


@each_client
@each_transport
async def test_every_tool_is_used(setup: McpSetup, package: str, transport: str) -> None:
    async with (
        open_client(setup, package, transport) as client,
        open_client(setup, package, "http", "designer") as designer_client,
    ):
        assert client.version == REVISIONS[package]
        assert {tool.name for tool in (await client.list_tools()).tools} == set(load_tools())
        await call_every_tool(setup, ToolCaller(client), ToolCaller(designer_client))


@each_client
@each_transport
async def test_mistakes_are_answers_that_the_client_takes(setup: McpSetup, package: str, transport: str) -> None:
    async with open_client(setup, package, transport) as client:
        await client.list_tools()  # now it checks answers
        assert (
            await ToolCaller(client).refuse("drain_inbox", limit=0) == "limit: 0 is less than 1 (hint: use 1 to 1000)"
        )
        with pytest.raises(ClientError, match=r"there is no tool 'drain_inbux'.*'drain_inbox'"):
            await client.call_tool("drain_inbux")
        with pytest.raises(ClientError, match="there is no resource 'inbox://'") as error:
            await client.request("readResource", uri="inbox://")
        assert error.value.data == {"uri": "inbox://"}


@each_client
@each_transport
async def test_resources_and_prompts_are_read(setup: McpSetup, package: str, transport: str) -> None:
    async with open_client(setup, package, transport) as client:
        resources = (await client.request("listResources"))["resources"]
        assert resources[0]["uri"] == "inbox://analyst"
        for resource in resources:
            [content] = (await client.request("readResource", uri=resource["uri"]))["contents"]
            assert content["uri"] == resource["uri"]
        templates = (await client.request("listResourceTemplates"))["resourceTemplates"]
        assert "decision://{id}" in [template["uriTemplate"] for template in templates]
        prompts = (await client.request("listPrompts"))["prompts"]
        assert [prompt["name"] for prompt in prompts] == list(PROMPTS)
        for prompt in prompts:
            [message] = (await client.request("getPrompt", name=prompt["name"]))["messages"]
            assert message["content"]["text"]


@pytest.mark.parametrize(
    ("package", "transport"), [("client", "stdio"), ("client", "http"), ("sdk", "stdio")]
)  # over HTTP, 2025-11-25 has no connection that lasts
async def test_a_client_is_told_that_a_resource_has_changed(setup: McpSetup, package: str, transport: str) -> None:
    async with open_client(setup, package, transport) as client:
        assert client.capabilities["resources"]["subscribe"]
        await client.request("subscribe", uri="inbox://analyst")
        setup.store.run_sync(push.push_event, Push(to="analyst", source="test", content="news"))
        assert await client.wait_for_update() == "inbox://analyst"
        assert "news" in str(await client.request("readResource", uri="inbox://analyst"))
        if package == "sdk":
            await client.request("unsubscribeResource", uri="inbox://analyst")
        with pytest.raises(ClientError, match="cannot act as 'designer'"):
            await client.request("subscribe", uri="inbox://designer")


async def test_the_older_revision_over_http_announces_no_subscriptions(setup: McpSetup) -> None:
    async with open_client(setup, "sdk", "http") as client:
        assert not client.capabilities["resources"]["subscribe"]
        with pytest.raises(ClientError, match="Method not found"):
            await client.request("subscribe", uri="inbox://analyst")
