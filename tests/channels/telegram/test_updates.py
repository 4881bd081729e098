"""Updates of Telegram as verbs: each is taken once, in order, and none stops the ones after it."""

import json
from pathlib import Path
from typing import Any

import pytest

from gatepost.channels import intake_actions as intake, pairing_actions as pairing, reply_actions as replies
from gatepost.channels.routing import unrouted_message_actions as unrouted_messages
from gatepost.channels.routing.api import UnroutedReason
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.telegram import update_actions as telegram
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.trigger import GroupMode, TriggerConfig
from gatepost.channels.user_message_actions import IntakeOutcome
from gatepost.directory import entity_actions as directory
from gatepost.errors import Refused
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import Option, Question
from gatepost.inbox.event import Priority
from gatepost.testing import Kit
from tests.channels.telegram.channel_setup import AGENT, TOKEN, VerbSetup, build_profile, pair, set_up_store

SAMPLES = Path(__file__).parents[4] / "shared/samples/telegram"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason=f"NOT CHECKED: there are no samples at {SAMPLES}")

ANA = {"id": 7, "is_bot": False, "first_name": "Ana", "username": "ana"}
GROUP = {"id": -100, "type": "supergroup", "title": "Team"}


@pytest.fixture
def setup(kit: Kit) -> VerbSetup:
    trigger = set_up_store(kit.store, TOKEN, allow=(7,))
    return VerbSetup(store=kit.store, trigger=trigger, bot=build_profile())


def build_message(number: int, text: str = "hello", /, kind: Any = "message", **fields: Any) -> dict[str, Any]:
    chat = {"id": 7, "type": "private", "first_name": "Ana"}
    message = {"message_id": 500 + number, "date": 1_700_000_000, "from": ANA, "chat": chat, "text": text, **fields}
    return {"update_id": number, kind: message}


def read_samples() -> list[Any]:
    """Every sample as an update, numbered in order."""
    documents = list(json.loads((SAMPLES / "official-webhooks-guide-updates.json").read_text())["updates"].values())
    for path in sorted((SAMPLES / "teloxide-anon").glob("*.json")):
        document = json.loads(path.read_text())
        documents += document if isinstance(document, list) else [document]
    updates = []
    for number, document in enumerate(documents, 1):
        update = document if isinstance(document, dict) and "update_id" in document else {"message": document}
        updates.append({**update, "update_id": number})
    return updates


@needs_samples
@pytest.mark.parametrize("groups", GroupMode)
def test_every_sample_is_taken_or_ignored_with_a_reason_in_order_and_once(kit: Kit, groups: GroupMode) -> None:
    samples = read_samples()
    set_up = set_up_store(kit.store, TOKEN, groups=groups)
    setup = VerbSetup(store=kit.store, trigger=set_up, bot=build_profile())

    outcomes = setup.take(*samples)
    repeats = setup.take(*samples)

    assert [outcome.update_id for outcome in outcomes] == list(range(1, len(samples) + 1))
    for outcome in outcomes:
        assert outcome.outcome is not IntakeOutcome.REPEATED
        assert outcome.reason or outcome.outcome is not IntakeOutcome.IGNORED
    assert {repeat.outcome for repeat in repeats} == {IntakeOutcome.REPEATED}


@needs_samples
def test_samples_of_allowed_users_become_events(kit: Kit) -> None:
    samples = read_samples()
    users = {
        message["from"]["id"]
        for sample in samples
        for message in sample.values()
        if isinstance(message, dict) and isinstance(message.get("from"), dict)
    }
    set_up = set_up_store(kit.store, TOKEN, groups=GroupMode.ALL, allow=tuple(users))
    setup = VerbSetup(store=kit.store, trigger=set_up, bot=build_profile())

    outcomes = setup.take(*samples)

    received = [outcome for outcome in outcomes if outcome.outcome is IntakeOutcome.RECEIVED]
    assert len(received) > 5
    assert len([event for event in setup.list_events() if event.type == "channel"]) >= len(received)


