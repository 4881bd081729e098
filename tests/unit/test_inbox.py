"""How an inbox is read: claims, acks and releases, and what a person does with theirs."""

import pytest

from gatepost.actions import directory, inbox, maintenance, push
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, ItemState, Priority, Push
from gatepost.core.limits import Limits
from gatepost.core.times import HOUR, MINUTE
from gatepost.errors import Conflict, Invalid, NotFound, Refused
from tests.unit.conftest import House, contents


class TestClaiming:
    def test_what_is_claimed_is_shown_once_and_delivered_by_the_ack(self, house: House) -> None:
        event = house.tell()
        batch = house.claim()
        assert contents(batch) == ["tea"]
        assert str(batch) == 'INBOX (1 event, 2026-02-18T09:00:00Z):\n[Event: test] "tea"'
        assert house.claim(owner="somebody else").claim is None
        assert house.show(event).state is ItemState.CLAIMED
        assert batch.claim is not None
        assert house.ack(batch.claim) == 1
        item = house.show(event)
        assert (item.state, item.ended_at) == (ItemState.DELIVERED, house.clock.now())
        assert item.receipt is not None
        assert (item.receipt.kind, item.receipt.owner) == ("drain", "me")
        assert house.balanced()

    def test_an_empty_inbox_is_no_claim(self, house: House) -> None:
        batch = house.claim()
        assert (batch.claim, batch.items, batch.deferred_count) == (None, (), 0)

    def test_the_fence_rises_with_every_claim(self, house: House) -> None:
        house.tell("1")
        house.tell("2")
        first, second = house.take(limit=1), house.take(limit=1)
        assert second.fence > first.fence

    def test_only_the_owner_with_the_fence_ends_a_claim_and_only_once(self, house: House) -> None:
        house.tell()
        claim = house.take()
        for owner, fence in (("you", claim.fence), ("me", claim.fence + 1)):
            with pytest.raises(Conflict, match="belongs to 'me'"):
                house.store.call(inbox.ack, claim.id, owner=owner, fence=fence)
            with pytest.raises(Conflict, match="belongs to 'me'"):
                house.store.call(inbox.release, claim.id, owner=owner, fence=fence)
        house.ack(claim)
        with pytest.raises(Conflict, match="was acked already"):
            house.ack(claim)
        with pytest.raises(Conflict, match="was acked already"):
            house.release(claim)

    def test_a_claim_that_never_was_is_not_found(self, house: House) -> None:
        with pytest.raises(NotFound):
            house.store.call(inbox.ack, "clm_" + "0" * 32, owner="me", fence=1)
        for id in ("nonsense", "evt_" + "0" * 32, "a\x00b", "\ud800"):
            with pytest.raises(Invalid):
                house.store.call(inbox.ack, id, owner="me", fence=1)

    def test_a_claim_belongs_to_its_inbox(self, house: House) -> None:
        house.tell()
        claim = house.take()
        for verb in (inbox.ack, inbox.release):
            with pytest.raises(NotFound, match=f"there is no claim '{claim.id}' in the inbox of 'bob'"):
                house.store.call(verb, claim.id, owner="me", fence=claim.fence, recipient="bob")
        assert house.store.call(inbox.ack, claim.id, owner="me", fence=claim.fence, recipient="ann") == 1

    def test_what_is_released_waits_again_and_rings(self, house: House) -> None:
        house.tell()
        claim = house.take()
        house.bell.clear()
        assert house.release(claim) == 1
        assert [(ring.recipient, ring.cause) for ring in house.bell.signals] == [("ann", "release")]
        assert contents(house.claim()) == ["tea"]

    def test_what_fails_too_often_of_its_own_is_dead(self, house: House) -> None:
        poison, other = house.tell("poison"), house.tell("other")
        for attempt in range(1, 6):
            assert house.release(house.take(), poison) == 2
            assert house.show(poison).attempts == attempt
        assert house.show(poison).state is ItemState.DEAD
        assert (house.show(other).state, house.show(other).attempts) == (ItemState.PENDING, 0)
        assert contents(house.claim()) == ["other"]
        assert house.balanced()

    def test_a_drain_that_takes_too_long_loses_its_items(self, house: House) -> None:
        house.tell()
        slow = house.take()
        house.clock.advance(MINUTE - 1)
        assert house.claim(owner="next").claim is None
        house.clock.advance(1)
        assert contents(house.claim(owner="next")) == ["tea"]
        with pytest.raises(Conflict, match="lapsed"):
            house.ack(slow)

    def test_a_late_ack_counts_until_somebody_has_taken_the_items(self, house: House) -> None:
        house.tell()
        slow = house.take(hold=HOUR)
        house.clock.advance(2 * HOUR)
        assert house.ack(slow) == 1

    def test_the_janitor_takes_back_too(self, house: House) -> None:
        house.tell()
        house.take()
        assert house.store.call(maintenance.lapse_claims) == 0
        house.clock.advance(MINUTE)
        house.bell.clear()
        assert house.store.call(maintenance.lapse_claims) == 1
        assert [(ring.recipient, ring.cause) for ring in house.bell.signals] == [("ann", "lapse")]
        assert house.waiting() == ["tea"]

    def test_a_run_keeps_its_claim_and_the_inbox(self, house: House) -> None:
        house.tell("1")
        run = house.take(owner="run_1", kind="run")
        assert run.deadline is None
        house.tell("2")
        house.clock.advance(1_000 * HOUR)
        assert house.store.call(maintenance.lapse_claims) == 0
        with pytest.raises(Conflict, match="'ann' is thinking"):
            house.claim()
        house.ack(run)
        assert contents(house.claim()) == ["2"]

    @pytest.mark.parametrize(
        "wrong",
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
    def test_what_is_wrong_is_refused(self, house: House, wrong: dict[str, object]) -> None:
        house.tell()
        with pytest.raises(Invalid):
            house.claim(**wrong)  # type: ignore[arg-type]
        assert house.waiting() == ["tea"]

    def test_people_do_not_drain(self, house: House) -> None:
        with pytest.raises(Refused, match="'husam' is a person"):
            house.claim("husam")


class TestBatches:
    def test_a_cap_holds_back_and_says_so(self, house: House) -> None:
        for number in range(5):
            house.tell(str(number))
        batch = house.claim(limit=3)
        assert (contents(batch), batch.deferred_count) == (["0", "1", "2"], 2)
        assert str(batch).startswith("INBOX (3 events, 2 more waiting, ")

    def test_critical_items_all_come_whatever_the_cap(self, house: House) -> None:
        house.tell("late")
        for number in range(30):
            house.tell(str(number), priority=Priority.CRITICAL)
        batch = house.claim(limit=3)
        assert (contents(batch), batch.deferred_count) == ([str(number) for number in range(30)], 1)

    def test_a_loud_source_leaves_room_for_a_quiet_one_behind_it(self, house: House) -> None:
        for number in range(50):
            house.tell(f"loud {number}", source="loud")
        for number in range(2):
            house.tell(f"quiet {number}", source="quiet")
        assert contents(house.claim(limit=4)) == ["loud 0", "loud 1", "quiet 0", "quiet 1"]

    def test_people_go_first(self, house: House) -> None:
        for number in range(10):
            house.tell(f"machine {number}", source=f"m{number}")
        house.tell("from husam", sender="husam")
        assert contents(house.claim(limit=2)) == ["machine 0", "from husam"]

    def test_a_long_item_is_shown_cut_and_can_be_read_whole(self, house: House) -> None:
        event = house.tell("x" * 50_000)
        house.tell("short")
        batch = house.claim(budget=3_000)
        assert len(str(batch)) <= 3_000
        assert f"gatepost inbox show {event}" in str(batch)
        assert contents(batch) == ["x" * 50_000, "short"]

    def test_what_does_not_fit_waits(self, house: House) -> None:
        for number in range(6):
            house.tell(str(number) * 190)
        batch = house.claim(budget=800)
        assert (len(batch.items), batch.deferred_count) == (3, 3)
        assert len(str(batch)) <= 800

    def test_waiting_items_are_counted_up_to_a_thousand(self, house: House) -> None:
        wishes = [Push(to="ann", source="test", content=str(number)) for number in range(1_010)]
        house.store.call(push.push_all, wishes)
        batch = house.claim(limit=5)
        assert batch.deferred_count == 1_000
        assert str(batch).startswith("INBOX (5 events, 1000+ more waiting, ")


class TestPulling:
    def test_more_is_taken_into_an_open_claim(self, house: House) -> None:
        for number in range(4):
            house.tell(str(number), type=EventType.MAIL if number == 3 else EventType.EVENT)
        claim = house.take(owner="run_1", kind="run", limit=1)
        assert contents(house.pull(claim, type=EventType.MAIL)) == ["3"]
        pulled = house.pull(claim, limit=5)
        assert (contents(pulled), pulled.claim, pulled.deferred_count) == (["1", "2"], claim, 0)
        assert house.pull(claim).items == ()
        assert house.ack(claim) == 4
        assert house.balanced()

    def test_a_type_is_found_however_much_lies_before_it(self, house: House) -> None:
        house.store.call(push.push_all, [Push(to="ann", source="test") for _ in range(600)])
        house.tell("the mail", type=EventType.MAIL)
        claim = house.take(owner="run_1", kind="run", limit=1)
        assert contents(house.pull(claim, type=EventType.MAIL)) == ["the mail"]

    def test_a_broadcast_can_be_pulled(self, house: House) -> None:
        house.tell("first")
        claim = house.take(owner="run_1", kind="run")
        house.tell("to all", to="*", priority=Priority.HIGH)
        house.tell("to me")
        assert contents(house.pull(claim, limit=2)) == ["to all", "to me"]
        assert house.ack(claim) == 3
        assert house.balanced()

    def test_nothing_is_taken_into_a_claim_that_has_ended_or_is_not_ones_own(self, house: House) -> None:
        house.tell("1")
        house.tell("2")
        claim = house.take(limit=1)
        with pytest.raises(Conflict):
            house.store.call(inbox.pull, claim.id, owner="you", fence=claim.fence)
        house.ack(claim)
        with pytest.raises(Conflict):
            house.pull(claim)
        assert house.waiting() == ["2"]


class TestPeople:
    def test_an_item_waits_until_it_is_done(self, house: House) -> None:
        event = house.tell(to="husam")
        house.clock.advance("3 days")
        assert house.waiting("husam") == ["tea"]
        item = house.store.call(inbox.mark_done, "husam", event)
        assert (item.state, item.ended_at) == (ItemState.DELIVERED, house.clock.now())
        assert item.receipt is not None
        assert (item.receipt.kind, item.receipt.owner) == ("person", "husam")
        with pytest.raises(Conflict, match="is delivered for 'husam'"):
            house.store.call(inbox.mark_done, "husam", event)
        assert house.balanced()

    def test_seen_is_recorded_apart(self, house: House) -> None:
        first, second = house.tell("1", to="husam"), house.tell("2", to="husam")
        assert house.store.call(inbox.mark_seen, "husam", [first]) == 1
        house.clock.advance(HOUR)
        assert house.store.call(inbox.mark_seen, "husam", [first, second]) == 1
        assert house.show(first, "husam").seen_at == house.clock.now() - HOUR
        assert house.waiting("husam") == ["1", "2"]

    def test_only_people_are_done(self, house: House) -> None:
        with pytest.raises(Refused, match="'ann' is not a person"):
            house.store.call(inbox.mark_done, "ann", house.tell())

    def test_what_is_not_theirs_is_not_found(self, house: House) -> None:
        with pytest.raises(NotFound):
            house.store.call(inbox.mark_done, "husam", house.tell())

    def test_what_has_expired_is_not_done(self, house: House) -> None:
        event = house.tell(to="husam", ttl=HOUR)
        house.clock.advance(HOUR)
        with pytest.raises(Conflict, match="is expired for 'husam'"):
            house.store.call(inbox.mark_done, "husam", event)


class TestExpiry:
    def test_what_is_past_its_time_is_never_delivered(self, house: House) -> None:
        event = house.tell(ttl=HOUR)
        house.clock.advance(HOUR - 1)
        assert house.waiting() == ["tea"]
        house.clock.advance(1)
        assert (house.waiting(), house.claim().claim) == ([], None)
        assert house.show(event).state is ItemState.EXPIRED
        assert house.listed(state=ItemState.EXPIRED) == ["tea"]
        assert house.listed(state=ItemState.PENDING) == []
        assert house.store.call(maintenance.expire_items) == 1
        assert house.store.call(maintenance.expire_items) == 0
        assert house.show(event).state is ItemState.EXPIRED
        assert house.balanced()

    def test_what_expires_while_it_is_read_is_still_delivered_by_the_ack(self, house: House) -> None:
        house.tell(ttl=MINUTE // 2)
        claim = house.take()
        house.clock.advance(MINUTE // 2)
        assert house.store.call(maintenance.expire_items) == 0
        assert house.ack(claim) == 1

    def test_what_is_reaped_is_in_the_accounts(self, house: House) -> None:
        gone, kept = house.tell("gone"), house.tell("kept", ttl=1_000 * HOUR)
        house.ack(house.take(limit=1))
        house.clock.advance(Limits().remember)
        assert house.store.call(maintenance.reap) > 0
        with pytest.raises(NotFound):
            house.show(gone)
        assert house.show(kept).state is ItemState.PENDING
        [account] = house.store.query(maintenance.list_accounts, "ann")
        assert (account.accepted, account.delivered, account.pending) == (2, 1, 1)
        assert account.is_balanced


class TestAgain:
    def test_what_is_dead_expired_or_discarded_waits_again_from_the_start(self, house: House) -> None:
        dead, late, away = house.tell("dead"), house.tell("late", ttl=HOUR), house.tell("away")
        for _ in range(5):
            house.release(house.take(), dead)
        house.store.call(inbox.discard, away)
        house.clock.advance(HOUR)
        house.bell.clear()
        for event in (dead, late, away):
            [item] = house.store.call(inbox.replay, event)
            assert (item.state, item.attempts, item.ended_at, item.event.expires_at) == (
                ItemState.PENDING,
                0,
                None,
                None,
            )
            assert house.show(event) == item
        rung = [(ring.cause, ring.event and ring.event.expires_at) for ring in house.bell.signals]
        assert rung == [("replay", None)] * 3
        assert house.waiting() == ["dead", "late", "away"]
        assert house.balanced()

    def test_what_was_delivered_is_made_anew(self, house: House) -> None:
        event = house.tell(sender="bob", key="k", data={"x": 1}, subject="s")
        house.ack(house.take())
        [again] = house.store.call(inbox.replay, event)
        assert again.event.id != event
        assert (again.event.content, again.event.data, again.event.subject) == ("tea", {"x": 1}, "s")
        assert house.show(event).state is ItemState.DELIVERED
        assert house.waiting() == ["tea"]
        assert house.balanced()

    def test_also_when_its_sender_has_retired(self, house: House) -> None:
        event = house.tell(sender="bob")
        house.ack(house.take())
        house.store.call(directory.retire, "bob")
        [again] = house.store.call(inbox.replay, event)
        assert again.event.sender is not None
        assert again.event.sender.name == "bob"

    @pytest.mark.parametrize("state", [ItemState.DISCARDED, ItemState.DELIVERED])
    def test_the_retired_get_nothing_again_and_block_nobody(self, house: House, state: ItemState) -> None:
        event = house.tell(to="team:red")
        if state is ItemState.DISCARDED:
            house.store.call(inbox.discard, event)
        else:
            house.ack(house.take("ann"))
            house.ack(house.take("bob"))
        house.store.call(directory.retire, "bob")
        assert [item.recipient for item in house.store.call(inbox.replay, event)] == ["ann"]
        assert house.show(event, "bob").state is state
        with pytest.raises(Refused):
            house.store.call(inbox.replay, event, "bob")

    def test_what_waits_is_not_replayed(self, house: House) -> None:
        event = house.tell()
        with pytest.raises(Conflict, match="it is pending for 'ann'"):
            house.store.call(inbox.replay, event)
        house.take()
        with pytest.raises(Conflict, match="it is claimed for 'ann'"):
            house.store.call(inbox.replay, event)

    def test_only_what_is_pending_or_dead_is_discarded(self, house: House) -> None:
        event = house.tell()
        claim = house.take()
        with pytest.raises(Conflict, match="it is claimed"):
            house.store.call(inbox.discard, event)
        house.ack(claim)
        with pytest.raises(Conflict, match="it is delivered"):
            house.store.call(inbox.discard, event)
        late = house.tell("late", ttl=HOUR)
        house.clock.advance(HOUR)
        with pytest.raises(Conflict, match="it is expired"):
            house.store.call(inbox.discard, late)

    def test_one_of_several_recipients_can_be_named(self, house: House) -> None:
        event = house.tell(to="team:red")
        assert [item.recipient for item in house.store.call(inbox.discard, event, "ann")] == ["ann"]
        assert (house.waiting("ann"), house.waiting("bob")) == ([], ["tea"])
        assert [item.recipient for item in house.store.call(inbox.replay, event, "ann")] == ["ann"]
        with pytest.raises(NotFound, match="for 'husam'"):
            house.store.call(inbox.discard, event, "husam")

    def test_an_unknown_event_is_not_found(self, house: House) -> None:
        for verb in (inbox.discard, inbox.replay):
            with pytest.raises(NotFound):
                house.store.call(verb, "evt_" + "0" * 32)
            with pytest.raises(Invalid):
                house.store.call(verb, "nonsense")


def test_a_service_drains_like_an_agent(house: House) -> None:
    house.register("jira", EntityKind.SERVICE)
    house.tell(to="jira")
    assert contents(house.claim("jira")) == ["tea"]
