"""The Telegram channel as a whole: a bot is polled or has a webhook, people write, agents answer in the same chat."""

import asyncio
import dataclasses
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gatepost.channels.shared_inbox.api import EntryKind
from gatepost.channels.telegram import update_actions as telegram
from gatepost.channels.telegram.background.typing_indicator import SEEN
from gatepost.channels.telegram.bot_port import PollingConflict, TokenRefused, derive_keys
from gatepost.channels.telegram.client import TelegramClient
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.trigger import DeliveryMode, GroupMode
from gatepost.core.signals import Frame, Topic
from gatepost.errors import Invalid, Unavailable
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import DecisionStatus
from gatepost.gateway.streams.live_readers import LiveStreams
from gatepost.gateway.web_app import GatewayApp
from gatepost.testing import FakeClock
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import User
from tests.channels.telegram.channel_setup import AGENT, ChannelSetup, open_channel_setup
from tests.support.gateways.local_gateways import TOKEN_RULES, build_app_state
from tests.support.waits import LAST_RESORT


@pytest.fixture
def server() -> Any:
    with TelegramServer(has_limits=False, allows_http_webhooks=True) as server:
        yield server


@pytest.fixture
async def setup(server: TelegramServer, tmp_path: Path) -> AsyncIterator[ChannelSetup]:
    async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db", allow=(7, 8)) as setup:
        yield setup


@pytest.fixture
def ana(server: TelegramServer) -> User:
    return server.add_user(7, "Ana", "ana")


async def test_what_is_written_is_answered_in_the_same_chat(setup: ChannelSetup, ana: User) -> None:
    setup.telegram.send_text(ana, "how are sales?")
    [event] = await setup.wait_for_events(1)
    setup.reply(event, "Up **9 %**")
    [answer] = await setup.wait_for_sent(ana, 1)

    assert (answer.text, answer.entities) == ("Up 9 %", [{"type": "bold", "offset": 3, "length": 3}])
    kinds = [(entry.kind, entry.session) for entry in setup.list_entries()]
    assert kinds == [(EntryKind.USER_PROMPT, "chat-7:user-7"), (EntryKind.SYSTEM_RESPONSE, "chat-7:user-7")]
    assert setup.telegram.refusals == []


