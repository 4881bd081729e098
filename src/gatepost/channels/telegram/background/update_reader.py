"""
Read the updates of Telegram bots.

    fetch -> commit -> answer presses -> confirm

An update is confirmed, so that Telegram forgets it, by the next request after its commit. That request does not wait
for new updates, and the requests that wait confirm nothing: if Telegram has begun to number anew, a waiting request
with the old number would confirm, and lose, the updates with lower numbers.

One process at a time polls a bot, because Telegram ends the other request (409). The lease only saves work: the store
takes every update once (`channels/telegram/update_actions.py`). The updates of one answer are one transaction. If that
fails for another reason than an outage, each has its own, and one that cannot be taken is left out: it never stops
later ones.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import structlog

from gatepost.channels.telegram import update_actions as telegram
from gatepost.channels.telegram.background.bots import OpenBot, TelegramBots
from gatepost.channels.telegram.bot_port import PollingConflict, is_webhook_secret
from gatepost.channels.telegram.button_press_actions import PressAnswer
from gatepost.channels.telegram.update_actions import TakenUpdate
from gatepost.channels.triggers.trigger import DeliveryMode
from gatepost.core.json_limits import Json
from gatepost.core.ports import Store
from gatepost.errors import GatepostError, NotFound, Unauthorized, Unavailable

log = structlog.get_logger("gatepost.telegram")

#: seconds that a request waits for updates
POLL_TIME: Final = 25.0
#: seconds for the answers to presses
_ANSWER_TIME: Final = 5.0
#: seconds until updates are read again that have no number
_UNREADABLE_INTERVAL: Final = 1.0
#: seconds until updates are asked for again, if the answer that there are none comes sooner
_EARLY_INTERVAL: Final = 1.0
#: seconds after which the webhook is set again
_WEBHOOK_INTERVAL: Final = 3_600.0


class TelegramIntake:
    def __init__(self, store: Store, bots: TelegramBots, *, poll_time: float = POLL_TIME) -> None:
        self._store = store
        self._bots = bots
        self._poll_time = poll_time

    async def take(self, bot: OpenBot, updates: Sequence[Json]) -> list[TakenUpdate]:
        """Have updates taken, and answer presses. When it returns, all are in the store, or left out for good."""
        name = bot.trigger.name
        take = partial(
            self._store.run,
            telegram.take_updates,
            name,
            random_bits=secrets.randbits(128),
            lane=f"telegram:{name}",
        )
        try:
            outcomes = await take(updates, bot.profile)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 (whatever is wrong with one, the others are taken)
            log.warning("updates are taken one by one", bot=name, reason=_describe(error))
            outcomes = []
            for update in updates:
                outcomes += await self._take_alone(bot, update, take)
        for outcome in outcomes:
            log.debug("update", bot=name, update=outcome.update_id, outcome=outcome.outcome, reason=outcome.reason)
        await self._answer_presses(bot, [outcome.answer for outcome in outcomes if outcome.answer is not None])
        return outcomes

    async def _take_alone(
        self, bot: OpenBot, update: Json, take: Callable[..., Awaitable[list[TakenUpdate]]]
    ) -> list[TakenUpdate]:
        """Have one update taken; leave it out if that fails for another reason than an outage."""
        name = bot.trigger.name
        try:
            return await take([update], bot.profile)
        except Unavailable:
            raise
        except Exception as error:
            reason = _describe(error)
            log.exception("an update cannot be taken", bot=name, reason=reason)
            skip = partial(self._store.run, telegram.skip_update, lane=f"telegram:{name}")
            return [await skip(name, update, bot.profile, reason)]

    async def _answer_presses(self, bot: OpenBot, answers: Sequence[PressAnswer]) -> None:
        async def answer_press(answer: PressAnswer) -> None:
            try:
                await bot.api.answer_press(answer.query_id, answer.text, is_alert=answer.is_alert)
            except GatepostError as error:  # it came too late, or Telegram is away: only a spinner is left
                log.info("a press cannot be answered", bot=bot.trigger.name, reason=error.message)

        if answers:
            with suppress(TimeoutError):
                async with asyncio.timeout(_ANSWER_TIME), asyncio.TaskGroup() as group:
                    for answer in answers:
                        group.create_task(answer_press(answer))

    async def authenticate(self, name: str, secret: str) -> OpenBot:
        """Return the bot in webhook mode whose secret this is; raise NotFound or Unauthorized."""
        bot = await self._bots.find(name)
        if bot.trigger.config.mode is not DeliveryMode.WEBHOOK:
            raise NotFound(f"the bot {name!r} has no webhook")
        if not is_webhook_secret(bot.profile.keys, secret):
            raise Unauthorized("the secret of the request is not that of the bot")
        return bot

    async def read(self, name: str) -> float:
        """Read updates once, or set the webhook; return the seconds until the next time."""
        bot = await self._bots.find(name)
        config = bot.trigger.config
        if config.mode is DeliveryMode.WEBHOOK:
            if not config.public_url:
                raise NotFound(
                    f"the bot {name!r} is in webhook mode and has no URL", hint="set its `publicUrl`, or use polling"
                )
            await bot.api.set_webhook(
                f"{config.public_url.rstrip('/')}/channels/telegram/{name}", bot.profile.keys.webhook_secret
            )
            return _WEBHOOK_INTERVAL
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        updates = await bot.api.get_updates(offset=None, wait=self._poll_time)
        if not updates and loop.time() - began_at < _EARLY_INTERVAL:
            return _EARLY_INTERVAL  # what is between here and Telegram does not wait
        while updates:
            outcomes = await self.take(bot, updates)
            numbers = [outcome.update_id for outcome in outcomes if outcome.update_id is not None]
            if not numbers:
                return _UNREADABLE_INTERVAL  # nothing can be confirmed before an update with a number comes
            updates = await bot.api.get_updates(offset=max(numbers) + 1, wait=0.0)
        return 0.0

    async def recover(self, name: str, error: GatepostError, failures: int, pause: float) -> float | None:
        """Remove a webhook that is in the way of polling, and wait for another reader to end."""
        match error:
            case PollingConflict() if "webhook" in error.message:
                bot = await self._bots.find(name)
                await bot.api.delete_webhook()
                return 0.0 if failures == 1 else pause
            case PollingConflict() if failures < 5:
                return pause
            case _:
                return None


def _describe(error: Exception) -> str:
    return error.message if isinstance(error, GatepostError) else type(error).__name__
