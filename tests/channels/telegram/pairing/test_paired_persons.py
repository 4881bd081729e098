"""What a paired person gets in the chat: questions, which only that person answers, and urgent items."""

import pytest
from msgspec.structs import replace

from gatepost.channels import conversation_actions as conversations, reply_actions as replies
from gatepost.channels.telegram.buttons import DecisionButton
from gatepost.channels.triggers import actions as triggers
from gatepost.core.policy import Policy
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Refused
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import Option, Question
from gatepost.inbox.event import Priority, Push
from gatepost.inbox.push import actions as push
from gatepost.testing import Kit
from tests.channels.telegram.channel_setup import AGENT, VerbSetup, pair
from tests.channels.telegram.verb_updates import EVE, GROUP, HUSAM, ask, press, sign, write

POSTGRES_BY_NIGHT = True


def test_only_the_press_of_the_addressee_counts(kit: Kit, setup: VerbSetup) -> None:
    kit.store.run_sync(directory.register, EntitySpec(name="zoe", kind=EntityKind.HUMAN))
    pair(kit.store, setup.trigger, HUSAM, "husam")
    pair(kit.store, setup.trigger, 12, "zoe")
    decision = ask(setup, "husam")
    button = DecisionButton(decision=decision, option=0)

    assert press(setup, 12, sign(button, -100), GROUP) == "This question is not for you."
    assert press(setup, EVE, sign(button, -100), GROUP) == "This question is not for you."
    assert press(setup, 12, sign(button, HUSAM)) == "This button is not valid any more.", "forwarded"
    assert kit.store.read_sync(decisions.show, decision).is_open
    assert press(setup, HUSAM, sign(button, HUSAM)) == "Noted: Yes"
    assert "was answered already by 'husam'" in press(setup, HUSAM, sign(button, HUSAM))
    unknown = DecisionButton(decision=f"dec_{'0' * 32}", option=0)
    assert press(setup, HUSAM, sign(unknown, HUSAM)) == "This button is not valid any more."


def test_a_button_of_an_earlier_round_does_not_answer_the_next(kit: Kit, setup: VerbSetup) -> None:
    pair(kit.store, setup.trigger, HUSAM, "husam")
    decision = ask(setup, "husam")
    old_data = sign(DecisionButton(decision=decision, option=0), HUSAM)
    question = Question(question="Deploy on Friday?", options=(Option(id="ok", label="OK"),))
    kit.store.run_sync(decisions.revise, decision, question, by=AGENT)

    assert press(setup, HUSAM, old_data) == "This question was asked again: answer the newer one."
    assert kit.store.read_sync(decisions.show, decision).is_open


def test_a_reply_and_a_notice_reach_no_other_chat(kit: Kit, setup: VerbSetup) -> None:
    """A person who is paired in a group gets what is private in the private chat alone."""
    pair(kit.store, setup.trigger, HUSAM, "husam", chat=-100)
    husam = kit.store.read_sync(directory.find, "husam")

    assert kit.store.read_sync(conversations.list_chats_of_person, husam.number) == []
    pair(kit.store, setup.trigger, HUSAM, "husam")
    assert kit.store.read_sync(conversations.list_chats_of_person, husam.number) == [(setup.trigger.number, str(HUSAM))]


def test_urgent_items_of_a_paired_person_are_in_the_chat_too(kit: Kit, setup: VerbSetup) -> None:
    pair(kit.store, setup.trigger, HUSAM, "husam")
    sent = len(setup.list_sent())
    for priority in Priority:
        request = Push(to="husam", source="test", content=f"tea at {priority.name}", priority=priority, dedup_key=None)
        kit.store.run_sync(push.push_event, request)
    kit.store.run_sync(push.push_event, Push(to=AGENT, source="test", content="for an agent", priority=Priority.HIGH))

    assert setup.list_sent()[sent:] == ["test: tea at CRITICAL", "test: tea at HIGH"]


def test_of_a_long_urgent_item_the_beginning_is_in_the_chat(kit: Kit, setup: VerbSetup) -> None:
    pair(kit.store, setup.trigger, HUSAM, "husam")
    request = Push(to="husam", source="test", content="[" * 29_000, priority=Priority.HIGH)
    kit.store.run_sync(push.push_event, request)

    assert setup.list_sent()[-1] == f"test: {'[' * 999}…"


def test_a_blocked_user_who_is_paired_gets_nothing_any_more(kit: Kit, setup: VerbSetup) -> None:
    pair(kit.store, setup.trigger, HUSAM, "husam")
    write(setup, HUSAM, "deploy?")
    [event] = [event for event in setup.list_events() if event.content == "deploy?"]
    config = replace(setup.trigger.config, block=(HUSAM,))
    kit.store.run_sync(triggers.change, setup.trigger.name, {"config": config})
    sent = len(setup.list_sent())

    kit.store.run_sync(push.push_event, Push(to="husam", source="test", content="fire", priority=Priority.CRITICAL))
    ask(setup, "husam")
    agent = kit.store.read_sync(directory.find, AGENT)
    with pytest.raises(Refused, match="the pairing has ended"):
        kit.store.run_sync(replies.reply_on_route, event, "now", agent)

    assert setup.list_sent()[sent:] == []


@pytest.mark.parametrize("notify", Priority)
def test_the_setting_says_which_items_are_urgent(kit: Kit, setup: VerbSetup, notify: Priority) -> None:
    pair(kit.store, setup.trigger, HUSAM, "husam")
    sent = len(setup.list_sent())
    store = kit.open(policy=Policy(channel_notify=notify))
    for priority in Priority:
        store.run_sync(push.push_event, Push(to="husam", source="test", content=priority.name, priority=priority))

    assert setup.list_sent()[sent:] == [f"test: {priority.name}" for priority in Priority if priority <= notify]


def test_a_question_is_shown_in_the_paired_chats_of_the_person_once(kit: Kit, setup: VerbSetup) -> None:
    pair(kit.store, setup.trigger, HUSAM, "husam")
    write(setup, HUSAM, "/reset")
    write(setup, HUSAM, "deploy?")
    sent = len(setup.list_messages())
    [event] = [event for event in setup.list_events() if event.content == "deploy?"]
    ask(setup, "husam")
    options = (Option(id="yes", label="Yes"),)
    kit.store.run_sync(replies.ask_decision, Question(question="Sure?", options=options), event.id, by=AGENT)

    questions = setup.list_messages()[sent:]
    assert [(message.content, message.chat) for message in questions] == [("Deploy?", "9"), ("Sure?", "9")]
    assert [[option.label for option in message.options] for message in questions] == [["Yes", "No"], ["Yes"]]
    write(setup, HUSAM, "no")
    assert setup.list_sent()[-1] == "Noted: No"
