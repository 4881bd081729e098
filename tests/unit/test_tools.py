"""What a resident can do with the tools that all residents have, and what it cannot."""

import json
from dataclasses import replace
from typing import Any

import pytest

from gatepost.actions import goals, inbox, memories, plans, spaces
from gatepost.actions.tools import BUILT_IN_TOOLS, ToolContext, call_tool
from gatepost.actions.tools.context import MAX_RESULT_SIZE, measure_json
from gatepost.core import agent_config, memory
from gatepost.core import plan as plan_rules
from gatepost.core.chain import MAX_HOPS
from gatepost.core.event import EventType, Priority
from gatepost.core.goal import GoalSpec
from gatepost.core.plan import AfterDelay, PlanSpec
from gatepost.core.run import Run, RunStatus
from gatepost.errors import Conflict, GatepostError, Invalid, NotFound, Refused, TooLarge, UnknownAddress
from gatepost.ports import Transaction
from gatepost.runtime import tool_schema
from tests.unit.conftest import House


class Hands:
    """An agent at work in a run, who uses tools as a model would: by name, with JSON."""

    def __init__(self, house: House, name: str = "ann") -> None:
        self.house = house
        self.name = name
        self.active: str | None = None
        self.taken: list[str] = []
        self._calls = 0
        run = house.kit.store.call(lambda tx: tx.new_id("run"))
        house.tell("wake", to=name)
        claim = house.claim(name, owner=run, kind="run", limit=1).claim
        assert claim is not None
        self.run = Run(
            number=1,
            id=run,
            agent=name,
            status=RunStatus.RUNNING,
            cycle=1,
            cause="event",
            claim=claim.id,
            claim_fence=claim.fence,
            events=1,
            hops=3,
            started_at=house.clock.now(),
        )

    def use(self, tool: str, /, call: str | None = None, **arguments: Any) -> Any:
        read = tool_schema.parse_arguments(BUILT_IN_TOOLS[tool].function, json.dumps(arguments))
        self._calls += 1
        return self.house.store.call(self._use, tool, read, call or f"{self.run.id}/{self._calls}")

    def _use(self, tx: Transaction, tool: str, arguments: dict[str, Any], call: str) -> Any:
        from gatepost.actions import directory

        me = directory.find_live(tx, self.name)
        desk = ToolContext(tx=tx, agent=me, run=self.run, call=call, active_space=self.active)
        result = call_tool(desk, tool, arguments)
        json.dumps(result)
        self.active = desk.active_space
        self.taken += [item.event.content for item in desk.taken_items]
        return result


@pytest.fixture
def ann(house: House) -> Hands:
    """Ann at work; she is in the space tea with bob and husam, and not in the space secret."""
    house.store.call(spaces.create, name="Tea Room", id="tea", members=["ann", "bob", "husam"])
    house.store.call(spaces.create, name="Secret", id="secret", members=["bob", "husam"])
    house.store.call(spaces.post, "secret", sender="bob", content="the password")
    return Hands(house)


def test_the_configuration_keeps_the_names_of_all_of_them() -> None:
    assert set(BUILT_IN_TOOLS) <= agent_config.BUILT_IN_TOOLS


