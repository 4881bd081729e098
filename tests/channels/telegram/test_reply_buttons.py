"""Buttons under replies: a press is an event that says which button. The answer to a decision says how it came."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gatepost.channels import outgoing_message_actions as outgoing, reply_actions as replies
from gatepost.channels.shared_inbox.api import EntryKind
from gatepost.channels.telegram.buttons import ReplyButton
from gatepost.channels.triggers.trigger import GroupMode
from gatepost.errors import Invalid, Refused
from gatepost.gates.decision import Option, Question
from gatepost.inbox.event import EventType, Push, Route
from gatepost.inbox.event_rendering import render_event
from gatepost.inbox.push import actions as push
from gatepost.testing import Kit
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import User
from tests.channels.telegram.channel_setup import AGENT, ChannelSetup, VerbSetup, open_channel_setup, pair
from tests.channels.telegram.verb_updates import GROUP, HUSAM, open_verb_setup, press, sign, write

POSTGRES_BY_NIGHT = True

EVE = 66
OPTIONS = (Option(id="ship", label="Ship it"), Option(id="wait", label="Wait"))


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with TelegramServer(has_limits=False) as server:
        yield server


@pytest.fixture
async def setup(server: TelegramServer, tmp_path: Path) -> AsyncIterator[ChannelSetup]:
    async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db", allow=(7,)) as setup:
        yield setup


@pytest.fixture
def ana(server: TelegramServer) -> User:
    return server.add_user(7, "Ana", "ana")


async def test_a_press_is_an_event_with_the_label_and_the_ids_of_telegram(setup: ChannelSetup, ana: User) -> None:
    server = setup.telegram
    server.send_text(ana, "can it go out?")
    [event] = await setup.wait_for_events(1)
    setup.store.run_sync(replies.reply, event.id, "All is green.", by=AGENT, buttons=OPTIONS)
    [message] = await setup.wait_for_sent(ana, 1)
    assert [button["text"] for button in message.buttons] == ["Ship it", "Wait"]
    query = server.press(ana, message, "Ship it")
    _, pressed = await setup.wait_for_events(2)

    assert (pressed.type, pressed.content, pressed.route) == (EventType.CHANNEL, "Ship it", event.route)
    assert isinstance(pressed.data, dict)
    assert pressed.data["metadata"] == {
        "telegram_chat_id": "7",
        "telegram_message_id": str(message.id),
        "telegram_username": "ana",
        "telegram_callback_id": query.id,
        "telegram_callback_data": "ship",
    }
    assert render_event(pressed).endswith('"Ship it" (session chat-7:user-7, button ship)')
    entry = setup.list_entries()[-1]
    assert (entry.kind, entry.content, entry.metadata["telegram_callback_data"]) == (
        EntryKind.USER_PROMPT,
        "Ship it",
        "ship",
    )
    await server.wait_until(lambda: query.answer is not None)
    setup.reply(pressed, "It is out.")
    assert (await setup.wait_for_sent(ana, 2))[-1].text == "It is out."


async def test_the_answer_of_a_decision_has_its_route_and_can_be_replied_to(setup: ChannelSetup, ana: User) -> None:
    server = setup.telegram
    server.send_text(ana, "deploy please")
    [event] = await setup.wait_for_events(1)
    setup.ask(event, "Deploy to production?", "Yes", "No")
    [question] = await setup.wait_for_sent(ana, 1)
    query = server.press(ana, question, "Yes")
    events = await setup.wait_for_events(2)
    [answer] = [event for event in events if event.type is EventType.DECISION]

    assert answer.route == Route("telegram", "chat-7:user-7")
    assert isinstance(answer.data, dict)
    assert answer.data["metadata"] == {
        "telegram_chat_id": "7",
        "telegram_message_id": str(question.id),
        "telegram_username": "ana",
        "telegram_callback_id": query.id,
        "telegram_callback_data": "yes",
    }
    assert (answer.data["channel"], answer.data["sessionId"]) == ("telegram", "chat-7:user-7")
    assert render_event(answer).endswith("(session chat-7:user-7)")
    setup.store.run_sync(replies.reply, answer.id, "It is out.", by=AGENT)
    await setup.telegram.wait_until(lambda: any(message.text == "It is out." for message in server.sent(ana)))


class TestVerbs:
    @pytest.fixture
    def setup(self, kit: Kit) -> VerbSetup:
        setup = open_verb_setup(kit, allow=(HUSAM,), groups=GroupMode.ALL)
        pair(kit.store, setup.trigger, EVE, "husam")
        return setup

    def offer(self, setup: VerbSetup, chat: dict[str, object] | None = None) -> str:
        """Let the agent offer buttons, and return the id of its message."""
        write(setup, HUSAM, "can it go out?", chat)
        event = setup.list_events()[-1]
        setup.store.run_sync(replies.reply, event.id, "All is green.", by=AGENT, buttons=OPTIONS)
        message = setup.list_messages()[-1]
        setup.store.run_sync(outgoing.save_part, message, ["900"])
        return message.id

    def test_a_text_that_answers_a_question_carries_its_ids(self, setup: VerbSetup) -> None:
        write(setup, HUSAM, "deploy?")
        [event] = setup.list_events()
        question = Question(question="Really?", options=OPTIONS)
        setup.store.run_sync(replies.ask_decision, question, event.id, by=AGENT)
        taken = write(setup, HUSAM, "ship it")
        [answer] = [event for event in setup.list_events() if event.type is EventType.DECISION]
        assert isinstance(answer.data, dict)
        assert answer.data["metadata"] == {"telegram_chat_id": "9", "telegram_message_id": str(taken.update_id)}
        assert answer.route == Route("telegram", "chat-9:user-9")

    def test_only_the_addressee_presses_in_a_group(self, setup: VerbSetup) -> None:
        data = sign(ReplyButton(message=self.offer(setup, GROUP), option=0), -100)
        assert press(setup, EVE, data, GROUP, 900) == "These buttons are not for you."
        assert press(setup, HUSAM, data, GROUP, 900) == "Sent: Ship it"
        assert [event.content for event in setup.list_events()] == ["can it go out?", "Ship it"]

    def test_what_was_not_offered_is_not_valid(self, setup: VerbSetup) -> None:
        message = self.offer(setup)
        for button in (
            ReplyButton(message=message, option=2),
            ReplyButton(message="out_" + "0" * 32, option=0),
        ):
            assert press(setup, HUSAM, sign(button, HUSAM), message=900) == "This button is not valid any more."
        other_chat = sign(ReplyButton(message=message, option=0), -100)
        assert press(setup, HUSAM, other_chat, message=900) == "This button is not valid any more."
        assert len(setup.list_events()) == 1

    @pytest.mark.parametrize("id", ["approve:pair_0", "", "a b"])
    def test_no_button_looks_like_that_of_a_pairing(self, setup: VerbSetup, id: str) -> None:
        write(setup, HUSAM, "hello")
        [event] = setup.list_events()
        with pytest.raises(Invalid):
            setup.store.run_sync(replies.reply, event.id, "x", by=AGENT, buttons=(Option(id=id, label="OK"),))

    def test_other_replies_have_no_buttons(self, setup: VerbSetup) -> None:
        mail = Push(to=AGENT, type=EventType.MAIL, source="mail", sender="husam", content="hi")
        pushed = setup.store.run_sync(push.push_event, mail)
        with pytest.raises(Refused, match="only a reply on a channel can have buttons"):
            setup.store.run_sync(replies.reply, pushed.event, "x", by=AGENT, buttons=OPTIONS)
