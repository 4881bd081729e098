"""
Nobody does anything as somebody else by a tool: every tool, with every kind of credential, on what is the analyst's or
Husam's. A tool that is not in the table fails the test.
"""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from gatepost.operations.operation_tool import load_tools
from tests.mcp.stdio_server import META
from tests.operations.access_cases import (
    ENTITY_CREDENTIALS,
    World,
    create_credentials,
    create_owned_objects,
    read_database,
)
from tests.support.gateways.local_gateways import open_gateway

POSTGRES_BY_NIGHT = True
#: what one who is not concerned gets: a refusal, what everybody may see, or a list of what is its own
REFUSED: Final = "refused"
OPEN: Final = "open"
OWN: Final = "own"

TASK: Final = {"entity_type": "task", "entity_id": "0.0.7"}
#: by tool: what the designer gets, and the arguments, some of which are words of `World`
TOOL_CASES: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "list_agents": (OPEN, {}),
    "ask_decision": (REFUSED, {"question": "Ship it?", "of": ["husam"], "asker": "analyst"}),
    "list_decisions": (OWN, {}),
    "answer_decision": (REFUSED, {"decision": "{decision}", "option": "ship"}),
    "set_gate": (REFUSED, {"name": "Sign-off", "owner": "analyst"}),
    "list_gates": (OWN, {}),
    "resolve_gate": (REFUSED, {"gate": "{gate}"}),
    "read_inbox": (REFUSED, {"name": "analyst"}),
    "drain_inbox": (REFUSED, {"name": "analyst"}),
    "send_message": (REFUSED, {"to_agent": "developer", "payload": "hello", "sender": "analyst"}),
    "reply": (REFUSED, {"event": "{event}", "text": "hello"}),
    "set_attention": (REFUSED, {"level": "all", "name": "analyst"}),
    "set_plan": (REFUSED, {"name": "Daily", "cron": "@daily", "owner": "analyst"}),
    "list_plans": (OWN, {}),
    "read_space": (REFUSED, {"space": "{space}"}),
    "post_to_space": (REFUSED, {"space": "{space}", "content": "hello"}),
    "post_work_event": (REFUSED, {**TASK, "event": "blocked", "sender": "analyst"}),
    "post_note": (REFUSED, {**TASK, "note": "hello", "sender": "analyst"}),
    "add_work_item": (REFUSED, {**TASK, "made_by": "analyst"}),
    "read_notes": (OPEN, TASK),
    "create_route": (REFUSED, {"name": "all", "targets": ["designer"]}),
    "list_routes": (REFUSED, {}),
    "update_route": (REFUSED, {"route": "all", "rank": 1}),
    "disable_route": (REFUSED, {"route": "all"}),
    "list_dead_letters": (REFUSED, {}),
    "replay_dead_letter": (REFUSED, {"id": "dead_1"}),
    "discard_dead_letter": (REFUSED, {"id": "dead_1"}),
    "list_triggers": (REFUSED, {}),
    "disable_trigger": (REFUSED, {"name": "all"}),
}
RESOURCES: Final = ["inbox://analyst", "inbox://nobody", "space://{space}", "decision://{decision}"]


@pytest.fixture
async def world(url: str) -> AsyncIterator[World]:
    async with open_gateway(url) as gateway:
        yield World(gateway, create_owned_objects(gateway.store))


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/office.db"
    empty_url: str = request.getfixturevalue("empty_postgres_url")
    return empty_url


async def send(world: World, headers: Mapping[str, str], method: str, params: Mapping[str, Any]) -> tuple[int, Any]:
    """Send one request of the newer revision; return the status and the answer."""
    name = params.get("name", params.get("uri"))
    all_headers = {
        "host": "localhost",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": str(name),
        **headers,
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    async with world.gateway.open_client(x_nobody="yes") as client:
        answer = await client.post("/mcp", json=message, headers=all_headers)
    return answer.status_code, answer.json()


def fill(world: World, value: Any) -> Any:
    return value.format(**world.values) if isinstance(value, str) else value


def test_every_tool_is_in_the_table() -> None:
    assert set(TOOL_CASES) == set(load_tools())


async def test_no_tool_does_anything_for_one_who_is_not_concerned(world: World, url: str) -> None:
    wrong: list[str] = []
    for credential, headers in create_credentials(world).items():
        before = read_database(url)
        for tool, (expected, arguments) in TOOL_CASES.items():
            filled = {name: fill(world, value) for name, value in arguments.items()}
            status, answer = await send(world, headers, "tools/call", {"name": tool, "arguments": filled})
            if not _is_expected(credential, expected, status, answer):
                wrong.append(f"{tool} by {credential}: {status} {str(answer)[:200]}")
        if read_database(url) != before:
            wrong.append(f"a tool changed the database for {credential}")
    assert not wrong, "\n".join(wrong)


def _is_expected(credential: str, expected: str, status: int, answer: Any) -> bool:
    if credential not in (*ENTITY_CREDENTIALS, "trigger's key"):
        return status == 401
    result = answer["result"]
    if expected == REFUSED or credential == "trigger's key":
        return status == 200 and result["isError"] and "structuredContent" not in result
    return status == 200 and not result["isError"] and (expected == OPEN or result["structuredContent"]["items"] == [])


async def test_no_resource_is_read_by_one_who_may_not(world: World) -> None:
    for credential, headers in create_credentials(world).items():
        for uri in RESOURCES:
            status, answer = await send(world, headers, "resources/read", {"uri": fill(world, uri)})
            if credential in (*ENTITY_CREDENTIALS, "trigger's key"):
                assert answer["error"]["code"] == -32602, (credential, uri)
            else:
                assert status == 401, (credential, uri)


async def test_a_name_that_exists_and_one_that_does_not_are_refused_alike(world: World) -> None:
    headers = create_credentials(world)["agent's key"]
    sentences = []
    for name in ("analyst", "nobody"):
        call = {"name": "read_inbox", "arguments": {"name": name}}
        _, answer = await send(world, headers, "tools/call", call)
        sentences.append(answer["result"]["content"][0]["text"].replace(name, "NAME"))
    assert sentences[0] == sentences[1]
