"""What keeps residents from stopping, and what lets them go: in cycles, in a worker, and in a whole gateway."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatepost.actions import decisions, directory, gates, inbox, runs
from gatepost.actions import push as push_actions
from gatepost.actions.directory import EntitySpec
from gatepost.core.agent import AgentConfig, LoopRules
from gatepost.core.decision import AnswerSpec as Answered
from gatepost.core.decision import Option, Question
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, Push
from gatepost.core.gate import CommandResult, Ending, Gate, GateKind, GateSpec
from gatepost.core.limits import Limits
from gatepost.core.mind import CallResult, ModelReply, Prompt
from gatepost.core.model import ChatRequest, ModelFailed, Trouble
from gatepost.core.run import RunStatus
from gatepost.core.signals import Signal, TransportMessage
from gatepost.core.times import HOUR, MINUTE, SECOND
from gatepost.errors import Invalid
from gatepost.ports import Store, Transaction
from gatepost.runtime import duties, evaluator
from gatepost.runtime.duties import GateDeadlines
from gatepost.runtime.evaluator import CommandOptions
from gatepost.runtime.signal_bus import SignalBus
from gatepost.runtime.worker import WorkerOptions, run_worker
from gatepost.testing import Kit
from tests.faults.cycle_process import build_deps
from tests.model_server import Say, Script, Use, follow_script
from tests.scripted_agent import ScriptedAgent, build_call, build_final_reply, reply_done
from tests.scripted_gateway import ScriptedGateway, run_scripted_gateway

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
        gate = kit.open(limits=Limits(ci=["me/repo"])).run_sync(gates.add, spec, by="ana")
        agent.push("hello")
        assert await agent.run_cycles() == 1
        assert len(agent.model.requests) == 1
        [run] = kit.store.read_sync(runs.page, agent="ana")
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
        [run] = kit.store.read_sync(runs.page, agent="ana")
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
        summaries = [run.summary for run in kit.store.read_sync(runs.page, agent="ana")]
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
        assert kit.store.read_sync(inbox.page, "ana", type=EventType.GATE) == [], "it knows what it has done itself"

    async def test_a_command_gate_reminds_it_once_too(self, kit: Kit) -> None:
        agent = ScriptedAgent(kit, reply_done)
        store = kit.open(limits=Limits(commands=True))
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
        [run] = kit.store.read_sync(runs.page, agent="ana")
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
            [decision] = kit.store.read_sync(decisions.page, asked="ana", pending=True)
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
            item.event.data["outcome"] for item in kit.store.read_sync(inbox.page, "ben", type=EventType.DECISION)
        ]
        assert outcomes == ["again", "answered"]


@dataclass
class FakeCommands:
    """Commands that all end as the test wants; what was run can be waited for."""

    result: CommandResult
    runs: asyncio.Queue[tuple[str | Sequence[str], str]] = field(default_factory=asyncio.Queue)

    async def run(self, command: str | Sequence[str], *, stdin: str = "", time_limit: float) -> CommandResult:
        self.runs.put_nowait((command, stdin))
        return self.result


def prepare_store(kit: Kit) -> Store:
    store = kit.open(limits=Limits(commands=True, on_answer=True, ci=["me/repo"]))
    kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    for name in ("ana", "ben"):
        store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    return store


class TestEvaluating:
    @pytest.mark.parametrize(
        ("awaits", "command_result", "outcome"),
        [
            ("make check", CommandResult(code=0, stdout="\nall green\n"), (Ending.RESOLVED, "all green")),
            ("make check", CommandResult(code=1, stdout="not yet"), None),
            ("make check", CommandResult(code=2, stderr="no rule"), "the command ended with 2: no rule"),
            ("make check", CommandResult(code=-9), "the command ended with -9"),
            ("make check", CommandResult(code=None), "the command took too long"),
            (
                "make check",
                CommandResult(code=127, stderr="sh: make: not found"),
                (Ending.ORPHANED, "sh: make: not found"),
            ),
            ("run:7@me/repo", CommandResult(code=0, stdout='{"status":"in_progress","conclusion":""}'), None),
            (
                "run:7@me/repo",
                CommandResult(code=0, stdout='{"status":"completed","conclusion":"success"}'),
                (Ending.RESOLVED, "success"),
            ),
            (
                "run:7@me/repo",
                CommandResult(code=0, stdout='{"status":"completed","conclusion":"failure"}'),
                (Ending.ORPHANED, "failure"),
            ),
            ("run:7@me/repo", CommandResult(code=1, stderr="HTTP 404: Not Found"), (Ending.ORPHANED, "404")),
            ("run:7@me/repo", CommandResult(code=4, stderr="gh auth login"), "gh auth login"),
            (
                "run:7@me/repo",
                CommandResult(code=127),
                "the program `gh`, which reads the state from GitHub, is not installed",
            ),
            ("run:7@me/repo", CommandResult(code=0, stdout="<html>"), "`gh` printed no JSON object: <html>"),
            ("run:7@me/repo", CommandResult(code=0, stdout="[]"), "`gh` printed no JSON object: []"),
            ("pr:3@me/repo", CommandResult(code=0, stdout='{"state":"OPEN"}'), None),
            ("pr:3@me/repo", CommandResult(code=0, stdout='{"state":"MERGED"}'), (Ending.RESOLVED, "merged")),
            ("pr:3@me/repo", CommandResult(code=0, stdout='{"state":"CLOSED"}'), (Ending.ORPHANED, "closed")),
        ],
    )
    async def test_what_is_seen_outside(
        self, kit: Kit, awaits: str, command_result: CommandResult, outcome: tuple[Ending, str] | str | None
    ) -> None:
        store = prepare_store(kit)
        kind = GateKind.COMMAND if awaits == "make check" else GateKind.CI
        spec = GateSpec(name="build", kind=kind, awaits=awaits, owner="ana")
        gate = store.run_sync(gates.add, spec, by="admin")
        commands = FakeCommands(command_result)
        wait = await evaluator.check_gates(
            store, CommandOptions(commands=commands, can_run_commands=True, repositories=["me/repo"])
        )
        stored_gate = store.read_sync(gates.show, gate.id)
        if isinstance(outcome, tuple):
            assert stored_gate.resolution is not None
            assert (stored_gate.resolution.ending, outcome[1] in stored_gate.resolution.reason) == (outcome[0], True)
            assert wait is None
        else:
            assert (stored_gate.is_pending, stored_gate.trouble, wait) == (True, outcome, 30.0)
        command, _ = commands.runs.get_nowait()
        if awaits.startswith("pr:"):
            assert command == ["gh", "pr", "view", "3", "--repo", "me/repo", "--json", "state"]

    async def test_one_that_fails_is_its_own_trouble_and_not_the_others(self, kit: Kit) -> None:
        store = prepare_store(kit)
        specs = [GateSpec(name=str(number), kind=GateKind.COMMAND, awaits="x", owner="ana") for number in range(3)]
        new_gates = [store.run_sync(gates.add, spec, by="admin") for spec in specs]

        class BrokenCommands(FakeCommands):
            async def run(self, command: str | Sequence[str], *, stdin: str = "", time_limit: float) -> CommandResult:
                if not self.runs.qsize():
                    self.runs.put_nowait((command, stdin))
                    raise RuntimeError("a fault of ours")
                return await super().run(command, stdin=stdin, time_limit=time_limit)

        await evaluator.check_gates(
            store,
            CommandOptions(commands=BrokenCommands(CommandResult(code=0, stdout="a\x00b")), can_run_commands=True),
        )
        stored_gates = [store.read_sync(gates.show, gate.id) for gate in new_gates]
        assert [gate.trouble for gate in stored_gates if gate.is_pending] == ["it could not be looked at: RuntimeError"]
        assert [gate.resolution.reason for gate in stored_gates if gate.resolution] == ["ab", "ab"]

    async def test_commands_are_run_only_where_they_are_allowed(self, kit: Kit) -> None:
        store = prepare_store(kit)
        gate = store.run_sync(
            gates.add, GateSpec(name="x", kind=GateKind.COMMAND, awaits="true", owner="ana"), by="admin"
        )
        commands = FakeCommands(CommandResult(code=0))
        await evaluator.check_gates(store, CommandOptions(commands=commands))
        assert (commands.runs.qsize(), store.read_sync(gates.show, gate.id).is_pending) == (0, True)


class TestKeeping:
    async def test_it_looks_when_something_is_due_and_writes_only_then(self, kit: Kit) -> None:
        store = prepare_store(kit)
        look = GateDeadlines(store).check
        assert await look() == duties.MAX_WAIT
        store.run_sync(gates.add, GateSpec(name="rest", kind=GateKind.TIMER, within=MINUTE), by="ana")
        assert await look() == duties.MAX_WAIT
        kit.clock.advance(MINUTE - 2 * SECOND)
        assert await look() == 2.0
        kit.signal_sink.clear()
        kit.clock.advance("2s")
        assert await look() == duties.MAX_WAIT
        assert {(signal.recipient.partition("_")[0], signal.cause) for signal in kit.signal_sink.signals} == {
            ("gate:gate", "resolved"),
            ("ana", "gate"),
        }

    async def test_what_nobody_waits_for_causes_no_look(self, kit: Kit) -> None:
        store = prepare_store(kit)
        deadlines = GateDeadlines(store)
        assert not deadlines.is_wake_signal(Signal("ana", EventType.SERVICE))
        store.run_sync(gates.add, GateSpec(name="jira", kind=GateKind.EVENT, awaits="service:jira"), by="ana")
        await deadlines.check()
        kit.signal_sink.clear()
        for type in (EventType.SERVICE, EventType.MAIL):
            for recipient in ("ana", "ben", "*"):
                store.run_sync(push_actions.push_event, Push(to=recipient, type=type, source="jenkins", content="tea"))
        assert [deadlines.is_wake_signal(signal) for signal in kit.signal_sink.signals] == [
            True,
            False,
            True,
            False,
            False,
            False,
        ]
        assert [deadlines.is_wake_signal(Signal("ana", cause)) for cause in ("import", "wakeup")] == [True, True]

    async def test_one_that_cannot_be_ended_keeps_no_other_from_ending(
        self, kit: Kit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = prepare_store(kit)
        specs = [GateSpec(name=name, kind=GateKind.TIMER, within=MINUTE) for name in ("first", "bad", "last")]
        new_gates = [store.run_sync(gates.add, spec, by="ana") for spec in specs]
        original_end = gates.end

        def end(tx: Transaction, gate: Gate, *args: Any, **options: Any) -> Gate:
            if gate.name == "bad":
                raise Invalid("it cannot be told")
            return original_end(tx, gate, *args, **options)

        monkeypatch.setattr(gates, "end", end)
        kit.clock.advance(MINUTE)
        assert await GateDeadlines(store).check() == duties.MAX_WAIT, "not again and again"
        assert [store.read_sync(gates.show, gate.id).is_pending for gate in new_gates] == [False, True, False]

    async def test_a_worker_ends_what_is_over_and_tells_of_answers(
        self, kit: Kit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It would sleep for an hour; the signals of what comes are all there is to wake it."""
        monkeypatch.setattr(duties, "MAX_WAIT", 3_600.0)
        prepare_store(kit)
        bus = SignalBus()
        store = kit.open(limits=Limits(commands=True, on_answer=True, ci=["me/repo"]), signal_sink=bus.on_commit)
        commands = FakeCommands(CommandResult(code=0, stdout="ok"))
        command_options = CommandOptions(commands=commands, can_run_commands=True, on_answer="tell-somebody")
        gate_ids: asyncio.Queue[str] = asyncio.Queue()

        def on_signal(signal: TransportMessage) -> None:
            if isinstance(signal, Signal) and signal.recipient.startswith("gate:") and signal.cause == "resolved":
                gate_ids.put_nowait(signal.recipient.removeprefix("gate:"))

        async def wait_for_end(gate: Gate) -> Gate:
            assert await gate_ids.get() == gate.id
            return store.read_sync(gates.show, gate.id)

        options = WorkerOptions(janitor_interval=3_600.0, command_options=command_options)
        async with bus.open(), asyncio.timeout(30), run_worker(build_deps(store), bus, options):
            with bus.subscribe(on_signal):
                spec = GateSpec(name="mail", kind=GateKind.MAIL, awaits="ben", owner="ana")
                mail_gate = await store.run(gates.add, spec, by="ana")
                mail_push = Push(to="ana", type=EventType.MAIL, source="mail", sender="ben", content="here")
                await store.run(push_actions.push_all, [mail_push])
                assert (await wait_for_end(mail_gate)).is_pending is False
                spec = GateSpec(name="build", kind=GateKind.COMMAND, awaits="make", owner="ana")
                build_gate = await store.run(gates.add, spec, by="admin")
                assert (await wait_for_end(build_gate)).is_pending is False
                assert await commands.runs.get() == ("make", "")
                question = Question(question="Ship?", free_text=True, respondents=("admin",))
                decision = await store.run(decisions.ask, question, by="ana")
                await store.run(decisions.answer, decision.id, Answered(text="yes"), by="admin")
                assert await gate_ids.get() == decision.gate
                command, payload = await commands.runs.get()
        answer = json.loads(payload)
        assert command == "tell-somebody"
        assert (answer["decisionId"], answer["outcome"], answer["text"]) == (decision.id, "answered", "yes")


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
