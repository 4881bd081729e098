"""What a resident's cycle does with whatever its model does, on a clock that the test moves."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import pytest

from gatepost.actions import agents, push, run_journal, runs, spaces
from gatepost.core.agent import AgentConfig, Execution, LoopRules, MindRules, Tool
from gatepost.core.event import ItemState, Priority, Push
from gatepost.core.frame import Frame
from gatepost.core.mind import CallResult, ModelReply, Prompt, Usage, render_summaries, trim_turns, weigh
from gatepost.core.model import CallDelta, ChatRequest, ModelFailed, ModelOutput, Trouble
from gatepost.core.run import RunStatus
from gatepost.core.signals import Signal
from gatepost.runtime.cycle import CycleFinished, CyclePaused
from gatepost.runtime.replay import replay
from gatepost.runtime.signal_bus import SignalBus
from gatepost.runtime.worker import WorkerOptions, run_worker
from gatepost.testing import Kit
from tests.faults.thinker import means
from tests.rooms import Played, Room, done, quiet, replies_of, use

NIGHTLY = bool(os.environ.get("GATEPOST_NIGHTLY"))


async def test_limits_end_a_cycle_with_a_note(kit: Kit) -> None:
    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        return ModelReply(calls=(use("get_memories"),), usage=Usage(900, 100))

    room = Room(kit, mind, AgentConfig(loop=LoopRules(max_steps=4, max_tokens=50_000)))
    room.push("hello")
    assert await room.cycles() == 1
    assert len(room.model.asked) == 4
    last = kit.store.query(runs.read_mind, "ana").turns[-1]
    assert isinstance(last, Prompt)
    assert "limit of 4 steps" in last.text


async def test_skipping_leaves_nothing_and_only_where_nothing_was_done(kit: Kit) -> None:
    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        if "do it" not in str(ask.turns):
            return ModelReply(calls=(use("get_memories"), use("skip")))
        match replies:
            case 0:
                return ModelReply(calls=(use("set_memories", memories=[{"key": "k", "value": "v"}]), use("skip")))
            case _:
                return done()

    room = Room(kit, mind)
    room.push("hello")
    await room.cycles()
    assert room.runs() == [RunStatus.SKIPPED]
    assert kit.store.query(runs.read_mind, "ana").turns == ()
    room.push("do it")
    await room.cycles()
    assert room.runs() == [RunStatus.SKIPPED, RunStatus.COMPLETED]
    results = [turn for turn in kit.store.query(runs.read_mind, "ana").turns if isinstance(turn, CallResult)]
    assert [result.ok for result in results] == [True, False]


async def test_a_thousand_cycles_stay_under_the_limit(kit: Kit) -> None:
    count = 1_000 if NIGHTLY else 150 if kit.url.startswith("sqlite") else 30
    rules = MindRules(max_tokens=3_000, min_recent_cycles=5)

    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            text = "x" * (40_000 if len(room.model.asked) % 50 == 0 else 300)
            return ModelReply(
                calls=(use("set_memories", memories=[{"key": "k", "value": text[:16_000]}]), use("get_memories"))
            )
        return done(f"Summary of cycle {len(room.store.query(runs.page, agent='ana', limit=10_000))}.")

    room = Room(kit, mind, AgentConfig(mind=rules))
    for number in range(count):
        room.push(f"event {number} " + "y" * (number % 7) * 50)
        await room.cycle()
        after = kit.store.query(runs.read_mind, "ana")
        shown = trim_turns(
            [*([carried] if (carried := render_summaries(after.past_cycles)) else ()), *after.turns], rules.max_tokens
        )
        assert sum(map(weigh, shown)) <= rules.max_tokens
    found = kit.store.query(runs.read_mind, "ana")
    numbers = [int(summary.split()[-1].rstrip(".")) for summary in found.past_cycles.summaries]
    assert numbers == list(range(found.past_cycles.dropped_count + 1, numbers[-1] + 1)), (
        "every summary, in order, or counted"
    )
    assert len(numbers) > min(20, count // 8)
    assert room.runs() == [RunStatus.COMPLETED] * count
    for run in kit.store.query(runs.page, agent="ana", limit=5):
        assert len(kit.store.query(runs.list_steps, run.id)) == 5, "the audit keeps everything"


async def test_a_replay_shows_the_difference_and_does_nothing(kit: Kit) -> None:
    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            return ModelReply(calls=(use("enter_space", spaceId="room"), use("send_message", text="hello there")))
        assert json.loads(ask.turns[-1].content)["success"] is True  # type: ignore[union-attr]
        return done("Greeted.")

    def other(ask: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            return ModelReply(calls=(use("enter_space", spaceId="room"), use("send_message", text="something else")))
        assert json.loads(ask.turns[-1].content)["success"] is False  # type: ignore[union-attr]
        return done("Greeted.")

    room = Room(kit, mind)
    room.push("earlier")
    await room.cycles()
    room.push("hi")
    await room.cycles()
    [run, _] = kit.store.query(runs.page, agent="ana")
    before = kit.store.query(runs.read_mind, "ana"), room.said(), room.runs()
    same = await replay(kit.store, run.id, room.model)
    assert same.is_same
    assert [type(turn) for turn in same.turns] == [Prompt, ModelReply, CallResult, CallResult, ModelReply]
    different = await replay(kit.store, run.id, Played(other))
    assert not different.is_same
    assert (kit.store.query(runs.read_mind, "ana"), room.said(), room.runs()) == before
    assert room.model.asked[-1].turns[: len(room.model.asked[2].turns)] == room.model.asked[2].turns, "as it was then"


async def test_a_message_is_seen_as_it_is_written(kit: Kit) -> None:
    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            return ModelReply(calls=(use("enter_space", spaceId="room"), use("send_message", text="word by word")))
        if replies == 1:
            return ModelReply(calls=(use("enter_space", spaceId="elsewhere"), use("send_message", text="not for them")))
        return done()

    room = Room(kit, mind)
    kit.store.call(spaces.create, name="elsewhere", members=["husam"])
    room.push("hello")
    await room.cycles()
    seen = [frame for frame in room.frames if frame.topic == "space:room"]
    streamed = [frame for frame in seen if frame.event.startswith("space.message")]
    assert streamed[0].data["phase"] == "start"
    assert "".join(frame.data.get("delta", "") for frame in streamed if frame.data.get("phase") == "delta").startswith(
        "word by word"
    )
    [stored] = [one for one in kit.store.query(spaces.read, "room") if one.content == "word by word"]
    [finished] = [frame for frame in streamed if frame.data["phase"] == "done"]
    assert finished.data["messageId"] == stored.id
    assert finished.data["streamId"] == stored.data["streamId"]
    assert not [frame for frame in room.frames if frame.topic == "space:elsewhere"], "they are not to hear of it"
    active = [frame.event for frame in room.frames if frame.topic == "space:room" and frame.event.startswith("agent.")]
    assert active == ["agent.active", "agent.inactive"]


async def test_who_reads_a_space_does_not_see_what_is_waited_for_out_of_their_sight(kit: Kit) -> None:
    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        calls = (use("enter_space", spaceId="room"), use("shown", env="live"), use("hidden", env="secret"))
        return done() if replies else ModelReply(calls=calls)

    tools = [Tool(name=name, execution=Execution.EXTERNAL, visible=name == "shown") for name in ("shown", "hidden")]
    room = Room(kit, mind, AgentConfig(tools=tuple(tools)))
    room.push("hello")
    await room.cycles()
    waited = [frame for frame in room.frames if frame.event == "run.waiting_tool"]
    assert [one.data["toolName"] for one in waited if one.topic == "space:room"] == ["shown"]
    assert [one.data["toolName"] for one in waited if one.topic.startswith("run:")] == ["shown", "hidden"]


async def test_a_stream_that_comes_to_nothing_says_so(kit: Kit) -> None:
    class Breaking(Played):
        async def respond(self, ask: ChatRequest) -> AsyncGenerator[ModelOutput]:
            yield CallDelta("a", "enter_space", '{"spaceId": "room"}')
            yield CallDelta("b", "send_message", '{"text": "half of')
            raise ModelFailed(Trouble.OVERLOAD, "the stream was cut")

    room = Room(kit, quiet)
    room.means = means(kit.store, Breaking(quiet), room.frames.extend)
    room.push("hello")
    assert isinstance(await room.cycle(), CyclePaused)
    events = [(frame.event, frame.data.get("phase")) for frame in room.frames if frame.topic == "space:room"]
    assert events == [
        ("agent.active", None),
        ("space.message.streaming", "start"),
        ("space.message.streaming", "delta"),
        ("space.message.failed", None),
        ("agent.inactive", None),
    ]
    assert room.said() == []


async def test_so_does_one_whose_run_is_stopped(kit: Kit) -> None:
    shown = asyncio.Event()

    class Hanging(Played):
        async def respond(self, ask: ChatRequest) -> AsyncGenerator[ModelOutput]:
            yield CallDelta("a", "enter_space", '{"spaceId": "room"}')
            yield CallDelta("b", "send_message", '{"text": "half of')
            await asyncio.Event().wait()

    def send(frames: Sequence[Frame]) -> None:
        room.frames.extend(frames)
        if any(frame.data.get("phase") == "delta" for frame in frames):
            shown.set()

    room = Room(kit, quiet)
    room.means = means(kit.store, Hanging(quiet), send)
    room.push("hello")
    thinking = asyncio.create_task(room.cycle())
    await shown.wait()
    thinking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await thinking
    events = [frame.event for frame in room.frames if frame.topic == "space:room"]
    assert events[-2:] == ["space.message.failed", "agent.inactive"]


async def test_an_empty_or_stale_ring_never_calls_the_model(kit: Kit) -> None:
    room = Room(kit, quiet)
    exchange = SignalBus()
    async with exchange.open(), run_worker(room.means, exchange, WorkerOptions(janitor_interval=3_600)) as household:
        for cause in ("wake", "wakeup", "janitor", "space_message"):
            exchange.dispatch([Signal("ana", cause), Signal("nobody", cause), Signal("husam", cause)])
            await household.supervisor.wait_until_idle()
        assert room.model.asked == []
        assert household.supervisor.cycle_count == 0
        assert household.supervisor.idle_check_count >= 1
        room.push("fyi only", Priority.FYI)
        exchange.dispatch([Signal("ana", "event", wakes=False)])
        await household.supervisor.wait_until_idle()
        assert room.model.asked == [], "an fyi wakes nobody"
        exchange.dispatch([Signal("ana", "wake")])
        await household.supervisor.wait_until_idle()
        assert len(room.model.asked) == 1, "but goes with whatever wakes"
        exchange.dispatch([Signal("ana", "event")])
        await household.supervisor.wait_until_idle()
        assert len(room.model.asked) == 1


async def test_one_whose_cycle_breaks_is_tried_again_at_one_time_only(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it rings: else every ring would begin a chain of tries of its own."""
    room = Room(kit, quiet)
    room.push("hello")
    loop, timers = asyncio.get_running_loop(), list[asyncio.TimerHandle]()
    call_later = loop.call_later

    def watched(seconds: float, callback: Callable[..., object], *args: Any, **kwargs: Any) -> asyncio.TimerHandle:
        timer = call_later(seconds, callback, *args, **kwargs)
        if getattr(callback, "__self__", None) is supervisor:
            timers.append(timer)
        return timer

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    exchange = SignalBus()
    async with exchange.open(), run_worker(room.means, exchange, WorkerOptions(janitor_interval=3_600)) as household:
        supervisor = household.supervisor
        await supervisor.wait_until_idle()
        monkeypatch.setattr("gatepost.runtime.supervisor._RETRY", 3_600.0)
        monkeypatch.setattr(loop, "call_later", watched)
        monkeypatch.setattr(run_journal, "read_readiness", broken)
        for _ in range(3):
            supervisor.enqueue("ana")
            await supervisor._idle_event.wait()
        assert [timer.cancelled() for timer in timers] == [True, True, False]


