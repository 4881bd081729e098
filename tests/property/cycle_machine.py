"""
A model of residents and of the processes that think for them: who may write what, and what comes of it.

Processes take leases, fall asleep at any point, wake long after another has taken over, and go on as if nothing had
been. The machine knows nothing of leases or fences. It knows what must come of it: the journal of a run has no gap and
no second version of a step, every call has one result and one effect, every event is in one run that counts, and
whoever was overtaken is refused.
"""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gatepost.core.times import SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Lost
from gatepost.inbox import account_actions, expiry_actions as expiry, item_rows as items
from gatepost.inbox.event import ItemState, Priority, Push
from gatepost.inbox.push import actions as push_actions
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import AgentConfig, MindRules
from gatepost.residents.model_port import CallResult, ModelReply, Prompt, ToolCall
from gatepost.residents.runs import (
    actions as runs_actions,
    deferred_call_actions as deferred_calls,
    ending_actions as run_endings,
    journal_actions as run_journal,
    resume_actions as run_resume,
)
from gatepost.residents.runs.cycle_limits import RunLimit
from gatepost.residents.runs.resume_actions import LeasedRun
from gatepost.residents.runs.run import RunStatus
from gatepost.spaces import actions as spaces
from gatepost.testing import Kit

AGENTS: Final = ("ana", "ben")
PROCESSES: Final = ("p1", "p2")
LEASE: Final = 10 * SECOND
WAYS_TO_END: Final = ("finish", "finish", "stop", "fail", "skip", "renew", "renew", "let_go", "cancel", "die")


@dataclass
class CycleModel:
    """What a process believes."""

    run_state: LeasedRun
    turns: list[Prompt | ModelReply | CallResult]

    @property
    def next_number(self) -> int:
        return len(self.turns) + 1

    def list_unanswered(self) -> list[tuple[int, int, ToolCall]]:
        for number in range(len(self.turns), 0, -1):
            turn = self.turns[number - 1]
            if isinstance(turn, ModelReply):
                result_count = len(self.turns) - number
                return [(number, index, call) for index, call in enumerate(turn.calls)][result_count:]
        return []


