"""Presses of buttons and answers to questions: each press is answered, and only those of the person asked count."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gatepost.channels import outgoing_message_actions as outgoing, reply_actions as replies
from gatepost.channels.telegram import button_press_actions as telegram_presses, update_actions as telegram
from gatepost.channels.telegram.buttons import DecisionButton
from gatepost.channels.triggers.trigger import GroupMode
from gatepost.channels.user_message_actions import IntakeOutcome
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import Option, Question
from gatepost.testing import Kit
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.channel_setup import AGENT, ChannelSetup, VerbSetup, open_channel_setup, pair
from tests.channels.telegram.verb_updates import GROUP, HUSAM, open_verb_setup, press, sign, write

POSTGRES_BY_NIGHT = True

ZOE, BOSS = 12, 11
USER = {"id": HUSAM, "first_name": "Husam"}
PRIVATE = {"id": HUSAM, "type": "private"}
#: the id that Telegram has given to the question in the group
QUESTION = 900


@pytest.fixture
def setup(kit: Kit) -> VerbSetup:
    """Husam, Zoe and the administrator are paired, and in a group."""
    setup = open_verb_setup(kit, groups=GroupMode.ALL)
    kit.store.run_sync(directory.register, EntitySpec(name="zoe", kind=EntityKind.HUMAN))
    for user, person in ((HUSAM, "husam"), (ZOE, "zoe"), (BOSS, "admin")):
        pair(kit.store, setup.trigger, user, person)
    return setup


def ask_in_group(setup: VerbSetup) -> str:
    """Husam writes in the group, and the agent asks there; return the id of the decision."""
    write(setup, HUSAM, "deploy?", GROUP)
    [event] = setup.list_events()
    options = (Option(id="yes", label="Yes"), Option(id="no", label="No"))
    question = Question(question="Really?", options=options, free_text=True)
    decision = setup.store.run_sync(replies.ask_decision, question, event.id, by=AGENT)
    [message] = [message for message in setup.list_messages() if message.chat == str(GROUP["id"])]
    setup.store.run_sync(outgoing.save_part, message, [str(QUESTION)])
    return decision.id


def reply(setup: VerbSetup, user: int, text: str) -> None:
    """Reply to the question in the group."""
    bot = {"id": setup.bot.identity.id, "is_bot": True, "first_name": "Gatepost"}
    quoted = {"message_id": QUESTION, "date": 1, "chat": GROUP, "from": bot, "text": "Really?"}
    write(setup, user, text, GROUP, reply_to_message=quoted)


def is_open(setup: VerbSetup, decision: str) -> bool:
    return setup.store.read_sync(decisions.show, decision).is_open


@pytest.mark.parametrize(
    "query",
    [
        {"id": "q1", "from": USER, "game_short_name": "chess", "message": {"message_id": 1, "chat": PRIVATE}},
        {"id": "q1", "from": USER, "data": "x"},
        {"id": "q1", "from": USER, "data": "x", "inline_message_id": "i"},
        {"id": "q1", "from": USER, "data": "", "message": {"message_id": 1, "chat": PRIVATE}},
        {"id": "q1", "from": USER, "data": "x", "message": {"message_id": "one", "chat": PRIVATE}},
        {"id": "q1", "from": "nobody", "data": "x"},
        {"id": "q1", "from": USER, "data": "x", "message": {"message_id": 1, "date": 0, "chat": PRIVATE}},
    ],
)
def test_every_press_is_answered_whatever_it_has(setup: VerbSetup, query: dict[str, Any]) -> None:
    update = {"update_id": 10**9, "callback_query": query}
    [taken], [repeated] = setup.take(update), setup.take(update)

    for outcome in (taken, repeated):
        assert outcome.answer is not None
        assert outcome.answer.query_id == "q1"
    assert (taken.outcome is repeated.outcome, repeated.outcome) == (False, IntakeOutcome.REPEATED)


def test_a_press_that_cannot_be_taken_is_answered(setup: VerbSetup) -> None:
    query = {"id": "q1", "from": USER, "data": "x", "message": {"message_id": 1, "chat": PRIVATE}}
    update = {"update_id": 10**9, "callback_query": query}
    skipped = setup.store.run_sync(telegram.skip_update, "helper", update, setup.bot, "it broke")

    assert skipped.answer is not None
    assert (skipped.answer.query_id, skipped.outcome) == ("q1", IntakeOutcome.IGNORED)


def test_in_a_group_only_the_addressee_presses(setup: VerbSetup) -> None:
    decision = ask_in_group(setup)
    data = sign(DecisionButton(decision=decision, option=0), int(str(GROUP["id"])))

    for user in (ZOE, BOSS, 66):
        assert press(setup, user, data, GROUP, QUESTION) == "This question is not for you."
    assert is_open(setup, decision)
    assert press(setup, HUSAM, data, GROUP, QUESTION) == "Noted: Yes"


@pytest.mark.parametrize("text", ["yes", "Whatever I say"])
def test_in_a_group_only_a_reply_of_the_addressee_answers(setup: VerbSetup, text: str) -> None:
    decision = ask_in_group(setup)
    for user in (ZOE, BOSS):
        reply(setup, user, text)
        write(setup, user, text, GROUP)

    assert is_open(setup, decision)
    assert len(setup.list_events()) == 5, "what others say is a prompt"
    reply(setup, HUSAM, text)
    answered = setup.store.read_sync(decisions.show, decision)
    assert answered.last_answer is not None
    assert answered.last_answer.by == "husam"


def test_a_forwarded_question_is_not_answered_by_a_reply_to_the_forward(setup: VerbSetup) -> None:
    """In another chat the number of the message is that of another message, or of none."""
    decision = ask_in_group(setup)
    bot = {"id": setup.bot.identity.id, "is_bot": True, "first_name": "Gatepost"}
    chat = {"id": ZOE, "type": "private"}
    quoted = {"message_id": QUESTION, "date": 1, "chat": chat, "from": bot, "text": "Really?", "forward_date": 1}
    write(setup, ZOE, "yes", chat, reply_to_message=quoted)

    assert is_open(setup, decision)


def test_a_question_about_a_topic_is_asked_in_the_topic(setup: VerbSetup) -> None:
    write(setup, HUSAM, "deploy?", GROUP, message_thread_id=4, is_topic_message=True)
    [event] = setup.list_events()
    question = Question(question="Really?", options=(Option(id="yes", label="Yes"),))
    decision = setup.store.run_sync(replies.ask_decision, question, event.id, by=AGENT)
    [message] = [message for message in setup.list_messages() if message.chat == str(GROUP["id"])]
    assert (message.thread, message.decision) == ("4", decision.id)
    write(setup, HUSAM, "yes", GROUP)
    assert is_open(setup, decision.id), "another topic is another session"
    write(setup, HUSAM, "yes", GROUP, message_thread_id=4, is_topic_message=True)

    assert not is_open(setup, decision.id)


@pytest.fixture
async def live_setup(tmp_path: Path) -> AsyncIterator[ChannelSetup]:
    with TelegramServer(has_limits=False) as server:
        async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db", allow=(7, 8)) as setup:
            yield setup


async def test_a_press_that_breaks_the_verb_is_answered_and_does_not_stop_the_next(
    live_setup: ChannelSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    server = live_setup.telegram
    ana = server.add_user(7, "Ana")
    server.send_text(ana, "hello")
    [event] = await live_setup.wait_for_events(1)
    live_setup.ask(event, "Deploy?", "Yes")
    [question] = await live_setup.wait_for_sent(ana, 1)
    monkeypatch.setattr(telegram_presses, "take", fail)
    server.press(ana, question, "Yes")
    server.send_text(ana, "and then")
    await live_setup.wait_for_events(2)

    await server.wait_until(lambda: not server.unanswered_queries)


async def test_a_question_to_a_paired_person_is_asked_and_answered_in_the_private_chat(
    live_setup: ChannelSetup,
) -> None:
    """Nobody wrote before: the decision names the person, and the chat is the paired one."""
    server = live_setup.telegram
    husam, eve = server.add_user(HUSAM, "Husam"), server.add_user(66, "Eve")
    server.open_chat(husam)
    server.open_chat(eve)
    live_setup.pair(husam, "husam")
    question = Question(question="Deploy?", options=(Option(id="yes", label="Yes"),), respondents=("husam",))
    decision = live_setup.store.run_sync(decisions.ask, question, by=AGENT)
    *_, message = await live_setup.wait_for_sent(husam, 2)
    assert server.sent(eve) == []
    server.press(eve, message, data=message.buttons[0]["callback_data"])
    await server.wait_until(lambda: not server.unanswered_queries)
    assert live_setup.store.read_sync(decisions.show, decision.id).is_open
    server.press(husam, message, "Yes")
    await server.wait_until(lambda: message.edits)

    assert message.text == "Deploy?\n\nhusam: Yes"
    assert server.refusals == []
