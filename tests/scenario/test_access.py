"""
Nobody does anything as somebody else: route by route, from the OpenAPI, so that a new route cannot be forgotten.

Every operation is called on what is the analyst's or Husam's: by nobody, by those whose credential is not good, and by
the designer, who has nothing to do with it. What they are told, and that nothing has changed in the database, is held
against the table below; an operation that is not in it fails the test.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from gatepost.actions import decisions, gates, inbox, keys, plans, push, sessions, spaces, triggers
from gatepost.actions.triggers import TriggerSpec
from gatepost.app import parse_sqlite_path
from gatepost.core import plan as rules
from gatepost.core.decision import Option, Question
from gatepost.core.event import Push
from gatepost.core.gate import GateSpec
from gatepost.core.webhook import Scheme
from gatepost.ports import Store
from gatepost.runtime.admin_key import generate_secret
from tests import residents
from tests.gateways import RULES, Gateway, furnish, gateway, operations, token

#: what one who is not concerned gets: nothing, or what everybody may see, or a list of what is its own
REFUSED: Final = "refused"
OPEN: Final = "open"
OWN: Final = "own"
#: each of many is refused by itself
EACH: Final = "each"

HOOK_SECRET: Final = "sixteen-chars-at-least"


@dataclass(frozen=True)
class Call:
    """How an operation is called on somebody else's things, and what one who is not concerned gets."""

    expected: str = REFUSED
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    #: other ways to ask for what is not one's own, each of which is refused
    also: Sequence[Mapping[str, str]] = ()
    #: changes to the example of the OpenAPI, by its own words in `World`
    body: Mapping[str, str] = field(default_factory=dict)
    #: what the administrator gets, who is concerned by everything
    admin: int = 200


ANALYST: Final = {"name": "analyst"}
SPACE: Final = {"id": "space"}
EVENT: Final = {"id": "event"}
PLAN: Final = {"id": "plan"}
GATE: Final = {"id": "gate"}
DECISION: Final = {"id": "decision"}
TRIGGER: Final = {"name": "trigger"}
THINKER: Final = {"name": "thinker"}
RUN: Final = {"id": "run"}
CLAIM: Final = {"claimId": "claim", "fence": "fence"}

