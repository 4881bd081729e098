"""Lists over HTTP: page by page, each row once, none left out."""

import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from gatepost.actions import decisions, gates, inbox, keys, memories, plans, push, spaces
from gatepost.core import plan as rules
from gatepost.core.decision import Question
from gatepost.core.event import Priority, Push
from gatepost.core.gate import GateSpec
from tests import residents
from tests.gateways import Gateway, furnish, gateway, operations
from tests.scenario.test_doors import assert_problem

#: the databases are the same to it: which one it is shows elsewhere
POSTGRES_BY_NIGHT = True


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Gateway]:
    async with gateway(f"sqlite:///{tmp_path}/office.db") as made:
        furnish(made.store)
        yield made


class Lists:
    """Every list, and how to fill it."""

    @staticmethod
    def fill(made: Gateway, count: int) -> None:
        for number in range(count):
            made.store.call(push.push_event, Push(to="analyst", source="test", content=str(number)))
            made.store.call(push.push_event, Push(to="husam", source="test", content=str(number)))
            made.store.call(spaces.post, "q4-report", sender="husam", content=str(number))
            made.store.call(spaces.create, name=f"space {number}", members=["analyst"])
            made.store.call(plans.set_plan, "analyst", rules.parse_spec({"name": f"plan {number}", "runAfter": "1h"}))
            made.store.call(gates.add, GateSpec(name=f"gate {number}", owner="analyst", waiters=("husam",)), by=None)
            made.store.call(
                decisions.ask, Question(question=str(number), free_text=True, respondents=("husam",)), by="analyst"
            )
            made.key("agent", "analyst")


PAGED: Final = {
    "/api/entities": "name",
    "/api/agents": "name",
    "/api/inbox": "eventId",
    "/api/inbox/analyst": "eventId",
    "/api/inbox/analyst/peek": "eventId",
    "/api/spaces": "id",
    "/api/spaces?member=analyst": "id",
    "/api/plans": "id",
    "/api/plans?owner=analyst&status=pending": "id",
    "/api/gates": "id",
    "/api/gates?owner=analyst&waiter=husam&kind=human&pending=true": "id",
    "/api/decisions": "id",
    "/api/decisions?asker=analyst&asked=husam&pending=true": "id",
    "/api/triggers": "name",
    "/api/keys": "id",
    "/api/runs": "id",
    "/api/runs?agent=thinker&status=waiting_tool": "id",
    "/api/agents/thinker/runs": "id",
    "/api/agents/thinker/memories": "key",
    "/api/runs/{id}/steps": "number",
}


@pytest.mark.parametrize("path", PAGED)
async def test_next_walks_a_list_without_gap_or_repeat(path: str, office: Gateway) -> None:
    Lists.fill(office, 7)
    residents.resident(office.store)
    for _ in range(3):
        residents.ended(office.store, residents.begun(office.store))
    last = residents.begun(office.store)
    residents.ended(office.store, last)
    office.store.call(memories.set_memories, "thinker", {f"key {number}": "x" for number in range(5)})
    async with office.client() as admin:
        for number in range(5):
            hook = {"name": f"hook-{number}", "scheme": "bearer", "secret": "x" * 20, "target": "analyst"}
            assert (await admin.post("/api/triggers", json=hook)).status_code == 201
        field, path = PAGED[path], path.replace("{id}", last.run)
        everything = await _walk(admin, path, field, 1000)
        assert len(everything) >= 3
        for limit in (1, 2, 3, len(everything), len(everything) + 1):
            assert await _walk(admin, path, field, limit) == everything


async def _walk(client: httpx2.AsyncClient, path: str, field: str, limit: int) -> Sequence[Any]:
    seen: list[Any] = []
    after: dict[str, str] = {}
    while True:
        answer = await client.get(
            path, params=dict(httpx2.QueryParams(path.partition("?")[2])) | after | {"limit": str(limit)}
        )
        page = answer.json()
        assert answer.status_code == 200, page
        assert len(page["items"]) <= limit
        seen += [(each[field], each.get("recipient")) for each in page["items"]]
        if page["next"] is None:
            assert len(set(seen)) == len(seen)
            return seen
        after = {"after": page["next"]}


def test_every_list_is_walked() -> None:
    """Those with a cursor; members are all there."""
    lists = {
        name.partition(" ")[2]
        for name, operation in operations().items()
        if any(one["name"] == "after" and one["in"] == "query" for one in operation.get("parameters", ()))
        and not name.endswith("/stream")
    }
    assert lists == {re.sub("analyst|thinker", "{name}", path.partition("?")[0]) for path in PAGED}


async def test_messages_are_walked_both_ways(office: Gateway) -> None:
    Lists.fill(office, 11)
    path = "/api/spaces/q4-report/messages"
    async with office.client() as admin:
        for limit in (1, 2, 3, 5, 11, 12):
            forward: list[int] = []
            after: str | None = "0"
            while after is not None:
                page = (await admin.get(path, params={"afterSeq": after, "limit": limit})).json()
                forward += [each["seq"] for each in page["items"]]
                after = page["next"]
            assert forward == list(range(1, 12))
            backward: list[int] = []
            page = (await admin.get(path, params={"limit": limit})).json()
            backward = [each["seq"] for each in page["items"]]
            while page["next"] is not None:
                page = (await admin.get(path, params={"beforeSeq": page["next"], "limit": limit})).json()
                backward = [each["seq"] for each in page["items"]] + backward
            assert backward == list(range(1, 12))
        assert_problem(await admin.get(path, params={"afterSeq": 1, "beforeSeq": 5}), 422)


async def test_a_page_of_an_inbox_goes_on_where_it_ended_while_more_comes(office: Gateway) -> None:
    Lists.fill(office, 5)
    async with office.client() as admin:
        first = (await admin.get("/api/inbox/analyst", params={"limit": 3})).json()
        office.store.call(
            push.push_event, Push(to="analyst", source="test", content="later", priority=Priority.CRITICAL)
        )
        rest = (await admin.get("/api/inbox/analyst", params={"after": first["next"]})).json()
        seen = [each["eventId"] for each in (*first["items"], *rest["items"])]
        assert len(set(seen)) == len(seen) == len(office.store.query(inbox.page, "analyst", limit=1000))
        assert office.store.query(keys.page)
