"""How an inbox is read: claims, acks and releases, and what a person does with theirs."""

import pytest

from gatepost.core.policy import Policy
from gatepost.core.times import HOUR, MINUTE
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import Conflict, Invalid, NotFound, Refused
from gatepost.inbox import (
    account_actions,
    claim_actions as inbox,
    expiry_actions as expiry,
    item_actions as inbox_items,
)
from gatepost.inbox.event import EventType, ItemState, Priority, Push
from gatepost.inbox.push import actions as push
from gatepost.worker import retention_actions as retention
from tests.support.store_context import StoreContext, list_contents


class TestClaiming:
    def test_what_is_claimed_is_shown_once_and_delivered_by_the_ack(self, ctx: StoreContext) -> None:
        event = ctx.push_event()
        batch = ctx.claim()
        assert list_contents(batch) == ["tea"]
        assert str(batch) == 'INBOX (1 event, 2026-02-18T09:00:00Z):\n[Event: test] "tea"'
        assert ctx.claim(owner="somebody else").claim is None
        assert ctx.show_item(event).state is ItemState.CLAIMED
        assert batch.claim is not None
        assert ctx.ack(batch.claim) == 1
        item = ctx.show_item(event)
        assert (item.state, item.ended_at) == (ItemState.DELIVERED, ctx.clock.now())
        assert item.receipt is not None
        assert (item.receipt.kind, item.receipt.owner) == ("drain", "me")
        assert ctx.is_balanced()

    def test_an_empty_inbox_is_no_claim(self, ctx: StoreContext) -> None:
        batch = ctx.claim()
        assert (batch.claim, batch.items, batch.deferred_count) == (None, (), 0)

    def test_the_fence_rises_with_every_claim(self, ctx: StoreContext) -> None:
        ctx.push_event("1")
        ctx.push_event("2")
        first, second = ctx.take_claim(limit=1), ctx.take_claim(limit=1)
        assert second.fence > first.fence

    def test_only_the_owner_with_the_fence_ends_a_claim_and_only_once(self, ctx: StoreContext) -> None:
        ctx.push_event()
        claim = ctx.take_claim()
        for owner, fence in (("you", claim.fence), ("me", claim.fence + 1)):
            with pytest.raises(Conflict, match="belongs to 'me'"):
                ctx.store.run_sync(inbox.ack, claim.id, owner=owner, fence=fence)
            with pytest.raises(Conflict, match="belongs to 'me'"):
                ctx.store.run_sync(inbox.release, claim.id, owner=owner, fence=fence)
        ctx.ack(claim)
        with pytest.raises(Conflict, match="was acked already"):
            ctx.ack(claim)
        with pytest.raises(Conflict, match="was acked already"):
            ctx.release(claim)

    def test_a_claim_that_never_was_is_not_found(self, ctx: StoreContext) -> None:
        with pytest.raises(NotFound):
            ctx.store.run_sync(inbox.ack, "clm_" + "0" * 32, owner="me", fence=1)
        for id in ("nonsense", "evt_" + "0" * 32, "a\x00b", "\ud800"):
            with pytest.raises(Invalid):
                ctx.store.run_sync(inbox.ack, id, owner="me", fence=1)

    def test_a_claim_belongs_to_its_inbox(self, ctx: StoreContext) -> None:
        ctx.push_event()
        claim = ctx.take_claim()
        for verb in (inbox.ack, inbox.release):
            with pytest.raises(NotFound, match=f"there is no claim '{claim.id}' in the inbox of 'bob'"):
                ctx.store.run_sync(verb, claim.id, owner="me", fence=claim.fence, recipient="bob")
        assert ctx.store.run_sync(inbox.ack, claim.id, owner="me", fence=claim.fence, recipient="ann") == 1

    def test_what_is_released_waits_again_and_is_signalled(self, ctx: StoreContext) -> None:
        ctx.push_event()
        claim = ctx.take_claim()
        ctx.signal_sink.clear()
        assert ctx.release(claim) == 1
        assert [(signal.topic.recipient, signal.cause) for signal in ctx.signal_sink.signals] == [("ann", "release")]
        assert list_contents(ctx.claim()) == ["tea"]

    def test_what_fails_too_often_of_its_own_is_dead(self, ctx: StoreContext) -> None:
        poison, other = ctx.push_event("poison"), ctx.push_event("other")
        for attempt in range(1, 6):
            assert ctx.release(ctx.take_claim(), poison) == 2
            assert ctx.show_item(poison).attempts == attempt
        assert ctx.show_item(poison).state is ItemState.DEAD
        assert (ctx.show_item(other).state, ctx.show_item(other).attempts) == (ItemState.PENDING, 0)
        assert list_contents(ctx.claim()) == ["other"]
        assert ctx.is_balanced()

    def test_a_drain_that_takes_too_long_loses_its_items(self, ctx: StoreContext) -> None:
        ctx.push_event()
        slow = ctx.take_claim()
        ctx.clock.advance(MINUTE - 1)
        assert ctx.claim(owner="next").claim is None
        ctx.clock.advance(1)
        assert list_contents(ctx.claim(owner="next")) == ["tea"]
        with pytest.raises(Conflict, match="lapsed"):
            ctx.ack(slow)

    def test_a_late_ack_counts_until_somebody_has_taken_the_items(self, ctx: StoreContext) -> None:
        ctx.push_event()
        slow = ctx.take_claim(hold=HOUR)
        ctx.clock.advance(2 * HOUR)
        assert ctx.ack(slow) == 1

    def test_the_janitor_takes_back_too(self, ctx: StoreContext) -> None:
        ctx.push_event()
        ctx.take_claim()
        assert ctx.store.run_sync(expiry.lapse_claims) == 0
        ctx.clock.advance(MINUTE)
        ctx.signal_sink.clear()
        assert ctx.store.run_sync(expiry.lapse_claims) == 1
        assert [(signal.topic.recipient, signal.cause) for signal in ctx.signal_sink.signals] == [("ann", "lapse")]
        assert ctx.list_waiting() == ["tea"]

    def test_a_run_keeps_its_claim_and_the_inbox(self, ctx: StoreContext) -> None:
        ctx.push_event("1")
        run = ctx.take_claim(owner="run_1", kind="run")
        assert run.deadline is None
        ctx.push_event("2")
        ctx.clock.advance(1_000 * HOUR)
        assert ctx.store.run_sync(expiry.lapse_claims) == 0
        with pytest.raises(Conflict, match="'ann' is thinking"):
            ctx.claim()
        ctx.ack(run)
        assert list_contents(ctx.claim()) == ["2"]

    @pytest.mark.parametrize(
        "options",
        [
            {"owner": ""},
            {"owner": "x" * 201},
            {"owner": "a\x00b"},
            {"owner": "\ud800"},
            {"limit": 0},
            {"limit": 1_001},
            {"budget": 599},
            {"hold": -1},
            {"kind": "person"},
            {"kind": "nonsense"},
        ],
    )
    def test_what_is_wrong_is_refused(self, ctx: StoreContext, options: dict[str, object]) -> None:
        ctx.push_event()
        with pytest.raises(Invalid):
            ctx.claim(**options)  # type: ignore[arg-type]
        assert ctx.list_waiting() == ["tea"]

    def test_people_do_not_drain(self, ctx: StoreContext) -> None:
        with pytest.raises(Refused, match="'husam' is a person"):
            ctx.claim("husam")


