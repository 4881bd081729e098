"""One caller does not hold the others up: batches, pages and limits for each entity (X6)."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gatepost.actions import directory, inbox, intake
from gatepost.actions.directory import Newcomer
from gatepost.core.entity import Kind
from gatepost.ports.store import Store, Work
from tests.gateways import Gateway, furnish, gateway

MIB = 1024 * 1024
LARGE = "x" * 250_000


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Gateway]:
    async with gateway(f"sqlite:///{tmp_path}/office.db") as made:
        furnish(made.store)
        yield made


def hire(store: Store, team: str, count: int) -> None:
    """Register so many agents of a team, in one commit."""

    def register(work: Work) -> None:
        for number in range(count):
            directory.register(work, Newcomer(name=f"{team}-{number}", kind=Kind.AGENT, team=team))

    store.call(register)


class TestBatches:
    def batch(self, count: int, *, to: str = "team:web", **more: Any) -> dict[str, Any]:
        return {"pushes": [{"to": to, "content": str(number), **more} for number in range(count)]}

    async def test_one_that_would_make_too_many_items_is_refused_whole(self, office: Gateway) -> None:
        hire(office.store, "web", 11)
        async with office.client(x_secret_key=office.key(entity="analyst")) as analyst:
            answer = await analyst.post("/api/inbox/batch", json=self.batch(999) | {})
            assert (answer.status_code, answer.json()["type"]) == (413, "urn:gatepost:problem:too-large")
            assert answer.json()["detail"] == "the batch would make 10989 items, over the limit of 10000"
            assert answer.json()["hint"] == "send smaller batches"
        assert office.store.look(inbox.page, "web-0") == []

    async def test_what_is_for_one_agent_each_is_no_such_batch(self, office: Gateway) -> None:
        async with office.client() as admin:
            answer = await admin.post("/api/inbox/batch", json=self.batch(50, to="analyst"))
        assert [each["status"] for each in answer.json()["items"]] == [201] * 50

    async def test_one_event_for_a_large_team_is_exempt(self, office: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(intake, "MAX_BATCH_ITEMS", 3)
        hire(office.store, "web", 4)
        async with office.client() as admin:
            alone = await admin.post("/api/inbox/batch", json=self.batch(1))
            two = await admin.post("/api/inbox/batch", json=self.batch(2))
            own = await admin.post("/api/inbox/batch", json={"pushes": [{"to": "analyst"}, {"to": "team:empty"}]})
        assert (alone.status_code, two.status_code, own.status_code) == (200, 413, 200)
        assert len(office.store.look(inbox.page, "web-3")) == 1

    async def test_cloud_events_of_one_request_are_a_batch_too(
        self, office: Gateway, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(intake, "MAX_BATCH_ITEMS", 5)
        hire(office.store, "web", 3)
        events = [{"specversion": "1.0", "id": str(n), "source": "/x", "type": "t", "data": n} for n in range(2)]
        async with office.client() as admin:
            hook = {"name": "ce", "scheme": "bearer", "secret": "s" * 32, "target": "team:web"}
            assert (await admin.post("/api/triggers", json=hook)).status_code == 201
            headers = {"authorization": "Bearer " + "s" * 32, "content-type": "application/cloudevents-batch+json"}
            answer = await admin.post("/hooks/ce", content=json.dumps(events), headers=headers)
        assert answer.status_code == 413
        assert office.store.look(inbox.page, "web-0") == []