def test_a_text_is_an_event_of_the_person_with_the_way_back(setup: VerbSetup) -> None:
    [taken] = setup.take(build_message(1, "how are sales?"))

    [event] = setup.list_events()
    assert taken.outcome is IntakeOutcome.RECEIVED
    assert event.content == "how are sales?"
    assert event.route is not None
    assert (event.route.channel, event.route.session) == ("telegram", "chat-7:user-7")
    assert event.dedup_key == "telegram:99:1"
    assert event.sender is not None
    assert event.sender.name == "ana"
    assert isinstance(event.data, dict)
    assert event.data["metadata"] == {
        "telegram_chat_id": "7",
        "telegram_message_id": "501",
        "telegram_username": "ana",
    }


def test_numbers_that_begin_lower_count_only_after_a_day_of_silence(kit: Kit, setup: VerbSetup) -> None:
    setup.take(build_message(40, "first"), build_message(100, "second"))
    kit.clock.advance("23 hours")
    [too_early] = setup.take(build_message(40, "repeated"))
    kit.clock.advance("2 hours")
    [lower] = setup.take(build_message(40, "after the restart"))
    [repeated] = setup.take(build_message(40, "after the restart"))
    [next_one] = setup.take(build_message(100, "the same number in the new epoch"))

    assert too_early.outcome is IntakeOutcome.REPEATED
    assert lower.outcome is IntakeOutcome.RECEIVED
    assert repeated.outcome is IntakeOutcome.REPEATED
    assert next_one.outcome is IntakeOutcome.RECEIVED
    assert [event.dedup_key for event in setup.list_events()] == [
        "telegram:99:40",
        "telegram:99:100",
        "telegram:99:1:40",
        "telegram:99:1:100",
    ]


def test_a_late_update_is_taken_once_also_if_the_bot_polls_by_then(setup: VerbSetup) -> None:
    outcomes = setup.take(build_message(1, "one"), build_message(3, "three"), build_message(2, "two"))
    repeats = setup.take(build_message(2, "two"), build_message(3, "three"))

    assert {outcome.outcome for outcome in outcomes} == {IntakeOutcome.RECEIVED}
    assert {repeat.outcome for repeat in repeats} == {IntakeOutcome.REPEATED}
    assert [event.content for event in setup.list_events()] == ["one", "three", "two"]


@pytest.mark.parametrize(
    "broken", [None, 7, "text", [], {}, {"update_id": "x"}, {"update_id": -1}, {"update_id": True}]
)
def test_what_is_not_an_update_does_not_stop_the_next_one(setup: VerbSetup, broken: Any) -> None:
    outcomes = setup.take(broken, build_message(2))

    assert [outcome.update_id for outcome in outcomes] == [None, 2]
    assert len(setup.list_events()) == 1


def test_an_update_that_cannot_be_taken_is_left_out_and_its_owner_is_told(setup: VerbSetup) -> None:
    setup.store.run_sync(telegram.skip_update, "helper", build_message(5), setup.bot, "it broke")
    [repeated] = setup.take(build_message(5))

    assert repeated.outcome is IntakeOutcome.REPEATED
    [alert] = setup.list_events("admin")
    assert alert.content == "an update of the bot 'helper' could not be taken: it broke"


def test_an_edit_is_a_new_event_that_names_the_message(setup: VerbSetup) -> None:
    setup.take(build_message(1, "helo"), build_message(2, "hello", "edited_message", message_id=501))

    [_, edit] = setup.list_events()
    assert edit.content == "hello"
    assert edit.ref is not None
    assert (edit.ref.type, edit.ref.id) == ("message", "501")
    assert isinstance(edit.data, dict)
    assert edit.data["edited"] is True