class TestBatches:
    def test_a_cap_holds_back_and_says_so(self, ctx: StoreContext) -> None:
        for number in range(5):
            ctx.push_event(str(number))
        batch = ctx.claim(limit=3)
        assert (list_contents(batch), batch.deferred_count) == (["0", "1", "2"], 2)
        assert str(batch).startswith("INBOX (3 events, 2 more waiting, ")

    def test_critical_items_all_come_whatever_the_cap(self, ctx: StoreContext) -> None:
        ctx.push_event("late")
        for number in range(30):
            ctx.push_event(str(number), priority=Priority.CRITICAL)
        batch = ctx.claim(limit=3)
        assert (list_contents(batch), batch.deferred_count) == ([str(number) for number in range(30)], 1)

    def test_a_loud_source_leaves_room_for_a_quiet_one_behind_it(self, ctx: StoreContext) -> None:
        for number in range(50):
            ctx.push_event(f"loud {number}", source="loud")
        for number in range(2):
            ctx.push_event(f"quiet {number}", source="quiet")
        assert list_contents(ctx.claim(limit=4)) == ["loud 0", "loud 1", "quiet 0", "quiet 1"]

    def test_people_go_first(self, ctx: StoreContext) -> None:
        for number in range(10):
            ctx.push_event(f"machine {number}", source=f"m{number}")
        ctx.push_event("from husam", sender="husam")
        assert list_contents(ctx.claim(limit=2)) == ["machine 0", "from husam"]

    def test_a_long_item_is_shown_cut_and_can_be_read_whole(self, ctx: StoreContext) -> None:
        event = ctx.push_event("x" * 50_000)
        ctx.push_event("short")
        batch = ctx.claim(budget=3_000)
        assert len(str(batch)) <= 3_000
        assert f"gatepost inbox show {event}" in str(batch)
        assert list_contents(batch) == ["x" * 50_000, "short"]

    def test_what_does_not_fit_waits(self, ctx: StoreContext) -> None:
        for number in range(6):
            ctx.push_event(str(number) * 190)
        batch = ctx.claim(budget=800)
        assert (len(batch.items), batch.deferred_count) == (3, 3)
        assert len(str(batch)) <= 800

    def test_waiting_items_are_counted_up_to_a_thousand(self, ctx: StoreContext) -> None:
        pushes = [Push(to="ann", source="test", content=str(number)) for number in range(1_010)]
        ctx.store.run_sync(push.push_all, pushes)
        batch = ctx.claim(limit=5)
        assert batch.deferred_count == 1_000
        assert str(batch).startswith("INBOX (5 events, 1000+ more waiting, ")


