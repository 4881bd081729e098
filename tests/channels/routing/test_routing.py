"""Who gets what comes through channels: rules, defaults, and the messages that nobody gets."""

from typing import Any, NamedTuple

import pytest

from gatepost.channels import intake_actions as intake
from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.intake_actions import Received
from gatepost.channels.routing import (
    rule as route_rule,
    rule_actions as routing_rules,
    unrouted_message_actions as unrouted_messages,
)
from gatepost.channels.routing.api import UnroutedReason
from gatepost.channels.routing.rule import RouteRule, RouteSpec
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.json_limits import Json
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, GatepostError, Invalid, LimitReached, NotFound, Refused, TooLarge, UnknownAddress
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Event, EventType, Priority, Ref
from gatepost.residents import agent_actions as agents
from gatepost.testing import Kit
from tests.support.collected_failures import check_cases

PAYLOAD = {"repository": {"name": "shop", "private": True, "stars": 1}, "labels": ["a", "b"]}


class Channel(NamedTuple):
    """A trigger without a target, and what comes through it."""

    kit: Kit

    @property
    def trigger(self) -> Trigger:
        return self.kit.store.read_sync(triggers.show, "shop")

    def receive(self, key: str = "k1", payload: Json = PAYLOAD, session: str = "shop") -> Received:
        envelope = Envelope(
            channel="webhook", session=session, kind=EnvelopeKind.EVENT, content="opened", payload=payload
        )
        return self.kit.store.run_sync(intake.receive, self.trigger, envelope, dedup_key=f"svc:shop:{key}")

    def receive_unrouted(self) -> str:
        """Return the id under which a message that nobody gets is kept."""
        id = self.receive().unrouted
        assert id is not None
        return id

    def add_rule(self, name: str, to: str = "ana", rank: int = 0, **filters: Json) -> RouteRule:
        paths = {path.replace("__", "."): value for path, value in filters.items()}
        spec = RouteSpec(name=name, targets=(to,), rank=rank, filters=paths)
        return self.kit.store.run_sync(routing_rules.create_rule, spec, by=None)

    def add_agent(self, name: str, **fields: Any) -> None:
        self.kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, **fields))

    def list_events(self, name: str) -> list[Event]:
        return [item.event for item in self.kit.store.read_sync(inbox.list_page, name)]

    def list_recipients(self) -> list[str]:
        names = [entity.name for entity in self.kit.store.read_sync(directory.list_page)]
        return [name for name in names if any(event.type is EventType.SERVICE for event in self.list_events(name))]


@pytest.fixture
def channel(kit: Kit) -> Channel:
    kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    channel = Channel(kit)
    for name in ("ana", "ben", "cat"):
        channel.add_agent(name, team="web")
    kit.store.run_sync(triggers.add, TriggerSpec(name="shop", secret="sixteen-chars-ok"))
    return channel


