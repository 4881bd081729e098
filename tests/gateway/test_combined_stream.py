"""The combined stream without names: all that the page of a person needs."""

from collections.abc import AsyncIterator, Sequence

import pytest

from gatepost.channels import chat_handlers as chat
from gatepost.channels.chat_api import SendChat
from gatepost.channels.triggers import actions as triggers, cron_fire_actions as schedules
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.rows import set_next_at
from gatepost.channels.triggers.trigger import TriggerConfig, TriggerSchedule
from gatepost.core.signals import Frame, Topic
from gatepost.core.times import SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gates import decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import AnswerSpec, Option, Question
from gatepost.gates.gate import GateSpec
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.plans import actions as plans
from gatepost.spaces import actions as spaces
from tests.plans.plan_specs import parse_spec
from tests.support.gateways.local_gateways import Gateway, StreamFrame, StreamListener, create_entities, open_gateway
from tests.support.servers.both_databases import URL_OF_BOTH

POSTGRES_BY_NIGHT = True

STREAM = "/api/stream"


@pytest.fixture
async def empty_gateway(url: str) -> AsyncIterator[Gateway]:
    async with open_gateway(url) as gateway:
        yield gateway


@pytest.fixture
async def gateway(empty_gateway: Gateway) -> Gateway:
    create_entities(empty_gateway.store)
    return empty_gateway


async def read_until(stream: StreamListener, event: str, count: int = 1) -> list[StreamFrame]:
    """Return what comes up to an event of that name, or to the last of several."""
    frames: list[StreamFrame] = []
    async for frame in stream:
        frames.append(frame)
        if [other.event for other in frames].count(event) == count:
            return frames
    raise AssertionError(f"the stream ended without {event!r}: {frames}")


def list_events(frames: Sequence[StreamFrame]) -> list[str]:
    return [frame.event for frame in frames]


def ask(gateway: Gateway, respondent: str) -> str:
    question = Question(question="Ship it?", options=(Option(id="yes", label="Yes"),), respondents=(respondent,))
    return gateway.store.run_sync(decisions.ask, question, by="analyst").id


async def test_an_administrator_without_any_space_watches_what_comes(empty_gateway: Gateway) -> None:
    async with await empty_gateway.open_stream(STREAM) as stream:
        assert stream.status == 200
        [connected] = await read_until(stream, "connected")
        assert connected.data["parts"] == [
            "agents:",
            "fires:",
            "gates:",
            "inbox:admin",
            "shared:[null, null, null, null]",
        ]
        empty_gateway.store.run_sync(push.push_event, Push(to="admin", source="test", content="for you"))
        frame = (await read_until(stream, "inbox.item"))[-1]
        assert frame.data["content"] == "for you"
        create_entities(empty_gateway.store)
        ended = (await read_until(stream, "ended"))[-1]
        assert ended.data["reason"] == "the spaces have changed"
    async with await empty_gateway.open_stream(STREAM, last_event_id=ended.data["resumeFrom"]) as stream:
        [connected] = await read_until(stream, "connected")
        assert "space:q4-report" in connected.data["parts"]


async def test_the_administrator_sees_gates_and_decisions_of_all_once(gateway: Gateway) -> None:
    async with await gateway.open_stream(STREAM) as stream:
        await read_until(stream, "connected")
        decision = ask(gateway, "husam")
        own_decision = ask(gateway, "admin")
        gateway.store.run_sync(decisions.answer, decision, AnswerSpec(option="yes"), by="husam")
        gateway.store.run_sync(gates.add, GateSpec(name="Sign-off", owner="analyst"), by="analyst")
        frames = await read_until(stream, "gate.opened")
        while not any(frame.data.get("name") == "Sign-off" for frame in frames):
            frames += await read_until(stream, "gate.opened")
    asked = [frame.data["id"] for frame in frames if frame.event == "decision.asked"]
    assert asked == [decision, own_decision], "its own comes once, though it is in its inbox, too"
    assert [frame.data["id"] for frame in frames if frame.event == "decision.answered"] == [decision]
    assert all(frame.id is None for frame in frames if frame.event.startswith(("gate.", "decision.")))


async def test_the_administrator_sees_which_agents_think(gateway: Gateway) -> None:
    async with await gateway.open_stream(STREAM) as stream:
        await read_until(stream, "connected")
        gateway.app_state.signal_bus.send([Frame(Topic("agent", "designer"), "agent.active", {"agent": "designer"})])
        assert (await read_until(stream, "agent.active"))[-1].data == {"agent": "designer"}


async def test_the_administrator_sees_plans_and_triggers_fire(gateway: Gateway) -> None:
    store = gateway.store
    async with await gateway.open_stream(STREAM) as stream:
        await read_until(stream, "connected")
        plan = store.run_sync(plans.set_plan, "designer", parse_spec({"name": "now", "runAfter": "1 hour"}))
        assert (await read_until(stream, "plan.set"))[-1].data == {"id": plan.id}
        store.run_sync(plans.set_plan, None, parse_spec({"id": plan.id, "scheduledAt": "2026-01-01T00:00:00Z"}))
        await store.run(plans.fire)
        assert (await read_until(stream, "plan.fired"))[-1].data == {"owner": "designer", "id": plan.id}
        config = TriggerConfig(schedule=TriggerSchedule(every=10 * SECOND))
        spec = TriggerSpec(name="pulse", provider="cron", target="designer", config=config)
        trigger = store.run_sync(triggers.add, spec)
        assert (await read_until(stream, "trigger.added"))[-1].data == {"name": "pulse"}
        store.run_sync(set_next_at, trigger.number, 1)
        assert await store.run(schedules.fire, trigger.number)
        assert (await read_until(stream, "trigger.fired"))[-1].data == {"name": "pulse"}


