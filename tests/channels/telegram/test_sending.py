"""Sending on Telegram: in order, within the limits, in parts, again after failures, never to a chat that is closed."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gatepost.channels import outgoing_message_actions as outgoing, pairing_actions as pairing
from gatepost.channels.background.message_sender import ChannelSender
from gatepost.channels.outgoing_message_actions import SEND_JOB, MessageState
from gatepost.channels.provider import Button
from gatepost.channels.telegram.background import sender as telegram_sender
from gatepost.channels.telegram.background.sender import TelegramSender
from gatepost.channels.telegram.markdown import convert_markdown
from gatepost.channels.telegram.message_parts import FormattedText
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.trigger import TriggerConfig
from gatepost.core.times import SECOND
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import AnswerSpec, Option, Question
from gatepost.jobs import job_actions as jobs
from gatepost.jobs.job_runner_background import run_due_jobs
from gatepost.testing import FakeClock
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import User
from tests.channels.telegram.channel_setup import AGENT, ChannelSetup, open_channel_setup


class Sending:
    """A setup whose sender the test runs, by a clock that the test moves."""

    def __init__(self, setup: ChannelSetup, clock: FakeClock) -> None:
        self.setup = setup
        self.server = setup.telegram
        self.clock = clock
        self.start = clock.now()
        outlet = TelegramSender(setup.store, setup.channels.bots, clock=clock.now)
        self.sender = ChannelSender(setup.store, lambda _: outlet)

    def add_user(self, id: int = 7) -> User:
        user = self.server.add_user(id, f"User {id}")
        self.server.open_chat(user)
        return user

    async def run_due(self) -> None:
        await run_due_jobs(self.setup.store, {SEND_JOB: self.sender.run_job}, "tests")

    async def run_all(self, limit: int = 10_000) -> float:
        """Run until nothing is left to send, and move the clock to what is due next; return the seconds it took."""
        begin = self.clock.now()
        for _ in range(limit):
            await self.run_due()
            due = await self.setup.store.read(jobs.find_next_due, [SEND_JOB])
            if due is None:
                return (self.clock.now() - begin) / SECOND
            self.clock.advance(max(0, due - self.clock.now()))
        raise AssertionError("it does not end")

    def find(self, id: str) -> Any:
        return self.setup.store.read_sync(outgoing.find, id)


@asynccontextmanager
async def open_sending(tmp_path: Path, **options: Any) -> AsyncIterator[Sending]:
    clock = FakeClock()
    with TelegramServer(now=lambda: clock.now() / SECOND) as server:
        url = f"sqlite:///{tmp_path}/gatepost.db"
        async with open_channel_setup(server, url, clock=clock, is_running=False, **options) as setup:
            yield Sending(setup, clock)


@pytest.fixture
async def sending(tmp_path: Path) -> AsyncIterator[Sending]:
    async with open_sending(tmp_path) as sending:
        yield sending


async def test_messages_of_a_chat_are_sent_in_order_one_a_second(sending: Sending) -> None:
    ana = sending.add_user()
    for number in range(10):
        sending.setup.send(ana, f"text {number}")
    seconds = await sending.run_all()

    assert [message.text for message in sending.server.sent(ana)] == [f"text {number}" for number in range(10)]
    assert 9 <= seconds <= 12
    assert sending.server.refusals == []


@pytest.mark.parametrize("count", [6, pytest.param(30, marks=pytest.mark.nightly)])
async def test_a_flood_over_forty_chats_keeps_the_limits_and_the_order(sending: Sending, count: int) -> None:
    people = [sending.add_user(1_000 + number) for number in range(40)]
    texts = [f"text {number}" for number in range(count)]
    for text in texts:
        for person in people:
            sending.setup.send(person, text)
    seconds = await sending.run_all()

    for person in people:
        assert [message.text for message in sending.server.sent(person)] == texts
    shortest = 40 * count / 30
    assert shortest - 1 <= seconds <= 1.5 * shortest, "30 a second"
    assert sending.server.refusals == []


async def test_a_chat_with_many_messages_does_not_hold_up_another(sending: Sending) -> None:
    ana, ben = sending.add_user(7), sending.add_user(8)
    for number in range(50):
        sending.setup.send(ana, f"text {number}")
    sending.setup.send(ben, "hello")
    await sending.run_due()

    assert len(sending.server.sent(ben)) == 1
    assert len(sending.server.sent(ana)) == 1


async def test_a_group_gets_twenty_messages_a_minute(sending: Sending) -> None:
    group = sending.server.add_group("Team", sending.add_user())
    for number in range(25):
        sending.setup.send(group.id, f"text {number}")
    seconds = await sending.run_all()

    assert len(sending.server.sent(group)) == 25
    assert 60 <= seconds <= 70
    assert sending.server.refusals == []


async def test_a_long_message_is_sent_in_parts_and_a_part_only_once(sending: Sending) -> None:
    ana = sending.add_user()
    text = "\n\n".join(f"**{number}** " + "word " * 300 for number in range(8))
    id = sending.setup.send(ana, text)
    await sending.run_due()
    assert len(sending.find(id).sent_ids) == 1
    sending.server.answer("sendMessage", status=500)
    sending.clock.advance("2 seconds")
    await sending.run_all()

    message = sending.find(id)
    parts = sending.server.sent(ana)
    assert message.state is MessageState.SENT
    assert [str(part.id) for part in parts] == message.sent_ids
    assert len(parts) > 2
    assert parts[0].text.startswith("0 word")
    assert sum(part.text.count("word") for part in parts) == 2_400


async def test_retry_after_is_honoured(sending: Sending) -> None:
    ana, ben = sending.add_user(7), sending.add_user(8)
    sending.server.answer("sendMessage", status=429, description="Too Many Requests", retry_after=40)
    sending.setup.send(ana, "one")
    await sending.run_due()
    sending.setup.send(ana, "two")
    sending.setup.send(ben, "to another chat")
    await sending.run_due()
    assert sending.server.sent(ana) == []
    assert len(sending.server.sent(ben)) == 1
    sending.clock.advance("39 seconds")
    await sending.run_due()
    assert sending.server.sent(ana) == []
    await sending.run_all()

    assert [message.text for message in sending.server.sent(ana)] == ["one", "two"]


async def test_an_outage_does_not_end_a_message_however_long(sending: Sending) -> None:
    ana = sending.add_user()
    id = sending.setup.send(ana, "hello")
    sending.server.answer("sendMessage", 150, status=502, body=b"<html>")
    await sending.run_all()

    assert sending.find(id).state is MessageState.SENT
    assert len(sending.server.sent(ana)) == 1


async def test_a_chat_that_blocks_the_bot_ends_retries_and_its_owner_is_told_once(sending: Sending) -> None:
    ana = sending.add_user()
    sending.server.block(ana)
    ids = [sending.setup.send(ana, f"text {number}") for number in range(3)]
    await sending.run_all()

    assert [sending.find(id).state for id in ids] == [MessageState.FAILED] * 3
    assert sending.server.requests["sendMessage"] == 1
    [alert] = sending.setup.list_events("admin")
    assert "cannot write to the chat 7 any more" in alert.content


async def test_a_chat_that_does_not_exist_is_closed(sending: Sending) -> None:
    id = sending.setup.send(12345, "hello")
    await sending.run_all()

    assert sending.find(id).state is MessageState.FAILED
    assert "chat not found" in sending.find(id).error


async def test_a_group_that_has_moved_gets_the_message(tmp_path: Path) -> None:
    async with open_sending(tmp_path, allow=(-77,)) as sending:
        group = sending.server.add_group("Team", sending.add_user(), id=-77)
        upgraded = sending.server.upgrade_group(group)
        id = sending.setup.send(group.id, "hello")
        await sending.run_all()

        assert [message.text for message in sending.server.sent(upgraded)] == ["hello"]
        assert sending.find(id).chat == str(upgraded.id)
        assert sending.setup.trigger.config.allow == (upgraded.id,)


async def test_a_private_chat_that_is_said_to_have_moved_stays_where_it_is(sending: Sending) -> None:
    """Only groups get another id: a user would lose the chat, and the pairing with it."""
    ana = sending.add_user()
    sending.server.answer("sendMessage", 1, status=400, description="Bad Request: it has moved", migrate_to_chat_id=-5)
    first, second = sending.setup.send(ana, "one"), sending.setup.send(ana, "two")
    await sending.run_all(limit=10)

    assert (sending.find(first).state, sending.find(first).chat) == (MessageState.FAILED, str(ana.id))
    assert [message.text for message in sending.server.sent(ana)] == ["two"]
    assert sending.find(second).state is MessageState.SENT


async def test_a_message_that_telegram_refuses_fails_alone(sending: Sending) -> None:
    ana = sending.add_user()
    sending.server.answer("sendMessage", 1, status=400, description="Bad Request: something about it")
    first, second = sending.setup.send(ana, "one"), sending.setup.send(ana, "two")
    await sending.run_all()

    assert sending.find(first).state is MessageState.FAILED
    assert "something about it" in sending.find(first).error
    assert sending.find(second).state is MessageState.SENT


async def test_formatting_that_is_refused_is_left_out(sending: Sending) -> None:
    ana = sending.add_user()
    sending.server.answer("sendMessage", 1, status=400, description="Bad Request: can't parse entities")
    sending.setup.send(ana, "**bold**")
    await sending.run_all()

    [message] = sending.server.sent(ana)
    assert (message.text, message.entities) == ("bold", [])


async def test_a_topic_that_is_gone_is_answered_in_the_group(sending: Sending) -> None:
    forum = sending.server.add_supergroup("Forum", sending.add_user(), is_forum=True)
    sending.setup.send(forum.id, "hello", thread="999")
    await sending.run_all()

    [message] = sending.server.sent(forum)
    assert message.thread is None


async def test_a_changed_message_is_edited_once_the_first_is_sent(sending: Sending) -> None:
    ana = sending.add_user()
    first = sending.find(sending.setup.send(ana, "Which?"))
    sending.setup.send(ana, "Which?\n\nana: this one", replaces=first.number)
    await sending.run_all()

    [message] = sending.server.sent(ana)
    assert message.text == "Which?\n\nana: this one"
    assert len(message.edits) == 1


async def test_a_bot_that_is_off_sends_when_it_is_on_again(sending: Sending) -> None:
    ana = sending.add_user()
    sending.setup.store.run_sync(triggers.change, "helper", {"active": False})
    id = sending.setup.send(ana, "hello")
    await sending.run_due()
    assert sending.find(id).state is MessageState.PENDING
    sending.setup.store.run_sync(triggers.change, "helper", {"active": True})
    sending.clock.advance("2 minutes")
    await sending.run_all()

    assert len(sending.server.sent(ana)) == 1


async def test_a_message_whose_answer_is_lost_is_sent_at_least_once(sending: Sending) -> None:
    ana = sending.add_user()
    sending.server.drop_replies("sendMessage")
    id = sending.setup.send(ana, "hello")
    await sending.run_all()

    assert sending.find(id).state is MessageState.SENT
    assert [message.text for message in sending.server.sent(ana)] == ["hello", "hello"]


async def test_markdown_is_converted_once_and_not_in_the_event_loop(
    sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    converted: list[tuple[int, bool]] = []

    def convert(text: str) -> FormattedText:
        converted.append((len(text), threading.current_thread() is threading.main_thread()))
        return convert_markdown(text)

    monkeypatch.setattr(telegram_sender, "convert_markdown", convert)
    ana = sending.add_user()
    id = sending.setup.send(ana, "**word** " * 1_500)
    sending.setup.send(ana, "short")
    await sending.run_all()

    assert len(sending.find(id).sent_ids) > 2
    assert converted[0] == (13_500, False)
    assert set(converted[1:]) == {(5, True)}


async def test_a_process_that_dies_after_a_part_sends_the_rest(sending: Sending) -> None:
    ana = sending.add_user()
    id = sending.setup.send(ana, "word " * 1_500)
    message = sending.find(id)
    sending.setup.store.run_sync(outgoing.save_part, message, ["1"])
    await sending.run_all()

    assert len(sending.server.sent(ana)) == 1
    assert sending.find(id).sent_ids[0] == "1"


async def test_the_duty_sends_by_itself(tmp_path: Path) -> None:
    with TelegramServer(has_limits=False) as server:
        ana = server.add_user(7, "Ana")
        server.open_chat(ana)
        async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db") as setup:
            setup.send(ana, "hello")
            [message] = await setup.wait_for_sent(ana, 1)

    assert message.text == "hello"


async def test_buttons_are_signed_for_their_chat_and_are_short_enough(sending: Sending) -> None:
    ana = sending.add_user()
    send = partial(sending.setup.send, ana)
    send(
        "Let them in?", options=[Button(f"approve:pair_{'0' * 32}", "Approve"), Button(f"deny:pair_{'0' * 32}", "Deny")]
    )
    await sending.run_all()

    [message] = sending.server.sent(ana)
    data = [entry["callback_data"] for entry in message.buttons]
    assert all(len(entry.encode()) <= 64 for entry in data)
    assert len(set(data)) == 2


async def test_a_part_has_4096_utf_16_units_and_nothing_is_lost(sending: Sending) -> None:
    """An emoji has two units or more; the server counts as Telegram does, and refuses a part that is longer."""
    ana = sending.add_user()
    families, flags = "👨‍👩‍👧‍👦" * 1_000, "🇩🇪" * 3_000
    sending.setup.send(ana, f"{families} {flags}")
    await sending.run_all()

    parts = [message.text for message in sending.server.sent(ana)]
    assert "".join(parts).replace(" ", "") == families + flags
    assert max(len(part.encode("utf-16-le")) // 2 for part in parts) <= 4_096
    assert not any(part.startswith(("\u200d", "👩", "👧", "👦")) for part in parts), "no family is cut"
    assert sending.server.refusals == []


async def test_markdown_that_is_broken_or_hostile_is_sent_as_it_is(sending: Sending) -> None:
    ana = sending.add_user()
    texts = [
        "**never closed",
        "_a*b_c*",
        "[x](javascript:alert(1))",
        "`" * 7,
        "<b>bold</b>",
        "\\*",
        "a_b_c @ana /start",
    ]
    for text in texts:
        sending.setup.send(ana, text)
    await sending.run_all()

    messages = sending.server.sent(ana)
    assert len(messages) == len(texts)
    assert "<b>bold</b>" in [message.text for message in messages]
    assert not [entity for message in messages for entity in message.entities if entity.get("url")]
    assert sending.server.refusals == []


async def test_who_is_let_go_gets_nothing_that_waits_and_nobody_is_told(sending: Sending) -> None:
    setup, ana = sending.setup, sending.add_user(9)
    paired = setup.pair(ana, "husam")
    admin = sending.add_user(11)
    setup.pair(admin, "admin")
    sending.server.send_text(ana, "hello")
    await sending.run_all()
    assert [message.text for message in sending.server.sent(ana)] == ["You are paired as Husam. Write to me."]
    options = (Option(id="yes", label="Yes"),)
    question = Question(question="The password?", options=options, respondents=("husam", "admin"))
    shown = setup.store.run_sync(decisions.ask, question, by=AGENT)
    await sending.run_all()
    waiting = setup.store.run_sync(decisions.ask, question, by=AGENT)
    reply = setup.send(ana, "confidential", is_for_anybody=False)
    setup.store.run_sync(pairing.revoke, paired.id, by=None)
    for decision in (shown, waiting):
        setup.store.run_sync(decisions.answer, decision.id, AnswerSpec(option="yes"), by="admin")
    await sending.run_all()

    first, second = sending.server.sent(ana)
    assert (first.text, second.text) == ("You are paired as Husam. Write to me.", "The password?")
    assert all("Yes" in message.text for message in sending.server.sent(admin)[1:])
    failed = sending.find(reply)
    assert (failed.state, failed.error) == (MessageState.FAILED, "its user is not let in any more")
    assert not [event for event in setup.list_events() if "helper" in event.content]


async def test_what_is_for_one_person_does_not_reach_the_next_one(sending: Sending) -> None:
    setup, ana = sending.setup, sending.add_user(9)
    paired = setup.pair(ana, "husam")
    reply = setup.send(ana, "confidential", is_for_anybody=False)
    setup.store.run_sync(pairing.revoke, paired.id, by=None)
    setup.pair(ana, "admin")
    await sending.run_all()

    assert sending.find(reply).state is MessageState.FAILED
    assert [message.text for message in sending.server.sent(ana)] == ["You are paired as Admin. Write to me."]


async def test_a_code_reaches_who_is_not_let_in_unless_it_is_blocked(sending: Sending) -> None:
    setup, eve, mallory = sending.setup, sending.add_user(66), sending.add_user(67)
    codes = [setup.send(user, "Your code is ...") for user in (eve, mallory)]
    setup.store.run_sync(triggers.change, "helper", {"config": TriggerConfig(block=(67,))})
    await sending.run_all()

    assert [sending.find(code).state for code in codes] == [MessageState.SENT, MessageState.FAILED]
