"""Telegram passes the suite of channels."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import pytest

from gatepost.channels.background.channel_tasks import ChannelOptions
from gatepost.channels.telegram.client import TelegramClient
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.testing.channels import AGENT, TRIGGER, RemoteChannelDriver, RemoteChannelSuite
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import User
from tests.channels.telegram.channel_setup import build_free_clock
from tests.support.waits import LAST_RESORT

IDS: Final = {"ana": 7, "bob": 8}


class TelegramDriver(RemoteChannelDriver):
    def __init__(self, server: TelegramServer) -> None:
        self._server = server
        self._users: dict[str, User] = {}

    def build_trigger(self) -> TriggerSpec:
        return TriggerSpec(name=TRIGGER, provider="telegram", secret=self._server.token, target=AGENT)

    def build_channel_options(self) -> ChannelOptions:
        open_api = partial(TelegramClient, url=self._server.url, timeout=LAST_RESORT)
        return ChannelOptions(open_api=open_api, poll_time=5.0, clock=build_free_clock())

    def get_user_id(self, user: str) -> str:
        self._users[user] = self._server.add_user(IDS[user], user.title())
        return str(IDS[user])

    async def write(self, user: str, text: str) -> None:
        self._server.send_text(self._users[user], text)

    def list_sent(self, user: str) -> Sequence[str]:
        self._server.open_chat(self._users[user])
        return [message.text for message in self._server.sent(self._users[user])]

    async def wait_until(self, condition: Callable[[], object]) -> None:
        await self._server.wait_until(condition)

    async def redeliver(self) -> None:
        for update in list(self._server.bot.queue.history):
            self._server.inject(update)

    async def stop(self) -> None:
        self._server.stop()

    async def start(self) -> None:
        self._server.start()

    async def refuse(self, user: str) -> None:
        self._server.block(self._users[user])


class TestTelegram(RemoteChannelSuite):
    @pytest.fixture
    def server(self) -> Iterator[TelegramServer]:
        with TelegramServer(has_limits=False) as server:
            yield server

    @pytest.fixture
    def driver(self, server: TelegramServer) -> TelegramDriver:
        return TelegramDriver(server)
