"""A state machine that does everything to inboxes that can be done to them, to a store and to the model alike."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule
from msgspec.structs import replace

from gatepost.core.policy import Policy
from gatepost.core.times import DAY, HOUR, MINUTE, SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, NotFound, Refused, UnknownAddress
from gatepost.inbox import (
    account_actions,
    claim_actions as inbox,
    event as core,
    event_rendering as render,
    expiry_actions as expiry,
    item_actions as inbox_items,
    triage_actions as triage,
)
from gatepost.inbox.account_api import Account
from gatepost.inbox.event import EventType, ItemState, Priority, Push, PushResult
from gatepost.inbox.push import actions as push_actions
from gatepost.worker import retention_actions as retention
from tests.property.inbox_model import ClaimModel, EventModel, ItemModel
from tests.property.triage_machine import NAMES, TEAMS, TriageMachine, names, picks

#: What an item may become, as it is seen from one step to the next.
ALLOWED_STATES = {
    ItemState.PENDING: {ItemState.CLAIMED, ItemState.EXPIRED, ItemState.DISCARDED},
    ItemState.CLAIMED: {ItemState.DELIVERED, ItemState.PENDING, ItemState.DEAD, ItemState.EXPIRED},
    ItemState.DELIVERED: set(),
    ItemState.EXPIRED: {ItemState.PENDING},
    ItemState.DEAD: {ItemState.PENDING, ItemState.DISCARDED},
    ItemState.DISCARDED: {ItemState.PENDING},
}
#: what a person does besides
ALLOWED_FOR_PERSONS = {(ItemState.PENDING, ItemState.DELIVERED), (ItemState.DELIVERED, ItemState.PENDING)}

readers = st.sampled_from(["ann", "ann", "bob", "cem", "dan", "jira"])
keys = st.sampled_from([None, None, "k1", "k2", "k3"])
ttls = st.sampled_from([None, None, None, 30 * SECOND, HOUR, 3 * DAY])
types = st.sampled_from([EventType.EVENT, EventType.MAIL])
pushes = st.builds(
    Push,
    to=st.sampled_from(
        ["ann", "ann", "bob", "husam", "jira", "cem", "dan", "team:red", "team:red", "*", "*", "nobody"]
    ),
    type=types,
    source=st.sampled_from(["ci", "deploy", "cron"]),
    sender=st.sampled_from([None, None, "husam", "ann", "bob"]),
    content=st.sampled_from(["tea", "milk", "x" * 300]),
    priority=st.sampled_from(Priority),
    dedup_key=keys,
    ttl=ttls,
)


class InboxMachine(TriageMachine):
    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.arrivals = 0
        self.last_states: dict[tuple[str, str], ItemState] = {}

    def teardown(self) -> None:
        self.kit.__exit__(None, None, None)

    @initialize()
    def open_the_house(self) -> None:
        for name, kind in (
            ("husam", EntityKind.HUMAN),
            ("jira", EntityKind.SERVICE),
            ("ann", EntityKind.AGENT),
            ("bob", EntityKind.AGENT),
        ):
            self._register(name, kind)

    def _register(self, name: str, kind: EntityKind = EntityKind.AGENT) -> None:
        team = TEAMS.get(name)
        self.store.run_sync(directory.register, EntitySpec(name=name, kind=kind, team=team))
        self.model.register(name, kind, team)

    @precondition(lambda self: len(self.model.members) < len(NAMES))
    @rule(name=st.sampled_from(["cem", "dan"]))
    def register(self, name: str) -> None:
        if name not in self.model.members:
            self._register(name)
        with pytest.raises(Conflict):
            self.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))

    @rule(name=st.sampled_from(["bob", "cem", "dan"]), sure=st.integers(0, 2))
    def retire(self, name: str, sure: int) -> None:
        if name in self.model.members and sure == 0:
            if self.model.members[name].is_live:
                self.store.run_sync(directory.retire, name)
                self.model.members[name].is_live = False
            with pytest.raises(Conflict):
                self.store.run_sync(directory.retire, name)

    @rule(pushes=st.lists(pushes, min_size=1, max_size=5))
    def push(self, pushes: list[Push]) -> None:
        outcomes = self.store.run_sync(push_actions.push_all, pushes)
        assert len(outcomes) == len(pushes)
        # Broadcasts of a list are stored first, which matters for keys; arrivals are in its order.
        for index in sorted(range(len(pushes)), key=lambda index: (pushes[index].to != "*", index)):
            self._check_outcome(pushes[index], outcomes[index], self.arrivals + index + 1)
        self.arrivals += len(pushes)

    @rule(to=readers, priority=st.sampled_from(Priority), count=st.integers(5, 25))
    def flood(self, to: str, priority: Priority, count: int) -> None:
        """One loud source, and two quiet ones behind it."""
        loud_pushes = [Push(to=to, source="loud", content=str(number), priority=priority) for number in range(count)]
        quiet_pushes = [Push(to=to, source="quiet", priority=Priority.FYI) for _ in range(3)]
        self.push([*loud_pushes, *quiet_pushes, Push(to=to, source="desk", sender="husam", priority=Priority.FYI)])

    def _check_outcome(self, push: Push, outcome: object, arrival: int) -> None:
        members = self.model.members
        if push.sender in members and not members[push.sender].is_live:
            assert isinstance(outcome, Refused)
        elif push.to == "nobody" or (push.to in NAMES and push.to not in members):
            assert isinstance(outcome, UnknownAddress)
        elif push.to in members and not members[push.to].is_live:
            assert isinstance(outcome, Refused)
        else:
            assert isinstance(outcome, PushResult), outcome
            event = self._build_event(push, outcome.event, arrival)
            (self._check_broadcast if push.to == "*" else self._check_deliveries)(push, outcome, event)

    def _build_event(self, push: Push, event_id: str, arrival: int) -> EventModel:
        sender = self.model.members[push.sender] if push.sender else None
        core_event = core.Event(
            id=event_id,
            type=push.type,
            source=push.source,
            sender=core.Sender(sender.name, sender.name, sender.kind) if sender else None,
            content=push.content,
            priority=push.priority,
            created_at=self.now,
        )
        source, is_person = (sender.name, sender.kind is EntityKind.HUMAN) if sender else (push.source, False)
        return EventModel(core_event, arrival, source, is_person, len(render.render_event(core_event).encode()))

    def _check_broadcast(self, push: Push, outcome: PushResult, event: EventModel) -> None:
        existing = next((broadcast for broadcast in self.model.broadcasts if broadcast.key == push.dedup_key), None)
        assert outcome.duplicate == (existing is not None)
        assert outcome.event == (existing.event.core_event.id if existing else event.core_event.id)
        if existing is None:
            self.model.broadcast(
                event, push.dedup_key or f"broadcast:{event.core_event.id}", self._compute_expiry(push)
            )

    def _check_deliveries(self, push: Push, outcome: PushResult, event: EventModel) -> None:
        addressed = self.model.list_team("red") if push.to == "team:red" else [self.model.members[push.to]]
        recipients = [
            recipient.name for recipient in addressed if push.to != "team:red" or recipient.name != push.sender
        ]
        assert [recipient.name for recipient in outcome.deliveries] == recipients
        for delivery in outcome.deliveries:
            existing = self.model.find_by_key(delivery.name, push.dedup_key)
            assert (delivery.duplicate, delivery.event) == (
                existing is not None,
                existing.event.core_event.id if existing else event.core_event.id,
            )
            if existing is None:
                self.model.accept(delivery.name, event, push.dedup_key, self._compute_expiry(push))

    def _compute_expiry(self, push: Push) -> int | None:
        return self.now + push.ttl if push.ttl is not None else None

    @rule(
        name=readers,
        limit=st.sampled_from([1, 2, 3, 5, 20]),
        budget=st.sampled_from([600, 1_000, 9_000]),
        kind=st.sampled_from(["drain", "drain", "drain", "run"]),
    )
    def claim(self, name: str, limit: int, budget: int, kind: str) -> None:
        member = self.model.members.get(name)
        if member is None or not member.is_live:
            with pytest.raises((UnknownAddress, Refused)):
                self.store.run_sync(inbox.claim, name, owner="me")
        elif self.model.has_open_run(name):
            with pytest.raises(Conflict):
                self.store.run_sync(inbox.claim, name, owner="me")
        else:
            self._claim_and_check(name, limit, budget, kind)

    def _claim_and_check(self, name: str, limit: int, budget: int, kind: str = "drain") -> ClaimModel | None:
        model = self.model
        batch = self.store.run_sync(inbox.claim, name, owner="me", limit=limit, budget=budget, kind=kind)
        model.lapse(self.now, name)
        model.take_broadcasts(model.members[name], self.now)
        selected_items = model.select(name, limit, budget, self.now)
        ids = {item.event.arrival: item.event.core_event.id for item in model.list_pending(name, self.now)}
        assert [item.event.id for item in batch.items] == [ids[selected.arrival] for selected in selected_items]
        assert list(batch.size_limits) == [selected.size_limit for selected in selected_items]
        assert len(str(batch)) <= budget
        if batch.claim is None:
            return None
        claim_model = ClaimModel(batch.claim, batch.claim.deadline)
        assert claim_model.claim.fence > max((selected.claim.fence for selected in model.list_claims(name)), default=0)
        assert claim_model.deadline == (self.now + Policy().hold if kind == "drain" else None)
        model.claim_items(claim_model, (selected.arrival for selected in selected_items))
        assert batch.deferred_count == len(model.list_pending(name, self.now))
        return claim_model

    def _pick_claim(self, pick: int) -> ClaimModel:
        """A claim that is open, if there is one, and now and then one that is not."""
        open_claims = [claim_model for claim_model in self.model.claims if claim_model.is_open]
        return (
            open_claims[pick % len(open_claims)]
            if open_claims and pick < 12
            else self.model.claims[pick % len(self.model.claims)]
        )

    @precondition(lambda self: self.model.claims)
    @rule(pick=picks, count=st.integers(1, 3), type=st.none() | types)
    def pull(self, pick: int, count: int, type: EventType | None) -> None:
        claim_model = self._pick_claim(pick)
        id, owner, fence = claim_model.claim.id, claim_model.claim.owner, claim_model.claim.fence
        member = self.model.members[claim_model.claim.recipient]
        if not claim_model.is_open or not member.is_live:
            with pytest.raises((Conflict, NotFound, Refused)):
                self.store.run_sync(inbox.pull, id, owner=owner, fence=fence, limit=count, type=type)
            return
        batch = self.store.run_sync(inbox.pull, id, owner=owner, fence=fence, limit=count, type=type)
        self.model.take_broadcasts(member, self.now)
        pending_events = [item.event for item in self.model.list_pending(member.name, self.now)]
        pending_events = [event for event in pending_events if type in (None, event.core_event.type)][:count]
        assert [item.event.id for item in batch.items] == [event.core_event.id for event in pending_events]
        self.model.claim_items(claim_model, (event.arrival for event in pending_events))

    @precondition(lambda self: self.model.claims)
    @rule(pick=picks)
    def ack(self, pick: int) -> None:
        claim_model = self._pick_claim(pick)
        if self._check_can_end(claim_model, inbox.ack):
            count = self.store.run_sync(inbox.ack, claim_model.claim.id, owner="me", fence=claim_model.claim.fence)
            assert count == self.model.ack(claim_model, self.now)

    @precondition(lambda self: self.model.claims)
    @rule(pick=picks, bad=picks)
    def release(self, pick: int, bad: int) -> None:
        claim_model = self._pick_claim(pick)
        if self._check_can_end(claim_model, inbox.release):
            ids = [item.event.core_event.id for item in self.model.list_claimed_items(claim_model)]
            self._release_and_check(claim_model, set(ids[bad : bad + 2]))

    def _release_and_check(self, claim_model: ClaimModel, failed_ids: set[str]) -> None:
        claim = claim_model.claim
        count = self.store.run_sync(
            inbox.release, claim.id, owner="me", fence=claim.fence, failed_events=sorted(failed_ids)
        )
        assert count == self.model.release(claim_model, failed_ids, self.now)

    def _check_can_end(self, claim_model: ClaimModel, verb: Callable[..., int]) -> bool:
        """Whether a claim is open; if not, and to anybody else, the store must say no."""
        with pytest.raises((Conflict, NotFound)):
            self.store.run_sync(
                verb,
                claim_model.claim.id,
                owner="me" if not claim_model.is_open else "you",
                fence=claim_model.claim.fence,
            )
        return claim_model.is_open

    @precondition(lambda self: self.model.items)
    @rule(name=readers)
    def fail_until_dead(self, name: str) -> None:
        """The first item of an inbox fails of its own as often as it may."""
        member = self.model.members.get(name)
        for _ in range(Policy().attempts):
            if member is None or not member.is_live or self.model.has_open_run(name):
                return
            if (claim_model := self._claim_and_check(name, 1, 9_000)) is None:
                return
            self._release_and_check(claim_model, {self.model.list_claimed_items(claim_model)[0].event.core_event.id})
            self.last_states = {}

    @rule(by=st.sampled_from([SECOND, 31 * SECOND, MINUTE, HOUR, DAY, 2 * DAY]))
    def time_passes(self, by: int) -> None:
        self.clock.advance(by)

    @precondition(lambda self: any(moment > self.now + 1 for moment in self.model.moments()))
    @rule(which=st.integers(0, 2), early=st.booleans(), duty=st.sampled_from(["lapse", "expire", "return", "reap"]))
    def time_comes(self, which: int, early: bool, duty: str) -> None:
        """The clock moves to the very moment when something ends, or to just before it, and the janitor comes."""
        future_moments = sorted(moment for moment in self.model.moments() if moment > self.now + 1)
        self.clock.advance(future_moments[min(which, len(future_moments) - 1)] - self.now - early)
        self._run_duty(duty)

    @rule(duty=st.sampled_from(["lapse", "expire", "return", "reap"]), limit=st.sampled_from([1, 2, 500]))
    def janitor(self, duty: str, limit: int) -> None:
        self._run_duty(duty, limit)

    def _run_duty(self, duty: str, limit: int = 500) -> None:
        match duty:
            case "lapse":
                assert self.store.run_sync(expiry.lapse_claims) == self.model.lapse(self.now)
            case "expire":
                assert self.store.run_sync(expiry.expire_items) == self.model.expire(self.now)
            case "return":
                assert self.store.run_sync(triage.return_due) == self.model.return_due(self.now)
            case _:
                while self.store.run_sync(retention.reap, limit=limit):
                    pass
                self.model.reap(self.now)

    @precondition(lambda self: self.model.items)
    @rule(pick=picks, name=st.none() | names)
    def discard(self, pick: int, name: str | None) -> None:
        event_id = self._pick_event(pick)
        if name in self.model.members:
            member = self.model.members[name]
            if any(
                broadcast.event.core_event.id == event_id
                for broadcast in self.model.list_untaken_broadcasts(member, self.now)
            ):
                self.model.take_broadcasts(member, self.now)
        items = self._find_items(inbox_items.discard, event_id, name)
        discarded = [item for item in items if item.get_state(self.now) in (ItemState.PENDING, ItemState.DEAD)]
        if discarded:
            answer = self.store.run_sync(inbox_items.discard, event_id, name)
            assert [item.recipient for item in answer] == [item.recipient for item in discarded]
            for item in discarded:
                item.state, item.ended_at, item.receipt = ItemState.DISCARDED, self.now, None
                item.unhide()
        elif items:
            with pytest.raises(Conflict):
                self.store.run_sync(inbox_items.discard, event_id, name)

    @precondition(lambda self: self.model.items)
    @rule(pick=picks, name=st.none() | names)
    def replay(self, pick: int, name: str | None) -> None:
        event_id = self._pick_event(pick)
        if name in self.model.members and not self.model.members[name].is_live:
            with pytest.raises(Refused):
                self.store.run_sync(inbox_items.replay, event_id, name)
            return
        items = self._find_items(inbox_items.replay, event_id, name)
        replayed = [item for item in items if self.model.members[item.recipient].is_live]
        replayed = [item for item in replayed if item.get_state(self.now) not in (ItemState.PENDING, ItemState.CLAIMED)]
        if replayed:
            answer = self.store.run_sync(inbox_items.replay, event_id, name)
            assert [item.recipient for item in answer] == [item.recipient for item in replayed]
            for item, copy in zip(replayed, answer, strict=True):
                self._check_copy(item, copy)
        elif items:
            with pytest.raises(Conflict):
                self.store.run_sync(inbox_items.replay, event_id, name)

    def _check_copy(self, item: ItemModel, copy: core.Item) -> None:
        if item.state is ItemState.DELIVERED:
            assert copy.event.id != item.event.core_event.id
            assert copy.event.content == item.event.core_event.content
            self.arrivals += 1
            core_event = replace(item.event.core_event, id=copy.event.id, created_at=self.now)
            self.model.accept(
                item.recipient,
                dataclasses.replace(item.event, core_event=core_event, arrival=self.arrivals),
                None,
                None,
            )
        else:
            assert copy.event.id == item.event.core_event.id
            item.state, item.attempts, item.ended_at, item.expires_at = ItemState.PENDING, 0, None, None
            item.receipt = None
            item.unhide()

    def _find_items(self, verb: Callable[..., object], event_id: str, name: str | None) -> list[ItemModel]:
        """The items that are meant; where there are none the verb must say so."""
        items = self.model.find_items(event_id, name)
        if not items:
            with pytest.raises((NotFound, UnknownAddress) if name else (NotFound, Conflict)):
                self.store.run_sync(verb, event_id, name)
        return items

    @precondition(lambda self: self.model.items)
    @rule(pick=picks, name=names)
    def seen(self, pick: int, name: str) -> None:
        if name in self.model.members and self.model.members[name].is_live:
            event_id = self._pick_event(pick)
            unseen_items = [item for item in self.model.find_items(event_id, name) if item.seen_at is None]
            assert self.store.run_sync(inbox_items.mark_seen, name, [event_id]) == len(unseen_items)
            for item in unseen_items:
                item.seen_at = self.now

    @invariant()
    def the_store_agrees_with_the_model(self) -> None:
        """All of it is read in one transaction, which costs half of five."""
        names = list(self.model.members)
        page, waiting, accounts, orphans = self.store.read_sync(
            lambda tx: (
                inbox.list_page(tx, limit=100_000),
                {name: inbox.peek(tx, name, limit=1_000) for name in names},
                account_actions.list_accounts(tx),
                account_actions.find_orphans(tx),
            )
        )
        self._check_items(page)
        self._check_order(waiting)
        self._check_accounts(accounts)
        assert orphans == []

    def _check_items(self, page: Sequence[core.Item]) -> None:
        """Every inbox holds what it should, and no item went from a state to one that it cannot go to."""
        rows = [
            (
                item.recipient,
                item.event.id,
                item.state,
                item.attempts,
                item.event.dedup_key,
                item.event.expires_at,
                item.ended_at,
                item.seen_at,
                item.receipt.kind if item.receipt else None,
                item.hidden_until,
                item.awaits,
            )
            for item in page
        ]
        assert sorted(rows, key=_by_inbox) == sorted(self.model.list_rows(self.now), key=_by_inbox)
        states = {(recipient, event): state for recipient, event, state, *_ in rows}
        for key, state in states.items():
            old_state = self.last_states.get(key, state)
            is_done_by_person = key[0] == "husam" and (old_state, state) in ALLOWED_FOR_PERSONS
            assert old_state is state or state in ALLOWED_STATES[old_state] or is_done_by_person, (
                f"{key} went from {old_state} to {state}"
            )
        self.last_states = states

    def _check_order(self, waiting: Mapping[str, Sequence[core.Item]]) -> None:
        for name, items in waiting.items():
            pending_ids = [item.event.id for item in items]
            assert pending_ids == [event.core_event.id for event in self.model.list_visible(name, self.now)]

    def _check_accounts(self, accounts: Sequence[Account]) -> None:
        """Nothing vanishes."""
        assert [account.name for account in accounts] == list(self.model.members)
        for account, member in zip(accounts, self.model.members.values(), strict=True):
            assert account.is_balanced
            assert account.accepted == member.accepted_count
            assert {state: getattr(account, state) for state in ItemState} == self.model.count_states(account.name)


def _by_inbox(row: tuple[Any, ...]) -> tuple[str, str]:
    """Sort by recipient and event: the same event is in an inbox once."""
    return row[0], row[1]
