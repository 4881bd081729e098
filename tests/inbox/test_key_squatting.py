"""
Nobody can take another's dedup key first (I3).

Everybody who can push tries every key that somebody else is about to use, as it is given and as it is stored, and only
then comes whoever it belongs to: what they say is new, and in the inbox.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx2
import pytest

from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.webhooks.verification import Scheme
from gatepost.core.transport_records import QueuedEntry
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType, Push
from gatepost.inbox.push import actions as push_actions, dedup_keys as dedup, intake_queue_entry as foreign
from gatepost.worker.intake_queue_reader import QueueReader
from tests.channels.webhooks.webhook_senders import SENDERS
from tests.support.gateways.local_gateways import Gateway, create_entities, create_token, open_gateway

RECIPIENT: Final = "analyst"
SECRET: Final = SENDERS[Scheme.GITHUB].secret


class FakeIntakeQueue:
    """An intake queue with what a program has left for one agent."""

    def __init__(self, source: str, ids: Iterable[str], content: str) -> None:
        self.source = source
        self._entries = [
            QueuedEntry(RECIPIENT, json.dumps({"eventId": id, "type": "event", "content": content}).encode())
            for id in ids
        ]

    async def open(self) -> None:
        pass

    async def agents(self) -> list[str]:
        return [RECIPIENT]

    async def take(self, agents: Sequence[str]) -> list[QueuedEntry]:
        batch, self._entries = self._entries[:50], self._entries[50:]
        return batch

    async def settle(self, entries: Sequence[tuple[QueuedEntry, str | None]]) -> None:
        pass

    async def close(self) -> None:
        pass


class PushCallers:
    """A gateway, and everybody who can push to the analyst through it or beside it."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.store = gateway.store
        self.designer_key, self.developer_key = (
            gateway.create_key("agent", "designer"),
            gateway.create_key("agent", "developer"),
        )
        self.trigger_key = gateway.create_key("trigger", RECIPIENT)
        self.public_key = gateway.create_key("public")

    def open_admin_client(self) -> httpx2.AsyncClient:
        return self.gateway.open_client()

    def open_agent_client(self) -> httpx2.AsyncClient:
        return self.gateway.open_client(x_secret_key=self.designer_key)

    def open_person_client(self) -> httpx2.AsyncClient:
        return self.gateway.open_client(x_public_key=self.public_key, authorization=f"Bearer {create_token('husam')}")

    def open_service_client(self) -> httpx2.AsyncClient:
        return self.gateway.open_client(x_secret_key=self.trigger_key)

    async def read_queue(self, transport: str, ids: Iterable[str], content: str) -> None:
        """Take in what another program has put into a list in Redis, or published on a subject of NATS."""
        await QueueReader(FakeIntakeQueue(transport, ids, content), self.store).read_all_queues()

    def read_contents(self) -> dict[str | None, str]:
        """What the analyst would be shown, by the stored key."""
        items = self.store.read_sync(inbox.peek, RECIPIENT, limit=1_000)
        return {item.event.dedup_key: item.event.content or json.dumps(item.event.data) for item in items}


async def push_all(client: httpx2.AsyncClient, keys: Sequence[str], content: str) -> None:
    """Push with every key, to the analyst and to everybody, and with some as an Idempotency-Key."""
    pushes = [{"to": recipient, "content": content, "dedupKey": key} for recipient in (RECIPIENT, "*") for key in keys]
    assert (await client.post("/api/inbox/batch", json={"pushes": pushes})).status_code == 200
    for key in (key for key in keys if "header" in key):
        body, headers = {"to": RECIPIENT, "content": content}, {"idempotency-key": key}
        assert (await client.post("/api/inbox", json=body, headers=headers)).status_code in (201, 422)


async def squat_as_agent(callers: PushCallers, keys: Sequence[str]) -> None:
    async with callers.open_agent_client() as client:
        await push_all(client, keys, "by an agent")


async def squat_as_person(callers: PushCallers, keys: Sequence[str]) -> None:
    async with callers.open_person_client() as client:
        await push_all(client, keys, "by a JWT")


async def squat_as_service(callers: PushCallers, keys: Sequence[str]) -> None:
    """Trigger with every key, in the name of the services that they belong to."""
    async with callers.open_service_client() as client:
        for key in keys:
            service = "github" if "delivery" in key else "jira"
            body, headers = {"serviceName": service, "payload": "by a service"}, {"idempotency-key": key}
            answer = await client.post(f"/api/agents/{RECIPIENT}/trigger", json=body, headers=headers)
            assert answer.status_code in (202, 422)


