"""Triggers, and what services say, as verbs over both stores."""

from collections.abc import Iterator

import msgspec
import pytest

from gatepost.actions import directory, inbox, webhooks
from gatepost.actions.directory import EntitySpec
from gatepost.actions.webhooks import ServiceCall, TriggerSpec
from gatepost.api.triggers import AddTrigger
from gatepost.core import render
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, PushResult, Trust
from gatepost.core.webhook import Provider, Scheme
from gatepost.errors import Conflict, GatepostError, Invalid, NotFound, Refused, TooLarge, UnknownAddress
from gatepost.handlers.executor import LocalExecutor
from gatepost.ports import Store
from gatepost.testing import Kit

SECRET = "sixteen-chars-ok"


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    url = request.getfixturevalue("empty_postgres_url") if request.param == "postgres" else None
    with Kit(url) as kit:
        for name, kind in (("admin", EntityKind.HUMAN), ("ana", EntityKind.AGENT), ("ben", EntityKind.AGENT)):
            kit.store.run_sync(directory.register, EntitySpec(name=name, kind=kind, team=f"{name}s"))
        yield kit.store


def build_trigger(name: str = "issues", **fields: str) -> TriggerSpec:
    values = {"secret": SECRET, "target": "ana"} | fields
    return TriggerSpec(name=name, scheme=Scheme.GITHUB, **values)


def test_a_trigger_is_added_found_closed_and_deleted(store: Store) -> None:
    trigger = store.run_sync(webhooks.add_trigger, build_trigger(prompt="Look at it."))

    assert trigger.id.startswith("trg_")
    assert (trigger.provider, trigger.scheme, trigger.target) == (Provider.WEBHOOK, Scheme.GITHUB, "ana")
    assert (trigger.prompt, trigger.owner, trigger.active) == ("Look at it.", "admin", True)
    assert store.read_sync(webhooks.show_trigger, "issues") == trigger
    assert store.run_sync(webhooks.set_trigger_active, "issues", False).active is False
    assert store.read_sync(webhooks.show_trigger, "issues").active is False
    store.run_sync(webhooks.delete_trigger, "issues")
    with pytest.raises(NotFound):
        store.read_sync(webhooks.show_trigger, "issues")
    store.run_sync(webhooks.add_trigger, build_trigger())


def test_its_secret_is_never_told_again(store: Store) -> None:
    trigger = store.run_sync(webhooks.add_trigger, build_trigger())
    opened_trigger = store.read_sync(webhooks.find_open_trigger, "issues")

    assert opened_trigger.stored_secret == SECRET
    for value in (build_trigger(), trigger, store.read_sync(webhooks.page_triggers), opened_trigger):
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
    store.run_sync(webhooks.add_trigger, build_trigger())

    with pytest.raises(Conflict):
        store.run_sync(webhooks.add_trigger, build_trigger(target="ben"))
    assert store.read_sync(webhooks.show_trigger, "issues").target == "ana"


@pytest.mark.parametrize("target", ["ana", "team:anas", "*", "ALL"])
def test_a_target_is_any_address(store: Store, target: str) -> None:
    assert store.run_sync(webhooks.add_trigger, build_trigger(target=target)).target == target.replace("ALL", "*")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"target": "anna"}, UnknownAddress),
        ({"target": "team:nobody"}, UnknownAddress),
        ({"target": "no address"}, Invalid),
        ({"target": "ben"}, Refused),
        ({"target": "team:bens"}, Refused),
        ({"owner": "nobody"}, UnknownAddress),
        ({"owner": "ben"}, Refused),
        ({"owner": "team:anas"}, Invalid),
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
    store.run_sync(directory.retire, "ben")

    with pytest.raises(error):
        store.run_sync(webhooks.add_trigger, build_trigger(**fields))
    assert store.read_sync(webhooks.page_triggers) == []


def test_triggers_are_listed_in_the_order_in_which_they_were_added(store: Store) -> None:
    store.run_sync(webhooks.add_trigger, build_trigger("one", owner="ana"))
    store.run_sync(webhooks.add_trigger, build_trigger("two", owner="ben"))
    store.run_sync(webhooks.add_trigger, build_trigger("three"))

    assert [trigger.name for trigger in store.read_sync(webhooks.page_triggers)] == ["one", "two", "three"]
    [first] = store.read_sync(webhooks.page_triggers, limit=1)
    assert [trigger.name for trigger in store.read_sync(webhooks.page_triggers, after=first.number, limit=1)] == ["two"]


def test_a_call_is_an_event_of_its_service(store: Store) -> None:
    call = ServiceCall(to="ana", service="jira-webhook", payload={"issue": "PROJ-123", "action": "created"}, key="k1")
    [first] = store.run_sync(webhooks.push_calls, [call])
    [repeat] = store.run_sync(webhooks.push_calls, [call])
    assert isinstance(first, PushResult)
    assert isinstance(repeat, PushResult)

    [item] = store.read_sync(inbox.page, "ana")
    event = item.event
    assert (event.type, event.source, event.trust) == (EventType.SERVICE, "jira-webhook", Trust.EXTERNAL)
    assert event.data == {"serviceName": "jira-webhook", "payload": call.payload}
    assert event.dedup_key == "svc:jira-webhook:k1"
    assert render.render_event(event).startswith('[Service: jira-webhook] {"issue":"PROJ-123","action":"created"} (')
    assert (webhooks.is_repeat(first), webhooks.is_repeat(repeat)) == (False, True)
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

    outcomes = store.run_sync(webhooks.push_calls, calls)

    kinds = [PushResult, UnknownAddress, Invalid, Invalid, Invalid, TooLarge, PushResult]
    assert [type(outcome) for outcome in outcomes] == kinds
    assert len(store.read_sync(inbox.page, "ana")) == 2


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

    [outcome] = store.run_sync(webhooks.push_calls, [ServiceCall(to="ana", service="ci", payload=payload)])
    assert isinstance(outcome, Invalid)
    assert "deep" in str(outcome)
    assert store.read_sync(inbox.page, "ana") == []
