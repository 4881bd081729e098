"""What MCP is for, told from end to end: a client, a real gateway, residents with a model, and the command line."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.mcp.forked_stdio import open_forked_stdio
from tests.mcp.mcp_setup import TRANSPORTS, ToolCaller, build_command, open_http
from tests.residents.model_server import Answer, CompletionRequest, Say, Use
from tests.support.gateways.gateway_process import GATEPOST_COMMAND
from tests.support.gateways.scripted_gateway import ScriptedGateway, run_scripted_gateway
from tests.support.processes import fork_server
from tests.support.waits import LAST_RESORT

NOTIFY = '{"task.blocked" = {to = ["mindy", "team:leads"], priority = 0}, "*.complete" = {to = ["husam"]}}'


def answer_by_mail(request: CompletionRequest) -> Answer:
    if request.tool_results:
        return Say("Responded to ann.")
    assert "Pull the Q4 revenue" in request.inbox
    return Use("send_mail", {"to": "ann", "text": "4.2M, up 9%.", "subject": "Q4"})


@pytest.fixture
def town(tmp_path: Path) -> Iterator[ScriptedGateway]:
    """A gateway in a home: the resident analyst, two people, and the guests ann, mindy and lea, who leads."""
    with run_scripted_gateway(tmp_path, {"analyst": answer_by_mail}, GATEPOST_WORK__NOTIFY=NOTIFY) as gateway:
        gateway.create_person("husam")
        gateway.create_resident("analyst")
        gateway.post("/agents", name="ann")
        gateway.post("/agents", name="mindy")
        gateway.post("/agents", name="lea", team="leads")
        yield gateway


def open_client(town: ScriptedGateway, transport: str, name: str = "ann") -> AbstractAsyncContextManager[Client]:
    if transport == "stdio":
        server = open_forked_stdio(build_command(town.gateway.home, "--as", name), [])
        return Client(server, read_timeout_seconds=LAST_RESORT)
    key = town.post("/keys", agent=name)["key"]
    return open_http(town.gateway.url, {"authorization": f"Bearer {key}"})


async def run_gatepost(town: ScriptedGateway, *arguments: str) -> Any:
    """Run a command that prints JSON, as a person does in a terminal."""
    env = build_command(town.gateway.home)["env"]
    command = [*GATEPOST_COMMAND, *arguments, "--json"]
    result = await asyncio.to_thread(fork_server.run, command, env=env, capture_output=True, text=True)
    assert result.returncode == 0, result
    return json.loads(result.stdout)


async def test_a_message_wakes_a_resident_and_its_answer_comes_to_the_sender(town: ScriptedGateway) -> None:
    for number, transport in enumerate(TRANSPORTS, 1):
        async with open_client(town, transport) as client:
            ann = ToolCaller(client)
            await ann.call("send_message", to_agent="analyst", subject="Q4", payload="Pull the Q4 revenue")
            [item] = await ann.drain()
        assert (item["sender"], item["type"], item["content"]) == ("analyst", "mail", "4.2M, up 9%."), transport
        run = (await asyncio.to_thread(town.wait_for_runs, "analyst", number))[-1]
        assert (run["status"], run["summary"]) == ("completed", "Responded to ann."), transport


async def test_a_decision_is_answered_on_the_command_line_and_read_back(town: ScriptedGateway) -> None:
    options = [{"id": "ship", "label": "Ship it"}, {"id": "wait", "label": "Wait"}]
    for transport in TRANSPORTS:
        async with open_client(town, transport) as client:
            ann = ToolCaller(client)
            asked = await ann.call("ask_decision", question="Ship it?", options=options, of="husam")
            [listed] = await run_gatepost(town, "decision", "list", "--of", "husam")
            assert (listed["id"], listed["asker"]) == (asked["id"], "ann"), transport
            await run_gatepost(town, "decision", "answer", asked["id"], "ship", "--text", "Go", "--as", "husam")
            [answered] = (await ann.call("list_decisions", pending=False, since=asked["createdAt"], wait=50))["items"]
            answer = answered["answer"]
            outcome = (answer["outcome"], answer["option"], answer["text"], answer["by"])
            assert outcome == ("answered", "ship", "Go", "husam"), transport
            [item] = await ann.drain()
            assert (item["type"], item["sender"]) == ("decision", "husam"), transport
            assert (await ann.call("list_gates", pending=True))["items"] == [], transport


async def test_a_blocked_task_is_reported_to_those_in_the_table(town: ScriptedGateway) -> None:
    for number, transport in enumerate(TRANSPORTS, 1):
        ref = {"type": "task", "id": f"0.0.{number}"}
        town.post("/work", **ref, title="Build the schema")
        async with open_client(town, transport) as client:
            task = {"entity_type": "task", "entity_id": ref["id"]}
            posted = await ToolCaller(client).call("post_work_event", **task, event="blocked", reason="no schema")
        assert posted["type"] == "task.blocked"
        for name in ("mindy", "lea"):
            item = town.get(f"/inbox/{name}")["items"][number - 1]
            assert (item["source"], item["priority"], item["ref"]) == ("task.blocked", 0, ref), transport
            assert item["content"] == f"task:{ref['id']} (Build the schema), by ann: no schema"
        for name in ("husam", "admin", "ann", "analyst"):
            assert town.get(f"/inbox/{name}")["items"] == [], transport
