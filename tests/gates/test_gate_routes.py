"""
Gates and decisions through the routes: one answer counts, whoever comes later is told which; each sees and does what
concerns them; and whoever reads a stream, at any gateway, is told.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Final

import httpx2
import pytest

from gatepost.core.policy import Policy
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType
from gatepost.transports.memory import MemoryBus, MemoryTransport
from tests.support.gateways.local_gateways import (
    WAIT_TIMEOUT,
    Gateway,
    StreamFrame,
    create_entities,
    create_token,
    open_gateway,
)
from tests.support.servers.both_databases import URL_OF_BOTH

POSTGRES_BY_NIGHT = True

QUESTION: Final = {
    "asker": "analyst",
    "of": ["husam", "developer"],
    "question": "Ship it?",
    "options": [{"id": "ship", "label": "Ship it"}, {"id": "wait", "label": "Wait"}],
    "freeText": True,
}
GATE: Final = {"owner": "analyst", "name": "Sign-off", "awaits": "husam", "waiters": ["developer"]}


@pytest.fixture
async def gateways(url: str) -> AsyncIterator[list[Gateway]]:
    """Two gateways of one installation."""
    async with AsyncExitStack() as stack:
        network = MemoryBus()
        gateways = [
            await stack.enter_async_context(open_gateway(url, transport=MemoryTransport(network))) for _ in range(2)
        ]
        create_entities(gateways[0].store)
        yield gateways


@pytest.fixture
async def first_gateway(gateways: list[Gateway]) -> Gateway:
    return gateways[0]


async def expect_json(answer: httpx2.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


def open_entity_client(gateway: Gateway, name: str) -> httpx2.AsyncClient:
    """Somebody who can only be themselves."""
    return gateway.open_client(x_public_key=gateway.create_key("public"), authorization=f"Bearer {create_token(name)}")


@URL_OF_BOTH
async def test_of_many_answers_one_counts_and_the_others_are_told_which(gateways: list[Gateway]) -> None:
    async with gateways[0].open_client() as first, gateways[1].open_client() as second:
        decision = await expect_json(await first.post("/api/decisions", json=QUESTION), 201)
        path = f"/api/decisions/{decision['id']}/answer"

        async def answer(number: int) -> httpx2.Response:
            body = {
                "option": ("ship", "wait")[number % 2],
                "text": f"number {number}",
                "by": ("husam", "developer", "admin")[number % 3],
                "contextHash": decision["contextHash"],
            }
            return await (first, second)[number % 2].put(path, json=body)

        answers = await asyncio.gather(*map(answer, range(50)))
        assert Counter(response.status_code for response in answers) == {200: 1, 409: 49}
        [winner] = [response.json() for response in answers if response.status_code == 200]
        for late_response in (response for response in answers if response.status_code == 409):
            problem = late_response.json()
            assert problem["type"] == "urn:gatepost:problem:late"
            assert {name: problem["answer"][name] for name in ("option", "text", "by", "at", "outcome")} == {
                name: winner["answer"][name] for name in ("option", "text", "by", "at", "outcome")
            }
            assert winner["answer"]["by"] in problem["detail"]
        assert (await expect_json(await second.get(f"/api/decisions/{decision['id']}")))["answers"] == [
            winner["answer"]
        ]
        assert (await expect_json(await second.get(f"/api/gates/{decision['gate']}")))["status"] == "resolved"
    decision_items = [
        item
        for item in gateways[0].store.read_sync(inbox.list_page, "analyst")
        if item.event.type is EventType.DECISION
    ]
    assert [item.event.dedup_key for item in decision_items] == [f"decision:{decision['id']}:1"]


@URL_OF_BOTH
async def test_a_gate_ends_once(first_gateway: Gateway) -> None:
    async with first_gateway.open_client() as admin:
        gate = await expect_json(await admin.post("/api/gates", json=GATE), 201)
        path = f"/api/gates/{gate['id']}/resolution"
        responses = await asyncio.gather(
            *(admin.put(path, json={"reason": str(number), "withdraw": number % 2 == 0}) for number in range(20))
        )
        assert Counter(response.status_code for response in responses) == {200: 1, 409: 19}
        [resolution] = [response.json()["resolution"] for response in responses if response.status_code == 200]
        for late_answer in (response.json()["answer"] for response in responses if response.status_code == 409):
            assert (late_answer["outcome"], late_answer["reason"], late_answer["by"], late_answer["at"]) == (
                resolution["ending"],
                resolution["reason"],
                resolution["by"],
                resolution["at"],
            )
    for name in ("analyst", "developer"):
        keys = [item.event.dedup_key for item in first_gateway.store.read_sync(inbox.list_page, name)]
        assert keys == [f"gate:{gate['id']}"]


async def test_each_sees_and_answers_what_concerns_them(first_gateway: Gateway) -> None:
    """The analyst asks Husam and the developer; the designer has nothing to do with it."""
    async with (
        open_entity_client(first_gateway, "analyst") as analyst,
        open_entity_client(first_gateway, "husam") as husam,
        first_gateway.open_client(x_secret_key=first_gateway.create_key("agent", "developer")) as developer,
        first_gateway.open_client(x_secret_key=first_gateway.create_key("agent", "designer")) as designer,
    ):
        decision = await expect_json(await analyst.post("/api/decisions", json={**QUESTION, "asker": None}), 201)
        assert decision["asker"] == "analyst"
        path = f"/api/decisions/{decision['id']}"
        for concerned_client in (analyst, husam, developer):
            assert (await expect_json(await concerned_client.get("/api/decisions")))["items"] == [decision]
            assert await expect_json(await concerned_client.get(path)) == decision
        assert (await expect_json(await designer.get("/api/decisions")))["items"] == []

        refusals = [
            (designer, "GET", path, None, 404),
            (designer, "PUT", f"{path}/answer", {"option": "ship"}, 404),
            (designer, "PUT", f"{path}/answer", {"option": "ship", "by": "husam"}, 403),
            (designer, "PUT", f"{path}/question", {"question": "?", "freeText": True}, 404),
            (designer, "DELETE", path, None, 404),
            (designer, "GET", f"/api/gates/{decision['gate']}", None, 404),
            (analyst, "PUT", f"{path}/answer", {"option": "ship"}, 403),
            (analyst, "PUT", f"/api/gates/{decision['gate']}/resolution", {}, 409),
            (husam, "DELETE", path, None, 403),
            (husam, "PUT", f"{path}/question", {"question": "?", "freeText": True}, 403),
            (developer, "PUT", f"{path}/answer", {"option": "ship", "by": "husam"}, 403),
            (developer, "POST", "/api/decisions", QUESTION, 403),
        ]
        for caller, method, path_called, body, status in refusals:
            answer = await caller.request(method, path_called, json=body)
            assert answer.status_code == status, (method, path_called, answer.text)
        answered_decision = await expect_json(await developer.put(f"{path}/answer", json={"option": "wait"}))
        assert answered_decision["answer"]["by"] == "developer"


async def test_each_sees_and_ends_the_gates_that_concern_them(first_gateway: Gateway) -> None:
    async with (
        first_gateway.open_client(x_secret_key=first_gateway.create_key("agent", "analyst")) as analyst,
        open_entity_client(first_gateway, "husam") as husam,
        first_gateway.open_client(x_secret_key=first_gateway.create_key("agent", "developer")) as developer,
        first_gateway.open_client(x_secret_key=first_gateway.create_key("agent", "designer")) as designer,
    ):
        gate = await expect_json(await analyst.post("/api/gates", json=GATE), 201)
        assert (gate["madeBy"], gate["holds"], gate["status"]) == ("analyst", True, "pending")
        path = f"/api/gates/{gate['id']}"
        for concerned_client in (analyst, husam, developer):
            assert (await expect_json(await concerned_client.get("/api/gates")))["items"] == [gate]
        assert (await expect_json(await designer.get("/api/gates")))["items"] == []
        for caller, path_called, body, status in [
            (designer, f"{path}/resolution", {}, 404),
            (developer, f"{path}/resolution", {}, 403),
            (analyst, f"{path}/resolution", {"reason": "done"}, 403),
            (analyst, f"{path}/resolution", {"by": "husam"}, 403),
        ]:
            answer = await caller.put(path_called, json=body)
            assert answer.status_code == status, (path_called, answer.text)
        assert (await designer.post("/api/gates", json=GATE)).status_code == 403
        assert (await designer.post(f"{path}/waiters", json={"name": "designer"})).status_code == 404
        gate_with_waiter = await expect_json(await analyst.post(f"{path}/waiters", json={"name": "designer"}))
        assert gate_with_waiter["waiters"] == ["designer", "developer"]
        assert (await expect_json(await designer.get(path)))["id"] == gate["id"]
        resolved_gate = await expect_json(await husam.put(f"{path}/resolution", json={"reason": "signed"}))
        assert (resolved_gate["status"], resolved_gate["holds"], resolved_gate["resolution"]["by"]) == (
            "resolved",
            False,
            "husam",
        )


async def test_what_runs_a_command_is_for_the_administrator_where_it_is_allowed(url: str) -> None:
    body = {"owner": "analyst", "name": "The build", "kind": "command", "awaits": "make test"}
    for allowed in (False, True):
        async with open_gateway(url, policy=Policy(can_run_commands=allowed)) as gateway:
            if not allowed:
                create_entities(gateway.store)
            async with (
                gateway.open_client() as admin,
                gateway.open_client(x_secret_key=gateway.create_key("agent", "analyst")) as analyst,
            ):
                assert (await analyst.post("/api/gates", json=body)).status_code == 403
                assert (await admin.post("/api/gates", json=body)).status_code == (201 if allowed else 403)


async def test_a_command_line_is_shown_to_the_administrator_alone(url: str) -> None:
    """There may be a secret in it."""
    async with open_gateway(url, policy=Policy(can_run_commands=True)) as gateway:
        create_entities(gateway.store)
        body = {"owner": "analyst", "name": "Build", "kind": "command", "awaits": "curl -H token:hunter2 x"}
        async with gateway.open_client() as admin, open_entity_client(gateway, "analyst") as analyst:
            gate = await expect_json(await admin.post("/api/gates", json=body), 201)
            assert gate["awaits"] == body["awaits"]
            [listed_gate] = (await expect_json(await analyst.get("/api/gates")))["items"]
            shown_gate = await expect_json(await analyst.get(f"/api/gates/{gate['id']}"))
            assert listed_gate["awaits"] is shown_gate["awaits"] is None


STREAMS: Final = ["/api/inbox/analyst/stream", "/api/agents/analyst/stream", "/api/stream", "/api/stream?inbox=analyst"]


@pytest.mark.parametrize("path", STREAMS)
async def test_whoever_reads_a_stream_is_told_at_any_gateway(path: str, gateways: list[Gateway]) -> None:
    writing_gateway, reading_gateway = gateways
    async with await reading_gateway.open_stream(
        path, x_secret_key=reading_gateway.create_key("agent", "analyst")
    ) as stream:
        frame_iterator = aiter(stream)
        assert (await anext(frame_iterator)).event == "connected"
        async with writing_gateway.open_client() as admin:
            decision = await expect_json(await admin.post("/api/decisions", json=QUESTION), 201)
            frames_by_event = await collect_frames(frame_iterator, "gate.opened", "decision.asked")
            assert (frames_by_event["decision.asked"].data, frames_by_event["gate.opened"].data["id"]) == (
                decision,
                decision["gate"],
            )
            answered_decision = await expect_json(
                await admin.put(f"/api/decisions/{decision['id']}/answer", json={"option": "ship", "by": "husam"})
            )
            frames_by_event = await collect_frames(frame_iterator, "gate.resolved", "decision.answered", "inbox.item")
            assert frames_by_event["decision.answered"].data == answered_decision
            assert frames_by_event["gate.resolved"].data["status"] == "resolved"
            assert frames_by_event["inbox.item"].data["dedupKey"] == f"decision:{decision['id']}:1"
            assert [name for name, frame in frames_by_event.items() if frame.id is not None] == ["inbox.item"]


async def test_whoever_is_asked_waits_or_resolves_is_told_and_nobody_else(gateways: list[Gateway]) -> None:
    writing_gateway, reading_gateway = gateways
    async with AsyncExitStack() as stack:
        streams = {}
        for name in ("husam", "developer", "designer"):
            path_called = f"/api/stream?inbox={name}"
            listener = await stack.enter_async_context(
                await reading_gateway.open_stream(path_called, x_secret_key=reading_gateway.admin_key)
            )
            streams[name] = aiter(listener)
            assert (await anext(streams[name])).event == "connected"
        admin = await stack.enter_async_context(writing_gateway.open_client())
        decision = await expect_json(await admin.post("/api/decisions", json=QUESTION), 201)
        gate = await expect_json(await admin.post("/api/gates", json=GATE), 201)
        for name in ("husam", "developer"):
            frames_by_event = await collect_frames(streams[name], "decision.asked", "gate.opened")
            assert (frames_by_event["decision.asked"].data["id"], frames_by_event["gate.opened"].data["id"]) == (
                decision["id"],
                gate["id"],
            )
        await expect_json(await admin.delete(f"/api/decisions/{decision['id']}"))
        await expect_json(await admin.put(f"/api/gates/{gate['id']}/resolution", json={"by": "husam"}))
        for name in ("husam", "developer"):
            frames_by_event = await collect_frames(streams[name], "decision.answered", "gate.resolved")
            assert frames_by_event["decision.answered"].data["status"] == "withdrawn"
        await admin.post("/api/inbox", json={"to": "designer", "content": "for you"})
        first = await anext(streams["designer"])
        assert (first.event, first.data["content"]) == ("inbox.item", "for you")


async def collect_frames(frame_iterator: AsyncIterator[StreamFrame], *events: str) -> dict[str, StreamFrame]:
    """What comes until all of these have come, by their names."""
    frames_by_event: dict[str, StreamFrame] = {}
    async with asyncio.timeout(WAIT_TIMEOUT):
        while not frames_by_event.keys() >= set(events):
            frame = await anext(frame_iterator)
            frames_by_event[frame.event] = frame
    return frames_by_event
