"""Looking into inboxes: filters, pages, and what was not taken yet."""

import pytest

from gatepost.actions import directory, inbox
from gatepost.core.event import EventType, ItemState, Ref
from gatepost.core.times import HOUR
from gatepost.errors import Invalid, NotFound, UnknownAddress
from tests.unit.conftest import House


@pytest.fixture
def filled(house: House) -> House:
    """Ann has one of everything: delivered, claimed, dead, discarded, expired, pending, and a broadcast to come."""
    house.tell("delivered", type=EventType.MAIL, sender="husam")
    house.ack(house.take(limit=1))
    poison = house.tell("dead", ref=Ref("task", "1"))
    for _ in range(5):
        house.release(house.take(), poison)
    house.tell("claimed", sender="bob")
    house.take(hold=9 * HOUR)
    house.store.call(inbox.discard, house.tell("discarded", ref=Ref("task", "2")))
    house.tell("expired", ttl=HOUR, type=EventType.ALERT)
    house.clock.advance(HOUR)
    house.tell("pending", sender="bob", ref=Ref("task", "1"))
    house.tell("broadcast", to="*", sender="husam", type=EventType.MAIL)
    house.tell("not ann's", to="bob")
    return house


ALL = ["delivered", "dead", "claimed", "discarded", "expired", "pending", "broadcast"]


def test_without_a_filter_everything_is_listed_in_order_of_arrival(filled: House) -> None:
    assert filled.listed() == ALL


@pytest.mark.parametrize("state", ItemState)
def test_by_state(filled: House, state: ItemState) -> None:
    assert filled.listed(state=state) == {"pending": ["pending", "broadcast"]}.get(state, [state.value])


def test_by_type_sender_reference_and_age(filled: House) -> None:
    now = filled.clock.now()
    assert filled.listed(type=EventType.MAIL) == ["delivered", "broadcast"]
    assert filled.listed(sender="bob") == ["claimed", "pending"]
    assert filled.listed(sender="husam") == ["delivered", "broadcast"]
    assert filled.listed(ref=Ref("task", "1")) == ["dead", "pending"]
    assert filled.listed(ref=Ref("task", "3")) == []
    assert filled.listed(since=now) == ["pending", "broadcast"]
    assert filled.listed(until=now) == ["delivered", "dead", "claimed", "discarded", "expired"]
    assert filled.listed(since=now - HOUR, until=now - HOUR + 1) == filled.listed(until=now)
    assert filled.listed(state=ItemState.PENDING, sender="bob", ref=Ref("task", "1"), type=EventType.EVENT) == [
        "pending"
    ]


def test_page_by_page_nothing_is_missed_or_repeated(filled: House) -> None:
    found: list[str] = []
    after = 0
    while page := filled.store.query(inbox.page, "ann", after=after, limit=2):
        assert len(page) <= 2
        found += [item.event.content for item in page]
        after = page[-1].event.arrival
    assert found == ALL


def test_all_inboxes_together(filled: House) -> None:
    everything = [(item.recipient, item.event.content) for item in filled.store.query(inbox.page, limit=1_000)]
    assert [text for name, text in everything if name == "ann"] == ALL
    assert ("bob", "not ann's") in everything
    assert ("bob", "broadcast") in everything


def test_a_broadcast_is_listed_once_before_and_after_it_is_taken(filled: House) -> None:
    filled.take(owner="somebody")
    assert filled.listed() == ALL
    assert filled.listed(state=ItemState.PENDING) == []


def test_an_event_is_shown_with_each_of_its_recipients(house: House) -> None:
    event = house.tell(to="team:red")
    house.ack(house.take("bob"))
    assert [(item.recipient, item.state) for item in house.store.query(inbox.show, event)] == [
        ("ann", ItemState.PENDING),
        ("bob", ItemState.DELIVERED),
    ]


def test_peeking_changes_nothing_and_is_bounded(house: House) -> None:
    for number in range(5):
        house.tell(str(number))
    before = house.store.query(inbox.page, "ann")
    assert [item.event.content for item in house.store.query(inbox.peek, "ann", limit=3)] == ["0", "1", "2"]
    assert house.store.query(inbox.page, "ann") == before


def test_the_inbox_of_the_retired_can_still_be_read(house: House) -> None:
    house.tell()
    house.store.call(directory.retire, "ann")
    assert house.listed() == house.waiting() == ["tea"]


def test_whoever_is_unknown_is_named(house: House) -> None:
    for look in (inbox.peek, inbox.page):
        with pytest.raises(UnknownAddress, match="nobody is called 'an'"):
            house.store.query(look, "an")
    with pytest.raises(UnknownAddress, match="nobody is called 'an'"):
        house.store.query(inbox.page, "ann", sender="an")
    with pytest.raises(NotFound):
        house.store.query(inbox.show, "evt_" + "0" * 32)
    with pytest.raises(Invalid):
        house.store.query(inbox.show, "clm_" + "0" * 32)


def test_a_page_of_all_inboxes_may_end_between_two_recipients_of_one_event(filled: House) -> None:
    whole = [(item.recipient, item.event.id) for item in filled.store.query(inbox.page, limit=1_000)]
    for size in (1, 2, 3):
        read: list[tuple[str, str]] = []
        after, beyond = 0, None
        while page := filled.store.query(inbox.page, after=after, after_recipient=beyond, limit=size):
            read += [(item.recipient, item.event.id) for item in page]
            after, beyond = page[-1].event.arrival, page[-1].recipient
        assert read == whole
