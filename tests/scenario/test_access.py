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

from gatepost.actions import decisions, gates, inbox, inbox_items, keys, plans, push, sessions, spaces, webhooks
from gatepost.actions.webhooks import TriggerSpec
from gatepost.app import parse_sqlite_path
from gatepost.core.decision import Option, Question
from gatepost.core.event import Push
from gatepost.core.gate import GateSpec
from gatepost.core.webhook import Scheme
from gatepost.handlers.keys import generate_secret
from gatepost.ports import Store
from tests import resident_runs
from tests.gateways import TOKEN_RULES, Gateway, create_entities, create_token, list_operations, open_gateway
from tests.plan_specs import parse_spec

#: what one who is not concerned gets: nothing, or what everybody may see, or a list of what is its own
EXPECT_REFUSED: Final = "refused"
EXPECT_OPEN: Final = "open"
EXPECT_OWN: Final = "own"
#: each of many is refused by itself
EXPECT_EACH: Final = "each"

HOOK_SECRET: Final = "sixteen-chars-at-least"


@dataclass(frozen=True)
class CallCase:
    """How an operation is called on somebody else's things, and what one who is not concerned gets."""

    expected: str = EXPECT_REFUSED
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    #: other ways to ask for what is not one's own, each of which is refused
    other_queries: Sequence[Mapping[str, str]] = ()
    #: changes to the example of the OpenAPI, by its own words in `World`
    body: Mapping[str, str] = field(default_factory=dict)
    #: what the administrator gets, who is concerned by everything
    admin_status: int = 200


ANALYST_PATH: Final = {"name": "analyst"}
SPACE_PATH: Final = {"id": "space"}
EVENT_PATH: Final = {"id": "event"}
PLAN_PATH: Final = {"id": "plan"}
GATE_PATH: Final = {"id": "gate"}
DECISION_PATH: Final = {"id": "decision"}
TRIGGER_PATH: Final = {"name": "trigger"}
THINKER_PATH: Final = {"name": "thinker"}
RUN_PATH: Final = {"id": "run"}
CLAIM_BODY: Final = {"claimId": "claim", "fence": "fence"}