async def squat_as_administrator(callers: PushCallers, keys: Sequence[str]) -> None:
    """Whoever has the administrator's key needs no tricks: only what is stored for others is out of its reach."""
    stored_keys = [key for key in keys if key.startswith(dedup.PREFIXES)]
    pushes = [
        {"to": recipient, "content": "by the administrator", "dedupKey": key}
        for recipient in (RECIPIENT, "*")
        for key in stored_keys
    ]
    async with callers.open_admin_client() as client:
        answers = (await client.post("/api/inbox/batch", json={"pushes": pushes})).json()["items"]
        call = await client.post(
            f"/api/agents/{RECIPIENT}/trigger",
            json={"serviceName": "jira"},
            headers={"idempotency-key": stored_keys[0]},
        )
    for answer in (*answers, call.json()):
        assert answer["status"] == 422
        assert "begins with" in answer["detail"]


async def squat_by_redis(callers: PushCallers, keys: Sequence[str]) -> None:
    await callers.read_queue(foreign.REDIS, keys, "by Redis")


async def squat_by_nats(callers: PushCallers, keys: Sequence[str]) -> None:
    await callers.read_queue(foreign.NATS, keys, "by NATS")


#: everybody who tries, and how the keys begin that are theirs
SQUATTERS: Final = {
    squat_as_agent: "by:designer:",
    squat_as_person: "by:husam:",
    squat_as_service: f"by:{RECIPIENT}/trigger:",
    squat_as_administrator: None,
    squat_by_redis: dedup.REDIS,
    squat_by_nats: dedup.NATS,
}


class PreparedPush(NamedTuple):
    #: as whoever it belongs to gives it, and as it is stored
    given_key: str
    stored_key: str
    #: returns whether it was told that this is a repeat
    push: Callable[[], Awaitable[bool]]


def prepare_push(
    client: httpx2.AsyncClient, body: dict[str, Any], key: str | None = None
) -> Callable[[], Awaitable[bool]]:
    async def push() -> bool:
        headers = {"idempotency-key": key} if key is not None else {}
        answer = await client.post("/api/inbox", json={"to": RECIPIENT, "content": "victim"} | body, headers=headers)
        assert answer.status_code == 201, answer.text
        document = answer.json()
        return bool((document if "broadcast" in document else document["recipients"][0])["duplicate"])

    return push


def prepare_trigger(client: httpx2.AsyncClient, key: str) -> Callable[[], Awaitable[bool]]:
    async def push() -> bool:
        body, headers = {"serviceName": "jira", "payload": "victim"}, {"idempotency-key": key}
        answer = await client.post(f"/api/agents/{RECIPIENT}/trigger", json=body, headers=headers)
        assert answer.status_code == 202, answer.text
        return bool(answer.json()["duplicate"])

    return push


def prepare_own_push(callers: PushCallers, key: str) -> PreparedPush:
    """A key of one of our own verbs, used as the verb uses it."""

    async def push_event() -> bool:
        own_push = Push(to=RECIPIENT, source="gatepost", content="victim", dedup_key=key)
        return callers.store.run_sync(push_actions.push_event, own_push).deliveries[0].duplicate

    return PreparedPush(key, key, push_event)


