"""A broadcast: one row, and each agent takes it once, if it was there when it was made."""

import pytest

from gatepost.core.policy import Policy
from gatepost.core.times import HOUR
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import Conflict, NotFound
from gatepost.inbox import (
    account_actions,
    claim_actions as inbox,
    expiry_actions as expiry,
    item_actions as inbox_items,
)
from gatepost.inbox.event import ItemState, Priority
from gatepost.worker import retention_actions as retention
from tests.support.store_context import StoreContext, list_contents


def drain(ctx: StoreContext, name: str) -> list[str]:
    batch = ctx.claim(name)
    if batch.claim is not None:
        ctx.ack(batch.claim)
    return list_contents(batch)


def test_every_agent_gets_it_once(ctx: StoreContext) -> None:
    pushed = ctx.push("to all", to="ALL")
    assert (pushed.broadcast, pushed.deliveries, pushed.duplicate) == (1, (), False)
    assert [signal.topic.recipient for signal in ctx.signal_sink.signals] == ["*"]
    for name in ("ann", "bob"):
        assert drain(ctx, name) == ["to all"]
        assert drain(ctx, name) == []
    assert ctx.is_balanced()


def test_people_and_services_do_not(ctx: StoreContext) -> None:
    ctx.register("jira", EntityKind.SERVICE)
    ctx.push_event("to all", to="*")
    assert ctx.list_waiting("husam") == ctx.list_waiting("jira") == []
    assert drain(ctx, "jira") == []
    ctx.push_event("to you", to="jira")
    assert drain(ctx, "jira") == ["to you"]


def test_only_who_was_registered_before(ctx: StoreContext) -> None:
    ctx.push_event("1", to="*")
    ctx.register("cem")
    ctx.push_event("2", to="*")
    ctx.register("dan")
    assert [drain(ctx, name) for name in ("ann", "cem", "dan")] == [["1", "2"], ["2"], []]


def test_the_sender_does_not(ctx: StoreContext) -> None:
    ctx.push_event("from ann", to="*", sender="ann")
    assert (ctx.list_waiting("ann"), drain(ctx, "ann")) == ([], [])
    assert (ctx.list_waiting("bob"), drain(ctx, "bob")) == (["from ann"], ["from ann"])


def test_the_retired_do_not_and_hold_nothing_up(ctx: StoreContext) -> None:
    ctx.push_event("to all", to="*", dedup_key="k")
    ctx.store.run_sync(directory.retire, "bob")
    assert ctx.list_waiting("bob") == []
    assert drain(ctx, "ann") == ["to all"]
    ctx.clock.advance(Policy().remember)
    while ctx.store.run_sync(retention.reap):
        pass
    assert not ctx.push("again", to="*", dedup_key="k").duplicate
    assert drain(ctx, "ann") == ["again"]


def test_once_expired_it_is_never_delivered(ctx: StoreContext) -> None:
    event = ctx.push_event("short", to="*", ttl=HOUR)
    assert drain(ctx, "ann") == ["short"]
    ctx.clock.advance(HOUR)
    assert (ctx.list_waiting("bob"), drain(ctx, "bob")) == ([], [])
    [account] = ctx.store.read_sync(account_actions.list_accounts, "bob")
    assert account.accepted == 0
    assert {item.state for item in ctx.store.read_sync(inbox_items.show, event)} <= {
        ItemState.DELIVERED,
        ItemState.EXPIRED,
    }


def test_what_was_taken_in_time_expires_like_anything_else(ctx: StoreContext) -> None:
    ctx.push_event("first")
    ctx.push_event("short", to="*", ttl=HOUR)
    ctx.claim(limit=1)
    ctx.clock.advance(HOUR)
    assert ctx.store.run_sync(expiry.expire_items) == 1
    assert ctx.is_balanced()


def test_it_has_its_place_in_the_order(ctx: StoreContext) -> None:
    ctx.push_event("1")
    ctx.push_event("2", to="*")
    ctx.push_event("3")
    ctx.push_event("0", to="*", priority=Priority.HIGH)
    assert ctx.list_waiting() == drain(ctx, "ann") == ["0", "1", "2", "3"]


def test_a_repeat_is_recognised(ctx: StoreContext) -> None:
    first = ctx.push("first", to="*", dedup_key="k")
    ctx.signal_sink.clear()
    repeat = ctx.push("second", to="*", dedup_key="k")
    assert (repeat.event, repeat.broadcast, repeat.duplicate) == (first.event, 1, True)
    assert ctx.signal_sink.signals == []
    assert ctx.push("third", to="*").broadcast == 2
    assert drain(ctx, "ann") == ["first", "third"]