async def test_the_stream_of_an_agent_has_its_activity(gateway: Gateway) -> None:
    key = gateway.create_key("agent", "designer")
    async with await gateway.open_stream("/api/agents/designer/stream", x_secret_key=key) as stream:
        [connected] = await read_until(stream, "connected")
        assert connected.data["parts"] == ["agent:designer", "inbox:designer"]
        for name in ("analyst", "designer"):
            gateway.app_state.signal_bus.send([Frame(Topic("agent", name), "agent.active", {"agent": name})])
        assert [frame.data for frame in await read_until(stream, "agent.active")] == [{"agent": "designer"}]


@URL_OF_BOTH
async def test_a_person_sees_only_what_concerns_them(gateway: Gateway) -> None:
    gateway.store.run_sync(directory.register, EntitySpec(name="rosa", kind=EntityKind.HUMAN))
    gateway.store.run_sync(spaces.create, name="Private", members=["rosa", "designer"])
    key = gateway.create_key("agent", "husam")
    async with await gateway.open_stream(STREAM, x_secret_key=key) as stream:
        [connected] = await read_until(stream, "connected")
        assert connected.data["parts"] == [
            "inbox:husam",
            'shared:["husam", null, null, null]',
            "space:q4-report",
        ]
        ask(gateway, "rosa")
        gateway.store.run_sync(spaces.post, "private", sender="rosa", content="not for husam")
        gateway.store.run_sync(chat.send, SendChat(content="not for husam either", to="designer"), sender="rosa")
        gateway.store.run_sync(push.push_event, Push(to="admin", source="test", content="nor this"))
        gateway.app_state.signal_bus.send([Frame(Topic("agent", "designer"), "agent.active", {"agent": "designer"})])
        gateway.store.run_sync(chat.send, SendChat(content="mine", to="analyst"), sender="husam")
        ask(gateway, "husam")
        frames = await read_until(stream, "decision.asked")
        frames += [] if "shared.entry" in list_events(frames) else await read_until(stream, "shared.entry")
    assert "not for husam" not in repr(frames)
    assert "agent.active" not in list_events(frames)
    assert list_events(frames).count("decision.asked") == 1
    assert "mine" in [frame.data["content"] for frame in frames if frame.event == "shared.entry"]


@URL_OF_BOTH
async def test_in_a_new_space_a_reader_sees_its_own_first_words(gateway: Gateway) -> None:
    """It was open when the space was made; what the reader writes counts as read, and is streamed all the same."""
    key = gateway.create_key("agent", "husam")
    gateway.store.run_sync(spaces.create, name="Old", members=["analyst"])
    gateway.store.run_sync(spaces.post, "old", sender="analyst", content="before husam came")
    async with await gateway.open_stream(STREAM, x_secret_key=key) as stream:
        await read_until(stream, "connected")
        async with gateway.open_client(x_secret_key=key) as husam:
            gateway.store.run_sync(spaces.create, name="New", members=["husam", "analyst"])
            gateway.store.run_sync(spaces.join, "old", "husam")
            for space in ("new", "old"):
                for content in ("first", "second"):
                    response = await husam.post(f"/api/spaces/{space}/messages", json={"content": content})
                    assert response.status_code == 201
        frames = await read_until(stream, "ended")
    cursor = frames[-1].data["resumeFrom"]
    async with await gateway.open_stream(STREAM, x_secret_key=key, last_event_id=cursor) as stream:
        frames = await read_until(stream, "space.message", 4)
    messages = [(frame.data["space"], frame.data["content"]) for frame in frames if frame.event == "space.message"]
    assert sorted(messages) == [("new", "first"), ("new", "second"), ("old", "first"), ("old", "second")]


async def test_a_forged_position_of_frames_does_nothing(gateway: Gateway) -> None:
    """`{"agents:": "5", "gates:": "x"}`: frames have no positions."""
    cursor = "eyJhZ2VudHM6IjogIjUiLCAiZ2F0ZXM6IjogIngifQ=="
    async with (
        await gateway.open_stream(STREAM, last_event_id=cursor) as stream,
        await gateway.open_stream(STREAM) as second_stream,
    ):
        for reader in (stream, second_stream):
            await read_until(reader, "connected")
        gateway.app_state.signal_bus.send([Frame(Topic("agent", "designer"), "agent.active", {})])
        for reader in (stream, second_stream):
            await read_until(reader, "agent.active")


async def test_of_many_spaces_the_newest_are_followed(empty_gateway: Gateway) -> None:
    """And the id of the last entry, which has a position of each, can be sent back."""
    store = empty_gateway.store
    for number in range(201):
        store.run_sync(spaces.create, name=f"space {number}", members=["admin"])
    store.run_sync(spaces.archive, "space-200")
    async with await empty_gateway.open_stream(STREAM) as stream:
        [connected] = await read_until(stream, "connected")
        followed = {part for part in connected.data["parts"] if part.startswith("space:")}
        assert followed == {f"space:space-{number}" for number in range(200)}, "archived ones come last"
        store.run_sync(spaces.post, "space-199", sender="admin", content="hello")
        frame = (await read_until(stream, "space.message"))[-1]
    store.run_sync(spaces.post, "space-199", sender="admin", content="again")
    async with await empty_gateway.open_stream(STREAM, last_event_id=frame.id) as stream:
        assert (await read_until(stream, "space.message"))[-1].data["content"] == "again"
