"""Notices of urgent items in the chat of a person: nobody buries a phone, and replies and questions come first."""

import pytest

from gatepost.channels import outgoing_message_actions as messages
from gatepost.core.times import HOUR, MINUTE
from gatepost.directory import entity_actions as directory
from gatepost.directory.attention import AttentionLevel
from gatepost.directory.attention_actions import set_attention
from gatepost.inbox.event import Priority, Push
from gatepost.inbox.push import actions as push
from gatepost.jobs import job_actions as jobs
from gatepost.testing import Kit
from tests.channels.telegram.channel_setup import AGENT, VerbSetup, pair
from tests.channels.telegram.verb_updates import HUSAM, ask

POSTGRES_BY_NIGHT = True


@pytest.fixture
def _paired(kit: Kit, setup: VerbSetup) -> None:
    pair(kit.store, setup.trigger, HUSAM, "husam")


def push_urgent(kit: Kit, text: str, sender: str = AGENT) -> None:
    request = Push(to="husam", source="test", sender=sender, content=text, priority=Priority.CRITICAL)
    kit.store.run_sync(push.push_event, request)


def list_due(kit: Kit) -> list[str]:
    """Return what the jobs that are due would send now, in its order."""
    due_jobs = kit.store.run_sync(jobs.take, [messages.SEND_JOB], "test", limit=1_000)
    lists = [kit.store.read_sync(messages.list_pending, job.payload) for job in due_jobs]
    longest = max(lists, key=len, default=[])
    for message in longest:
        kit.store.run_sync(messages.finish, message)
    return [message.content for message in longest]


@pytest.mark.usefixtures("_paired")
def test_the_sixth_notice_of_a_sender_in_ten_minutes_is_a_summary(kit: Kit, setup: VerbSetup) -> None:
    list_due(kit)
    for number in range(200):
        push_urgent(kit, f"alarm {number}")
    push_urgent(kit, "mine is another", sender="admin")
    assert list_due(kit) == [*(f"analyst: alarm {number}" for number in range(5)), "Admin: mine is another"]
    kit.clock.advance(5 * MINUTE)
    push_urgent(kit, "one more")
    assert list_due(kit) == []
    kit.clock.advance(5 * MINUTE)
    assert list_due(kit) == ["analyst: 196 more urgent items in your inbox"]
    push_urgent(kit, "later")
    assert list_due(kit) == ["analyst: later"]


@pytest.mark.usefixtures("_paired")
def test_what_comes_while_a_person_is_not_to_be_disturbed_is_counted_for_the_end(kit: Kit, setup: VerbSetup) -> None:
    list_due(kit)
    kit.store.run_sync(set_attention, "husam", AttentionLevel.DO_NOT_DISTURB, length=HOUR)
    push_urgent(kit, "the site is down")
    push_urgent(kit, "the lift is stuck", sender="admin")
    assert list_due(kit) == []
    kit.store.run_sync(set_attention, "husam", AttentionLevel.FOCUS, length=HOUR)
    push_urgent(kit, "the house is on fire")
    assert list_due(kit) == ["analyst: the house is on fire"], "it is critical"
    kit.clock.advance(HOUR)
    assert list_due(kit) == ["2 urgent items came while you were not to be disturbed"]


@pytest.mark.usefixtures("_paired")
def test_the_number_is_sent_when_the_person_can_be_disturbed_again(kit: Kit, setup: VerbSetup) -> None:
    list_due(kit)
    summary = "1 urgent item came while you were not to be disturbed"
    kit.store.run_sync(set_attention, "husam", AttentionLevel.DO_NOT_DISTURB, length=HOUR)
    push_urgent(kit, "the site is down")
    kit.store.run_sync(set_attention, "husam", AttentionLevel.ALL)
    assert list_due(kit) == [summary], "at once, if it ends sooner"
    kit.clock.advance(2 * HOUR)
    assert list_due(kit) == []
    kit.store.run_sync(set_attention, "husam", AttentionLevel.DO_NOT_DISTURB, length=HOUR)
    push_urgent(kit, "the lift is stuck")
    kit.store.run_sync(set_attention, "husam", AttentionLevel.DO_NOT_DISTURB, length=3 * HOUR)
    kit.clock.advance(2 * HOUR)
    assert list_due(kit) == [], "not before it ends, if that is later"
    kit.clock.advance(HOUR)
    assert list_due(kit) == [summary]


@pytest.mark.usefixtures("_paired")
def test_a_question_is_sent_whatever_may_disturb(kit: Kit, setup: VerbSetup) -> None:
    list_due(kit)
    kit.store.run_sync(set_attention, "husam", AttentionLevel.DO_NOT_DISTURB, length=HOUR)
    ask(setup, "husam")
    assert len(list_due(kit)) == 1


@pytest.mark.usefixtures("_paired")
def test_one_item_in_a_summary_is_one_item(kit: Kit, setup: VerbSetup) -> None:
    list_due(kit)
    for number in range(6):
        push_urgent(kit, f"alarm {number}")
    kit.clock.advance(10 * MINUTE)
    assert list_due(kit)[-1] == "analyst: 1 more urgent item in your inbox"


@pytest.mark.usefixtures("_paired")
def test_replies_and_questions_are_sent_before_notices(kit: Kit, setup: VerbSetup) -> None:
    list_due(kit)
    for number in range(5):
        push_urgent(kit, f"alarm {number}")
    ask(setup, "husam")
    sent = list_due(kit)
    assert [text.startswith("analyst: alarm") for text in sent] == [False, True, True, True, True, True]


@pytest.mark.usefixtures("_paired")
def test_a_reply_does_not_wait_for_the_notices_before_it(kit: Kit, setup: VerbSetup) -> None:
    list_due(kit)
    push_urgent(kit, "alarm")
    husam = kit.store.read_sync(directory.find, "husam")
    [(trigger, chat)] = kit.store.read_sync(messages.list_private_chats, husam.number)
    reply = kit.store.run_sync(messages.send, trigger.number, chat, "the answer")
    pending = kit.store.read_sync(messages.list_pending, reply)
    assert [message.content for message in pending] == ["the answer"]