async def test_an_update_is_confirmed_only_after_its_commit(
    setup: ChannelSetup, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the store is away nothing is confirmed, and nothing is lost."""
    take_updates, failures = telegram.take_updates, list[list[str | None]]()

    def fail_twice(*args: Any, **options: Any) -> Any:
        if len(failures) < 2:
            failures.append([call.arguments.get("offset") for call in setup.telegram.calls])
            raise Unavailable("the disk is full")
        return take_updates(*args, **options)

    monkeypatch.setattr(telegram, "take_updates", fail_twice)
    setup.telegram.send_text(ana, "one")
    [event] = await setup.wait_for_events(1)

    assert event.content == "one"
    assert all(offset is None for offsets in failures for offset in offsets)
    await setup.telegram.wait_until(lambda: any(call.arguments.get("offset") for call in setup.telegram.calls))


async def test_an_update_that_breaks_the_verb_does_not_stop_the_next(
    setup: ChannelSetup, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_update = telegram.take_update

    def break_on_poison(tx: Any, trigger: Any, update: Any, *args: Any, **options: Any) -> Any:
        if getattr(update.content, "text", "") == "poison":
            raise ZeroDivisionError
        return take_update(tx, trigger, update, *args, **options)

    monkeypatch.setattr(telegram, "take_update", break_on_poison)
    for text in ("one", "poison", "two"):
        setup.telegram.send_text(ana, text)
    setup.telegram.inject({"update_id": "x"})
    setup.telegram.inject("garbage")
    setup.telegram.send_text(ana, "three")
    events = await setup.wait_for_events(3)

    assert [event.content for event in events] == ["one", "two", "three"]
    [alert] = setup.list_events("admin")
    assert "could not be taken: ZeroDivisionError" in alert.content


async def test_a_thousand_updates_are_taken_in_order_and_once(setup: ChannelSetup, ana: User) -> None:
    setup.telegram.stop()
    for number in range(1_000):
        setup.telegram.send_text(ana, f"text {number}")
    setup.telegram.start()
    events = await setup.wait_for_events(1_000)

    assert [event.content for event in events] == [f"text {number}" for number in range(1_000)]


async def test_numbers_that_begin_lower_lose_nothing(server: TelegramServer, ana: User, tmp_path: Path) -> None:
    clock = FakeClock()
    async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db", clock=clock, allow=(7,)) as setup:
        server.send_text(ana, "one")
        await setup.wait_for_events(1)
        await server.wait_until(lambda: not server.bot.queue.pending)
        clock.advance("8 days")
        server.restart_numbering(5)
        server.send_text(ana, "two")
        server.send_text(ana, "three")
        events = await setup.wait_for_events(3)

    assert [event.content for event in events] == ["one", "two", "three"]


async def test_a_question_is_answered_by_a_press_and_shows_who_answered(setup: ChannelSetup, ana: User) -> None:
    server = setup.telegram
    server.send_text(ana, "deploy please")
    [event] = await setup.wait_for_events(1)
    decision = setup.ask(event, "Deploy to production?", "Yes", "No")
    [question] = await setup.wait_for_sent(ana, 1)
    assert [button["text"] for button in question.buttons] == ["Yes", "No"]
    eve = server.add_user(66, "Eve")

    server.press(eve, question, "Yes")
    await server.wait_until(lambda: not server.unanswered_queries)
    assert setup.store.read_sync(decisions.show, decision.id).is_open
    query = server.press(ana, question, "No")
    await server.wait_until(lambda: question.edits and query.is_answered)

    answered = setup.store.read_sync(decisions.show, decision.id)
    assert answered.status is DecisionStatus.ANSWERED
    assert answered.last_answer is not None
    assert (answered.last_answer.option, answered.last_answer.by) == ("no", "ana")
    assert query.answer is not None
    assert query.answer["text"] == "Noted: No"
    assert question.text == "Deploy to production?\n\nana: No"
    assert not question.buttons
    assert server.refusals == []


async def test_a_reply_to_a_question_answers_it_in_words(setup: ChannelSetup, ana: User) -> None:
    server = setup.telegram
    server.send_text(ana, "help")
    [event] = await setup.wait_for_events(1)
    decision = setup.ask(event, "Which region?", free_text=True)
    [question] = await setup.wait_for_sent(ana, 1)
    server.send_text(ana, "the north", reply_to=question)
    *_, notice = await setup.wait_for_sent(ana, 2)

    answered = setup.store.read_sync(decisions.show, decision.id)
    assert answered.last_answer is not None
    assert answered.last_answer.text == "the north"
    assert notice.text == "Noted: the north"


async def test_sessions_never_cross(server: TelegramServer, tmp_path: Path) -> None:
    """Fifty people with resets in between: every answer is in the chat of its prompt."""
    people = [server.add_user(1_000 + number, f"Person {number}") for number in range(50)]
    allow = tuple(person.id for person in people)
    async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db", allow=allow) as setup:
        for number, person in enumerate(people):
            server.send_text(person, f"question of {person.id}")
            if number % 3 == 0:
                server.send_text(person, "/reset")
        events = await setup.wait_for_events(50 + 17)
        for event in reversed(events):
            if event.content.startswith("question"):
                setup.reply(event, f"answer to: {event.content}")
        await server.wait_until(
            lambda: all(any("answer to" in message.text for message in server.sent(person)) for person in people)
        )

    for person in people:
        answers = [message.text for message in server.sent(person) if "answer to" in message.text]
        assert answers == [f"answer to: question of {person.id}"]


async def test_a_topic_is_answered_in_the_topic(server: TelegramServer, ana: User, tmp_path: Path) -> None:
    forum = server.add_supergroup("Forum", ana, is_forum=True)
    topic = server.add_topic(forum, "Sales", ana)
    config: dict[str, Any] = {"allow": (forum.id,), "groups": GroupMode.ALL}
    async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db", **config) as setup:
        server.send_text(ana, "numbers?", forum, thread=topic)
        [event] = await setup.wait_for_events(1)
        assert event.route is not None
        assert event.route.session == f"chat-{forum.id}:topic-{topic}:user-7"
        setup.reply(event, "here")
        [answer] = await setup.wait_for_sent(forum, 1)

    assert answer.thread == topic


async def test_the_agent_is_seen_to_think(setup: ChannelSetup, ana: User) -> None:
    server = setup.telegram
    message = server.send_text(ana, "hello")
    await setup.wait_for_events(1)
    setup.bus.send([Frame(Topic("agent", AGENT), "agent.active", {})])
    await server.wait_until(lambda: server.reactions.get((7, message.id)) == [SEEN] and server.actions)
    assert [(action.chat, action.action) for action in server.actions][:1] == [(7, "typing")]

    setup.bus.send([Frame(Topic("agent", AGENT), "agent.inactive", {})])
    await server.wait_until(lambda: server.reactions.get((7, message.id)) == [])


async def test_a_bot_follows_its_trigger(setup: ChannelSetup, ana: User) -> None:
    server = setup.telegram
    await server.wait_until(server.is_polling)
    await asyncio.to_thread(setup.store.run_sync, triggers.change, "helper", {"active": False})
    await server.wait_until(lambda: not server.is_polling())
    server.send_text(ana, "while it is off")
    await asyncio.to_thread(setup.store.run_sync, triggers.change, "helper", {"active": True})
    [event] = await setup.wait_for_events(1)

    assert event.content == "while it is off"


async def test_a_webhook_that_is_left_over_is_removed_by_polling(
    server: TelegramServer, ana: User, tmp_path: Path
) -> None:
    client = TelegramClient(server.token, url=server.url)
    await client.set_webhook("http://127.0.0.1:1/old", "x" * 16)
    await client.close()
    async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db", allow=(7,)) as setup:
        server.send_text(ana, "hello")
        [event] = await setup.wait_for_events(1)

    assert event.content == "hello"
    assert server.bot.webhook is None


async def test_a_wrong_token_is_told_to_the_owner_and_never_shown(
    server: TelegramServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    token = server.token
    server.revoke_token()
    async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db", token=token) as setup:
        [alert] = await setup.wait_for_events(1, "admin")

    assert "the bot 'helper' does not work: Telegram does not know the token" in alert.content
    output = capsys.readouterr()
    own_lines = [record.getMessage() for record in caplog.records if not record.name.startswith("uvicorn")]
    for text in (alert.content, *own_lines, output.out, output.err):
        assert token not in text
        assert token.partition(":")[2] not in text


async def test_errors_of_the_api_are_mapped_and_have_no_token(server: TelegramServer, ana: User) -> None:
    client = TelegramClient(server.token, url=server.url, timeout=LAST_RESORT)
    assert server.token not in repr(client)
    server.answer("getMe", status=429, description="Too Many Requests: retry after 7", retry_after=7)
    with pytest.raises(Unavailable) as busy:
        await client.get_me()
    assert busy.value.retry_after == 7
    server.answer("getMe", status=502, body=b"<html>Bad Gateway</html>")
    with pytest.raises(Unavailable, match="status 502"):
        await client.get_me()
    server.drop_replies("getMe")
    with pytest.raises(Unavailable) as dropped:
        await client.get_me()
    server.cut_replies("getMe")
    with pytest.raises(Unavailable):
        await client.get_me()
    await client.set_webhook("http://127.0.0.1:1/x", "s" * 16)
    with pytest.raises(PollingConflict, match="webhook"):
        await client.get_updates(offset=None, wait=0)
    await client.delete_webhook()
    server.stop()
    with pytest.raises(Unavailable) as away:
        await client.get_me()
    for error in (busy, dropped, away):
        assert server.token not in str(error.value)
        assert "http" not in str(error.value).lower().replace("httperror", "")
    await client.close()
    server.start()
    wrong = TelegramClient("123456:wrong-token-of-nobody", url=server.url)
    with pytest.raises(TokenRefused):
        await wrong.get_me()
    await wrong.close()
    for token in ("", "with/slash", "with space", "ünicode"):
        with pytest.raises(Invalid, match="no token has"):
            TelegramClient(token)


@asynccontextmanager
async def open_webhook(setup: ChannelSetup) -> AsyncIterator[httpx2.AsyncClient]:
    """The gateway of a setup, without a port."""
    state = build_app_state(setup.store, setup.bus, LiveStreams(), TOKEN_RULES)
    app = GatewayApp(dataclasses.replace(state, channels=setup.channels))
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with app.lifespan(), httpx2.AsyncClient(transport=transport, base_url="http://gateway") as client:
        yield client


async def test_a_webhook_needs_the_secret_and_takes_an_update_once(
    server: TelegramServer, ana: User, tmp_path: Path
) -> None:
    config: dict[str, Any] = {"mode": DeliveryMode.WEBHOOK, "public_url": "http://127.0.0.1:1", "allow": (7,)}
    async with (
        open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db", **config) as setup,
        open_webhook(setup) as client,
    ):
        await server.wait_until(lambda: "setWebhook" in [call.method for call in server.calls])
        webhook = server.bot.webhook
        assert webhook is not None
        assert webhook.url == "http://127.0.0.1:1/channels/telegram/helper"
        [call] = [call for call in server.calls if call.method == "setWebhook"]
        assert call.arguments["max_connections"] == "1", "updates come one after the other"
        assert len(webhook.secret_token) >= 16
        assert server.token.partition(":")[2] not in webhook.secret_token
        server.send_text(ana, "hello")
        update = json.dumps(server.bot.queue.history[-1])
        header = "x-telegram-bot-api-secret-token"

        for secret in ({}, {header: ""}, {header: "wrong"}, {header: server.token}):
            refused = await client.post("/channels/telegram/helper", content=update, headers=secret)
            assert refused.status_code == 401
        unknown = await client.post("/channels/telegram/other", content=update, headers={header: "x"})
        assert unknown.status_code == 404
        assert setup.list_events() == []
        secret = {header: derive_keys(server.token).webhook_secret}
        for _ in range(2):
            taken = await client.post("/channels/telegram/helper", content=update, headers=secret)
            assert taken.status_code == 200
        broken = await client.post("/channels/telegram/helper", content=b"{", headers=secret)
        assert broken.status_code == 400
        malformed = await client.post("/channels/telegram/helper", content=b"{}", headers=secret)
        assert malformed.json() == {"outcome": "ignored"}

        assert [event.content for event in setup.list_events()] == ["hello"]


async def test_a_bot_that_polls_has_no_webhook(setup: ChannelSetup) -> None:
    async with open_webhook(setup) as client:
        secret = {"x-telegram-bot-api-secret-token": derive_keys(setup.telegram.token).webhook_secret}
        answer = await client.post("/channels/telegram/helper", content=b"{}", headers=secret)

    assert answer.status_code == 404