CALL_CASES: Final = {
    "POST /api/entities": CallCase(body={"name": "newcomer"}, admin_status=201),
    "GET /api/entities": CallCase(EXPECT_OPEN),
    "GET /api/entities/{name}": CallCase(EXPECT_OPEN, ANALYST_PATH),
    "PATCH /api/entities/{name}": CallCase(path=ANALYST_PATH),
    "DELETE /api/entities/{name}": CallCase(path=ANALYST_PATH),
    "POST /api/agents": CallCase(body={"name": "newcomer"}, admin_status=201),
    "GET /api/agents": CallCase(EXPECT_OPEN),
    "GET /api/agents/{name}": CallCase(EXPECT_OPEN, ANALYST_PATH),
    "PATCH /api/agents/{name}": CallCase(path=ANALYST_PATH),
    "DELETE /api/agents/{name}": CallCase(path=ANALYST_PATH),
    "POST /api/agents/{name}/wake": CallCase(path=ANALYST_PATH, admin_status=202),
    "POST /api/agents/{name}/trigger": CallCase(path=ANALYST_PATH, admin_status=202),
    "GET /api/agents/{name}/stream": CallCase(path=ANALYST_PATH),
    "POST /api/agents/{name}/pause": CallCase(path=THINKER_PATH),
    "POST /api/agents/{name}/resume": CallCase(path=THINKER_PATH),
    "GET /api/agents/{name}/runs": CallCase(path=THINKER_PATH),
    "GET /api/agents/{name}/mind": CallCase(path=THINKER_PATH),
    "GET /api/agents/{name}/memories": CallCase(path=THINKER_PATH),
    "GET /api/agents/{name}/goals": CallCase(path=THINKER_PATH),
    "GET /api/runs": CallCase(EXPECT_OWN, other_queries=[{"agent": "thinker"}]),
    "GET /api/runs/{id}": CallCase(path=RUN_PATH),
    "GET /api/runs/{id}/steps": CallCase(path=RUN_PATH),
    "GET /api/runs/{id}/stream": CallCase(path=RUN_PATH),
    "POST /api/runs/{id}/tool-results": CallCase(path=RUN_PATH, body={"callId": "call"}),
    "POST /api/runs/{id}/replay": CallCase(path={"id": "past"}),
    "POST /api/runs/{id}/cancel": CallCase(path=RUN_PATH),
    "POST /api/inbox": CallCase(body={"sender": "husam"}, admin_status=201),
    "POST /api/inbox/batch": CallCase(EXPECT_EACH, body={"pushes": "forged"}),
    "GET /api/inbox": CallCase(),
    "GET /api/inbox/{name}": CallCase(path=ANALYST_PATH),
    "GET /api/inbox/{name}/account": CallCase(path=ANALYST_PATH),
    "GET /api/inbox/{name}/peek": CallCase(path=ANALYST_PATH),
    "POST /api/inbox/{name}/drain": CallCase(path=ANALYST_PATH),
    "POST /api/inbox/{name}/claim": CallCase(path=ANALYST_PATH),
    "POST /api/inbox/{name}/ack": CallCase(path=ANALYST_PATH, body=CLAIM_BODY),
    "POST /api/inbox/{name}/release": CallCase(path=ANALYST_PATH, body=CLAIM_BODY | {"failed": "events"}),
    "POST /api/inbox/{name}/seen": CallCase(path=ANALYST_PATH, body={"events": "events"}),
    "GET /api/inbox/{name}/stream": CallCase(path=ANALYST_PATH),
    "GET /api/events/{id}": CallCase(path=EVENT_PATH),
    "POST /api/events/{id}/replay": CallCase(path={"id": "discarded"}),
    "POST /api/events/{id}/discard": CallCase(path=EVENT_PATH),
    "POST /api/events/{id}/done": CallCase(path={"id": "personal"}, body={"name": "husam"}),
    "POST /api/spaces": CallCase(body={"name": "another"}, admin_status=201),
    "GET /api/spaces": CallCase(EXPECT_OWN, other_queries=[{"member": "analyst"}]),
    "GET /api/spaces/{id}": CallCase(path=SPACE_PATH),
    "PATCH /api/spaces/{id}": CallCase(path=SPACE_PATH),
    "DELETE /api/spaces/{id}": CallCase(path=SPACE_PATH),
    "GET /api/spaces/{id}/members": CallCase(path=SPACE_PATH),
    "POST /api/spaces/{id}/members": CallCase(path=SPACE_PATH, admin_status=201),
    "DELETE /api/spaces/{id}/members/{name}": CallCase(path=SPACE_PATH | ANALYST_PATH, admin_status=204),
    "GET /api/spaces/{id}/messages": CallCase(path=SPACE_PATH),
    "POST /api/spaces/{id}/messages": CallCase(path=SPACE_PATH, admin_status=201),
    "PATCH /api/spaces/{id}/read": CallCase(path=SPACE_PATH),
    "GET /api/spaces/{id}/stream": CallCase(path=SPACE_PATH),
    "GET /api/stream": CallCase(
        query={"inbox": "analyst", "space": "space"},
        other_queries=[{"inbox": "analyst"}, {"space": "space"}, {"inbox": "admin"}],
    ),
    "POST /api/plans": CallCase(admin_status=201),
    "GET /api/plans": CallCase(EXPECT_OWN, other_queries=[{"owner": "analyst"}]),
    "GET /api/plans/{id}": CallCase(path=PLAN_PATH),
    "PATCH /api/plans/{id}": CallCase(path=PLAN_PATH),
    "DELETE /api/plans/{id}": CallCase(path=PLAN_PATH, admin_status=204),
    "POST /api/gates": CallCase(admin_status=201),
    "GET /api/gates": CallCase(EXPECT_OWN, other_queries=[{"owner": "analyst"}, {"waiter": "husam"}]),
    "GET /api/gates/{id}": CallCase(path=GATE_PATH),
    "PUT /api/gates/{id}/resolution": CallCase(path=GATE_PATH),
    "POST /api/gates/{id}/waiters": CallCase(path=GATE_PATH),
    "POST /api/decisions": CallCase(admin_status=201),
    "GET /api/decisions": CallCase(EXPECT_OWN, other_queries=[{"asker": "analyst"}, {"asked": "husam"}]),
    "GET /api/decisions/{id}": CallCase(path=DECISION_PATH),
    "PUT /api/decisions/{id}/answer": CallCase(path=DECISION_PATH),
    "PUT /api/decisions/{id}/question": CallCase(path=DECISION_PATH),
    "DELETE /api/decisions/{id}": CallCase(path=DECISION_PATH),
    "POST /api/triggers": CallCase(body={"name": "newcomer"}, admin_status=201),
    "GET /api/triggers": CallCase(),
    "GET /api/triggers/{name}": CallCase(path=TRIGGER_PATH),
    "PATCH /api/triggers/{name}": CallCase(path=TRIGGER_PATH),
    "DELETE /api/triggers/{name}": CallCase(path=TRIGGER_PATH, admin_status=204),
    "POST /api/keys": CallCase(admin_status=201),
    "GET /api/keys": CallCase(),
    "DELETE /api/keys/{id}": CallCase(path={"id": "key"}),
    "GET /api/sessions/{id}": CallCase(path={"id": "guest"}),
    "GET /health": CallCase(EXPECT_OPEN),
    "GET /metrics": CallCase(),
    "POST /hooks/{trigger}": CallCase(path={"trigger": "trigger"}, admin_status=401),
}


