"""Triggers, routing rules and unrouted messages, over HTTP: what owners, others and services get."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import claim_actions as inbox
from gatepost.residents import agent_actions as agents
from tests.support.gateways.local_gateways import Gateway, create_entities, open_gateway

SECRET: Final = "a-secret-of-16-characters"
HOOK: Final = {"name": "shop", "secret": SECRET}
PAYLOAD: Final = {"repository": {"name": "shop"}, "text": "opened"}


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    """Developer has the skill `routing`, and system3 owns triggers by default."""
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway:
        create_entities(gateway.store)
        gateway.store.run_sync(agents.set_skills, "developer", ["routing"])
        system3 = EntitySpec(name="system3", kind=EntityKind.AGENT, team="root", role="system3")
        gateway.store.run_sync(directory.register, system3)
        yield gateway


@pytest.fixture
async def admin(gateway: Gateway) -> AsyncIterator[httpx2.AsyncClient]:
    async with gateway.open_client() as client:
        yield client


async def call(
    gateway: Gateway, name: str, method: str, path: str, body: Mapping[str, Any] | None = None
) -> tuple[int, Any]:
    """Call an operation with the key of an entity; return the status and the answer."""
    async with gateway.open_client(x_secret_key=gateway.create_key("agent", name)) as client:
        answer = await client.request(method, path, json=body)
    return answer.status_code, answer.json() if answer.content else None


async def deliver(admin: httpx2.AsyncClient, key: str = "k1", payload: object = PAYLOAD) -> Any:
    answer = await admin.post("/hooks/shop", json=payload, headers={"x-secret-key": SECRET, "idempotency-key": key})
    assert answer.status_code == 202, answer.text
    return answer.json()


class TestTriggers:
    async def test_have_a_configuration_that_can_be_changed_and_cleared(self, admin: httpx2.AsyncClient) -> None:
        template = {"match": {"action": "opened"}, "message": "{{title}}"}
        body = {**HOOK, "session": "pr-{{number}}", "templates": [template], "requires": [], "prompt": "Look."}
        answer = await admin.post("/api/triggers", json=body)
        assert answer.status_code == 201, answer.text
        trigger = answer.json()
        assert (trigger["scheme"], trigger["target"], trigger["owner"]) == ("header", None, "team:root/system3")
        assert (trigger["session"], trigger["templates"]) == ("pr-{{number}}", [template])
        assert SECRET not in answer.text
        changes: dict[str, Any] = {"target": "analyst", "session": None, "templates": [], "prompt": None}
        changed = (await admin.patch("/api/triggers/shop", json=changes)).json()
        assert {name: changed[name] for name in changes} == changes
        assert (await admin.patch("/api/triggers/shop", json={"target": None})).json()["target"] is None

    async def test_of_a_schedule(self, admin: httpx2.AsyncClient) -> None:
        schedule = {"cron": "0 9 * * 1-5", "zone": "Europe/Berlin"}
        body = {"name": "daily", "provider": "cron", "target": "analyst", "schedule": schedule}
        trigger = (await admin.post("/api/triggers", json=body)).json()
        assert trigger["schedule"] == {**schedule, "every": None, "at": None}
        assert trigger["nextAt"] > trigger["createdAt"]
        changes = {"schedule": {"every": "30m"}, "heartbeat": {"activeHours": [8, 22]}}
        changed = (await admin.patch("/api/triggers/daily", json=changes)).json()
        assert changed["schedule"] == {"cron": None, "zone": "UTC", "every": "30m", "at": None}
        assert changed["heartbeat"] == {"activeHours": [8, 22]}
        assert (await admin.patch("/api/triggers/daily", json={"heartbeat": None})).json()["heartbeat"] is None
        refusal = await admin.patch("/api/triggers/daily", json={"schedule": None})
        assert (refusal.status_code, refusal.json()["detail"]) == (422, "a cron trigger needs a schedule")

    async def test_of_a_bot_show_where_its_token_is_and_never_the_token(self, admin: httpx2.AsyncClient) -> None:
        body = {
            "name": "bot",
            "provider": "telegram",
            "token": "7:abcdefghijklmnop",
            "allow": [7, -100],
            "mode": "webhook",
            "publicUrl": "https://gatepost.example",
        }
        answer = await admin.post("/api/triggers", json=body)
        assert (answer.status_code, answer.json()["token"], answer.json()["allow"]) == (201, None, [7, -100])
        assert "abcdef" not in answer.text
        changed = await admin.patch("/api/triggers/bot", json={"token": "env:BOT_TOKEN"})
        assert (changed.json()["token"], changed.json()["mode"]) == ("env:BOT_TOKEN", "webhook")
        refusal = await admin.patch("/api/triggers/bot", json={"token": "env:"})
        assert refusal.status_code == 422
        both = await admin.patch("/api/triggers/bot", json={"token": "7:x", "secret": SECRET})
        assert (both.status_code, both.json()["detail"]) == (422, "a trigger of 'telegram' has no secret")

    async def test_belong_to_their_owners(self, gateway: Gateway, admin: httpx2.AsyncClient) -> None:
        await admin.post("/api/triggers", json=HOOK)
        assert (await call(gateway, "system3", "PATCH", "/api/triggers/shop", {"prompt": "Look."}))[0] == 200
        status, page = await call(gateway, "system3", "GET", "/api/triggers")
        assert (status, [trigger["name"] for trigger in page["items"]]) == (200, ["shop"])
        for method, path, body in (
            ("GET", "/api/triggers/shop", None),
            ("PATCH", "/api/triggers/shop", {"active": False}),
            ("DELETE", "/api/triggers/shop", None),
            ("POST", "/api/triggers/shop/test", {"payload": {}}),
            ("POST", "/api/triggers", {**HOOK, "name": "other"}),
        ):
            assert (await call(gateway, "analyst", method, path, body))[0] == 403
        assert (await call(gateway, "analyst", "GET", "/api/triggers"))[1]["items"] == []
        status, own = await call(gateway, "developer", "POST", "/api/triggers", {**HOOK, "name": "own"})
        assert (status, own["owner"]) == (201, "developer")
        status, refusal = await call(
            gateway, "developer", "POST", "/api/triggers", {**HOOK, "name": "else", "owner": "analyst"}
        )
        assert (status, refusal["detail"]) == (403, "'developer' is not in 'analyst'")

    async def test_are_tested_without_a_trace(self, gateway: Gateway, admin: httpx2.AsyncClient) -> None:
        await admin.post("/api/triggers", json={**HOOK, "scheme": "github"})
        body = {"payload": {"action": "opened", **PAYLOAD}, "headers": {"X-GitHub-Event": "issues"}}
        [event] = (await admin.post("/api/triggers/shop/test", json=body)).json()["events"]
        assert (event["targets"], event["reason"], event["subject"]) == ([], "no_route", "issues")
        await admin.post("/api/routes", json={"name": "shop", "targets": ["analyst"]})
        [event] = (await admin.post("/api/triggers/shop/test", json=body)).json()["events"]
        assert (event["targets"], event["rule"], event["reason"]) == (["analyst"], "shop", None)
        assert gateway.store.read_sync(inbox.list_page, "analyst") == []
        assert (await admin.get("/api/routes/dead-letters")).json()["items"] == []


class TestRoutes:
    async def test_are_made_changed_and_deleted(self, admin: httpx2.AsyncClient) -> None:
        body = {"name": "shop", "targets": ["analyst"], "filters": {"payload.repository.name": "shop"}, "rank": 10}
        answer = await admin.post("/api/routes", json=body)
        assert answer.status_code == 201
        rule = answer.json()
        assert (rule["madeBy"], rule["channel"], rule["active"]) == ("admin", "*", True)
        assert (await admin.get("/api/routes/shop")).json() == rule
        changed = (await admin.patch(f"/api/routes/{rule['id']}", json={"rank": -3, "active": False})).json()
        assert (changed["rank"], changed["active"], changed["filters"]) == (-3, False, body["filters"])
        assert [item["id"] for item in (await admin.get("/api/routes")).json()["items"]] == [rule["id"]]
        assert (await admin.delete(f"/api/routes/{rule['id']}")).status_code == 204
        assert (await admin.get(f"/api/routes/{rule['id']}")).status_code == 404

    async def test_are_for_those_with_the_skill(self, gateway: Gateway, admin: httpx2.AsyncClient) -> None:
        status, rule = await call(gateway, "developer", "POST", "/api/routes", {"name": "own", "targets": ["analyst"]})
        assert (status, rule["madeBy"]) == (201, "developer")
        await admin.post("/api/routes", json={"name": "admin's", "targets": ["analyst"]})
        assert (await call(gateway, "developer", "PATCH", "/api/routes/own", {"rank": 1}))[0] == 200
        status, refusal = await call(gateway, "developer", "PATCH", "/api/routes/admin's", {"rank": 1})
        assert (status, refusal["detail"]) == (403, "the rule \"admin's\" was made by 'admin'")
        for method, path in (
            ("GET", "/api/routes"),
            ("GET", "/api/routes/own"),
            ("GET", "/api/routes/nothing"),
            ("GET", "/api/routes/dead-letters"),
        ):
            status, refusal = await call(gateway, "analyst", method, path)
            assert (status, refusal["detail"]) == (403, "'analyst' lacks the skill 'routing'")


class TestDeadLetters:
    async def test_are_kept_counted_listed_and_replayed(self, gateway: Gateway, admin: httpx2.AsyncClient) -> None:
        await admin.post("/api/triggers", json=HOOK)
        assert (await deliver(admin))["events"] == []
        [letter] = (await admin.get("/api/routes/dead-letters")).json()["items"]
        assert (letter["trigger"], letter["channel"], letter["reason"]) == ("shop", "webhook", "no_route")
        assert (letter["payload"], letter["sessionId"], letter["replayedAt"]) == (PAYLOAD, "shop", None)
        assert (await admin.get("/health")).json()["unrouted"] == 1
        path = f"/api/routes/dead-letters/{letter['id']}/replay"
        assert (await admin.post(path)).status_code == 403
        await admin.post("/api/routes", json={"name": "shop", "targets": ["analyst"]})
        replayed = await admin.post(path)
        assert (replayed.status_code, replayed.json()["targets"]) == (200, ["analyst"])
        [item] = gateway.store.read_sync(inbox.list_page, "analyst")
        assert [item.event.id] == replayed.json()["eventIds"]
        assert json.loads(json.dumps(item.event.data))["payload"] == PAYLOAD
        assert (await admin.post(path)).status_code == 409
        assert (await admin.get("/api/routes/dead-letters")).json()["items"] == []
        [old] = (await admin.get("/api/routes/dead-letters", params={"replayed": "true"})).json()["items"]
        assert (old["id"], old["replayedBy"]) == (letter["id"], "admin")

    async def test_are_discarded(self, gateway: Gateway, admin: httpx2.AsyncClient) -> None:
        await admin.post("/api/triggers", json=HOOK)
        await deliver(admin)
        [letter] = (await admin.get("/api/routes/dead-letters")).json()["items"]
        path = f"/api/routes/dead-letters/{letter['id']}/discard"
        assert (await call(gateway, "analyst", "POST", path))[0] == 403
        discarded = (await admin.post(path)).json()
        assert (discarded["discardedBy"], discarded["replayedBy"], discarded["replayedAt"]) == ("admin", None, None)
        assert (await admin.get("/health")).json()["unrouted"] == 0
        for verb in ("discard", "replay"):
            again = await admin.post(f"/api/routes/dead-letters/{letter['id']}/{verb}")
            sentence = f"the message '{letter['id']}' was discarded by 'admin' already"
            assert (again.status_code, again.json()["detail"]) == (409, sentence)

    async def test_a_delivery_that_comes_again_stays_kept(self, admin: httpx2.AsyncClient) -> None:
        await admin.post("/api/triggers", json=HOOK)
        await deliver(admin)
        await admin.post("/api/routes", json={"name": "shop", "targets": ["analyst"]})
        assert (await deliver(admin))["events"] == []
        assert len((await admin.get("/api/routes/dead-letters")).json()["items"]) == 1
        assert len((await deliver(admin, "k2"))["events"]) == 1
