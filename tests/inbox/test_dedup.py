"""Dedup keys: how they are stored, which are refused, and what an alert without one is known by."""

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from gatepost.channels.webhooks.service_call_handlers import ServiceCall, push_calls
from gatepost.core.ports import Store
from gatepost.errors import Invalid, TooLarge
from gatepost.guests import spool_merge_actions as spool_merge
from gatepost.guests.spool_line import SpoolLine
from gatepost.inbox import claim_actions as inbox, event_rendering as render, item_actions as inbox_items
from gatepost.inbox.event import EventType, Priority, Push, PushResult, Ref
from gatepost.inbox.push import actions as push, dedup_keys as dedup
from gatepost.testing import Kit
from tests.support.store_context import StoreContext


@pytest.fixture
def sqlite_ctx() -> Any:
    """On SQLite, for what is the same on both."""
    with Kit() as kit:
        yield StoreContext(kit)


def build_alert(content: str = "main is red", **fields: Any) -> Push:
    return replace(Push(to="ann", type=EventType.ALERT, source="ci", content=content), **fields)


def push_call(store: Store, call: ServiceCall) -> PushResult:
    [outcome] = store.run_sync(push_calls, [call])
    assert isinstance(outcome, PushResult)
    return outcome


def is_duplicate(pushed: PushResult) -> bool:
    return pushed.deliveries[0].duplicate


@pytest.mark.parametrize("key", ["by:ann:k", "by:", "by:ann/trigger:ci:k", "redis:1", "nats:1"])
def test_a_plain_key_does_not_look_like_a_stored_one(sqlite_ctx: StoreContext, key: str) -> None:
    for prefix in ("", dedup.build_entity_prefix("bob"), dedup.build_trigger_prefix("ann", "ci")):
        with pytest.raises(Invalid, match=f"^the dedup key '{key}' begins with '[a-z]+:'") as error:
            sqlite_ctx.push(dedup_key=key, key_prefix=prefix)
        assert error.value.hint is not None
    assert sqlite_ctx.list_inbox() == []


def test_what_another_program_calls_its_event_may_look_like_anything(sqlite_ctx: StoreContext) -> None:
    for prefix in (dedup.REDIS, dedup.NATS):
        event = sqlite_ctx.push_event(dedup_key="by:ann:k", key_prefix=prefix)
        assert sqlite_ctx.show_item(event).event.dedup_key == f"{prefix}by:ann:k"


def test_the_prefix_does_not_count_towards_the_limit(ctx: StoreContext) -> None:
    """The longest key of the widest characters behind the longest prefix also fits into an index."""
    key, service = "".join(chr(0x20000 + 97 * n) for n in range(512)), ":" * 200
    for prefix in ("", dedup.build_entity_prefix("a" * 63), dedup.REDIS, dedup.build_trigger_prefix("a" * 63, "ci")):
        assert not is_duplicate(ctx.push(dedup_key=key, key_prefix=prefix))
        assert is_duplicate(ctx.push(dedup_key=key, key_prefix=prefix))
        with pytest.raises(TooLarge, match="513 characters"):
            ctx.push(dedup_key=f"{key}x", key_prefix=prefix)
    call = ServiceCall(to="ann", service=service, payload=1, key="\N{LATIN SMALL LETTER E WITH ACUTE}" * 255)
    for by_trigger_key in (False, True):
        results = [push_call(ctx.store, dataclasses.replace(call, by_trigger_key=by_trigger_key)) for _ in range(2)]
        assert [is_duplicate(result) for result in results] == [False, True]


def test_services_that_are_called_alike_have_keys_of_their_own(sqlite_ctx: StoreContext) -> None:
    for service, key in (("a", "b:c"), ("a:b", "c"), ("a%3Ab", "c")):
        call = ServiceCall(to="ann", service=service, payload=1, key=key, by_trigger_key=True)
        assert not is_duplicate(push_call(sqlite_ctx.store, call))


def test_an_alert_without_a_key_is_known_by_what_it_says(sqlite_ctx: StoreContext) -> None:
    first = sqlite_ctx.store.run_sync(push.push_event, build_alert())
    repeat = sqlite_ctx.store.run_sync(push.push_event, build_alert(ttl=1_000_000, hops=2))
    assert is_duplicate(repeat)
    assert repeat.event == first.event
    [item] = sqlite_ctx.store.read_sync(inbox.list_page, "ann")
    assert item.event.dedup_key == dedup.build_alert_key(build_alert())
    assert item.event.dedup_key.startswith("alert:ci:")


@pytest.mark.parametrize(
    "changes",
    [
        {"content": "main is green"},
        {"source": "cd"},
        {"subject": "main"},
        {"data": {"run": 42}},
        {"priority": Priority.CRITICAL},
        {"ref": Ref("task", "1")},
        {"dedup_key": "ci:43"},
        {"key_prefix": "by:bob:"},
        {"type": EventType.EVENT},
    ],
)
def test_another_alert_is_another(sqlite_ctx: StoreContext, changes: dict[str, Any]) -> None:
    sqlite_ctx.store.run_sync(push.push_event, build_alert())
    assert not is_duplicate(sqlite_ctx.store.run_sync(push.push_event, build_alert(**changes)))


