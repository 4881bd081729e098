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

from gatepost.actions import inbox
from gatepost.adapters.transports.memory import MemoryBus, MemoryTransport
from gatepost.core.event import EventType
from gatepost.core.limits import Limits
from tests.gateways import PATIENCE, Gateway, Told, furnish, gateway, token

QUESTION: Final = {
    "asker": "analyst",
    "of": ["husam", "developer"],
    "question": "Ship it?",
    "options": [{"id": "ship", "label": "Ship it"}, {"id": "wait", "label": "Wait"}],
    "freeText": True,
}
GATE: Final = {"owner": "analyst", "name": "Sign-off", "awaits": "husam", "waiters": ["developer"]}


@pytest.fixture
async def pair(url: str) -> AsyncIterator[list[Gateway]]:
    """Two gateways of one installation."""
    async with AsyncExitStack() as stack:
        room = MemoryBus()
        made = [await stack.enter_async_context(gateway(url, transport=MemoryTransport(room))) for _ in range(2)]
        furnish(made[0].store)
        yield made


@pytest.fixture
async def one(pair: list[Gateway]) -> Gateway:
    return pair[0]


async def good(answer: httpx2.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


def client(made: Gateway, name: str) -> httpx2.AsyncClient:
    """Somebody who can only be themselves."""
    return made.client(x_public_key=made.key("public"), authorization=f"Bearer {token(name)}")


async def test_of_many_answers_one_counts_and_the_others_are_told_which(pair: list[Gateway]) -> None:
    async with pair[0].client() as first, pair[1].client() as second:
        asked = await good(await first.post("/api/decisions", json=QUESTION), 201)
        path = f"/api/decisions/{asked['id']}/answer"

        async def answer(number: int) -> httpx2.Response:
            body = {
                "option": ("ship", "wait")[number % 2],
                "text": f"number {number}",
                "by": ("husam", "developer", "admin")[number % 3],
                "contextHash": asked["contextHash"],
            }
            return await (first, second)[number % 2].put(path, json=body)

        answers = await asyncio.gather(*map(answer, range(50)))
        assert Counter(each.status_code for each in answers) == {200: 1, 409: 49}
        [won] = [each.json() for each in answers if each.status_code == 200]
        for late in (each for each in answers if each.status_code == 409):
            problem = late.json()
            assert problem["type"] == "urn:gatepost:problem:late"
            assert {name: problem["answer"][name] for name in ("option", "text", "by", "at", "outcome")} == {
                name: won["answer"][name] for name in ("option", "text", "by", "at", "outcome")
            }
            assert won["answer"]["by"] in problem["detail"]
        assert (await good(await second.get(f"/api/decisions/{asked['id']}")))["answers"] == [won["answer"]]
        assert (await good(await second.get(f"/api/gates/{asked['gate']}")))["status"] == "resolved"
    told = [item for item in pair[0].store.query(inbox.page, "analyst") if item.event.type is EventType.DECISION]
    assert [item.event.key for item in told] == [f"decision:{asked['id']}:1"]


async def test_a_gate_ends_once(one: Gateway) -> None:
    async with one.client() as admin:
        made = await good(await admin.post("/api/gates", json=GATE), 201)
        path = f"/api/gates/{made['id']}/resolution"
        ends = await asyncio.gather(
            *(admin.put(path, json={"reason": str(number), "withdraw": number % 2 == 0}) for number in range(20))
        )
        assert Counter(each.status_code for each in ends) == {200: 1, 409: 19}
        [ended] = [each.json()["resolution"] for each in ends if each.status_code == 200]
        for late in (each.json()["answer"] for each in ends if each.status_code == 409):
            assert (late["outcome"], late["reason"], late["by"], late["at"]) == (
                ended["ending"],
                ended["reason"],
                ended["by"],
                ended["at"],
            )
    for name in ("analyst", "developer"):
        keys = [item.event.key for item in one.store.query(inbox.page, name)]
        assert keys == [f"gate:{made['id']}"]


async def test_each_sees_and_answers_what_concerns_them(one: Gateway) -> None:
    """The analyst asks Husam and the developer; the designer has nothing to do with it."""
    async with (
        client(one, "analyst") as analyst,
        client(one, "husam") as husam,
        one.client(x_secret_key=one.key("agent", "developer")) as developer,
        one.client(x_secret_key=one.key("agent", "designer")) as designer,
    ):
        asked = await good(await analyst.post("/api/decisions", json={**QUESTION, "asker": None}), 201)
        assert asked["asker"] == "analyst"
        path = f"/api/decisions/{asked['id']}"
        for somebody in (analyst, husam, developer):
            assert (await good(await somebody.get("/api/decisions")))["items"] == [asked]
            assert await good(await somebody.get(path)) == asked
        assert (await good(await designer.get("/api/decisions")))["items"] == []

        refused = [
            (designer, "GET", path, None, 404),
            (designer, "PUT", f"{path}/answer", {"option": "ship"}, 404),
            (designer, "PUT", f"{path}/answer", {"option": "ship", "by": "husam"}, 403),
            (designer, "PUT", f"{path}/question", {"question": "?", "freeText": True}, 404),
            (designer, "DELETE", path, None, 404),
            (designer, "GET", f"/api/gates/{asked['gate']}", None, 404),
            (analyst, "PUT", f"{path}/answer", {"option": "ship"}, 403),
            (analyst, "PUT", f"/api/gates/{asked['gate']}/resolution", {}, 409),
            (husam, "DELETE", path, None, 403),
            (husam, "PUT", f"{path}/question", {"question": "?", "freeText": True}, 403),
            (developer, "PUT", f"{path}/answer", {"option": "ship", "by": "husam"}, 403),
            (developer, "POST", "/api/decisions", QUESTION, 403),
        ]
        for who, method, where, body, status in refused:
            answer = await who.request(method, where, json=body)
            assert answer.status_code == status, (method, where, answer.text)
        answered = await good(await developer.put(f"{path}/answer", json={"option": "wait"}))
        assert answered["answer"]["by"] == "developer"


async def test_each_sees_and_ends_the_gates_that_concern_them(one: Gateway) -> None:
    async with (
        one.client(x_secret_key=one.key("agent", "analyst")) as analyst,
        client(one, "husam") as husam,
        one.client(x_secret_key=one.key("agent", "developer")) as developer,
        one.client(x_secret_key=one.key("agent", "designer")) as designer,
    ):
        made = await good(await analyst.post("/api/gates", json=GATE), 201)
        assert (made["madeBy"], made["holds"], made["status"]) == ("analyst", True, "pending")
        path = f"/api/gates/{made['id']}"
        for somebody in (analyst, husam, developer):
            assert (await good(await somebody.get("/api/gates")))["items"] == [made]
        assert (await good(await designer.get("/api/gates")))["items"] == []
        for who, where, body, status in [
            (designer, f"{path}/resolution", {}, 404),
            (developer, f"{path}/resolution", {}, 403),
            (analyst, f"{path}/resolution", {"reason": "done"}, 403),
            (analyst, f"{path}/resolution", {"by": "husam"}, 403),
        ]:
            answer = await who.put(where, json=body)
            assert answer.status_code == status, (where, answer.text)
        assert (await designer.post("/api/gates", json=GATE)).status_code == 403
        assert (await designer.post(f"{path}/waiters", json={"name": "designer"})).status_code == 404
        waiting = await good(await analyst.post(f"{path}/waiters", json={"name": "designer"}))
        assert waiting["waiters"] == ["designer", "developer"]
        assert (await good(await designer.get(path)))["id"] == made["id"]
        ended = await good(await husam.put(f"{path}/resolution", json={"reason": "signed"}))
        assert (ended["status"], ended["holds"], ended["resolution"]["by"]) == ("resolved", False, "husam")


async def test_what_runs_a_command_is_for_the_administrator_where_it_is_allowed(url: str) -> None:
    wish = {"owner": "analyst", "name": "The build", "kind": "command", "awaits": "make test"}
    for allowed in (False, True):
        async with gateway(url, limits=Limits(commands=allowed)) as made:
            if not allowed:
                furnish(made.store)
            async with made.client() as admin, made.client(x_secret_key=made.key("agent", "analyst")) as analyst:
                assert (await analyst.post("/api/gates", json=wish)).status_code == 403
                assert (await admin.post("/api/gates", json=wish)).status_code == (201 if allowed else 403)


async def test_a_command_line_is_shown_to_the_administrator_alone(url: str) -> None:
    """There may be a secret in it."""
    async with gateway(url, limits=Limits(commands=True)) as made:
        furnish(made.store)
        body = {"owner": "analyst", "name": "Build", "kind": "command", "awaits": "curl -H token:hunter2 x"}
        async with made.client() as admin, client(made, "analyst") as analyst:
            gate = await good(await admin.post("/api/gates", json=body), 201)
            assert gate["awaits"] == body["awaits"]
            [listed] = (await good(await analyst.get("/api/gates")))["items"]
            shown = await good(await analyst.get(f"/api/gates/{gate['id']}"))
            assert listed["awaits"] is shown["awaits"] is None


STREAMS: Final = ["/api/inbox/analyst/stream", "/api/agents/analyst/stream", "/api/stream", "/api/stream?inbox=analyst"]


@pytest.mark.parametrize("path", STREAMS)
async def test_whoever_reads_a_stream_is_told_at_any_gateway(path: str, pair: list[Gateway]) -> None:
    here, there = pair
    async with await there.listen(path, x_secret_key=there.key("agent", "analyst")) as stream:
        told = aiter(stream)
        assert (await anext(told)).event == "connected"
        async with here.client() as admin:
            asked = await good(await admin.post("/api/decisions", json=QUESTION), 201)
            seen = await told_of(told, "gate.opened", "decision.asked")
            assert (seen["decision.asked"].data, seen["gate.opened"].data["id"]) == (asked, asked["gate"])
            answered = await good(
                await admin.put(f"/api/decisions/{asked['id']}/answer", json={"option": "ship", "by": "husam"})
            )
            seen = await told_of(told, "gate.resolved", "decision.answered", "inbox.item")
            assert seen["decision.answered"].data == answered
            assert seen["gate.resolved"].data["status"] == "resolved"
            assert seen["inbox.item"].data["dedupKey"] == f"decision:{asked['id']}:1"
            assert [name for name, each in seen.items() if each.id is not None] == ["inbox.item"]


async def test_whoever_is_asked_waits_or_resolves_is_told_and_nobody_else(pair: list[Gateway]) -> None:
    here, there = pair
    async with AsyncExitStack() as stack:
        streams = {}
        for name in ("husam", "developer", "designer"):
            where = f"/api/stream?inbox={name}"
            listener = await stack.enter_async_context(await there.listen(where, x_secret_key=there.admin))
            streams[name] = aiter(listener)
            assert (await anext(streams[name])).event == "connected"
        admin = await stack.enter_async_context(here.client())
        asked = await good(await admin.post("/api/decisions", json=QUESTION), 201)
        made = await good(await admin.post("/api/gates", json=GATE), 201)
        for name in ("husam", "developer"):
            seen = await told_of(streams[name], "decision.asked", "gate.opened")
            assert (seen["decision.asked"].data["id"], seen["gate.opened"].data["id"]) == (asked["id"], made["id"])
        await good(await admin.delete(f"/api/decisions/{asked['id']}"))
        await good(await admin.put(f"/api/gates/{made['id']}/resolution", json={"by": "husam"}))
        for name in ("husam", "developer"):
            seen = await told_of(streams[name], "decision.answered", "gate.resolved")
            assert seen["decision.answered"].data["status"] == "withdrawn"
        await admin.post("/api/inbox", json={"to": "designer", "content": "for you"})
        first = await anext(streams["designer"])
        assert (first.event, first.data["content"]) == ("inbox.item", "for you")


async def told_of(told: AsyncIterator[Told], *events: str) -> dict[str, Told]:
    """What comes until all of these have come, by their names."""
    seen: dict[str, Told] = {}
    async with asyncio.timeout(PATIENCE):
        while not seen.keys() >= set(events):
            one = await anext(told)
            seen[one.event] = one
    return seen