class TestRules:
    def test_of_those_that_match_the_highest_rank_decides(self, channel: Channel) -> None:
        channel.add_rule("any", to="cat", rank=-5)
        channel.add_rule("shop", to="ana", rank=10, payload__repository__name="shop")
        channel.add_rule("top", to="ben", rank=100, payload__repository__name="till")
        channel.receive()
        assert channel.list_recipients() == ["ana"]

    def test_of_those_with_the_same_rank_the_oldest_decides(self, channel: Channel) -> None:
        channel.add_rule("first", to="ben", rank=1)
        channel.add_rule("second", to="ana", rank=1)
        channel.receive()
        assert channel.list_recipients() == ["ben"]

    def test_an_inactive_one_decides_nothing(self, channel: Channel) -> None:
        channel.add_rule("first", to="ben", rank=1)
        channel.add_rule("second", to="ana")
        channel.kit.store.run_sync(routing_rules.update_rule, "first", {"active": False}, by=None)
        channel.receive()
        assert channel.list_recipients() == ["ana"]

    def test_one_of_another_channel_decides_nothing(self, channel: Channel) -> None:
        spec = RouteSpec(name="bots", channel="telegram", targets=("ben",), rank=9)
        channel.kit.store.run_sync(routing_rules.create_rule, spec, by=None)
        channel.add_rule("any", to="ana")
        channel.receive()
        assert channel.list_recipients() == ["ana"]

    def test_all_targets_get_it_each_recipient_once(self, channel: Channel) -> None:
        spec = RouteSpec(name="all", targets=("ana", "team:web"))
        channel.kit.store.run_sync(routing_rules.create_rule, spec, by=None)
        channel.receive()
        assert channel.list_recipients() == ["ana", "ben", "cat"]
        assert len(channel.list_events("ana")) == 1

    def test_those_who_are_gone_do_not_keep_the_others_from_it(self, channel: Channel) -> None:
        channel.kit.store.run_sync(routing_rules.create_rule, RouteSpec(name="two", targets=("ben", "ana")), by=None)
        channel.kit.store.run_sync(directory.retire, "ben")
        channel.receive()
        assert channel.list_recipients() == ["ana"]

    def test_a_rule_beats_the_target_of_the_trigger(self, channel: Channel) -> None:
        channel.kit.store.run_sync(triggers.change, "shop", {"target": "ben"})
        channel.receive("k1")
        channel.add_rule("any", to="ana")
        channel.receive("k2")
        assert [len(channel.list_events(name)) for name in ("ben", "ana")] == [1, 1]


@pytest.mark.parametrize(
    ("filters", "matches"),
    [
        ({}, True),
        ({"trigger": "shop", "channel": "webhook", "session": "pr-7", "kind": "event", "content": "opened"}, True),
        ({"metadata.user": "7"}, True),
        ({"metadata.user": 7}, False),
        ({"payload.repository.name": "shop"}, True),
        ({"payload.repository.name": "Shop"}, False),
        ({"payload.repository.name": "shop", "payload.repository.private": False}, False),
        ({"payload.repository.private": True}, True),
        ({"payload.repository.private": 1}, False),
        ({"payload.repository.stars": 1}, True),
        ({"payload.repository.stars": True}, False),
        ({"payload.labels[1]": "b"}, True),
        ({"payload.labels[9]": None}, False),
        ({"payload.nothing": None}, False),
        ({"payload.empty": None}, True),
        ({'payload."a.b"': "c"}, True),
        ({"payload": "shop"}, False),
    ],
)
def test_filters_are_exact_and_read_dotted_paths(filters: dict[str, Json], matches: bool) -> None:
    envelope = Envelope(
        channel="webhook",
        session="pr-7",
        kind=EnvelopeKind.EVENT,
        content="opened",
        metadata={"user": "7"},
        payload={**PAYLOAD, "empty": None, "a.b": "c"},
    )
    rule = RouteRule(
        number=1,
        id="rule_1",
        name="r",
        channel="*",
        filters=filters,
        targets=("ana",),
        rank=0,
        active=True,
        made_by="admin",
        created_at=0,
        updated_at=0,
    )
    assert rule.matches(route_rule.build_document(envelope, "shop")) is matches


class TestDefaults:
    def test_are_the_target_of_the_trigger_then_the_user_agent_then_system4(self, channel: Channel) -> None:
        channel.add_agent("four", team="root", role="system4")
        channel.receive("k1")
        channel.add_agent("user-agent")
        channel.receive("k2")
        channel.kit.store.run_sync(triggers.change, "shop", {"target": "ana"})
        channel.receive("k3")
        assert [len(channel.list_events(name)) for name in ("four", "user-agent", "ana")] == [1, 1, 1]

    def test_else_it_is_kept_with_the_reason(self, channel: Channel) -> None:
        received = channel.receive()
        [unrouted] = channel.kit.store.read_sync(unrouted_messages.list_page, by=None)
        assert received.events == ()
        assert (unrouted.id, unrouted.trigger, unrouted.reason) == (received.unrouted, "shop", UnroutedReason.NO_ROUTE)
        assert (unrouted.envelope.content, unrouted.envelope.payload) == ("opened", PAYLOAD)
        assert channel.kit.store.read_sync(unrouted_messages.count) == 1

    def test_a_target_that_is_gone_is_another_reason(self, channel: Channel) -> None:
        channel.add_rule("any", to="ana")
        channel.kit.store.run_sync(directory.retire, "ana")
        channel.receive()
        [unrouted] = channel.kit.store.read_sync(unrouted_messages.list_page, by=None)
        assert unrouted.reason is UnroutedReason.NO_TARGET


