"""What a model reads before everything else: short, complete, and true."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from gatepost.errors import Invalid
from gatepost.gates.decision_api import AskDecision, OptionSpec
from gatepost.gates.gate import GateKind
from gatepost.gates.gate_api import AddGate
from gatepost.inbox.item_api import DrainInbox, ListInbox
from gatepost.operations.lenient_arguments import parse_wait
from gatepost.operations.operation_tool import OperationTool, load_tools
from gatepost.residents import agent_actions as agents
from tests.mcp.mcp_setup import McpSetup
from tests.support.collected_failures import CollectedFailures

#: tokens that the list of tools may cost, at four bytes each; a model reads it with every request
MAX_TOKENS = 4_700


async def test_the_list_of_tools_is_short(setup: McpSetup) -> None:
    async with setup.open_client("http", "2025-11-25") as client:
        document = (await client.list_tools()).model_dump_json(by_alias=True, exclude_none=True)
    assert len(document) / 4 < MAX_TOKENS


async def test_only_an_agent_with_the_skill_is_offered_the_tools_for_routing(setup: McpSetup) -> None:
    setup.store.run_sync(agents.set_skills, "designer", ["routing"])
    names = {}
    for agent in ("analyst", "designer"):
        async with setup.open_client("http", name=agent) as client:
            names[agent] = {tool.name for tool in (await client.list_tools()).tools}
    async with setup.open_http({"x-secret-key": setup.gateway_thread.gateway.admin_key}) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == names["analyst"]
    assert names["designer"] - names["analyst"] == {tool.name for tool in load_tools().values() if tool.skill}
    assert "create_route" not in names["analyst"]


def test_every_tool_is_described() -> None:
    with CollectedFailures() as failures:
        for tool in load_tools().values():
            with failures.check(tool.name):
                check_description(tool)


def check_description(tool: OperationTool) -> None:
    for schema in (tool.input_schema, tool.output_schema):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert "$ref" not in json.dumps(schema)
        assert '"type": [' not in json.dumps(schema), "programs that know one type a schema drop it"
    for argument in tool.input_schema["properties"].values():
        assert argument.keys() & {"type", "anyOf"}, "a program may drop what has no type, and its description"
    assert tool.description.endswith(".")
    assert "`" not in tool.description.replace("`withdraw`", "")
    assert tool.annotations["openWorldHint"] in (True, False)
    fields = set(tool.operation.request.__struct_fields__)
    named = {
        *tool.tool.own,
        *tool.tool.own_by_default,
        *tool.tool.hidden,
        *tool.tool.defaults,
        *tool.tool.renames,
        *tool.tool.scales,
    }
    assert named <= fields
    assert set(tool.tool.notes) <= set(tool.arguments)


def get_tool(name: str) -> OperationTool:
    return load_tools()[name]


class TestArguments:
    def test_arguments_are_fields_in_snake_case(self) -> None:
        assert list(get_tool("set_gate").arguments) == [
            "name", "kind", "owner", "awaits", "instruction", "waiters", "within",
        ]  # fmt: skip
        assert get_tool("set_gate").decode({"name": "CI", "kind": "timer", "within": "1h"}, "ann") == AddGate(
            name="CI", kind=GateKind.TIMER, within="1h", made_by="ann"
        )

    @pytest.mark.parametrize("limit", [5, "5", 5.0])
    def test_a_number_may_be_text(self, limit: Any) -> None:
        assert get_tool("drain_inbox").decode({"limit": limit}, "ann") == DrainInbox(name="ann", limit=5)

    def test_a_model_gets_less_by_default(self) -> None:
        tool = get_tool("read_inbox")
        assert tool.input_schema["properties"]["limit"] == {"type": "integer", "default": 20}
        assert tool.decode({}, "ann") == ListInbox(name="ann", limit=20)
        assert tool.decode({"limit": 300}, "ann") == ListInbox(name="ann", limit=300)

    def test_null_says_nothing(self) -> None:
        assert get_tool("drain_inbox").decode({"limit": None, "name": None}, "ann") == DrainInbox(name="ann")

    def test_lists_may_be_json_text_or_one_value(self) -> None:
        options = '[{"id": "a", "label": "A"}]'
        request = get_tool("ask_decision").decode({"question": "?", "options": options, "of": "bob"}, "ann")
        assert request == AskDecision(question="?", options=(OptionSpec(id="a", label="A"),), of=("bob",), asker="ann")

    def test_renamed_arguments_have_their_names_in_errors(self) -> None:
        tool = get_tool("read_inbox")
        assert tool.decode({"from": "bob"}, "ann") == ListInbox(name="ann", sender="bob", limit=20)
        with pytest.raises(Invalid, match=r"^from: 'b+…' is longer than 300 characters"):
            tool.decode({"from": "b" * 400}, "ann")
        with pytest.raises(Invalid, match="'sender' is not a field of it"):
            tool.decode({"sender": "bob"}, "ann")

    def test_no_model_says_who_it_is(self) -> None:
        for name, field in (("set_gate", "made_by"), ("ask_decision", "asker"), ("post_to_space", "sender")):
            assert field not in get_tool(name).input_schema["properties"]
            with pytest.raises(Invalid, match=f"'{field}' is not a field of it"):
                get_tool(name).decode({field: "bob"}, "ann")

    @pytest.mark.parametrize("value", ["\ud800", float("inf"), {"a": [float("nan")]}])
    def test_what_is_no_json_is_refused(self, value: Any) -> None:
        with pytest.raises(Invalid):
            get_tool("send_message").decode({"to_agent": "bob", "payload": "x", "context": {"deep": value}}, "ann")

    def test_kinds_are_words(self) -> None:
        assert get_tool("set_gate").input_schema["properties"]["kind"]["enum"] == sorted(GateKind)

    @pytest.mark.parametrize(("value", "seconds"), [(None, 0), (0, 0), (2.5, 2.5), ("30", 30), (50, 50)])
    def test_seconds_to_wait(self, value: Any, seconds: float) -> None:
        assert parse_wait(value) == seconds

    @pytest.mark.parametrize("value", [-1, 51, "soon", True, [], "nan"])
    def test_no_seconds_to_wait(self, value: Any) -> None:
        with pytest.raises(Invalid, match=r"^wait: "):
            parse_wait(value)


async def test_what_is_announced_works(setup: McpSetup) -> None:
    for transport, revision, can_subscribe in (
        ("http", "2026-07-28", True),
        ("http", "2025-11-25", False),
        ("stdio", "2026-07-28", True),
        ("stdio", "2025-11-25", True),
    ):
        async with setup.open_client(transport, revision) as client:
            capabilities = client.server_capabilities
            assert capabilities.resources is not None
            assert bool(capabilities.resources.subscribe) == can_subscribe
            assert not capabilities.resources.list_changed
            assert capabilities.tools is not None
            assert not capabilities.tools.list_changed
            assert capabilities.experimental is None
            assert client.instructions
