"""
Read the updates of Telegram bots.

    fetch -> commit -> answer presses -> confirm

An update is confirmed, so that Telegram forgets it, by the next request after its commit. That request does not wait
for new updates, and the requests that wait confirm nothing: if Telegram has begun to number anew, a waiting request
with the old number would confirm, and lose, the updates with lower numbers.

One process at a time polls a bot, because Telegram ends the other request (409). The lease only saves work: the store
takes every update once (`actions/telegram.py`). The updates of one answer are one transaction. If that fails for
another reason than an outage, each has its own, and one that cannot be taken is left out: it never stops later ones.
"""

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import structlog

from gatepost.actions import channel_messages, leases, telegram
from gatepost.actions.telegram import TakenUpdate, UpdateOutcome
from gatepost.actions.telegram_presses import PressAnswer
from gatepost.core.claim import Lease
from gatepost.core.event import Json
from gatepost.core.telegram_api import OtherReader, TokenRefused, is_webhook_secret
from gatepost.core.times import DAY, SECOND
from gatepost.core.trigger import DeliveryMode
from gatepost.errors import GatepostError, NotFound, Unauthorized, Unavailable
from gatepost.ports import Store, Transaction
from gatepost.retry import Backoff
from gatepost.runtime.periodic import open_task_group
from gatepost.runtime.telegram_bots import OpenBot, TelegramBots
from gatepost.tables import triggers as trigger_rows

log = structlog.get_logger("gatepost.telegram")

#: seconds that a request waits for updates
POLL_TIME: Final = 25.0
#: how long another process leaves a bot alone whose poller is silent
_LEASE_LENGTH: Final = 10 * SECOND
#: seconds between two renewals of a lease
_RENEWAL_INTERVAL: Final = 3.0
#: seconds for the answers to presses
_ANSWER_TIME: Final = 5.0
#: seconds between two looks whether another process still polls
_LEASE_INTERVAL: Final = 2.0
#: seconds until updates are read again that have no number
_UNREADABLE_INTERVAL: Final = 1.0
#: seconds after which the webhook is set again
_WEBHOOK_INTERVAL: Final = 3_600.0
_BACKOFF: Final = Backoff(1.0, cap=60.0, jitter=(0.8, 1.2))
_RANDOM: Final = random.SystemRandom()


class TelegramIntake:
    def __init__(self, store: Store, bots: TelegramBots, holder: str, *, poll_time: float = POLL_TIME) -> None:
        self._store = store
        self._bots = bots
        self._holder = holder
        self._poll_time = poll_time

    async def take(self, bot: OpenBot, updates: Sequence[Json], *, is_ordered: bool) -> list[TakenUpdate]:
        """Have updates taken, and answer presses. When it returns, all are in the store, or left out for good."""
        name = bot.trigger.name
        take = partial(
            self._store.run,
            telegram.take_updates,
            name,
            random_bits=secrets.randbits(128),
            is_ordered=is_ordered,
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
            update_id = await skip(name, update, bot.profile, reason)
            return [TakenUpdate(outcome=UpdateOutcome.IGNORED, reason=reason, update_id=update_id)]

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
        if not is_webhook_secret(bot.keys, secret):
            raise Unauthorized("the secret of the request is not that of the bot")
        return bot

    async def run_bot(self, name: str) -> None:
        """Read the updates of a bot, or have them sent, until cancelled."""
        failures = 0
        lease: Lease | None = None
        try:
            while True:
                pause = 0.0
                try:
                    lease = await self._take_lease(name)
                    pause = _LEASE_INTERVAL if lease is None else await self._run_and_renew(name)
                    failures = 0
                except GatepostError as error:
                    failures += 1
                    pause = await self._handle_failure(name, error, failures)
                except Exception:  # a mistake here must not end the other bots
                    failures += 1
                    log.exception("the reader of a bot broke", bot=name)
                    pause = _BACKOFF.delay(failures - 1, _RANDOM.random())
                await asyncio.sleep(pause)
        finally:
            if lease is not None:
                with suppress(GatepostError):
                    await self._store.run(leases.release, lease)

    async def _take_lease(self, name: str) -> Lease | None:
        return await self._store.run(leases.take, f"telegram:{name}", self._holder, _LEASE_LENGTH)

    async def _run_and_renew(self, name: str) -> float:
        """Run once, and renew the lease meanwhile."""

        async def renew_lease() -> None:
            while True:
                await asyncio.sleep(_RENEWAL_INTERVAL)
                with suppress(GatepostError):
                    await self._take_lease(name)

        async with open_task_group() as group:
            renewal = group.create_task(renew_lease(), name=f"lease-{name}")
            try:
                return await self._run_once(name)
            finally:
                renewal.cancel()

    async def _run_once(self, name: str) -> float:
        """Read updates once, or set the webhook; return the seconds until the next time."""
        bot = await self._bots.find(name)
        config = bot.trigger.config
        if config.mode is DeliveryMode.WEBHOOK:
            if not config.public_url:
                raise NotFound(
                    f"the bot {name!r} is in webhook mode and has no URL", hint="set its `publicUrl`, or use polling"
                )
            await bot.api.set_webhook(
                f"{config.public_url.rstrip('/')}/channels/telegram/{name}", bot.keys.webhook_secret
            )
            return _WEBHOOK_INTERVAL
        updates = await bot.api.get_updates(offset=None, wait=self._poll_time)
        while updates:
            outcomes = await self.take(bot, updates, is_ordered=True)
            numbers = [outcome.update_id for outcome in outcomes if outcome.update_id is not None]
            if not numbers:
                return _UNREADABLE_INTERVAL  # nothing can be confirmed before an update with a number comes
            updates = await bot.api.get_updates(offset=max(numbers) + 1, wait=0.0)
        return 0.0

    async def _handle_failure(self, name: str, error: GatepostError, failures: int) -> float:
        """Return the seconds until the next try; tell the owner of the bot what only people can change."""
        log.warning("the bot cannot be read", bot=name, reason=error.message, times=failures)
        pause = _BACKOFF.delay(failures - 1, _RANDOM.random())
        match error:
            case Unavailable():
                return max(pause, error.retry_after or 0.0)
            case OtherReader() if "webhook" in error.message:
                with suppress(GatepostError):
                    bot = await self._bots.find(name)
                    await bot.api.delete_webhook()
                return 0.0 if failures == 1 else pause
            case OtherReader() if failures < 5:
                return pause
            case _:
                with suppress(GatepostError):
                    await self._store.run(_tell_owners, name, error.message_with_hint, type(error) is TokenRefused)
                return pause


def _describe(error: Exception) -> str:
    return error.message if isinstance(error, GatepostError) else type(error).__name__


def _tell_owners(tx: Transaction, name: str, text: str, is_token: bool) -> None:
    trigger = trigger_rows.find(tx, name)
    if trigger is not None:
        topic = f"{'token' if is_token else 'bot'}:{name}:{tx.now // DAY}"
        channel_messages.tell_owners(tx, trigger, f"the bot {name!r} does not work: {text}", topic)