class CycleMachine(RuleBasedStateMachine):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.kit = Kit(url)
        self.store = self.kit.store
        #: what processes believe, by the agent and a number that grows. A process that was overtaken may take the lease
        #: again, and another task of it wakes later, which still believes what it did.
        self.cycle_models: dict[tuple[str, int], CycleModel] = {}
        self.take_count = 0
        #: who took the lease last, and the number: nobody else's writes may count
        self.last_takes: dict[str, tuple[str, int]] = {}
        self.pushed_ids: dict[str, set[str]] = {name: set() for name in AGENTS}
        self.push_count = 0

    @initialize()
    def furnish(self) -> None:
        for name in AGENTS:
            self.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
            self.store.run_sync(
                agents.make_resident, name, AgentConfig(mind=MindRules(max_tokens=1_000, min_recent_cycles=2))
            )
        self.store.run_sync(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
        self.store.run_sync(spaces.create, name="room", members=[*AGENTS, "husam"])

    @rule(name=st.sampled_from(AGENTS), urgent=st.booleans())
    def push(self, name: str, urgent: bool) -> None:
        priority = Priority.CRITICAL if urgent else Priority.NORMAL
        push = Push(to=name, source="test", content=f"event {self.push_count} " + "x" * 400, priority=priority)
        self.pushed_ids[name].add(self.store.run_sync(push_actions.push_event, push).event)
        self.push_count += 1

    @rule(
        name=st.sampled_from(AGENTS),
        process=st.sampled_from(PROCESSES),
        seconds=st.sampled_from([0, 1, 4, 11, 11]),
        has_news=st.booleans(),
    )
    def take(self, name: str, process: str, seconds: int, has_news: bool) -> None:
        """Take a run some time later, perhaps past the lease of another process, perhaps with something new to read."""
        self.kit.clock.advance(seconds * SECOND)
        if has_news:
            self.push(name, urgent=False)
        run_state = self.store.run_sync(run_resume.take_run, name, process, length=LEASE)
        if run_state is not None:
            last_process, last_number = self.last_takes.get(name, ("", 0))
            if last_process == process:  # the same task goes on
                self.cycle_models.pop((name, last_number), None)
            self.take_count += 1
            self.last_takes[name] = process, self.take_count
            turns = [step.turn for step in run_state.steps]
            self.cycle_models[name, self.take_count] = CycleModel(run_state, turns)

    @precondition(lambda self: self.cycle_models)
    @rule(data=st.data(), calls=st.integers(1, 3))
    def reply(self, data: st.DataObject, calls: int) -> None:
        key, model = self._pick_cycle(data)
        if model.list_unanswered():
            return
        reply = ModelReply("", tuple(ToolCall(f"c{n}", "send_message", "{}") for n in range(calls)))
        if self._write(key, run_journal.record_step, model.next_number, reply):
            model.turns.append(reply)

    @precondition(lambda self: self.cycle_models)
    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        key, model = self._pick_cycle(data)
        for reply_number, index, call in model.list_unanswered()[:1]:
            dedup_key = f"{reply_number}.{index}"
            text = f"{model.run_state.run_lease.run.id} {dedup_key}"
            if outcome := self._write(
                key, run_journal.run_tool, model.next_number, call, dedup_key, {"text": text}, "room"
            ):
                model.turns.append(outcome.result)  # type: ignore[attr-defined]

    @precondition(lambda self: self.cycle_models)
    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        key, model = self._pick_cycle(data)
        if not model.list_unanswered():
            prompt = self._write(key, run_journal.pull_critical_items, model.next_number, 10_000)
            model.turns += [prompt] if isinstance(prompt, Prompt) else []

    @precondition(lambda self: self.cycle_models)
    @rule(data=st.data(), way=st.sampled_from(WAYS_TO_END))
    def end(self, data: st.DataObject, way: str) -> None:
        key, model = self._pick_cycle(data)
        has_acted = any(isinstance(turn, CallResult) for turn in model.turns)
        if model.list_unanswered():
            return
        match way:
            case "finish":
                result = self._write(
                    key,
                    run_endings.finish_run,
                    model.next_number,
                    ModelReply("done"),
                    summary=f"summary {self.push_count}",
                )
            case "stop":
                result = self._write(
                    key, run_endings.stop_at_limit, model.next_number, RunLimit.STEPS, "(limit)", summary="(limit)"
                )
            case "fail" if not has_acted:
                result = self._write(key, run_endings.release_run, "overload", "away", 2 * SECOND)
            case "fail":
                result = self._write(key, run_endings.suspend_run, 2 * SECOND)
            case "skip" if not has_acted:
                result = self._write(key, run_endings.skip_run)
            case "renew":
                self._write(key, run_journal.renew_lease)
                return
            case "let_go":
                self.store.run_sync(run_endings.hand_over, model.run_state.run_lease)
                return
            case "cancel":
                self._cancel(model.run_state.run_lease.run.id)
                return
            case "die":
                del self.cycle_models[key]
                return
            case _:
                return
        if result is not False:
            self.cycle_models.pop(key, None)

    def _cancel(self, run_id: str) -> None:
        run = self.store.read_sync(runs_actions.show, run_id)
        if run.status is RunStatus.RUNNING:
            self.store.run_sync(runs_actions.cancel, run.id)
            self.last_takes.pop(run.agent, None)

    @rule()
    def tidy(self) -> None:
        self.store.run_sync(deferred_calls.expire_calls)
        self.store.run_sync(expiry.expire_items)

    def _pick_cycle(self, data: st.DataObject) -> tuple[tuple[str, int], CycleModel]:
        key = data.draw(st.sampled_from(sorted(self.cycle_models)))
        return key, self.cycle_models[key]

    def _write(self, key: tuple[str, int], verb: object, *args: object, **kwargs: object) -> object:
        """Write as a process that believes it may; False when it is refused, as it must be once it was overtaken."""
        name, number = key
        try:
            result: object = self.store.run_sync(verb, self.cycle_models[key].run_state.run_lease, *args, **kwargs)  # type: ignore[arg-type]
        except Lost:
            del self.cycle_models[key]
            return False
        assert self.last_takes.get(name, ("", 0))[1] == number, "whoever was overtaken is refused"
        return True if result is None else result

    @invariant()
    def journals_are_whole(self) -> None:
        message_counts = Counter(message.content for message in self.store.read_sync(spaces.read, "room", limit=200))
        expected_counts = Counter[str]()
        for run in self.store.read_sync(runs_actions.list_page, limit=1_000):
            steps = self.store.read_sync(runs_actions.list_steps, run.id)
            assert [step.number for step in steps] == list(range(1, len(steps) + 1))
            results = [step.turn for step in steps if isinstance(step.turn, CallResult)]
            calls = [call for step in steps if isinstance(step.turn, ModelReply) for call in step.turn.calls]
            assert [result.tool for result in results] == [call.tool for call in calls][: len(results)]
            assert all(json.loads(result.content)["success"] for result in results)
            for number, step in enumerate(steps, 1):
                if isinstance(step.turn, ModelReply):
                    result_count = sum(isinstance(later.turn, CallResult) for later in steps[number:])
                    expected_counts.update(
                        f"{run.id} {number}.{index}" for index in range(min(result_count, len(step.turn.calls)))
                    )
        assert all(count == 1 for count in message_counts.values()), "nothing is said twice"
        assert message_counts == expected_counts

    @invariant()
    def every_event_counts_once(self) -> None:
        for name in AGENTS:
            event_counts = Counter(
                event
                for run in self.store.read_sync(runs_actions.list_page, agent=name, limit=1_000)
                if run.status is not RunStatus.FAILED
                for step in self.store.read_sync(runs_actions.list_steps, run.id)
                if isinstance(step.turn, Prompt)
                for event in step.turn.events
            )
            assert all(count == 1 for count in event_counts.values()), "no event is in two runs that count"
            running = self.store.read_sync(runs_actions.list_page, agent=name, status=RunStatus.RUNNING)
            assert len(running) <= 1
            number = self.store.read_sync(directory.find, name).number
            for event in self.pushed_ids[name]:
                [(_, item)] = self.store.read_sync(items.list_by_event, event, number)
                expected = (
                    {ItemState.PENDING} if event not in event_counts else {ItemState.CLAIMED, ItemState.DELIVERED}
                )
                assert item.state in expected
                if not running:
                    assert item.state is not ItemState.CLAIMED

    @invariant()
    def minds_are_what_was_completed(self) -> None:
        for name in AGENTS:
            runs = self.store.read_sync(runs_actions.list_page, agent=name, limit=1_000)
            completed = [run for run in runs if run.status in (RunStatus.COMPLETED, RunStatus.WAITING_TOOL)][::-1]
            mind = self.store.read_sync(runs_actions.read_mind, name)
            resident = self.store.read_sync(agents.show, name)
            assert resident is not None
            assert resident.cycles == len(completed)
            assert resident.tokens == mind.tokens
            assert mind.past_cycles.dropped_count + len(mind.past_cycles.summaries) == sum(
                bool(run.summary) for run in completed if run.number <= mind.past_cycles.run
            )
            full_runs = [run for run in completed if run.number > mind.past_cycles.run]
            turns = [step.turn for run in full_runs for step in self.store.read_sync(runs_actions.list_steps, run.id)]
            assert list(mind.turns) == turns

    @invariant()
    def accounts_agree(self) -> None:
        for account in self.store.read_sync(account_actions.list_accounts):
            assert account.is_balanced

    def teardown(self) -> None:
        self.kit.__exit__(None, None, None)
