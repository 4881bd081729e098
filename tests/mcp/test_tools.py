"""Every tool, on both transports and in both revisions, as a model uses it."""

import pytest

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import Question
from gatepost.gates.proposed_action import Action
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import ItemState, Push
from gatepost.inbox.push import actions as push
from gatepost.operations.operation_tool import load_tools
from tests.mcp.mcp_setup import MODES, TRANSPORTS, McpSetup, ToolCaller, get_text
from tests.mcp.stdio_server import wait_until
from tests.mcp.tour import call_every_tool


@pytest.mark.parametrize(
    ("transport", "revision"),
    [("process", "2026-07-28"), ("stdio", "2025-11-25"), *(("http", revision) for revision in MODES)],
)
async def test_every_tool_answers_as_its_schema_says(setup: McpSetup, transport: str, revision: str) -> None:
    async with (
        setup.open_client(transport, revision) as client,
        setup.open_client("http", revision, "designer") as designer_client,
    ):
        await call_every_tool(setup, ToolCaller(client), ToolCaller(designer_client))


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_drained_batch_is_delivered_when_the_answer_is_there(setup: McpSetup, transport: str) -> None:
    outcome = setup.store.run_sync(push.push_event, Push(to="analyst", source="test", content="first"))
    async with setup.open_client(transport) as client:
        result = await client.call_tool("drain_inbox")
        lines = get_text(result).splitlines()
        assert lines[0].startswith("INBOX (1 event, ")
        assert lines[1:] == ['[Event: test] "first"', f"events: {outcome.event}"]
        await wait_until(lambda: setup.store.read_sync(inbox.list_page, "analyst")[0].state is ItemState.DELIVERED)
        [item] = (await ToolCaller(client).call("read_inbox"))["items"]
        assert item["state"] == "delivered"


async def test_the_text_of_a_decision_says_what_is_to_be_run(setup: McpSetup) -> None:
    async with setup.open_client("http") as client, setup.open_client("http", name="designer") as designer_client:
        action = {"name": "send", "args": {"amount": 100}}
        asked = await client.call_tool("ask_decision", {"question": "Send it?", "action": action, "of": "designer"})
        assert asked.structured_content is not None
        hash = asked.structured_content["contextHash"]
        assert f'action send {{"amount":100}}; hash {hash}; options accept "run it as it is"' in get_text(asked)
        edit = {"decision": asked.structured_content["id"], "option": "edit", "args": {"amount": 90}}
        refusal = await ToolCaller(designer_client).refuse("answer_decision", **edit)
        assert refusal.startswith("an answer to an action needs context_hash, the hash of the question that was read")
        revision = Question(question="Send it?", action=Action(name="send", args={"amount": 9_000}))
        setup.store.run_sync(decisions.revise, edit["decision"], revision, by="analyst")
        refusal = await ToolCaller(designer_client).refuse("answer_decision", **edit, context_hash=hash)
        assert "has changed since that was read" in refusal
        [asked_again] = (await ToolCaller(designer_client).call("list_decisions", pending=True))["items"]
        assert asked_again["action"]["args"] == {"amount": 9_000}
        edit["context_hash"] = asked_again["contextHash"]
        answered = await designer_client.call_tool("answer_decision", edit)
        assert get_text(answered).endswith('answered by designer: edit {"amount":90}')


