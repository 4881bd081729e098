"""Who gets what people write to a bot: rules by rank, the default, and what is kept and said if nobody gets it."""

from typing import Any

import pytest

from gatepost.channels import intake_actions as intake, reply_actions as replies
from gatepost.channels.routing import rule_actions as routing_rules, unrouted_message_actions as unrouted_messages
from gatepost.channels.routing.rule import RouteSpec
from gatepost.channels.triggers import actions as triggers
from gatepost.core.json_limits import Json
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Refused
from gatepost.inbox.event import EventType
from gatepost.inbox.event_rendering import render_event
from gatepost.residents import agent_actions as agents
from gatepost.testing import Kit
from tests.channels.telegram.channel_setup import AGENT, VerbSetup
from tests.channels.telegram.verb_updates import HUSAM, open_verb_setup, write

POSTGRES_BY_NIGHT = True

SENTENCE = "Nobody can read this yet. It is kept, and the owner of this bot knows."


@pytest.fixture
def setup(kit: Kit) -> VerbSetup:
    setup = open_verb_setup(kit, allow=(HUSAM,))
    for name in ("clerk", "nurse"):
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    return setup


def add_rule(setup: VerbSetup, name: str, to: str, rank: int, **filters: Json) -> None:
    paths = {path.replace("__", "."): value for path, value in filters.items()}
    spec = RouteSpec(name=name, channel="telegram", targets=(to,), rank=rank, filters=paths)
    setup.store.run_sync(routing_rules.create_rule, spec, by=None)


def list_contents(setup: VerbSetup) -> dict[str, list[str]]:
    """The prompts by agent."""
    return {
        name: [event.content for event in setup.list_events(name) if event.type is EventType.CHANNEL]
        for name in (AGENT, "clerk", "nurse")
    }


def test_the_highest_rank_decides_and_else_the_target_of_the_bot(setup: VerbSetup) -> None:
    add_rule(setup, "chat", "clerk", 1, metadata__telegram_chat_id=str(HUSAM), trigger="helper")
    add_rule(setup, "word", "nurse", 9, content="help", kind="text")
    write(setup, HUSAM, "help")
    write(setup, HUSAM, "hello")
    setup.store.run_sync(routing_rules.update_rule, "chat", {"active": False}, by=None)
    write(setup, HUSAM, "good night")

    assert list_contents(setup) == {"nurse": ["help"], "clerk": ["hello"], AGENT: ["good night"]}


def test_what_nobody_gets_is_kept_said_and_replayed_with_its_way_back(setup: VerbSetup) -> None:
    store = setup.store
    store.run_sync(triggers.change, "helper", {"target": None, "owner": "husam"})
    write(setup, HUSAM, "is anybody there?")
    assert list_contents(setup) == {"nurse": [], "clerk": [], AGENT: []}
    assert setup.list_sent() == [SENTENCE]
    [unrouted] = store.read_sync(unrouted_messages.list_page, by=None)
    assert (unrouted.trigger, unrouted.envelope.content, unrouted.reason.value) == (
        "helper",
        "is anybody there?",
        "no_route",
    )
    [alert] = setup.list_events("husam")
    assert alert.content.startswith("a message of 'helper' reached nobody (no_route)")

    add_rule(setup, "all", "clerk", 0)
    store.run_sync(intake.replay_unrouted, unrouted.id, by=None)
    [event] = setup.list_events("clerk")
    assert (event.content, event.sender and event.sender.name) == ("is anybody there?", "user9")
    clerk = store.read_sync(directory.find, "clerk")
    store.run_sync(replies.reply_on_route, event, "now I am", clerk)
    last = setup.list_messages()[-1]
    assert (last.content, last.chat) == ("now I am", str(HUSAM))


def test_the_prompt_of_the_bot_is_in_the_line_of_each_event(setup: VerbSetup) -> None:
    store = setup.store
    store.run_sync(triggers.change, "helper", {"prompt": "Be brief", "target": None})
    write(setup, HUSAM, "is anybody there?")
    [unrouted] = store.read_sync(unrouted_messages.list_page, by=None)
    add_rule(setup, "all", "clerk", 0)
    store.run_sync(intake.replay_unrouted, unrouted.id, by=None)
    write(setup, HUSAM, "hello")

    lines = [render_event(event) for event in setup.list_events("clerk")]
    assert lines == [
        f'[Telegram] "User 9 (user9)" (human): {text} (context "Be brief") (session chat-9:user-9)'
        for text in ('"is anybody there?"', '"hello"')
    ]


def test_a_target_that_is_gone_is_said_too(setup: VerbSetup) -> None:
    setup.store.run_sync(directory.retire, AGENT)
    write(setup, HUSAM, "hello")

    [unrouted] = setup.store.read_sync(unrouted_messages.list_page, by=None)
    assert unrouted.reason.value == "no_target"
    assert setup.list_sent() == [SENTENCE]


def test_only_the_maker_with_the_skill_and_the_administrator_edit_a_rule(setup: VerbSetup) -> None:
    store = setup.store
    for name in ("clerk", "nurse"):
        store.run_sync(agents.set_skills, name, ["routing"])
    spec = RouteSpec(name="mine", channel="telegram", targets=("clerk",))
    rule = store.run_sync(routing_rules.create_rule, spec, by="clerk")
    attempts: list[Any] = [
        lambda tx, by: routing_rules.update_rule(tx, rule.id, {"targets": ("nurse",)}, by=by),
        lambda tx, by: routing_rules.update_rule(tx, rule.id, {"active": False}, by=by),
        lambda tx, by: routing_rules.delete_rule(tx, rule.id, by=by),
    ]
    for by in ("nurse", AGENT, "husam"):
        for attempt in attempts:
            with pytest.raises(Refused):
                store.run_sync(attempt, by)
    write(setup, HUSAM, "hello")

    assert list_contents(setup)["clerk"] == ["hello"]
    for attempt in attempts:
        store.run_sync(attempt, "admin")
