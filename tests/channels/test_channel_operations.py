"""Channels over HTTP: what is listed to whom, and who lets users in, as an attacker would try it."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
import pytest

from gatepost.channels import conversation_actions as conversations, pairing_actions as pairing
from gatepost.channels.conversation import PairingState
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import DeliveryMode, TriggerConfig
from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory
from gatepost.gateway.attempt_limits import AttemptLimits
from gatepost.testing import FakeClock
from tests.support.gateways.local_gateways import Gateway, create_entities, open_gateway

POSTGRES_BY_NIGHT = True

TOKEN = "123456:AAFabcdefghijklmnopqrstuvwxyz"
PAIRINGS = "/api/channels/pairings"
WRONG = "no request has this code, or it is not valid any more"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def gateway(url: str, clock: FakeClock) -> AsyncIterator[Gateway]:
    async with open_gateway(url, clock=clock) as gateway:
        create_entities(gateway.store)
        config = TriggerConfig(mode=DeliveryMode.WEBHOOK, public_url="https://example.org")
        spec = TriggerSpec(name="desk", provider="telegram", secret=TOKEN, target="analyst", config=config)
        gateway.store.run_sync(triggers.add, spec)
        yield gateway


@pytest.fixture
async def admin(gateway: Gateway) -> AsyncIterator[httpx2.AsyncClient]:
    async with gateway.open_client() as admin:
        yield admin


def ask(gateway: Gateway, user: int = 66, name: str = "Eve") -> str:
    """Ask to be let in, as a user of the bot; return the code."""

    def request(tx: Transaction) -> str | None:
        bot = triggers.show(tx, "desk")
        return pairing.request(tx, bot, chat=str(user), user_id=str(user), display=name, random_bits=user**9)

    code = gateway.store.run_sync(request)
    assert code is not None
    return code


def list_states(gateway: Gateway) -> list[PairingState]:
    return [entry.state for entry in gateway.store.read_sync(pairing.list_page)]


async def test_channels_are_listed_with_what_waits_and_what_is_wrong(
    gateway: Gateway, admin: httpx2.AsyncClient
) -> None:
    ask(gateway)
    bot = gateway.store.read_sync(triggers.show, "desk")
    gateway.store.run_sync(conversations.ensure_session, "telegram", "chat-9:user-9", trigger=bot)
    gateway.store.run_sync(conversations.ensure_session, "cli", "cli-main")
    gateway.store.run_sync(conversations.set_error, bot.number, "the token was refused")
    [cli, web, desk] = (await admin.get("/api/channels")).json()["items"]

    assert (cli["name"], cli["sessions"], cli["mode"]) == ("cli", 1, None)
    assert (web["name"], web["sessions"]) == ("web", 0)
    assert desk == {
        "name": "desk",
        "provider": "telegram",
        "mode": "webhook",
        "active": True,
        "error": "the token was refused",
        "sessions": 1,
        "requests": 1,
    }
    health = (await admin.get("/health")).json()
    assert (health["failingChannels"], health["unrouted"]) == (1, 0)
    assert "gatepost_failing_channels 1.0" in (await admin.get("/metrics")).text
    assert (await admin.get("/api/triggers/desk")).json()["error"] == "the token was refused"
    closed = await admin.patch("/api/triggers/desk", json={"active": False})
    assert closed.json()["error"] is None, "a bot that is closed does not fail"


async def test_sessions_are_listed_to_their_persons(gateway: Gateway, admin: httpx2.AsyncClient) -> None:
    bot = gateway.store.read_sync(triggers.show, "desk")
    husam = gateway.store.read_sync(directory.find, "husam")
    gateway.store.run_sync(
        conversations.ensure_session,
        "telegram",
        "chat--100:user-9",
        trigger=bot,
        person=husam,
        chat="-100",
        user_id="9",
    )
    gateway.store.run_sync(conversations.ensure_session, "cli", "cli-main")

    async def list_ids(client: httpx2.AsyncClient, **query: str) -> list[str]:
        answer = await client.get("/api/channels/sessions", params=query)
        assert answer.status_code == 200, answer.text
        return [item["sessionId"] for item in answer.json()["items"]]

    assert await list_ids(admin) == ["chat--100:user-9", "cli-main"]
    assert await list_ids(admin, channel="desk") == await list_ids(admin, channel="telegram") == ["chat--100:user-9"]
    assert await list_ids(admin, person="husam") == ["chat--100:user-9"]
    async with gateway.open_client(x_secret_key=gateway.create_key(entity="husam")) as own:
        assert await list_ids(own) == ["chat--100:user-9"]
    async with gateway.open_client(x_secret_key=gateway.create_key(entity="analyst")) as other:
        assert await list_ids(other) == []
        assert (await other.get("/api/channels/sessions?person=husam")).status_code == 403


async def test_a_user_is_let_in_refused_and_let_go(gateway: Gateway, admin: httpx2.AsyncClient) -> None:
    first, second = ask(gateway, 66), ask(gateway, 67, "Bob")
    waiting = (await admin.get(PAIRINGS, params={"state": "requested"})).json()["items"]
    assert [(item["userName"], item["userId"], item["state"]) for item in waiting] == [
        ("Eve", "66", "requested"),
        ("Bob", "67", "requested"),
    ]
    approved = (await admin.post(PAIRINGS, json={"code": first.lower(), "person": "husam"})).json()
    assert (approved["state"], approved["person"], approved["answeredBy"]) == ("approved", "husam", "admin")
    refused = (await admin.post(f"{PAIRINGS}/refuse", json={"code": second})).json()
    assert (refused["state"], refused["person"]) == ("denied", None)
    third = (await admin.post(PAIRINGS, json={"code": ask(gateway, 68, "Zoe")})).json()
    assert third["person"] == "zoe"
    ended = await admin.delete(f"{PAIRINGS}/{approved['id']}")
    assert (ended.status_code, ended.json()["state"]) == (200, "denied")
    assert (await admin.delete(f"{PAIRINGS}/{approved['id']}")).status_code == 409
    assert (await admin.delete(f"{PAIRINGS}/pair_{'0' * 32}")).status_code == 404


async def test_nobody_but_the_administrator_lets_users_in(gateway: Gateway) -> None:
    code = ask(gateway)
    request_id = gateway.store.read_sync(pairing.list_page)[0].id
    credentials: list[Mapping[str, str]] = [
        {"x_nobody": "yes"},
        {"x_secret_key": gateway.create_key(entity="husam")},
        {"x_secret_key": gateway.create_key(entity="analyst")},
        {"x_secret_key": gateway.create_key("trigger", "analyst")},
        {"x_secret_key": gateway.admin_key, "x_act_as": "husam"},
    ]
    for headers in credentials:
        async with gateway.open_client(**headers) as client:
            for method, path, body in (
                ("GET", "/api/channels", None),
                ("GET", PAIRINGS, None),
                ("POST", PAIRINGS, {"code": code, "person": "husam"}),
                ("POST", PAIRINGS, {"code": "wrong"}),
                ("POST", f"{PAIRINGS}/refuse", {"code": code}),
                ("DELETE", f"{PAIRINGS}/{request_id}", None),
            ):
                answer = await client.request(method, path, json=body)
                assert answer.status_code in (401, 403), (headers, method, path)
                assert "code" not in answer.json()["detail"]
    assert list_states(gateway) == [PairingState.REQUESTED]


async def test_a_used_an_old_and_a_guessed_code_are_the_same_to_the_caller(
    gateway: Gateway, admin: httpx2.AsyncClient, clock: FakeClock
) -> None:
    used_code, refused_code = ask(gateway, 66), ask(gateway, 67)
    await admin.post(PAIRINGS, json={"code": used_code})
    await admin.post(f"{PAIRINGS}/refuse", json={"code": refused_code})
    old_code = ask(gateway, 68)
    clock.advance("61 minutes")
    answers = [
        (await admin.post(path, json={"code": code})).json()
        for code in (used_code, refused_code, old_code, "AAAAAAAA")
        for path in (PAIRINGS, f"{PAIRINGS}/refuse")
    ]

    assert {(answer["status"], answer["detail"]) for answer in answers} == {(404, WRONG)}
    assert not any(code in str(answers) for code in (used_code, refused_code, old_code))
    states = [item["state"] for item in (await admin.get(PAIRINGS)).json()["items"]]
    assert states == ["approved", "denied", "expired"]
    assert (await admin.get(PAIRINGS, params={"state": "requested"})).json()["items"] == []


async def test_codes_cannot_be_guessed_with_many_requests(gateway: Gateway, admin: httpx2.AsyncClient) -> None:
    now = [1_000.0]
    object.__setattr__(gateway.app_state, "attempt_limits", AttemptLimits(lambda: now[0]))
    code = ask(gateway)
    statuses = [(await admin.post(PAIRINGS, json={"code": "AAAAAAAA"})).status_code for _ in range(25)]
    assert statuses == [404] * 20 + [429] * 5
    blocked = await admin.post(PAIRINGS, json={"code": code})
    assert (blocked.status_code, blocked.headers["retry-after"]) == (429, "60")
    assert list_states(gateway) == [PairingState.REQUESTED]
    now[0] += 61
    assert (await admin.post(PAIRINGS, json={"code": code})).status_code == 200


async def test_nothing_shows_a_code_or_a_token(gateway: Gateway, admin: httpx2.AsyncClient) -> None:
    code = ask(gateway)
    texts = [
        (await admin.get(path)).text
        for path in ("/api/channels", PAIRINGS, "/api/triggers", "/api/triggers/desk", "/health", "/metrics")
    ]
    texts.append((await admin.post(PAIRINGS, json={"code": code})).text)
    texts += [repr(gateway.store.read_sync(verb)) for verb in (pairing.list_page, conversations.list_statuses)]
    texts.append(repr(gateway.store.read_sync(triggers.show, "desk")))

    for text in texts:
        assert code not in text
        assert "AAFabc" not in text


async def test_a_person_is_named_and_exists(gateway: Gateway, admin: httpx2.AsyncClient) -> None:
    code = ask(gateway)
    wrong_persons: dict[str, int] = {"nobody": 404, "analyst": 422}
    for person, status in wrong_persons.items():
        answer: Any = await admin.post(PAIRINGS, json={"code": code, "person": person})
        assert answer.status_code == status, answer.text
    gateway.store.run_sync(directory.retire, "husam")
    assert (await admin.post(PAIRINGS, json={"code": code, "person": "husam"})).status_code == 403
    assert list_states(gateway) == [PairingState.REQUESTED]
