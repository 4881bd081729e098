"""`POST /hooks/{trigger}?wake=next`: what comes waits until something else wakes its recipient."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Event, Priority
from tests.support.gateways.local_gateways import Gateway, create_entities, open_gateway

SECRET: Final = "a-secret-of-16-characters"


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway:
        create_entities(gateway.store)
        async with gateway.open_client() as client:
            template = {"match": {"level": "fatal"}, "message": "{{text}}", "priority": "critical"}
            body = {"name": "shop", "secret": SECRET, "target": "analyst", "templates": [template]}
            assert (await client.post("/api/triggers", json=body)).status_code == 201
        yield gateway


async def post(gateway: Gateway, query: str, secret: str = SECRET, **payload: str) -> httpx2.Response:
    async with gateway.open_client(accept="*/*") as client:
        return await client.post(f"/hooks/shop{query}", json=payload, headers={"x-secret-key": secret})


def list_events(gateway: Gateway) -> list[Event]:
    return [item.event for item in gateway.store.read_sync(inbox.list_page, "analyst")]


@pytest.mark.parametrize(
    ("query", "wakes"),
    [("", True), ("?", True), ("?wake=now", True), ("?wake=next", False), ("?source=x&wake=next", False)],
)
async def test_it_wakes_now_or_next(gateway: Gateway, query: str, wakes: bool) -> None:
    answer = await post(gateway, query, text="opened")
    assert answer.status_code == 202
    [event] = list_events(gateway)
    assert (event.wakes, event.priority) == (wakes, Priority.NORMAL if wakes else Priority.FYI)


async def test_it_is_fyi_whatever_a_template_says(gateway: Gateway) -> None:
    await post(gateway, "?wake=next", level="fatal", text="down")
    await post(gateway, "", level="fatal", text="down")
    assert [event.priority for event in list_events(gateway)] == [Priority.FYI, Priority.CRITICAL]


@pytest.mark.parametrize(
    "query", ["?wake=later", "?wake=", "?wake=NEXT", "?wake=now&wake=next", "?wake=next&wake=next"]
)
async def test_anything_else_is_refused_and_nothing_is_stored(gateway: Gateway, query: str) -> None:
    answer = await post(gateway, query, text="opened")
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert "wake" in answer.json()["detail"]
    assert list_events(gateway) == []


async def test_who_does_not_know_the_secret_learns_nothing_of_it(gateway: Gateway) -> None:
    answers = [await post(gateway, query, secret="wrong" * 5) for query in ("", "?wake=later")]
    assert [answer.status_code for answer in answers] == [401, 401]
    assert answers[0].json() == answers[1].json()


async def test_the_reference_of_the_gateway_has_it(gateway: Gateway) -> None:
    async with gateway.open_client() as client:
        document: dict[str, Any] = (await client.get("/api/openapi.json")).json()
    [parameter] = [
        parameter
        for parameter in document["paths"]["/hooks/{trigger}"]["post"]["parameters"]
        if parameter["name"] == "wake"
    ]
    assert (parameter["in"], parameter["required"], parameter["schema"]["default"]) == ("query", False, "now")