@dataclass(frozen=True)
class World:
    """The things of others, by the words of the table."""

    gateway: Gateway
    values: Mapping[str, Any]

    async def call(
        self, operation: str, headers: Mapping[str, str], query_words: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Call an operation as the table says, or with another query; return the status and the answer."""
        case = CALL_CASES[operation]
        method, _, template = operation.partition(" ")
        path = template.format(**{name: self.values.get(word, word) for name, word in case.path.items()})
        query = "&".join(f"{name}={self.values.get(word, word)}" for name, word in (query_words or case.query).items())
        if path.endswith("/stream"):
            async with await self.gateway.open_stream(f"{path}?{query}", x_nobody="yes", **headers) as stream:
                return stream.status, None
        body = None
        if "requestBody" in list_operations()[operation]:
            [content] = list_operations()[operation]["requestBody"]["content"].values()
            body = content["example"] | {name: self.values.get(word, word) for name, word in case.body.items()}
        async with self.gateway.open_client(x_nobody="yes") as client:
            answer = await client.request(method, f"{path}?{query}", json=body, headers=dict(headers))
        return answer.status_code, answer.json() if answer.content.startswith(b"{") else None


def create_owned_objects(store: Store) -> dict[str, Any]:
    """Give others something of every kind."""
    create_entities(store)
    spec = parse_spec({"name": "Daily", "instruction": "Report", "cron": "0 9 * * *"})
    events = [
        store.run_sync(push.push_event, Push(to=recipient, source="test", content="something")).event
        for recipient in ("analyst", "analyst", "analyst", "husam")
    ]
    store.run_sync(inbox_items.discard, events[1])
    claim = store.run_sync(inbox.claim, "analyst", owner="session-1", limit=1, budget=9_000).claim
    assert claim is not None
    plan = store.run_sync(plans.set_plan, "analyst", spec)
    gate = store.run_sync(gates.add, GateSpec(name="Sign-off", owner="analyst", waiters=("husam",)), by="analyst")
    question = Question(question="Ship it?", options=(Option(id="ship", label="Ship it"),), respondents=("husam",))
    decision = store.run_sync(decisions.ask, question, by="analyst")
    store.run_sync(spaces.post, "q4-report", sender="husam", content="hello")
    resident_runs.create_resident(store)
    finished_run = resident_runs.begin_run(store)
    resident_runs.finish_run(store, finished_run)
    waiting_run = resident_runs.begin_run(store)
    store.run_sync(
        webhooks.add_trigger,
        TriggerSpec(name="github-main", scheme=Scheme.GITHUB, secret=HOOK_SECRET, target="analyst"),
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
        "guest": store.run_sync(sessions.begin, "4f1c", agent="analyst", host="claude").session,
        "past": finished_run.run_id,
        "run": waiting_run.run_id,
        "call": waiting_run.call_id,
        "trigger": "github-main",
        "claim": claim.id,
        "fence": claim.fence,
        "key": store.run_sync(keys.create, kind="agent", secret=generate_secret(), entity="analyst").id,
        "forged": [{"to": "analyst", "content": "hello", "sender": "husam"}, {"to": "developer", "sender": "analyst"}],
    }


@pytest.fixture
async def world(url: str) -> AsyncIterator[World]:
    async with open_gateway(url) as gateway:
        yield World(gateway, create_owned_objects(gateway.store))


def read_database(url: str) -> dict[str, list[str]]:
    """Everything that is in the database, but for the numbers that are not given yet."""
    tables = _read_tables(url)
    del tables["counters"]
    return tables


def _read_tables(url: str) -> dict[str, list[str]]:
    if url.startswith("sqlite:"):
        with sqlite3.connect(parse_sqlite_path(url)) as sqlite_connection:
            tables = [
                name for (name,) in sqlite_connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            return {name: sorted(map(repr, sqlite_connection.execute(f'SELECT * FROM "{name}"'))) for name in tables}
    with psycopg.connect(url) as connection:
        table_rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        return {
            name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"'.encode()).fetchall()))
            for (name,) in table_rows
        }


def create_credentials(world: World) -> dict[str, dict[str, str]]:
    gateway = world.gateway
    revoked = gateway.create_key("admin")
    gateway.store.run_sync(keys.revoke, revoked[:11])
    return {
        "nobody": {},
        "unknown key": {"x-secret-key": "sk_" + "x" * 43},
        "empty key": {"x-secret-key": ""},
        "revoked key": {"x-secret-key": revoked},
        "public key as a secret": {"x-secret-key": gateway.create_key("public")},
        "public key alone": {"x-public-key": gateway.create_key("public")},
        "token alone": {"authorization": f"Bearer {create_token('analyst')}"},
        "secret key as a public one": {
            "x-public-key": gateway.admin_key,
            "authorization": f"Bearer {create_token('analyst')}",
        },
        "agent's key": {"x-secret-key": gateway.create_key("agent", "designer")},
        "token": {"x-public-key": gateway.create_key("public"), "authorization": f"Bearer {create_token('designer')}"},
        "trigger's key": {"x-secret-key": gateway.create_key("trigger", "designer")},
    }


ENTITY_CREDENTIALS: Final = ("agent's key", "token")


def test_every_operation_is_in_the_table() -> None:
    assert set(list_operations()) == set(CALL_CASES)


async def test_nothing_is_done_for_one_who_is_not_concerned(world: World, url: str) -> None:
    wrong: list[str] = []
    for credential, headers in create_credentials(world).items():
        before = read_database(url)
        for operation, call in CALL_CASES.items():
            status, answer = await world.call(operation, headers)
            if not _is_expected(credential, operation, call.expected, status, answer):
                wrong.append(f"{operation} by {credential}: {status} {str(answer)[:100]}")
            for query in call.other_queries:
                status, answer = await world.call(operation, headers, query)
                if status not in ((403, 404) if credential in (*ENTITY_CREDENTIALS, "trigger's key") else (401,)):
                    wrong.append(f"{operation} {query} by {credential}: {status} {str(answer)[:100]}")
            if status < 300 and read_database(url) != before:
                wrong.append(f"{operation} by {credential} changed the database")
                before = read_database(url)
        if read_database(url) != before:
            wrong.append(f"something by {credential} changed the database, though all was refused")
    assert not wrong, "\n".join(wrong)


def _is_expected(credential: str, operation: str, expected: str, status: int, answer: Any) -> bool:
    if operation == "GET /health":
        return status == 200
    if operation == "POST /hooks/{trigger}":
        return status == 401
    if credential == "trigger's key":
        return status in (403, 404)
    if credential not in ENTITY_CREDENTIALS:
        return status == 401
    match expected:
        case "refused":
            return status in (403, 404)
        case "each":
            return status == 200 and [item["status"] for item in answer["items"]] == [403, 403]
        case "own":
            return status == 200 and answer == {"items": [], "next": None}
        case _:
            return status == 200


@pytest.mark.parametrize("operation", CALL_CASES)
async def test_the_same_call_is_good_when_the_administrator_makes_it(operation: str, tmp_path: Path) -> None:
    """So what was refused above was refused for who it was."""
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway:
        world = World(gateway, create_owned_objects(gateway.store))
        status, answer = await world.call(operation, {"x-secret-key": gateway.admin_key})
        assert status == CALL_CASES[operation].admin_status, answer


async def test_one_who_can_only_be_itself_is_itself(world: World) -> None:
    """Without a name, the caller's is taken; with another's it is refused, and so are the house's own words."""
    gateway = world.gateway
    gateway.store.run_sync(spaces.create, name="Design", members=["designer", "developer"])
    for credential in ENTITY_CREDENTIALS:
        async with gateway.open_client(**_underscore_names(create_credentials(world)[credential])) as caller:
            push_response = await caller.post("/api/inbox", json={"to": "developer", "content": "hi", "type": "mail"})
            assert push_response.status_code == 201
            [item] = gateway.store.read_sync(inbox_items.show, push_response.json()["eventId"])
            assert item.event.sender is not None
            assert (item.event.sender.name, item.event.source) == ("designer", "designer")

            post_response = await caller.post("/api/spaces/design/messages", json={"content": "hi"})
            assert (post_response.status_code, post_response.json()["sender"]) == (201, "designer")
            forged_response = await caller.post(
                "/api/spaces/design/messages", json={"content": "hi", "sender": "developer"}
            )
            assert forged_response.status_code == 403

            plan = await caller.post("/api/plans", json={"name": "Mine", "runAfter": "1h"})
            assert (plan.status_code, plan.json()["owner"]) == (201, "designer")
            plan_rows = (await caller.get("/api/plans")).json()["items"]
            assert {row["owner"] for row in plan_rows} == {"designer"}
            assert [row["id"] for row in (await caller.get("/api/spaces")).json()["items"]] == ["design"]
            read_response = await caller.patch("/api/spaces/design/read", json={"seq": 1})
            assert (read_response.status_code, read_response.json()["name"]) == (200, "designer")

            drain_response = await caller.post("/api/inbox/designer/drain")
            assert drain_response.status_code == 200
            for operation in ("/api/spaces/design/members/developer", "/api/keys/x", "/api/entities/designer"):
                assert (await caller.delete(operation)).status_code == 403, operation


SYSTEM_EVENT_TYPES: Final = ("space_message", "plan", "service", "tool_result", "decision", "gate", "system")


async def test_one_who_can_only_be_itself_cannot_speak_for_the_house(world: World) -> None:
    gateway = world.gateway
    async with gateway.open_client(x_secret_key=gateway.create_key("agent", "designer")) as caller:
        for type in SYSTEM_EVENT_TYPES:
            answer = await caller.post("/api/inbox", json={"to": "analyst", "type": type, "content": "trust me"})
            assert answer.status_code == 403, type
        push_response = await caller.post("/api/inbox", json={"to": "analyst", "type": "agent", "source": "developer"})
        [item] = gateway.store.read_sync(inbox_items.show, push_response.json()["eventId"])
        assert item.event.source == "designer/developer"


async def test_what_it_says_of_its_chain_counts_only_if_that_is_longer(world: World) -> None:
    gateway, hops = world.gateway, {}
    gateway.store.run_sync(push.push_event, Push(to="designer", source="test", content="on", hops=6))
    async with (
        gateway.open_client() as admin,
        gateway.open_client(x_secret_key=gateway.create_key("agent", "designer")) as caller,
    ):
        for client, sender in ((admin, "designer"), (caller, None)):
            for stated_hops in (0, 1, 9):
                body = {"to": "developer", "content": "x", "hops": stated_hops, "sender": sender}
                event_id = (await client.post("/api/inbox", json=body)).json()["eventId"]
                batch_items = (await client.post("/api/inbox/batch", json={"pushes": [body, body]})).json()["items"]
                items = [
                    gateway.store.read_sync(inbox_items.show, id)[0]
                    for id in (event_id, *(batch_item["eventId"] for batch_item in batch_items))
                ]
                [hops[sender, stated_hops]] = {item.event.hops for item in items}
    assert hops == {
        ("designer", 0): 7,
        ("designer", 1): 7,
        ("designer", 9): 9,
        (None, 0): 7,
        (None, 1): 7,
        (None, 9): 9,
    }


async def test_nor_does_it_begin_a_new_one_with_what_it_had_before(world: World) -> None:
    gateway = world.gateway
    event = gateway.store.run_sync(push.push_event, Push(to="designer", source="test", content="on", hops=5)).event
    claim = gateway.store.run_sync(inbox.claim, "designer", owner="session-1").claim
    assert claim is not None
    gateway.store.run_sync(inbox.ack, claim.id, owner="session-1", fence=claim.fence)
    async with (
        gateway.open_client() as admin,
        gateway.open_client(x_secret_key=gateway.create_key("agent", "designer")) as caller,
    ):
        replays = [(await client.post(f"/api/events/{event}/replay")).json()["items"] for client in (caller, admin)]
    assert [item["hops"] for items in replays for item in items] == [6, 0]


async def test_the_idempotency_keys_of_two_callers_are_not_the_same(world: World) -> None:
    gateway, answers = world.gateway, []
    for name in ("designer", "developer", "designer"):
        async with gateway.open_client(x_secret_key=gateway.create_key("agent", name), idempotency_key="1") as caller:
            answers.append((await caller.post("/api/inbox", json={"to": "analyst", "content": name})).json())
    assert [answer["recipients"][0]["duplicate"] for answer in answers] == [False, False, True]
    assert answers[0]["eventId"] == answers[2]["eventId"] != answers[1]["eventId"]


async def test_a_triggers_key_triggers_its_agent_and_nobody_else(world: World) -> None:
    gateway = world.gateway
    async with gateway.open_client(x_secret_key=gateway.create_key("trigger", "designer")) as service:
        call = {"serviceName": "jira", "payload": {"issue": 1}}
        assert (await service.post("/api/agents/designer/trigger", json=call)).status_code == 202
        assert (await service.post("/api/agents/analyst/trigger", json=call)).status_code == 403
        assert (await service.post("/api/agents/nobody/trigger", json=call)).status_code in (403, 404)


async def test_a_key_is_good_for_nothing_from_the_moment_it_is_revoked(world: World) -> None:
    gateway = world.gateway
    key = gateway.create_key("agent", "analyst")
    async with gateway.open_client() as admin, gateway.open_client(x_secret_key=key) as caller:
        assert (await caller.get("/api/inbox/analyst")).status_code == 200
        stream = await gateway.open_stream("/api/inbox/analyst/stream", x_secret_key=key)
        assert (await anext(aiter(stream))).event == "connected"
        assert (await admin.delete(f"/api/keys/{key[:11]}")).status_code == 200
        assert (await caller.get("/api/inbox/analyst")).status_code == 401
        [last_frame] = [frame async for frame in stream]
        assert (last_frame.event, last_frame.data["reason"]) == ("ended", "the credential is no longer good")


async def test_a_key_that_is_revoked_while_it_is_find_caller_is_not_kept(world: World) -> None:
    gateway = world.gateway
    key = gateway.create_key("agent", "analyst")
    authenticator = gateway.app_state.authenticator
    lookup_started, lookup_allowed = asyncio.Event(), asyncio.Event()

    class SlowStore:
        async def read(self, query: Any, *args: Any) -> Any:
            result = await gateway.store.read(query, *args)
            lookup_started.set()
            await lookup_allowed.wait()
            return result

    slow_authenticator = type(authenticator)(SlowStore(), TOKEN_RULES)  # type: ignore[arg-type]
    with gateway.app_state.signal_bus.subscribe(slow_authenticator.on_signal):
        early_lookup = asyncio.create_task(slow_authenticator._find_caller(key))
        await lookup_started.wait()
        await gateway.store.run(keys.revoke, key[:11])
        lookup_allowed.set()
        await early_lookup
        assert await slow_authenticator._find_caller(key) is None


async def test_a_retired_entity_is_nobody(world: World) -> None:
    gateway = world.gateway
    key, public = gateway.create_key("agent", "developer"), gateway.create_key("public")
    async with (
        gateway.open_client() as admin,
        gateway.open_client(x_secret_key=key) as caller,
        gateway.open_client(x_public_key=public, authorization=f"Bearer {create_token('developer')}") as token_caller,
    ):
        assert (await caller.get("/api/inbox/developer")).status_code == 200
        assert (await token_caller.get("/api/inbox/developer")).status_code == 200
        assert (await admin.delete("/api/agents/developer")).status_code == 200
        assert (await caller.get("/api/inbox/developer")).status_code == 401
        assert (await token_caller.get("/api/inbox/developer")).status_code == 403


def _underscore_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("-", "_"): value for name, value in headers.items()}
