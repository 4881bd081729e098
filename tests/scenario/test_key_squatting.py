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

from gatepost.actions import inbox, push, triggers
from gatepost.actions.triggers import TriggerSpec
from gatepost.core import dedup, foreign
from gatepost.core.event import EventType, Push
from gatepost.core.webhook import Scheme
from gatepost.ports import QueuedEntry
from gatepost.runtime.queue_reader import QueueReader
from tests.gateways import Gateway, furnish, gateway, token
from tests.senders import SENDERS

TO: Final = "analyst"
SECRET: Final = SENDERS[Scheme.GITHUB].secret


class Letters:
    """An intake queue with what a program has left for one agent."""

    def __init__(self, source: str, ids: Iterable[str], content: str) -> None:
        self.source = source
        self._entries = [
            QueuedEntry(TO, json.dumps({"eventId": id, "type": "event", "content": content}).encode()) for id in ids
        ]

    async def open(self) -> None:
        pass

    async def agents(self) -> list[str]:
        return [TO]

    async def take(self, agents: Sequence[str]) -> list[QueuedEntry]:
        taken, self._entries = self._entries[:50], self._entries[50:]
        return taken

    async def settle(self, entries: Sequence[tuple[QueuedEntry, str | None]]) -> None:
        pass

    async def close(self) -> None:
        pass


class Office:
    """A gateway, and everybody who can push to the analyst through it or beside it."""

    def __init__(self, made: Gateway) -> None:
        self.made = made
        self.store = made.store
        self.designer, self.developer = made.key("agent", "designer"), made.key("agent", "developer")
        self.trigger = made.key("trigger", TO)
        self.public = made.key("public")

    def admin(self) -> httpx2.AsyncClient:
        return self.made.client()

    def agent(self) -> httpx2.AsyncClient:
        return self.made.client(x_secret_key=self.designer)

    def person(self) -> httpx2.AsyncClient:
        return self.made.client(x_public_key=self.public, authorization=f"Bearer {token('husam')}")

    def service(self) -> httpx2.AsyncClient:
        return self.made.client(x_secret_key=self.trigger)

    async def collect(self, road: str, ids: Iterable[str], content: str) -> None:
        """Take in what another program has put into a list in Redis, or published on a subject of NATS."""
        await QueueReader(Letters(road, ids, content), self.store).read_all_queues()

    def contents(self) -> dict[str | None, str]:
        """What the analyst would be shown, by the stored key."""
        shown = self.store.query(inbox.peek, TO, limit=1_000)
        return {item.event.key: item.event.content or json.dumps(item.event.data) for item in shown}


async def push_all(client: httpx2.AsyncClient, keys: Sequence[str], content: str) -> None:
    """Push with every key, to the analyst and to everybody, and with some as an Idempotency-Key."""
    pushes = [{"to": to, "content": content, "dedupKey": key} for to in (TO, "*") for key in keys]
    assert (await client.post("/api/inbox/batch", json={"pushes": pushes})).status_code == 200
    for key in (key for key in keys if "header" in key):
        body, headers = {"to": TO, "content": content}, {"idempotency-key": key}
        assert (await client.post("/api/inbox", json=body, headers=headers)).status_code in (201, 422)


async def by_agent(office: Office, keys: Sequence[str]) -> None:
    async with office.agent() as client:
        await push_all(client, keys, "by an agent")


async def by_person(office: Office, keys: Sequence[str]) -> None:
    async with office.person() as client:
        await push_all(client, keys, "by a JWT")


async def by_service(office: Office, keys: Sequence[str]) -> None:
    """Trigger with every key, in the name of the services that they belong to."""
    async with office.service() as client:
        for key in keys:
            service = "github" if "delivery" in key else "jira"
            body, headers = {"serviceName": service, "payload": "by a service"}, {"idempotency-key": key}
            answer = await client.post(f"/api/agents/{TO}/trigger", json=body, headers=headers)
            assert answer.status_code in (202, 422)


async def by_administrator(office: Office, keys: Sequence[str]) -> None:
    """Whoever has the administrator's key needs no tricks: only what is stored for others is out of its reach."""
    stored = [key for key in keys if key.startswith(dedup.PREFIXES)]
    pushes = [{"to": to, "content": "by the administrator", "dedupKey": key} for to in (TO, "*") for key in stored]
    async with office.admin() as client:
        answers = (await client.post("/api/inbox/batch", json={"pushes": pushes})).json()["items"]
        call = await client.post(
            f"/api/agents/{TO}/trigger", json={"serviceName": "jira"}, headers={"idempotency-key": stored[0]}
        )
    for answer in (*answers, call.json()):
        assert answer["status"] == 422
        assert "begins with" in answer["detail"]


async def by_redis(office: Office, keys: Sequence[str]) -> None:
    await office.collect(foreign.REDIS, keys, "by Redis")


async def by_nats(office: Office, keys: Sequence[str]) -> None:
    await office.collect(foreign.NATS, keys, "by NATS")


#: everybody who tries, and how the keys begin that are theirs
SQUATTERS: Final = {
    by_agent: "by:designer:",
    by_person: "by:husam:",
    by_service: f"by:{TO}/trigger:",
    by_administrator: None,
    by_redis: dedup.REDIS,
    by_nats: dedup.NATS,
}


class Prepared(NamedTuple):
    #: as whoever it belongs to gives it, and as it is stored
    given: str
    stored: str
    #: returns whether it was told that this is a repeat
    act: Callable[[], Awaitable[bool]]


