"""What ends gates in the background: checks of commands and of GitHub, deadlines, and a worker that does both."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from gatepost.core.policy import Policy
from gatepost.core.ports import Store, Transaction
from gatepost.core.signals import Signal, Topic, TransportMessage
from gatepost.core.times import MINUTE, SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Invalid
from gatepost.gates import condition_check_background, decision_actions as decisions, gate_actions as gates
from gatepost.gates.condition_check import CommandResult
from gatepost.gates.condition_check_background import GateCommandOptions
from gatepost.gates.decision import AnswerSpec as Answered, Question
from gatepost.gates.gate import Ending, Gate, GateKind, GateSpec
from gatepost.inbox.event import EventType, Push
from gatepost.inbox.push import actions as push_actions
from gatepost.testing import Kit
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker import background_tasks
from gatepost.worker.background_tasks import GateEnder, WorkerOptions, run_worker
from tests.faults.cycle_process import build_deps
from tests.support.servers.both_databases import KIT_OF_BOTH
from tests.support.waits import LAST_RESORT

POSTGRES_BY_NIGHT = True

ALL_ALLOWED = Policy(can_run_commands=True, has_answer_command=True, allowed_repositories=["me/repo"])


@dataclass
class FakeCommands:
    """Commands that all end as the test wants; what was run can be waited for."""

    result: CommandResult
    runs: asyncio.Queue[tuple[str | Sequence[str], str]] = field(default_factory=asyncio.Queue)

    async def run(self, command: str | Sequence[str], *, stdin: str = "", time_limit: float) -> CommandResult:
        self.runs.put_nowait((command, stdin))
        return self.result


def prepare_store(kit: Kit) -> Store:
    store = kit.open(policy=ALL_ALLOWED)
    kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    for name in ("ana", "ben"):
        store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    return store


class TestChecks:
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
        wait = await condition_check_background.check_gates(
            store, GateCommandOptions(commands=commands, can_run_commands=True, repositories=["me/repo"])
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

        await condition_check_background.check_gates(
            store,
            GateCommandOptions(commands=BrokenCommands(CommandResult(code=0, stdout="a\x00b")), can_run_commands=True),
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
        await condition_check_background.check_gates(store, GateCommandOptions(commands=commands))
        assert (commands.runs.qsize(), store.read_sync(gates.show, gate.id).is_pending) == (0, True)


class TestDeadlines:
    async def test_it_looks_when_something_is_due_and_writes_only_then(self, kit: Kit) -> None:
        store = prepare_store(kit)
        look = GateEnder(store).check
        assert await look() == background_tasks.MAX_WAIT
        store.run_sync(gates.add, GateSpec(name="rest", kind=GateKind.TIMER, within=MINUTE), by="ana")
        assert await look() == background_tasks.MAX_WAIT
        kit.clock.advance(MINUTE - 2 * SECOND)
        assert await look() == 2.0
        kit.signal_sink.clear()
        kit.clock.advance("2s")
        assert await look() == background_tasks.MAX_WAIT
        assert {(signal.topic.recipient.partition("_")[0], signal.cause) for signal in kit.signal_sink.signals} == {
            ("gate:gate", "resolved"),
            ("ana", "gate"),
        }

    async def test_what_nobody_waits_for_causes_no_look(self, kit: Kit) -> None:
        store = prepare_store(kit)
        deadlines = GateEnder(store)
        assert not deadlines.is_wake_signal(Signal(Topic("inbox", "ana"), EventType.SERVICE))
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
        assert [deadlines.is_wake_signal(Signal(Topic("inbox", "ana"), cause)) for cause in ("import", "wakeup")] == [
            True,
            True,
        ]

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
        assert await GateEnder(store).check() == background_tasks.MAX_WAIT, "not again and again"
        assert [store.read_sync(gates.show, gate.id).is_pending for gate in new_gates] == [False, True, False]

    @KIT_OF_BOTH
    async def test_a_worker_ends_what_is_over_and_tells_of_answers(
        self, kit: Kit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It would sleep for an hour; the signals of what comes are all there is to wake it."""
        monkeypatch.setattr(background_tasks, "MAX_WAIT", 3_600.0)
        prepare_store(kit)
        bus = SignalBus()
        store = kit.open(policy=ALL_ALLOWED, signal_sink=bus.on_commit)
        commands = FakeCommands(CommandResult(code=0, stdout="ok"))
        gate_commands = GateCommandOptions(commands=commands, can_run_commands=True, on_answer="tell-somebody")
        gate_ids: asyncio.Queue[str] = asyncio.Queue()

        def on_signal(signal: TransportMessage) -> None:
            if isinstance(signal, Signal) and signal.topic.kind == "gate" and signal.cause == "resolved":
                gate_ids.put_nowait(signal.topic.name)

        async def wait_for_end(gate: Gate) -> Gate:
            assert await gate_ids.get() == gate.id
            return store.read_sync(gates.show, gate.id)

        options = WorkerOptions(recheck_interval=3_600.0, gate_commands=gate_commands)
        async with bus.open(), asyncio.timeout(LAST_RESORT), run_worker(build_deps(store), bus, options):
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