def test_a_picture_is_named_and_answered_with_a_sentence(setup: VerbSetup) -> None:
    photo = [{"file_id": "x", "width": 1, "height": 1}]
    setup.take(
        build_message(1, "", photo=photo, caption="the chart"),
        build_message(2, "", photo=photo),
    )

    assert [event.content for event in setup.list_events()] == ["[photo] the chart", "[photo]"]
    assert setup.list_sent() == [
        "I cannot see a photo. Only its text is passed on.",
        "I cannot see a photo. Say in words what it shows.",
    ]


@pytest.mark.parametrize(
    ("field", "value", "content", "sentence"),
    [
        ("document", {"file_id": "x"}, "[document]", "I cannot see a document. Say in words what it shows."),
        ("sticker", {"file_id": "x"}, "[sticker]", "I cannot see a sticker. Say in words what it shows."),
        ("animation", {"file_id": "x"}, "[animation]", "I cannot see an animation. Say in words what it shows."),
        ("location", {"latitude": 1, "longitude": 2}, "[location]", "I cannot see a location."),
        ("poll", {"id": "1", "question": "?"}, "[poll]", "I cannot see a poll."),
        ("paid_media", {"star_count": 1}, "[paid media]", "I cannot see a paid media."),
    ],
)
def test_other_media_are_named_and_answered_with_a_sentence(
    setup: VerbSetup, field: str, value: Any, content: str, sentence: str
) -> None:
    setup.take(build_message(1, "", **{field: value}))

    assert [event.content for event in setup.list_events()] == [content]
    assert setup.list_sent()[0].startswith(sentence)


@pytest.mark.parametrize("kind", ["voice", "audio", "video_note"])
def test_whatever_can_be_heard_is_a_voice_message_with_its_caption(setup: VerbSetup, kind: str) -> None:
    recording = {"file_id": "f1", "duration": 3, "file_size": 100}
    [taken] = setup.take(build_message(1, "", caption="listen", **{kind: recording}))

    assert taken.outcome is IntakeOutcome.VOICE
    [event] = setup.list_events()
    assert event.content == "listen\n[voice, not transcribed]", "nothing transcribes here"
    assert isinstance(event.data, dict)
    assert isinstance(event.data["metadata"], dict)
    assert event.data["metadata"]["telegram_file_id"] == "f1"


def test_commands_pairing_and_refused_messages_are_not_in_the_shared_inbox(kit: Kit) -> None:
    trigger = set_up_store(kit.store, TOKEN, allow=(7,), block=(8,))
    setup = VerbSetup(store=kit.store, trigger=trigger, bot=build_profile())
    texts = ["/start", "/help", "/ping", "/reset"]
    setup.take(*(build_message(number, text) for number, text in enumerate(texts, 1)))
    for number, user in ((10, 8), (11, 9)):
        sender = {"id": user, "first_name": "Eve"}
        setup.take(build_message(number, "hello", **{"from": sender, "chat": {"id": user, "type": "private"}}))

    assert len(setup.list_sent()) == 5, "four commands and a code"
    assert kit.store.read_sync(shared_inbox.list_page) == []
    setup.take(build_message(20, "and now a prompt"))
    assert [entry.content for entry in kit.store.read_sync(shared_inbox.list_page)] == ["and now a prompt"]


def test_metadata_that_a_bot_requires_is_not_guessed(kit: Kit) -> None:
    trigger = set_up_store(kit.store, TOKEN, allow=(7,), requires=("telegram_username",))
    setup = VerbSetup(store=kit.store, trigger=trigger, bot=build_profile())
    nameless = {name: value for name, value in ANA.items() if name != "username"}
    setup.take(build_message(1, "hello", **{"from": nameless}))
    setup.take(build_message(2, "hello"))

    assert len(setup.list_events()) == 1
    [unrouted] = kit.store.read_sync(unrouted_messages.list_page, by=None)
    assert unrouted.reason is UnroutedReason.MISSING_METADATA
    assert setup.list_sent() == [
        "This lacks telegram_username, so nobody gets it. It is kept, and the owner of this bot knows."
    ]
    [alert] = setup.list_events("admin")
    assert alert.content.startswith("a message of 'helper' lacks 'telegram_username', which its trigger requires")
    with pytest.raises(Refused, match="lacks 'telegram_username', which its trigger requires"):
        kit.store.run_sync(intake.replay_unrouted, unrouted.id, by=None)
    kit.store.run_sync(triggers.change, "helper", {"config": TriggerConfig(allow=(7,))})
    kit.store.run_sync(intake.replay_unrouted, unrouted.id, by=None)
    assert len(setup.list_events()) == 2


