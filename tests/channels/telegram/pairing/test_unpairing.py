"""Users who were let go, persons who have retired, and codes that must not get out, as an attacker would try it."""

from hashlib import sha256

import pytest

from gatepost.channels import (
    conversation_actions as conversations,
    intake_actions as intake,
    pairing_actions as pairing,
    reply_actions as replies,
)
from gatepost.channels.conversation import PairingState
from gatepost.channels.routing import rule_actions as routing_rules, unrouted_message_actions as unrouted_messages
from gatepost.channels.routing.rule import RouteSpec
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.speech import voice_actions as voices
from gatepost.channels.telegram.buttons import DecisionButton
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.trigger import GroupMode, TriggerConfig
from gatepost.channels.user_message_actions import IntakeOutcome
from gatepost.core.policy import Policy
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, Invalid, NotFound, Refused
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import Option, Question
from gatepost.inbox.event import EventType, Priority, Push, Route, Trust
from gatepost.inbox.push import actions as push
from gatepost.jobs import job_actions as jobs
from gatepost.testing import Kit
from tests.channels.telegram.channel_setup import AGENT, VerbSetup, pair
from tests.channels.telegram.verb_updates import (
    EVE,
    GROUP,
    HUSAM,
    ask,
    find_code,
    list_states,
    open_verb_setup,
    press,
    sign,
    write,
)
from tests.export.exports import export_lines, import_lines

POSTGRES_BY_NIGHT = True


def test_who_is_let_go_neither_writes_nor_answers_nor_is_answered(kit: Kit, setup: VerbSetup) -> None:
    """The old session is there, a question waits in it, and its buttons are signed."""
    paired = pair(kit.store, setup.trigger, HUSAM, "husam")
    write(setup, HUSAM, "hello")
    [event] = setup.list_events()
    question = Question(question="Deploy?", options=(Option(id="yes", label="Yes"),), free_text=True)
    decision = kit.store.run_sync(replies.ask_decision, question, event.id, by=AGENT)
    kit.store.run_sync(pairing.revoke, paired.id, by=None)
    sent = len(setup.list_sent())

    assert write(setup, HUSAM, "yes").outcome is IntakeOutcome.PAIRING
    assert write(setup, HUSAM, "yes", reply_to_message={"message_id": 1}).outcome is IntakeOutcome.PAIRING
    assert press(setup, HUSAM, sign(DecisionButton(decision=decision.id, option=0), HUSAM)) == (
        "This question is not for you."
    )
    assert kit.store.read_sync(decisions.show, decision.id).is_open
    assert [event.content for event in setup.list_events()] == ["hello"]
    author = kit.store.read_sync(directory.find, AGENT)
    with pytest.raises(Refused, match="cannot be reached: the pairing has ended"):
        kit.store.run_sync(replies.reply_on_route, event, "your salary is ...", author)
    with pytest.raises(Refused, match="the pairing has ended"):
        kit.store.run_sync(replies.ask_decision, question, event.id, by=AGENT)
    ask(setup, "husam")
    urgent = Push(to="husam", source="test", content="secret", priority=Priority.CRITICAL, dedup_key=None)
    kit.store.run_sync(push.push_event, urgent)
    [code] = setup.list_sent()[sent:]
    assert "Your code is" in code


def test_who_was_let_go_may_be_another_person_later(kit: Kit, setup: VerbSetup) -> None:
    kit.store.run_sync(directory.register, EntitySpec(name="zoe", kind=EntityKind.HUMAN))
    paired = pair(kit.store, setup.trigger, HUSAM, "husam")
    write(setup, HUSAM, "as husam")
    kit.store.run_sync(pairing.revoke, paired.id, by=None)
    write(setup, HUSAM)
    code = [text for text in setup.list_sent() if "Your code" in text][-1].partition("**")[2][:8]
    kit.store.run_sync(pairing.approve, code, by=None, person="zoe")
    write(setup, HUSAM, "as zoe")

    before, after = setup.list_events()
    assert [event.sender and event.sender.name for event in (before, after)] == ["husam", "zoe"]
    [session] = kit.store.read_sync(conversations.list_sessions)
    assert (session.person, session.id) == ("zoe", "chat-9:user-9:reset-1")
    for viewer, content in (("husam", "as husam"), ("zoe", "as zoe")):
        entries = kit.store.read_sync(shared_inbox.list_page, viewer=viewer)
        assert [entry.content for entry in entries] == [content]
    author = kit.store.read_sync(directory.find, AGENT)
    with pytest.raises(Refused, match="cannot be reached"):
        kit.store.run_sync(replies.reply_on_route, before, "your salary is ...", author)
    kit.store.run_sync(replies.reply_on_route, after, "hello zoe", author)