class TestPulling:
    def test_more_is_taken_into_an_open_claim(self, ctx: StoreContext) -> None:
        for number in range(4):
            ctx.push_event(str(number), type=EventType.MAIL if number == 3 else EventType.EVENT)
        claim = ctx.take_claim(owner="run_1", kind="run", limit=1)
        assert list_contents(ctx.pull(claim, type=EventType.MAIL)) == ["3"]
        pulled = ctx.pull(claim, limit=5)
        assert (list_contents(pulled), pulled.claim, pulled.deferred_count) == (["1", "2"], claim, 0)
        assert ctx.pull(claim).items == ()
        assert ctx.ack(claim) == 4
        assert ctx.is_balanced()

    def test_a_type_is_found_however_much_lies_before_it(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(push.push_all, [Push(to="ann", source="test") for _ in range(600)])
        ctx.push_event("the mail", type=EventType.MAIL)
        claim = ctx.take_claim(owner="run_1", kind="run", limit=1)
        assert list_contents(ctx.pull(claim, type=EventType.MAIL)) == ["the mail"]

    def test_a_broadcast_can_be_pulled(self, ctx: StoreContext) -> None:
        ctx.push_event("first")
        claim = ctx.take_claim(owner="run_1", kind="run")
        ctx.push_event("to all", to="*", priority=Priority.HIGH)
        ctx.push_event("to me")
        assert list_contents(ctx.pull(claim, limit=2)) == ["to all", "to me"]
        assert ctx.ack(claim) == 3
        assert ctx.is_balanced()

    def test_nothing_is_taken_into_a_claim_that_has_ended_or_is_not_ones_own(self, ctx: StoreContext) -> None:
        ctx.push_event("1")
        ctx.push_event("2")
        claim = ctx.take_claim(limit=1)
        with pytest.raises(Conflict):
            ctx.store.run_sync(inbox.pull, claim.id, owner="you", fence=claim.fence)
        ctx.ack(claim)
        with pytest.raises(Conflict):
            ctx.pull(claim)
        assert ctx.list_waiting() == ["2"]


class TestPeople:
    def test_an_item_waits_until_it_is_done(self, ctx: StoreContext) -> None:
        event = ctx.push_event(to="husam")
        ctx.clock.advance("3 days")
        assert ctx.list_waiting("husam") == ["tea"]
        item = ctx.store.run_sync(inbox_items.mark_done, "husam", event)
        assert (item.state, item.ended_at) == (ItemState.DELIVERED, ctx.clock.now())
        assert item.receipt is not None
        assert (item.receipt.kind, item.receipt.owner) == ("person", "husam")
        with pytest.raises(Conflict, match="is delivered for 'husam'"):
            ctx.store.run_sync(inbox_items.mark_done, "husam", event)
        assert ctx.is_balanced()

    def test_seen_is_recorded_apart(self, ctx: StoreContext) -> None:
        first, second = ctx.push_event("1", to="husam"), ctx.push_event("2", to="husam")
        assert ctx.store.run_sync(inbox_items.mark_seen, "husam", [first]) == 1
        ctx.clock.advance(HOUR)
        assert ctx.store.run_sync(inbox_items.mark_seen, "husam", [first, second]) == 1
        assert ctx.show_item(first, "husam").seen_at == ctx.clock.now() - HOUR
        assert ctx.list_waiting("husam") == ["1", "2"]

    def test_only_people_are_done(self, ctx: StoreContext) -> None:
        with pytest.raises(Refused, match="'ann' is not a person"):
            ctx.store.run_sync(inbox_items.mark_done, "ann", ctx.push_event())

    def test_what_is_not_theirs_is_not_found(self, ctx: StoreContext) -> None:
        with pytest.raises(NotFound):
            ctx.store.run_sync(inbox_items.mark_done, "husam", ctx.push_event())

    def test_what_has_expired_is_not_done(self, ctx: StoreContext) -> None:
        event = ctx.push_event(to="husam", ttl=HOUR)
        ctx.clock.advance(HOUR)
        with pytest.raises(Conflict, match="is expired for 'husam'"):
            ctx.store.run_sync(inbox_items.mark_done, "husam", event)


class TestExpiry:
    def test_what_is_past_its_time_is_never_delivered(self, ctx: StoreContext) -> None:
        event = ctx.push_event(ttl=HOUR)
        ctx.clock.advance(HOUR - 1)
        assert ctx.list_waiting() == ["tea"]
        ctx.clock.advance(1)
        assert (ctx.list_waiting(), ctx.claim().claim) == ([], None)
        assert ctx.show_item(event).state is ItemState.EXPIRED
        assert ctx.list_inbox(state=ItemState.EXPIRED) == ["tea"]
        assert ctx.list_inbox(state=ItemState.PENDING) == []
        assert ctx.store.run_sync(expiry.expire_items) == 1
        assert ctx.store.run_sync(expiry.expire_items) == 0
        assert ctx.show_item(event).state is ItemState.EXPIRED
        assert ctx.is_balanced()

    def test_what_expires_while_it_is_read_is_still_delivered_by_the_ack(self, ctx: StoreContext) -> None:
        ctx.push_event(ttl=MINUTE // 2)
        claim = ctx.take_claim()
        ctx.clock.advance(MINUTE // 2)
        assert ctx.store.run_sync(expiry.expire_items) == 0
        assert ctx.ack(claim) == 1

    def test_what_is_reaped_is_in_the_accounts(self, ctx: StoreContext) -> None:
        reaped_event, pending_event = ctx.push_event("gone"), ctx.push_event("kept", ttl=1_000 * HOUR)
        ctx.ack(ctx.take_claim(limit=1))
        ctx.clock.advance(Policy().remember)
        assert ctx.store.run_sync(retention.reap) > 0
        with pytest.raises(NotFound):
            ctx.show_item(reaped_event)
        assert ctx.show_item(pending_event).state is ItemState.PENDING
        [account] = ctx.store.read_sync(account_actions.list_accounts, "ann")
        assert (account.accepted, account.delivered, account.pending) == (2, 1, 1)
        assert account.is_balanced


class TestAgain:
    def test_what_is_dead_expired_or_discarded_waits_again_from_the_start(self, ctx: StoreContext) -> None:
        dead, late, away = ctx.push_event("dead"), ctx.push_event("late", ttl=HOUR), ctx.push_event("away")
        for _ in range(5):
            ctx.release(ctx.take_claim(), dead)
        ctx.store.run_sync(inbox_items.discard, away)
        ctx.clock.advance(HOUR)
        ctx.signal_sink.clear()
        for event in (dead, late, away):
            [item] = ctx.store.run_sync(inbox_items.replay, event)
            assert (item.state, item.attempts, item.ended_at, item.event.expires_at) == (
                ItemState.PENDING,
                0,
                None,
                None,
            )
            assert ctx.show_item(event) == item
        causes = [(signal.cause, signal.event and signal.event.expires_at) for signal in ctx.signal_sink.signals]
        assert causes == [("replay", None)] * 3
        assert ctx.list_waiting() == ["dead", "late", "away"]
        assert ctx.is_balanced()

    def test_what_was_delivered_is_made_anew(self, ctx: StoreContext) -> None:
        event = ctx.push_event(sender="bob", dedup_key="k", data={"x": 1}, subject="s")
        ctx.ack(ctx.take_claim())
        [copy] = ctx.store.run_sync(inbox_items.replay, event)
        assert copy.event.id != event
        assert (copy.event.content, copy.event.data, copy.event.subject) == ("tea", {"x": 1}, "s")
        assert ctx.show_item(event).state is ItemState.DELIVERED
        assert ctx.list_waiting() == ["tea"]
        assert ctx.is_balanced()

    def test_also_when_its_sender_has_retired(self, ctx: StoreContext) -> None:
        event = ctx.push_event(sender="bob")
        ctx.ack(ctx.take_claim())
        ctx.store.run_sync(directory.retire, "bob")
        [copy] = ctx.store.run_sync(inbox_items.replay, event)
        assert copy.event.sender is not None
        assert copy.event.sender.name == "bob"

    @pytest.mark.parametrize("state", [ItemState.DISCARDED, ItemState.DELIVERED])
    def test_the_retired_get_nothing_again_and_block_nobody(self, ctx: StoreContext, state: ItemState) -> None:
        event = ctx.push_event(to="team:red")
        if state is ItemState.DISCARDED:
            ctx.store.run_sync(inbox_items.discard, event)
        else:
            ctx.ack(ctx.take_claim("ann"))
            ctx.ack(ctx.take_claim("bob"))
        ctx.store.run_sync(directory.retire, "bob")
        assert [item.recipient for item in ctx.store.run_sync(inbox_items.replay, event)] == ["ann"]
        assert ctx.show_item(event, "bob").state is state
        with pytest.raises(Refused):
            ctx.store.run_sync(inbox_items.replay, event, "bob")

    def test_what_waits_is_not_replayed(self, ctx: StoreContext) -> None:
        event = ctx.push_event()
        with pytest.raises(Conflict, match="it is pending for 'ann'"):
            ctx.store.run_sync(inbox_items.replay, event)
        ctx.take_claim()
        with pytest.raises(Conflict, match="it is claimed for 'ann'"):
            ctx.store.run_sync(inbox_items.replay, event)

    def test_only_what_is_pending_or_dead_is_discarded(self, ctx: StoreContext) -> None:
        event = ctx.push_event()
        claim = ctx.take_claim()
        with pytest.raises(Conflict, match="it is claimed"):
            ctx.store.run_sync(inbox_items.discard, event)
        ctx.ack(claim)
        with pytest.raises(Conflict, match="it is delivered"):
            ctx.store.run_sync(inbox_items.discard, event)
        late = ctx.push_event("late", ttl=HOUR)
        ctx.clock.advance(HOUR)
        with pytest.raises(Conflict, match="it is expired"):
            ctx.store.run_sync(inbox_items.discard, late)

    def test_one_of_several_recipients_can_be_named(self, ctx: StoreContext) -> None:
        event = ctx.push_event(to="team:red")
        assert [item.recipient for item in ctx.store.run_sync(inbox_items.discard, event, "ann")] == ["ann"]
        assert (ctx.list_waiting("ann"), ctx.list_waiting("bob")) == ([], ["tea"])
        assert [item.recipient for item in ctx.store.run_sync(inbox_items.replay, event, "ann")] == ["ann"]
        with pytest.raises(NotFound, match="for 'husam'"):
            ctx.store.run_sync(inbox_items.discard, event, "husam")

    def test_an_unknown_event_is_not_found(self, ctx: StoreContext) -> None:
        for verb in (inbox_items.discard, inbox_items.replay):
            with pytest.raises(NotFound):
                ctx.store.run_sync(verb, "evt_" + "0" * 32)
            with pytest.raises(Invalid):
                ctx.store.run_sync(verb, "nonsense")


def test_a_service_drains_like_an_agent(ctx: StoreContext) -> None:
    ctx.register("jira", EntityKind.SERVICE)
    ctx.push_event(to="jira")
    assert list_contents(ctx.claim("jira")) == ["tea"]