class TestUnrouted:
    def test_its_owner_is_told_once_an_hour(self, channel: Channel) -> None:
        channel.kit.store.run_sync(triggers.change, "shop", {"owner": "ben"})
        for number in range(3):
            channel.receive(f"k{number}")
        [alert] = channel.list_events("ben")
        assert (alert.type, alert.source) == (EventType.ALERT, "shop")
        assert alert.content.startswith("a message of 'shop' reached nobody (no_route)")
        channel.kit.clock.advance("1 hour")
        channel.receive("k9")
        assert len(channel.list_events("ben")) == 2
        assert channel.list_events("admin") == []

    def test_the_administrator_is_told_if_the_owner_is_gone(self, channel: Channel) -> None:
        channel.kit.store.run_sync(triggers.change, "shop", {"owner": "ben"})
        channel.kit.store.run_sync(directory.retire, "ben")
        channel.receive()
        assert [event.type for event in channel.list_events("admin")] == [EventType.ALERT]

    def test_the_same_message_is_kept_once_and_stays_kept(self, channel: Channel) -> None:
        first, second = channel.receive(), channel.receive()
        assert (first.duplicate, second.duplicate) == (False, True)
        channel.add_rule("any")
        assert channel.receive().duplicate
        assert channel.list_events("ana") == []
        assert len(channel.kit.store.read_sync(unrouted_messages.list_page, by=None)) == 1

    @pytest.mark.parametrize("payload", ["\x00", "\ud800", {"a": float("inf")}, "x" * 2**20])
    def test_what_no_inbox_could_hold_is_not_kept(self, channel: Channel, payload: Json) -> None:
        with pytest.raises(TooLarge if len(payload) > 100 else Invalid):
            channel.receive(payload=payload)
        assert channel.kit.store.read_sync(unrouted_messages.count) == 0

    def test_it_is_replayed_once_by_the_rules_of_then(self, channel: Channel) -> None:
        store = channel.kit.store
        id = channel.receive_unrouted()
        with pytest.raises(Refused, match=r"still has nowhere to go \(no_route\)"):
            store.run_sync(intake.replay_unrouted, id, by=None)
        channel.add_rule("any", payload__repository__name="shop")
        received = store.run_sync(intake.replay_unrouted, id, by=None)
        [event] = channel.list_events("ana")
        assert (received.events, received.targets) == ((event.id,), ("ana",))
        assert isinstance(event.data, dict)
        assert (event.content, event.data["payload"]) == ("opened", PAYLOAD)
        with pytest.raises(Conflict, match="was replayed by 'admin' already"):
            store.run_sync(intake.replay_unrouted, id, by=None)
        assert store.read_sync(unrouted_messages.list_page, by=None) == []
        [handled] = store.read_sync(unrouted_messages.list_page, by=None, handled=True)
        assert (handled.id, handled.handled_by) == (id, "admin")
        assert store.read_sync(unrouted_messages.count) == 0

    def test_its_event_says_what_it_would_have_said(self, channel: Channel) -> None:
        envelope = Envelope(channel="webhook", session="shop", kind=EnvelopeKind.EVENT, content="opened")
        fields: dict[str, Any] = {
            "subject": "A pull request",
            "ref": Ref("task", "7"),
            "priority": Priority.HIGH,
            "details": {"delivery": "d1", "attempts": [1, None]},
        }
        ids = [
            channel.kit.store.run_sync(
                intake.receive, channel.trigger, envelope, dedup_key=f"svc:shop:{key}", wakes=wakes, **fields
            ).unrouted
            for key, wakes in (("k1", True), ("k2", False))
        ]
        channel.add_rule("all")
        for id in filter(None, ids):
            channel.kit.store.run_sync(intake.replay_unrouted, id, by=None)
        events = channel.list_events("ana")

        assert [(event.subject, event.ref) for event in events] == [("A pull request", Ref("task", "7"))] * 2
        assert [event.priority for event in events] == [Priority.HIGH, Priority.FYI]
        assert all(isinstance(event.data, dict) and event.data["attempts"] == [1, None] for event in events)

    def test_it_stays_when_its_trigger_is_deleted(self, channel: Channel) -> None:
        id = channel.receive_unrouted()
        channel.kit.store.run_sync(triggers.delete, "shop")
        [unrouted] = channel.kit.store.read_sync(unrouted_messages.list_page, by=None)
        assert (unrouted.id, unrouted.trigger) == (id, None)
        channel.add_rule("any")
        assert channel.kit.store.run_sync(intake.replay_unrouted, id, by=None).targets == ("ana",)

    def test_what_is_not_there_cannot_be_replayed(self, channel: Channel) -> None:
        with pytest.raises(NotFound):
            channel.kit.store.run_sync(intake.replay_unrouted, "dead_1", by=None)


