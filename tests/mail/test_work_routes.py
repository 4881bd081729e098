"""Work items over HTTP: what is answered, who is told, and what is refused without a trace."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from gatepost.core.policy import Policy
from gatepost.inbox import account_actions
from gatepost.testing import FakeClock
from tests.gateway.test_requests import assert_problem
from tests.support.gateways.local_gateways import Gateway, create_entities, open_gateway

POSTGRES_BY_NIGHT = True

POLICY = Policy(work_notify=(("task.blocked", ("designer", "husam"), 0), ("*.complete", ("team:none", "designer"), 1)))


@pytest.fixture
async def gateway(url: str) -> AsyncIterator[Gateway]:
    async with open_gateway(url, clock=FakeClock(), policy=POLICY) as gateway:
        create_entities(gateway.store)
        yield gateway


@pytest.fixture
async def analyst(gateway: Gateway) -> AsyncIterator[httpx2.AsyncClient]:
    async with gateway.open_client(x_secret_key=gateway.create_key("agent", "analyst")) as client:
        task = {"type": "task", "id": "schema", "title": "Write the schema", "topic": "0.0.123"}
        assert (await client.post("/api/work", json=task)).status_code == 201
        yield client


async def list_inbox(gateway: Gateway, name: str) -> list[dict[str, Any]]:
    async with gateway.open_client() as admin:
        items: list[dict[str, Any]] = (await admin.get(f"/api/inbox/{name}")).json()["items"]
        return items


async def test_items_are_added_shown_and_listed(analyst: httpx2.AsyncClient) -> None:
    part = {"type": "task", "id": "part", "parent": {"type": "task", "id": "0.0.123"}}
    added = (await analyst.post("/api/work", json=part)).json()
    assert (added["title"], added["parent"], added["madeBy"], added["status"]) == (
        "part",
        {"type": "task", "id": "schema"},
        "analyst",
        None,
    )
    by_id, by_topic = [(await analyst.get(f"/api/work/task/{id}")).json() for id in ("schema", "0.0.123")]
    assert by_id == by_topic
    listed = (await analyst.get("/api/work")).json()
    assert [item["id"] for item in listed["items"]] == ["schema", "part"]
    parts = (await analyst.get("/api/work", params={"parent": "task:schema"})).json()
    assert [item["id"] for item in parts["items"]] == ["part"]
    assert_problem(await analyst.post("/api/work", json=part), 409)


async def test_a_note_is_in_the_inboxes_when_the_call_returns(gateway: Gateway, analyst: httpx2.AsyncClient) -> None:
    body = {"note": "The **second**", "notify": ["designer", "husam"], "priority": "critical"}
    answer = await analyst.post("/api/work/task/0.0.123/notes", json=body)
    assert answer.status_code == 201
    note = answer.json()
    assert (note["item"], note["sender"], note["priority"], sorted(note["recipients"])) == (
        {"type": "task", "id": "schema"},
        "analyst",
        0,
        ["designer", "husam"],
    )
    for name in ("designer", "husam"):
        [item] = await list_inbox(gateway, name)
        assert (item["eventId"], item["type"], item["content"], item["priority"]) == (
            note["eventId"],
            "note",
            "The **second**",
            0,
        )
        assert item["ref"] == {"type": "task", "id": "schema"}
    [kept] = (await analyst.get("/api/work/task/schema/notes")).json()["items"]
    assert (kept["id"], kept["text"], kept["notify"], kept["recipients"]) == (
        note["id"],
        "The **second**",
        ["designer", "husam"],
        [],
    )


async def test_events_notify_whom_the_rules_name(gateway: Gateway, analyst: httpx2.AsyncClient) -> None:
    path = "/api/work/task/schema/events"
    blocked = (await analyst.post(path, json={"event": "blocked", "reason": "undecided"})).json()
    assert (blocked["type"], blocked["recipients"]) == ("task.blocked", ["designer", "husam"])
    [item] = await list_inbox(gateway, "husam")
    assert (item["type"], item["source"], item["sender"], item["priority"], item["content"]) == (
        "event",
        "task.blocked",
        None,
        0,
        "task:schema (Write the schema), by analyst: undecided",
    )
    for _ in range(2):
        complete = (await analyst.post(path, json={"event": "task.complete"})).json()
        assert complete["recipients"] == ["designer"]
    [alert] = await list_inbox(gateway, "admin")
    assert (alert["type"], "'team:none'" in alert["content"]) == ("alert", True)
    listed = (await analyst.get(path)).json()["items"]
    assert [event["type"] for event in listed] == ["task.blocked", "task.complete", "task.complete"]
    assert (await analyst.get("/api/work", params={"status": "complete"})).json()["items"][0]["id"] == "schema"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/work/task/schema/notes", {"note": "x" * 262_145}, 413),
        ("/api/work/task/schema/notes", {"note": ""}, 422),
        ("/api/work/task/schema/notes", {"note": "x", "notify": ["designer", "nobody"]}, 404),
        ("/api/work/task/schema/notes", {"note": "x", "notify": ["ALL"]}, 422),
        ("/api/work/task/schema/notes", {"note": "x", "priority": 5}, 422),
        ("/api/work/task/schema/notes", {"note": "x", "sender": "husam"}, 403),
        ("/api/work/agent/analyst/notes", {"note": "x"}, 422),
        ("/api/work/task/schema/events", {"event": "blocked", "reason": "x" * 4_001}, 413),
        ("/api/work/task/schema/events", {"event": "phase.blocked"}, 422),
        ("/api/work/task/schema/events", {"event": "note"}, 422),
        ("/api/work/task/schema/events", {"event": "blocked", "sender": "husam"}, 403),
        ("/api/work", {"type": "task", "id": "x" * 129}, 413),
        ("/api/work", {"type": "agent", "id": "x"}, 422),
        ("/api/work", {"type": "task", "id": "other", "topic": "0.0.123"}, 409),
    ],
)
async def test_what_is_refused_changes_nothing(
    gateway: Gateway, analyst: httpx2.AsyncClient, path: str, body: dict[str, Any], status: int
) -> None:
    assert_problem(await analyst.post(path, json=body), status)
    for name in ("designer", "husam", "admin"):
        assert await list_inbox(gateway, name) == []
    assert len((await analyst.get("/api/work")).json()["items"]) == 1
    for noun in ("notes", "events"):
        assert (await analyst.get(f"/api/work/task/schema/{noun}")).json()["items"] == []
    assert gateway.store.read_sync(account_actions.find_unbalanced)[0] == []


async def test_an_unknown_item_is_refused_with_a_sentence(analyst: httpx2.AsyncClient) -> None:
    answer = (await analyst.get("/api/work/task/shema/notes")).json()
    assert (answer["detail"], answer["hint"]) == ("there is no task 'shema'", "did you mean task:schema?")