def test_a_reset_raises_the_generation_and_does_not_wake(setup: VerbSetup) -> None:
    setup.take(build_message(1, "one"), build_message(2, "/reset"), build_message(3, "two"))

    one, reset, two = sorted(setup.list_events(), key=lambda event: event.dedup_key or "")
    assert [event.route.session for event in (one, reset, two) if event.route] == [
        "chat-7:user-7",
        "chat-7:user-7:reset-1",
        "chat-7:user-7:reset-1",
    ]
    assert isinstance(reset.data, dict)
    assert isinstance(reset.data["metadata"], dict)
    assert reset.data["metadata"]["reset_session"] == "true"
    assert reset.priority is Priority.FYI
    assert setup.list_sent() == ["This is a new conversation now."]


def test_commands_are_answered_and_not_passed_on(setup: VerbSetup) -> None:
    setup.take(build_message(1, "/start"), build_message(2, "/help"), build_message(3, "/ping@gate_bot"))

    assert setup.list_events() == []
    start, help_text, ping = setup.list_sent()
    assert start.startswith("Hello Ana.")
    assert "/reset" in help_text
    assert ping == "pong"


def test_another_command_is_a_prompt(setup: VerbSetup) -> None:
    setup.take(build_message(1, "/deploy now"))

    assert [event.content for event in setup.list_events()] == ["/deploy now"]


def test_a_topic_is_a_session_of_its_own(kit: Kit) -> None:
    trigger = set_up_store(kit.store, TOKEN, allow=(-100,), groups=GroupMode.ALL)
    setup = VerbSetup(store=kit.store, trigger=trigger, bot=build_profile())
    setup.take(build_message(1, "here", chat=GROUP, message_thread_id=4, is_topic_message=True))
    setup.take(build_message(2, "/ping", chat=GROUP, message_thread_id=4, is_topic_message=True))

    [event] = setup.list_events()
    assert event.route is not None
    assert event.route.session == "chat--100:topic-4:user-7"
    assert [message.thread for message in setup.list_messages()] == ["4"]


@pytest.mark.parametrize(
    ("groups", "text", "is_heard"),
    [
        (GroupMode.MENTION, "hello all", False),
        (GroupMode.MENTION, "hello @gate_bot", True),
        (GroupMode.ALL, "hello all", True),
        (GroupMode.OFF, "hello @gate_bot", False),
    ],
)
def test_a_bot_listens_in_groups_as_it_is_set(kit: Kit, groups: GroupMode, text: str, is_heard: bool) -> None:
    trigger = set_up_store(kit.store, TOKEN, allow=(-100,), groups=groups)
    setup = VerbSetup(store=kit.store, trigger=trigger, bot=build_profile())
    entities = [{"type": "mention", "offset": 6, "length": 9}] if "@" in text else []
    setup.take(build_message(1, text, chat=GROUP, entities=entities))

    assert [event.content for event in setup.list_events()] == ([text] if is_heard else [])