class TestRights:
    @pytest.fixture
    def skilled(self, channel: Channel) -> Channel:
        """Ana and ben have the skill, and cat has not."""
        for name in ("ana", "ben"):
            channel.kit.store.run_sync(agents.set_skills, name, ["routing"])
        return channel

    def test_only_the_maker_and_the_administrator_change_a_rule(self, skilled: Channel) -> None:
        store = skilled.kit.store
        rule = store.run_sync(routing_rules.create_rule, RouteSpec(name="own", targets=("cat",)), by="ana")
        assert rule.made_by == "ana"
        for attempt in (
            lambda tx: routing_rules.update_rule(tx, "own", {}, by="ben"),
            lambda tx: routing_rules.update_rule(tx, "own", {"active": False}, by="ben"),
            lambda tx: routing_rules.delete_rule(tx, "own", by="ben"),
        ):
            with pytest.raises(Refused, match="the rule 'own' was made by 'ana'"):
                store.run_sync(attempt)
        assert not store.run_sync(routing_rules.update_rule, "own", {"active": False}, by="ana").active
        assert store.run_sync(routing_rules.update_rule, "own", {"active": True}, by=None).active
        assert [other.name for other in store.read_sync(routing_rules.list_rules, by="ben")] == ["own"]
        store.run_sync(routing_rules.delete_rule, "own", by="ana")

    def test_without_the_skill_nothing_is_shown_or_changed(self, skilled: Channel) -> None:
        store = skilled.kit.store
        id = skilled.receive_unrouted()
        skilled.add_rule("any")
        for attempt in (
            lambda tx: routing_rules.create_rule(tx, RouteSpec(name="x", targets=("cat",)), by="cat"),
            lambda tx: routing_rules.show_rule(tx, "any", by="cat"),
            lambda tx: routing_rules.list_rules(tx, by="cat"),
            lambda tx: unrouted_messages.list_page(tx, by="cat"),
            lambda tx: intake.replay_unrouted(tx, id, by="cat"),
        ):
            with pytest.raises(Refused, match="'cat' lacks the skill 'routing'"):
                store.run_sync(attempt)

    def test_one_with_the_skill_replays(self, skilled: Channel) -> None:
        id = skilled.receive_unrouted()
        skilled.add_rule("any", to="cat")
        skilled.kit.store.run_sync(intake.replay_unrouted, id, by="ben")
        assert skilled.list_recipients() == ["cat"]


@pytest.fixture
def _taken_rule(channel: Channel) -> None:
    channel.add_rule("taken")


