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
from gatepost.residents import agent_actions as agents, agent_config_json as agent_config
from gatepost.testing import Kit
from tests.telegram.channel_office import AGENT, VerbOffice
from tests.telegram.verb_updates import HUSAM, open_verb_office, write

POSTGRES_BY_NIGHT = True

SENTENCE = "Nobody can read this yet. It is kept, and the owner of this bot knows."


@pytest.fixture
def office(kit: Kit) -> VerbOffice:
    office = open_verb_office(kit, allow=(HUSAM,))
    for name in ("clerk", "nurse"):
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    return office


def add_rule(office: VerbOffice, name: str, to: str, rank: int, **filters: Json) -> None:
    paths = {path.replace("__", "."): value for path, value in filters.items()}
    spec = RouteSpec(name=name, channel="telegram", targets=(to,), rank=rank, filters=paths)
    office.store.run_sync(routing_rules.create_rule, spec, by=None)


def list_contents(office: VerbOffice) -> dict[str, list[str]]:
    """The prompts by agent."""
    return {
        name: [event.content for event in office.list_events(name) if event.type is EventType.CHANNEL]
        for name in (AGENT, "clerk", "nurse")
    }


def test_the_highest_rank_decides_and_else_the_target_of_the_bot(office: VerbOffice) -> None:
    add_rule(office, "chat", "clerk", 1, metadata__telegram_chat_id=str(HUSAM), trigger="helper")
    add_rule(office, "word", "nurse", 9, content="help", kind="text")
    write(office, HUSAM, "help")
    write(office, HUSAM, "hello")
    office.store.run_sync(routing_rules.update_rule, "chat", {"active": False}, by=None)
    write(office, HUSAM, "good night")

    assert list_contents(office) == {"nurse": ["help"], "clerk": ["hello"], AGENT: ["good night"]}


def test_what_nobody_gets_is_kept_said_and_replayed_with_its_way_back(office: VerbOffice) -> None:
    store = office.store
    store.run_sync(triggers.change, "helper", {"target": None, "owner": "husam"})
    write(office, HUSAM, "is anybody there?")
    assert list_contents(office) == {"nurse": [], "clerk": [], AGENT: []}
    assert office.list_sent() == [SENTENCE]
    [unrouted] = store.read_sync(unrouted_messages.page, by=None)
    assert (unrouted.trigger, unrouted.envelope.content, unrouted.reason.value) == (
        "helper",
        "is anybody there?",
        "no_route",
    )
    [alert] = office.list_events("husam")
    assert alert.content.startswith("a message of 'helper' reached nobody (no_route)")

    add_rule(office, "all", "clerk", 0)
    store.run_sync(intake.replay_unrouted, unrouted.id, by=None)
    [event] = office.list_events("clerk")
    assert (event.content, event.sender and event.sender.name) == ("is anybody there?", "user9")
    clerk = store.read_sync(directory.find, "clerk")
    store.run_sync(replies.reply_on_route, event, "now I am", clerk)
    last = office.list_messages()[-1]
    assert (last.content, last.chat) == ("now I am", str(HUSAM))


def test_the_prompt_of_the_bot_is_in_the_line_of_each_event(office: VerbOffice) -> None:
    store = office.store
    store.run_sync(triggers.change, "helper", {"prompt": "Be brief", "target": None})
    write(office, HUSAM, "is anybody there?")
    [unrouted] = store.read_sync(unrouted_messages.page, by=None)
    add_rule(office, "all", "clerk", 0)
    store.run_sync(intake.replay_unrouted, unrouted.id, by=None)
    write(office, HUSAM, "hello")

    lines = [render_event(event) for event in office.list_events("clerk")]
    assert lines == [
        f'[Telegram] "User 9 (user9)" (human): {text} (context "Be brief") (session chat-9:user-9)'
        for text in ('"is anybody there?"', '"hello"')
    ]


def test_a_target_that_is_gone_is_said_too(office: VerbOffice) -> None:
    office.store.run_sync(directory.retire, AGENT)
    write(office, HUSAM, "hello")

    [unrouted] = office.store.read_sync(unrouted_messages.page, by=None)
    assert unrouted.reason.value == "no_target"
    assert office.list_sent() == [SENTENCE]


def test_only_the_maker_with_the_skill_and_the_administrator_edit_a_rule(office: VerbOffice) -> None:
    store = office.store
    config = agent_config.parse({"model": "demo", "skills": ["routing"]})
    for name in ("clerk", "nurse"):
        store.run_sync(agents.make_resident, name, config)
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
    write(office, HUSAM, "hello")

    assert list_contents(office)["clerk"] == ["hello"]
    for attempt in attempts:
        store.run_sync(attempt, "admin")
