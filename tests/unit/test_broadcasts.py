"""A broadcast: one row, and each agent takes it once, if it was there when it was made."""

import pytest

from gatepost.actions import directory, inbox, maintenance
from gatepost.core.entity import EntityKind
from gatepost.core.event import ItemState, Priority
from gatepost.core.limits import Limits
from gatepost.core.times import HOUR
from gatepost.errors import Conflict, NotFound
from tests.unit.conftest import House, contents


def drain(house: House, name: str) -> list[str]:
    batch = house.claim(name)
    if batch.claim is not None:
        house.ack(batch.claim)
    return contents(batch)


def test_every_agent_gets_it_once(house: House) -> None:
    pushed = house.push("to all", to="ALL")
    assert (pushed.broadcast, pushed.deliveries, pushed.duplicate) == (1, (), False)
    assert [ring.recipient for ring in house.bell.signals] == ["*"]
    for name in ("ann", "bob"):
        assert drain(house, name) == ["to all"]
        assert drain(house, name) == []
    assert house.balanced()


def test_people_and_services_do_not(house: House) -> None:
    house.register("jira", EntityKind.SERVICE)
    house.tell("to all", to="*")
    assert house.waiting("husam") == house.waiting("jira") == []
    assert drain(house, "jira") == []
    house.tell("to you", to="jira")
    assert drain(house, "jira") == ["to you"]


def test_only_who_was_registered_before(house: House) -> None:
    house.tell("1", to="*")
    house.register("cem")
    house.tell("2", to="*")
    house.register("dan")
    assert [drain(house, name) for name in ("ann", "cem", "dan")] == [["1", "2"], ["2"], []]


def test_the_sender_does_not(house: House) -> None:
    house.tell("from ann", to="*", sender="ann")
    assert (house.waiting("ann"), drain(house, "ann")) == ([], [])
    assert (house.waiting("bob"), drain(house, "bob")) == (["from ann"], ["from ann"])


def test_the_retired_do_not_and_hold_nothing_up(house: House) -> None:
    house.tell("to all", to="*", key="k")
    house.store.call(directory.retire, "bob")
    assert house.waiting("bob") == []
    assert drain(house, "ann") == ["to all"]
    house.clock.advance(Limits().remember)
    while house.store.call(maintenance.reap):
        pass
    assert not house.push("again", to="*", key="k").duplicate
    assert drain(house, "ann") == ["again"]


def test_once_expired_it_is_never_delivered(house: House) -> None:
    event = house.tell("short", to="*", ttl=HOUR)
    assert drain(house, "ann") == ["short"]
    house.clock.advance(HOUR)
    assert (house.waiting("bob"), drain(house, "bob")) == ([], [])
    [account] = house.store.query(maintenance.list_accounts, "bob")
    assert account.accepted == 0
    assert {item.state for item in house.store.query(inbox.show, event)} <= {ItemState.DELIVERED, ItemState.EXPIRED}


def test_what_was_taken_in_time_expires_like_anything_else(house: House) -> None:
    house.tell("first")
    house.tell("short", to="*", ttl=HOUR)
    house.claim(limit=1)
    house.clock.advance(HOUR)
    assert house.store.call(maintenance.expire_items) == 1
    assert house.balanced()


def test_it_has_its_place_in_the_order(house: House) -> None:
    house.tell("1")
    house.tell("2", to="*")
    house.tell("3")
    house.tell("0", to="*", priority=Priority.HIGH)
    assert house.waiting() == drain(house, "ann") == ["0", "1", "2", "3"]


def test_a_repeat_is_recognised(house: House) -> None:
    first = house.push("first", to="*", key="k")
    house.bell.clear()
    again = house.push("second", to="*", key="k")
    assert (again.event, again.broadcast, again.duplicate) == (first.event, 1, True)
    assert house.bell.signals == []
    assert house.push("third", to="*").broadcast == 2
    assert drain(house, "ann") == ["first", "third"]


def test_a_key_is_one_whichever_way_it_came(house: House) -> None:
    house.tell("direct", key="k")
    house.tell("to all", to="*", key="k")
    assert (house.waiting("ann"), house.waiting("bob")) == (["direct"], ["to all"])
    assert house.listed("ann") == ["direct"]
    assert (drain(house, "ann"), drain(house, "bob")) == (["direct"], ["to all"])
    assert house.push("late", key="k").deliveries[0].duplicate
    assert house.balanced()


def test_a_direct_push_may_overtake_a_broadcast_with_its_key(house: House) -> None:
    house.tell("to all", to="*", key="k")
    assert not house.push("direct", key="k").deliveries[0].duplicate
    assert house.waiting("ann") == drain(house, "ann") == ["direct"]
    assert drain(house, "bob") == ["to all"]


def test_it_is_forgotten_when_all_have_taken_it_and_not_before(house: House) -> None:
    event = house.tell("to all", to="*")
    assert drain(house, "ann") == ["to all"]
    house.clock.advance(2 * Limits().remember)
    while house.store.call(maintenance.reap):
        pass
    assert house.waiting("bob") == drain(house, "bob") == ["to all"]
    house.clock.advance(Limits().remember)
    while house.store.call(maintenance.reap):
        pass
    with pytest.raises(NotFound):
        house.store.query(inbox.show, event)
    assert house.balanced()


def test_who_comes_after_the_reaper_still_gets_only_what_is_new(house: House) -> None:
    house.tell("old", to="*")
    assert drain(house, "ann") == drain(house, "bob") == ["old"]
    house.clock.advance(Limits().remember)
    while house.store.call(maintenance.reap):
        pass
    house.register("cem")
    house.tell("new", to="*")
    assert [drain(house, name) for name in ("ann", "bob", "cem")] == [["new"]] * 3


def test_it_can_be_shown_before_and_after_it_is_taken(house: House) -> None:
    event = house.tell("to all", to="*")
    assert [(item.recipient, item.state) for item in house.store.query(inbox.show, event)] == [
        ("ann", ItemState.PENDING),
        ("bob", ItemState.PENDING),
    ]
    drain(house, "bob")
    assert {item.recipient: item.state for item in house.store.query(inbox.show, event)} == {
        "ann": ItemState.PENDING,
        "bob": ItemState.DELIVERED,
    }


def test_one_agent_may_be_spared_what_it_has_not_taken(house: House) -> None:
    event = house.tell("to all", to="*")
    [item] = house.store.call(inbox.discard, event, "ann")
    assert (item.recipient, item.state) == ("ann", ItemState.DISCARDED)
    assert drain(house, "ann") == []
    assert drain(house, "bob") == ["to all"]
    assert house.balanced()


def test_nobody_can_be_spared_for_all_what_nobody_has_taken(house: House) -> None:
    event = house.tell("to all", to="*")
    for verb in (inbox.discard, inbox.replay):
        with pytest.raises(Conflict, match="is a broadcast that agents have still to take") as caught:
            house.store.call(verb, event)
        assert caught.value.hint
    with pytest.raises(NotFound, match="for 'husam'"):
        house.store.call(inbox.discard, event, "husam")
    assert drain(house, "ann") == ["to all"]


def test_past_the_hop_limit_the_administrator_is_told_once(house: House) -> None:
    for _ in range(2):
        house.tell("too far", to="*", hops=Limits().hops + 1)
    [alert] = house.store.query(inbox.peek, "admin")
    assert alert.event.content.startswith("a chain of 17 events reached every agent")
    house.tell("far", to="*", hops=Limits().hops)
    assert len(house.waiting("admin")) == 1