@pytest.mark.usefixtures("_taken_rule")
@check_cases(
    ("fields", "error"),
    [
        ({"targets": ()}, Invalid),
        ({"targets": ("nobody",)}, UnknownAddress),
        ({"targets": ("team:nobody",)}, UnknownAddress),
        ({"targets": ("cat",) * 21}, Invalid),
        ({"name": ""}, Invalid),
        ({"name": "taken"}, Conflict),
        ({"channel": "No Channel"}, Invalid),
        ({"channel": "telegramm"}, Invalid),
        ({"filters": {"a..b": 1}}, Invalid),
        ({"filters": {"payload": {}}}, Invalid),
        ({"filters": {f"payload.{number}": 1 for number in range(21)}}, Invalid),
        ({"rank": 1_000_001}, Invalid),
    ],
)
def test_a_rule_that_is_not_valid_is_not_made(
    channel: Channel, fields: dict[str, Any], error: type[GatepostError]
) -> None:
    spec: dict[str, Any] = {"name": "new", "targets": ("ana",)} | fields
    with pytest.raises(error):
        channel.kit.store.run_sync(routing_rules.create_rule, RouteSpec(**spec), by=None)
    assert len(channel.kit.store.read_sync(routing_rules.list_rules, by=None)) == 1


@check_cases(
    ("value", "stored"), [(7, "7"), (-100123, "-100123"), (True, "true"), ("7", "7"), (None, None), (1.5, "1.5")]
)
def test_a_value_that_is_compared_with_a_text_is_a_text(channel: Channel, value: Json, stored: Json) -> None:
    rule = channel.add_rule(f"rule {value!r}", metadata__telegram_chat_id=value, session=value, payload__number=value)
    assert rule.filters == {"metadata.telegram_chat_id": stored, "session": stored, "payload.number": value}
    changes = {"filters": {"metadata.telegram_chat_id": value}}
    changed = channel.kit.store.run_sync(routing_rules.update_rule, rule.id, changes, by=None)
    assert changed.filters == {"metadata.telegram_chat_id": stored}


def test_the_channel_of_a_package_needs_a_trigger_of_it(channel: Channel) -> None:
    spec = RouteSpec(name="new", channel="matrix", targets=("ana",))
    with pytest.raises(Invalid, match="'matrix' is not a channel") as refusal:
        channel.kit.store.run_sync(routing_rules.create_rule, spec, by=None)
    assert refusal.value.hint is not None
    assert "webhook, telegram, cron, service, cli, web" in refusal.value.hint
    channel.kit.store.run_sync(triggers.add, TriggerSpec(name="room", provider="matrix"))
    rule = channel.kit.store.run_sync(routing_rules.create_rule, spec, by=None)
    channel.kit.store.run_sync(triggers.delete, "room")
    assert channel.kit.store.run_sync(routing_rules.update_rule, rule.id, {"rank": 5}, by=None).rank == 5
    with pytest.raises(Invalid, match="'matrixx' is not a channel"):
        channel.kit.store.run_sync(routing_rules.update_rule, rule.id, {"channel": "matrixx"}, by=None)


def test_a_rule_can_be_changed_while_one_of_its_targets_is_retired(channel: Channel) -> None:
    rule = channel.add_rule("any", to="ben")
    channel.kit.store.run_sync(directory.retire, "ben")
    changes = {"targets": rule.targets, "rank": 5}
    assert channel.kit.store.run_sync(routing_rules.update_rule, rule.id, changes, by=None).rank == 5
    channel.add_rule("other")
    with pytest.raises(Conflict, match="there is a rule 'other' already"):
        channel.kit.store.run_sync(routing_rules.update_rule, rule.id, {"name": "other"}, by=None)


def test_there_are_only_so_many_rules(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing_rules, "MAX_RULES", 2)
    channel.add_rule("one")
    channel.add_rule("two")
    with pytest.raises(LimitReached):
        channel.add_rule("three")
