"""What keeps residents from stopping, and what lets them go: in cycles, in a household, and in a whole gateway."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from gatepost.actions import decisions, directory, gates, inbox, runs
from gatepost.actions import push as push_actions
from gatepost.actions.directory import EntitySpec
from gatepost.core.agent import AgentConfig, LoopRules
from gatepost.core.command import CommandResult
from gatepost.core.decision import AnswerSpec as Answered
from gatepost.core.decision import Option, Question
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, Push
from gatepost.core.frame import TransportMessage
from gatepost.core.gate import Ending, Gate, GateKind, GateSpec
from gatepost.core.limits import Limits
from gatepost.core.mind import CallResult, ModelReply, Prompt
from gatepost.core.model import ChatRequest, ModelFailed, Trouble
from gatepost.core.run import RunStatus
from gatepost.core.signals import Signal
from gatepost.core.times import HOUR, MINUTE, SECOND
from gatepost.errors import Invalid
from gatepost.ports import Store, Transaction
from gatepost.runtime import evaluator, gate_deadlines
from gatepost.runtime.evaluator import CommandOptions
from gatepost.runtime.gate_deadlines import GateDeadlines
from gatepost.runtime.signal_bus import SignalBus
from gatepost.runtime.worker import WorkerOptions, run_worker
from gatepost.testing import Kit
from tests.faults.thinker import means
from tests.living import House
from tests.living import living as house_of
from tests.models import Say, Script, Use, in_turn
from tests.rooms import Room, done, quiet, use

YES_OR_NO = [{"id": "yes", "label": "Ship it"}, {"id": "no", "label": "Wait"}]


def count_reminders(ask: ChatRequest) -> int:
    """Return how often a model was reminded of a gate, in all it was shown."""
    return sum(isinstance(turn, Prompt) and turn.text.startswith("Before you end this cycle:") for turn in ask.turns)


class TestCycles:
    @pytest.mark.parametrize(
        "wish",
        [
            GateSpec(name="x", awaits="husam"),
            GateSpec(name="x", kind=GateKind.TIMER, within=HOUR),
            GateSpec(name="x", kind=GateKind.EVENT, awaits="mail"),
            GateSpec(name="x", kind=GateKind.MAIL, awaits="husam"),
            GateSpec(name="x", kind=GateKind.CI, awaits="run:7@me/repo"),
        ],
        ids=lambda wish: str(wish.kind),
    )
    async def test_waiting_costs_no_model_calls(self, kit: Kit, wish: GateSpec) -> None:
        """A resident sleeps while somebody or something else has to move, and the end of the gate wakes it."""
        room = Room(kit, quiet)
        gate = kit.open(limits=Limits(ci=["me/repo"])).call(gates.add, wish, by="ana")
        room.push("hello")
        assert await room.cycles() == 1
        assert len(room.model.asked) == 1
        [run] = kit.store.query(runs.page, agent="ana")
        assert (run.status, run.steps, run.summary) == (RunStatus.COMPLETED, 1, "Done.")
        assert [one.id for one in kit.store.query(gates.list_blocking, "ana")] == [gate.id]
        kit.store.call(gates.withdraw, gate.id, by="admin", reason="fine")
        assert await room.cycles() == 1
        woken = room.model.asked[-1].turns[-1]
        assert isinstance(woken, Prompt)
        assert woken.text.splitlines()[1] == f'[Gate {gate.id}] withdrawn: "x: fine"'

    async def test_asking_a_decision_costs_no_model_calls_either(self, kit: Kit) -> None:
        def mind(ask: ChatRequest, replies: int) -> ModelReply:
            question: dict[str, Any] = {"question": "Ship?", "options": YES_OR_NO, "of": ["husam"]}
            return done("Asked.") if replies else ModelReply(calls=(use("ask_decision", **question),))

        room = Room(kit, mind)
        room.push("hello")
        assert await room.cycles() == 1
        assert len(room.model.asked) == 2
        [run] = kit.store.query(runs.page, agent="ana")
        assert (run.steps, run.summary) == (2, "Asked.")

    async def test_a_gate_that_the_agent_can_open_reminds_it_once(self, kit: Kit) -> None:
        room = Room(kit, lambda ask, _: done(f"Reminded {count_reminders(ask)} times."))
        wish = GateSpec(name="review", owner="ana", awaits="ana", instruction="Read it again")
        gate = kit.store.call(gates.add, wish, by="admin")
        assert await room.cycles() == 1, "it is woken by the gate that waits for it"
        assert [count_reminders(ask) for ask in room.model.asked] == [0, 1]
        shown = room.model.asked[-1].turns[-1]
        assert isinstance(shown, Prompt)
        assert shown.text.splitlines()[1] == f'- review: "Read it again" ({gate.id}); resolve it with resolve_gate'
        room.push("hello")
        assert await room.cycles() == 1
        assert len(room.model.asked) == 3, "once for the gate, not once for each cycle"
        summaries = [run.summary for run in kit.store.query(runs.page, agent="ana")]
        assert summaries == ["Reminded 1 times.", "Reminded 1 times."]

    async def test_it_opens_the_gate_and_ends(self, kit: Kit) -> None:
        def mind(ask: ChatRequest, replies: int) -> ModelReply:
            if not replies:
                return ModelReply(calls=(use("set_gate", name="tests", awaits="ana"),))
            if isinstance(ask.turns[-1], Prompt) and count_reminders(ask) == 1:
                [gate] = kit.store.query(gates.list_blocking, "ana")
                return ModelReply(calls=(use("resolve_gate", gateId=gate.id, reason="they pass"),))
            return done()

        room = Room(kit, mind)
        room.push("hello")
        assert await room.cycles() == 1
        assert [count_reminders(ask) for ask in room.model.asked] == [0, 0, 1, 1]
        assert kit.store.query(gates.list_blocking, "ana") == []
        assert kit.store.query(inbox.page, "ana", type=EventType.GATE) == [], "it knows what it has done itself"

    async def test_a_command_gate_reminds_it_once_too(self, kit: Kit) -> None:
        room = Room(kit, quiet)
        store = kit.open(limits=Limits(commands=True))
        wish = GateSpec(name="build", kind=GateKind.COMMAND, awaits="make", owner="ana", instruction="Make it green")
        gate = store.call(gates.add, wish, by="admin")
        for count in (2, 3):
            room.push("hello")
            assert await room.cycles() == 1
            assert len(room.model.asked) == count
        shown = room.model.asked[1].turns[-1]
        assert isinstance(shown, Prompt)
        assert shown.text.splitlines()[1] == f'- build: "Make it green" ({gate.id})'

    async def test_a_reminder_that_was_lost_with_its_run_is_given_again(self, kit: Kit) -> None:
        fails = True

        def mind(ask: ChatRequest, replies: int) -> ModelReply:
            if fails and count_reminders(ask):
                raise ModelFailed(Trouble.OVERLOAD, "busy")
            return done()

        room = Room(kit, mind)
        kit.store.call(gates.add, GateSpec(name="review", owner="ana", awaits="ana"), by="ana")
        room.push("hello")
        await room.cycle()
        assert room.runs() == [RunStatus.FAILED]
        fails = False
        kit.clock.advance(MINUTE)
        await room.cycles()
        assert [count_reminders(ask) for ask in room.model.asked] == [0, 1, 0, 1]

    async def test_at_the_last_step_the_closing_text_is_not_lost_to_a_reminder(self, kit: Kit) -> None:
        room = Room(kit, quiet, AgentConfig(loop=LoopRules(max_steps=1)))
        kit.store.call(gates.add, GateSpec(name="review", owner="ana", awaits="ana"), by="ana")
        room.push("hello")
        await room.cycles()
        [run] = kit.store.query(runs.page, agent="ana")
        assert (run.summary, run.limit) == ("Done.", None)

    def test_a_person_cannot_wait_for_itself(self, kit: Kit) -> None:
        Room(kit, quiet)
        for wish in (GateSpec(name="x", awaits="husam"), GateSpec(name="x", owner="admin")):
            with pytest.raises(Invalid, match="wait for itself"):
                kit.store.call(gates.add, wish, by=wish.owner or "husam")
        with pytest.raises(Invalid, match="wait for itself"):
            kit.store.call(gates.add, GateSpec(name="x", kind=GateKind.MAIL, awaits="ana"), by="ana")

    async def test_a_gate_of_somebody_else_keeps_nobody(self, kit: Kit) -> None:
        room = Room(kit, quiet)
        kit.store.call(gates.add, GateSpec(name="rest", kind=GateKind.TIMER, within=HOUR), by="husam")
        room.push("hello")
        await room.cycles()
        assert len(room.model.asked) == 1

    async def test_the_tools_say_what_they_did_and_what_is_wrong(self, kit: Kit) -> None:
        question: dict[str, Any] = {"question": "Ship?", "options": YES_OR_NO, "of": ["husam"]}
        calls = (
            use("ask_decision", **question, default="no"),
            use("ask_decision", **question),
            use("set_gate", name="build", kind="command", awaits="make"),
            use("set_gate", name="later", kind="timer", within="1 hour", waiters=["husam"]),
            use("set_gate", name="later", kind="timer", within="soon"),
            use("answer_decision", decisionId="dec_1", option="yes"),
        )

        def mind(ask: ChatRequest, replies: int) -> ModelReply:
            if not replies:
                return ModelReply(calls=tuple(replace(call, id=f"call-{place}") for place, call in enumerate(calls)))
            return done()

        room = Room(kit, mind)
        room.push("hello")
        await room.cycles()
        results = [turn for turn in room.model.asked[1].turns if isinstance(turn, CallResult)]
        assert [result.ok for result in results] == [False, True, False, True, False, False]
        made = json.loads(results[1].content)
        assert (made["asked"], made["status"], made["iteration"]) == (["husam"], "pending", 1)
        decision = kit.store.query(decisions.show, made["decisionId"])
        assert (decision.asker, decision.gate) == ("ana", made["gateId"])
        assert [gate.kind for gate in kit.store.query(gates.list_blocking, "ana")] == [
            GateKind.DECISION,
            GateKind.TIMER,
        ]
        assert "gates.commands" in results[2].content

    async def test_one_agent_decides_for_another(self, kit: Kit) -> None:
        """Ana is asked by Ben, sends it back, and answers when it is asked anew."""

        def mind(ask: ChatRequest, replies: int) -> ModelReply:
            if replies:
                return done()
            [decision] = kit.store.query(decisions.page, asked="ana", pending=True)
            if decision.iteration == 1:
                arguments: dict[str, Any] = {"text": "which one?", "again": True}
            else:
                arguments = {"option": "b", "contextHash": decision.context_hash}
            return ModelReply(calls=(use("answer_decision", decisionId=decision.id, **arguments),))

        room = Room(kit, mind)
        kit.store.call(directory.register, EntitySpec(name="ben", kind=EntityKind.AGENT))
        options = (Option(id="a", label="A"), Option(id="b", label="B"))
        question = Question(question="Which?", options=options, free_text=True, respondents=("ana",))
        made = kit.store.call(decisions.ask, question, by="ben")
        assert await room.cycles() == 1
        kit.store.call(decisions.revise, made.id, question, by="ben")
        assert await room.cycles() == 1
        found = kit.store.query(decisions.show, made.id)
        assert [answer.outcome for answer in found.answers] == ["again", "answered"]
        told_ = [item.event.data["outcome"] for item in kit.store.query(inbox.page, "ben", type=EventType.DECISION)]
        assert told_ == ["again", "answered"]


@dataclass
class Scripted:
    """Commands that all end as the test wants; what was run can be waited for."""

    end: CommandResult
    ran: asyncio.Queue[tuple[str | Sequence[str], str]] = field(default_factory=asyncio.Queue)

    async def run(self, command: str | Sequence[str], *, stdin: str = "", time_limit: float) -> CommandResult:
        self.ran.put_nowait((command, stdin))
        return self.end


def office(kit: Kit) -> Store:
    store = kit.open(limits=Limits(commands=True, on_answer=True, ci=["me/repo"]))
    kit.store.call(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    for name in ("ana", "ben"):
        store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    return store


class TestEvaluating:
    @pytest.mark.parametrize(
        ("awaits", "ran", "outcome"),
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
            ("run:7@me/repo", CommandResult(code=127), "`gh` is not here, which says how things stand on GitHub"),
            ("run:7@me/repo", CommandResult(code=0, stdout="<html>"), "`gh` answered what cannot be read: <html>"),
            ("run:7@me/repo", CommandResult(code=0, stdout="[]"), "`gh` answered what cannot be read: []"),
            ("pr:3@me/repo", CommandResult(code=0, stdout='{"state":"OPEN"}'), None),
            ("pr:3@me/repo", CommandResult(code=0, stdout='{"state":"MERGED"}'), (Ending.RESOLVED, "merged")),
            ("pr:3@me/repo", CommandResult(code=0, stdout='{"state":"CLOSED"}'), (Ending.ORPHANED, "closed")),
        ],
    )
    async def test_what_is_seen_outside(
        self, kit: Kit, awaits: str, ran: CommandResult, outcome: tuple[Ending, str] | str | None
    ) -> None:
        store = office(kit)
        kind = GateKind.COMMAND if awaits == "make check" else GateKind.CI
        wish = GateSpec(name="build", kind=kind, awaits=awaits, owner="ana")
        gate = store.call(gates.add, wish, by="admin")
        commands = Scripted(ran)
        wait = await evaluator.check_gates(
            store, CommandOptions(commands=commands, can_run_commands=True, repositories=["me/repo"])
        )
        found = store.query(gates.show, gate.id)
        if isinstance(outcome, tuple):
            assert found.resolution is not None
            assert (found.resolution.ending, outcome[1] in found.resolution.reason) == (outcome[0], True)
            assert wait is None
        else:
            assert (found.is_pending, found.trouble, wait) == (True, outcome, 30.0)
        command, _ = commands.ran.get_nowait()
        if awaits.startswith("pr:"):
            assert command == ["gh", "pr", "view", "3", "--repo", "me/repo", "--json", "state"]

    async def test_one_that_fails_is_its_own_trouble_and_not_the_others(self, kit: Kit) -> None:
        store = office(kit)
        wishes = [GateSpec(name=str(each), kind=GateKind.COMMAND, awaits="x", owner="ana") for each in range(3)]
        made = [store.call(gates.add, wish, by="admin") for wish in wishes]

        class Broken(Scripted):
            async def run(self, command: str | Sequence[str], *, stdin: str = "", time_limit: float) -> CommandResult:
                if not self.ran.qsize():
                    self.ran.put_nowait((command, stdin))
                    raise RuntimeError("a fault of ours")
                return await super().run(command, stdin=stdin, time_limit=time_limit)

        await evaluator.check_gates(
            store, CommandOptions(commands=Broken(CommandResult(code=0, stdout="a\x00b")), can_run_commands=True)
        )
        found = [store.query(gates.show, gate.id) for gate in made]
        assert [gate.trouble for gate in found if gate.is_pending] == ["it could not be looked at: RuntimeError"]
        assert [gate.resolution.reason for gate in found if gate.resolution] == ["ab", "ab"]

    async def test_commands_are_run_only_where_they_are_allowed(self, kit: Kit) -> None:
        store = office(kit)
        gate = store.call(gates.add, GateSpec(name="x", kind=GateKind.COMMAND, awaits="true", owner="ana"), by="admin")
        commands = Scripted(CommandResult(code=0))
        await evaluator.check_gates(store, CommandOptions(commands=commands))
        assert (commands.ran.qsize(), store.query(gates.show, gate.id).is_pending) == (0, True)


class TestKeeping:
    async def test_it_looks_when_something_is_due_and_writes_only_then(self, kit: Kit) -> None:
        store = office(kit)
        look = GateDeadlines(store).check
        assert await look() == gate_deadlines.MAX_WAIT
        store.call(gates.add, GateSpec(name="rest", kind=GateKind.TIMER, within=MINUTE), by="ana")
        assert await look() == gate_deadlines.MAX_WAIT
        kit.clock.advance(MINUTE - 2 * SECOND)
        assert await look() == 2.0
        kit.signal_sink.clear()
        kit.clock.advance("2s")
        assert await look() == gate_deadlines.MAX_WAIT
        assert {(ring.recipient.partition("_")[0], ring.cause) for ring in kit.signal_sink.signals} == {
            ("gate:gate", "resolved"),
            ("ana", "gate"),
        }

    async def test_what_nobody_waits_for_causes_no_look(self, kit: Kit) -> None:
        store = office(kit)
        house = GateDeadlines(store)
        assert not house.is_wake_signal(Signal("ana", EventType.SERVICE))
        store.call(gates.add, GateSpec(name="jira", kind=GateKind.EVENT, awaits="service:jira"), by="ana")
        await house.check()
        kit.signal_sink.clear()
        for type in (EventType.SERVICE, EventType.MAIL):
            for to in ("ana", "ben", "*"):
                store.call(push_actions.push_event, Push(to=to, type=type, source="jenkins", content="tea"))
        assert [house.is_wake_signal(ring) for ring in kit.signal_sink.signals] == [
            True,
            False,
            True,
            False,
            False,
            False,
        ]
        assert [house.is_wake_signal(Signal("ana", cause)) for cause in ("import", "wakeup")] == [True, True]

    async def test_one_that_cannot_be_ended_keeps_no_other_from_ending(
        self, kit: Kit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = office(kit)
        wishes = [GateSpec(name=name, kind=GateKind.TIMER, within=MINUTE) for name in ("first", "bad", "last")]
        made = [store.call(gates.add, wish, by="ana") for wish in wishes]
        ends = gates.end

        def end(tx: Transaction, gate: Gate, *args: Any, **more: Any) -> Gate:
            if gate.name == "bad":
                raise Invalid("it cannot be told")
            return ends(tx, gate, *args, **more)

        monkeypatch.setattr(gates, "end", end)
        kit.clock.advance(MINUTE)
        assert await GateDeadlines(store).check() == gate_deadlines.MAX_WAIT, "not again and again"
        assert [store.query(gates.show, gate.id).is_pending for gate in made] == [False, True, False]

    async def test_a_household_ends_what_is_over_and_tells_of_answers(
        self, kit: Kit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It would sleep for an hour; the rings of what comes are all there is to wake it."""
        monkeypatch.setattr(gate_deadlines, "MAX_WAIT", 3_600.0)
        office(kit)
        exchange = SignalBus()
        store = kit.open(limits=Limits(commands=True, on_answer=True, ci=["me/repo"]), signal_sink=exchange.on_commit)
        commands = Scripted(CommandResult(code=0, stdout="ok"))
        reach = CommandOptions(commands=commands, can_run_commands=True, on_answer="tell-somebody")
        ended: asyncio.Queue[str] = asyncio.Queue()

        def heard(signal: TransportMessage) -> None:
            if isinstance(signal, Signal) and signal.recipient.startswith("gate:") and signal.cause == "resolved":
                ended.put_nowait(signal.recipient.removeprefix("gate:"))

        async def over(gate: Gate) -> Gate:
            assert await ended.get() == gate.id
            return store.query(gates.show, gate.id)

        habits = WorkerOptions(janitor_interval=3_600.0, command_options=reach)
        async with exchange.open(), asyncio.timeout(30), run_worker(means(store), exchange, habits):
            with exchange.subscribe(heard):
                wish = GateSpec(name="mail", kind=GateKind.MAIL, awaits="ben", owner="ana")
                mail = await store.run(gates.add, wish, by="ana")
                push = Push(to="ana", type=EventType.MAIL, source="mail", sender="ben", content="here")
                await store.run(push_actions.push_all, [push])
                assert (await over(mail)).is_pending is False
                wish = GateSpec(name="build", kind=GateKind.COMMAND, awaits="make", owner="ana")
                build = await store.run(gates.add, wish, by="admin")
                assert (await over(build)).is_pending is False
                assert await commands.ran.get() == ("make", "")
                question = Question(question="Ship?", free_text=True, respondents=("admin",))
                made = await store.run(decisions.ask, question, by="ana")
                await store.run(decisions.answer, made.id, Answered(text="yes"), by="admin")
                assert await ended.get() == made.gate
                command, said = await commands.ran.get()
        answer = json.loads(said)
        assert command == "tell-somebody"
        assert (answer["decisionId"], answer["outcome"], answer["text"]) == (made.id, "answered", "yes")


