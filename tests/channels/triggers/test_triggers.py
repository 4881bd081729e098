"""Triggers, and what services say, as verbs over both stores."""

from typing import Any

import msgspec
import pytest

from gatepost.channels.routing import unrouted_message_actions as unrouted_messages
from gatepost.channels.routing.api import UnroutedReason
from gatepost.channels.triggers import actions as triggers, preview_actions as trigger_preview
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.api import AddTrigger
from gatepost.channels.triggers.preview_actions import Preview
from gatepost.channels.triggers.trigger import Trigger, TriggerConfig, TriggerSchedule
from gatepost.channels.webhooks import delivery_actions as webhooks
from gatepost.channels.webhooks.service_call_handlers import ServiceCall, push_calls
from gatepost.channels.webhooks.verification import Scheme
from gatepost.core.dry_run import dry_run_sync
from gatepost.core.json_limits import Json
from gatepost.core.ports import Store
from gatepost.core.times import HOUR
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, GatepostError, Invalid, NotFound, Refused, TooLarge, UnknownAddress
from gatepost.executor import LocalExecutor
from gatepost.inbox import claim_actions as inbox, event_rendering as render
from gatepost.inbox.event import EventType, Priority, PushResult, Trust
from gatepost.residents import agent_actions as agents
from gatepost.testing import Kit
from tests.support.collected_failures import check_cases

SECRET = "sixteen-chars-ok"


@pytest.fixture
def store(kit: Kit) -> Store:
    for name, kind in (("admin", EntityKind.HUMAN), ("ana", EntityKind.AGENT), ("ben", EntityKind.AGENT)):
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=kind, team=f"{name}s"))
    return kit.store


def build_trigger(name: str = "issues", **fields: str) -> TriggerSpec:
    values: dict[str, Any] = {"secret": SECRET, "target": "ana"} | fields
    return TriggerSpec(name=name, scheme=Scheme.GITHUB, **values)


def test_a_trigger_is_added_found_closed_and_deleted(store: Store) -> None:
    trigger = store.run_sync(triggers.add, build_trigger(prompt="Look at it."))

    assert trigger.id.startswith("trg_")
    assert (trigger.provider, trigger.scheme, trigger.target) == ("webhook", Scheme.GITHUB, "ana")
    assert (trigger.prompt, trigger.owner, trigger.active) == ("Look at it.", "team:root/system3", True)
    assert store.read_sync(triggers.show, "issues") == trigger
    assert store.run_sync(triggers.change, "issues", {"active": False}).active is False
    assert store.read_sync(triggers.show, "issues").active is False
    store.run_sync(triggers.delete, "issues")
    with pytest.raises(NotFound):
        store.read_sync(triggers.show, "issues")
    store.run_sync(triggers.add, build_trigger())


def test_its_secret_is_never_told_again(store: Store) -> None:
    trigger = store.run_sync(triggers.add, build_trigger())
    opened_trigger = store.read_sync(webhooks.find_open_trigger, "issues")

    assert opened_trigger.stored_secret == SECRET
    for value in (build_trigger(), trigger, store.read_sync(triggers.list_page), opened_trigger):
        assert SECRET not in repr(value)


def test_a_request_to_add_one_does_not_show_its_secret_and_neither_does_the_answer(store: Store) -> None:
    request = AddTrigger(name="issues", scheme=Scheme.GITHUB, secret=SECRET, target="ana", prompt="Look at it.")
    answer = LocalExecutor(store).send(request)

    assert store.read_sync(webhooks.find_open_trigger, "issues").stored_secret == SECRET
    assert msgspec.to_builtins(request)["secret"] == SECRET
    assert (answer.name, answer.scheme, answer.target) == ("issues", Scheme.GITHUB, "ana")
    assert (answer.prompt, answer.owner, answer.active) == ("Look at it.", "admin", True)
    for value in (repr(request), str(request), f"{[request]}", repr(request.__rich_repr__()), repr(answer)):
        assert "issues" in value
        assert SECRET not in value


def test_names_are_taken_once(store: Store) -> None:
    store.run_sync(triggers.add, build_trigger())

    with pytest.raises(Conflict):
        store.run_sync(triggers.add, build_trigger(target="ben"))
    assert store.read_sync(triggers.show, "issues").target == "ana"