async def test_pausing_resuming_and_cancelling(kit: Kit) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    class Slow(Played):
        async def respond(self, ask: ChatRequest) -> AsyncGenerator[ModelOutput]:
            self.asked.append(ask)
            begun.set()
            await go.wait()
            yield done()

    room = Room(kit, quiet)
    slow = Slow(quiet)
    exchange = SignalBus()
    kit_store = kit.open(signal_sink=exchange.on_commit)
    async with (
        exchange.open(),
        run_worker(means(kit_store, slow), exchange, WorkerOptions(janitor_interval=3_600)) as household,
    ):
        kit_store.call(agents.pause, "ana")
        kit_store.call(push.push_event, Push(to="ana", source="test", content="hello"))
        await household.supervisor.wait_until_idle()
        assert slow.asked == []
        kit_store.call(agents.resume, "ana")
        await begun.wait()
        [run] = kit_store.query(runs.page, agent="ana")
        kit_store.call(runs.cancel, run.id)
        await household.supervisor.wait_until_idle()
        assert room.runs() == [RunStatus.CANCELLED]
        assert room.states() == {"hello": ItemState.DELIVERED}
        go.set()
        kit_store.call(push.push_event, Push(to="ana", source="test", content="again"))
        await household.supervisor.wait_until_idle()
        assert room.runs() == [RunStatus.CANCELLED, RunStatus.COMPLETED]