TABLE: Final = {
    "POST /api/entities": Call(body={"name": "newcomer"}, admin=201),
    "GET /api/entities": Call(OPEN),
    "GET /api/entities/{name}": Call(OPEN, ANALYST),
    "PATCH /api/entities/{name}": Call(path=ANALYST),
    "DELETE /api/entities/{name}": Call(path=ANALYST),
    "POST /api/agents": Call(body={"name": "newcomer"}, admin=201),
    "GET /api/agents": Call(OPEN),
    "GET /api/agents/{name}": Call(OPEN, ANALYST),
    "PATCH /api/agents/{name}": Call(path=ANALYST),
    "DELETE /api/agents/{name}": Call(path=ANALYST),
    "POST /api/agents/{name}/wake": Call(path=ANALYST, admin=202),
    "POST /api/agents/{name}/trigger": Call(path=ANALYST, admin=202),
    "GET /api/agents/{name}/stream": Call(path=ANALYST),
    "POST /api/agents/{name}/pause": Call(path=THINKER),
    "POST /api/agents/{name}/resume": Call(path=THINKER),
    "GET /api/agents/{name}/runs": Call(path=THINKER),
    "GET /api/agents/{name}/mind": Call(path=THINKER),
    "GET /api/agents/{name}/memories": Call(path=THINKER),
    "GET /api/agents/{name}/goals": Call(path=THINKER),
    "GET /api/runs": Call(OWN, also=[{"agent": "thinker"}]),
    "GET /api/runs/{id}": Call(path=RUN),
    "GET /api/runs/{id}/steps": Call(path=RUN),
    "GET /api/runs/{id}/stream": Call(path=RUN),
    "POST /api/runs/{id}/tool-results": Call(path=RUN, body={"callId": "call"}),
    "POST /api/runs/{id}/replay": Call(path={"id": "past"}),
    "POST /api/runs/{id}/cancel": Call(path=RUN),
    "POST /api/inbox": Call(body={"sender": "husam"}, admin=201),
    "POST /api/inbox/batch": Call(EACH, body={"pushes": "forged"}),
    "GET /api/inbox": Call(),
    "GET /api/inbox/{name}": Call(path=ANALYST),
    "GET /api/inbox/{name}/account": Call(path=ANALYST),
    "GET /api/inbox/{name}/peek": Call(path=ANALYST),
    "POST /api/inbox/{name}/drain": Call(path=ANALYST),
    "POST /api/inbox/{name}/claim": Call(path=ANALYST),
    "POST /api/inbox/{name}/ack": Call(path=ANALYST, body=CLAIM),
    "POST /api/inbox/{name}/release": Call(path=ANALYST, body=CLAIM | {"failed": "events"}),
    "POST /api/inbox/{name}/seen": Call(path=ANALYST, body={"events": "events"}),
    "GET /api/inbox/{name}/stream": Call(path=ANALYST),
    "GET /api/events/{id}": Call(path=EVENT),
    "POST /api/events/{id}/replay": Call(path={"id": "discarded"}),
    "POST /api/events/{id}/discard": Call(path=EVENT),
    "POST /api/events/{id}/done": Call(path={"id": "personal"}, body={"name": "husam"}),
    "POST /api/spaces": Call(body={"name": "another"}, admin=201),
    "GET /api/spaces": Call(OWN, also=[{"member": "analyst"}]),
    "GET /api/spaces/{id}": Call(path=SPACE),
    "PATCH /api/spaces/{id}": Call(path=SPACE),
    "DELETE /api/spaces/{id}": Call(path=SPACE),
    "GET /api/spaces/{id}/members": Call(path=SPACE),
    "POST /api/spaces/{id}/members": Call(path=SPACE, admin=201),
    "DELETE /api/spaces/{id}/members/{name}": Call(path=SPACE | ANALYST, admin=204),
    "GET /api/spaces/{id}/messages": Call(path=SPACE),
    "POST /api/spaces/{id}/messages": Call(path=SPACE, admin=201),
    "PATCH /api/spaces/{id}/read": Call(path=SPACE),
    "GET /api/spaces/{id}/stream": Call(path=SPACE),
    "GET /api/stream": Call(
        query={"inbox": "analyst", "space": "space"},
        also=[{"inbox": "analyst"}, {"space": "space"}, {"inbox": "admin"}],
    ),
    "POST /api/plans": Call(admin=201),
    "GET /api/plans": Call(OWN, also=[{"owner": "analyst"}]),
    "GET /api/plans/{id}": Call(path=PLAN),
    "PATCH /api/plans/{id}": Call(path=PLAN),
    "DELETE /api/plans/{id}": Call(path=PLAN, admin=204),
    "POST /api/gates": Call(admin=201),
    "GET /api/gates": Call(OWN, also=[{"owner": "analyst"}, {"waiter": "husam"}]),
    "GET /api/gates/{id}": Call(path=GATE),
    "PUT /api/gates/{id}/resolution": Call(path=GATE),
    "POST /api/gates/{id}/waiters": Call(path=GATE),
    "POST /api/decisions": Call(admin=201),
    "GET /api/decisions": Call(OWN, also=[{"asker": "analyst"}, {"asked": "husam"}]),
    "GET /api/decisions/{id}": Call(path=DECISION),
    "PUT /api/decisions/{id}/answer": Call(path=DECISION),
    "PUT /api/decisions/{id}/question": Call(path=DECISION),
    "DELETE /api/decisions/{id}": Call(path=DECISION),
    "POST /api/triggers": Call(body={"name": "newcomer"}, admin=201),
    "GET /api/triggers": Call(),
    "GET /api/triggers/{name}": Call(path=TRIGGER),
    "PATCH /api/triggers/{name}": Call(path=TRIGGER),
    "DELETE /api/triggers/{name}": Call(path=TRIGGER, admin=204),
    "POST /api/keys": Call(admin=201),
    "GET /api/keys": Call(),
    "DELETE /api/keys/{id}": Call(path={"id": "key"}),
    "GET /api/sessions/{id}": Call(path={"id": "guest"}),
    "GET /health": Call(OPEN),
    "GET /metrics": Call(),
    "POST /hooks/{trigger}": Call(path={"trigger": "trigger"}, admin=401),
}


