"""What `trigger test` says of an update of Telegram, and that nothing is stored."""

from collections.abc import Iterator
from typing import Any

import pytest

from gatepost.channels import reply_actions as replies
from gatepost.channels.envelope import EnvelopeKind
from gatepost.channels.routing import rule_actions as routing_rules
from gatepost.channels.routing.rule import RouteSpec
from gatepost.channels.triggers import actions as triggers, preview_actions as trigger_preview
from gatepost.channels.triggers.trigger import GroupMode
from gatepost.core.dry_run import dry_run_sync
from gatepost.core.policy import Policy
from gatepost.directory import entity_actions as directory
from gatepost.errors import Invalid
from gatepost.gates.decision import Option, Question
from gatepost.testing import Kit
from tests.channels.telegram.channel_setup import AGENT, TOKEN, VerbSetup, build_profile, pair, set_up_store
from tests.export.exports import export_lines

HUSAM, EVE, BLOCKED, ALLOWED = 9, 66, 13, 14
GROUP = {"id": -100, "type": "supergroup", "title": "Team"}


@pytest.fixture
def kit() -> Iterator[Kit]:
    with Kit() as kit:
        yield kit


@pytest.fixture
def setup(kit: Kit) -> VerbSetup:
    trigger = set_up_store(kit.store, TOKEN, block=(BLOCKED,), allow=(ALLOWED,), groups=GroupMode.MENTION)
    pair(kit.store, trigger, HUSAM, "husam")
    return VerbSetup(store=kit.store, trigger=trigger, bot=build_profile())


def build_update(user: int, text: str | None = "hello", chat: dict[str, Any] | None = None, **fields: Any) -> Any:
    message = {
        "message_id": 1,
        "date": 1_700_000_000,
        "from": {"id": user, "first_name": "Somebody"},
        "chat": chat or {"id": user, "type": "private"},
        **({"text": text} if text is not None else {}),
        **fields,
    }
    return {"update_id": 1, "message": message}


def preview(setup: VerbSetup, update: Any) -> trigger_preview.Preview:
    """Return what would become of an update; the store must be as before."""
    before = export_lines(setup.store)
    result = dry_run_sync(setup.store, trigger_preview.preview, setup.trigger, update, {})
    assert export_lines(setup.store)[1:] == before[1:]
    return result


@pytest.mark.parametrize("user", [HUSAM, ALLOWED])
def test_what_somebody_writes_is_an_event_of_the_session(setup: VerbSetup, user: int) -> None:
    [event] = preview(setup, build_update(user, "where is my order?")).events

    assert (event.envelope.content, event.envelope.session) == ("where is my order?", f"chat-{user}:user-{user}")
    assert event.envelope.metadata["telegram_chat_id"] == str(user)
    assert event.decision.targets == (AGENT,)


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        (build_update(EVE), "its sender is not paired: it gets a code"),
        (build_update(BLOCKED), "its sender or its chat is on the block list"),
        (build_update(HUSAM, "hi", GROUP), "it is ignored: a message in a group that is not for the bot"),
        (build_update(EVE, "/ask@gate_bot", GROUP), "it is ignored: a message of an unknown user in a group"),
        (build_update(HUSAM, "/start"), "it is the command /start, which the bot answers itself"),
        (build_update(HUSAM, None), "it is ignored: a message with nothing in it"),
        ({"update_id": 2, "poll": {}}, "it is ignored: an update of the kind 'poll'"),
        (build_update(HUSAM, None, migrate_to_chat_id=-1001), "it is ignored: only a group gets another id"),
        (build_update(HUSAM, None, GROUP, migrate_to_chat_id=-1001), "the chat -100 becomes -1001 in lists"),
        (build_update(HUSAM, "/reset"), "it begins a new conversation, and nobody got a prompt in the old one"),
        ({"content": "/ping"}, "it is the command /ping, which the channel answers itself"),
        ({"content": " /Reset"}, "it begins a new conversation, and nobody got a prompt in the old one"),
        (
            {"update_id": 1, "callback_query": {"id": "1", "from": {"id": 9, "first_name": "x"}, "data": "d"}},
            "it is the press of a button, which the bot answers at once",
        ),
    ],
)
def test_what_becomes_no_event_says_why(setup: VerbSetup, update: Any, reason: str) -> None:
    result = preview(setup, update)

    assert result.events == ()
    assert (result.skipped or "").startswith(reason)