def test_whoever_gets_a_kept_message_later_learns_of_a_reset(kit: Kit, setup: VerbSetup) -> None:
    pair(kit.store, setup.trigger, HUSAM, "husam")
    kit.store.run_sync(triggers.change, "helper", {"target": None})
    write(setup, HUSAM, "hello")
    [letter] = kit.store.read_sync(unrouted_messages.list_page, by=None)
    kit.store.run_sync(routing_rules.create_rule, RouteSpec(name="all", targets=(AGENT,)), by=None)
    kit.store.run_sync(intake.replay_unrouted, letter.id, by=None)
    kit.store.run_sync(routing_rules.delete_rule, "all", by=None)
    write(setup, HUSAM, "/reset")

    prompt, reset = setup.list_events()
    assert (prompt.content, reset.content) == ("hello", "The user began a new conversation.")
    assert (reset.priority, reset.route) == (Priority.FYI, Route("telegram", "chat-9:user-9:reset-1"))


def test_a_kept_message_is_replayed_as_whoever_wrote_it_or_as_nobody(kit: Kit, setup: VerbSetup) -> None:
    store = kit.store
    store.run_sync(directory.register, EntitySpec(name="zoe", kind=EntityKind.HUMAN))
    store.run_sync(directory.register, EntitySpec(name="omar", kind=EntityKind.HUMAN))
    store.run_sync(triggers.change, "helper", {"target": None})
    paired = pair(store, setup.trigger, HUSAM, "husam")
    for text in ("one", "two"):
        write(setup, HUSAM, text)
    pair(store, setup.trigger, EVE, "omar")
    write(setup, EVE, "three")
    letters = store.read_sync(unrouted_messages.list_page, by=None)
    assert [letter.sender for letter in letters] == ["husam", "husam", "omar"]
    store.run_sync(routing_rules.create_rule, RouteSpec(name="all", targets=(AGENT,)), by=None)
    store.run_sync(intake.replay_unrouted, letters[0].id, by=None)
    store.run_sync(pairing.revoke, paired.id, by=None)
    pair(store, setup.trigger, HUSAM, "zoe")
    write(setup, HUSAM, "as zoe")
    store.run_sync(directory.retire, "omar")
    for letter in letters[1:]:
        store.run_sync(intake.replay_unrouted, letter.id, by=None)

    events = {event.content: event for event in setup.list_events()}
    senders = {content: event.sender and event.sender.name for content, event in events.items()}
    assert senders == {"one": "husam", "as zoe": "zoe", "two": None, "three": None}
    assert {events[content].trust for content in ("two", "three")} == {Trust.EXTERNAL}
    author = store.read_sync(directory.find, AGENT)
    with pytest.raises(Refused, match="cannot be reached"):
        store.run_sync(replies.reply_on_route, events["two"], "your salary is ...", author)


def test_a_kept_message_is_discarded_once(kit: Kit, setup: VerbSetup) -> None:
    store = kit.store
    store.run_sync(triggers.change, "helper", {"target": None})
    pair(store, setup.trigger, HUSAM, "husam")
    write(setup, HUSAM, "hello")
    [letter] = store.read_sync(unrouted_messages.list_page, by=None)
    store.run_sync(unrouted_messages.discard, letter.id, by=None)

    assert store.read_sync(unrouted_messages.count) == 0
    [discarded] = store.read_sync(unrouted_messages.list_page, by=None, handled=True)
    assert (discarded.discarded_by, discarded.replayed_by) == ("admin", None)
    for verb in (unrouted_messages.discard, intake.replay_unrouted):
        with pytest.raises(Conflict, match="was discarded by 'admin' already"):
            store.run_sync(verb, letter.id, by=None)


def test_an_anonymous_writer_is_not_answered_in_a_group_that_is_let_go(kit: Kit) -> None:
    """Nobody is paired there: the group was on the allow list, or is on the block list now."""
    setup = open_verb_setup(kit, allow=(-100,), groups=GroupMode.ALL)
    write(setup, -100, "hello", GROUP, sender_chat=GROUP)
    [event] = setup.list_events()
    author = kit.store.read_sync(directory.find, AGENT)
    kit.store.run_sync(replies.reply_on_route, event, "hello", author)
    for config in (TriggerConfig(groups=GroupMode.ALL), TriggerConfig(allow=(-100,), block=(-100,))):
        kit.store.run_sync(triggers.change, "helper", {"config": config})
        with pytest.raises(Refused, match="cannot be reached"):
            kit.store.run_sync(replies.reply_on_route, event, "secret", author)