def test_a_key_is_one_whichever_way_it_came(ctx: StoreContext) -> None:
    ctx.push_event("direct", dedup_key="k")
    ctx.push_event("to all", to="*", dedup_key="k")
    assert (ctx.list_waiting("ann"), ctx.list_waiting("bob")) == (["direct"], ["to all"])
    assert ctx.list_inbox("ann") == ["direct"]
    assert (drain(ctx, "ann"), drain(ctx, "bob")) == (["direct"], ["to all"])
    assert ctx.push("late", dedup_key="k").deliveries[0].duplicate
    assert ctx.is_balanced()


def test_a_direct_push_may_overtake_a_broadcast_with_its_key(ctx: StoreContext) -> None:
    ctx.push_event("to all", to="*", dedup_key="k")
    assert not ctx.push("direct", dedup_key="k").deliveries[0].duplicate
    assert ctx.list_waiting("ann") == drain(ctx, "ann") == ["direct"]
    assert drain(ctx, "bob") == ["to all"]


def test_it_is_forgotten_when_all_have_taken_it_and_not_before(ctx: StoreContext) -> None:
    event = ctx.push_event("to all", to="*")
    assert drain(ctx, "ann") == ["to all"]
    ctx.clock.advance(2 * Policy().remember)
    while ctx.store.run_sync(retention.reap):
        pass
    assert ctx.list_waiting("bob") == drain(ctx, "bob") == ["to all"]
    ctx.clock.advance(Policy().remember)
    while ctx.store.run_sync(retention.reap):
        pass
    with pytest.raises(NotFound):
        ctx.store.read_sync(inbox_items.show, event)
    assert ctx.is_balanced()


def test_who_comes_after_the_reaper_still_gets_only_what_is_new(ctx: StoreContext) -> None:
    ctx.push_event("old", to="*")
    assert drain(ctx, "ann") == drain(ctx, "bob") == ["old"]
    ctx.clock.advance(Policy().remember)
    while ctx.store.run_sync(retention.reap):
        pass
    ctx.register("cem")
    ctx.push_event("new", to="*")
    assert [drain(ctx, name) for name in ("ann", "bob", "cem")] == [["new"]] * 3


def test_it_can_be_shown_before_and_after_it_is_taken(ctx: StoreContext) -> None:
    event = ctx.push_event("to all", to="*")
    assert [(item.recipient, item.state) for item in ctx.store.read_sync(inbox_items.show, event)] == [
        ("ann", ItemState.PENDING),
        ("bob", ItemState.PENDING),
    ]
    drain(ctx, "bob")
    assert {item.recipient: item.state for item in ctx.store.read_sync(inbox_items.show, event)} == {
        "ann": ItemState.PENDING,
        "bob": ItemState.DELIVERED,
    }


def test_one_agent_may_be_spared_what_it_has_not_taken(ctx: StoreContext) -> None:
    event = ctx.push_event("to all", to="*")
    [item] = ctx.store.run_sync(inbox_items.discard, event, "ann")
    assert (item.recipient, item.state) == ("ann", ItemState.DISCARDED)
    assert drain(ctx, "ann") == []
    assert drain(ctx, "bob") == ["to all"]
    assert ctx.is_balanced()


def test_nobody_can_be_spared_for_all_what_nobody_has_taken(ctx: StoreContext) -> None:
    event = ctx.push_event("to all", to="*")
    for verb in (inbox_items.discard, inbox_items.replay):
        with pytest.raises(Conflict, match="is a broadcast that agents have still to take") as error:
            ctx.store.run_sync(verb, event)
        assert error.value.hint
    with pytest.raises(NotFound, match="for 'husam'"):
        ctx.store.run_sync(inbox_items.discard, event, "husam")
    assert drain(ctx, "ann") == ["to all"]


def test_past_the_hop_limit_the_administrator_is_told_once(ctx: StoreContext) -> None:
    for _ in range(2):
        ctx.push_event("too far", to="*", hops=Policy().hops + 1)
    [alert] = ctx.store.read_sync(inbox.peek, "admin")
    assert alert.event.content.startswith("a chain of 17 events reached every agent")
    ctx.push_event("far", to="*", hops=Policy().hops)
    assert len(ctx.list_waiting("admin")) == 1
