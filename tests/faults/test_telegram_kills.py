"""
A gateway with a Telegram bot that is killed: every update is one event, nothing that was said is lost, and no recording
delays a text.

Some tests kill `gatepost up`. The others kill a process that does the same at each point between fetch, commit and
confirm, in both modes, with numbers that begin anew, poisoned recordings and 429s in between (`telegram_case.py`).
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from gatepost.app import open_store, register_administrator
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import DeliveryMode, TriggerConfig
from gatepost.core.ports import Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import claim_actions as inbox
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import User
from tests.faults.forked_tasks import TaskProgram
from tests.faults.telegram_case import FIRST_NUMBERS, PROGRAM, Plan, Point
from tests.support.gateways.gateway_process import GatewayProcess, run_gateway_process
from tests.support.servers.private_servers import wait_until


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with TelegramServer(has_limits=False, allows_http_webhooks=True) as server:
        yield server


@pytest.fixture
def ana(server: TelegramServer) -> User:
    return server.add_user(7, "Ana")


@pytest.fixture
def home(tmp_path: Path, server: TelegramServer) -> Path:
    (tmp_path / "gatepost.toml").write_text(f'[telegram]\napi = "{server.url}"\n[janitor]\ninterval = "1s"\n')
    return tmp_path


def open_home(home: Path) -> Store:
    return open_store(f"sqlite:///{home}/gatepost.db")


def add_bot(home: Path, server: TelegramServer, **config: Any) -> None:
    with closing(open_home(home)) as store:
        store.migrate()
        register_administrator(store)
        store.run_sync(directory.register, EntitySpec(name="analyst", kind=EntityKind.AGENT))
        spec = TriggerSpec(
            name="helper",
            provider="telegram",
            secret=server.token,
            target="analyst",
            config=TriggerConfig(allow=(7,), **config),
        )
        store.run_sync(triggers.add, spec)


def list_contents(home: Path) -> list[str]:
    with closing(open_home(home)) as store:
        return [item.event.content for item in store.read_sync(inbox.list_page, "analyst", limit=1_000)]


def is_delivered(server: TelegramServer) -> bool:
    """Let Telegram send what waits; return whether all of it was taken."""
    server.deliver_pending(is_forced=True)
    return not server.bot.queue.pending


def kill_gateway(gateway: GatewayProcess) -> None:
    """Kill the gateway, and let the time pass in which nobody else may do what it was at: its leases and its jobs."""
    gateway.kill()
    with closing(sqlite3.connect(gateway.home / "gatepost.db")) as database, database:
        database.execute("UPDATE leases SET deadline = 1 WHERE deadline > 1")
        database.execute("UPDATE jobs SET deadline = 1 WHERE deadline > 1")


def kill_while_held(server: TelegramServer, gateway: GatewayProcess, ana: User, method: str, text: str) -> None:
    """Kill the gateway while a request of it waits at the server."""
    hold = server.hold(method)
    server.send_text(ana, text)
    if method == "getUpdates":
        server.wait_for(lambda: server.requests["getUpdates"])
    hold.wait_until_reached()
    kill_gateway(gateway)
    hold.release()
    server.clear_faults()
    gateway.start()


def test_every_update_is_one_event_whenever_the_poller_is_killed(server: TelegramServer, ana: User, home: Path) -> None:
    add_bot(home, server)
    with run_gateway_process(home) as gateway:
        server.wait_for(server.is_polling)
        server.send_text(ana, "0")
        server.wait_for(lambda: not server.bot.queue.pending)
        # the next request, which confirms nothing yet, is held after the commit of "1"
        kill_while_held(server, gateway, ana, "getUpdates", "1")
        server.answer("getUpdates", 2, status=429, description="Too Many Requests", retry_after=1)
        server.wait_for(lambda: not server.bot.queue.pending)
        for number in (2, 3, 4):
            server.send_text(ana, str(number))
        kill_gateway(gateway)
        gateway.start()
        server.inject({"update_id": "poison"})
        server.send_text(ana, "5")
        server.wait_for(lambda: not server.bot.queue.pending)
        gateway.stop()

    assert list_contents(home) == [str(number) for number in range(6)]


def test_an_answer_is_sent_at_least_once_if_the_sender_is_killed(server: TelegramServer, ana: User, home: Path) -> None:
    add_bot(home, server)
    with run_gateway_process(home) as gateway:
        server.wait_for(server.is_polling)
        kill_while_held(server, gateway, ana, "sendMessage", "/ping")
        # a later message does not overtake the job of the killed process
        server.send_text(ana, "/help")
        server.wait_for(lambda: "/reset" in [*server.sent(ana)][-1].text)
        gateway.stop()

    texts = [message.text for message in server.sent(ana)]
    assert texts[:-1] == ["pong", "pong"], "once by the process that was killed, and once more"


def test_every_update_is_one_event_if_the_webhook_is_killed(server: TelegramServer, ana: User, home: Path) -> None:
    add_bot(home, server, mode=DeliveryMode.WEBHOOK, public_url="http://127.0.0.1:1")
    with run_gateway_process(home) as gateway:
        server.wait_for(lambda: server.bot.webhook is not None)
        assert server.bot.webhook is not None
        server.bot.webhook.url = f"{gateway.url}/channels/telegram/helper"
        secret = {"x-telegram-bot-api-secret-token": server.bot.webhook.secret_token}
        for number in range(6):
            server.send_text(ana, str(number))
            if number == 3:
                # it is taken, and Telegram does not learn of it
                update = json.dumps(server.bot.queue.pending[0].body)
                answer = httpx2.post(f"{gateway.url}/channels/telegram/helper", content=update, headers=secret)
                assert answer.status_code == 200
                gateway.kill()
                assert [delivery.status for delivery in server.deliver_pending()] == [None]
                gateway.start()
                assert server.bot.webhook is not None
                server.bot.webhook.url = f"{gateway.url}/channels/telegram/helper"
            wait_until(lambda: is_delivered(server), "the update is taken")
        gateway.stop()

    assert list_contents(home) == [str(number) for number in range(6)]


#: between the moment when an update comes and the one when Telegram forgets it: all of these
INTAKE_POINTS: Final = (
    *("after fetch", "before confirm", "after confirm", "request", "before answer", "answered"),
    *("before commit of take_updates", "after commit of take_updates"),
)
#: of what follows, the first and the last of each name
JOB_POINTS: Final = ("before commit of", "after commit of", *(f"after {call}" for call in ("download", "send_message")))
#: parts of all points, each of which is a test at night
SHARDS: Final = 8


@pytest.fixture(scope="module")
def program() -> Iterator[TaskProgram]:
    with TaskProgram(PROGRAM) as program:
        yield program


@pytest.fixture(scope="module")
def polling(program: TaskProgram, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return Plan(tmp_path_factory.mktemp("polling"), program, has_webhook=False)


@pytest.fixture(scope="module")
def webhook(program: TaskProgram, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return Plan(tmp_path_factory.mktemp("webhook"), program, has_webhook=True)


def list_grid(plan: Plan, time: int) -> list[Point]:
    """Return all points at which it is worth to be killed."""
    points = plan.list_points(time, *INTAKE_POINTS)
    points += [point for point in plan.list_ends(time, *JOB_POINTS) if point not in points]
    assert len(points) >= 40
    return points


def test_every_update_is_one_event_in_both_modes(polling: Plan, webhook: Plan) -> None:
    """What the other tests compare with."""
    assert all(list_grid(plan, time) for plan in (polling, webhook) for time in range(len(FIRST_NUMBERS)))
    assert polling.outcome == webhook.outcome
    keys = [key for _, key in (*polling.outcome.texts, *polling.outcome.recordings)]
    assert len(keys) == len(set(keys)) == 14, "the numbers of the second time were used before"
    assert [text for text, _ in polling.outcome.texts] == ["1.1", "1.2", "1.3", "2.1", "2.2", "2.3"]
    assert sorted({text for text, _ in polling.outcome.recordings}) == [
        "1 seconds of speech",
        "[voice, not transcribed]",
    ]
    assert set(polling.outcome.sent.values()) == {2}


@pytest.mark.parametrize(
    "point",
    ["after fetch", "after commit of take_updates", "after send_message", "after transcribe"],
)
def test_another_goes_on_for_a_poller_that_was_killed(polling: Plan, point: str) -> None:
    polling.check_kill(1, (point, 1))


@pytest.mark.parametrize("point", ["after commit of take_updates", "answered"])
def test_another_goes_on_for_a_webhook_that_was_killed(webhook: Plan, point: str) -> None:
    webhook.check_kill(1, (point, 4))


@pytest.mark.nightly
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("time", range(len(FIRST_NUMBERS)))
@pytest.mark.parametrize("mode", ["polling", "webhook"])
def test_one_is_killed_at_every_point(request: pytest.FixtureRequest, mode: str, time: int, shard: int) -> None:
    plan: Plan = request.getfixturevalue(mode)
    for point in list_grid(plan, time)[shard::SHARDS]:
        plan.check_kill(time, point)