@pytest.fixture
def scripts() -> dict[str, Script]:
    return {}


@pytest.fixture
def house(tmp_path: Path, scripts: dict[str, Script]) -> Iterator[House]:
    with house_of(tmp_path, scripts) as made:
        made.person("husam")
        yield made


def test_a_resident_asks_sleeps_and_goes_on_with_the_answer(house: House, scripts: dict[str, Script]) -> None:
    waiting = Say("Asked Husam whether to ship. A decision is pending.")
    scripts["shipper"] = in_turn(
        Use("ask_decision", {"question": "Ship?", "options": YES_OR_NO, "of": ["husam"]}),
        waiting,
        [Use("enter_space", {"spaceId": "dock"}), Use("send_message", {"text": "Shipping now."})],
        Say("Shipped, as Husam decided. Nothing is pending."),
    )
    house.resident("shipper")
    house.space("dock", "husam", "shipper")
    house.say("dock", "Ship the release if you may", by="husam")
    [first] = house.ended("shipper", 1)
    assert (first["status"], first["steps"]) == ("completed", 2), "waiting costs no model calls"
    [decision] = house.get("/decisions", asked="husam")["items"]
    assert (decision["question"], decision["asker"], decision["status"]) == ("Ship?", "shipper", "pending")
    [item] = house.get("/inbox/husam")["items"]
    assert (item["type"], item["state"]) == ("decision", "pending")
    house.put(f"/decisions/{decision['id']}/answer", by="husam", option="yes", contextHash=decision["contextHash"])
    second = house.ended("shipper", 2)[1]
    assert (second["status"], second["cause"], second["steps"]) == ("completed", "decision", 2)
    assert house.asked("shipper")[2].inbox.endswith(f'[Decision {decision["id"]}] answered by husam: "Ship it"')
    assert house.said("dock")[-1] == ("shipper", "Shipping now.")
    assert house.get(f"/gates/{decision['gate']}")["resolution"]["ending"] == "resolved"


def test_the_demo_asks_waits_and_says_what_was_decided(house: House) -> None:
    house.post("/agents", name="ada", model="demo")
    house.space("kitchen", "husam", "ada")
    house.say("kitchen", "Should we buy more tea?", by="husam")
    [first] = house.ended("ada", 1)
    assert (first["status"], first["summary"].endswith("A decision is pending.")) == ("completed", True)
    [decision] = house.get("/decisions", pending="true")["items"]
    assert [option["id"] for option in decision["options"]] == ["yes", "no"]
    house.put(f"/decisions/{decision['id']}/answer", by="admin", option="yes", text="a lot")
    house.ended("ada", 2)
    said = [text for who, text in house.said("kitchen") if who == "ada"]
    assert "I have asked for a decision." in said[0]
    assert said[1:] == ["(demo) admin has decided: Yes - a lot"]
