"""What a resident can do with the tools that all residents have, and what it cannot."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from gatepost.errors import Conflict, GatepostError, Invalid, NotFound, Refused, TooLarge
from gatepost.gates import gate_actions as gates
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import MAX_HOPS, EventType, Priority
from gatepost.plans import actions as plans
from gatepost.plans.plan import AfterDelay, PlanSpec
from gatepost.residents import agent_config_json as agent_config, goal_and_memory, goal_and_memory_actions as memories
from gatepost.residents.goal_and_memory import GoalSpec
from gatepost.residents.tools import load_tools
from gatepost.residents.tools.context import MAX_RESULT_SIZE, measure_json
from gatepost.spaces import actions as spaces
from tests.plans.plan_specs import parse_spec
from tests.residents.tools.tool_caller import ToolCaller
from tests.support.collected_failures import check_cases
from tests.support.store_context import StoreContext


@pytest.fixture
def ann(ctx: StoreContext) -> ToolCaller:
    """Ann at work; she is in the space tea with bob and husam, and not in the space secret."""
    ctx.store.run_sync(spaces.create, name="Tea Room", id="tea", members=["ann", "bob", "husam"])
    ctx.store.run_sync(spaces.create, name="Secret", id="secret", members=["bob", "husam"])
    ctx.store.run_sync(spaces.post, "secret", sender="bob", content="the password")
    return ToolCaller(ctx)


def test_the_configuration_keeps_the_names_of_all_of_them() -> None:
    assert set(load_tools()) == agent_config.list_built_in_tools()


class TestSpaces:
    def test_one_enters_a_space_and_reads_what_was_said(self, ann: ToolCaller, ctx: StoreContext) -> None:
        for number in range(5):
            ctx.store.run_sync(spaces.post, "tea", sender="husam", content=f"{number}")
        result = ann.use("enter_space", spaceId="tea", limit=3)
        assert {key: result[key] for key in ("success", "spaceId", "spaceName", "totalMessages")} == {
            "success": True,
            "spaceId": "tea",
            "spaceName": "Tea Room",
            "totalMessages": 5,
        }
        assert [message["content"] for message in result["history"]] == ["2", "3", "4"]
        assert set(result["history"][0]) == {"id", "senderName", "senderType", "content", "timestamp"}
        assert (result["history"][0]["senderName"], result["history"][0]["senderType"]) == ("Husam", "human")
        assert ann.active == "tea"
        assert ctx.store.read_sync(spaces.count_unread, "ann")["tea"] == 0

    def test_one_speaks_in_the_space_one_has_entered(self, ann: ToolCaller, ctx: StoreContext) -> None:
        with pytest.raises(Conflict, match="enter_space first"):
            ann.use("send_message", text="hello")
        ann.use("enter_space", spaceId="tea")
        result = ann.use("send_message", call="run_1/2.0", text="hello")
        [message] = ctx.store.read_sync(spaces.read, "tea", viewer="husam")
        assert result == {"success": True, "messageId": message.id, "status": "delivered"}
        assert (message.sender, message.content) == ("ann", "hello")
        assert message.data == {"streamId": "run_1/2.0", "runId": ann.run.id}
        [item] = ctx.store.read_sync(inbox.peek, "bob")
        assert (item.event.type, item.event.hops) == (EventType.SPACE_MESSAGE, ann.run.hops + 1)
        assert ctx.list_waiting("ann") == []
        with pytest.raises(Invalid):
            ann.use("send_message", text=" \n ")

    def test_one_reads_back_without_entering(self, ann: ToolCaller, ctx: StoreContext) -> None:
        for number in range(7):
            ctx.store.run_sync(spaces.post, "tea", sender="husam", content=f"{number}")

        def read_contents(**options: Any) -> list[str]:
            result = ann.use("read_messages", spaceId="tea", **options)
            assert result["total"] == 7
            return [message["content"] for message in result["messages"]]

        assert read_contents(limit=2) == ["5", "6"]
        assert read_contents(limit=2, offset=2) == ["3", "4"]
        assert read_contents(limit=50, offset=5) == ["0", "1"]
        assert read_contents(offset=7) == read_contents(offset=10**12) == []
        assert len(read_contents(limit=10**9)) == 7
        assert ann.active is None
        with pytest.raises(Invalid, match="no space"):
            ann.use("read_messages")
        for name, number in (("limit", 0), ("limit", -1), ("offset", -1)):
            with pytest.raises(Invalid):
                ann.use("read_messages", **{"spaceId": "tea", name: number})  # type: ignore[arg-type]

    @pytest.mark.parametrize("tool", ["enter_space", "read_messages"])
    @check_cases(
        "space",
        ["secret", "SECRET", "../secret", "tea/../secret", "secret\x00", "", "*", "tea' OR '1'='1", "x" * 5_000],
    )
    def test_nobody_reads_a_space_they_are_not_in(self, ann: ToolCaller, tool: str, space: str) -> None:
        with pytest.raises((Refused, NotFound, Invalid)) as error:
            ann.use(tool, spaceId=space)
        assert "password" not in str(error.value)
        assert ann.active is None

    def test_who_has_left_neither_reads_nor_speaks(self, ann: ToolCaller, ctx: StoreContext) -> None:
        ann.use("enter_space", spaceId="tea")
        ctx.store.run_sync(spaces.leave, "tea", "ann")
        for tool, arguments in (
            ("send_message", {"text": "still here"}),
            ("read_messages", {}),
            ("enter_space", {"spaceId": "tea"}),
        ):
            with pytest.raises(Refused):
                ann.use(tool, **arguments)
        assert ctx.store.read_sync(spaces.read, "tea") == []

    def test_a_long_history_does_not_fill_the_mind(self, ann: ToolCaller, ctx: StoreContext) -> None:
        for number in range(6):
            ctx.store.run_sync(spaces.post, "tea", sender="husam", content=f"{number}" * 20_000)
        history = ann.use("enter_space", spaceId="tea")["history"]
        assert [message["content"][0] for message in history] == ["3", "4", "5"]
        ctx.store.run_sync(spaces.post, "tea", sender="husam", content="x" * 200_000)
        [message] = ann.use("read_messages", limit=1)["messages"]
        assert len(message["content"]) < MAX_RESULT_SIZE
        assert "200000 characters" in message["content"]


@pytest.mark.parametrize("text", ["x", "\x01", '"\\', "é", "😀\n"])
def test_whatever_the_words_a_result_has_its_room(ann: ToolCaller, ctx: StoreContext, text: str) -> None:
    """Some characters take six as JSON."""
    long_text = text * (100_000 // len(text))
    for _ in range(3):
        ctx.store.run_sync(spaces.post, "tea", sender="husam", content=long_text)
        ctx.push(long_text)
    ctx.store.run_sync(memories.set_memories, "ann", {f"key {number}": long_text[:4_000] for number in range(20)})
    for number in range(3):
        document = {"name": f"plan {number}", "instruction": long_text, "runAfter": "1 hour"}
        ctx.store.run_sync(plans.set_plan, "ann", parse_spec(document))
    ann.use("enter_space", spaceId="tea")
    for tool, arguments in (
        ("enter_space", {"spaceId": "tea"}),
        ("read_messages", {}),
        ("peek_inbox", {"count": 3}),
        ("get_memories", {}),
        ("get_plans", {}),
    ):
        result = ann.use(tool, **arguments)
        assert MAX_RESULT_SIZE / 10 < measure_json(result) < MAX_RESULT_SIZE + 1_000, tool


class TestInbox:
    def test_what_is_taken_from_the_inbox_belongs_to_the_run(self, ann: ToolCaller, ctx: StoreContext) -> None:
        for content, priority in (("low", Priority.LOW), ("urgent", Priority.CRITICAL), ("normal", Priority.NORMAL)):
            ctx.push(content, priority=priority, data={"n": 1})
        result = ann.use("peek_inbox", count=2)
        assert [event["content"] for event in result["events"]] == ["urgent", "normal"] == ann.taken_contents
        assert result["remaining"] == 1
        assert (result["events"][0]["type"], result["events"][0]["data"]) == ("event", {"n": 1})
        assert ctx.list_waiting() == ["low"]
        ctx.store.run_sync(inbox.ack, ann.run.claim, owner=ann.run.id, fence=ann.run.claim_fence)
        assert [ctx.show_item(event["eventId"]).state for event in result["events"]] == ["delivered"] * 2
        assert ctx.is_balanced()

    def test_only_of_one_type_and_ten_at_most(self, ann: ToolCaller, ctx: StoreContext) -> None:
        for number in range(12):
            ctx.push(f"{number}")
        ctx.push("a letter", type=EventType.MAIL)
        assert [event["content"] for event in ann.use("peek_inbox", filter="mail")["events"]] == ["a letter"]
        result = ann.use("peek_inbox", count=1_000)
        assert (len(result["events"]), result["remaining"]) == (10, 2)
        for arguments in ({"count": 0}, {"count": -5}, {"filter": "gossip"}):
            with pytest.raises(Invalid):
                ann.use("peek_inbox", **arguments)

    def test_a_run_that_was_taken_over_takes_nothing(self, ann: ToolCaller, ctx: StoreContext) -> None:
        ctx.push("tea")
        ann.run = replace(ann.run, claim_fence=ann.run.claim_fence + 1)
        with pytest.raises(GatepostError):
            ann.use("peek_inbox")
        assert ctx.list_waiting() == ["tea"]

    def test_a_large_event_is_cut_and_an_empty_inbox_is_empty(self, ann: ToolCaller, ctx: StoreContext) -> None:
        assert ann.use("peek_inbox") == {"events": [], "remaining": 0}
        ctx.push("x" * 200_000)
        [event] = ann.use("peek_inbox")["events"]
        assert len(json.dumps(event)) < MAX_RESULT_SIZE + 200
        assert "cut" in event["line"]

    def test_what_is_cut_says_where_the_rest_is_however_it_is_written(self, ann: ToolCaller, ctx: StoreContext) -> None:
        ctx.push('"\\' * 100_000)
        [event] = ann.use("peek_inbox")["events"]
        assert "the rest: " in event["line"]
        assert measure_json(event) < MAX_RESULT_SIZE + 200

    def test_skipping_does_nothing_by_itself(self, ann: ToolCaller, ctx: StoreContext) -> None:
        assert ann.use("skip", reason="not for me")["success"] is True
        assert not load_tools()["skip"].has_effect


class TestMemories:
    def test_what_is_remembered_can_be_read_changed_and_forgotten(self, ann: ToolCaller, ctx: StoreContext) -> None:
        pairs = [{"key": "tea", "value": "green"}, {"key": "names", "value": '{"a": 1}'}]
        assert ann.use("set_memories", memories=pairs) == {"success": True, "count": 2}
        ctx.clock.advance(1_000_000)
        assert ann.use("set_memories", memories=[{"key": "tea", "value": "black"}])["count"] == 1
        assert ann.use("get_memories") == {"memories": [{"key": "tea", "value": "black"}, pairs[1]]}
        assert ann.use("get_memories", keys=["names", "other"]) == {"memories": [pairs[1]]}
        assert ann.use("delete_memories", keys=["tea", "tea", "other"]) == {"success": True, "deleted": 1}
        assert ann.use("get_memories") == {"memories": [pairs[1]]}

    def test_they_are_ones_own(self, ann: ToolCaller, ctx: StoreContext) -> None:
        ctx.store.run_sync(memories.set_memories, "bob", {"tea": "secret"})
        assert ann.use("get_memories") == ann.use("get_memories", keys=["tea", "bob/tea"]) == {"memories": []}
        assert ann.use("delete_memories", keys=["tea"])["deleted"] == 0
        ann.use("set_memories", memories=[{"key": "tea", "value": "mine"}])
        assert [entry.value for entry in ctx.store.read_sync(memories.list_memories, "bob")] == ["secret"]

    @check_cases(
        ("key", "value"),
        [("", "x"), (" ", "x"), ("k" * 201, "x"), ("a\nb", "x"), ("a\x00", "x"), ("k", "a\x00b"), ("k", "é" * 8_193)],
    )
    def test_what_cannot_be_remembered_is_refused_with_all_that_came_with_it(
        self, ann: ToolCaller, key: str, value: str
    ) -> None:
        with pytest.raises((Invalid, TooLarge)):
            ann.use("set_memories", memories=[{"key": "good", "value": "x"}, {"key": key, "value": value}])
        assert ann.use("get_memories") == {"memories": []}

    def test_there_is_room_for_so_many(self, ann: ToolCaller, ctx: StoreContext) -> None:
        ctx.store.run_sync(
            memories.set_memories,
            "ann",
            {f"{number}": "x" * 100 for number in range(goal_and_memory.MAX_MEMORIES - 1)},
        )
        pairs = [{"key": "a", "value": "x"}, {"key": "b", "value": "x"}]
        with pytest.raises(Invalid, match="1000 memories"):
            ann.use("set_memories", memories=pairs)
        ann.use("set_memories", memories=pairs[:1])
        ann.use("set_memories", memories=[{"key": "a", "value": "changed"}])
        with pytest.raises(Invalid, match="at once"):
            ann.use("delete_memories", keys=[f"{number}" for number in range(101)])
        result = ann.use("get_memories")
        assert len(json.dumps(result)) < 1.2 * MAX_RESULT_SIZE
        assert len(result["more"]) == 100


class TestGoals:
    def test_goals_are_set_changed_and_deleted(self, ann: ToolCaller, ctx: StoreContext) -> None:
        result = ann.use(
            "set_goals", goals=[{"description": "less", "priority": 1}, {"description": "more", "priority": 9}]
        )
        assert (result["success"], result["count"]) == (True, 2)
        low_goal, high_goal = result["ids"]
        ann.use("set_goals", goals=[{"id": low_goal, "status": "completed"}])
        goal_list = ctx.store.read_sync(memories.list_goals, "ann")
        assert [(goal.id, goal.description, goal.status, goal.priority) for goal in goal_list] == [
            (high_goal, "more", "active", 9),
            (low_goal, "less", "completed", 1),
        ]
        assert ann.use("delete_goals", goalIds=[low_goal, low_goal]) == {"success": True, "deleted": 1}
        assert [goal.id for goal in ctx.store.read_sync(memories.list_goals, "ann")] == [high_goal]

    def test_another_agents_goals_are_not_there(self, ann: ToolCaller, ctx: StoreContext) -> None:
        [bob_goal] = ctx.store.run_sync(memories.set_goals, "bob", [GoalSpec(description="win")])
        for tool, arguments in (
            ("set_goals", {"goals": [{"description": "new"}, {"id": bob_goal.id, "description": "lose"}]}),
            ("delete_goals", {"goalIds": [bob_goal.id]}),
        ):
            with pytest.raises(NotFound):
                ann.use(tool, **arguments)
        assert ctx.store.read_sync(memories.list_goals, "bob") == [replace(bob_goal, number=1)]
        assert ctx.store.read_sync(memories.list_goals, "ann") == []

    @check_cases(
        "goal",
        [
            {},
            {"description": " "},
            {"description": "x" * 4_001},
            {"description": "a\x00"},
            {"description": "x", "priority": 10**30},
            {"description": "x", "status": "won"},
            {"id": "goal_1", "description": "x"},
            {"id": "../1", "description": "x"},
            {"description": "x", "owner": "bob"},
        ],
    )
    def test_what_is_no_goal_is_refused(self, ann: ToolCaller, ctx: StoreContext, goal: dict[str, Any]) -> None:
        with pytest.raises(Invalid):
            ann.use("set_goals", goals=[{"description": "good"}, goal])
        assert ctx.store.read_sync(memories.list_goals, "ann") == []

    def test_there_is_room_for_so_many(self, ann: ToolCaller) -> None:
        ann.use("set_goals", goals=[{"description": "x"}] * 200)
        with pytest.raises(Invalid, match="200 goals"):
            ann.use("set_goals", goals=[{"description": "x"}])


class TestPlans:
    def test_plans_are_set_read_changed_and_deleted(self, ann: ToolCaller, ctx: StoreContext) -> None:
        plan_documents = [
            {"name": "Report", "instruction": "post it", "cron": "0 9 * * 1", "timeZone": "Europe/Berlin"},
            {"name": "Tea", "instruction": "make it", "runAfter": "5 hours"},
        ]
        result = ann.use("set_plans", plans=plan_documents)
        assert (result["success"], result["count"]) == (True, 2)
        report, tea = ann.use("get_plans")["plans"]
        assert [report["id"], tea["id"]] == result["ids"]
        assert (report["isRecurring"], report["cron"], report["timeZone"]) == (True, "0 9 * * 1", "Europe/Berlin")
        assert (tea["isRecurring"], tea["cron"], tea["status"]) == (False, None, "pending")
        assert tea["scheduledAt"] == tea["nextRunAt"]
        ann.use("set_plans", plans=[{"id": tea["id"], "instruction": "pour it"}])
        assert ctx.store.read_sync(plans.show, tea["id"]).instruction == "pour it"
        assert ann.use("get_plans", status="completed") == {"plans": []}
        assert ann.use("delete_plans", planIds=result["ids"]) == {"success": True, "deleted": 2}
        assert ann.use("get_plans") == {"plans": []}

    def test_what_a_person_disabled_stays_so_until_the_agent_says_otherwise(
        self, ann: ToolCaller, ctx: StoreContext
    ) -> None:
        [id] = ann.use("set_plans", plans=[{"name": "Report", "cron": "0 9 * * 1"}])["ids"]
        ctx.store.run_sync(plans.set_plan, None, PlanSpec(id=id, active=False))
        [document] = ann.use("get_plans")["plans"]
        assert (document["active"], document["nextRunAt"], document["status"]) == (False, None, "pending")
        for change in ({"instruction": "post it"}, {"cron": "0 9 * * 2"}, {"runAfter": "1 hour"}):
            result = ann.use("set_plans", plans=[{"id": id, **change}, {"name": "Tea", "runAfter": "1 hour"}])
            assert result["disabled"] == [id], "the agent learns that what it has changed does not fire"
        assert not ctx.store.read_sync(plans.show, id).active
        assert ann.use("set_plans", plans=[{"id": id, "active": True}]) == {"success": True, "count": 1, "ids": [id]}
        assert ctx.store.read_sync(plans.show, id).active

    def test_another_agents_plans_are_not_there(self, ann: ToolCaller, ctx: StoreContext) -> None:
        bob_plan = ctx.store.run_sync(plans.set_plan, "bob", PlanSpec(name="Secret", schedule=AfterDelay(1_000_000)))
        [own_id] = ann.use("set_plans", plans=[{"name": "Mine", "runAfter": "1 day"}])["ids"]
        for tool, arguments in (
            ("set_plans", {"plans": [{"id": bob_plan.id, "name": "stolen"}]}),
            ("delete_plans", {"planIds": [own_id, bob_plan.id]}),
        ):
            with pytest.raises(NotFound):
                ann.use(tool, **arguments)
        assert [plan["name"] for plan in ann.use("get_plans")["plans"]] == ["Mine"]
        assert ctx.store.read_sync(plans.show, bob_plan.id) == bob_plan

    @check_cases(
        "schedule",
        [
            {},
            {"runAfter": "soon"},
            {"runAfter": "-5 minutes"},
            {"scheduledAt": "tomorrow"},
            {"cron": "* *"},
            {"cron": "@daily", "timeZone": "Nowhere"},
            {"runAfter": "1 day", "cron": "@daily"},
        ],
    )
    def test_when_must_be_said_once_and_clearly(self, ann: ToolCaller, schedule: dict[str, str]) -> None:
        with pytest.raises(Invalid):
            ann.use("set_plans", plans=[{"name": "ok", "runAfter": "1 day"}, {"name": "Tea"} | schedule])
        assert ann.use("get_plans") == {"plans": []}

    def test_there_is_room_for_so_many(self, ann: ToolCaller) -> None:
        for _ in range(4):
            ann.use("set_plans", plans=[{"name": "x", "runAfter": "1 day"}] * 50)
        for count in (1, 51):
            with pytest.raises(Invalid):
                ann.use("set_plans", plans=[{"name": "x", "runAfter": "1 day"}] * count)


def test_an_agent_has_few_pending_gates_and_decisions(ann: ToolCaller, ctx: StoreContext) -> None:
    for number in range(25):
        ann.use("set_gate", name=f"gate {number}", awaits="bob")
        ann.use("ask_decision", question=f"question {number}", of=["bob"])
    for tool, arguments in (("set_gate", {"name": "x", "awaits": "bob"}), ("ask_decision", {"question": "x"})):
        with pytest.raises(Invalid, match="you have 50 gates and decisions already"):
            ann.use(tool, **arguments)
    [gate, *_] = ctx.store.read_sync(gates.list_page, owner="ann", pending=True, limit=1)
    assert ann.use("resolve_gate", gateId=gate.id, withdraw=True)["status"] == "withdrawn"
    ann.use("set_gate", name="x", awaits="bob")


def test_arguments_that_are_too_large_are_refused(ann: ToolCaller) -> None:
    for tool, arguments in (("send_message", {"text": "x" * 1_000_000}), ("get_memories", {"keys": ["x" * 1_000_000]})):
        with pytest.raises(TooLarge):
            ann.use(tool, **arguments)


def test_however_long_a_chain_is_one_can_speak(ctx: StoreContext) -> None:
    ann = ToolCaller(ctx, hops=MAX_HOPS)
    ann.use("send_mail", to="husam", text="Help")
    [plan] = ann.use("set_plans", plans=[{"name": "x", "runAfter": "1 minute"}])["ids"]
    assert (
        ctx.store.read_sync(plans.show, plan).hops == ctx.store.read_sync(inbox.peek, "husam")[0].event.hops == MAX_HOPS
    )


def test_there_are_no_other_tools(ann: ToolCaller, ctx: StoreContext) -> None:
    with pytest.raises(NotFound):
        ctx.store.run_sync(ann._use, "__class__", {}, "call")