@pytest.mark.parametrize("target", ["ana", "team:anas", "*", "ALL"])
def test_a_target_is_any_address(store: Store, target: str) -> None:
    assert store.run_sync(triggers.add, build_trigger(target=target)).target == target.replace("ALL", "*")


@pytest.fixture
def _retired_ben(store: Store) -> None:
    store.run_sync(directory.retire, "ben")


@pytest.mark.usefixtures("_retired_ben")
@check_cases(
    ("fields", "error"),
    [
        ({"target": "anna"}, UnknownAddress),
        ({"target": "team:nobody"}, UnknownAddress),
        ({"target": "no address"}, Invalid),
        ({"target": "ben"}, Refused),
        ({"target": "team:bens"}, Refused),
        ({"owner": "nobody"}, UnknownAddress),
        ({"owner": "ben"}, Refused),
        ({"owner": "*"}, Invalid),
        ({"name": "No Name"}, Invalid),
        ({"name": ""}, Invalid),
        ({"secret": "too short"}, Invalid),
        ({"secret": ""}, Invalid),
        ({"prompt": "x" * 4_001}, TooLarge),
        ({"prompt": "nul\x00"}, Invalid),
        ({"prompt": "\ud800"}, Invalid),
    ],
)
def test_what_cannot_be_is_not_added(store: Store, fields: dict[str, str], error: type[GatepostError]) -> None:
    with pytest.raises(error):
        store.run_sync(triggers.add, build_trigger(**fields))
    assert store.read_sync(triggers.list_page) == []


def test_triggers_are_listed_in_the_order_in_which_they_were_added(store: Store) -> None:
    store.run_sync(triggers.add, build_trigger("one", owner="ana"))
    store.run_sync(triggers.add, build_trigger("two", owner="ben"))
    store.run_sync(triggers.add, build_trigger("three"))

    assert [trigger.name for trigger in store.read_sync(triggers.list_page)] == ["one", "two", "three"]
    [first] = store.read_sync(triggers.list_page, limit=1)
    assert [trigger.name for trigger in store.read_sync(triggers.list_page, after=first.number, limit=1)] == ["two"]


def test_a_call_is_an_event_of_its_service(store: Store) -> None:
    call = ServiceCall(to="ana", service="jira-webhook", payload={"issue": "PROJ-123", "action": "created"}, key="k1")
    [first] = store.run_sync(push_calls, [call])
    [repeat] = store.run_sync(push_calls, [call])
    assert isinstance(first, PushResult)
    assert isinstance(repeat, PushResult)

    [item] = store.read_sync(inbox.list_page, "ana")
    event = item.event
    assert (event.type, event.source, event.trust) == (EventType.SERVICE, "jira-webhook", Trust.EXTERNAL)
    assert event.data == {"serviceName": "jira-webhook", "payload": call.payload}
    assert event.dedup_key == "svc:jira-webhook:k1"
    assert render.render_event(event).startswith('[Service: jira-webhook] {"issue":"PROJ-123","action":"created"} (')
    assert [delivery.duplicate for delivery in (*first.deliveries, *repeat.deliveries)] == [False, True]
    assert first.event == repeat.event == event.id


def test_many_calls_are_answered_one_by_one(store: Store) -> None:
    calls = [
        ServiceCall(to="ana", service="ci", payload=None),
        ServiceCall(to="nobody", service="ci", payload=1),
        ServiceCall(to="ana", service="", payload=1),
        ServiceCall(to="ana", service="ci", payload="\x00"),
        ServiceCall(to="ana", service="ci", payload=float("nan")),
        ServiceCall(to="ana", service="ci", payload="x" * 2**20),
        ServiceCall(to="ana", service="ci", payload=2),
    ]

    outcomes = store.run_sync(push_calls, calls)

    kinds = [PushResult, UnknownAddress, Invalid, Invalid, Invalid, TooLarge, PushResult]
    assert [type(outcome) for outcome in outcomes] == kinds
    assert len(store.read_sync(inbox.list_page, "ana")) == 2


