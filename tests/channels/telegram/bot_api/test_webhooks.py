"""Webhooks: what may be set, and how updates are delivered."""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.channels.telegram.bot_api.bot_client import FAKE, BotClient
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import User

pytestmark = pytest.mark.nightly_unless_changed(*FAKE, "tests/channels/telegram/bot_api/test_webhooks.py")


class Receiver:
    """A webhook that answers as the test says: with a status and headers."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.answer: Callable[[Any], tuple[int, dict[str, str]]] = lambda _: (200, {})
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                """Nothing is printed."""

            def do_POST(self) -> None:
                update = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver.updates.append(update)
                receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
                status, headers = receiver.answer(update)
                self.send_response(status)
                for name, value in {"Content-Length": "0", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def texts(self) -> list[str]:
        return [update["message"]["text"] for update in self.updates]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def test_a_webhook_needs_https_and_a_usual_port() -> None:
    with TelegramServer() as telegram:
        client = BotClient(telegram)
        for url, error in [
            ("http://example.org/hook", "bad webhook: An HTTPS URL must be provided for webhook"),
            ("https://example.org:9000/", "bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443"),
            ("https://127.0.0.1/hook", "bad webhook: IP address 127.0.0.1 is reserved"),
            ("http://127.0.0.1:9000/hook", "bad webhook: An HTTPS URL must be provided for webhook"),
            ("ftp://example.org", "invalid webhook URL specified"),
            ("https://", "invalid webhook URL specified"),
            ("https://example.org:x/", "invalid webhook URL specified"),
            ("", "the test server removes a webhook by deleteWebhook alone"),
        ]:
            values = {"url": url, "max_connections": 1}
            assert client.refuse("setWebhook", 400, **values) == f"Bad Request: {error}"
        assert client.call("setWebhook", url="https://example.org:8443/hook", max_connections=1) is True
        client.http.close()


def test_the_settings_of_a_webhook_are_checked(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    values: dict[str, Any] = {"url": "https://example.org/hook"}
    for secret, error in [("", "1-256"), ("x" * 257, "too long"), ("a b", "unallowed characters"), ("é", "unallowed")]:
        assert error in client.refuse("setWebhook", 400, **values, secret_token=secret)
    for count in (0, 2, None):
        assert "max_connections" in client.refuse("setWebhook", 400, **values, max_connections=count)
    values["max_connections"] = 1
    assert "unknown parameter" in client.refuse("setWebhook", 400, **values, drop_pending_updates=True)
    assert client.call("setWebhook", **values, secret_token="x" * 256, allowed_updates=["message"]) is True
    webhook = telegram.bot.webhook
    assert webhook is not None
    assert (webhook.url, webhook.secret_token) == (values["url"], "x" * 256)
    message = telegram.send_text(ana, "pending")
    telegram.edit_text(message, "not wanted")
    assert client.call("deleteWebhook", drop_pending_updates=False) is True
    assert len(client.poll()) == 1
    assert client.call("deleteWebhook", drop_pending_updates=True) is True
    assert client.poll() == []


def test_updates_are_posted_in_order_with_the_secret(
    telegram: TelegramServer, client: BotClient, ana: User, receiver: Receiver
) -> None:
    client.call("setWebhook", url=receiver.url, secret_token="a-secret_1", max_connections=1)
    for text in "abc":
        telegram.send_text(ana, text)
    assert [delivery.status for delivery in telegram.deliver_pending()] == [200, 200, 200]
    assert receiver.texts == ["a", "b", "c"]
    assert {headers["x-telegram-bot-api-secret-token"] for headers in receiver.headers} == {"a-secret_1"}
    assert {headers["content-type"] for headers in receiver.headers} == {"application/json"}
    assert telegram.deliver_pending() == []
    assert telegram.bot.queue.pending == []


def test_a_failed_update_is_tried_again_by_the_schedule(
    telegram: TelegramServer, client: BotClient, ana: User, receiver: Receiver
) -> None:
    client.call("setWebhook", url=receiver.url, max_connections=1)
    receiver.answer = lambda _: (500, {})
    telegram.send_text(ana, "a")
    telegram.send_text(ana, "b")
    waits = []
    for attempt in range(1, 10):
        [delivery] = telegram.deliver_pending()
        assert (delivery.attempt, delivery.status) == (attempt, 500)
        waits.append(telegram.bot.queue.pending[0].due - telegram.now())
        telegram.advance(waits[-1])
    assert waits == [0.0, 2, 4, 8, 16, 32, 60, 60, 60]
    assert "x-telegram-bot-api-secret-token" not in receiver.headers[0]
    receiver.answer = lambda _: (204, {})
    assert [delivery.attempt for delivery in telegram.deliver_pending()] == [10, 1]
    assert receiver.texts[-2:] == ["a", "b"]


def test_retry_after_and_silence_are_failures_too(
    telegram: TelegramServer, client: BotClient, ana: User, receiver: Receiver
) -> None:
    client.call("setWebhook", url=receiver.url, max_connections=1)
    receiver.answer = lambda _: (429, {"Retry-After": "30"})
    telegram.send_text(ana, "a")
    assert [delivery.status for delivery in telegram.deliver_pending()] == [429]
    telegram.advance(29)
    assert telegram.deliver_pending() == []
    receiver.close()
    assert [delivery.status for delivery in telegram.deliver_pending(is_forced=True)] == [None]
    telegram.advance(24 * 3600)
    assert telegram.deliver_pending() == []
    assert telegram.bot.queue.pending == []


def test_a_failed_update_holds_up_the_later_ones(
    telegram: TelegramServer, client: BotClient, ana: User, receiver: Receiver
) -> None:
    ben = telegram.add_user(12, "Ben")
    client.call("setWebhook", url=receiver.url, max_connections=1)
    receiver.answer = lambda update: (500 if update["message"]["text"] == "a1" else 200, {})
    telegram.send_text(ana, "a1")
    telegram.send_text(ben, "b1")
    telegram.send_text(ana, "a2")
    telegram.deliver_pending()
    assert receiver.texts == ["a1"]


async def test_a_loop_that_receives_may_drive_the_delivery(
    telegram: TelegramServer, client: BotClient, ana: User, receiver: Receiver
) -> None:
    client.call("setWebhook", url=receiver.url, max_connections=1)
    telegram.send_text(ana, "a")
    [delivery] = await telegram.deliver()
    assert (delivery.attempt, delivery.status) == (1, 200)
