"""The stories that residents are for, told through the doors: a real gateway, and a model at the end of a real wire."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.residents.model_server import Answer, CompletionRequest, PausePoint, Say, Script, Use, follow_script
from tests.support.gateways.scripted_gateway import ScriptedGateway, run_scripted_gateway
from tests.support.servers.private_servers import wait_until
from tests.support.waits import LAST_RESORT


@pytest.fixture(scope="module")
def scripted_setup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ScriptedGateway, dict[str, Script]]]:
    """One gateway for all stories, and the scripts of those who live in it; each story has people of its own."""
    scripts: dict[str, Script] = {}
    with run_scripted_gateway(tmp_path_factory.mktemp("town"), scripts) as gateway:
        gateway.create_person("husam")
        yield gateway, scripts


ScriptedSetup = tuple[ScriptedGateway, dict[str, Script]]


def build_reply_script(space: str, text: str, summary: str = "Responded.") -> Callable[[CompletionRequest], Answer]:
    """A script that enters a space, says something and is done."""

    def script(request: CompletionRequest) -> Answer:
        if request.tool_results:
            return Say(summary)
        return [Use("enter_space", {"spaceId": space}), Use("send_message", {"text": text})]

    return script


def has_seen_both(gateway: ScriptedGateway, name: str) -> bool:
    return [run["events"] for run in gateway.list_runs(name)] in ([2], [1, 1])


def skip_batch(request: CompletionRequest) -> Answer:
    return Use("skip", {"reason": "not for me"})


def test_one_answers_and_two_stay_silent(scripted_setup: ScriptedSetup) -> None:
    scripts = {
        "analyst": build_reply_script("q4", "4.2M, up 9%.", "Responded to Husam about Q4 revenue. Nothing is pending."),
        "designer": skip_batch,
        "writer": skip_batch,
    }
    gateway, gateway_scripts = scripted_setup
    gateway_scripts |= scripts
    for name in scripts:
        gateway.create_resident(name)
    gateway.create_space("q4", "husam", *scripts)
    gateway.post_message("q4", "Pull the Q4 revenue numbers", sender="husam")
    [run] = gateway.wait_for_runs("analyst", 1)
    assert (run["status"], run["cause"], run["steps"]) == ("completed", "space_message", 2)
    assert run["summary"] == "Responded to Husam about Q4 revenue. Nothing is pending."
    # what the analyst says reaches the others, who stay silent about that too
    for name in ("designer", "writer"):
        wait_until(partial(has_seen_both, gateway, name), "both were seen")
        runs = gateway.wait_for_runs(name, 1)
        assert {run["status"] for run in runs} == {"skipped"}
        assert gateway.get(f"/agents/{name}/mind")["turns"] == []
    assert gateway.list_messages("q4") == [("husam", "Pull the Q4 revenue numbers"), ("analyst", "4.2M, up 9%.")]
    first = gateway.list_requests("analyst")[0]
    assert first.inbox.splitlines()[1].startswith('[q4] husam (human): "Pull the Q4 revenue numbers"')
    assert "You are analyst." in first.system


def test_events_of_two_spaces_are_one_batch(scripted_setup: ScriptedSetup) -> None:
    gate = PausePoint()
    script = follow_script(
        [gate, Use("skip")],
        [
            Use("enter_space", {"spaceId": "family"}),
            Use("send_message", {"text": "Muhammad knows."}),
            Use("enter_space", {"spaceId": "work"}),
            Use("send_message", {"text": "The report is on its way."}),
        ],
        Say("Responded to both."),
    )
    gateway, gateway_scripts = scripted_setup
    gateway_scripts["batcher"] = script
    gateway.create_resident("batcher")
    gateway.create_person("ana")
    gateway.create_space("family", "husam", "batcher")
    gateway.create_space("work", "ana", "husam", "batcher")
    gateway.post_message("family", "Are you there?", sender="husam")
    assert gate.reached_event.wait(LAST_RESORT)
    gateway.post_message("family", "Tell Muhammad the meeting is at 3pm", sender="husam")
    gateway.post_message("work", "Where is the report?", sender="ana")
    gateway.post_message("work", "I need it today", sender="husam")
    gate.open()
    runs = gateway.wait_for_runs("batcher", 2)
    assert [(run["status"], run["events"]) for run in runs] == [("skipped", 1), ("completed", 3)]
    batch = gateway.list_requests("batcher")[1].inbox.splitlines()
    assert batch[0].startswith("INBOX (3 events, ")
    assert [line.split("]")[0] for line in batch[1:]] == ["[family", "[work", "[work"]
    assert gateway.list_messages("family")[-1] == ("batcher", "Muhammad knows.")
    assert gateway.list_messages("work")[-1] == ("batcher", "The report is on its way.")


def test_a_plan_fires_and_is_acted_on_in_another_space(scripted_setup: ScriptedSetup) -> None:
    def script(request: CompletionRequest) -> Answer:
        if request.tool_results:
            return Say("Done for now.")
        if "[Plan: remind]" in request.inbox:
            return [Use("enter_space", {"spaceId": "team"}), Use("send_message", {"text": "Stand-up now!"})]
        plan = {"name": "remind", "instruction": "call the team to the stand-up", "runAfter": "1 second"}
        return Use("set_plans", {"plans": [plan]})

    gateway, gateway_scripts = scripted_setup
    gateway_scripts["planner"] = script
    gateway.create_resident("planner")
    gateway.create_space("desk-planner", "husam", "planner")
    gateway.create_space("team", "husam", "planner")
    gateway.post_message("desk-planner", "Remind the team of the stand-up", sender="husam")
    runs = gateway.wait_for_runs("planner", 2)
    assert [run["cause"] for run in runs] == ["space_message", "plan"]
    assert gateway.list_messages("team") == [("planner", "Stand-up now!")]
    [plan] = gateway.get("/plans", owner="planner")["items"]
    assert plan["status"] == "completed"


def test_a_correction_is_seen_before_the_answer(scripted_setup: ScriptedSetup) -> None:
    gate = PausePoint()

    def script(request: CompletionRequest) -> Answer:
        if "and hello" in request.inbox:
            return Use("skip")
        match request.tool_results:
            case []:
                return [gate, Use("enter_space", {"spaceId": "desk-listener"})]
            case [{"spaceId": "desk-listener"}]:
                time = "at 4pm" if "make that 4pm" in request.inbox else "at 3pm"
                return Use("send_message", {"text": f"The meeting is {time}."})
            case _:
                return Say("Responded.")

    gateway, gateway_scripts = scripted_setup
    gateway_scripts["listener"] = script
    gateway.create_resident("listener")
    gateway.create_space("desk-listener", "husam", "listener")
    gateway.post_message("desk-listener", "Announce the meeting at 3pm", sender="husam")
    assert gate.reached_event.wait(LAST_RESORT)
    gateway.post("/inbox", to="listener", sender="husam", content="make that 4pm", priority="critical")
    gateway.post_message("desk-listener", "and hello", sender="husam")
    gate.open()
    runs = gateway.wait_for_runs("listener", 2)
    assert runs[0]["events"] == 2, "the correction belongs to the cycle"
    assert gateway.list_messages("desk-listener")[-1] == ("listener", "The meeting is at 4pm.")
    second_messages = gateway.list_requests("listener")[1].messages
    assert "[INBOX PREVIEW: 1 new event waiting]" in str(second_messages[-1])
    assert "and hello" in str(second_messages[-1])
    steps = gateway.get(f"/runs/{runs[0]['id']}/steps")["items"]
    assert "INBOX PREVIEW" not in str(steps), "a preview is never journalled"
    assert "and hello" in gateway.list_requests("listener")[-1].inbox


def test_a_result_comes_two_cycles_later(scripted_setup: ScriptedSetup) -> None:
    def script(request: CompletionRequest) -> Answer:
        if "[Tool Result: deploy]" in request.inbox and not request.tool_results:
            return [Use("enter_space", {"spaceId": "desk-deployer"}), Use("send_message", {"text": "It is deployed."})]
        if request.tool_results:
            return Say("Asked for the deployment; its result is pending.")
        if "deploy it" in request.inbox:
            return Use("deploy", {"version": "1.2"})
        return Use("skip")

    tool = {
        "name": "deploy",
        "description": "Deploy a version",
        "executionType": "external",
        "inputSchema": {"type": "object", "properties": {"version": {"type": "string"}}, "required": ["version"]},
    }
    gateway, gateway_scripts = scripted_setup
    gateway_scripts["deployer"] = script
    gateway.create_resident("deployer", tools=[tool])
    gateway.create_space("desk-deployer", "husam", "deployer")
    gateway.post_message("desk-deployer", "deploy it", sender="husam")
    [run] = gateway.wait_for_runs("deployer", 1)
    assert run["status"] == "waiting_tool"
    gateway.post_message("desk-deployer", "thanks", sender="husam")
    assert [run_row["status"] for run_row in gateway.wait_for_runs("deployer", 2)] == ["waiting_tool", "skipped"]
    [call] = gateway.get(f"/runs/{run['id']}")["calls"]
    assert call["arguments"] == '{"version": "1.2"}'
    gateway.post(f"/runs/{run['id']}/tool-results", callId=call["id"], result={"ok": True})
    runs = gateway.wait_for_runs("deployer", 3)
    assert [run_row["status"] for run_row in runs] == ["completed", "skipped", "completed"]
    assert gateway.list_messages("desk-deployer")[-1] == ("deployer", "It is deployed.")
