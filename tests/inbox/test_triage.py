"""Triage: many items at once, snoozed items, and "done" that is taken back."""

from typing import Any

import pytest

from gatepost.core.signals import Topic
from gatepost.core.times import DAY, HOUR, MINUTE, SECOND
from gatepost.directory.entity import EntityKind
from gatepost.errors import Conflict, Invalid, NotFound, Refused
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import AnswerSpec, Question
from gatepost.inbox import account_actions, claim_actions as inbox, item_actions, triage_actions as triage
from gatepost.inbox.event import EventType, ItemState, Priority, Push, Ref
from gatepost.inbox.item_rows import ItemFilter
from gatepost.inbox.push import actions as push
from gatepost.inbox.triage import check_awaited
from gatepost.inbox.triage_actions import Selection
from gatepost.inbox.wake_actions import find_inboxes_to_wake
from tests.support.store_context import StoreContext, list_contents

ALL = Selection(filters=ItemFilter(hidden=False))


@pytest.fixture(autouse=True)
def mira(ctx: StoreContext) -> None:
    ctx.register("mira", EntityKind.HUMAN)


def push_to_mira(ctx: StoreContext, content: str = "tea", **fields: object) -> str:
    result = ctx.store.run_sync(push.push_event, Push(to="mira", source="ci", content=content, **fields))  # type: ignore[arg-type]
    return result.event


def list_shown(ctx: StoreContext, name: str = "mira") -> list[str]:
    return [item.event.content for item in ctx.store.read_sync(inbox.peek, name, limit=100)]


def snooze(ctx: StoreContext, event: str, name: str = "mira", **terms: object) -> int:
    result, _ = ctx.store.run_sync(triage.snooze, name, Selection(events=[event]), **terms)  # type: ignore[arg-type]
    return result.count


class TestDoneAndUndone:
    def test_all_that_a_filter_lets_through_are_done_in_batches(self, ctx: StoreContext) -> None:
        pushes = [Push(to="mira", source="ci", type=EventType.ALERT, content=str(n)) for n in range(1_200)]
        ctx.store.run_sync(push.push_all, pushes)
        push_to_mira(ctx, "mail", type=EventType.MAIL)
        alerts = Selection(filters=ItemFilter(type=EventType.ALERT, origin="ci"))
        first = ctx.store.run_sync(triage.complete, "mira", alerts)
        second = ctx.store.run_sync(triage.complete, "mira", alerts)
        assert [(result.count, result.has_more) for result in (first, second)] == [(1_000, True), (200, False)]
        assert list_shown(ctx) == ["mail"]
        assert ctx.store.run_sync(triage.undo, "mira", receipt=first.receipt) == 1_000
        assert ctx.is_balanced()

    def test_what_came_after_one_looked_is_left(self, ctx: StoreContext) -> None:
        push_to_mira(ctx, "old")
        looked_at = ctx.clock.now()
        ctx.clock.advance(SECOND)
        push_to_mira(ctx, "new")
        ctx.store.run_sync(triage.complete, "mira", Selection(filters=ItemFilter(until=looked_at + 1)))
        assert list_shown(ctx) == ["new"]

    def test_done_is_undone_for_ten_seconds_and_the_receipt_stays(self, ctx: StoreContext) -> None:
        event = push_to_mira(ctx)
        ctx.store.run_sync(item_actions.mark_done, "mira", event)
        ctx.clock.advance(9 * SECOND)
        assert ctx.store.run_sync(triage.undo, "mira", events=[event]) == 1
        item = ctx.show_item(event, "mira")
        assert (item.state, item.ended_at) == (ItemState.PENDING, None)
        assert item.receipt is not None
        assert (item.receipt.kind, item.receipt.owner) == ("person", "mira")
        ctx.store.run_sync(item_actions.mark_done, "mira", event)
        ctx.clock.advance(10 * SECOND)
        with pytest.raises(Conflict, match="nothing of 'mira' was done in the last 10 s"):
            ctx.store.run_sync(triage.undo, "mira", events=[event])
        assert ctx.show_item(event, "mira").state is ItemState.DELIVERED

    def test_a_question_that_was_answered_does_not_come_back(self, ctx: StoreContext) -> None:
        question = Question(question="Ship?", free_text=True, respondents=("mira",))
        decision = ctx.store.run_sync(decisions.ask, question, by="admin")
        [item] = ctx.store.read_sync(inbox.list_page, "mira")
        ctx.store.run_sync(decisions.answer, decision.id, AnswerSpec(text="yes"), by="mira")
        with pytest.raises(Conflict):
            ctx.store.run_sync(triage.undo, "mira", events=[item.event.id])

    def test_an_agent_is_not_done_with_items(self, ctx: StoreContext) -> None:
        ctx.push_event()
        with pytest.raises(Refused, match="drains its inbox"):
            ctx.store.run_sync(triage.complete, "ann", ALL)

    def test_questions_are_not_discarded_with_others(self, ctx: StoreContext) -> None:
        push_to_mira(ctx, "noise")
        ctx.store.run_sync(decisions.ask, Question(question="Ship?", free_text=True, respondents=("mira",)), by="admin")
        assert ctx.store.run_sync(triage.discard, "mira", ALL).count == 1
        assert len(list_shown(ctx)) == 1
        with pytest.raises(Conflict, match="questions are not discarded with others"):
            ctx.store.run_sync(triage.discard, "mira", ALL)

    @pytest.mark.parametrize("verb", [triage.complete, triage.discard, triage.unsnooze])
    def test_an_event_that_is_not_there_is_named(self, ctx: StoreContext, verb: object) -> None:
        event = ctx.push_event()
        with pytest.raises(NotFound, match=f"there is no event '{event}' for 'mira'"):
            ctx.store.run_sync(verb, "mira", Selection(events=[event]))  # type: ignore[arg-type]


