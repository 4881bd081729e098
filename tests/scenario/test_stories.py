"""The stories that residents are for, told through the doors: a real gateway, and a model at the end of a real wire."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.living import House, living
from tests.models import Answer, Asked, Gate, Say, Script, Use, in_turn
from tests.servers import until


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, dict[str, Script]]]:
    """One gateway for all stories, and the scripts of those who live in it; each story has people of its own."""
    scripts: dict[str, Script] = {}
    with living(tmp_path_factory.mktemp("town"), scripts) as house:
        house.person("husam")
        yield house, scripts


Town = tuple[House, dict[str, Script]]


def reply(space: str, text: str, summary: str = "Responded.") -> Callable[[Asked], Answer]:
    """A script that enters a space, says something and is done."""

    def script(asked: Asked) -> Answer:
        if asked.results:
            return Say(summary)
        return [Use("enter_space", {"spaceId": space}), Use("send_message", {"text": text})]

    return script


def both_seen(house: House, name: str) -> bool:
    return [run["events"] for run in house.runs(name)] in ([2], [1, 1])


def silent(asked: Asked) -> Answer:
    return Use("skip", {"reason": "not for me"})


def test_one_answers_and_two_stay_silent(town: Town) -> None:
    scripts = {
        "analyst": reply("q4", "4.2M, up 9%.", "Responded to Husam about Q4 revenue. Nothing is pending."),
        "designer": silent,
        "writer": silent,
    }
    house, known = town
    known |= scripts
    for name in scripts:
        house.resident(name)
    house.space("q4", "husam", *scripts)
    house.say("q4", "Pull the Q4 revenue numbers", by="husam")
    [run] = house.ended("analyst", 1)
    assert (run["status"], run["cause"], run["steps"]) == ("completed", "space_message", 2)
    assert run["summary"] == "Responded to Husam about Q4 revenue. Nothing is pending."
    # what the analyst says reaches the others, who stay silent about that too
    for name in ("designer", "writer"):
        until(partial(both_seen, house, name), "both were seen")
        runs = house.ended(name, 1)
        assert {run["status"] for run in runs} == {"skipped"}
        assert house.get(f"/agents/{name}/mind")["turns"] == []
    assert house.said("q4") == [("husam", "Pull the Q4 revenue numbers"), ("analyst", "4.2M, up 9%.")]
    first = house.asked("analyst")[0]
    assert first.inbox.splitlines()[1].startswith('[q4] husam (human): "Pull the Q4 revenue numbers"')
    assert "You are analyst." in first.system


def test_events_of_two_spaces_are_one_batch(town: Town) -> None:
    gate = Gate()
    script = in_turn(
        [gate, Use("skip")],
        [
            Use("enter_space", {"spaceId": "family"}),
            Use("send_message", {"text": "Muhammad knows."}),
            Use("enter_space", {"spaceId": "work"}),
            Use("send_message", {"text": "The report is on its way."}),
        ],
        Say("Responded to both."),
    )
    house, known = town
    known["batcher"] = script
    house.resident("batcher")
    house.person("ana")
    house.space("family", "husam", "batcher")
    house.space("work", "ana", "husam", "batcher")
    house.say("family", "Are you there?", by="husam")
    assert gate.reached.wait(30)
    house.say("family", "Tell Muhammad the meeting is at 3pm", by="husam")
    house.say("work", "Where is the report?", by="ana")
    house.say("work", "I need it today", by="husam")
    gate.open()
    runs = house.ended("batcher", 2)
    assert [(run["status"], run["events"]) for run in runs] == [("skipped", 1), ("completed", 3)]
    batch = house.asked("batcher")[1].inbox.splitlines()
    assert batch[0].startswith("INBOX (3 events, ")
    assert [line.split("]")[0] for line in batch[1:]] == ["[family", "[work", "[work"]
    assert house.said("family")[-1] == ("batcher", "Muhammad knows.")
    assert house.said("work")[-1] == ("batcher", "The report is on its way.")


def test_a_plan_fires_and_is_acted_on_in_another_space(town: Town) -> None:
    def script(asked: Asked) -> Answer:
        if asked.results:
            return Say("Done for now.")
        if "[Plan: remind]" in asked.inbox:
            return [Use("enter_space", {"spaceId": "team"}), Use("send_message", {"text": "Stand-up now!"})]
        plan = {"name": "remind", "instruction": "call the team to the stand-up", "runAfter": "1 second"}
        return Use("set_plans", {"plans": [plan]})

    house, known = town
    known["planner"] = script
    house.resident("planner")
    house.space("desk-planner", "husam", "planner")
    house.space("team", "husam", "planner")
    house.say("desk-planner", "Remind the team of the stand-up", by="husam")
    runs = house.ended("planner", 2)
    assert [run["cause"] for run in runs] == ["space_message", "plan"]
    assert house.said("team") == [("planner", "Stand-up now!")]
    [plan] = house.get("/plans", owner="planner")["items"]
    assert plan["status"] == "completed"


def test_a_correction_is_seen_before_the_answer(town: Town) -> None:
    gate = Gate()

    def script(asked: Asked) -> Answer:
        if "and hello" in asked.inbox:
            return Use("skip")
        match asked.results:
            case []:
                return [gate, Use("enter_space", {"spaceId": "desk-listener"})]
            case [{"spaceId": "desk-listener"}]:
                time = "at 4pm" if "make that 4pm" in asked.inbox else "at 3pm"
                return Use("send_message", {"text": f"The meeting is {time}."})
            case _:
                return Say("Responded.")

    house, known = town
    known["listener"] = script
    house.resident("listener")
    house.space("desk-listener", "husam", "listener")
    house.say("desk-listener", "Announce the meeting at 3pm", by="husam")
    assert gate.reached.wait(30)
    house.post("/inbox", to="listener", sender="husam", content="make that 4pm", priority="critical")
    house.say("desk-listener", "and hello", by="husam")
    gate.open()
    runs = house.ended("listener", 2)
    assert runs[0]["events"] == 2, "the correction belongs to the cycle"
    assert house.said("desk-listener")[-1] == ("listener", "The meeting is at 4pm.")
    second = house.asked("listener")[1].messages
    assert "[INBOX PREVIEW: 1 new event waiting]" in str(second[-1])
    assert "and hello" in str(second[-1])
    steps = house.get(f"/runs/{runs[0]['id']}/steps")["items"]
    assert "INBOX PREVIEW" not in str(steps), "a preview is never journalled"
    assert "and hello" in house.asked("listener")[-1].inbox


def test_a_result_comes_two_cycles_later(town: Town) -> None:
    def script(asked: Asked) -> Answer:
        if "[Tool Result: deploy]" in asked.inbox and not asked.results:
            return [Use("enter_space", {"spaceId": "desk-deployer"}), Use("send_message", {"text": "It is deployed."})]
        if asked.results:
            return Say("Asked for the deployment; its result is pending.")
        if "deploy it" in asked.inbox:
            return Use("deploy", {"version": "1.2"})
        return Use("skip")

    tool = {
        "name": "deploy",
        "description": "Deploy a version",
        "executionType": "external",
        "inputSchema": {"type": "object", "properties": {"version": {"type": "string"}}, "required": ["version"]},
    }
    house, known = town
    known["deployer"] = script
    house.resident("deployer", tools=[tool])
    house.space("desk-deployer", "husam", "deployer")
    house.say("desk-deployer", "deploy it", by="husam")
    [run] = house.ended("deployer", 1)
    assert run["status"] == "waiting_tool"
    house.say("desk-deployer", "thanks", by="husam")
    assert [one["status"] for one in house.ended("deployer", 2)] == ["waiting_tool", "skipped"]
    [call] = house.get(f"/runs/{run['id']}")["calls"]
    assert call["arguments"] == '{"version": "1.2"}'
    house.post(f"/runs/{run['id']}/tool-results", callId=call["id"], result={"ok": True})
    runs = house.ended("deployer", 3)
    assert [one["status"] for one in runs] == ["completed", "skipped", "completed"]
    assert house.said("desk-deployer")[-1] == ("deployer", "It is deployed.")