class TestSpaces:
    def test_one_enters_a_space_and_reads_what_was_said(self, ann: Hands, house: House) -> None:
        for number in range(5):
            house.store.call(spaces.post, "tea", sender="husam", content=f"{number}")
        entered = ann.use("enter_space", spaceId="tea", limit=3)
        assert {key: entered[key] for key in ("success", "spaceId", "spaceName", "totalMessages")} == {
            "success": True,
            "spaceId": "tea",
            "spaceName": "Tea Room",
            "totalMessages": 5,
        }
        assert [said["content"] for said in entered["history"]] == ["2", "3", "4"]
        assert set(entered["history"][0]) == {"id", "senderName", "senderType", "content", "timestamp"}
        assert (entered["history"][0]["senderName"], entered["history"][0]["senderType"]) == ("Husam", "human")
        assert ann.active == "tea"
        assert house.store.query(spaces.count_unread, "ann")["tea"] == 0

    def test_one_speaks_in_the_space_one_has_entered(self, ann: Hands, house: House) -> None:
        with pytest.raises(Conflict, match="enter_space first"):
            ann.use("send_message", text="hello")
        ann.use("enter_space", spaceId="tea")
        sent = ann.use("send_message", call="run_1/2.0", text="hello")
        [message] = house.store.query(spaces.read, "tea", viewer="husam")
        assert sent == {"success": True, "messageId": message.id, "status": "delivered"}
        assert (message.sender, message.content) == ("ann", "hello")
        assert message.data == {"streamId": "run_1/2.0", "runId": ann.run.id}
        [heard] = house.store.query(inbox.peek, "bob")
        assert (heard.event.type, heard.event.hops) == (EventType.SPACE_MESSAGE, ann.run.hops + 1)
        assert house.waiting("ann") == []
        with pytest.raises(Invalid):
            ann.use("send_message", text=" \n ")

    def test_one_reads_back_without_entering(self, ann: Hands, house: House) -> None:
        for number in range(7):
            house.store.call(spaces.post, "tea", sender="husam", content=f"{number}")

        def read(**more: Any) -> list[str]:
            found = ann.use("read_messages", spaceId="tea", **more)
            assert found["total"] == 7
            return [said["content"] for said in found["messages"]]

        assert read(limit=2) == ["5", "6"]
        assert read(limit=2, offset=2) == ["3", "4"]
        assert read(limit=50, offset=5) == ["0", "1"]
        assert read(offset=7) == read(offset=10**12) == []
        assert len(read(limit=10**9)) == 7
        assert ann.active is None
        with pytest.raises(Invalid, match="no space"):
            ann.use("read_messages")
        for name, number in (("limit", 0), ("limit", -1), ("offset", -1)):
            with pytest.raises(Invalid):
                ann.use("read_messages", **{"spaceId": "tea", name: number})  # type: ignore[arg-type]

    @pytest.mark.parametrize("tool", ["enter_space", "read_messages"])
    @pytest.mark.parametrize(
        "space",
        ["secret", "SECRET", "../secret", "tea/../secret", "secret\x00", "", "*", "tea' OR '1'='1", "x" * 5_000],
    )
    def test_nobody_reads_a_space_they_are_not_in(self, ann: Hands, tool: str, space: str) -> None:
        with pytest.raises((Refused, NotFound, Invalid)) as refusal:
            ann.use(tool, spaceId=space)
        assert "password" not in str(refusal.value)
        assert ann.active is None

    def test_who_has_left_neither_reads_nor_speaks(self, ann: Hands, house: House) -> None:
        ann.use("enter_space", spaceId="tea")
        house.store.call(spaces.leave, "tea", "ann")
        for tool, arguments in (
            ("send_message", {"text": "still here"}),
            ("read_messages", {}),
            ("enter_space", {"spaceId": "tea"}),
        ):
            with pytest.raises(Refused):
                ann.use(tool, **arguments)
        assert house.store.query(spaces.read, "tea") == []

    def test_a_long_history_does_not_fill_the_mind(self, ann: Hands, house: House) -> None:
        for number in range(6):
            house.store.call(spaces.post, "tea", sender="husam", content=f"{number}" * 20_000)
        history = ann.use("enter_space", spaceId="tea")["history"]
        assert [said["content"][0] for said in history] == ["3", "4", "5"]
        house.store.call(spaces.post, "tea", sender="husam", content="x" * 200_000)
        [said] = ann.use("read_messages", limit=1)["messages"]
        assert len(said["content"]) < MAX_RESULT_SIZE
        assert "200000 characters" in said["content"]