def test_no_two_names_make_one_key() -> None:
    pairs = [
        ("a", "b:c"),
        ("a:b", "c"),
        ("a%3Ab", "c"),
        ("a", "x" * 600),
        ("a", "x" * 601),
        ("sha256", "x"),
        ("a", "€"),
    ]

    keys = {webhooks.build_dedup_key(service, name) for service, name in pairs}

    assert len(keys) == len(pairs)
    assert all(len(key) <= 512 for key in keys)


def test_what_is_nested_too_deep_for_its_readers_is_refused(store: Store) -> None:
    payload: object = 1
    for _ in range(900):
        payload = [payload]

    [outcome] = store.run_sync(push_calls, [ServiceCall(to="ana", service="ci", payload=payload)])
    assert isinstance(outcome, Invalid)
    assert "deep" in str(outcome)
    assert store.read_sync(inbox.list_page, "ana") == []


SYSTEM3 = EntitySpec(name="system3", kind=EntityKind.AGENT, team="root", role="system3")


def build_schedule(**fields: Any) -> TriggerConfig:
    return TriggerConfig(schedule=TriggerSchedule(**fields))


class TestOwners:
    def test_are_the_administrator_unless_the_root_team_has_a_system3(self, store: Store) -> None:
        trigger = store.run_sync(triggers.add, build_trigger())
        own_trigger = store.run_sync(triggers.add, build_trigger("own", owner="admin"))

        def find_owners(trigger: Trigger) -> tuple[str, list[str]]:
            owners = store.read_sync(triggers.find_owners, trigger)
            return store.read_sync(triggers.find_owner, trigger), [owner.name for owner in owners]

        assert find_owners(trigger) == ("admin", ["admin"])
        store.run_sync(directory.register, SYSTEM3)
        assert find_owners(trigger) == ("team:root/system3", ["system3"])
        assert store.run_sync(triggers.change, "issues", {"prompt": "Look."}, by="system3").prompt == "Look."
        assert find_owners(own_trigger) == ("admin", ["admin"])
        store.run_sync(directory.retire, "system3")
        assert find_owners(trigger) == ("admin", ["admin"])

    def test_manage_their_triggers_and_others_learn_nothing_of_them(self, store: Store) -> None:
        store.run_sync(triggers.add, build_trigger(owner="team:anas"))
        assert store.run_sync(triggers.change, "issues", {"prompt": "Look."}, by="ana").prompt == "Look."
        assert [trigger.name for trigger in store.read_sync(triggers.list_page, by="ana")] == ["issues"]
        assert store.read_sync(triggers.list_page, by="ben") == []
        refusals = []
        for name in ("issues", "nothing"):
            with pytest.raises(Refused) as error:
                store.run_sync(triggers.change, name, {"active": False}, by="ben")
            refusals.append(error.value.message.replace(name, "NAME"))
        assert len(set(refusals)) == 1
        with pytest.raises(Refused):
            store.run_sync(triggers.delete, "issues", by="ben")
        store.run_sync(triggers.delete, "issues", by="ana")

    def test_cannot_give_what_they_are_not_in(self, store: Store) -> None:
        store.run_sync(triggers.add, build_trigger(owner="ana"))
        with pytest.raises(Refused, match="'ana' is not in 'ben'"):
            store.run_sync(triggers.change, "issues", {"owner": "ben"}, by="ana")

    def test_need_a_right_to_add_one(self, store: Store) -> None:
        with pytest.raises(Refused, match="'ana' cannot add triggers"):
            store.run_sync(triggers.add, build_trigger(), by="ana")
        store.run_sync(directory.register, SYSTEM3)
        assert store.run_sync(triggers.add, build_trigger(), by="system3").owner == "system3"
        store.run_sync(agents.set_skills, "ana", ["routing"])
        assert store.run_sync(triggers.add, build_trigger("other"), by="ana").owner == "ana"

    def test_cannot_name_variables_of_the_gateway(self, store: Store) -> None:
        """A variable may be any secret, and the token of a bot is sent to a server."""
        store.run_sync(
            directory.register, EntitySpec(name="steward", kind=EntityKind.AGENT, team="root", role="system3")
        )
        bot = TriggerSpec(name="desk", provider="telegram", config=TriggerConfig(token="env:HOME"))
        with pytest.raises(Refused, match="'steward' cannot use variables of the gateway"):
            store.run_sync(triggers.add, bot, by="steward")
        store.run_sync(triggers.add, TriggerSpec(name="own", provider="telegram", secret="7:token"), by="steward")
        with pytest.raises(Refused, match="cannot use variables"):
            store.run_sync(triggers.change, "own", {"config": TriggerConfig(token="env:HOME")}, by="steward")
        store.run_sync(triggers.add, bot)
        for config in (TriggerConfig(token="env:PATH"), TriggerConfig(token="env:HOME", options={"url": "https://x"})):
            with pytest.raises(Refused, match="cannot use variables"):
                store.run_sync(triggers.change, "desk", {"config": config}, by="steward")
        blocked = TriggerConfig(token="env:HOME", block=(7,))
        assert store.run_sync(triggers.change, "desk", {"config": blocked}, by="steward").config == blocked

    def test_see_pages_of_their_own_only(self, store: Store) -> None:
        for number in range(6):
            owner = "ana" if number % 3 == 2 else "ben"
            store.run_sync(triggers.add, build_trigger(f"hook-{number}", owner=owner))
        [first] = store.read_sync(triggers.list_page, by="ana", limit=1)
        [second] = store.read_sync(triggers.list_page, by="ana", after=first.number, limit=1)
        assert (first.name, second.name) == ("hook-2", "hook-5")
        assert store.read_sync(triggers.list_page, by="ana", after=second.number, limit=1) == []