@pytest.mark.parametrize("is_paired_again", [False, True])
@pytest.mark.parametrize("transcript", ["pay 1000 to eve", ""])
def test_a_recording_of_a_user_who_was_let_go_is_dropped(kit: Kit, is_paired_again: bool, transcript: str) -> None:
    setup = open_verb_setup(kit)
    setup.store = store = kit.open(policy=Policy(has_speech=True))
    paired = pair(store, setup.trigger, HUSAM, "husam")
    taken = write(setup, HUSAM, voice={"file_id": "f", "file_unique_id": "u", "duration": 1})
    assert taken.outcome is IntakeOutcome.VOICE
    [job] = store.run_sync(jobs.take, [voices.TRANSCRIBE_JOB], "tests", hold=2**60)
    store.run_sync(pairing.revoke, paired.id, by=None)
    if is_paired_again:
        pair(store, setup.trigger, HUSAM, "admin")
    sent = setup.list_sent()

    assert not store.run_sync(voices.route_with_transcript, job.payload, transcript, 0.9)
    assert setup.list_events() == []
    assert setup.list_sent() == sent
    voice = store.run_sync(voices.lock, job.payload)
    assert voice is not None
    assert voice.state == "failed"


def test_a_retired_person_is_nobody_and_gets_no_code(kit: Kit, setup: VerbSetup) -> None:
    pair(kit.store, setup.trigger, HUSAM, "husam")
    write(setup, HUSAM, "hello")
    [event] = setup.list_events()
    decision = ask(setup, "husam")
    kit.store.run_sync(directory.retire, "husam")
    sent = len(setup.list_sent())

    assert write(setup, HUSAM, "yes").outcome is IntakeOutcome.PAIRING
    data = sign(DecisionButton(decision=decision, option=0), HUSAM)
    assert press(setup, HUSAM, data) == "This question is not for you."
    assert [item.content for item in setup.list_events() if item.type is EventType.CHANNEL] == ["hello"]
    assert not any("code" in text for text in setup.list_sent()[sent:])
    author = kit.store.read_sync(directory.find, AGENT)
    with pytest.raises(Refused, match="the pairing has ended"):
        kit.store.run_sync(replies.reply_on_route, event, "hello", author)


def test_a_code_of_a_group_or_of_a_negative_id_does_not_exist(kit: Kit) -> None:
    setup = open_verb_setup(kit, groups=GroupMode.ALL)
    write(setup, EVE, "hello", GROUP)
    write(setup, EVE, "hello", GROUP, sender_chat=GROUP)

    assert list_states(setup) == []
    for code in ("-100", "pair_-100", "pair_", f"pair_{'0' * 32}"):
        with pytest.raises((Invalid, NotFound)):
            setup.store.run_sync(pairing.approve, code, by=None)


def test_no_export_has_a_code_and_its_import_lets_nobody_in(kit: Kit, setup: VerbSetup) -> None:
    """Not in the row of the request, and not in the message by which the user got it."""
    pair(kit.store, setup.trigger, HUSAM, "husam")
    write(setup, EVE)
    code = find_code(setup, EVE)
    digest = sha256(code.encode()).hexdigest()
    exports = [export_lines(kit.store, secrets=secrets) for secrets in (True, False)]
    for lines in exports:
        text = b"".join(lines).decode()
        assert code not in text
        assert digest not in text
        assert "Your code is **" + "***" + "**" in text
    with Kit() as other_kit:
        import_lines(other_kit.store, exports[1])
        entries = other_kit.store.read_sync(pairing.list_page)
        assert [(entry.user_id, entry.state, entry.person) for entry in entries] == [
            (str(HUSAM), PairingState.APPROVED, "husam"),
            (str(EVE), PairingState.REQUESTED, None),
        ]
        for attempt in (code, "", digest[:8].upper()):
            with pytest.raises((Invalid, NotFound)):
                other_kit.store.run_sync(pairing.approve, attempt, by=None)
        other_kit.store.run_sync(pairing.deny, entries[1].id, by=None)
