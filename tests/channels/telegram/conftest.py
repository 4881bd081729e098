"""A Telegram whose clock stands still until the test moves it, a client of its bot, and a setup without Telegram."""

from collections.abc import Iterator

import pytest

from gatepost.testing import Kit
from tests.channels.telegram.bot_api.bot_client import BotClient
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import User
from tests.channels.telegram.channel_setup import VerbSetup
from tests.channels.telegram.verb_updates import open_verb_setup

START = 1_790_000_000.0


@pytest.fixture
def telegram() -> Iterator[TelegramServer]:
    with TelegramServer(now=lambda: START, allows_http_webhooks=True) as telegram:
        yield telegram


@pytest.fixture
def client(telegram: TelegramServer) -> Iterator[BotClient]:
    client = BotClient(telegram)
    with client.http:
        yield client


@pytest.fixture
def ana(telegram: TelegramServer) -> User:
    """A person who has written to the bot; nothing of it is left to read."""
    ana = telegram.add_user(11, "Ana", "ana_b")
    telegram.open_chat(ana)
    return ana


@pytest.fixture
def setup(kit: Kit) -> VerbSetup:
    return open_verb_setup(kit)