class TestSnoozing:
    def test_nobody_reads_a_snoozed_item_until_its_time(self, ctx: StoreContext) -> None:
        event = ctx.push_event("late", priority=Priority.CRITICAL)
        ctx.push_event("now")
        snooze(ctx, event, "ann", length=HOUR)
        batch = ctx.claim()
        assert (list_contents(batch), batch.deferred_count) == (["now"], 0)
        assert batch.claim is not None
        ctx.ack(batch.claim)
        assert ctx.store.run_sync(inbox.claim, "ann", owner="me", events=[event]).claim is None
        assert list_shown(ctx, "ann") == []
        assert ctx.store.read_sync(find_inboxes_to_wake) == ([], None)
        [account] = ctx.store.read_sync(account_actions.list_accounts, "ann")
        assert (account.pending, account.hidden, account.is_balanced) == (1, 1, True)
        ctx.clock.advance(HOUR)
        assert ctx.store.read_sync(find_inboxes_to_wake) == (["ann"], None)
        assert list_contents(ctx.claim()) == ["late"]

    def test_its_recipient_wakes_when_it_is_due(self, ctx: StoreContext) -> None:
        event = ctx.push_event()
        snooze(ctx, event, "ann", length=MINUTE)
        assert ctx.store.run_sync(triage.return_due) == 0
        ctx.clock.advance(MINUTE)
        ctx.signal_sink.clear()
        assert ctx.store.run_sync(triage.return_due) == 1
        assert [(signal.topic, signal.cause, signal.wakes) for signal in ctx.signal_sink.signals] == [
            (Topic("inbox", "ann"), "return", False),
            (Topic("inbox", "ann"), "event", True),
        ]
        assert ctx.show_item(event).hidden_until is None

    @pytest.mark.parametrize(
        ("awaits", "other"),
        [
            ("from:quinn", {}),
            ("mail", {"type": EventType.ALERT}),
            ("mail:quinn", {"type": EventType.MAIL}),
            ("about:task:7", {"ref": Ref("task", "8")}),
        ],
    )
    def test_the_awaited_event_shows_it(self, ctx: StoreContext, awaits: str, other: dict[str, Any]) -> None:
        ctx.register("quinn", EntityKind.HUMAN)
        event = push_to_mira(ctx, "first")
        snooze(ctx, event, awaits=awaits)
        ctx.push("another", "mira", **other)
        assert list_shown(ctx) == ["another"]
        push_to_mira(ctx, "awaited", sender="quinn", type=EventType.MAIL, ref=Ref("task", "7"))
        assert list_shown(ctx) == ["first", "another", "awaited"]

    def test_an_event_that_never_comes_is_awaited_for_30_days(self, ctx: StoreContext) -> None:
        snooze(ctx, push_to_mira(ctx), awaits="from:quinn")
        ctx.clock.advance(30 * DAY - SECOND)
        assert list_shown(ctx) == []
        ctx.clock.advance(SECOND)
        assert list_shown(ctx) == ["tea"]

    def test_it_is_done_discarded_and_shown_again_by_hand(self, ctx: StoreContext) -> None:
        events = [push_to_mira(ctx, content) for content in ("1", "2", "3")]
        for event in events:
            snooze(ctx, event, length=HOUR)
        ctx.store.run_sync(item_actions.mark_done, "mira", events[0])
        ctx.store.run_sync(item_actions.discard, events[1], "mira")
        ctx.store.run_sync(item_actions.replay, events[1], "mira")
        assert list_shown(ctx) == ["2"]
        assert ctx.store.run_sync(triage.unsnooze, "mira", Selection(events=[events[2]])).count == 1
        assert list_shown(ctx) == ["2", "3"]
        with pytest.raises(Conflict, match="no such item of 'mira' is snoozed"):
            ctx.store.run_sync(triage.unsnooze, "mira", Selection(events=[events[2]]))

    @pytest.mark.parametrize(
        ("terms", "words"),
        [
            ({}, "say until when"),
            ({"until": 1}, "has passed"),
            ({"until": 10**15, "length": HOUR}, "only one of"),
            ({"awaits": "nothing"}, "'nothing' is not an event to wait for"),
        ],
    )
    def test_a_time_that_is_none_changes_nothing(self, ctx: StoreContext, terms: dict[str, Any], words: str) -> None:
        event = push_to_mira(ctx)
        with pytest.raises(Invalid, match=words):
            snooze(ctx, event, **terms)
        assert list_shown(ctx) == ["tea"]

    def test_only_people_wait_for_events(self, ctx: StoreContext) -> None:
        event = ctx.push_event()
        with pytest.raises(Refused, match="until a time only"):
            snooze(ctx, event, "ann", awaits="mail")

    @pytest.mark.parametrize("text", ["from:", "about:task", "mail:", "letter", "about:", "x" * 600])
    def test_a_text_that_names_no_event_is_refused(self, text: str) -> None:
        with pytest.raises(Invalid):
            check_awaited(text)


def test_items_that_are_alike_are_one_group(ctx: StoreContext) -> None:
    for number in range(3):
        push_to_mira(ctx, f"build {number}", type=EventType.ALERT)
    push_to_mira(ctx, "urgent", sender="ann", priority=Priority.HIGH)
    snooze(ctx, push_to_mira(ctx, "hidden", type=EventType.ALERT), length=HOUR)
    groups = ctx.store.read_sync(triage.list_groups, "mira", ItemFilter(state=ItemState.PENDING, hidden=False))
    assert [(group.origin, group.type.value, group.count, group.latest.event.content) for group in groups] == [
        ("ann", "event", 1, "urgent"),
        ("ci", "alert", 3, "build 2"),
    ]
