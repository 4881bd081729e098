"""Wrong secrets of webhooks and bots: 20 a minute for each address, then 429. A right one always gets in."""

import hmac
import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from gatepost.channels.telegram.background.bots import TelegramBots
from gatepost.channels.telegram.background.update_reader import TelegramIntake
from gatepost.channels.telegram.bot_port import derive_keys
from gatepost.channels.telegram.update import BotIdentity
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import DeliveryMode, TriggerConfig
from gatepost.channels.webhooks.verification import Scheme
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import NotFound, TooManyAttempts, Unauthorized
from gatepost.gateway import attempt_limits
from gatepost.gateway.attempt_limits import AttemptLimits, find_address
from tests.support.gateways.local_gateways import Gateway, GatewayThread, open_gateway

SECRET = "sixteen-chars-at-least"
WRONG = "sixteen-other-characters"
TOKEN = "123456:AAFabcdefghijklmnopqrstuvwxyz"


class Clock:
    """Seconds that only a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def gateway(tmp_path: Path, clock: Clock) -> AsyncIterator[Gateway]:
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway:
        object.__setattr__(gateway.app_state, "attempt_limits", AttemptLimits(clock))
        gateway.store.run_sync(directory.register, EntitySpec(name="analyst", kind=EntityKind.AGENT))
        for name, scheme in (("jira", Scheme.HEADER), ("shop", Scheme.HEADER), ("github", Scheme.GITHUB)):
            spec = TriggerSpec(name=name, scheme=scheme, secret=SECRET, target="analyst")
            gateway.store.run_sync(triggers.add, spec)
        yield gateway


def open_caller(gateway: Gateway, address: str = "203.0.113.7") -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(gateway.app, client=(address, 4000))
    return httpx2.AsyncClient(transport=transport, base_url="http://gateway")


async def deliver(caller: httpx2.AsyncClient, name: str, secret: str = WRONG) -> httpx2.Response:
    return await caller.post(f"/hooks/{name}", json={}, headers={"x-secret-key": secret})


async def test_the_21st_wrong_secret_of_a_minute_gets_429(gateway: Gateway, clock: Clock) -> None:
    async with open_caller(gateway) as caller:
        answers = []
        for _ in range(22):
            answers.append(await deliver(caller, "jira"))
            clock.now += 1
        assert [answer.status_code for answer in answers] == [401] * 20 + [429] * 2
        answer = answers[-1]
        assert (answer.json()["type"], answer.json()["title"]) == (
            "urn:gatepost:problem:too-many-attempts",
            "Too Many Requests",
        )
        assert answer.headers["retry-after"] == "39"  # the first was 21 seconds ago
        assert (await deliver(caller, "jira", SECRET)).status_code == 202, "nobody can shut out the real sender"
        assert (await deliver(caller, "jira")).status_code == 429
        clock.now += 39
        assert (await deliver(caller, "jira")).status_code == 401


async def test_a_right_secret_gets_in_after_any_number_of_wrong_ones(gateway: Gateway) -> None:
    async with open_caller(gateway) as guesser, open_caller(gateway, "203.0.113.8") as service:
        for _ in range(30):
            await deliver(guesser, "jira")
        assert (await deliver(service, "jira", SECRET)).status_code == 202
        assert (await deliver(guesser, "jira", SECRET)).status_code == 202
        assert (await deliver(guesser, "shop", SECRET)).status_code == 202
        assert (await deliver(guesser, "shop")).status_code == 429


async def test_right_secrets_are_never_limited(gateway: Gateway) -> None:
    async with open_caller(gateway) as service:
        statuses = {(await deliver(service, "jira", SECRET)).status_code for _ in range(50)}
    assert statuses == {202}


async def test_names_cannot_be_tried_in_numbers(gateway: Gateway) -> None:
    """From the 21st on, a name that exists and one that does not get the same answer."""
    async with open_caller(gateway) as guesser:
        statuses = [(await deliver(guesser, f"name-{number}")).status_code for number in range(22)]
        assert statuses == [404] * 20 + [429] * 2
        answers = [await deliver(guesser, name) for name in ("jira", "nosuch", "github")]
        bot_answer = await guesser.post("/channels/telegram/nosuch", json={})
    assert {(answer.status_code, answer.json()["detail"]) for answer in (*answers, bot_answer)} == {
        (429, "too many wrong attempts")
    }


async def test_wrong_signatures_count_too_and_a_right_one_gets_in(gateway: Gateway) -> None:
    headers = {"x-hub-signature-256": f"sha256={'0' * 64}", "x-github-event": "push", "x-github-delivery": "1"}
    right = hmac.digest(SECRET.encode(), b"{}", "sha256").hex()
    async with open_caller(gateway) as guesser:
        statuses = [
            (await guesser.post("/hooks/github", content=b"{}", headers=headers)).status_code for _ in range(21)
        ]
        headers["x-hub-signature-256"] = f"sha256={right}"
        answer = await guesser.post("/hooks/github", content=b"{}", headers=headers)
    assert [*statuses, answer.status_code] == [401] * 20 + [429, 202]


class FakeApi:
    """A Telegram that only says which bot it is."""

    async def get_me(self) -> BotIdentity:
        return BotIdentity(123456, "desk_bot")

    async def close(self) -> None:
        pass


async def test_wrong_secrets_of_a_bot_are_limited_and_the_right_one_gets_in(gateway: Gateway) -> None:
    config = TriggerConfig(mode=DeliveryMode.WEBHOOK, public_url="https://example.org")
    spec = TriggerSpec(name="desk", provider="telegram", secret=TOKEN, target="analyst", config=config)
    gateway.store.run_sync(triggers.add, spec)

    def open_api(_: str) -> Any:
        return FakeApi()

    intake = TelegramIntake(gateway.store, TelegramBots(gateway.store, open_api))
    object.__setattr__(gateway.app_state, "channels", SimpleNamespace(intake=intake))
    header = "x-telegram-bot-api-secret-token"
    right = derive_keys(TOKEN).webhook_secret
    update = json.dumps({"update_id": 1, "poll": {}}).encode()
    async with open_caller(gateway) as guesser, open_caller(gateway, "149.154.167.1") as telegram:
        statuses = [
            (await guesser.post("/channels/telegram/desk", content=update, headers={header: secret})).status_code
            for secret in ["", *["x" * 32] * 20, right]
        ]
        assert statuses == [401] * 20 + [429, 200]
        answer = await telegram.post("/channels/telegram/desk", content=update, headers={header: right})
        assert (answer.status_code, answer.json()["outcome"]) == (200, "repeated")


def fail(limits: AttemptLimits, address: str, target: str, error: type[Exception] = Unauthorized) -> str:
    """Fail once; return the name of the error that came of it."""
    try:
        with limits.watch({"client": (address, 1)}, target):
            raise error("wrong")
    except (Unauthorized, NotFound, TooManyAttempts) as raised:
        return type(raised).__name__


def test_failures_are_forgotten_one_by_one(clock: Clock) -> None:
    limits = AttemptLimits(clock)
    for _ in range(20):
        assert fail(limits, "203.0.113.7", "jira") == "Unauthorized"
        clock.now += 2
    assert fail(limits, "203.0.113.7", "jira") == "TooManyAttempts"
    clock.now += 20  # the first is a minute old
    assert fail(limits, "203.0.113.7", "jira") == "Unauthorized"
    assert fail(limits, "203.0.113.7", "jira") == "TooManyAttempts"


def test_many_addresses_take_little_memory(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_limits, "_MAX_COUNTS", 50)
    limits = AttemptLimits(clock)
    for number in range(500):
        fail(limits, f"203.0.113.{number % 200}", f"name-{number}")
        fail(limits, "203.0.113.250", "x" * 10_000, NotFound)
    assert len(limits._failures) == 50
    assert all(len(target or "") < 100 for _, target in limits._failures), "names that nobody has are not kept"
    assert fail(limits, "203.0.113.250", "other", NotFound) == "TooManyAttempts", "who fails often is remembered"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
    ],
)
def test_an_address_of_ipv6_stands_for_its_network(host: str, address: str) -> None:
    assert find_address({"client": (host, 1)}) == address
    assert find_address({"client": None}) == ""


async def test_behind_a_proxy_on_this_machine_the_callers_are_told_apart(gateway_thread: GatewayThread) -> None:
    async with gateway_thread.open_client() as proxy:

        async def forward(address: str) -> int:
            answer = await proxy.post("/hooks/nosuch", json={}, headers={"x-forwarded-for": f"10.0.0.1, {address}"})
            return answer.status_code

        assert [await forward("203.0.113.7") for _ in range(21)] == [404] * 20 + [429]
        assert await forward("203.0.113.8") == 404