def test_a_group_that_gets_another_id_keeps_lists_pairings_and_sessions(kit: Kit) -> None:
    trigger = set_up_store(kit.store, TOKEN, allow=(-5,), block=(8, -5000), groups=GroupMode.ALL)
    setup = VerbSetup(store=kit.store, trigger=trigger, bot=build_profile())
    group = {"id": -5, "type": "group", "title": "Team"}
    setup.take(build_message(1, "one", chat=group), build_message(2, "/reset", chat=group))
    migration = {"message_id": 3, "date": 1_700_000_000, "from": ANA, "chat": group, "migrate_to_chat_id": -100}
    setup.take({"update_id": 3, "message": migration})
    setup.take({"update_id": 4, "message": {**migration, "chat": GROUP, "migrate_from_chat_id": -5}})
    setup.take(build_message(5, "two", chat=GROUP))

    *_, last = sorted(setup.list_events(), key=lambda event: event.dedup_key or "")
    assert last.route is not None
    assert last.route.session == "chat--100:user-7:reset-1"
    assert last.sender is not None
    assert last.sender.name == "ana"
    changed = kit.store.read_sync(triggers.show, "helper")
    assert (changed.config.allow, changed.config.block) == ((-100,), (8, -5000))
    assert {message.chat for message in setup.list_messages()} == {"-100"}


def test_a_private_chat_never_gets_another_id(kit: Kit) -> None:
    trigger = set_up_store(kit.store, TOKEN, allow=(7,))
    setup = VerbSetup(store=kit.store, trigger=trigger, bot=build_profile())
    for number, chat, new_chat in ((1, ANA, 66), (2, ANA, -100), (3, GROUP, 66)):
        migration = {
            "message_id": number,
            "date": 1_700_000_000,
            "from": ANA,
            "chat": {"type": "private", **chat},
            "migrate_to_chat_id": new_chat,
        }
        [taken] = setup.take({"update_id": number, "message": migration})
        assert taken.outcome is IntakeOutcome.IGNORED

    assert kit.store.read_sync(triggers.show, "helper").config.allow == (7,)


def test_what_came_before_a_group_moved_is_answered_where_it_is_now(kit: Kit) -> None:
    trigger = set_up_store(kit.store, TOKEN, allow=(-5,), groups=GroupMode.ALL)
    setup = VerbSetup(store=kit.store, trigger=trigger, bot=build_profile())
    group = {"id": -5, "type": "group", "title": "Team"}
    pair(kit.store, trigger, 7, "husam", chat=-5)
    setup.take(build_message(1, "deploy?", chat=group))
    [event] = setup.list_events()
    question = Question(question="Really?", options=(Option(id="yes", label="Yes"),))
    decision = kit.store.run_sync(replies.ask_decision, question, event.id, by=AGENT)
    migration = {"message_id": 3, "date": 1_700_000_000, "from": ANA, "chat": group, "migrate_to_chat_id": -100}
    setup.take({"update_id": 3, "message": migration})
    kit.store.run_sync(replies.reply_on_route, event, "one moment", kit.store.read_sync(directory.find, AGENT))
    setup.take(build_message(5, "yes", chat=GROUP))

    assert not kit.store.read_sync(decisions.show, decision.id).is_open
    assert {message.chat for message in setup.list_messages()} == {"-100"}
    [pairing_row] = kit.store.read_sync(pairing.list_page)
    assert (pairing_row.chat, pairing_row.person) == ("-100", "husam")


def test_a_bot_that_is_blocked_ends_its_messages_and_tells_its_owner(kit: Kit, setup: VerbSetup) -> None:
    pair(kit.store, setup.trigger, 9, "husam")
    member = {"user": {"id": 99, "is_bot": True, "first_name": "G"}, "status": "member"}
    change = {
        "chat": {"id": 9, "type": "private"},
        "from": {"id": 9, "first_name": "H"},
        "date": 1_700_000_000,
        "old_chat_member": member,
        "new_chat_member": {**member, "status": "kicked"},
    }
    setup.take({"update_id": 1, "my_chat_member": change})

    assert [message.state for message in setup.list_messages()] == ["failed"]
    contents = [event.content for event in setup.list_events("admin")]
    assert "the bot 'helper' cannot write to the chat 9 any more: its user has blocked it" in contents
