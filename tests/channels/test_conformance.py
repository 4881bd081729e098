"""The command line and the provider of the example pass the suite of channels; Telegram does in its folder."""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from gatepost.channels import chat_handlers as chat
from gatepost.channels.chat_api import SendChat
from gatepost.channels.provider import Provider
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.api import EntryKind
from gatepost.testing.channels import (
    AGENT,
    ChannelDriver,
    ChannelSuite,
    ProviderDriver,
    RemoteChannelDriver,
    RemoteChannelSuite,
)

EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "mailbox"


class CliDriver(ChannelDriver):
    """People who type `gatepost chat`, and read the shared inbox."""

    async def write(self, user: str, text: str) -> None:
        self.store.run_sync(chat.send, SendChat(content=text, to=AGENT), sender=user)

    async def reset(self, user: str) -> None:
        self.store.run_sync(chat.reset, SendChat(content="", to=AGENT), sender=user)

    def list_sent(self, user: str) -> Sequence[str]:
        entries = self.store.read_sync(shared_inbox.list_page, viewer=user, channel="cli")
        return [entry.content for entry in entries if entry.kind is not EntryKind.USER_PROMPT]

    async def wait_until(self, condition: Callable[[], object]) -> None:
        assert condition(), "what is sent is there at once"


class TestCli(ChannelSuite):
    @pytest.fixture
    def driver(self) -> ChannelDriver:
        return CliDriver()


def load_mailbox() -> Provider:
    """The provider of the example."""
    if str(EXAMPLE) not in sys.path:
        sys.path.append(str(EXAMPLE))
    provider: Provider = import_module("gatepost_mailbox").Mailbox()
    return provider


class MailboxDriver(ProviderDriver, RemoteChannelDriver):
    provider_name = "mailbox"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count(1)
        self._written: list[tuple[str, str, int]] = []
        self.provider = load_mailbox()
        self.options = {"folder": str(folder), "interval": 0.01}
        for part in ("in", "out"):
            (folder / part).mkdir(parents=True)

    async def write(self, user: str, text: str) -> None:
        self._written.append((user, text, next(self._numbers)))
        self._put(*self._written[-1])

    def _put(self, user: str, text: str, number: int) -> None:
        folder = self._folder / "in" / user
        folder.mkdir(exist_ok=True)
        draft = folder / f"{number:04}"
        draft.write_text(text)
        os.utime(draft, ns=(number, number))
        draft.rename(draft.with_suffix(".txt"))

    def list_sent(self, user: str) -> Sequence[str]:
        return [file.read_text() for file in sorted((self._folder / "out" / user).glob("*.txt"))]

    async def redeliver(self) -> None:
        for message in self._written:
            self._put(*message)

    async def stop(self) -> None:
        self._folder.rename(self._folder.with_suffix(".away"))

    async def start(self) -> None:
        self._folder.with_suffix(".away").rename(self._folder)

    async def refuse(self, user: str) -> None:
        (self._folder / "out" / f"{user}.closed").touch()


class TestMailbox(RemoteChannelSuite):
    @pytest.fixture
    def driver(self, tmp_path: Path) -> MailboxDriver:
        return MailboxDriver(tmp_path / "mailbox")

    async def test_a_question_shows_its_answers_and_a_number_is_one(self, bench: Any) -> None:
        async with bench.run():
            await bench.driver.write("ana", "deploy please")
            [event] = await bench.wait_for_prompts(1)
            bench.ask(event, "Deploy?", "Yes", "No")
            [question] = await bench.wait_for_sent("ana", 1)
            assert question == "Deploy?\n\n1. Yes\n2. No"
            await bench.driver.write("ana", "2")
            texts = await bench.wait_for_sent("ana", 3)
        assert sorted(texts[1:]) == ["Deploy?\n\nana: No", "Noted: No"]