@pytest.mark.parametrize("text", ["x", "\x01", '"\\', "é", "😀\n"])
def test_whatever_the_words_a_result_has_its_room(ann: Hands, house: House, text: str) -> None:
    """Some characters take six as JSON."""
    long = text * (100_000 // len(text))
    for _ in range(3):
        house.store.call(spaces.post, "tea", sender="husam", content=long)
        house.push(long)
    house.store.call(memories.set_memories, "ann", {f"key {number}": long[:4_000] for number in range(20)})
    for number in range(3):
        wish = {"name": f"plan {number}", "instruction": long, "runAfter": "1 hour"}
        house.store.call(plans.set_plan, "ann", plan_rules.parse_spec(wish))
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
    def test_what_is_taken_from_the_inbox_belongs_to_the_run(self, ann: Hands, house: House) -> None:
        for content, priority in (("low", Priority.LOW), ("urgent", Priority.CRITICAL), ("normal", Priority.NORMAL)):
            house.push(content, priority=priority, data={"n": 1})
        peeked = ann.use("peek_inbox", count=2)
        assert [event["content"] for event in peeked["events"]] == ["urgent", "normal"] == ann.taken
        assert peeked["remaining"] == 1
        assert (peeked["events"][0]["type"], peeked["events"][0]["data"]) == ("event", {"n": 1})
        assert house.waiting() == ["low"]
        house.store.call(inbox.ack, ann.run.claim, owner=ann.run.id, fence=ann.run.claim_fence)
        assert [house.show(event["eventId"]).state for event in peeked["events"]] == ["delivered"] * 2
        assert house.balanced()

    def test_only_of_one_type_and_ten_at_most(self, ann: Hands, house: House) -> None:
        for number in range(12):
            house.push(f"{number}")
        house.push("a letter", type=EventType.MAIL)
        assert [event["content"] for event in ann.use("peek_inbox", filter="mail")["events"]] == ["a letter"]
        peeked = ann.use("peek_inbox", count=1_000)
        assert (len(peeked["events"]), peeked["remaining"]) == (10, 2)
        for wrong in ({"count": 0}, {"count": -5}, {"filter": "gossip"}):
            with pytest.raises(Invalid):
                ann.use("peek_inbox", **wrong)

    def test_a_run_that_was_taken_over_takes_nothing(self, ann: Hands, house: House) -> None:
        house.push("tea")
        ann.run = replace(ann.run, claim_fence=ann.run.claim_fence + 1)
        with pytest.raises(GatepostError):
            ann.use("peek_inbox")
        assert house.waiting() == ["tea"]

    def test_a_large_event_is_cut_and_an_empty_inbox_is_empty(self, ann: Hands, house: House) -> None:
        assert ann.use("peek_inbox") == {"events": [], "remaining": 0}
        house.push("x" * 200_000)
        [event] = ann.use("peek_inbox")["events"]
        assert len(json.dumps(event)) < MAX_RESULT_SIZE + 200
        assert "cut" in event["line"]

    def test_what_is_cut_says_where_the_rest_is_however_it_is_written(self, ann: Hands, house: House) -> None:
        house.push('"\\' * 100_000)
        [event] = ann.use("peek_inbox")["events"]
        assert "the rest: " in event["line"]
        assert measure_json(event) < MAX_RESULT_SIZE + 200

    def test_skipping_does_nothing_by_itself(self, ann: Hands, house: House) -> None:
        assert ann.use("skip", reason="not for me")["success"] is True
        assert not BUILT_IN_TOOLS["skip"].has_effect


class TestMemories:
    def test_what_is_remembered_can_be_read_changed_and_forgotten(self, ann: Hands, house: House) -> None:
        pairs = [{"key": "tea", "value": "green"}, {"key": "names", "value": '{"a": 1}'}]
        assert ann.use("set_memories", memories=pairs) == {"success": True, "count": 2}
        house.clock.advance(1_000_000)
        assert ann.use("set_memories", memories=[{"key": "tea", "value": "black"}])["count"] == 1
        assert ann.use("get_memories") == {"memories": [{"key": "tea", "value": "black"}, pairs[1]]}
        assert ann.use("get_memories", keys=["names", "other"]) == {"memories": [pairs[1]]}
        assert ann.use("delete_memories", keys=["tea", "tea", "other"]) == {"success": True, "deleted": 1}
        assert ann.use("get_memories") == {"memories": [pairs[1]]}

    def test_they_are_ones_own(self, ann: Hands, house: House) -> None:
        house.store.call(memories.set_memories, "bob", {"tea": "secret"})
        assert ann.use("get_memories") == ann.use("get_memories", keys=["tea", "bob/tea"]) == {"memories": []}
        assert ann.use("delete_memories", keys=["tea"])["deleted"] == 0
        ann.use("set_memories", memories=[{"key": "tea", "value": "mine"}])
        assert [each.value for each in house.store.query(memories.page, "bob")] == ["secret"]

    @pytest.mark.parametrize(
        ("key", "value"),
        [("", "x"), (" ", "x"), ("k" * 201, "x"), ("a\nb", "x"), ("a\x00", "x"), ("k", "a\x00b"), ("k", "é" * 8_193)],
    )
    def test_what_cannot_be_remembered_is_refused_with_all_that_came_with_it(
        self, ann: Hands, key: str, value: str
    ) -> None:
        with pytest.raises((Invalid, TooLarge)):
            ann.use("set_memories", memories=[{"key": "good", "value": "x"}, {"key": key, "value": value}])
        assert ann.use("get_memories") == {"memories": []}

    def test_there_is_room_for_so_many(self, ann: Hands, house: House) -> None:
        house.store.call(
            memories.set_memories, "ann", {f"{number}": "x" * 100 for number in range(memory.MAX_MEMORIES - 1)}
        )
        two = [{"key": "a", "value": "x"}, {"key": "b", "value": "x"}]
        with pytest.raises(Invalid, match="1000 memories"):
            ann.use("set_memories", memories=two)
        ann.use("set_memories", memories=two[:1])
        ann.use("set_memories", memories=[{"key": "a", "value": "changed"}])
        with pytest.raises(Invalid, match="at once"):
            ann.use("delete_memories", keys=[f"{number}" for number in range(101)])
        read = ann.use("get_memories")
        assert len(json.dumps(read)) < 1.2 * MAX_RESULT_SIZE
        assert len(read["more"]) == 100


class TestGoals:
    def test_goals_are_set_changed_and_deleted(self, ann: Hands, house: House) -> None:
        made = ann.use(
            "set_goals", goals=[{"description": "less", "priority": 1}, {"description": "more", "priority": 9}]
        )
        assert (made["success"], made["count"]) == (True, 2)
        less, more = made["ids"]
        ann.use("set_goals", goals=[{"id": less, "status": "completed"}])
        found = house.store.query(goals.page, "ann")
        assert [(each.id, each.description, each.status, each.priority) for each in found] == [
            (more, "more", "active", 9),
            (less, "less", "completed", 1),
        ]
        assert ann.use("delete_goals", goalIds=[less, less]) == {"success": True, "deleted": 1}
        assert [each.id for each in house.store.query(goals.page, "ann")] == [more]

    def test_another_agents_goals_are_not_there(self, ann: Hands, house: House) -> None:
        [theirs] = house.store.call(goals.set_goals, "bob", [GoalSpec(description="win")])
        for tool, arguments in (
            ("set_goals", {"goals": [{"description": "new"}, {"id": theirs.id, "description": "lose"}]}),
            ("delete_goals", {"goalIds": [theirs.id]}),
        ):
            with pytest.raises(NotFound):
                ann.use(tool, **arguments)
        assert house.store.query(goals.page, "bob") == [replace(theirs, number=1)]
        assert house.store.query(goals.page, "ann") == []

    @pytest.mark.parametrize(
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
    def test_what_is_no_goal_is_refused(self, ann: Hands, house: House, goal: dict[str, Any]) -> None:
        with pytest.raises(Invalid):
            ann.use("set_goals", goals=[{"description": "good"}, goal])
        assert house.store.query(goals.page, "ann") == []

    def test_there_is_room_for_so_many(self, ann: Hands) -> None:
        ann.use("set_goals", goals=[{"description": "x"}] * 200)
        with pytest.raises(Invalid, match="200 goals"):
            ann.use("set_goals", goals=[{"description": "x"}])


class TestPlans:
    def test_plans_are_set_read_changed_and_deleted(self, ann: Hands, house: House) -> None:
        wishes = [
            {"name": "Report", "instruction": "post it", "cron": "0 9 * * 1", "timeZone": "Europe/Berlin"},
            {"name": "Tea", "instruction": "make it", "runAfter": "5 hours"},
        ]
        made = ann.use("set_plans", plans=wishes)
        assert (made["success"], made["count"]) == (True, 2)
        report, tea = ann.use("get_plans")["plans"]
        assert [report["id"], tea["id"]] == made["ids"]
        assert (report["isRecurring"], report["cron"], report["timeZone"]) == (True, "0 9 * * 1", "Europe/Berlin")
        assert (tea["isRecurring"], tea["cron"], tea["status"]) == (False, None, "pending")
        assert tea["scheduledAt"] == tea["nextRunAt"]
        ann.use("set_plans", plans=[{"id": tea["id"], "instruction": "pour it"}])
        assert house.store.query(plans.show, tea["id"]).instruction == "pour it"
        assert ann.use("get_plans", status="completed") == {"plans": []}
        assert ann.use("delete_plans", planIds=made["ids"]) == {"success": True, "deleted": 2}
        assert ann.use("get_plans") == {"plans": []}

    def test_another_agents_plans_are_not_there(self, ann: Hands, house: House) -> None:
        theirs = house.store.call(plans.set_plan, "bob", PlanSpec(name="Secret", schedule=AfterDelay(1_000_000)))
        [mine] = ann.use("set_plans", plans=[{"name": "Mine", "runAfter": "1 day"}])["ids"]
        for tool, arguments in (
            ("set_plans", {"plans": [{"id": theirs.id, "name": "stolen"}]}),
            ("delete_plans", {"planIds": [mine, theirs.id]}),
        ):
            with pytest.raises(NotFound):
                ann.use(tool, **arguments)
        assert [plan["name"] for plan in ann.use("get_plans")["plans"]] == ["Mine"]
        assert house.store.query(plans.show, theirs.id) == theirs

    @pytest.mark.parametrize(
        "when",
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
    def test_when_must_be_said_once_and_clearly(self, ann: Hands, when: dict[str, str]) -> None:
        with pytest.raises(Invalid):
            ann.use("set_plans", plans=[{"name": "ok", "runAfter": "1 day"}, {"name": "Tea"} | when])
        assert ann.use("get_plans") == {"plans": []}

    def test_there_is_room_for_so_many(self, ann: Hands) -> None:
        for _ in range(4):
            ann.use("set_plans", plans=[{"name": "x", "runAfter": "1 day"}] * 50)
        for many in (1, 51):
            with pytest.raises(Invalid):
                ann.use("set_plans", plans=[{"name": "x", "runAfter": "1 day"}] * many)


class TestWriting:
    def test_mail_goes_to_agents_teams_and_people(self, ann: Hands, house: House) -> None:
        house.register("eve", team="red")
        sent = ann.use("send_mail", to="husam", text="Blocked", subject="Schema", priority="high", ref="task:0.0.1")
        assert [(each["name"], each["duplicate"]) for each in sent["recipients"]] == [("husam", False)]
        [letter] = [item.event for item in house.store.query(inbox.peek, "husam")]
        assert (letter.type, letter.content, letter.subject, letter.priority) == (
            EventType.MAIL,
            "Blocked",
            "Schema",
            1,
        )
        assert (str(letter.ref), letter.hops, letter.sender and letter.sender.name) == ("task:0.0.1", 4, "ann")
        sent = ann.use("send_mail", to="team:red", text="All of you")
        assert sorted(each["name"] for each in sent["recipients"]) == ["bob", "eve"]
        assert house.waiting("ann") == []

    def test_the_same_call_sends_once_and_another_again(self, ann: Hands, house: House) -> None:
        for call in ("run_1/2.0", "run_1/2.0", "run_1/2.1"):
            ann.use("send_mail", call=call, to="bob", text="tea?")
        assert house.waiting("bob") == ["tea?"] * 2

    def test_nobody_writes_to_themselves_or_to_nobody(self, ann: Hands, house: House) -> None:
        house.register("carl", aliases=["c-1"])
        carl = Hands(house, "carl")
        for to in ("carl", "c-1"):
            with pytest.raises(Refused):
                carl.use("send_mail", to=to, text="to me")
        for to in ("nobody", "team:blue", "", "a b"):
            with pytest.raises((UnknownAddress, Invalid)):
                ann.use("send_mail", to=to, text="x")
        for wrong in (
            {"text": ""},
            {"text": "x", "priority": "9"},
            {"text": "x", "ref": "task"},
            {"text": "x" * 262_000, "sender": "bob"},
        ):
            with pytest.raises(Invalid):
                ann.use("send_mail", to="bob", **wrong)
        assert house.waiting("bob") == []

    def test_a_note_reaches_everybody_it_names_once(self, ann: Hands, house: House) -> None:
        noted = ann.use("post_note", ref="task:0.0.1", note="done", notify=["bob", "team:red", "husam", "ann"])
        assert sorted(each["name"] for each in noted["recipients"]) == ["bob", "husam"]
        [item] = house.store.query(inbox.peek, "bob")
        assert (item.event.type, item.event.content, str(item.event.ref)) == (EventType.NOTE, "done", "task:0.0.1")
        assert item.event.hops == ann.run.hops + 1
        wrong: dict[str, Any]
        for wrong in (
            {"notify": []},
            {"notify": ["bob", "nobody"]},
            {"notify": ["*"]},
            {"notify": ["bob"], "ref": "x"},
        ):
            with pytest.raises(Invalid):
                ann.use("post_note", **{"ref": "task:1", "note": "x"} | wrong)
        assert house.waiting("bob") == ["done"]
        assert house.waiting("ann") == []

    def test_a_chain_that_is_too_long_does_not_wake(self, ann: Hands, house: House) -> None:
        ann.run = replace(ann.run, hops=16)
        ann.use("send_mail", to="bob", text="and again")
        [item] = house.store.query(inbox.peek, "bob")
        assert not item.event.wakes


def test_arguments_that_are_too_large_are_refused(ann: Hands) -> None:
    for tool, arguments in (("send_message", {"text": "x" * 1_000_000}), ("get_memories", {"keys": ["x" * 1_000_000]})):
        with pytest.raises(TooLarge):
            ann.use(tool, **arguments)


def test_however_long_a_chain_is_one_can_speak(ann: Hands, house: House) -> None:
    ann.run = replace(ann.run, hops=MAX_HOPS)
    ann.use("send_mail", to="husam", text="Help")
    [plan] = ann.use("set_plans", plans=[{"name": "x", "runAfter": "1 minute"}])["ids"]
    assert house.store.query(plans.show, plan).hops == house.store.query(inbox.peek, "husam")[0].event.hops == MAX_HOPS


def test_there_are_no_other_tools(ann: Hands, house: House) -> None:
    with pytest.raises(NotFound):
        house.store.call(ann._use, "__class__", {}, "call")
