"""The stories that residents are for, told through the doors: a real gateway, and a model at the end of a real wire."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.living import House, living
from tests.models import Answer, Asked, Gate, Say, Use, in_turn
from tests.servers import until


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


def test_one_answers_and_two_stay_silent(tmp_path: Path) -> None:
    scripts = {
        "analyst": reply("q4", "4.2M, up 9%.", "Responded to Husam about Q4 revenue. Nothing is pending."),
        "designer": silent,
        "writer": silent,
    }
    with living(tmp_path, scripts) as house:
        house.person("husam")
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


def test_events_of_two_spaces_are_one_batch(tmp_path: Path) -> None:
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
    with living(tmp_path, {"helper": script}) as house:
        house.resident("helper")
        for name in ("husam", "ana"):
            house.person(name)
        house.space("family", "husam", "helper")
        house.space("work", "ana", "husam", "helper")
        house.say("family", "Are you there?", by="husam")
        gate.reached.wait(30)
        house.say("family", "Tell Muhammad the meeting is at 3pm", by="husam")
        house.say("work", "Where is the report?", by="ana")
        house.say("work", "I need it today", by="husam")
        gate.open()
        runs = house.ended("helper", 2)
        assert [(run["status"], run["events"]) for run in runs] == [("skipped", 1), ("completed", 3)]
        batch = house.asked("helper")[1].inbox.splitlines()
        assert batch[0].startswith("INBOX (3 events, ")
        assert [line.split("]")[0] for line in batch[1:]] == ["[family", "[work", "[work"]
        assert house.said("family")[-1] == ("helper", "Muhammad knows.")
        assert house.said("work")[-1] == ("helper", "The report is on its way.")


def test_a_plan_fires_and_is_acted_on_in_another_space(tmp_path: Path) -> None:
    def script(asked: Asked) -> Answer:
        if asked.results:
            return Say("Done for now.")
        if "[Plan: remind]" in asked.inbox:
            return [Use("enter_space", {"spaceId": "team"}), Use("send_message", {"text": "Stand-up now!"})]
        plan = {"name": "remind", "instruction": "call the team to the stand-up", "runAfter": "1 second"}
        return Use("set_plans", {"plans": [plan]})

    with living(tmp_path, {"helper": script}) as house:
        house.resident("helper")
        house.person("husam")
        house.space("desk", "husam", "helper")
        house.space("team", "husam", "helper")
        house.say("desk", "Remind the team of the stand-up", by="husam")
        runs = house.ended("helper", 2)
        assert [run["cause"] for run in runs] == ["space_message", "plan"]
        assert house.said("team") == [("helper", "Stand-up now!")]
        [plan] = house.get("/plans", owner="helper")["items"]
        assert plan["status"] == "completed"


def test_a_correction_is_seen_before_the_answer(tmp_path: Path) -> None:
    gate = Gate()

    def script(asked: Asked) -> Answer:
        if "and hello" in asked.inbox:
            return Use("skip")
        match asked.results:
            case []:
                return [gate, Use("enter_space", {"spaceId": "desk"})]
            case [{"spaceId": "desk"}]:
                time = "at 4pm" if "make that 4pm" in asked.inbox else "at 3pm"
                return Use("send_message", {"text": f"The meeting is {time}."})
            case _:
                return Say("Responded.")

    with living(tmp_path, {"helper": script}) as house:
        house.resident("helper")
        house.person("husam")
        house.space("desk", "husam", "helper")
        house.say("desk", "Announce the meeting at 3pm", by="husam")
        gate.reached.wait(30)
        house.post("/inbox", to="helper", sender="husam", content="make that 4pm", priority="critical")
        house.say("desk", "and hello", by="husam")
        gate.open()
        runs = house.ended("helper", 2)
        assert runs[0]["events"] == 2, "the correction belongs to the cycle"
        assert house.said("desk")[-1] == ("helper", "The meeting is at 4pm.")
        second = house.asked("helper")[1].messages
        assert "[INBOX PREVIEW: 1 new event waiting]" in str(second[-1])
        assert "and hello" in str(second[-1])
        steps = house.get(f"/runs/{runs[0]['id']}/steps")["items"]
        assert "INBOX PREVIEW" not in str(steps), "a preview is never journalled"
        assert "and hello" in house.asked("helper")[-1].inbox


def test_a_result_comes_two_cycles_later(tmp_path: Path) -> None:
    def script(asked: Asked) -> Answer:
        if "[Tool Result: deploy]" in asked.inbox and not asked.results:
            return [Use("enter_space", {"spaceId": "desk"}), Use("send_message", {"text": "It is deployed."})]
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
    with living(tmp_path, {"helper": script}) as house:
        house.resident("helper", tools=[tool])
        house.person("husam")
        house.space("desk", "husam", "helper")
        house.say("desk", "deploy it", by="husam")
        [run] = house.ended("helper", 1)
        assert run["status"] == "waiting_tool"
        house.say("desk", "thanks", by="husam")
        assert [one["status"] for one in house.ended("helper", 2)] == ["waiting_tool", "skipped"]
        [call] = house.get(f"/runs/{run['id']}")["calls"]
        assert call["arguments"] == '{"version": "1.2"}'
        house.post(f"/runs/{run['id']}/tool-results", callId=call["id"], result={"ok": True})
        runs = house.ended("helper", 3)
        assert [one["status"] for one in runs] == ["completed", "skipped", "completed"]
        assert house.said("desk")[-1] == ("helper", "It is deployed.")
