"""
A second opinion about Telegram: texts, commands and buttons on a Bot API that somebody else has written.

The API is `telegram-test-api` of npm. It knows neither offsets nor long polls, so it answers every request for updates
at once, and marks what it has returned as read.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gatepost.gates import decision_actions as decisions
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.channel_setup import TOKEN, ChannelSetup, open_channel_setup
from tests.programs import cache
from tests.support.waits import LAST_RESORT

SCRIPT = Path(__file__).with_name("telegram_server.mjs")


class OtherTelegram:
    """The API in a process of its own, and Ana, who writes to the bot."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.url = ""

    async def request(self, method: str, **params: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps({'method': method, 'params': params})}\n".encode())
        return (await self.read_document())["result"]

    async def read_document(self) -> Any:
        assert self._process.stdout is not None
        async with asyncio.timeout(LAST_RESORT):
            line = await self._process.stdout.readline()
        assert line, "the API has ended; stderr says why"
        return json.loads(line)


@asynccontextmanager
async def open_other_telegram() -> AsyncIterator[OtherTelegram]:
    node = cache.find_node()
    assert node is not None
    process = await asyncio.create_subprocess_exec(
        *(node, SCRIPT, cache.find_folder(), TOKEN), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    try:
        telegram = OtherTelegram(process)
        telegram.url = (await telegram.read_document())["url"]
        yield telegram
        process.stdin.close()
        async with asyncio.timeout(LAST_RESORT):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
async def other_telegram(programs: Path) -> AsyncIterator[OtherTelegram]:
    async with open_other_telegram() as telegram:
        yield telegram


@pytest.fixture
async def setup(other_telegram: OtherTelegram, tmp_path: Path) -> AsyncIterator[ChannelSetup]:
    url = f"sqlite:///{tmp_path}/gatepost.db"
    async with open_channel_setup(TelegramServer(), url, api=other_telegram.url, token=TOKEN, allow=(7,)) as setup:
        yield setup


async def test_a_text_is_answered(setup: ChannelSetup, other_telegram: OtherTelegram) -> None:
    await other_telegram.request("say", text="how are sales?")
    [event] = await setup.wait_for_events(1)
    setup.reply(event, "Up **9 %** 🎉")
    [answer] = await other_telegram.request("read")

    assert event.content == "how are sales?"
    assert event.sender is not None
    assert (event.sender.name, event.route and event.route.session) == ("ana", "chat-7:user-7")
    message = answer["message"]
    assert (message["chat_id"], message["text"]) == (7, "Up 9 % 🎉")
    assert message["entities"] == [{"type": "bold", "offset": 3, "length": 3}]


async def test_commands_are_answered_in_order(setup: ChannelSetup, other_telegram: OtherTelegram) -> None:
    for text in ("/start", "/ping", "/reset"):
        await other_telegram.request("command", text=text)
    texts: list[str] = []
    while len(texts) < 3:
        texts += [update["message"]["text"] for update in await other_telegram.request("read")]

    assert texts[0].startswith("Hello ")
    assert texts[1:] == ["pong", "This is a new conversation now."]
    assert [session.generation for session in setup.list_sessions()] == [1]


async def test_a_button_answers_a_decision_and_a_made_up_press_does_not(
    setup: ChannelSetup, other_telegram: OtherTelegram
) -> None:
    await other_telegram.request("say", text="deploy please")
    [event] = await setup.wait_for_events(1)
    decision = setup.ask(event, "Deploy?", "Yes", "No")
    [question] = await other_telegram.request("read")
    [[yes], [no]] = question["message"]["reply_markup"]["inline_keyboard"]
    assert (yes["text"], no["text"]) == ("Yes", "No")

    await other_telegram.request("press", data="approve", message=question["messageId"])
    await other_telegram.request("press", data=no["callback_data"], message=question["messageId"])
    edited = await other_telegram.request("readEdit", message=question["messageId"])

    assert edited["text"] == "Deploy?\n\nana: No"
    answered = setup.store.read_sync(decisions.show, decision.id)
    assert answered.last_answer is not None
    assert (answered.last_answer.option, answered.last_answer.by) == ("no", "ana")