class TestChanges:
    def test_of_the_scheme_need_the_secret_again(self, store: Store) -> None:
        store.run_sync(triggers.add, build_trigger())
        with pytest.raises(Invalid, match="another scheme needs the secret again"):
            store.run_sync(triggers.change, "issues", {"scheme": Scheme.BEARER})
        new_secret = "another-secret-of-16"
        trigger = store.run_sync(triggers.change, "issues", {"secret": new_secret})
        assert trigger.scheme is Scheme.GITHUB
        assert store.read_sync(webhooks.find_open_trigger, "issues").stored_secret == new_secret
        trigger = store.run_sync(triggers.change, "issues", {"scheme": Scheme.BEARER, "secret": SECRET})
        assert trigger.scheme is Scheme.BEARER
        assert store.read_sync(webhooks.find_open_trigger, "issues").stored_secret not in (new_secret, SECRET)

    def test_of_a_trigger_from_a_file_can_only_close_and_open_it(self, store: Store) -> None:
        spec = TriggerSpec(name="issues", scheme=Scheme.GITHUB, secret=SECRET, is_from_file=True)
        store.run_sync(triggers.add, spec)
        assert not store.run_sync(triggers.change, "issues", {"active": False}).active
        with pytest.raises(Conflict, match=r"is set in gatepost\.toml"):
            store.run_sync(triggers.change, "issues", {"prompt": "x"})
        with pytest.raises(Conflict, match=r"is set in gatepost\.toml"):
            store.run_sync(triggers.delete, "issues")

    def test_of_a_schedule_set_its_next_time_and_others_do_not(self, kit: Kit) -> None:
        store, clock = kit.store, kit.clock
        for name, kind in (("admin", EntityKind.HUMAN), ("ana", EntityKind.AGENT)):
            store.run_sync(directory.register, EntitySpec(name=name, kind=kind))
        spec = TriggerSpec(name="pulse", provider="cron", target="ana", config=build_schedule(every=HOUR))
        trigger = store.run_sync(triggers.add, spec)
        assert trigger.next_at == trigger.created_at + HOUR
        clock.advance("61 minutes")
        assert store.run_sync(triggers.change, "pulse", {"prompt": "Well?"}).next_at == trigger.next_at
        changed = store.run_sync(triggers.change, "pulse", {"config": build_schedule(every=2 * HOUR)})
        assert changed.next_at == trigger.created_at + 2 * HOUR


