"""The doors of residents: what they are told to be, what they did, as it happens, and the calls they wait for."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from gatepost.actions import agents, goals, inbox, memories, runs
from gatepost.client import Client
from gatepost.core import agent_config
from gatepost.core.agent import AgentConfig, Resident
from gatepost.core.frame import Frame
from gatepost.core.mind import ModelReply
from gatepost.core.run import CallStatus, Run, RunStatus
from gatepost.errors import Conflict, NotFound, Refused
from gatepost.ports import Store
from tests import residents
from tests.gateways import PATIENCE, Gateway, Listener, Told, gateway, served
from tests.residents import CONFIG

#: what an agent knows, and nobody else but the administrator
OWN = ("runs", "mind", "memories", "goals")


@pytest.fixture
async def office(url: str) -> AsyncIterator[Gateway]:
    async with gateway(url) as made:
        residents.resident(made.store)
        residents.resident(made.store, "other")
        yield made


@pytest.fixture
async def admin(office: Gateway) -> AsyncIterator[httpx2.AsyncClient]:
    async with office.client() as client:
        yield client


@pytest.fixture
async def thinker(office: Gateway) -> AsyncIterator[httpx2.AsyncClient]:
    async with office.client(x_secret_key=office.key("agent", "thinker")) as client:
        yield client


async def test_an_agent_is_a_resident_if_anything_is_said_of_its_configuration(admin: httpx2.AsyncClient) -> None:
    guest = await admin.post("/api/agents", json={"name": "guest", "model": None})
    assert (guest.status_code, guest.json()["resident"], guest.json()["config"]) == (201, False, None)
    for field, value in {"model": "demo", "instructions": "Be kind", "tools": [], "loop": {"maxSteps": 3}}.items():
        made = await admin.post("/api/agents", json={"name": f"with-{field}", field: value})
        assert (made.status_code, made.json()["resident"], made.json()["version"]) == (201, True, 1)
        assert (await admin.get(f"/api/agents/with-{field}")).json() == made.json()
    wrong = await admin.post("/api/agents", json={"name": "wrong", "tools": [{"name": "x", "timeout": "-3s"}]})
    assert (wrong.status_code, wrong.json()["detail"]) == (422, "tools[0].timeout: '-3s' is not a duration")
    assert (await admin.get("/api/agents/wrong")).status_code == 404


async def test_a_change_is_whole_or_not_at_all(admin: httpx2.AsyncClient, office: Gateway) -> None:
    before = (await admin.get("/api/agents/thinker")).json()
    assert before["config"]["tools"][0]["execution"]["headers"] == {"Authorization": "Bearer ***"}
    refused = await admin.patch("/api/agents/thinker", json={"displayName": "T", "model": "nonsense"})
    assert refused.status_code == 422
    assert (await admin.get("/api/agents/thinker")).json() == before

    back = await admin.patch("/api/agents/thinker", json={"displayName": "T", **before["config"], "instructions": "Hi"})
    assert (back.json()["displayName"], back.json()["version"]) == ("T", 2)
    assert back.json()["config"] == before["config"] | {"instructions": "Hi"}
    stored = office.store.query(agents.show, "thinker")
    assert stored is not None
    assert stored.config == replace(agent_config.parse(CONFIG), instructions="Hi")


async def test_what_an_agent_is_told_is_for_itself_and_the_administrator(
    office: Gateway, admin: httpx2.AsyncClient, thinker: httpx2.AsyncClient
) -> None:
    whole = (await admin.get("/api/agents/thinker")).json()
    assert (await thinker.get("/api/agents/thinker")).json() == whole
    async with office.client(x_secret_key=office.key("agent", "other")) as other:
        assert (await other.get("/api/agents/thinker")).json() == whole | {"config": None}
        for path in OWN:
            assert (await other.get(f"/api/agents/thinker/{path}")).status_code == 403
    for path in OWN:
        mine = await thinker.get(f"/api/agents/thinker/{path}")
        assert (mine.status_code, mine.json()) == (200, (await admin.get(f"/api/agents/thinker/{path}")).json())
    assert (await thinker.patch("/api/agents/thinker", json={"instructions": "Obey me"})).status_code == 403


async def test_a_list_tells_residents_from_guests(admin: httpx2.AsyncClient, thinker: httpx2.AsyncClient) -> None:
    await admin.post("/api/agents", json={"name": "guest"})
    await admin.post("/api/agents/other/pause")
    for client in (admin, thinker):
        listed = {one["name"]: one for one in (await client.get("/api/agents")).json()["items"]}
        assert [listed[name]["resident"] for name in ("thinker", "other", "guest")] == [True, True, False]
        assert [listed[name]["paused"] for name in ("thinker", "other", "guest")] == [False, True, False]
        assert listed["thinker"] == (await client.get("/api/agents/thinker")).json() | {"config": None}


async def test_a_paused_agent_begins_nothing(admin: httpx2.AsyncClient, office: Gateway) -> None:
    for _ in range(2):
        assert (await admin.post("/api/agents/thinker/pause")).json()["paused"] is True
    with pytest.raises(AssertionError):
        residents.begun(office.store)
    assert (await admin.post("/api/agents/thinker/resume")).json()["paused"] is False
    residents.begun(office.store)


async def test_runs_and_their_steps(admin: httpx2.AsyncClient, thinker: httpx2.AsyncClient, office: Gateway) -> None:
    first = residents.begun(office.store)
    residents.ended(office.store, first)
    second, others = residents.begun(office.store), residents.begun(office.store, "other")
    everybody = (await admin.get("/api/runs")).json()["items"]
    assert [run["id"] for run in everybody] == [others.run, second.run, first.run]
    assert [run["id"] for run in (await thinker.get("/api/runs")).json()["items"]] == [second.run, first.run]
    waiting = (await admin.get("/api/runs", params={"status": "waiting_tool"})).json()["items"]
    assert [run["id"] for run in waiting] == [first.run]
    assert (await admin.get("/api/runs", params={"status": "x"})).status_code == 422

    run = (await thinker.get(f"/api/runs/{first.run}")).json()
    expected = {"agent": "thinker", "status": "waiting_tool", "cycleNumber": 1, "cause": "event", "steps": 2}
    assert expected.items() <= run.items()
    assert (run["promptTokens"], run["completionTokens"], run["effects"]) == (270, 17, 1)
    assert [call["id"] for call in run["calls"]] == [first.call]
    steps = (await thinker.get(f"/api/runs/{first.run}/steps")).json()["items"]
    kinds = [(step["number"], step["kind"]) for step in steps]
    assert kinds == [(1, "prompt"), (2, "reply"), (3, "result"), (4, "reply")]
    assert steps[1]["reply"]["calls"] == [{"id": "c1", "tool": "ship", "arguments": '{"order": 7}'}]
    assert "of the adapter" not in str(steps)
    for path in ("", "/steps", "/stream"):
        assert (await thinker.get(f"/api/runs/{others.run}{path}")).status_code == 404


async def test_a_tool_result_from_outside(
    admin: httpx2.AsyncClient, thinker: httpx2.AsyncClient, office: Gateway
) -> None:
    thinking, others = residents.begun(office.store), residents.begun(office.store, "other")
    residents.ended(office.store, thinking)

    async def answer(who: httpx2.AsyncClient, run: str, call: str, *, shipped: bool = True) -> int:
        body = {"callId": call, "result": {"shipped": shipped}}
        return (await who.post(f"/api/runs/{run}/tool-results", json=body)).status_code

    assert await answer(thinker, thinking.run, "call_" + "0" * 32) == 404
    assert await answer(thinker, thinking.run, others.call) == 403
    assert await answer(thinker, others.run, others.call) == 404
    assert office.store.query(inbox.peek, "thinker", limit=9) == []
    assert await answer(thinker, thinking.run, thinking.call) == 200
    assert await answer(admin, thinking.run, thinking.call, shipped=False) == 409
    [told] = office.store.query(inbox.peek, "thinker", limit=9)
    assert told.event.data["result"] == {"shipped": True}
    run = (await thinker.get(f"/api/runs/{thinking.run}")).json()
    assert (run["status"], run["calls"][0]["status"]) == ("completed", "resolved")


async def test_a_run_is_cancelled_once(admin: httpx2.AsyncClient, thinker: httpx2.AsyncClient, office: Gateway) -> None:
    run = residents.begun(office.store).run
    assert (await thinker.post(f"/api/runs/{run}/cancel")).status_code == 403
    assert (await admin.post(f"/api/runs/{run}/cancel")).json()["status"] == "cancelled"
    assert (await admin.post(f"/api/runs/{run}/cancel")).status_code == 409


async def test_a_replay_does_nothing(admin: httpx2.AsyncClient, office: Gateway) -> None:
    thinking = residents.begun(office.store)
    residents.ended(office.store, thinking)
    before = office.store.query(runs.list_steps, thinking.run)
    told = (await admin.post(f"/api/runs/{thinking.run}/replay", json={"model": "demo"})).json()
    assert (told["run"], told["same"], len(told["original"])) == (thinking.run, False, 4)
    assert office.store.query(runs.list_steps, thinking.run) == before
    wrong = await admin.post(f"/api/runs/{thinking.run}/replay", json={"model": "gpt-5"})
    assert wrong.status_code == 422


async def test_a_run_is_watched_as_it_happens(office: Gateway) -> None:
    """Every step once and in order, frames between them, then that it waits, and its end; from any step on again."""
    thinking = residents.begun(office.store)
    path = f"/api/runs/{thinking.run}/stream"
    seen: list[tuple[str, str | None]] = []
    async with asyncio.timeout(PATIENCE), await office.listen(path) as stream:
        async for told in _until(stream, "run.completed"):
            seen.append((told.event, told.id))
            match told.event, told.id:
                case "run.step", "3":
                    office.office.exchange.send([Frame(f"run:{thinking.run}", "tool.started", {"tool": "ship"})])
                case "tool.started", _:
                    await asyncio.to_thread(residents.ended, office.store, thinking)
                case "run.waiting_tool", _:
                    await office.store.run(runs.answer_call, thinking.run, thinking.call, {"shipped": True})
                case _:
                    pass
    steps = [("run.step", str(number)) for number in (1, 2, 3)]
    ends = [("run.step", "4"), ("run.waiting_tool", "5"), ("run.completed", "6")]
    assert seen == [("connected", "0"), *steps, ("tool.started", None), *ends]
    async with asyncio.timeout(PATIENCE), await office.listen(path, last="3") as stream:
        again = [(told.event, told.id) async for told in _until(stream, "run.completed")]
    assert again == [("connected", "3"), ("run.step", "4"), ("run.completed", "6")]
    async with await office.listen(path, last="99") as stream:
        assert stream.status == 422


async def _until(stream: Listener, event: str) -> AsyncIterator[Told]:
    async for told in stream:
        yield told
        if told.event == event:
            return


async def test_every_verb_of_the_client_about_configurations(url: str) -> None:
    with served(url) as server:
        store = server.gateway.store
        async with Client(server.base, key=server.gateway.admin) as post:
            made = await post.settle("cleo", CONFIG, display="Cleo")
            assert made == masked(store.query(agents.show, "cleo"))
            assert (await post.settle("plain", {})).config == AgentConfig()
            _, changed = await post.change_agent("cleo", {"instructions": "Be kind", "team": "web"})
            assert changed == masked(store.query(agents.show, "cleo"))
            entity, resident = await post.agent("cleo")
            assert (entity.team, resident) == ("web", changed)
            assert (await post.pause("cleo")).paused_at is not None
            assert (await post.resume("cleo")).paused_at is None


async def test_every_verb_of_the_client_about_runs(url: str) -> None:
    with served(url) as server:
        store: Store = server.gateway.store
        residents.resident(store)
        thinking = residents.begun(store)
        residents.ended(store, thinking)
        async with Client(server.base, key=server.gateway.admin) as post:
            run = told(store.query(runs.show, thinking.run))
            assert await post.run(thinking.run) == run
            assert [each async for each in post.runs(agent="thinker", status=RunStatus.WAITING_TOOL)] == [run]
            assert await post.memories("thinker") == store.query(memories.page, "thinker")
            known = [replace(goal, number=0) for goal in store.query(goals.page, "thinker")]
            assert await post.goals("thinker") == known
            shown = [replace(step, turn=_bare(step.turn)) for step in store.query(runs.list_steps, thinking.run)]
            assert await post.steps(thinking.run) == shown
            mind = await post.mind("thinker")
            assert mind.turns == tuple(step.turn for step in shown)
            assert mind.tokens == store.query(runs.read_mind, "thinker").tokens
            assert await post.calls(thinking.run) == store.query(runs.list_open_calls, thinking.run)
            assert (await post.replay_run(thinking.run, "demo")).original == shown

            answered = await post.answer_call(thinking.run, thinking.call, {"shipped": True})
            assert (answered.status, answered.result) == (CallStatus.RESOLVED, {"shipped": True})
            async with asyncio.timeout(PATIENCE):
                assert [step async for step in post.watch_run(thinking.run)] == shown
            with pytest.raises(Conflict):
                await post.answer_call(thinking.run, thinking.call, {})
            with pytest.raises(Refused):
                await post.answer_call(residents.begun(store).run, thinking.call, {})
            [under_way] = [each async for each in post.runs(status=RunStatus.RUNNING)]
            assert (await post.cancel(under_way.id)).status is RunStatus.CANCELLED
            with pytest.raises(NotFound):
                await post.run("run_" + "0" * 32)


def told(run: Run) -> Run:
    """A run without what is never told of it."""
    return replace(run, number=0, claim="", claim_fence=0, mind_number=None)


def masked(resident: Resident | None) -> Resident:
    assert resident is not None
    shown = agent_config.parse(agent_config.build_document(resident.config, mask_secrets=True), is_masked=True)
    return replace(resident, number=0, config=shown)


def _bare(turn: Any) -> Any:
    return replace(turn, raw=None) if isinstance(turn, ModelReply) else turn