@dataclass(frozen=True)
class World:
    """The things of others, by the words of the table."""

    gateway: Gateway
    things: Mapping[str, Any]

    async def ask(
        self, operation: str, headers: Mapping[str, str], given: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Call an operation as the table says, or with another query; return the status and the answer."""
        call = TABLE[operation]
        method, _, template = operation.partition(" ")
        path = template.format(**{name: self.things.get(word, word) for name, word in call.path.items()})
        query = "&".join(f"{name}={self.things.get(word, word)}" for name, word in (given or call.query).items())
        if path.endswith("/stream"):
            async with await self.gateway.listen(f"{path}?{query}", x_nobody="yes", **headers) as stream:
                return stream.status, None
        body = None
        if "requestBody" in operations()[operation]:
            [content] = operations()[operation]["requestBody"]["content"].values()
            body = content["example"] | {name: self.things.get(word, word) for name, word in call.body.items()}
        async with self.gateway.client(x_nobody="yes") as client:
            answer = await client.request(method, f"{path}?{query}", json=body, headers=dict(headers))
        return answer.status_code, answer.json() if answer.content.startswith(b"{") else None


def furnished(store: Store) -> dict[str, Any]:
    """Give others something of every kind."""
    furnish(store)
    wish = rules.parse_spec({"name": "Daily", "instruction": "Report", "cron": "0 9 * * *"})
    events = [
        store.call(push.push_event, Push(to=to, source="test", content="something")).event
        for to in ("analyst", "analyst", "analyst", "husam")
    ]
    store.call(inbox.discard, events[1])
    claim = store.call(inbox.claim, "analyst", owner="session-1", limit=1, budget=9_000).claim
    assert claim is not None
    plan = store.call(plans.set_plan, "analyst", wish)
    gate = store.call(gates.add, GateSpec(name="Sign-off", owner="analyst", waiters=("husam",)), by="analyst")
    question = Question(question="Ship it?", options=(Option(id="ship", label="Ship it"),), respondents=("husam",))
    decision = store.call(decisions.ask, question, by="analyst")
    store.call(spaces.post, "q4-report", sender="husam", content="hello")
    residents.resident(store)
    past = residents.begun(store)
    residents.ended(store, past)
    thinking = residents.begun(store)
    store.call(
        triggers.add, TriggerSpec(name="github-main", scheme=Scheme.GITHUB, secret=HOOK_SECRET, target="analyst")
    )
    return {
        "space": "q4-report",
        "event": events[2],
        "events": [events[0]],
        "discarded": events[1],
        "personal": events[3],
        "plan": plan.id,
        "gate": gate.id,
        "decision": decision.id,
        "guest": store.call(sessions.begin, "4f1c", agent="analyst", host="claude").session,
        "past": past.run,
        "run": thinking.run,
        "call": thinking.call,
        "trigger": "github-main",
        "claim": claim.id,
        "fence": claim.fence,
        "key": store.call(keys.create, kind="agent", secret=generate_secret(), entity="analyst").id,
        "forged": [{"to": "analyst", "content": "hello", "sender": "husam"}, {"to": "developer", "sender": "analyst"}],
    }


@pytest.fixture
async def world(url: str) -> AsyncIterator[World]:
    async with gateway(url) as made:
        yield World(made, furnished(made.store))


def rows(url: str) -> dict[str, list[str]]:
    """Everything that is in the database, but for the numbers that are not given yet."""
    found = _rows(url)
    del found["counters"]
    return found


def _rows(url: str) -> dict[str, list[str]]:
    if url.startswith("sqlite:"):
        with sqlite3.connect(parse_sqlite_path(url)) as lite:
            tables = [name for (name,) in lite.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {name: sorted(map(repr, lite.execute(f'SELECT * FROM "{name}"'))) for name in tables}
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        return {
            name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"'.encode()).fetchall()))
            for (name,) in found
        }


def credentials(world: World) -> dict[str, dict[str, str]]:
    made = world.gateway
    revoked = made.key("admin")
    made.store.call(keys.revoke, revoked[:11])
    return {
        "nobody": {},
        "unknown key": {"x-secret-key": "sk_" + "x" * 43},
        "empty key": {"x-secret-key": ""},
        "revoked key": {"x-secret-key": revoked},
        "public key as a secret": {"x-secret-key": made.key("public")},
        "public key alone": {"x-public-key": made.key("public")},
        "token alone": {"authorization": f"Bearer {token('analyst')}"},
        "secret key as a public one": {"x-public-key": made.admin, "authorization": f"Bearer {token('analyst')}"},
        "agent's key": {"x-secret-key": made.key("agent", "designer")},
        "token": {"x-public-key": made.key("public"), "authorization": f"Bearer {token('designer')}"},
        "trigger's key": {"x-secret-key": made.key("trigger", "designer")},
    }


ACTING: Final = ("agent's key", "token")


def test_every_operation_is_in_the_table() -> None:
    assert set(operations()) == set(TABLE)


async def test_nothing_is_done_for_one_who_is_not_concerned(world: World, url: str) -> None:
    wrong: list[str] = []
    for who, headers in credentials(world).items():
        before = rows(url)
        for operation, call in TABLE.items():
            status, answer = await world.ask(operation, headers)
            if not _as_expected(who, operation, call.expected, status, answer):
                wrong.append(f"{operation} by {who}: {status} {str(answer)[:100]}")
            for other in call.also:
                status, answer = await world.ask(operation, headers, other)
                if status not in ((403, 404) if who in (*ACTING, "trigger's key") else (401,)):
                    wrong.append(f"{operation} {other} by {who}: {status} {str(answer)[:100]}")
            if status < 300 and rows(url) != before:
                wrong.append(f"{operation} by {who} changed the database")
                before = rows(url)
        if rows(url) != before:
            wrong.append(f"something by {who} changed the database, though all was refused")
    assert not wrong, "\n".join(wrong)


def _as_expected(who: str, operation: str, expected: str, status: int, answer: Any) -> bool:
    if operation == "GET /health":
        return status == 200
    if operation == "POST /hooks/{trigger}":
        return status == 401
    if who == "trigger's key":
        return status in (403, 404)
    if who not in ACTING:
        return status == 401
    match expected:
        case "refused":
            return status in (403, 404)
        case "each":
            return status == 200 and [each["status"] for each in answer["items"]] == [403, 403]
        case "own":
            return status == 200 and answer == {"items": [], "next": None}
        case _:
            return status == 200


@pytest.mark.parametrize("operation", TABLE)
async def test_the_same_call_is_good_when_the_administrator_makes_it(operation: str, tmp_path: Path) -> None:
    """So what was refused above was refused for who it was."""
    async with gateway(f"sqlite:///{tmp_path}/office.db") as made:
        world = World(made, furnished(made.store))
        status, answer = await world.ask(operation, {"x-secret-key": made.admin})
        assert status == TABLE[operation].admin, answer


async def test_one_who_can_only_be_itself_is_itself(world: World) -> None:
    """Without a name, the caller's is taken; with another's it is refused, and so are the house's own words."""
    made = world.gateway
    made.store.call(spaces.create, name="Design", members=["designer", "developer"])
    for who in ACTING:
        async with made.client(**_underscored(credentials(world)[who])) as me:
            pushed = await me.post("/api/inbox", json={"to": "developer", "content": "hi", "type": "mail"})
            assert pushed.status_code == 201
            [item] = made.store.query(inbox.show, pushed.json()["eventId"])
            assert item.event.sender is not None
            assert (item.event.sender.name, item.event.source) == ("designer", "designer")

            said = await me.post("/api/spaces/design/messages", json={"content": "hi"})
            assert (said.status_code, said.json()["sender"]) == (201, "designer")
            forged = await me.post("/api/spaces/design/messages", json={"content": "hi", "sender": "developer"})
            assert forged.status_code == 403

            plan = await me.post("/api/plans", json={"name": "Mine", "runAfter": "1h"})
            assert (plan.status_code, plan.json()["owner"]) == (201, "designer")
            listed = (await me.get("/api/plans")).json()["items"]
            assert {each["owner"] for each in listed} == {"designer"}
            assert [each["id"] for each in (await me.get("/api/spaces")).json()["items"]] == ["design"]
            read = await me.patch("/api/spaces/design/read", json={"seq": 1})
            assert (read.status_code, read.json()["name"]) == (200, "designer")

            drained = await me.post("/api/inbox/designer/drain")
            assert drained.status_code == 200
            for operation in ("/api/spaces/design/members/developer", "/api/keys/x", "/api/entities/designer"):
                assert (await me.delete(operation)).status_code == 403, operation


HOUSE: Final = ("space_message", "plan", "service", "tool_result", "decision", "gate", "system")


async def test_one_who_can_only_be_itself_cannot_speak_for_the_house(world: World) -> None:
    made = world.gateway
    async with made.client(x_secret_key=made.key("agent", "designer")) as me:
        for type in HOUSE:
            answer = await me.post("/api/inbox", json={"to": "analyst", "type": type, "content": "trust me"})
            assert answer.status_code == 403, type
        spoken = await me.post("/api/inbox", json={"to": "analyst", "type": "agent", "source": "developer"})
        [item] = made.store.query(inbox.show, spoken.json()["eventId"])
        assert item.event.source == "designer/developer"


async def test_what_it_says_of_its_chain_counts_only_if_that_is_longer(world: World) -> None:
    made, hops = world.gateway, {}
    made.store.call(push.push_event, Push(to="designer", source="test", content="on", hops=6))
    async with made.client() as admin, made.client(x_secret_key=made.key("agent", "designer")) as me:
        for client, sender in ((admin, "designer"), (me, None)):
            for said in (0, 1, 9):
                wish = {"to": "developer", "content": "x", "hops": said, "sender": sender}
                pushed = (await client.post("/api/inbox", json=wish)).json()["eventId"]
                many = (await client.post("/api/inbox/batch", json={"pushes": [wish, wish]})).json()["items"]
                found = [made.store.query(inbox.show, id)[0] for id in (pushed, *(each["eventId"] for each in many))]
                [hops[sender, said]] = {item.event.hops for item in found}
    assert hops == {
        ("designer", 0): 7,
        ("designer", 1): 7,
        ("designer", 9): 9,
        (None, 0): 7,
        (None, 1): 7,
        (None, 9): 9,
    }


async def test_nor_does_it_begin_a_new_one_with_what_it_had_before(world: World) -> None:
    made = world.gateway
    event = made.store.call(push.push_event, Push(to="designer", source="test", content="on", hops=5)).event
    claim = made.store.call(inbox.claim, "designer", owner="session-1").claim
    assert claim is not None
    made.store.call(inbox.ack, claim.id, owner="session-1", fence=claim.fence)
    async with made.client() as admin, made.client(x_secret_key=made.key("agent", "designer")) as me:
        again = [(await client.post(f"/api/events/{event}/replay")).json()["items"] for client in (me, admin)]
    assert [item["hops"] for items in again for item in items] == [6, 0]


async def test_the_idempotency_keys_of_two_callers_are_not_the_same(world: World) -> None:
    made, answers = world.gateway, []
    for name in ("designer", "developer", "designer"):
        async with made.client(x_secret_key=made.key("agent", name), idempotency_key="1") as me:
            answers.append((await me.post("/api/inbox", json={"to": "analyst", "content": name})).json())
    assert [each["recipients"][0]["duplicate"] for each in answers] == [False, False, True]
    assert answers[0]["eventId"] == answers[2]["eventId"] != answers[1]["eventId"]


async def test_a_triggers_key_triggers_its_agent_and_nobody_else(world: World) -> None:
    made = world.gateway
    async with made.client(x_secret_key=made.key("trigger", "designer")) as service:
        call = {"serviceName": "jira", "payload": {"issue": 1}}
        assert (await service.post("/api/agents/designer/trigger", json=call)).status_code == 202
        assert (await service.post("/api/agents/analyst/trigger", json=call)).status_code == 403
        assert (await service.post("/api/agents/nobody/trigger", json=call)).status_code in (403, 404)


async def test_a_key_is_good_for_nothing_from_the_moment_it_is_revoked(world: World) -> None:
    made = world.gateway
    key = made.key("agent", "analyst")
    async with made.client() as admin, made.client(x_secret_key=key) as me:
        assert (await me.get("/api/inbox/analyst")).status_code == 200
        stream = await made.listen("/api/inbox/analyst/stream", x_secret_key=key)
        assert (await anext(aiter(stream))).event == "connected"
        assert (await admin.delete(f"/api/keys/{key[:11]}")).status_code == 200
        assert (await me.get("/api/inbox/analyst")).status_code == 401
        [ended] = [told async for told in stream]
        assert (ended.event, ended.data["reason"]) == ("ended", "the credential is no longer good")


async def test_a_key_that_is_revoked_while_it_is_looked_up_is_not_kept(world: World) -> None:
    made = world.gateway
    key = made.key("agent", "analyst")
    keeper = made.office.doorkeeper
    looking, go = asyncio.Event(), asyncio.Event()

    class Slow:
        async def read(self, query: Any, *args: Any) -> Any:
            found = await made.store.read(query, *args)
            looking.set()
            await go.wait()
            return found

    slow = type(keeper)(Slow(), RULES)  # type: ignore[arg-type]
    with made.office.exchange.subscribe(slow.heard):
        early = asyncio.create_task(slow._looked_up(key))
        await looking.wait()
        await made.store.run(keys.revoke, key[:11])
        go.set()
        await early
        assert await slow._looked_up(key) is None


async def test_a_retired_entity_is_nobody(world: World) -> None:
    made = world.gateway
    key, public = made.key("agent", "developer"), made.key("public")
    async with (
        made.client() as admin,
        made.client(x_secret_key=key) as me,
        made.client(x_public_key=public, authorization=f"Bearer {token('developer')}") as also,
    ):
        assert (await me.get("/api/inbox/developer")).status_code == 200
        assert (await also.get("/api/inbox/developer")).status_code == 200
        assert (await admin.delete("/api/agents/developer")).status_code == 200
        assert (await me.get("/api/inbox/developer")).status_code == 401
        assert (await also.get("/api/inbox/developer")).status_code == 403


def _underscored(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("-", "_"): value for name, value in headers.items()}
