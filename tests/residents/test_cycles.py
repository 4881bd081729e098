"""What a resident's cycle does with whatever its model does, on a clock that the test moves."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import pytest

from gatepost.core.signals import Frame, Signal, Topic
from gatepost.inbox.event import ItemState, Priority, Push
from gatepost.inbox.push import actions as push
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import AgentConfig, ConfiguredTool, Execution, LoopRules, MindRules
from gatepost.residents.background.cycle_outcome import CycleFinished, CyclePaused
from gatepost.residents.background.run_replay import replay
from gatepost.residents.mind_compaction import render_summaries, trim_turns, weigh
from gatepost.residents.model_failures import ModelFailed, Trouble
from gatepost.residents.model_port import CallDelta, CallResult, ChatRequest, ModelOutput, ModelReply, Prompt, Usage
from gatepost.residents.runs import (
    actions as runs,
    deferred_call_actions as deferred_calls,
    resume_actions as run_resume,
)
from gatepost.residents.runs.run import RunStatus
from gatepost.spaces import actions as spaces
from gatepost.testing import Kit
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker.background_tasks import WorkerOptions, run_worker
from tests.faults.cycle_process import build_deps
from tests.residents.scripted_agent import (
    CallbackModel,
    ScriptedAgent,
    build_call,
    build_final_reply,
    count_replies,
    reply_done,
)
from tests.support.servers.both_databases import KIT_OF_BOTH

POSTGRES_BY_NIGHT = True

NIGHTLY = bool(os.environ.get("GATEPOST_NIGHTLY"))


async def test_limits_end_a_cycle_with_a_note(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        return ModelReply(calls=(build_call("get_memories"),), usage=Usage(900, 100))

    agent = ScriptedAgent(kit, respond, AgentConfig(loop=LoopRules(max_steps=4, max_tokens=50_000)))
    agent.push("hello")
    assert await agent.run_cycles() == 1
    assert len(agent.model.requests) == 4
    last = kit.store.read_sync(runs.read_mind, "ana").turns[-1]
    assert isinstance(last, Prompt)
    assert "limit of 4 steps" in last.text


async def test_skipping_leaves_nothing_and_only_where_nothing_was_done(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if "do it" not in str(request.turns):
            return ModelReply(calls=(build_call("get_memories"), build_call("skip")))
        match replies:
            case 0:
                return ModelReply(
                    calls=(build_call("set_memories", memories=[{"key": "k", "value": "v"}]), build_call("skip"))
                )
            case _:
                return build_final_reply()

    agent = ScriptedAgent(kit, respond)
    agent.push("hello")
    await agent.run_cycles()
    assert agent.list_run_statuses() == [RunStatus.SKIPPED]
    assert kit.store.read_sync(runs.read_mind, "ana").turns == ()
    agent.push("do it")
    await agent.run_cycles()
    assert agent.list_run_statuses() == [RunStatus.SKIPPED, RunStatus.COMPLETED]
    results = [turn for turn in kit.store.read_sync(runs.read_mind, "ana").turns if isinstance(turn, CallResult)]
    assert [result.ok for result in results] == [True, False]


async def test_a_thousand_cycles_stay_under_the_limit(kit: Kit) -> None:
    count = 1_000 if NIGHTLY else 150 if kit.url.startswith("sqlite") else 30
    rules = MindRules(max_tokens=3_000, min_recent_cycles=5)

    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            text = "x" * (40_000 if len(agent.model.requests) % 50 == 0 else 300)
            return ModelReply(
                calls=(
                    build_call("set_memories", memories=[{"key": "k", "value": text[:16_000]}]),
                    build_call("get_memories"),
                )
            )
        return build_final_reply(
            f"Summary of cycle {len(agent.store.read_sync(runs.list_page, agent='ana', limit=10_000))}."
        )

    agent = ScriptedAgent(kit, respond, AgentConfig(mind=rules))
    for number in range(count):
        agent.push(f"event {number} " + "y" * (number % 7) * 50)
        await agent.run_cycle()
        after = kit.store.read_sync(runs.read_mind, "ana")
        turns = trim_turns(
            [*([summary_turn] if (summary_turn := render_summaries(after.past_cycles)) else ()), *after.turns],
            rules.max_tokens,
        )
        assert sum(map(weigh, turns)) <= rules.max_tokens
    agent_mind = kit.store.read_sync(runs.read_mind, "ana")
    numbers = [int(summary.split()[-1].rstrip(".")) for summary in agent_mind.past_cycles.summaries]
    assert numbers == list(range(agent_mind.past_cycles.dropped_count + 1, numbers[-1] + 1)), (
        "every summary, in order, or counted"
    )
    assert len(numbers) > min(20, count // 8)
    assert agent.list_run_statuses() == [RunStatus.COMPLETED] * count
    for run in kit.store.read_sync(runs.list_page, agent="ana", limit=5):
        assert len(kit.store.read_sync(runs.list_steps, run.id)) == 5, "the audit keeps everything"


async def test_a_replay_shows_the_difference_and_does_nothing(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            return ModelReply(
                calls=(build_call("enter_space", spaceId="room"), build_call("send_message", text="hello there"))
            )
        assert json.loads(request.turns[-1].content)["success"] is True  # type: ignore[union-attr]
        return build_final_reply("Greeted.")

    def respond_differently(request: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            return ModelReply(
                calls=(build_call("enter_space", spaceId="room"), build_call("send_message", text="something else"))
            )
        assert json.loads(request.turns[-1].content)["success"] is False  # type: ignore[union-attr]
        return build_final_reply("Greeted.")

    agent = ScriptedAgent(kit, respond)
    agent.push("earlier")
    await agent.run_cycles()
    agent.push("hi")
    await agent.run_cycles()
    [run, _] = kit.store.read_sync(runs.list_page, agent="ana")
    before = kit.store.read_sync(runs.read_mind, "ana"), agent.list_messages(), agent.list_run_statuses()
    same_replay = await replay(kit.store, run.id, agent.model)
    assert same_replay.is_same
    assert [type(turn) for turn in same_replay.turns] == [Prompt, ModelReply, CallResult, CallResult, ModelReply]
    different_replay = await replay(kit.store, run.id, CallbackModel(respond_differently))
    assert not different_replay.is_same
    assert (kit.store.read_sync(runs.read_mind, "ana"), agent.list_messages(), agent.list_run_statuses()) == before
    assert agent.model.requests[-1].turns[: len(agent.model.requests[2].turns)] == agent.model.requests[2].turns, (
        "as it was then"
    )


async def test_a_message_is_seen_as_it_is_written(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            return ModelReply(
                calls=(build_call("enter_space", spaceId="room"), build_call("send_message", text="word by word"))
            )
        if replies == 1:
            return ModelReply(
                calls=(build_call("enter_space", spaceId="elsewhere"), build_call("send_message", text="not for them"))
            )
        return build_final_reply()

    agent = ScriptedAgent(kit, respond)
    kit.store.run_sync(spaces.create, name="elsewhere", members=["husam"])
    agent.push("hello")
    await agent.run_cycles()
    space_frames = [frame for frame in agent.frames if frame.topic == Topic("space", "room")]
    message_frames = [frame for frame in space_frames if frame.event.startswith("space.message")]
    assert message_frames[0].data["phase"] == "start"
    assert "".join(
        frame.data.get("delta", "") for frame in message_frames if frame.data.get("phase") == "delta"
    ).startswith("word by word")
    [message] = [row for row in kit.store.read_sync(spaces.read, "room") if row.content == "word by word"]
    [last_frame] = [frame for frame in message_frames if frame.data["phase"] == "done"]
    assert last_frame.data["messageId"] == message.id
    assert last_frame.data["streamId"] == message.data["streamId"]
    assert "elsewhere" not in {frame.topic.name for frame in agent.frames}, "they are not to hear of it"
    activity_frames = [frame for frame in agent.frames if frame.event.startswith("agent.")]
    assert [(str(frame.topic), frame.event, frame.data.get("spaceId")) for frame in activity_frames] == [
        ("agent:ana", "agent.active", None),
        ("space:room", "agent.active", "room"),
        ("agent:ana", "agent.inactive", None),
        ("space:room", "agent.inactive", "room"),
    ]


async def test_who_reads_a_space_does_not_see_what_is_waited_for_out_of_their_sight(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        calls = (
            build_call("enter_space", spaceId="room"),
            build_call("shown", env="live"),
            build_call("hidden", env="secret"),
        )
        return build_final_reply() if replies else ModelReply(calls=calls)

    tools = [
        ConfiguredTool(name=name, execution=Execution.EXTERNAL, visible=name == "shown") for name in ("shown", "hidden")
    ]
    agent = ScriptedAgent(kit, respond, AgentConfig(tools=tuple(tools)))
    agent.push("hello")
    await agent.run_cycles()
    frames = [frame for frame in agent.frames if frame.event == "run.waiting_tool"]
    descriptions = [(frame.topic.kind, frame.data["toolName"], frame.data.get("spaceId")) for frame in frames]
    assert descriptions == [("run", "shown", None), ("space", "shown", "room"), ("run", "hidden", None)]


async def test_a_stream_that_comes_to_nothing_says_so(kit: Kit) -> None:
    class BreakingModel(CallbackModel):
        async def respond(self, request: ChatRequest) -> AsyncGenerator[ModelOutput]:
            yield CallDelta("a", "enter_space", '{"spaceId": "room"}')
            yield CallDelta("b", "send_message", '{"text": "half of')
            raise ModelFailed(Trouble.OVERLOAD, "the stream was cut")

    agent = ScriptedAgent(kit, reply_done)
    agent.deps = build_deps(kit.store, BreakingModel(reply_done), agent.frames.extend)
    agent.push("hello")
    assert isinstance(await agent.run_cycle(), CyclePaused)
    events = [(frame.event, frame.data.get("phase")) for frame in agent.frames if frame.topic == Topic("space", "room")]
    assert events == [
        ("agent.active", None),
        ("space.message.streaming", "start"),
        ("space.message.streaming", "delta"),
        ("space.message.failed", None),
        ("agent.inactive", None),
    ]
    assert agent.list_messages() == []


async def test_so_does_one_whose_run_is_stopped(kit: Kit) -> None:
    stream_started = asyncio.Event()

    class HangingModel(CallbackModel):
        async def respond(self, request: ChatRequest) -> AsyncGenerator[ModelOutput]:
            yield CallDelta("a", "enter_space", '{"spaceId": "room"}')
            yield CallDelta("b", "send_message", '{"text": "half of')
            await asyncio.Event().wait()

    def send(frames: Sequence[Frame]) -> None:
        agent.frames.extend(frames)
        if any(frame.data.get("phase") == "delta" for frame in frames):
            stream_started.set()

    agent = ScriptedAgent(kit, reply_done)
    agent.deps = build_deps(kit.store, HangingModel(reply_done), send)
    agent.push("hello")
    cycle_task = asyncio.create_task(agent.run_cycle())
    await stream_started.wait()
    cycle_task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cycle_task
    events = [frame.event for frame in agent.frames if frame.topic == Topic("space", "room")]
    assert events[-2:] == ["space.message.failed", "agent.inactive"]


async def test_an_empty_or_stale_signal_never_calls_the_model(kit: Kit) -> None:
    agent = ScriptedAgent(kit, reply_done)
    bus = SignalBus()
    async with bus.open(), run_worker(agent.deps, bus, WorkerOptions(recheck_interval=3_600)) as worker:
        for cause in ("wake", "wakeup", "janitor", "space_message"):
            bus.dispatch(
                [
                    Signal(Topic("inbox", "ana"), cause),
                    Signal(Topic("inbox", "nobody"), cause),
                    Signal(Topic("inbox", "husam"), cause),
                ]
            )
            await worker.supervisor.wait_until_idle()
        assert agent.model.requests == []
        assert worker.supervisor.cycle_count == 0
        assert worker.supervisor.idle_check_count >= 1
        agent.push("fyi only", Priority.FYI)
        bus.dispatch([Signal(Topic("inbox", "ana"), "event", wakes=False)])
        await worker.supervisor.wait_until_idle()
        assert agent.model.requests == [], "an fyi wakes nobody"
        bus.dispatch([Signal(Topic("inbox", "ana"), "wake")])
        await worker.supervisor.wait_until_idle()
        assert len(agent.model.requests) == 1, "but goes with whatever wakes"
        bus.dispatch([Signal(Topic("inbox", "ana"), "event")])
        await worker.supervisor.wait_until_idle()
        assert len(agent.model.requests) == 1


@KIT_OF_BOTH
async def test_one_whose_cycle_breaks_is_tried_again_at_one_time_only(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it is signalled: else every signal would begin a chain of tries of its own."""
    agent = ScriptedAgent(kit, reply_done)
    agent.push("hello")
    loop, timers = asyncio.get_running_loop(), list[asyncio.TimerHandle]()
    call_later = loop.call_later

    def record_timer(seconds: float, callback: Callable[..., object], *args: Any, **kwargs: Any) -> asyncio.TimerHandle:
        timer = call_later(seconds, callback, *args, **kwargs)
        if getattr(callback, "__self__", None) is supervisor:
            timers.append(timer)
        return timer

    def raise_error(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    bus = SignalBus()
    async with bus.open(), run_worker(agent.deps, bus, WorkerOptions(recheck_interval=3_600)) as worker:
        supervisor = worker.supervisor
        await supervisor.wait_until_idle()
        monkeypatch.setattr("gatepost.residents.background.supervisor._RETRY", 3_600.0)
        monkeypatch.setattr(loop, "call_later", record_timer)
        monkeypatch.setattr(run_resume, "read_readiness", raise_error)
        for _ in range(3):
            supervisor.enqueue("ana")
            await supervisor._idle_event.wait()
        assert [timer.cancelled() for timer in timers] == [True, True, False]


async def test_pausing_resuming_and_cancelling(kit: Kit) -> None:
    model_asked, reply_allowed = asyncio.Event(), asyncio.Event()

    class SlowModel(CallbackModel):
        async def respond(self, request: ChatRequest) -> AsyncGenerator[ModelOutput]:
            self.requests.append(request)
            model_asked.set()
            await reply_allowed.wait()
            yield build_final_reply()

    agent = ScriptedAgent(kit, reply_done)
    slow_model = SlowModel(reply_done)
    bus = SignalBus()
    kit_store = kit.open(signal_sink=bus.on_commit)
    async with (
        bus.open(),
        run_worker(build_deps(kit_store, slow_model), bus, WorkerOptions(recheck_interval=3_600)) as worker,
    ):
        kit_store.run_sync(agents.pause, "ana")
        kit_store.run_sync(push.push_event, Push(to="ana", source="test", content="hello"))
        await worker.supervisor.wait_until_idle()
        assert slow_model.requests == []
        kit_store.run_sync(agents.resume, "ana")
        await model_asked.wait()
        [run] = kit_store.read_sync(runs.list_page, agent="ana")
        kit_store.run_sync(runs.cancel, run.id)
        await worker.supervisor.wait_until_idle()
        assert agent.list_run_statuses() == [RunStatus.CANCELLED]
        assert agent.list_item_states() == {"hello": ItemState.DELIVERED}
        reply_allowed.set()
        kit_store.run_sync(push.push_event, Push(to="ana", source="test", content="again"))
        await worker.supervisor.wait_until_idle()
        assert agent.list_run_statuses() == [RunStatus.CANCELLED, RunStatus.COMPLETED]


@KIT_OF_BOTH
async def test_stopping_hands_a_cycle_over_at_its_last_step(kit: Kit) -> None:
    model_asked = asyncio.Event()

    class StuckModel(CallbackModel):
        async def respond(self, request: ChatRequest) -> AsyncGenerator[ModelOutput]:
            if count_replies(request):
                model_asked.set()
                await asyncio.Event().wait()
            yield ModelReply(calls=(build_call("enter_space", spaceId="room"), build_call("send_message", text="once")))

    agent = ScriptedAgent(kit, reply_done)
    bus = SignalBus()
    async with (
        bus.open(),
        run_worker(build_deps(kit.store, StuckModel(reply_done)), bus, WorkerOptions(recheck_interval=3_600)) as worker,
    ):
        agent.push("hello")
        worker.supervisor.enqueue("ana")
        await model_asked.wait()
    assert agent.list_run_statuses() == [RunStatus.RUNNING]
    assert isinstance(await agent.run_cycle(), CycleFinished), "the lease was given back: the next one goes on at once"
    assert agent.list_messages() == ["once"]
    assert agent.list_run_statuses() == [RunStatus.COMPLETED]


async def test_critical_events_are_taken_in_as_far_as_there_is_room(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            for _ in range(8):
                agent.push("fire " + "x" * 50_000, Priority.CRITICAL)
            return ModelReply(calls=(build_call("get_memories"),))
        return build_final_reply()

    agent = ScriptedAgent(kit, respond, AgentConfig(loop=LoopRules(max_tokens=20_000)))
    agent.push("hello")
    await agent.run_cycle()
    second_prompt = [turn for turn in agent.model.requests[1].turns if isinstance(turn, Prompt)][1]
    assert second_prompt.text.startswith("INBOX (")
    assert weigh(second_prompt) <= 10_000
    assert "cut" in second_prompt.text


async def test_while_poison_is_looked_for_nothing_is_taken_in_beside_it(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if "poison" in str(request.turns[-1]):
            raise ModelFailed(Trouble.CONTENT, "the request was rejected")
        return build_final_reply() if replies else ModelReply(calls=(build_call("peek_inbox", count=5),))

    agent = ScriptedAgent(kit, respond)
    agent.push("innocent")
    agent.push("poison")
    await agent.run_cycles()
    assert agent.list_item_states() == {"innocent": ItemState.DELIVERED, "poison": ItemState.DEAD}


async def test_a_chain_through_a_tool_that_answers_later_grows(kit: Kit) -> None:
    tool = {"name": "later", "executionType": "external"}

    def respond(request: ChatRequest, replies: int) -> ModelReply:
        return build_final_reply() if replies else ModelReply(calls=(build_call("later"),))

    agent = ScriptedAgent(kit, respond)
    kit.store.run_sync(agents.configure, "ana", {"tools": [tool]})
    agent.push("hello")
    for hops in range(3):
        await agent.run_cycle()
        [run, *_] = kit.store.read_sync(runs.list_page, agent="ana")
        assert run.hops == hops
        [call] = kit.store.read_sync(deferred_calls.list_open_calls, run.id)
        kit.store.run_sync(deferred_calls.answer_call, run.id, call.id, {"ok": True})
