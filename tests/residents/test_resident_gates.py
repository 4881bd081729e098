"""What keeps residents from stopping, and what lets them go: in cycles, in a worker, and in a whole gateway."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatepost.core.policy import Policy
from gatepost.core.times import HOUR, MINUTE
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Invalid
from gatepost.gates import decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import Option, Question
from gatepost.gates.gate import GateKind, GateSpec
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType
from gatepost.residents.agent_config import AgentConfig, LoopRules
from gatepost.residents.model_failures import ModelFailed, Trouble
from gatepost.residents.model_port import CallResult, ChatRequest, ModelReply, Prompt
from gatepost.residents.runs import actions as runs
from gatepost.residents.runs.run import RunStatus
from gatepost.testing import Kit
from tests.residents.model_server import Say, Script, Use, follow_script
from tests.residents.scripted_agent import ScriptedAgent, build_call, build_final_reply, reply_done
from tests.support.gateways.scripted_gateway import ScriptedGateway, run_scripted_gateway

POSTGRES_BY_NIGHT = True

YES_NO_OPTIONS = [{"id": "yes", "label": "Ship it"}, {"id": "no", "label": "Wait"}]


def count_reminders(request: ChatRequest) -> int:
    """Return how often a model was reminded of a gate, in all it was shown."""
    return sum(
        isinstance(turn, Prompt) and turn.text.startswith("Before you end this cycle:") for turn in request.turns
    )


class TestCycles:
    @pytest.mark.parametrize(
        "spec",
        [
            GateSpec(name="x", awaits="husam"),
            GateSpec(name="x", kind=GateKind.TIMER, within=HOUR),
            GateSpec(name="x", kind=GateKind.EVENT, awaits="mail"),
            GateSpec(name="x", kind=GateKind.MAIL, awaits="husam"),
            GateSpec(name="x", kind=GateKind.CI, awaits="run:7@me/repo"),
        ],
        ids=lambda spec: str(spec.kind),
    )
    async def test_waiting_costs_no_model_calls(self, kit: Kit, spec: GateSpec) -> None:
        """A resident sleeps while somebody or something else has to move, and the end of the gate wakes it."""
        agent = ScriptedAgent(kit, reply_done)
        gate = kit.open(policy=Policy(allowed_repositories=["me/repo"])).run_sync(gates.add, spec, by="ana")
        agent.push("hello")
        assert await agent.run_cycles() == 1
        assert len(agent.model.requests) == 1
        [run] = kit.store.read_sync(runs.list_page, agent="ana")
        assert (run.status, run.steps, run.summary) == (RunStatus.COMPLETED, 1, "Done.")
        assert [gate_row.id for gate_row in kit.store.read_sync(gates.list_blocking, "ana")] == [gate.id]
        kit.store.run_sync(gates.withdraw, gate.id, by="admin", reason="fine")
        assert await agent.run_cycles() == 1
        prompt = agent.model.requests[-1].turns[-1]
        assert isinstance(prompt, Prompt)
        assert prompt.text.splitlines()[1] == f'[Gate {gate.id}] withdrawn: "x: fine"'

    async def test_asking_a_decision_costs_no_model_calls_either(self, kit: Kit) -> None:
        def respond(request: ChatRequest, replies: int) -> ModelReply:
            question: dict[str, Any] = {"question": "Ship?", "options": YES_NO_OPTIONS, "of": ["husam"]}
            return (
                build_final_reply("Asked.") if replies else ModelReply(calls=(build_call("ask_decision", **question),))
            )

        agent = ScriptedAgent(kit, respond)
        agent.push("hello")
        assert await agent.run_cycles() == 1
        assert len(agent.model.requests) == 2
        [run] = kit.store.read_sync(runs.list_page, agent="ana")
        assert (run.steps, run.summary) == (2, "Asked.")

    async def test_a_gate_that_the_agent_can_open_reminds_it_once(self, kit: Kit) -> None:
        agent = ScriptedAgent(kit, lambda request, _: build_final_reply(f"Reminded {count_reminders(request)} times."))
        spec = GateSpec(name="review", owner="ana", awaits="ana", instruction="Read it again")
        gate = kit.store.run_sync(gates.add, spec, by="admin")
        assert await agent.run_cycles() == 1, "it is woken by the gate that waits for it"
        assert [count_reminders(request) for request in agent.model.requests] == [0, 1]
        prompt = agent.model.requests[-1].turns[-1]
        assert isinstance(prompt, Prompt)
        assert prompt.text.splitlines()[1] == f'- review: "Read it again" ({gate.id}); resolve it with resolve_gate'
        agent.push("hello")
        assert await agent.run_cycles() == 1
        assert len(agent.model.requests) == 3, "once for the gate, not once for each cycle"
        summaries = [run.summary for run in kit.store.read_sync(runs.list_page, agent="ana")]
        assert summaries == ["Reminded 1 times.", "Reminded 1 times."]

    async def test_it_opens_the_gate_and_ends(self, kit: Kit) -> None:
        def respond(request: ChatRequest, replies: int) -> ModelReply:
            if not replies:
                return ModelReply(calls=(build_call("set_gate", name="tests", awaits="ana"),))
            if isinstance(request.turns[-1], Prompt) and count_reminders(request) == 1:
                [gate] = kit.store.read_sync(gates.list_blocking, "ana")
                return ModelReply(calls=(build_call("resolve_gate", gateId=gate.id, reason="they pass"),))
            return build_final_reply()

        agent = ScriptedAgent(kit, respond)
        agent.push("hello")
        assert await agent.run_cycles() == 1
        assert [count_reminders(request) for request in agent.model.requests] == [0, 0, 1, 1]
        assert kit.store.read_sync(gates.list_blocking, "ana") == []
        assert kit.store.read_sync(inbox.list_page, "ana", type=EventType.GATE) == [], (
            "it knows what it has done itself"
        )

    async def test_a_command_gate_reminds_it_once_too(self, kit: Kit) -> None:
        agent = ScriptedAgent(kit, reply_done)
        store = kit.open(policy=Policy(can_run_commands=True))
        spec = GateSpec(name="build", kind=GateKind.COMMAND, awaits="make", owner="ana", instruction="Make it green")
        gate = store.run_sync(gates.add, spec, by="admin")
        for count in (2, 3):
            agent.push("hello")
            assert await agent.run_cycles() == 1
            assert len(agent.model.requests) == count
        prompt = agent.model.requests[1].turns[-1]
        assert isinstance(prompt, Prompt)
        assert prompt.text.splitlines()[1] == f'- build: "Make it green" ({gate.id})'

    async def test_a_reminder_that_was_lost_with_its_run_is_given_again(self, kit: Kit) -> None:
        is_failing = True

        def respond(request: ChatRequest, replies: int) -> ModelReply:
            if is_failing and count_reminders(request):
                raise ModelFailed(Trouble.OVERLOAD, "busy")
            return build_final_reply()

        agent = ScriptedAgent(kit, respond)
        kit.store.run_sync(gates.add, GateSpec(name="review", owner="ana", awaits="ana"), by="ana")
        agent.push("hello")
        await agent.run_cycle()
        assert agent.list_run_statuses() == [RunStatus.FAILED]
        is_failing = False
        kit.clock.advance(MINUTE)
        await agent.run_cycles()
        assert [count_reminders(request) for request in agent.model.requests] == [0, 1, 0, 1]

    async def test_at_the_last_step_the_closing_text_is_not_lost_to_a_reminder(self, kit: Kit) -> None:
        agent = ScriptedAgent(kit, reply_done, AgentConfig(loop=LoopRules(max_steps=1)))
        kit.store.run_sync(gates.add, GateSpec(name="review", owner="ana", awaits="ana"), by="ana")
        agent.push("hello")
        await agent.run_cycles()
        [run] = kit.store.read_sync(runs.list_page, agent="ana")
        assert (run.summary, run.limit) == ("Done.", None)

    def test_a_person_cannot_wait_for_itself(self, kit: Kit) -> None:
        ScriptedAgent(kit, reply_done)
        for spec in (GateSpec(name="x", awaits="husam"), GateSpec(name="x", owner="admin")):
            with pytest.raises(Invalid, match="wait for itself"):
                kit.store.run_sync(gates.add, spec, by=spec.owner or "husam")
        with pytest.raises(Invalid, match="wait for itself"):
            kit.store.run_sync(gates.add, GateSpec(name="x", kind=GateKind.MAIL, awaits="ana"), by="ana")

    async def test_a_gate_of_somebody_else_keeps_nobody(self, kit: Kit) -> None:
        agent = ScriptedAgent(kit, reply_done)
        kit.store.run_sync(gates.add, GateSpec(name="rest", kind=GateKind.TIMER, within=HOUR), by="husam")
        agent.push("hello")
        await agent.run_cycles()
        assert len(agent.model.requests) == 1

    async def test_the_tools_say_what_they_did_and_what_is_wrong(self, kit: Kit) -> None:
        question: dict[str, Any] = {"question": "Ship?", "options": YES_NO_OPTIONS, "of": ["husam"]}
        calls = (
            build_call("ask_decision", **question, default="no"),
            build_call("ask_decision", **question),
            build_call("set_gate", name="build", kind="command", awaits="make"),
            build_call("set_gate", name="later", kind="timer", within="1 hour", waiters=["husam"]),
            build_call("set_gate", name="later", kind="timer", within="soon"),
            build_call("answer_decision", decisionId="dec_1", option="yes"),
        )

        def respond(request: ChatRequest, replies: int) -> ModelReply:
            if not replies:
                return ModelReply(calls=tuple(replace(call, id=f"call-{index}") for index, call in enumerate(calls)))
            return build_final_reply()

        agent = ScriptedAgent(kit, respond)
        agent.push("hello")
        await agent.run_cycles()
        results = [turn for turn in agent.model.requests[1].turns if isinstance(turn, CallResult)]
        assert [result.ok for result in results] == [False, True, False, True, False, False]
        decision_result = json.loads(results[1].content)
        assert (decision_result["asked"], decision_result["status"], decision_result["iteration"]) == (
            ["husam"],
            "pending",
            1,
        )
        decision = kit.store.read_sync(decisions.show, decision_result["decisionId"])
        assert (decision.asker, decision.gate) == ("ana", decision_result["gateId"])
        assert [gate.kind for gate in kit.store.read_sync(gates.list_blocking, "ana")] == [
            GateKind.DECISION,
            GateKind.TIMER,
        ]
        assert "gates.commands" in results[2].content

    async def test_one_agent_decides_for_another(self, kit: Kit) -> None:
        """Ana is asked by Ben, sends it back, and answers when it is asked anew."""

        def respond(request: ChatRequest, replies: int) -> ModelReply:
            if replies:
                return build_final_reply()
            [decision] = kit.store.read_sync(decisions.list_page, asked="ana", pending=True)
            if decision.iteration == 1:
                arguments: dict[str, Any] = {"text": "which one?", "again": True}
            else:
                arguments = {"option": "b", "contextHash": decision.context_hash}
            return ModelReply(calls=(build_call("answer_decision", decisionId=decision.id, **arguments),))

        agent = ScriptedAgent(kit, respond)
        kit.store.run_sync(directory.register, EntitySpec(name="ben", kind=EntityKind.AGENT))
        options = (Option(id="a", label="A"), Option(id="b", label="B"))
        question = Question(question="Which?", options=options, free_text=True, respondents=("ana",))
        new_decision = kit.store.run_sync(decisions.ask, question, by="ben")
        assert await agent.run_cycles() == 1
        kit.store.run_sync(decisions.revise, new_decision.id, question, by="ben")
        assert await agent.run_cycles() == 1
        answered_decision = kit.store.read_sync(decisions.show, new_decision.id)
        assert [answer.outcome for answer in answered_decision.answers] == ["again", "answered"]
        outcomes = [
            item.event.data["outcome"] for item in kit.store.read_sync(inbox.list_page, "ben", type=EventType.DECISION)
        ]
        assert outcomes == ["again", "answered"]


@pytest.fixture
def scripts() -> dict[str, Script]:
    return {}


@pytest.fixture
def gateway(tmp_path: Path, scripts: dict[str, Script]) -> Iterator[ScriptedGateway]:
    with run_scripted_gateway(tmp_path, scripts) as gateway:
        gateway.create_person("husam")
        yield gateway


def test_a_resident_asks_sleeps_and_goes_on_with_the_answer(
    gateway: ScriptedGateway, scripts: dict[str, Script]
) -> None:
    final_reply = Say("Asked Husam whether to ship. A decision is pending.")
    scripts["shipper"] = follow_script(
        Use("ask_decision", {"question": "Ship?", "options": YES_NO_OPTIONS, "of": ["husam"]}),
        final_reply,
        [Use("enter_space", {"spaceId": "dock"}), Use("send_message", {"text": "Shipping now."})],
        Say("Shipped, as Husam decided. Nothing is pending."),
    )
    gateway.create_resident("shipper")
    gateway.create_space("dock", "husam", "shipper")
    gateway.post_message("dock", "Ship the release if you may", sender="husam")
    [first] = gateway.wait_for_runs("shipper", 1)
    assert (first["status"], first["steps"]) == ("completed", 2), "waiting costs no model calls"
    [decision] = gateway.get("/decisions", asked="husam")["items"]
    assert (decision["question"], decision["asker"], decision["status"]) == ("Ship?", "shipper", "pending")
    [item] = gateway.get("/inbox/husam")["items"]
    assert (item["type"], item["state"]) == ("decision", "pending")
    gateway.put(f"/decisions/{decision['id']}/answer", by="husam", option="yes", contextHash=decision["contextHash"])
    second = gateway.wait_for_runs("shipper", 2)[1]
    assert (second["status"], second["cause"], second["steps"]) == ("completed", "decision", 2)
    assert gateway.list_requests("shipper")[2].inbox.endswith(
        f'[Decision {decision["id"]}] answered by husam: "Ship it"'
    )
    assert gateway.list_messages("dock")[-1] == ("shipper", "Shipping now.")
    assert gateway.get(f"/gates/{decision['gate']}")["resolution"]["ending"] == "resolved"


def test_the_demo_asks_waits_and_says_what_was_decided(gateway: ScriptedGateway) -> None:
    gateway.post("/agents", name="ada", model="demo")
    gateway.create_space("kitchen", "husam", "ada")
    gateway.post_message("kitchen", "Should we buy more tea?", sender="husam")
    [first] = gateway.wait_for_runs("ada", 1)
    assert (first["status"], first["summary"].endswith("A decision is pending.")) == ("completed", True)
    [decision] = gateway.get("/decisions", pending="true")["items"]
    assert [option["id"] for option in decision["options"]] == ["yes", "no"]
    gateway.put(f"/decisions/{decision['id']}/answer", by="admin", option="yes", text="a lot")
    gateway.wait_for_runs("ada", 2)
    replies = [text for sender, text in gateway.list_messages("kitchen") if sender == "ada"]
    assert "I have asked for a decision." in replies[0]
    assert replies[1:] == ["(demo) admin has decided: Yes - a lot"]