class TestRefusals:
    @pytest.mark.parametrize("transport", TRANSPORTS)
    async def test_mistakes_are_sentences_for_the_model(self, setup: McpSetup, transport: str) -> None:
        async with setup.open_client(transport) as client:
            tools = ToolCaller(client)
            refused = "this credential is 'analyst' and cannot act as 'designer'"
            assert await tools.refuse("read_inbox", name="designer") == refused
            assert await tools.refuse("drain_inbox", name="designer") == refused
            assert await tools.refuse("drain_inbox", name="nobody") == refused.replace("designer", "nobody")
            assert await tools.refuse("drain_inbox", limit=0) == "limit: 0 is less than 1 (hint: use 1 to 1000)"
            assert (
                await tools.refuse("drain_inbox", limit="many")
                == "limit: 'many' is not a whole number (hint: use 1 to 1000)"
            )
            assert (
                await tools.refuse("drain_inbox", limits=1)
                == "'limits' is not a field of it (hint: did you mean 'limit'?)"
            )
            assert (await tools.refuse("drain_inbox", wait=51)).startswith("wait: 51 is not between 0 and 50")
            assert await tools.refuse("post_to_space", content="x") == "'space' is missing"
            assert await tools.refuse("read_space", space="a/b") == "space: 'a/b' is not a name or an id"
            assert (await tools.refuse("resolve_gate", gate="gate_1")).startswith("'gate_1' is not the id of a gate")
            unknown = f"gate_{'0' * 32}"
            assert (await tools.refuse("resolve_gate", gate=unknown)).startswith(f"there is no gate {unknown!r}")
            assert await tools.refuse("send_message", to_agent="designer", payload="x", priority=6) == (
                "priority: 6 is more than 5"
            )
            assert await tools.refuse("send_message", to_agent="designer", payload="x", ref_id="1") == (
                "'ref_type' is missing (hint: it is needed with 'ref_id')"
            )
            assert "did you mean 'designer'?" in await tools.refuse("send_message", to_agent="desiner", payload="x")
            unknown_item = await tools.refuse("post_note", entity_type="task", entity_id="1 2 3", note="x")
            assert "1 2 3" in unknown_item
            assert await tools.refuse("set_gate", name="x", kind="humann") == (
                "kind: 'humann' is not one of human, decision, timer, event, mail, command, ci"
                " (hint: did you mean 'human'?)"
            )

    async def test_a_key_of_a_trigger_is_refused_by_every_tool(self, setup: McpSetup) -> None:
        key = setup.gateway_thread.gateway.create_key("trigger", "analyst")
        async with setup.open_http({"x-secret-key": key}) as client:
            for name in load_tools():
                assert await ToolCaller(client).refuse(name) == "this key can only trigger 'analyst'"


class TestCallers:
    async def test_the_administrator_is_the_person_admin(self, setup: McpSetup) -> None:
        async with setup.open_http({"x-secret-key": setup.gateway_thread.gateway.admin_key}) as client:
            gate = await ToolCaller(client).call("set_gate", name="Sign-off", owner="analyst", awaits="designer")
            assert gate["owner"] == "analyst"
            assert (await ToolCaller(client).call("read_inbox"))["items"] == []
            assert (await ToolCaller(client).refuse("drain_inbox")).startswith("'admin' is a person")

    async def test_the_administrator_acts_as_the_entity_that_it_names(self, setup: McpSetup) -> None:
        setup.store.run_sync(push.push_event, Push(to="analyst", source="test", content="for the analyst"))
        headers = {"x-secret-key": setup.gateway_thread.gateway.admin_key, "x-act-as": "analyst"}
        async with setup.open_http(headers) as client:
            tools = ToolCaller(client)
            assert [item["content"] for item in (await tools.call("read_inbox"))["items"]] == ["for the analyst"]
            assert "cannot act as 'designer'" in await tools.refuse("read_inbox", name="designer")

    async def test_a_server_without_an_agent_says_how_to_set_one(self, setup: McpSetup) -> None:
        async with setup.open_stdio() as client:
            sentence = await ToolCaller(client).refuse("drain_inbox")
            assert sentence.startswith("no agent is set for this server (hint: start the server as `gatepost mcp --as")
            assert (await client.list_resources()).resources == []
        async with setup.open_stdio(environ={"GATEPOST_AGENT": "analyst"}) as client:
            assert (await ToolCaller(client).call("drain_inbox"))["items"] == []
        (setup.home / "gatepost.toml").write_text('agent = "designer"\n')
        async with setup.open_stdio() as client:
            assert "cannot act as 'analyst'" in await ToolCaller(client).refuse("drain_inbox", name="analyst")

    async def test_an_agent_that_does_not_exist_is_named(self, setup: McpSetup) -> None:
        async with setup.open_stdio("--as", "analist") as client:
            sentence = await ToolCaller(client).refuse("drain_inbox")
            assert sentence == "there is no entity 'analist' (hint: did you mean 'analyst'?)"

    async def test_an_alias_is_the_entity(self, setup: McpSetup) -> None:
        spec = directory.EntitySpec(name="quinn", kind=EntityKind.AGENT, aliases=["bead-42"])
        setup.store.run_sync(directory.register, spec)
        async with setup.open_stdio("--as", "bead-42") as client:
            gate = await ToolCaller(client).call("set_gate", name="Sign-off", awaits="designer")
            assert gate["owner"] == "quinn"