@asynccontextmanager
async def prepare_victims(callers: PushCallers) -> AsyncIterator[list[PreparedPush]]:
    """Everything that somebody is about to say."""
    gateway = callers.gateway
    async with (
        callers.open_admin_client() as admin,
        gateway.open_client(x_secret_key=callers.developer_key) as agent,
        gateway.open_client(
            x_public_key=callers.public_key, authorization=f"Bearer {create_token('developer')}"
        ) as token_holder,
        callers.open_service_client() as service,
    ):
        gate = (await admin.post("/api/gates", json={"owner": RECIPIENT, "name": "g", "waiters": [RECIPIENT]})).json()[
            "id"
        ]
        question = {"asker": RECIPIENT, "of": ["husam"], "question": "Ship it?", "freeText": True}
        decision = (await admin.post("/api/decisions", json=question)).json()

        async def resolve() -> bool:
            answer = await admin.put(f"/api/gates/{gate}/resolution", json={"reason": "victim"})
            assert answer.status_code == 200, answer.text
            return False

        async def decide() -> bool:
            body = {"text": "victim", "by": "husam", "contextHash": decision["contextHash"]}
            answer = await admin.put(f"/api/decisions/{decision['id']}/answer", json=body)
            assert answer.status_code == 200, answer.text
            return False

        async def deliver() -> bool:
            body = json.dumps("victim").encode()
            headers = SENDERS[Scheme.GITHUB].build_headers(body, 0, X_GitHub_Delivery="delivery-1")
            answer = await gateway.open_client().post("/hooks/github", content=body, headers=headers)
            assert answer.status_code == 202, answer.text
            return bool(answer.json()["duplicate"])

        async def leave() -> bool:
            await callers.read_queue(foreign.REDIS, ["left-1"], "victim")
            return False

        async def publish() -> bool:
            await callers.read_queue(foreign.NATS, ["published-1"], "victim")
            return False

        alert = Push(to=RECIPIENT, type=EventType.ALERT, source="ci", content="victim", subject="red")
        yield [
            *(
                prepare_own_push(callers, f"{kind}:1")
                for kind in ("msg", "plan", "tool", "mail", "note", "broadcast", "telegram")
            ),
            prepare_own_push(callers, f"{push_actions.ALERT_KEY_PREFIX}1"),
            PreparedPush(f"gate:{gate}", f"gate:{gate}", resolve),
            PreparedPush(f"decision:{decision['id']}:1", f"decision:{decision['id']}:1", decide),
            PreparedPush("delivery-1", "svc:github:delivery-1", deliver),
            PreparedPush("call-1", "svc:jira:call-1", prepare_trigger(admin, "call-1")),
            PreparedPush("own-1", f"by:{RECIPIENT}/trigger:jira:own-1", prepare_trigger(service, "own-1")),
            PreparedPush(
                (key := dedup.build_alert_key(alert)),
                key,
                prepare_push(admin, {"type": "alert", "source": "ci", "subject": "red"}),
            ),
            PreparedPush("ci:1", "ci:1", prepare_push(admin, {"dedupKey": "ci:1"})),
            PreparedPush("as:1", "as:1", prepare_push(admin, {"dedupKey": "as:1", "sender": "designer"})),
            PreparedPush("header-1", "header-1", prepare_push(admin, {}, "header-1")),
            PreparedPush("all-1", "all-1", prepare_push(admin, {"to": "*", "dedupKey": "all-1"})),
            PreparedPush("a-1", "by:developer:a-1", prepare_push(agent, {"dedupKey": "a-1"})),
            PreparedPush("agent-header-1", "by:developer:agent-header-1", prepare_push(agent, {}, "agent-header-1")),
            PreparedPush("aa-1", "by:developer:aa-1", prepare_push(agent, {"to": "*", "dedupKey": "aa-1"})),
            PreparedPush("t-1", "by:developer:t-1", prepare_push(token_holder, {"dedupKey": "t-1"})),
            PreparedPush("left-1", "redis:left-1", leave),
            PreparedPush("published-1", "nats:published-1", publish),
        ]


@pytest.fixture
async def callers(tmp_path: Path) -> AsyncIterator[PushCallers]:
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway:
        create_entities(gateway.store)
        trigger = TriggerSpec(name="github", scheme=Scheme.GITHUB, secret=SECRET, target=RECIPIENT)
        gateway.store.run_sync(triggers.add, trigger)
        yield PushCallers(gateway)


async def test_nobody_can_take_the_key_of_another(callers: PushCallers) -> None:
    async with prepare_victims(callers) as prepared_pushes:
        for squat, prefix in SQUATTERS.items():
            others = [
                prepared for prepared in prepared_pushes if prefix is None or not prepared.stored_key.startswith(prefix)
            ]
            await squat(callers, [key for prepared in others for key in {prepared.given_key, prepared.stored_key}])
        duplicates = [prepared.stored_key for prepared in prepared_pushes if await prepared.push()]
        contents = callers.read_contents()
        lost_pushes = {
            prepared.stored_key: contents.get(prepared.stored_key)
            for prepared in prepared_pushes
            if "victim" not in contents.get(prepared.stored_key, "")
        }
        assert (duplicates, lost_pushes) == ([], {})
