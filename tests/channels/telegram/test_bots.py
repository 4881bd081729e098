"""Several bots, the lease of a bot, and its token."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from gatepost.channels import pairing_actions as pairing
from gatepost.channels.background.channel_tasks import ChannelOptions, Channels
from gatepost.channels.conversation import PairingState
from gatepost.channels.telegram.client import TelegramClient
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import TriggerConfig
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import Bot, User
from tests.channels.telegram.channel_setup import ChannelSetup, build_free_clock, open_channel_setup
from tests.export.exports import export_lines
from tests.support.waits import LAST_RESORT


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with TelegramServer(has_limits=False) as server:
        yield server


@pytest.fixture
def second_bot(server: TelegramServer) -> Bot:
    return server.add_bot("second_bot")


@pytest.fixture
def ana(server: TelegramServer) -> User:
    return server.add_user(7, "Ana", "ana")


@pytest.fixture
async def setup(server: TelegramServer, second_bot: Bot, tmp_path: Path) -> AsyncIterator[ChannelSetup]:
    """The bot `helper` of the analyst, and the bot `shop` of the clerk; Ana may write to the first alone."""
    async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db", allow=(7,)) as setup:
        await setup.store.run(directory.register, EntitySpec(name="clerk", kind=EntityKind.AGENT))
        spec = TriggerSpec(
            name="shop", provider="telegram", secret=second_bot.token, target="clerk", config=TriggerConfig()
        )
        await setup.store.run(triggers.add, spec)
        yield setup


async def allow_ana(setup: ChannelSetup) -> None:
    await setup.store.run(triggers.change, "shop", {"config": TriggerConfig(allow=(7,))})


async def test_several_bots_have_their_own_agents_chats_and_sessions(
    setup: ChannelSetup, ana: User, second_bot: Bot
) -> None:
    """The same person in the same private chat: only the bot tells the conversations apart."""
    server = setup.telegram
    await allow_ana(setup)
    server.send_text(ana, "to the first")
    server.send_text(ana, "to the second", bot=second_bot)
    server.send_text(ana, "/reset", bot=second_bot)
    [first] = await setup.wait_for_events(1)
    [second, _] = await setup.wait_for_events(2, "clerk")

    assert (first.content, first.source) == ("to the first", "helper")
    assert (second.content, second.source) == ("to the second", "shop")
    generations = {session.trigger: session.generation for session in setup.list_sessions()}
    assert generations == {"helper": 0, "shop": 1}
    setup.reply(first, "from the first")
    setup.reply(second, "from the second", author="clerk")
    await server.wait_until(lambda: server.sent(ana) and len(server.sent(ana, second_bot)) == 2)
    assert [message.text for message in server.sent(ana)] == ["from the first"]
    assert sorted(message.text for message in server.sent(ana, second_bot)) == [
        "This is a new conversation now.",
        "from the second",
    ]


async def test_a_bot_does_not_let_in_whom_another_bot_knows(setup: ChannelSetup, ana: User, second_bot: Bot) -> None:
    server = setup.telegram
    server.send_text(ana, "hello")
    await setup.wait_for_events(1)
    server.send_text(ana, "hello, too", bot=second_bot)
    await server.wait_until(lambda: server.sent(ana, second_bot))

    assert "Your code is" in server.sent(ana, second_bot)[0].text
    assert setup.list_events("clerk") == []
    [request] = setup.store.read_sync(pairing.list_page, state=PairingState.REQUESTED)
    assert request.trigger == "shop"


async def test_a_bot_that_fails_does_not_hold_up_another(setup: ChannelSetup, ana: User, second_bot: Bot) -> None:
    server = setup.telegram
    first_bot = server.bot
    server.revoke_token(second_bot)
    await setup.wait_for_events(1, directory.ADMINISTRATOR)
    server.send_text(ana, "hello", bot=first_bot)

    assert [event.content for event in await setup.wait_for_events(1)] == ["hello"]


async def test_a_button_of_one_bot_is_worth_nothing_to_another(setup: ChannelSetup, ana: User, second_bot: Bot) -> None:
    server = setup.telegram
    await allow_ana(setup)
    server.send_text(ana, "one")
    server.send_text(ana, "/ping", bot=second_bot)
    [event] = await setup.wait_for_events(1)
    decision = setup.ask(event, "Deploy?", "Yes")
    [question] = await setup.wait_for_sent(ana, 1)
    await server.wait_until(lambda: server.sent(ana, second_bot))
    query = server.press(ana, server.sent(ana, second_bot)[0], data=question.buttons[0]["callback_data"])
    await server.wait_until(lambda: query.is_answered)

    assert query.answer is not None
    assert query.answer["text"] == "This button is not valid any more."
    assert decision.is_open


@asynccontextmanager
async def run_second_process(setup: ChannelSetup) -> AsyncIterator[Channels]:
    """The channels of another process with the same store."""
    options = ChannelOptions(
        open_api=partial(TelegramClient, url=setup.telegram.url, timeout=LAST_RESORT),
        poll_time=5.0,
        clock=build_free_clock(),
    )
    channels = Channels(setup.store, options, "another process")
    async with channels.run(setup.bus, 0.2):
        yield channels


async def test_one_process_at_a_time_polls_a_bot(setup: ChannelSetup, ana: User) -> None:
    """With two pollers, Telegram would end the request of one of them (409)."""
    server = setup.telegram
    await server.wait_until(server.is_polling)
    async with run_second_process(setup):
        for number in range(20):
            server.send_text(ana, f"text {number}")
            await setup.wait_for_events(number + 1)

    assert [event.content for event in setup.list_events()] == [f"text {number}" for number in range(20)]
    assert [call for call in server.refusals if call.status == 409] == []


async def test_the_next_process_takes_over_a_bot_that_is_left(
    server: TelegramServer, ana: User, tmp_path: Path
) -> None:
    async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db", is_running=False, allow=(7,)) as setup:
        async with setup.channels.run(setup.bus, 0.2):
            server.send_text(ana, "one")
            await setup.wait_for_events(1)
        async with run_second_process(setup):
            server.send_text(ana, "two")
            events = await setup.wait_for_events(2)

    assert [event.content for event in events] == ["one", "two"]


async def test_an_api_that_does_not_wait_is_not_asked_all_the_time(
    server: TelegramServer, ana: User, tmp_path: Path
) -> None:
    async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db", is_running=False, allow=(7,)) as setup:
        server.answer("getUpdates", status=200, body=b'{"ok": true, "result": []}')
        pause = await setup.channels.intake.read("helper")
        server.send_text(ana, "hello")
        assert await setup.channels.intake.read("helper") == 0.0

        assert pause > 0
        assert [event.content for event in setup.list_events()] == ["hello"]


async def test_the_token_may_be_named_and_not_stored(server: TelegramServer, ana: User, tmp_path: Path) -> None:
    async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db", is_running=False, allow=(7,)) as setup:
        config = TriggerConfig(allow=(7,), token="env:BOT_TOKEN")
        await setup.store.run(triggers.change, "helper", {"secret": None, "config": config})
        tokens = {"env:BOT_TOKEN": server.token}
        options = ChannelOptions(
            open_api=partial(TelegramClient, url=server.url, timeout=LAST_RESORT), find_token=tokens.get, poll_time=5.0
        )
        async with Channels(setup.store, options, "tests").run(setup.bus, 0.2):
            server.send_text(ana, "hello")
            await setup.wait_for_events(1)
        lines = export_lines(setup.store, secrets=True)

    assert server.token.partition(":")[2].encode() not in b"".join(lines)


async def test_a_stored_token_is_in_no_export(setup: ChannelSetup, second_bot: Bot) -> None:
    tokens = [server_token.partition(":")[2] for server_token in (setup.telegram.token, second_bot.token)]
    for secrets in (False, True):
        text = b"".join(export_lines(setup.store, secrets=secrets)).decode()
        assert "telegram" in text
        assert not [token for token in tokens if token in text]
