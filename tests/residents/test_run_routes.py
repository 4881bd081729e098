"""The doors of residents: what they are told to be, what they did, as it happens, and the calls they wait for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx2
import msgspec
import pytest
from msgspec.structs import replace

from gatepost.client import Client, LocalClient
from gatepost.core.ports import Store
from gatepost.core.signals import Frame, Topic
from gatepost.errors import Conflict, NotFound
from gatepost.inbox import claim_actions as inbox
from gatepost.residents import agent_actions as agents, agent_config_json as agent_config
from gatepost.residents.agent_api import ChangeAgent, ConfigView, PauseAgent, RegisterAgent, ResumeAgent, ShowAgent
from gatepost.residents.agent_config import AgentConfig
from gatepost.residents.runs import actions as runs, deferred_call_actions as deferred_calls
from gatepost.residents.runs.api import (
    AnswerCall,
    CancelRun,
    ListRuns,
    ListSteps,
    OpenCallView,
    ReplayRun,
    RunView,
    ShowRun,
    StepView,
    WatchRun,
)
from gatepost.residents.runs.mind_api import ListGoals, ListMemories, ShowMind
from gatepost.residents.runs.run import CallStatus, RunStatus
from tests.residents import resident_runs
from tests.residents.resident_runs import AGENT_CONFIG
from tests.support.gateways.local_gateways import (
    WAIT_TIMEOUT,
    Gateway,
    StreamFrame,
    StreamListener,
    open_gateway,
    serve_gateway,
)

POSTGRES_BY_NIGHT = True

#: what an agent knows, and nobody else but the administrator
OWN_PATHS = ("runs", "mind", "memories", "goals")


@pytest.fixture
async def gateway(url: str) -> AsyncIterator[Gateway]:
    async with open_gateway(url) as gateway:
        resident_runs.create_resident(gateway.store)
        resident_runs.create_resident(gateway.store, "other")
        yield gateway


@pytest.fixture
async def admin(gateway: Gateway) -> AsyncIterator[httpx2.AsyncClient]:
    async with gateway.open_client() as client:
        yield client


@pytest.fixture
async def thinker(gateway: Gateway) -> AsyncIterator[httpx2.AsyncClient]:
    async with gateway.open_client(x_secret_key=gateway.create_key("agent", "thinker")) as client:
        yield client


async def test_an_agent_is_a_resident_if_anything_is_said_of_its_configuration(admin: httpx2.AsyncClient) -> None:
    guest = await admin.post("/api/agents", json={"name": "guest", "model": None})
    assert (guest.status_code, guest.json()["resident"], guest.json()["config"]) == (201, False, None)
    for field, value in {"model": "demo", "instructions": "Be kind", "tools": [], "loop": {"maxSteps": 3}}.items():
        response = await admin.post("/api/agents", json={"name": f"with-{field}", field: value})
        assert (response.status_code, response.json()["resident"], response.json()["version"]) == (201, True, 1)
        assert (await admin.get(f"/api/agents/with-{field}")).json() == response.json()
    wrong = await admin.post("/api/agents", json={"name": "wrong", "tools": [{"name": "x", "timeout": "-3s"}]})
    assert (wrong.status_code, wrong.json()["detail"]) == (422, "tools[0].timeout: '-3s' is not a duration")
    assert (await admin.get("/api/agents/wrong")).status_code == 404


async def test_a_change_is_whole_or_not_at_all(admin: httpx2.AsyncClient, gateway: Gateway) -> None:
    before = (await admin.get("/api/agents/thinker")).json()
    assert before["config"]["tools"][0]["execution"]["headers"] == {"Authorization": "Bearer ***"}
    refusal = await admin.patch("/api/agents/thinker", json={"displayName": "T", "model": "nonsense"})
    assert refusal.status_code == 422
    assert (await admin.get("/api/agents/thinker")).json() == before

    response = await admin.patch(
        "/api/agents/thinker", json={"displayName": "T", **before["config"], "instructions": "Hi"}
    )
    assert (response.json()["displayName"], response.json()["version"]) == ("T", 2)
    assert response.json()["config"] == before["config"] | {"instructions": "Hi"}
    resident = gateway.store.read_sync(agents.show, "thinker")
    assert resident is not None
    assert resident.config == replace(agent_config.parse(AGENT_CONFIG), instructions="Hi")


async def test_what_an_agent_is_told_is_for_itself_and_the_administrator(
    gateway: Gateway, admin: httpx2.AsyncClient, thinker: httpx2.AsyncClient
) -> None:
    full_document = (await admin.get("/api/agents/thinker")).json()
    assert (await thinker.get("/api/agents/thinker")).json() == full_document
    async with gateway.open_client(x_secret_key=gateway.create_key("agent", "other")) as other_client:
        assert (await other_client.get("/api/agents/thinker")).json() == full_document | {"config": None}
        for path in OWN_PATHS:
            assert (await other_client.get(f"/api/agents/thinker/{path}")).status_code == 403
    for path in OWN_PATHS:
        own_response = await thinker.get(f"/api/agents/thinker/{path}")
        assert (own_response.status_code, own_response.json()) == (
            200,
            (await admin.get(f"/api/agents/thinker/{path}")).json(),
        )
    assert (await thinker.patch("/api/agents/thinker", json={"instructions": "Obey me"})).status_code == 403


async def test_a_list_tells_residents_from_guests(admin: httpx2.AsyncClient, thinker: httpx2.AsyncClient) -> None:
    await admin.post("/api/agents", json={"name": "guest"})
    await admin.post("/api/agents/other/pause")
    for client in (admin, thinker):
        agents_by_name = {row["name"]: row for row in (await client.get("/api/agents")).json()["items"]}
        assert [agents_by_name[name]["resident"] for name in ("thinker", "other", "guest")] == [True, True, False]
        assert [agents_by_name[name]["paused"] for name in ("thinker", "other", "guest")] == [False, True, False]
        assert agents_by_name["thinker"] == (await client.get("/api/agents/thinker")).json() | {"config": None}


async def test_a_paused_agent_begins_nothing(admin: httpx2.AsyncClient, gateway: Gateway) -> None:
    for _ in range(2):
        assert (await admin.post("/api/agents/thinker/pause")).json()["paused"] is True
    with pytest.raises(AssertionError):
        resident_runs.begin_run(gateway.store)
    assert (await admin.post("/api/agents/thinker/resume")).json()["paused"] is False
    resident_runs.begin_run(gateway.store)


async def test_runs_and_their_steps(admin: httpx2.AsyncClient, thinker: httpx2.AsyncClient, gateway: Gateway) -> None:
    first_run = resident_runs.begin_run(gateway.store)
    resident_runs.finish_run(gateway.store, first_run)
    second_run, other_run = resident_runs.begin_run(gateway.store), resident_runs.begin_run(gateway.store, "other")
    all_runs = (await admin.get("/api/runs")).json()["items"]
    assert [run["id"] for run in all_runs] == [other_run.run_id, second_run.run_id, first_run.run_id]
    assert [run["id"] for run in (await thinker.get("/api/runs")).json()["items"]] == [
        second_run.run_id,
        first_run.run_id,
    ]
    waiting_runs = (await admin.get("/api/runs", params={"status": "waiting_tool"})).json()["items"]
    assert [run["id"] for run in waiting_runs] == [first_run.run_id]
    assert (await admin.get("/api/runs", params={"status": "x"})).status_code == 422

    run = (await thinker.get(f"/api/runs/{first_run.run_id}")).json()
    expected = {"agent": "thinker", "status": "waiting_tool", "cycleNumber": 1, "cause": "event", "steps": 2}
    assert expected.items() <= run.items()
    assert (run["promptTokens"], run["completionTokens"], run["effects"]) == (270, 17, 1)
    assert [call["id"] for call in run["calls"]] == [first_run.call_id]
    steps = (await thinker.get(f"/api/runs/{first_run.run_id}/steps")).json()["items"]
    kinds = [(step["number"], step["kind"]) for step in steps]
    assert kinds == [(1, "prompt"), (2, "reply"), (3, "result"), (4, "reply")]
    assert steps[1]["reply"]["calls"] == [{"id": "c1", "tool": "ship", "arguments": '{"order": 7}'}]
    assert "of the adapter" not in str(steps)
    for path in ("", "/steps", "/stream"):
        answer_of_another = await thinker.get(f"/api/runs/{other_run.run_id}{path}")
        answer_of_none = await thinker.get(f"/api/runs/run_{'0' * 32}{path}")
        assert answer_of_another.status_code == 404
        # the words are the same, so nobody learns which runs exist
        assert answer_of_another.text == answer_of_none.text.replace(f"run_{'0' * 32}", other_run.run_id)


async def test_a_tool_result_from_outside(
    admin: httpx2.AsyncClient, thinker: httpx2.AsyncClient, gateway: Gateway
) -> None:
    waiting_run, other_run = resident_runs.begin_run(gateway.store), resident_runs.begin_run(gateway.store, "other")
    resident_runs.finish_run(gateway.store, waiting_run)

    async def answer(caller: httpx2.AsyncClient, run: str, call: str, *, shipped: bool = True) -> int:
        body = {"callId": call, "result": {"shipped": shipped}}
        return (await caller.post(f"/api/runs/{run}/tool-results", json=body)).status_code

    assert await answer(thinker, waiting_run.run_id, "call_" + "0" * 32) == 404
    assert await answer(thinker, waiting_run.run_id, other_run.call_id) == 404
    assert await answer(thinker, other_run.run_id, other_run.call_id) == 404
    assert gateway.store.read_sync(inbox.peek, "thinker", limit=9) == []
    assert await answer(thinker, waiting_run.run_id, waiting_run.call_id) == 200
    assert await answer(admin, waiting_run.run_id, waiting_run.call_id, shipped=False) == 409
    [item] = gateway.store.read_sync(inbox.peek, "thinker", limit=9)
    assert item.event.data["result"] == {"shipped": True}
    run = (await thinker.get(f"/api/runs/{waiting_run.run_id}")).json()
    assert (run["status"], run["calls"][0]["status"]) == ("completed", "resolved")


async def test_a_run_is_cancelled_once(
    admin: httpx2.AsyncClient, thinker: httpx2.AsyncClient, gateway: Gateway
) -> None:
    run = resident_runs.begin_run(gateway.store).run_id
    assert (await thinker.post(f"/api/runs/{run}/cancel")).status_code == 403
    assert (await admin.post(f"/api/runs/{run}/cancel")).json()["status"] == "cancelled"
    assert (await admin.post(f"/api/runs/{run}/cancel")).status_code == 409


async def test_a_replay_does_nothing(admin: httpx2.AsyncClient, gateway: Gateway) -> None:
    waiting_run = resident_runs.begin_run(gateway.store)
    resident_runs.finish_run(gateway.store, waiting_run)
    before = gateway.store.read_sync(runs.list_steps, waiting_run.run_id)
    replay = (await admin.post(f"/api/runs/{waiting_run.run_id}/replay", json={"model": "demo"})).json()
    assert (replay["run"], replay["same"], len(replay["original"])) == (waiting_run.run_id, False, 4)
    assert gateway.store.read_sync(runs.list_steps, waiting_run.run_id) == before
    error_response = await admin.post(f"/api/runs/{waiting_run.run_id}/replay", json={"model": "gpt-5"})
    assert error_response.status_code == 422


async def test_a_run_is_watched_as_it_happens(gateway: Gateway) -> None:
    """Every step once and in order, frames between them, then that it waits, and its end; from any step on again."""
    waiting_run = resident_runs.begin_run(gateway.store)
    path = f"/api/runs/{waiting_run.run_id}/stream"
    frames: list[tuple[str, str | None]] = []
    async with asyncio.timeout(WAIT_TIMEOUT), await gateway.open_stream(path) as stream:
        async for frame in _read_until(stream, "run.completed"):
            frames.append((frame.event, frame.id))
            match frame.event, frame.id:
                case "run.step", "3":
                    gateway.app_state.signal_bus.send(
                        [Frame(Topic("run", waiting_run.run_id), "tool.started", {"tool": "ship"})]
                    )
                case "tool.started", _:
                    await asyncio.to_thread(resident_runs.finish_run, gateway.store, waiting_run)
                case "run.waiting_tool", _:
                    await gateway.store.run(
                        deferred_calls.answer_call, waiting_run.run_id, waiting_run.call_id, {"shipped": True}
                    )
                case _:
                    pass
    steps = [("run.step", str(number)) for number in (1, 2, 3)]
    last_frames = [("run.step", "4"), ("run.waiting_tool", "5"), ("run.completed", "6")]
    assert frames == [("connected", "0"), *steps, ("tool.started", None), *last_frames]
    async with asyncio.timeout(WAIT_TIMEOUT), await gateway.open_stream(path, last_event_id="3") as stream:
        resumed_frames = [(frame.event, frame.id) async for frame in _read_until(stream, "run.completed")]
    assert resumed_frames == [("connected", "3"), ("run.step", "4"), ("run.completed", "6")]
    async with await gateway.open_stream(path, last_event_id="99") as stream:
        assert stream.status == 422


async def _read_until(stream: StreamListener, event: str) -> AsyncIterator[StreamFrame]:
    async for frame in stream:
        yield frame
        if frame.event == event:
            return


async def test_the_client_sends_all_requests_about_configurations(url: str) -> None:
    with serve_gateway(url) as server:
        local = LocalClient(server.gateway.store)
        async with Client(server.base_url, key=server.gateway.admin_key) as client:
            agent = await client.send(RegisterAgent(name="cleo", display_name="Cleo", **AGENT_CONFIG))
            assert agent == local.send(ShowAgent(name="cleo"))
            plain_agent = await client.send(RegisterAgent(name="plain", model="demo"))
            assert plain_agent.config == ConfigView.of(AgentConfig())
            changed_agent = await client.send(ChangeAgent(name="cleo", instructions="Be kind", team="web"))
            assert changed_agent == local.send(ShowAgent(name="cleo")) == await client.send(ShowAgent(name="cleo"))
            assert (changed_agent.team, changed_agent.config and changed_agent.config.instructions) == (
                "web",
                "Be kind",
            )
            assert (await client.send(PauseAgent(name="cleo"))).paused_at is not None
            assert (await client.send(ResumeAgent(name="cleo"))).paused_at is None


async def test_the_client_sends_all_requests_about_runs(url: str) -> None:
    with serve_gateway(url) as server:
        store: Store = server.gateway.store
        local = LocalClient(store)
        resident_runs.create_resident(store)
        waiting_run = resident_runs.begin_run(store)
        resident_runs.finish_run(store, waiting_run)
        id = waiting_run.run_id
        async with Client(server.base_url, key=server.gateway.admin_key) as client:
            run = await client.send(ShowRun(id=id))
            assert run == local.send(ShowRun(id=id))
            assert run.calls == [OpenCallView.of(call) for call in store.read_sync(deferred_calls.list_open_calls, id)]
            waiting = ListRuns(agent="thinker", status=RunStatus.WAITING_TOOL)
            assert [row async for row in client.list_all(waiting)] == [RunView.of(store.read_sync(runs.show, id))]
            memories = [memory async for memory in client.list_all(ListMemories(name="thinker"))]
            assert memories == list(local.list_all(ListMemories(name="thinker")))
            assert await client.send(ListGoals(name="thinker")) == local.send(ListGoals(name="thinker"))
            steps = [StepView.of(step) for step in store.read_sync(runs.list_steps, id)]
            assert [step async for step in client.list_all(ListSteps(id=id))] == steps
            mind = await client.send(ShowMind(name="thinker"))
            assert mind == local.send(ShowMind(name="thinker"))
            assert [turn.kind for turn in mind.turns] == [step.kind for step in steps]
            assert (await client.send(ReplayRun(id=id, model="demo"))).original == steps

            answer = AnswerCall(id=id, call_id=waiting_run.call_id, result={"shipped": True})
            call = await client.send(answer)
            assert (call.status, call.result) == (CallStatus.RESOLVED, {"shipped": True})
            watched_steps = []
            async with asyncio.timeout(WAIT_TIMEOUT), aclosing(client.stream(WatchRun(id=id))) as events:
                async for event in events:
                    if event.event == "run.step":
                        watched_steps.append(msgspec.json.decode(event.data, type=StepView))
                    elif event.event == "run.completed":
                        break
            assert watched_steps == steps
            with pytest.raises(Conflict):
                await client.send(replace(answer, result={}))
            with pytest.raises(NotFound):
                await client.send(replace(answer, id=resident_runs.begin_run(store).run_id))
            [running_run] = [row async for row in client.list_all(ListRuns(status=RunStatus.RUNNING))]
            assert (await client.send(CancelRun(id=running_run.id))).status is RunStatus.CANCELLED
            with pytest.raises(NotFound):
                await client.send(ShowRun(id="run_" + "0" * 32))