def pushed(client: httpx2.AsyncClient, body: dict[str, Any], key: str | None = None) -> Callable[[], Awaitable[bool]]:
    async def act() -> bool:
        headers = {"idempotency-key": key} if key is not None else {}
        answer = await client.post("/api/inbox", json={"to": TO, "content": "victim"} | body, headers=headers)
        assert answer.status_code == 201, answer.text
        document = answer.json()
        return bool((document if "broadcast" in document else document["recipients"][0])["duplicate"])

    return act


def triggered(client: httpx2.AsyncClient, key: str) -> Callable[[], Awaitable[bool]]:
    async def act() -> bool:
        body, headers = {"serviceName": "jira", "payload": "victim"}, {"idempotency-key": key}
        answer = await client.post(f"/api/agents/{TO}/trigger", json=body, headers=headers)
        assert answer.status_code == 202, answer.text
        return bool(answer.json()["duplicate"])

    return act


def own(office: Office, key: str) -> Prepared:
    """A key of one of our own verbs, used as the verb uses it."""

    async def act() -> bool:
        wish = Push(to=TO, source="gatepost", content="victim", key=key)
        return office.store.call(push.push_event, wish).deliveries[0].duplicate

    return Prepared(key, key, act)


@asynccontextmanager
async def victims(office: Office) -> AsyncIterator[list[Prepared]]:
    """Everything that somebody is about to say."""
    made = office.made
    async with (
        office.admin() as admin,
        made.client(x_secret_key=office.developer) as agent,
        made.client(x_public_key=office.public, authorization=f"Bearer {token('developer')}") as token_holder,
        office.service() as service,
    ):
        gate = (await admin.post("/api/gates", json={"owner": TO, "name": "g", "waiters": [TO]})).json()["id"]
        question = {"asker": TO, "of": ["husam"], "question": "Ship it?", "freeText": True}
        asked = (await admin.post("/api/decisions", json=question)).json()

        async def resolve() -> bool:
            answer = await admin.put(f"/api/gates/{gate}/resolution", json={"reason": "victim"})
            assert answer.status_code == 200, answer.text
            return False

        async def decide() -> bool:
            body = {"text": "victim", "by": "husam", "contextHash": asked["contextHash"]}
            answer = await admin.put(f"/api/decisions/{asked['id']}/answer", json=body)
            assert answer.status_code == 200, answer.text
            return False

        async def deliver() -> bool:
            body = json.dumps("victim").encode()
            headers = SENDERS[Scheme.GITHUB].headers(body, 0, X_GitHub_Delivery="delivery-1")
            answer = await made.client().post("/hooks/github", content=body, headers=headers)
            assert answer.status_code == 202, answer.text
            return bool(answer.json()["duplicate"])

        async def leave() -> bool:
            await office.collect(foreign.REDIS, ["left-1"], "victim")
            return False

        async def publish() -> bool:
            await office.collect(foreign.NATS, ["published-1"], "victim")
            return False

        alert = Push(to=TO, type=EventType.ALERT, source="ci", content="victim", subject="red")
        yield [
            *(own(office, f"{kind}:1") for kind in ("msg", "plan", "tool", "mail", "note", "broadcast", "telegram")),
            own(office, f"{push.ALERT_KEY_PREFIX}1"),
            Prepared(f"gate:{gate}", f"gate:{gate}", resolve),
            Prepared(f"decision:{asked['id']}:1", f"decision:{asked['id']}:1", decide),
            Prepared("delivery-1", "svc:github:delivery-1", deliver),
            Prepared("call-1", "svc:jira:call-1", triggered(admin, "call-1")),
            Prepared("own-1", f"by:{TO}/trigger:jira:own-1", triggered(service, "own-1")),
            Prepared(
                (key := dedup.build_alert_key(alert)),
                key,
                pushed(admin, {"type": "alert", "source": "ci", "subject": "red"}),
            ),
            Prepared("ci:1", "ci:1", pushed(admin, {"dedupKey": "ci:1"})),
            Prepared("as:1", "as:1", pushed(admin, {"dedupKey": "as:1", "sender": "designer"})),
            Prepared("header-1", "header-1", pushed(admin, {}, "header-1")),
            Prepared("all-1", "all-1", pushed(admin, {"to": "*", "dedupKey": "all-1"})),
            Prepared("a-1", "by:developer:a-1", pushed(agent, {"dedupKey": "a-1"})),
            Prepared("agent-header-1", "by:developer:agent-header-1", pushed(agent, {}, "agent-header-1")),
            Prepared("aa-1", "by:developer:aa-1", pushed(agent, {"to": "*", "dedupKey": "aa-1"})),
            Prepared("t-1", "by:developer:t-1", pushed(token_holder, {"dedupKey": "t-1"})),
            Prepared("left-1", "redis:left-1", leave),
            Prepared("published-1", "nats:published-1", publish),
        ]


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with gateway(f"sqlite:///{tmp_path}/office.db") as made:
        furnish(made.store)
        wish = TriggerSpec(name="github", scheme=Scheme.GITHUB, secret=SECRET, target=TO)
        made.store.call(triggers.add, wish)
        yield Office(made)


async def test_nobody_can_take_the_key_of_another(office: Office) -> None:
    async with victims(office) as about_to:
        for squat, prefix in SQUATTERS.items():
            others = [one for one in about_to if prefix is None or not one.stored.startswith(prefix)]
            await squat(office, [key for one in others for key in {one.given, one.stored}])
        duplicates = [one.stored for one in about_to if await one.act()]
        shown = office.contents()
        lost = {one.stored: shown.get(one.stored) for one in about_to if "victim" not in shown.get(one.stored, "")}
        assert (duplicates, lost) == ([], {})
