"""Looking into inboxes: filters, pages, and what was not taken yet."""

from itertools import product

import pytest

from gatepost.core.times import HOUR
from gatepost.directory import entity_actions as directory
from gatepost.errors import Invalid, NotFound, UnknownAddress
from gatepost.inbox import claim_actions as inbox, item_actions as inbox_items, item_rows, triage_actions as triage
from gatepost.inbox.event import Event, EventType, ItemState, Priority, Ref
from gatepost.inbox.triage_actions import Selection
from tests.support.store_context import StoreContext


@pytest.fixture
def full_ctx(ctx: StoreContext) -> StoreContext:
    """Ann has one of everything: delivered, claimed, dead, discarded, expired, pending, and a broadcast to come."""
    ctx.push_event("delivered", type=EventType.MAIL, sender="husam")
    ctx.ack(ctx.take_claim(limit=1))
    poison = ctx.push_event("dead", ref=Ref("task", "1"))
    for _ in range(5):
        ctx.release(ctx.take_claim(), poison)
    ctx.push_event("claimed", sender="bob")
    ctx.take_claim(hold=9 * HOUR)
    ctx.store.run_sync(inbox_items.discard, ctx.push_event("discarded", ref=Ref("task", "2")))
    ctx.push_event("expired", ttl=HOUR, type=EventType.ALERT)
    ctx.clock.advance(HOUR)
    ctx.push_event("pending", sender="bob", ref=Ref("task", "1"))
    ctx.push_event("broadcast", to="*", sender="husam", type=EventType.MAIL)
    ctx.push_event("not ann's", to="bob")
    return ctx


ALL_CONTENTS = ["delivered", "dead", "claimed", "discarded", "expired", "pending", "broadcast"]


def test_without_a_filter_everything_is_listed_in_order_of_arrival(full_ctx: StoreContext) -> None:
    assert full_ctx.list_inbox() == ALL_CONTENTS


@pytest.mark.parametrize("state", ItemState)
def test_by_state(full_ctx: StoreContext, state: ItemState) -> None:
    assert full_ctx.list_inbox(state=state) == {"pending": ["pending", "broadcast"]}.get(state, [state.value])


def test_by_type_sender_reference_and_age(full_ctx: StoreContext) -> None:
    now = full_ctx.clock.now()
    assert full_ctx.list_inbox(type=EventType.MAIL) == ["delivered", "broadcast"]
    assert full_ctx.list_inbox(sender="bob") == ["claimed", "pending"]
    assert full_ctx.list_inbox(sender="husam") == ["delivered", "broadcast"]
    assert full_ctx.list_inbox(ref=Ref("task", "1")) == ["dead", "pending"]
    assert full_ctx.list_inbox(ref=Ref("task", "3")) == []
    assert full_ctx.list_inbox(since=now) == ["pending", "broadcast"]
    assert full_ctx.list_inbox(until=now) == ["delivered", "dead", "claimed", "discarded", "expired"]
    assert full_ctx.list_inbox(since=now - HOUR, until=now - HOUR + 1) == full_ctx.list_inbox(until=now)
    assert full_ctx.list_inbox(state=ItemState.PENDING, sender="bob", ref=Ref("task", "1"), type=EventType.EVENT) == [
        "pending"
    ]


def test_a_part_of_the_subject_or_the_content_is_found(ctx: StoreContext) -> None:
    ctx.push_event("100% of it", subject="Schema")
    ctx.push_event("100 of it, and more!")
    ctx.push_event("a_b", to="*", subject="SCHEMA two")
    assert ctx.list_inbox(text="schema") == ["100% of it", "a_b"]
    assert ctx.list_inbox(text="0%") == ["100% of it"]
    assert ctx.list_inbox(text="a_b") == ["a_b"]
    assert ctx.list_inbox(text="_") == ["a_b"]
    assert ctx.list_inbox(text="more!") == ["100 of it, and more!"]
    assert ctx.list_inbox(text="nothing") == []
    assert ctx.list_inbox(text="schema", state=ItemState.DELIVERED) == []


def test_page_by_page_nothing_is_missed_or_repeated(full_ctx: StoreContext) -> None:
    contents: list[str] = []
    after = 0
    while page := full_ctx.store.read_sync(inbox.list_page, "ann", after=after, limit=2):
        assert len(page) <= 2
        contents += [item.event.content for item in page]
        after = page[-1].event.arrival
    assert contents == ALL_CONTENTS


def test_all_inboxes_together(full_ctx: StoreContext) -> None:
    all_items = [
        (item.recipient, item.event.content) for item in full_ctx.store.read_sync(inbox.list_page, limit=1_000)
    ]
    assert [text for name, text in all_items if name == "ann"] == ALL_CONTENTS
    assert ("bob", "not ann's") in all_items
    assert ("bob", "broadcast") in all_items


