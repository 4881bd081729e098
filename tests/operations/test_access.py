"""
Nobody does anything as somebody else: route by route, from the OpenAPI, so that a new route cannot be forgotten.

Every operation is called on what is the analyst's or Husam's: by nobody, by those whose credential is not good, and by
the designer, who has nothing to do with it. What they are told, and that nothing has changed in the database, is held
against the table in `tests/operations/access_cases.py`; an operation that is not in it fails the test.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from gatepost.directory import entity_actions as directory, key_actions as keys
from gatepost.inbox import claim_actions as inbox, item_actions as inbox_items
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.spaces import actions as spaces
from tests.operations.access_cases import (
    CALL_CASES,
    CHANGED_BY_OWNERS,
    ENTITY_CREDENTIALS,
    EXPECT_OPEN,
    READ_BY_OWNERS,
    World,
    create_credentials,
    create_owned_objects,
    list_stored_secrets,
    read_database,
)
from tests.operations.filled_database import FilledDatabase
from tests.support.collected_failures import CollectedFailures
from tests.support.gateways.local_gateways import TOKEN_RULES, create_token, list_operations, open_gateway
from tests.support.servers.both_databases import URL_OF_BOTH

POSTGRES_BY_NIGHT = True


@pytest.fixture
async def world(url: str) -> AsyncIterator[World]:
    async with open_gateway(url) as gateway:
        yield World(gateway, create_owned_objects(gateway.store))


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


async def test_an_owner_reads_what_its_agents_do_and_changes_only_what_wakes_them(world: World, url: str) -> None:
    world.gateway.store.run_sync(directory.update, "thinker", owner="designer")
    world = World(world.gateway, {**world.values, "analyst": "thinker"})  # what names the analyst names the thinker
    wrong: list[str] = []
    for credential in ENTITY_CREDENTIALS:
        headers, before = create_credentials(world)[credential], read_database(url)
        for operation, call in CALL_CASES.items():
            is_readable = operation in READ_BY_OWNERS
            if operation in CHANGED_BY_OWNERS or (call.expected == EXPECT_OPEN and not is_readable):
                continue
            for query in (None, *call.other_queries):
                status, answer = await world.call(operation, headers, query)
                if query is None and not (is_readable and call.path):
                    is_good = _is_expected(credential, operation, call.expected, status, answer)
                else:
                    is_good = status == 200 if is_readable else status in (403, 404)
                if not is_good:
                    wrong.append(f"{operation} {query} by {credential}: {status} {str(answer)[:100]}")
        assert read_database(url) == before
        for operation in CHANGED_BY_OWNERS:
            assert (await world.call(operation, headers))[0] == 200
    assert not wrong, "\n".join(wrong)


async def test_an_owner_reads_by_an_alias_what_was_its_own_and_not_what_is_any_more(world: World) -> None:
    store = world.gateway.store
    store.run_sync(directory.update, "thinker", owner="designer", aliases=["bead-9"])
    async with world.gateway.open_client(x_secret_key=world.gateway.create_key("agent", "designer")) as caller:
        runs = (await caller.get("/api/agents/bead-9/runs")).json()["items"]
        assert {run["agent"] for run in runs} == {"thinker"}
        assert (await caller.get("/api/runs", params={"agent": "bead-9"})).json()["items"] == runs
        run = runs[-1]
        assert (await caller.get(f"/api/runs/{run['id']}/steps")).json()["items"]
        assert (await caller.get("/api/runs")).json()["items"] == [], "without a name they are its own"
        assert (await caller.get("/api/agents/thinker")).json()["config"] is None, "it may have secrets"
        store.run_sync(directory.retire, "thinker")
        assert (await caller.get("/api/agents/thinker/runs")).status_code == 200
    store.run_sync(directory.update, "developer", owner="husam")
    async with world.gateway.open_client(x_secret_key=world.gateway.create_key("agent", "developer")) as other:
        missing = (await other.get("/api/agents/nobody-here/mind")).json()
        refused = (await other.get("/api/agents/thinker/mind")).json()
        assert (refused["status"], refused["detail"].replace("thinker", "nobody-here")) == (403, missing["detail"])
        assert (await other.get(f"/api/runs/{run['id']}")).status_code == 404


def _is_expected(credential: str, operation: str, expected: str, status: int, answer: Any) -> bool:
    if operation == "GET /health":
        return status == 200
    if operation == "POST /hooks/{trigger}":
        return status in (401, 429)  # all of them have the same address
    if operation == "POST /channels/telegram/{bot}":
        return status in (404, 429)  # the trigger is no bot
    if operation in ("POST /api/sign-in", "DELETE /api/sign-in"):
        return status == 421  # they are for the page, which is not at this name
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


async def test_the_same_calls_are_good_when_the_administrator_makes_them(tmp_path: Path) -> None:
    """So what was refused above was refused for who it was. And no secret that is stored is shown, even to them."""
    filled_database = FilledDatabase(tmp_path)
    with CollectedFailures() as failures:
        for ledger in sorted({case.ledger for case in CALL_CASES.values()}):
            async with filled_database.open_world(ledger) as reading_world:
                for operation, case in CALL_CASES.items():
                    if case.ledger != ledger:
                        continue
                    async with AsyncExitStack() as stack:
                        is_reading = operation.startswith("GET ")
                        own_world = filled_database.open_world(ledger)
                        world = reading_world if is_reading else await stack.enter_async_context(own_world)
                        with failures.check(operation):
                            status, answer = await world.call(operation, {"x-secret-key": world.gateway.admin_key})
                            assert status == case.admin_status, answer
                            shown = json.dumps(answer)
                            assert [secret for secret in list_stored_secrets(world.url) if secret in shown] == []


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
        assert (last_frame.event, last_frame.data["reason"]) == ("ended", "the credential is no longer valid")


@URL_OF_BOTH
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
