"""What a resident may spend in an hour or a day: when it rests, who is told, and what wakes it (R5)."""

import asyncio

import pytest
from hypothesis import given, strategies as st

from gatepost.core.times import DAY, HOUR, MINUTE
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType, ItemState
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import Budget, Spending
from gatepost.residents.background.cycle_outcome import CyclePaused
from gatepost.residents.budget_actions import count_spending
from gatepost.residents.model_port import ChatRequest, ModelReply, Usage
from gatepost.residents.runs import actions as runs, journal_actions as run_journal, resume_actions as run_resume
from gatepost.residents.runs.cycle_limits import RunLimit
from gatepost.residents.runs.run import RunStatus
from gatepost.testing import Kit
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker.background_tasks import WorkerOptions, run_worker
from tests.residents.scripted_agent import ReplyFunction, ScriptedAgent, build_call, build_final_reply, reply_done
from tests.support.servers.both_databases import KIT_OF_BOTH
from tests.support.waits import LAST_RESORT

POSTGRES_BY_NIGHT = True


def add_agent(kit: Kit, respond: ReplyFunction, **budget: object) -> ScriptedAgent:
    agent = ScriptedAgent(kit, respond)
    kit.store.run_sync(agents.configure, "ana", {"budget": budget})
    return agent


def list_alerts(agent: ScriptedAgent) -> list[str]:
    return [
        item.event.content
        for item in agent.store.read_sync(inbox.list_page, "admin", type=EventType.ALERT, limit=1_000)
    ]


def spend_hundred(request: ChatRequest, replies: int) -> ModelReply:
    """Call a tool in the first step and end in the second, for 100 tokens each."""
    reply = build_final_reply("Done.") if replies else ModelReply("Looking.", calls=(build_call("get_memories"),))
    return ModelReply(reply.text, reply.calls, Usage(90, 10), "played")


@given(
    st.builds(Budget, tokens=st.none() | st.integers(1, 100), cycles=st.none() | st.integers(1, 100)),
    st.builds(Spending, tokens=st.integers(0, 120), cycles=st.integers(0, 120)),
    st.integers(0, 10 * 365 * DAY),
)
def test_the_rule(budget: Budget, spending: Spending, now: int) -> None:
    start, end = budget.find_period(now)
    assert start <= now < end == start + DAY
    assert start % DAY == 0
    tokens_left = budget.tokens is None or spending.tokens < budget.tokens
    cycles_left = budget.cycles is None or spending.cycles < budget.cycles
    assert budget.is_spent(spending, is_start=True) is not (tokens_left and cycles_left)
    assert budget.is_spent(spending, is_start=False) is not tokens_left


async def test_a_cycle_ends_before_the_request_that_is_over_the_budget(kit: Kit) -> None:
    """Two requests a cycle, a hundred tokens each: the fourth request does not happen."""
    agent = add_agent(kit, spend_hundred, tokens=250, per="hour")
    kit.clock.advance(20 * MINUTE)
    agent.push("first")
    await agent.run_cycle()
    agent.push("second")
    agent.push("third")
    outcome = await agent.run_cycle()
    assert len(agent.model.requests) == 3
    assert outcome == CyclePaused(40 * 60.0), "until the hour ends"
    first, second = kit.store.read_sync(runs.list_page, agent="ana")[::-1]
    assert (first.status, first.limit, first.summary) == (RunStatus.COMPLETED, None, "Done.")
    assert (second.status, second.limit, second.steps) == (RunStatus.COMPLETED, RunLimit.BUDGET, 1)
    assert second.summary.startswith("Looking. (This cycle ended at the budget of 250 tokens an hour")
    resident = kit.store.read_sync(agents.show, "ana")
    assert resident is not None
    assert (resident.paused_at, resident.rest_until) == (None, kit.clock.now() + 40 * MINUTE)
    assert list_alerts(agent) == [
        "'ana' has used up its budget of 250 tokens an hour and rests until 2026-02-18T10:00:00Z"
    ]


async def test_what_comes_meanwhile_waits_and_is_answered_in_the_next_period(kit: Kit) -> None:
    agent = add_agent(kit, reply_done, cycles=2, per="day")
    for number in range(4):
        agent.push(f"question {number}")
        await agent.run_cycle()
    assert agent.list_run_statuses() == [RunStatus.COMPLETED] * 2
    assert [item.state for item in kit.store.read_sync(inbox.list_page, "ana")] == [ItemState.DELIVERED] * 2 + [
        ItemState.PENDING
    ] * 2
    assert len(list_alerts(agent)) == 1, "once a period"
    kit.clock.advance(DAY)
    assert await agent.run_cycles() == 1
    assert set(agent.list_item_states().values()) == {ItemState.DELIVERED}
    for number in range(4, 7):
        agent.push(f"question {number}")
        await agent.run_cycle()
    assert len(list_alerts(agent)) == 2