async def test_stopping_hands_a_cycle_over_at_its_last_step(kit: Kit) -> None:
    begun = asyncio.Event()

    class Stuck(Played):
        async def respond(self, ask: ChatRequest) -> AsyncGenerator[ModelOutput]:
            if replies_of(ask):
                begun.set()
                await asyncio.Event().wait()
            yield ModelReply(calls=(use("enter_space", spaceId="room"), use("send_message", text="once")))

    room = Room(kit, quiet)
    exchange = SignalBus()
    async with (
        exchange.open(),
        run_worker(means(kit.store, Stuck(quiet)), exchange, WorkerOptions(janitor_interval=3_600)) as household,
    ):
        room.push("hello")
        household.supervisor.enqueue("ana")
        await begun.wait()
    assert room.runs() == [RunStatus.RUNNING]
    assert isinstance(await room.cycle(), CycleFinished), "the lease was given back: the next one goes on at once"
    assert room.said() == ["once"]
    assert room.runs() == [RunStatus.COMPLETED]


async def test_critical_events_are_taken_in_as_far_as_there_is_room(kit: Kit) -> None:
    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            for _ in range(8):
                room.push("fire " + "x" * 50_000, Priority.CRITICAL)
            return ModelReply(calls=(use("get_memories"),))
        return done()

    room = Room(kit, mind, AgentConfig(loop=LoopRules(max_tokens=20_000)))
    room.push("hello")
    await room.cycle()
    taken = [turn for turn in room.model.asked[1].turns if isinstance(turn, Prompt)][1]
    assert taken.text.startswith("INBOX (")
    assert weigh(taken) <= 10_000
    assert "cut" in taken.text


async def test_while_poison_is_looked_for_nothing_is_taken_in_beside_it(kit: Kit) -> None:
    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        if "poison" in str(ask.turns[-1]):
            raise ModelFailed(Trouble.CONTENT, "the request was rejected")
        return done() if replies else ModelReply(calls=(use("peek_inbox", count=5),))

    room = Room(kit, mind)
    room.push("innocent")
    room.push("poison")
    await room.cycles()
    assert room.states() == {"innocent": ItemState.DELIVERED, "poison": ItemState.DEAD}


async def test_a_chain_through_a_tool_that_answers_later_grows(kit: Kit) -> None:
    tool = {"name": "later", "executionType": "external"}

    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        return done() if replies else ModelReply(calls=(use("later"),))

    room = Room(kit, mind)
    kit.store.call(agents.configure, "ana", {"tools": [tool]})
    room.push("hello")
    for hops in range(3):
        await room.cycle()
        [run, *_] = kit.store.query(runs.page, agent="ana")
        assert run.hops == hops
        [call] = kit.store.query(runs.list_open_calls, run.id)
        kit.store.call(runs.answer_call, run.id, call.id, {"ok": True})