@pytest.mark.parametrize(
    ("update", "kind", "content"),
    [
        (build_update(HUSAM, None, photo=[], caption="look"), EnvelopeKind.MEDIA, "[photo] look"),
        (
            build_update(HUSAM, None, voice={"file_id": "f", "duration": 1}),
            EnvelopeKind.MEDIA,
            "[voice, not transcribed]",
        ),
        (
            build_update(HUSAM, "@gate_bot hi", GROUP, entities=[{"type": "mention", "offset": 0, "length": 9}]),
            EnvelopeKind.TEXT,
            "@gate_bot hi",
        ),
    ],
)
def test_every_kind_is_shown(setup: VerbSetup, update: Any, kind: EnvelopeKind, content: str) -> None:
    [event] = preview(setup, update).events

    assert (event.envelope.kind, event.envelope.content) == (kind, content)


def test_a_recording_that_can_be_transcribed_goes_where_its_transcript_would_go(kit: Kit, setup: VerbSetup) -> None:
    setup.store = kit.open(policy=Policy(has_speech=True))
    [event] = preview(setup, build_update(HUSAM, None, voice={"file_id": "f", "duration": 1})).events

    assert (event.envelope.kind, event.envelope.content) == (EnvelopeKind.VOICE, "[voice]")
    assert event.decision.targets == (AGENT,)


def test_an_answer_names_its_decision(kit: Kit, setup: VerbSetup) -> None:
    setup.take(build_update(HUSAM))
    [event] = setup.list_events()
    question = Question(question="Deploy?", options=(Option(id="yes", label="Yes"),))
    decision = kit.store.run_sync(replies.ask_decision, question, event.id, by=AGENT)

    assert preview(setup, build_update(HUSAM, "yes")).skipped == f"it answers the decision {decision.id}"
    assert preview(setup, build_update(HUSAM, "maybe")).skipped is None
    forwarded = build_update(HUSAM, "yes", forward_origin={"type": "hidden_user", "sender_user_name": "x", "date": 1})
    assert [event.envelope.content for event in preview(setup, forwarded).events] == ["yes"]


@pytest.mark.parametrize(
    "update", [build_update(HUSAM, "/reset"), {"content": "/reset", "session": f"chat-{HUSAM}:user-{HUSAM}"}]
)
def test_a_reset_goes_to_whoever_got_the_prompts_and_not_by_the_rules(setup: VerbSetup, update: Any) -> None:
    setup.take(build_update(HUSAM))
    setup.store.run_sync(routing_rules.create_rule, RouteSpec(name="all", targets=("husam",)), by=None)

    [event] = preview(setup, update).events
    assert (event.envelope.kind, event.envelope.content) == (EnvelopeKind.RESET, "The user began a new conversation.")
    assert event.envelope.session == f"chat-{HUSAM}:user-{HUSAM}:reset-1"
    assert (event.decision.targets, event.decision.rule) == ((AGENT,), None)


def test_a_message_in_short_is_still_taken_and_another_payload_is_not(kit: Kit, setup: VerbSetup) -> None:
    assert preview(setup, {"content": "hello"}).events
    for payload in ({"update_id": "x"}, {"update_id": True, "message": {}}):
        with pytest.raises(Invalid, match="it has no update_id"):
            dry_run_sync(kit.store, trigger_preview.preview, setup.trigger, payload, {})
    with pytest.raises(Invalid, match="is not a message of 'telegram'"):
        dry_run_sync(kit.store, trigger_preview.preview, setup.trigger, {"message": {}}, {})


def test_a_stored_bot_is_previewed_by_its_owner_alone(kit: Kit, setup: VerbSetup) -> None:
    assert kit.store.read_sync(triggers.find_own, "helper", directory.ADMINISTRATOR).name == setup.trigger.name
