"""
Webhooks: the methods that set them, and the delivery of updates, which a test drives with `deliver`.

An answer other than 2xx, or none, is a failed attempt. The second attempt may follow at once, the next ones after 2, 4,
8 seconds and so on up to a minute, or after the `Retry-After` of the answer up to an hour, by the clock of the server.
An update is given up after 24 hours.

With one connection updates arrive in order, and a failed one holds up all later ones. With more, only updates of the
same chat wait for each other. The real server lets other chats overtake with one connection too: `can_overtake`.
"""

import asyncio
import ipaddress
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from tests.telegram import formats
from tests.telegram.formats import Json
from tests.telegram.rules import Arguments, Refusal, read_allowed_updates
from tests.telegram.state import Bot, Webhook, World
from tests.telegram.updates import PendingUpdate

_PORTS: Final = frozenset({80, 88, 443, 8443})
_MAX_DELAY: Final = 60.0
_MAX_RETRY_AFTER: Final = 3600.0
#: real seconds that a webhook may take for its answer
_TIMEOUT: Final = 20.0


class Described:
    """A result with a description beside it."""

    def __init__(self, result: Any, description: str) -> None:
        self.result = result
        self.description = description


@dataclass(frozen=True)
class Delivery:
    """One attempt: the update, its number, and the status of the answer, or None if there was no answer."""

    update_id: int
    attempt: int
    status: int | None


class Webhooks:
    def __init__(self, world: World, *, allows_http: bool) -> None:
        self._world = world
        self._allows_http = allows_http
        self.can_overtake = False
        self.deliveries: list[Delivery] = []
        self.methods = {
            "setWebhook": self._set_webhook,
            "deleteWebhook": self._delete_webhook,
            "getWebhookInfo": self._get_info,
        }

    def _set_webhook(self, bot: Bot, arguments: Arguments) -> Described:
        url = arguments.get_text("url")
        if not url:
            return self._delete_webhook(bot, arguments)
        secret = arguments.get_text("secret_token")
        if "secret_token" in arguments and not secret:
            raise Refusal(400, "secret token must have 1-256 characters")
        if len(secret) > 256:
            raise Refusal(400, "secret token is too long")
        if not re.fullmatch(r"[A-Za-z0-9_-]*", secret):
            raise Refusal(400, "secret token contains unallowed characters")
        webhook = Webhook(
            url=url,
            max_connections=arguments.get_integer("max_connections", 40, 1, 100),
            secret_token=secret,
            ip_address=arguments.get_text("ip_address"),
        )
        kinds = read_allowed_updates(arguments)
        self._check_url(url)
        if bot.poll is not None:
            bot.poll.end(Refusal(409, "terminated by setWebhook request"))
        if arguments.get_flag("drop_pending_updates"):
            bot.queue.pending.clear()
        if kinds is not None:
            bot.allowed_updates = kinds
        old = bot.webhook
        is_same = old is not None and (old.url, old.max_connections, old.secret_token) == (
            webhook.url,
            webhook.max_connections,
            webhook.secret_token,
        )
        if is_same:
            return Described(True, "Webhook is already set")
        bot.webhook = webhook
        return Described(True, "Webhook was set")

    def _check_url(self, url: str) -> None:
        problem = "bad webhook: "
        try:
            parts = urlsplit(url)
            port = parts.port or (80 if parts.scheme == "http" else 443)
        except ValueError:
            raise Refusal(400, "invalid webhook URL specified") from None
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise Refusal(400, "invalid webhook URL specified")
        try:
            is_loopback = parts.hostname == "localhost" or ipaddress.ip_address(parts.hostname).is_loopback
        except ValueError:
            is_loopback = False
        if is_loopback and self._allows_http:
            return
        if parts.scheme == "http":
            raise Refusal(400, f"{problem}An HTTPS URL must be provided for webhook")
        if port not in _PORTS:
            raise Refusal(400, f"{problem}Webhook can be set up only on ports 80, 88, 443 or 8443")
        if is_loopback:
            raise Refusal(400, f"{problem}IP address {parts.hostname} is reserved")

    def _delete_webhook(self, bot: Bot, arguments: Arguments) -> Described:
        if arguments.get_flag("drop_pending_updates"):
            bot.queue.pending.clear()
        had_webhook, bot.webhook = bot.webhook is not None, None
        return Described(True, "Webhook was deleted" if had_webhook else "Webhook is already deleted")

    def _get_info(self, bot: Bot, _: Arguments) -> Json:
        bot.queue.expire(self._world.now())
        return formats.format_webhook_info(bot)

    async def deliver(self, bot: Bot, *, is_forced: bool) -> list[Delivery]:
        """Post each update that is due once, in the loop of the server, and return the attempts as they ended."""
        with self._world.change():
            webhook = bot.webhook
            assert webhook is not None, "the bot has no webhook"
            bot.queue.expire(self._world.now())
            lanes: defaultdict[int, list[PendingUpdate]] = defaultdict(list)
            is_ordered = webhook.max_connections == 1 and not self.can_overtake
            for update in bot.queue.pending:
                lanes[0 if is_ordered else update.lane].append(update)
        attempts: list[Delivery] = []
        connections = asyncio.Semaphore(webhook.max_connections)
        async with (
            httpx2.AsyncClient(timeout=_TIMEOUT, verify=False, trust_env=False) as http,
            asyncio.TaskGroup() as tasks,
        ):
            for lane in lanes.values():
                tasks.create_task(self._deliver_lane(http, connections, bot, webhook, lane, attempts, is_forced))
        return attempts

    async def _deliver_lane(
        self,
        http: httpx2.AsyncClient,
        connections: asyncio.Semaphore,
        bot: Bot,
        webhook: Webhook,
        updates: list[PendingUpdate],
        attempts: list[Delivery],
        is_forced: bool,
    ) -> None:
        for update in updates:
            if update.due > self._world.now() and not is_forced:
                return
            async with connections:
                status, retry_after, error = await self._post(http, webhook, update)
            with self._world.change():
                update.attempts += 1
                delivery = Delivery(update.id, update.attempts, status)
                attempts.append(delivery)
                self.deliveries.append(delivery)
                if not error:
                    bot.queue.remove(update)
                    continue
                now = self._world.now()
                delay = 0.0 if update.attempts == 1 else min(_MAX_DELAY, 2.0 ** (update.attempts - 1))
                update.due = now + (min(retry_after, _MAX_RETRY_AFTER) or delay)
                webhook.last_error = (now, error)
                return

    async def _post(
        self, http: httpx2.AsyncClient, webhook: Webhook, update: PendingUpdate
    ) -> tuple[int | None, float, str]:
        """Return the status of the answer, the seconds of its Retry-After, and what went wrong."""
        headers = {"Content-Type": "application/json"}
        if webhook.secret_token:
            headers["X-Telegram-Bot-Api-Secret-Token"] = webhook.secret_token
        try:
            answer = await http.post(webhook.url, content=json.dumps(update.body), headers=headers)
        except httpx2.TransportError as error:
            return None, 0.0, f"Connection failed: {type(error).__name__}"
        if answer.is_success:
            return answer.status_code, 0.0, ""
        retry_after = answer.headers.get("retry-after", "")
        message = f"Wrong response from the webhook: {answer.status_code} {answer.reason_phrase}"
        return answer.status_code, float(retry_after) if retry_after.isdecimal() else 0.0, message