def test_an_alert_is_told_again_when_the_first_one_was_read(ctx: StoreContext) -> None:
    events = []
    for _ in range(3):
        first = ctx.store.run_sync(push.push_event, build_alert())
        assert not is_duplicate(first)
        repeats = [ctx.store.run_sync(push.push_event, build_alert()) for _ in range(2)]
        assert [(repeat.event, repeat.deliveries[0].times) for repeat in repeats] == [
            (first.event, 2),
            (first.event, 3),
        ]
        [item] = ctx.store.read_sync(inbox.peek, "ann")
        assert render.render_event(item.event) == '[Alert: ci] "main is red" (3 times)'
        batch = ctx.claim("ann")
        assert '"main is red" (3 times)' in str(batch)
        assert batch.claim is not None
        assert not is_duplicate(ctx.store.run_sync(push.push_event, build_alert(to="bob")))
        ctx.ack(batch.claim)
        ctx.ack(ctx.take_claim("bob"))
        events.append(first.event)
    assert len(set(events)) == 3
    assert ctx.is_balanced()


def test_a_repeat_is_counted_for_those_who_have_not_read_it(ctx: StoreContext) -> None:
    ctx.register("eve", team="red")
    ctx.store.run_sync(push.push_event, build_alert(to="team:red"))
    ctx.ack(ctx.take_claim("bob"))
    repeat = ctx.store.run_sync(push.push_event, build_alert(to="team:red"))
    assert {entry.name: (entry.duplicate, entry.times) for entry in repeat.deliveries} == {
        "ann": (True, 2),
        "bob": (False, 1),
        "eve": (True, 2),
    }


def test_equal_alerts_of_one_batch_are_repeats_of_the_first(ctx: StoreContext) -> None:
    """An alert that waits already and one that is new, each three times beside another event."""
    ctx.store.run_sync(push.push_event, build_alert("main is slow"))
    batch = [build_alert("main is slow"), build_alert(), Push(to="ann", source="ci", content="begun")] * 3
    results = [result for result in ctx.store.run_sync(push.push_all, batch) if isinstance(result, PushResult)]
    deliveries = [result.deliveries[0] for result in results]
    assert [delivery.times for delivery in deliveries] == [2, 1, 1, 3, 2, 1, 4, 3, 1]
    assert [delivery.duplicate for delivery in deliveries] == [True, False, False, True, True, False, True, True, False]
    assert {results[number].event for number in (1, 4, 7)} == {results[1].event}
    assert ctx.is_balanced()


def test_an_alert_with_a_key_is_a_repeat_as_everything_with_a_key_is(ctx: StoreContext) -> None:
    ctx.store.run_sync(push.push_event, build_alert(dedup_key="ci:42"))
    ctx.ack(ctx.take_claim())
    repeat = ctx.store.run_sync(push.push_event, build_alert(dedup_key="ci:42"))
    assert (is_duplicate(repeat), repeat.deliveries[0].times) == (True, 1)


def test_an_alert_that_is_replayed_is_no_repeat(sqlite_ctx: StoreContext) -> None:
    event = sqlite_ctx.store.run_sync(push.push_event, build_alert()).event
    sqlite_ctx.ack(sqlite_ctx.take_claim())
    [repeat] = sqlite_ctx.store.run_sync(inbox_items.replay, event)
    assert repeat.event.id != event
    assert sqlite_ctx.list_waiting() == ["main is red"]


def test_the_same_alert_to_everybody_is_one_broadcast(sqlite_ctx: StoreContext) -> None:
    first, repeat = (sqlite_ctx.store.run_sync(push.push_event, build_alert(to="*")) for _ in range(2))
    assert (first.duplicate, repeat.duplicate) == (False, True)
    assert sqlite_ctx.list_waiting("bob") == ["main is red"]


def test_a_line_in_a_spool_takes_nothing_from_an_inbox(sqlite_ctx: StoreContext) -> None:
    """It may name any stored key: what the inbox has is shown as it is there, and another's inbox is not touched."""
    keys = {"ci:42": "", "gate:g1": "", "k1": dedup.build_entity_prefix("bob"), "k2": dedup.REDIS, "k3": dedup.NATS}
    for key, prefix in keys.items():
        sqlite_ctx.push("stored", dedup_key=key, key_prefix=prefix)
    lines = [SpoolLine(id=key, content="spooled", dedup_key=f"{prefix}{key}") for key, prefix in keys.items()]
    reading = sqlite_ctx.store.run_sync(spool_merge.claim_with_spool, "ann", lines, owner="session-1")
    assert [item.event.content for item in reading.lines] == ["stored"] * len(keys)
    for key, prefix in keys.items():
        assert not is_duplicate(sqlite_ctx.push("stored", to="bob", dedup_key=key, key_prefix=prefix))
    assert sqlite_ctx.list_waiting("bob") == ["stored"] * len(keys)