async def test_a_cycle_that_was_begun_is_not_cut_by_the_number_of_cycles(kit: Kit) -> None:
    agent = add_agent(kit, spend_hundred, cycles=1, per="day")
    agent.push("hello")
    await agent.run_cycle()
    [run] = kit.store.read_sync(runs.list_page, agent="ana")
    assert (run.limit, run.steps, run.summary) == (None, 2, "Done.")


async def test_a_larger_budget_ends_the_rest(kit: Kit) -> None:
    agent = add_agent(kit, reply_done, cycles=1, per="day")
    for number in range(2):
        agent.push(f"question {number}")
        await agent.run_cycle()
    assert agent.list_item_states()["question 1"] is ItemState.PENDING
    kit.store.run_sync(agents.configure, "ana", {"description": "the same budget"})
    assert await agent.run_cycle() is None
    assert agent.list_item_states()["question 1"] is ItemState.PENDING
    kit.store.run_sync(agents.configure, "ana", {"budget": {"cycles": 5}})
    await agent.run_cycle()
    assert agent.list_item_states()["question 1"] is ItemState.DELIVERED


@KIT_OF_BOTH
async def test_who_takes_over_after_a_kill_finds_the_budget_used_up(kit: Kit) -> None:
    """The reply is in the journal and the process is gone: the next one asks nothing, and the agent rests."""
    agent = add_agent(kit, spend_hundred, tokens=100, per="day")
    agent.push("hello")
    run_state = kit.store.run_sync(run_resume.take_run, "ana", "killed")
    assert run_state is not None
    reply = ModelReply("Looking.", (build_call("get_memories"),), Usage(90, 10), "played")
    kit.store.run_sync(run_journal.record_step, run_state.run_lease, 2, reply)
    kit.clock.advance(MINUTE)
    assert isinstance(await agent.run_cycle(), CyclePaused)
    assert agent.model.requests == []
    [run] = kit.store.read_sync(runs.list_page, agent="ana")
    assert (run.limit, run.steps) == (RunLimit.BUDGET, 1)
    agent.push("again")
    assert await agent.run_cycle() is None, "it rests"


async def test_of_a_cycle_over_midnight_only_the_later_requests_count(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        kit.clock.advance(6 * HOUR)
        return spend_hundred(request, 0) if replies < 4 else build_final_reply()

    agent = ScriptedAgent(kit, respond)
    kit.clock.advance(DAY - kit.clock.now() % DAY - 7 * HOUR)  # 17:00; replies at 23:00, 05:00, 11:00, 17:00, 23:00
    agent.push("hello")
    await agent.run_cycle()
    [run] = kit.store.read_sync(runs.list_page, agent="ana")
    assert run.prompt_tokens + run.completion_tokens == 4 * 100 + 12
    number = kit.store.read_sync(agents.show, "ana")
    assert number is not None
    midnight = kit.clock.now() - kit.clock.now() % DAY
    assert kit.store.read_sync(count_spending, number.number, midnight) == Spending(tokens=3 * 100 + 12, cycles=0)
    assert kit.store.read_sync(count_spending, number.number, midnight - DAY) == Spending(tokens=412, cycles=1)


@pytest.mark.parametrize("is_signal_lost", [False, True], ids=["timer", "janitor"])
async def test_a_worker_wakes_it_when_the_period_ends_and_does_not_spin(
    kit: Kit, monkeypatch: pytest.MonkeyPatch, is_signal_lost: bool
) -> None:
    """By the timer of the supervisor, or (`is_signal_lost`) by the janitor of a process that knows of no timer."""
    model_asked = asyncio.Event()

    def respond(request: ChatRequest, replies: int) -> ModelReply:
        model_asked.set()
        return build_final_reply()

    agent = add_agent(kit, respond, cycles=1, per="hour")
    bus = SignalBus()
    waits: list[float] = []
    async with bus.open(), run_worker(agent.deps, bus, WorkerOptions(recheck_interval=3_600)) as worker:
        supervisor = worker.supervisor
        monkeypatch.setattr(supervisor, "_enqueue_later", lambda _, seconds: waits.append(seconds))
        for number in range(3):
            agent.push(f"question {number}")
            supervisor.enqueue("ana")
            await supervisor.wait_until_idle()
        assert len(agent.model.requests) == 1
        assert supervisor.cycle_count == 1
        assert waits == [3_600.0], "one look found the budget used up; the others found it at rest"
        for _ in range(5):
            supervisor.enqueue("ana")
            await supervisor.wait_until_idle()
        assert (len(agent.model.requests), waits) == (1, [3_600.0])
        kit.clock.advance(HOUR)
        model_asked.clear()
        if not is_signal_lost:
            supervisor.enqueue("ana")
            await supervisor.wait_until_idle()
    if is_signal_lost:
        async with (
            bus.open(),
            run_worker(agent.deps, bus, WorkerOptions(recheck_interval=3_600)) as worker,
            asyncio.timeout(LAST_RESORT),
        ):
            await model_asked.wait()  # the janitor's first round signals
            await worker.supervisor.wait_until_idle()
    assert len(agent.model.requests) == 2
    assert set(agent.list_item_states().values()) == {ItemState.DELIVERED}
