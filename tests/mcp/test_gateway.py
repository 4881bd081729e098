"""The server beside a gateway: on stdio it uses the one that runs; in one, it costs nothing until it is used."""

import asyncio
import subprocess
import sys
from pathlib import Path

import anyio
from mcp import Client

from gatepost import app, settings
from gatepost.client import Client as GatepostClient
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.inbox.push.api import PushEvent
from tests.mcp.forked_stdio import open_forked_stdio
from tests.mcp.mcp_setup import McpSetup, ToolCaller, build_command
from tests.mcp.stdio_server import wait_until
from tests.support.gateways.gateway_process import GatewayProcess
from tests.support.gateways.local_gateways import create_entities, serve_gateway
from tests.support.waits import LAST_RESORT


async def push_over_http(gateway: GatewayProcess, content: str) -> None:
    async with GatepostClient(gateway.url, key=gateway.admin_key) as client:
        await client.send(PushEvent(to="analyst", content=content))


async def test_a_gateway_comes_and_goes_between_calls(tmp_path: Path) -> None:
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(tmp_path)})) as store:
        for name in ("analyst", "designer"):
            store.run_sync(directory.register, directory.EntitySpec(name=name, kind=EntityKind.AGENT))
    server = open_forked_stdio(build_command(tmp_path, "--as", "analyst"), [])
    async with Client(server, read_timeout_seconds=LAST_RESORT) as client:
        tools = ToolCaller(client)
        assert (await tools.call("set_gate", name="without", awaits="designer"))["owner"] == "analyst"
        gateway = await asyncio.to_thread(GatewayProcess, tmp_path)
        try:
            gate = await tools.call("set_gate", name="with", awaits="designer")
            assert gate["owner"] == "analyst"
            assert "cannot act as 'designer'" in await tools.refuse("read_inbox", name="designer")
            async with asyncio.TaskGroup() as tasks:
                drain = tasks.create_task(tools.drain())
                await push_over_http(gateway, "first")
                assert [item["content"] for item in await drain] == ["first"]
            with anyio.fail_after(LAST_RESORT):
                async with client.listen(resource_subscriptions=["inbox://analyst"]) as events:
                    await push_over_http(gateway, "again")
                    await anext(aiter(events))
        finally:
            await asyncio.to_thread(gateway.stop)
        names = [gate["name"] for gate in (await tools.call("list_gates"))["items"]]
        assert names == ["without", "with"]
        assert [item["content"] for item in (await tools.call("drain_inbox"))["items"]] == ["again"]


async def test_a_gateway_that_stops_lets_nobody_wait(tmp_path: Path) -> None:
    with serve_gateway(f"sqlite:///{tmp_path}/gatepost.db") as gateway_thread:
        create_entities(gateway_thread.gateway.store)
        setup = McpSetup(tmp_path, gateway_thread)
        async with setup.open_client("http") as client, asyncio.TaskGroup() as tasks:
            tools = ToolCaller(client)
            await tools.call("list_agents")
            await wait_until(lambda: not setup.list_http_requests())
            drain = tasks.create_task(tools.call("drain_inbox", wait=50))
            await wait_until(setup.has_http_call)
            with anyio.fail_after(LAST_RESORT):
                await asyncio.to_thread(gateway_thread.stop)
                assert (await drain)["items"] == []


async def test_a_credential_that_is_gone_ends_a_subscription(setup: McpSetup) -> None:
    gateway = setup.gateway_thread.gateway
    key = gateway.create_key("agent", "analyst")
    async with setup.open_http({"x-secret-key": key}) as client:
        with anyio.fail_after(LAST_RESORT):
            async with client.listen(resource_subscriptions=["inbox://analyst"]) as events:
                async with setup.gateway_thread.open_client() as admin:
                    assert (await admin.delete(f"/api/keys/{key[:11]}")).status_code == 200
                setup.store.run_sync(push.push_event, Push(to="analyst", source="test", content="secret"))
                assert [event async for event in events] == []


def test_a_gateway_does_not_import_the_sdk_until_it_is_asked() -> None:
    program = (
        "import gatepost.gateway.serve, sys;sys.exit('mcp' in sys.modules or 'gatepost.mcp.http_server' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