def test_a_broadcast_is_listed_once_before_and_after_it_is_taken(full_ctx: StoreContext) -> None:
    full_ctx.take_claim(owner="somebody")
    assert full_ctx.list_inbox() == ALL_CONTENTS
    assert full_ctx.list_inbox(state=ItemState.PENDING) == []


def test_an_event_is_shown_with_each_of_its_recipients(ctx: StoreContext) -> None:
    event = ctx.push_event(to="team:red")
    ctx.ack(ctx.take_claim("bob"))
    assert [(item.recipient, item.state) for item in ctx.store.read_sync(inbox_items.show, event)] == [
        ("ann", ItemState.PENDING),
        ("bob", ItemState.DELIVERED),
    ]


def test_peeking_changes_nothing_and_is_bounded(ctx: StoreContext) -> None:
    for number in range(5):
        ctx.push_event(str(number))
    before = ctx.store.read_sync(inbox.list_page, "ann")
    assert [item.event.content for item in ctx.store.read_sync(inbox.peek, "ann", limit=3)] == ["0", "1", "2"]
    assert ctx.store.read_sync(inbox.list_page, "ann") == before


def test_peeking_shows_each_pending_item_once_by_priority_and_arrival_whatever_the_page(ctx: StoreContext) -> None:
    senders = {"husam": {"sender": "husam"}, "bob": {"sender": "bob"}, "machine": {}}
    types = (EventType.EVENT, EventType.MAIL)
    for number in range(2):
        for (name, sender), priority in product(senders.items(), reversed(Priority)):
            content = f"{priority}, {name}, {number}"
            ctx.push_event(content, priority=priority, type=types[priority % 2], **sender)
            hidden = ctx.push_event(f"{content}, snoozed", priority=priority, **sender)
            ctx.store.run_sync(triage.snooze, "ann", Selection(events=[hidden]), length=2 * HOUR)
            ctx.push_event(f"{content}, expired", priority=priority, ttl=HOUR, **sender)
            ctx.push_event(f"{content}, to all", to="*", priority=priority, type=types[priority % 2], **sender)
    ctx.clock.advance(HOUR)
    items = ctx.store.read_sync(inbox.list_page, "ann", state=ItemState.PENDING, hidden=False, limit=1_000)
    events = [item.event for item in sorted(items, key=lambda item: (item.event.priority, item.event.arrival))]
    assert len(events) == 2 * 2 * len(senders) * len(Priority)

    for size in (1, 3, 7, 1_000):
        seen_events: list[Event] = []
        after = (-1, 0)
        while page := ctx.store.read_sync(inbox.peek, "ann", after=after, limit=size):
            seen_events += [item.event for item in page]
            after = (seen_events[-1].priority, seen_events[-1].arrival)
        assert [event.content for event in seen_events] == [event.content for event in events]
    number = ctx.store.read_sync(directory.find, "ann").number
    mail = [item.event.content for item in ctx.store.read_sync(item_rows.peek, number, 5, EventType.MAIL)]
    assert mail == [event.content for event in events if event.type is EventType.MAIL][:5]


def test_the_inbox_of_the_retired_can_still_be_read(ctx: StoreContext) -> None:
    ctx.push_event()
    ctx.store.run_sync(directory.retire, "ann")
    assert ctx.list_inbox() == ctx.list_waiting() == ["tea"]


def test_whoever_is_unknown_is_named(ctx: StoreContext) -> None:
    for query in (inbox.peek, inbox.list_page):
        with pytest.raises(UnknownAddress, match="there is no entity 'an'"):
            ctx.store.read_sync(query, "an")
    with pytest.raises(UnknownAddress, match="there is no entity 'an'"):
        ctx.store.read_sync(inbox.list_page, "ann", sender="an")
    with pytest.raises(NotFound):
        ctx.store.read_sync(inbox_items.show, "evt_" + "0" * 32)
    with pytest.raises(Invalid):
        ctx.store.read_sync(inbox_items.show, "clm_" + "0" * 32)


def test_a_page_of_all_inboxes_may_end_between_two_recipients_of_one_event(full_ctx: StoreContext) -> None:
    all_rows = [(item.recipient, item.event.id) for item in full_ctx.store.read_sync(inbox.list_page, limit=1_000)]
    for size in (1, 2, 3):
        rows: list[tuple[str, str]] = []
        after, beyond = 0, None
        while page := full_ctx.store.read_sync(inbox.list_page, after=after, after_recipient=beyond, limit=size):
            rows += [(item.recipient, item.event.id) for item in page]
            after, beyond = page[-1].event.arrival, page[-1].recipient
        assert rows == all_rows
