"""
Webhooks: the methods that set them, and the delivery of updates, which a test drives with `deliver`.

An answer other than 2xx, or none, is a failed attempt. The second attempt may follow at once, the next ones after 2, 4,
8 seconds and so on up to a minute, or after the `Retry-After` of the answer up to an hour, by the clock of the server.
An update is given up after 24 hours.

There is one connection: updates arrive in order, and a failed one holds up all later ones. The real server lets other
chats overtake.
"""

import ipaddress
import json
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx2

from tests.channels.telegram.bot_api.rules import Arguments, Refusal, read_allowed_updates
from tests.channels.telegram.bot_api.state import Bot, Webhook, World
from tests.channels.telegram.bot_api.updates import PendingUpdate
from tests.support.waits import LAST_RESORT

_PORTS: Final = frozenset({80, 88, 443, 8443})
_MAX_DELAY: Final = 60.0
_MAX_RETRY_AFTER: Final = 3600.0


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
        self.methods = {"setWebhook": self._set_webhook, "deleteWebhook": self._delete_webhook}

    def _set_webhook(self, bot: Bot, arguments: Arguments) -> bool:
        url = arguments.get_text("url")
        if not url:
            raise Refusal(400, "the test server removes a webhook by deleteWebhook alone")
        secret = arguments.get_text("secret_token")
        if "secret_token" in arguments and not secret:
            raise Refusal(400, "secret token must have 1-256 characters")
        if len(secret) > 256:
            raise Refusal(400, "secret token is too long")
        if not re.fullmatch(r"[A-Za-z0-9_-]*", secret):
            raise Refusal(400, "secret token contains unallowed characters")
        arguments.get_integer("max_connections", 40, 1, 1)
        kinds = read_allowed_updates(arguments)
        self._check_url(url)
        if bot.poll is not None:
            bot.poll.end(Refusal(409, "terminated by setWebhook request"))
        if kinds is not None:
            bot.allowed_updates = kinds
        bot.webhook = Webhook(url=url, secret_token=secret)
        return True

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

    def _delete_webhook(self, bot: Bot, arguments: Arguments) -> bool:
        if arguments.get_flag("drop_pending_updates"):
            bot.queue.pending.clear()
        bot.webhook = None
        return True

    async def deliver(self, bot: Bot, *, is_forced: bool) -> list[Delivery]:
        """Post each update that is due once, in the loop of the server, and return the attempts as they ended."""
        with self._world.change():
            webhook = bot.webhook
            assert webhook is not None, "the bot has no webhook"
            bot.queue.expire(self._world.now())
            updates = list(bot.queue.pending)
        attempts: list[Delivery] = []
        async with httpx2.AsyncClient(timeout=LAST_RESORT, verify=False, trust_env=False) as http:
            for update in updates:
                if update.due > self._world.now() and not is_forced:
                    break
                status, retry_after = await self._post(http, webhook, update)
                with self._world.change():
                    update.attempts += 1
                    attempts.append(Delivery(update.id, update.attempts, status))
                    if status is not None and 200 <= status < 300:
                        bot.queue.remove(update)
                        continue
                    delay = 0.0 if update.attempts == 1 else min(_MAX_DELAY, 2.0 ** (update.attempts - 1))
                    update.due = self._world.now() + (min(retry_after, _MAX_RETRY_AFTER) or delay)
                    break
        return attempts

    async def _post(
        self, http: httpx2.AsyncClient, webhook: Webhook, update: PendingUpdate
    ) -> tuple[int | None, float]:
        """Return the status of the answer, and the seconds of its Retry-After."""
        headers = {"Content-Type": "application/json"}
        if webhook.secret_token:
            headers["X-Telegram-Bot-Api-Secret-Token"] = webhook.secret_token
        try:
            answer = await http.post(webhook.url, content=json.dumps(update.body), headers=headers)
        except httpx2.TransportError:
            return None, 0.0
        retry_after = answer.headers.get("retry-after", "")
        return answer.status_code, float(retry_after) if retry_after.isdecimal() else 0.0
