"""A tour through every tool, for any client: it uses each as a model does, and checks what comes back."""

from gatepost.channels import chat_handlers as chat
from gatepost.channels.chat_api import SendChat
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import TriggerConfig, TriggerSchedule
from gatepost.core.times import HOUR
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.operations.operation_tool import load_tools
from gatepost.residents import agent_actions as agents
from tests.mcp.mcp_setup import McpSetup, ToolCaller


async def call_every_tool(setup: McpSetup, analyst: ToolCaller, designer: ToolCaller) -> None:
    """Call each tool as the analyst, who has all skills, and those that need another as the designer."""
    setup.store.run_sync(agents.set_skills, "analyst", ["routing"])
    setup.store.run_sync(
        push.push_event, Push(to="analyst", source="test", content="Pull the Q4 numbers", subject="Q4")
    )

    listed = await analyst.call("list_agents")
    assert [agent["name"] for agent in listed["items"]] == ["analyst", "designer", "developer"]

    [item] = (await analyst.call("read_inbox", state="pending"))["items"]
    assert (item["content"], item["subject"], item["state"]) == ("Pull the Q4 numbers", "Q4", "pending")
    assert (await analyst.call("read_inbox", state="delivered"))["items"] == []
    [drained] = (await analyst.call("drain_inbox", limit="5"))["items"]
    assert drained["eventId"] == item["eventId"]
    assert (await analyst.call("drain_inbox"))["items"] == []

    decision = await analyst.call(
        "ask_decision",
        question="Ship it?",
        options='[{"id": "ship", "label": "Ship it"}, {"id": "wait", "label": "Wait"}]',
        of="designer",
        within="2h",
    )
    assert decision["status"] == "pending"
    [asked] = (await designer.call("list_decisions", pending="true"))["items"]
    assert asked["id"] == decision["id"]
    answered = await designer.call("answer_decision", decision=asked["id"], option="ship")
    assert (answered["status"], answered["answer"]["by"]) == ("answered", "designer")
    found = await analyst.call("list_decisions", pending=False, since=decision["createdAt"], wait=30)
    assert [item["answer"]["option"] for item in found["items"]] == ["ship"]

    about_action = await analyst.call(
        "ask_decision", question="Send it?", action='{"name": "send", "args": {"amount": 100}}', of="designer"
    )
    assert about_action["action"] == {"name": "send", "args": {"amount": 100}}
    edit = {"decision": about_action["id"], "option": "edit", "args": '{"amount": 90}'}
    edited = await designer.call("answer_decision", **edit, context_hash=about_action["contextHash"])
    assert edited["answer"]["args"] == {"amount": 90}

    gate = await analyst.call("set_gate", name="Sign-off", awaits="designer", instruction="Wait for the design")
    assert gate["holds"]
    assert [item["id"] for item in (await analyst.call("list_gates", pending=True))["items"]] == [gate["id"]]
    resolved = await designer.call("resolve_gate", gate=gate["id"], reason="looks good")
    assert resolved["status"] == "resolved"

    passed_on = await analyst.call("ask_decision", question="Which colour?", free_text=True, of="designer")
    handed_over = await designer.call("answer_decision", decision=passed_on["id"], to="developer", text="You paint")
    assert (handed_over["id"], handed_over["status"]) == (passed_on["id"], "pending")

    said = await analyst.call("set_attention", level="focus", within="2h")
    assert said["attention"]["level"] == "focus"
    assert (await analyst.call("set_attention", level="all")) == {}
    plan = await analyst.call("set_plan", name="Daily", instruction="Post the summary", cron="0 9 * * *")
    assert [item["id"] for item in (await analyst.call("list_plans"))["items"]] == [plan["id"]]

    message = await analyst.call("post_to_space", space="q4-report", content="Q4 closed at 4.2M")
    assert message["seq"] == 1
    [read] = (await analyst.call("read_space", space="q4-report"))["items"]
    assert (read["seq"], read["sender"], read["content"]) == (1, "analyst", "Q4 closed at 4.2M")

    sent = await analyst.call(
        "send_message",
        to_agent="designer",
        message_type="blocker",
        subject="Blocked on schema",
        payload={"text": "Which one?", "choices": [1, 2]},
        context={"branch": "main"},
        ref_type="task",
        ref_id="0.0.123",
        priority=1,
    )
    assert sent["to"] == "designer"
    [mail] = (await designer.call("read_inbox", type="mail", **{"from": "analyst"}, ref="task:0.0.123"))["items"]
    assert (mail["content"], mail["priority"]) == ("Which one?", 0)
    assert (await designer.call("read_inbox", text="blocked ON"))["items"] == [mail]
    assert (await designer.call("read_inbox", text="blocked_on"))["items"] == []
    answer = await designer.call("send_message", reply_to=mail["eventId"], payload="The second", priority="5")
    assert answer["subject"].endswith("Blocked on schema")
    assert (await designer.call("reply", event=mail["eventId"], text="The second"))["kind"] == "mail"

    task = {"entity_type": "task", "entity_id": "0.0.123"}
    added = await analyst.call("add_work_item", **task, title="Write the schema")
    assert added == {"type": "task", "id": "0.0.123", "title": "Write the schema"}
    event = await analyst.call("post_work_event", **task, event="blocked", reason="no schema")
    assert (event["type"], event["created"]) == ("task.blocked", False)
    note = await analyst.call("post_note", **task, note="The **second** is simpler", notify="designer")
    assert note["recipients"] == ["designer"]
    assert [item["id"] for item in (await designer.call("read_notes", **task))["items"]] == [note["id"]]

    await call_routing_tools(setup, analyst, designer)
    assert analyst.called | designer.called == set(load_tools())


async def call_routing_tools(setup: McpSetup, analyst: ToolCaller, designer: ToolCaller) -> None:
    """Call what an agent with the skill `routing` has, as the analyst, who is a guest."""
    assert await designer.refuse("list_routes") == (
        "'designer' lacks the skill 'routing'"
        " (hint: `gatepost agent set NAME --skill routing` gives an agent the skill)"
    )
    for text in ("Is anybody there?", "Hello?"):
        setup.store.run_sync(chat.send, SendChat(content=text), sender="admin")
    every_hour = TriggerConfig(schedule=TriggerSchedule(every=HOUR))
    setup.store.run_sync(triggers.add, TriggerSpec(name="pulse", provider="cron", config=every_hour), by="analyst")

    route = await analyst.call("create_route", name="people", channel="cli", targets=["designer"], rank="5")
    assert [item["id"] for item in (await analyst.call("list_routes"))["items"]] == [route["id"]]
    assert (await analyst.call("update_route", route="people", rank=7))["rank"] == 7
    first, second = (await analyst.call("list_dead_letters"))["items"]
    assert (await analyst.call("replay_dead_letter", id=first["id"]))["targets"] == ["designer"]
    assert (await analyst.call("discard_dead_letter", id=second["id"]))["id"] == second["id"]
    assert (await analyst.call("disable_route", route="people"))["active"] is False
    assert [item["name"] for item in (await analyst.call("list_triggers"))["items"]] == ["pulse"]
    assert (await analyst.call("disable_trigger", name="pulse"))["active"] is False
