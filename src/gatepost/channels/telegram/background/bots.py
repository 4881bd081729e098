"""
The Telegram bots of this process: a client of the API for each, opened when it is first needed.

A token is in the row of its trigger, or the trigger names where it is (`env:VARIABLE`). A bot whose token has changed
is opened again.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from gatepost.channels.background.trigger_readers import open_trigger
from gatepost.channels.speech.transcriber import SpeechRefused
from gatepost.channels.telegram.bot_port import RequestRefused, TelegramApi, derive_keys
from gatepost.channels.telegram.update_actions import BotProfile
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.ports import Store
from gatepost.inbox.event import TELEGRAM


@dataclass(frozen=True, slots=True)
class OpenBot:
    #: as it was when the bot was opened
    trigger: Trigger
    api: TelegramApi
    profile: BotProfile


class TelegramBots:
    def __init__(
        self,
        store: Store,
        open_api: Callable[[str], TelegramApi],
        find_token: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        """`open_api` returns the API for a token; `find_token` returns the token that a reference names."""
        self._store = store
        self._open_api = open_api
        self._find_token = find_token
        self._bots: dict[str, tuple[str, OpenBot]] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def find(self, name: str) -> OpenBot:
        """
        Return the bot of an active trigger, as the trigger is now. Raise NotFound if there is no such bot, Unavailable
        if its token is missing or Telegram does not answer.
        """
        trigger, token = await open_trigger(self._store, name, TELEGRAM, self._find_token)
        assert token is not None, "a bot has one"
        async with self._locks[name]:
            known_token, bot = self._bots.get(name, ("", None))
            if bot is None or known_token != token:
                await self._close(name)
                bot = await self._open(trigger, token)
                self._bots[name] = (token, bot)
        return OpenBot(trigger, bot.api, bot.profile)

    async def download(self, name: str, file: str) -> bytes:
        """Return a file that Telegram keeps for a bot."""
        bot = await self.find(name)
        try:
            return await bot.api.download(file)
        except RequestRefused as refusal:
            raise SpeechRefused(refusal.message) from None

    async def _open(self, trigger: Trigger, token: str) -> OpenBot:
        keys = derive_keys(token)
        api = self._open_api(token)
        try:
            identity = await api.get_me()
        except BaseException:
            await api.close()
            raise
        return OpenBot(trigger, api, BotProfile(identity, keys))

    async def _close(self, name: str) -> None:
        if (entry := self._bots.pop(name, None)) is not None:
            await entry[1].api.close()

    async def close(self) -> None:
        for name in list(self._bots):
            await self._close(name)