@check_cases(
    ("spec", "message"),
    [
        (TriggerSpec(name="a", secret=None), "a webhook needs a secret"),
        (TriggerSpec(name="a", provider=""), "'' is not a provider"),
        (TriggerSpec(name="a", provider="telegram"), "a bot needs a token"),
        (TriggerSpec(name="a", provider="cron"), "a cron trigger needs a schedule"),
        (TriggerSpec(name="a", provider="cron", scheme=Scheme.GITHUB), "a trigger of 'cron' has no scheme"),
        (TriggerSpec(name="a", provider="service", config=build_schedule(every=HOUR)), "has no schedule"),
        (TriggerSpec(name="a", provider="cron", config=build_schedule(every=1)), "is not an interval"),
        (TriggerSpec(name="a", provider="cron", config=build_schedule(cron="x")), "'x'"),
        (TriggerSpec(name="a", provider="cron", config=build_schedule(every=HOUR, at=1)), "has every and at"),
        (
            TriggerSpec(name="a", provider="telegram", config=TriggerConfig(token="7:secret")),
            "token: it names no variable",
        ),
        (TriggerSpec(name="a", secret=SECRET, config=TriggerConfig(session="{{")), "session: "),
        (TriggerSpec(name="a", secret=SECRET, config=TriggerConfig(templates=({},))), "says nothing of the payload"),
        (
            TriggerSpec(name="a", secret=SECRET, config=TriggerConfig(requires=("no name",))),
            "'no name' is not a path",
        ),
    ],
)
def test_what_its_provider_cannot_use_is_refused(store: Store, spec: TriggerSpec, message: str) -> None:
    with pytest.raises(Invalid) as error:
        store.run_sync(triggers.add, spec)
    assert message in error.value.message
    assert store.read_sync(triggers.list_page) == []


class TestPreviews:
    """What `trigger test` shows; nothing is stored."""

    def preview(self, store: Store, payload: Any, **headers: str) -> Preview:
        trigger = store.read_sync(triggers.show, "issues")
        named_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        preview = dry_run_sync(store, trigger_preview.preview, trigger, payload, named_headers)
        assert store.read_sync(inbox.list_page, "ana") == []
        assert store.read_sync(unrouted_messages.list_page, by=None) == []
        return preview

    def add(self, store: Store, *templates: Json, provider: str = "webhook", target: str | None = "ana") -> None:
        config = TriggerConfig(session="issue-{{issue.number}}", templates=templates)
        secret = SECRET if provider == "webhook" else "7:token"
        scheme = Scheme.GITHUB if provider == "webhook" else None
        spec = TriggerSpec(name="issues", provider=provider, scheme=scheme, secret=secret, target=target, config=config)
        store.run_sync(triggers.add, spec)

    def test_of_a_known_service(self, store: Store) -> None:
        self.add(store)
        payload = {"action": "opened", "issue": {"number": 7, "title": "Till"}, "sender": {"login": "ann"}}
        [event] = self.preview(store, payload, X_GitHub_Event="issues").events
        assert event.envelope.content == 'ann opened issue #7 "Till"'
        assert (event.envelope.session, event.subject) == ("issue-7", "issues")
        assert (event.decision.targets, event.decision.rule, event.decision.reason) == (("ana",), None, None)

    def test_of_templates(self, store: Store) -> None:
        self.add(
            store,
            {"match": {"bot": True}, "skip": True, "reason": "bots talk too much"},
            {"forEach": "commits", "message": "{{item.author}}: {{item.text}}", "priority": "high"},
        )
        assert self.preview(store, {"bot": True}).skipped == "bots talk too much"
        preview = self.preview(store, {"commits": [{"author": "ann", "text": "a"}, {"author": "bob", "text": "b"}]})
        assert [event.envelope.content for event in preview.events] == ["ann: a", "bob: b"]
        assert {event.priority for event in preview.events} == {Priority.HIGH}

    def test_of_what_nobody_would_get(self, store: Store) -> None:
        self.add(store, target=None)
        [event] = self.preview(store, {}).events
        assert (event.decision.targets, event.decision.reason) == ((), UnroutedReason.NO_ROUTE)

    def test_of_a_message(self, store: Store) -> None:
        self.add(store, provider="telegram")
        [event] = self.preview(store, {"content": "hello", "session": "chat-7:user-7"}).events
        assert (event.envelope.content, event.envelope.session) == ("hello", "chat-7:user-7")
        with pytest.raises(Invalid, match="is not a message of 'telegram'"):
            self.preview(store, ["hello"])
