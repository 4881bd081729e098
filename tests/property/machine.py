"""A state machine that does everything to inboxes that can be done to them, to a store and to the model alike."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gatepost.actions import directory, inbox, maintenance, push
from gatepost.actions.directory import EntitySpec
from gatepost.core import event as core
from gatepost.core import render
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, ItemState, Priority, Push, PushResult
from gatepost.core.limits import Limits
from gatepost.core.times import DAY, HOUR, MINUTE, SECOND
from gatepost.errors import Conflict, NotFound, Refused, UnknownAddress
from gatepost.tables import checks
from gatepost.testing import FakeClock, Kit
from tests.property.model import Event, Held, Item, Model

#: Ann and Bob are there from the start, the others come by and by. Ann stays.
TEAMS = {"ann": "red", "bob": "red", "cem": None, "dan": "red"}
ANYBODY = [*TEAMS, "husam", "jira"]
#: What an item may become, as it is seen from one step to the next.
STEPS = {
    ItemState.PENDING: {ItemState.CLAIMED, ItemState.EXPIRED, ItemState.DISCARDED},
    ItemState.CLAIMED: {ItemState.DELIVERED, ItemState.PENDING, ItemState.DEAD, ItemState.EXPIRED},
    ItemState.DELIVERED: set(),
    ItemState.EXPIRED: {ItemState.PENDING},
    ItemState.DEAD: {ItemState.PENDING, ItemState.DISCARDED},
    ItemState.DISCARDED: {ItemState.PENDING},
}

picks = st.integers(0, 15)
names = st.sampled_from(ANYBODY)
readers = st.sampled_from(["ann", "ann", "bob", "cem", "dan", "jira"])
keys = st.sampled_from([None, None, "k1", "k2", "k3"])
ttls = st.sampled_from([None, None, None, 30 * SECOND, HOUR, 3 * DAY])
types = st.sampled_from([EventType.EVENT, EventType.MAIL])
wishes = st.builds(
    Push,
    to=st.sampled_from(
        ["ann", "ann", "bob", "husam", "jira", "cem", "dan", "team:red", "team:red", "*", "*", "nobody"]
    ),
    type=types,
    source=st.sampled_from(["ci", "deploy", "cron"]),
    sender=st.sampled_from([None, None, "husam", "ann", "bob"]),
    content=st.sampled_from(["tea", "milk", "x" * 300]),
    priority=st.sampled_from(Priority),
    key=keys,
    ttl=ttls,
)


class InboxMachine(RuleBasedStateMachine):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.kit = Kit(url, clock=self.clock)
        self.store = self.kit.store
        self.model = Model()
        self.arrivals = 0
        self.states: dict[tuple[str, str], ItemState] = {}

    def teardown(self) -> None:
        self.kit.__exit__(None, None, None)

    @property
    def now(self) -> int:
        return self.clock.now()

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
        self.store.call(directory.register, EntitySpec(name=name, kind=kind, team=team))
        self.model.register(name, kind, team)

    @precondition(lambda self: len(self.model.members) < len(ANYBODY))
    @rule(name=st.sampled_from(["cem", "dan"]))
    def register(self, name: str) -> None:
        if name not in self.model.members:
            self._register(name)
        with pytest.raises(Conflict):
            self.store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))

    @rule(name=st.sampled_from(["bob", "cem", "dan"]), sure=st.integers(0, 2))
    def retire(self, name: str, sure: int) -> None:
        if name in self.model.members and sure == 0:
            if self.model.members[name].live:
                self.store.call(directory.retire, name)
                self.model.members[name].live = False
            with pytest.raises(Conflict):
                self.store.call(directory.retire, name)

    @rule(wishes=st.lists(wishes, min_size=1, max_size=5))
    def push(self, wishes: list[Push]) -> None:
        outcomes = self.store.call(push.push_all, wishes)
        assert len(outcomes) == len(wishes)
        # Broadcasts of a list are stored first, which matters for keys; arrivals are in its order.
        for place in sorted(range(len(wishes)), key=lambda place: (wishes[place].to != "*", place)):
            self._compare(wishes[place], outcomes[place], self.arrivals + place + 1)
        self.arrivals += len(wishes)

    @rule(to=readers, priority=st.sampled_from(Priority), count=st.integers(5, 25))
    def flood(self, to: str, priority: Priority, count: int) -> None:
        """One loud source, and two quiet ones behind it."""
        loud = [Push(to=to, source="loud", content=str(number), priority=priority) for number in range(count)]
        quiet = [Push(to=to, source="quiet", priority=Priority.FYI) for _ in range(3)]
        self.push([*loud, *quiet, Push(to=to, source="desk", sender="husam", priority=Priority.FYI)])

    def _compare(self, wish: Push, outcome: object, arrival: int) -> None:
        members = self.model.members
        if wish.sender in members and not members[wish.sender].live:
            assert isinstance(outcome, Refused)
        elif wish.to == "nobody" or (wish.to in ANYBODY and wish.to not in members):
            assert isinstance(outcome, UnknownAddress)
        elif wish.to in members and not members[wish.to].live:
            assert isinstance(outcome, Refused)
        else:
            assert isinstance(outcome, PushResult), outcome
            event = self._event(wish, outcome.event, arrival)
            (self._cast if wish.to == "*" else self._accept)(wish, outcome, event)

    def _event(self, wish: Push, id: str, arrival: int) -> Event:
        sender = self.model.members[wish.sender] if wish.sender else None
        told = core.Event(
            id=id,
            type=wish.type,
            source=wish.source,
            sender=core.Sender(sender.name, sender.name, sender.kind) if sender else None,
            content=wish.content,
            priority=wish.priority,
            created_at=self.now,
        )
        source, person = (sender.name, sender.kind is EntityKind.HUMAN) if sender else (wish.source, False)
        return Event(told, arrival, source, person, len(render.render_event(told).encode()))

    def _cast(self, wish: Push, outcome: PushResult, event: Event) -> None:
        first = next((one for one in self.model.broadcasts if one.key == wish.key), None)
        assert outcome.duplicate == (first is not None)
        assert outcome.event == (first.event.told.id if first else event.told.id)
        if first is None:
            self.model.cast(event, wish.key or f"broadcast:{event.told.id}", self._expiry(wish))

    def _accept(self, wish: Push, outcome: PushResult, event: Event) -> None:
        everybody = self.model.team("red") if wish.to == "team:red" else [self.model.members[wish.to]]
        recipients = [one.name for one in everybody if wish.to != "team:red" or one.name != wish.sender]
        assert [one.name for one in outcome.deliveries] == recipients
        for delivery in outcome.deliveries:
            first = self.model.keyed(delivery.name, wish.key)
            assert (delivery.duplicate, delivery.event) == (
                first is not None,
                first.event.told.id if first else event.told.id,
            )
            if first is None:
                self.model.accept(delivery.name, event, wish.key, self._expiry(wish))

    def _expiry(self, wish: Push) -> int | None:
        return self.now + wish.ttl if wish.ttl is not None else None

    @rule(
        name=readers,
        cap=st.sampled_from([1, 2, 3, 5, 20]),
        budget=st.sampled_from([600, 1_000, 9_000]),
        kind=st.sampled_from(["drain", "drain", "drain", "run"]),
    )
    def claim(self, name: str, cap: int, budget: int, kind: str) -> None:
        member = self.model.members.get(name)
        if member is None or not member.live:
            with pytest.raises((UnknownAddress, Refused)):
                self.store.call(inbox.claim, name, owner="me")
        elif self.model.open_run(name):
            with pytest.raises(Conflict):
                self.store.call(inbox.claim, name, owner="me")
        else:
            self._claim(name, cap, budget, kind)

    def _claim(self, name: str, cap: int, budget: int, kind: str = "drain") -> Held | None:
        model = self.model
        batch = self.store.call(inbox.claim, name, owner="me", limit=cap, budget=budget, kind=kind)
        model.lapse(self.now, name)
        model.take_broadcasts(model.members[name], self.now)
        chosen = model.chosen(name, cap, budget, self.now)
        ids = {item.event.arrival: item.event.told.id for item in model.pending(name, self.now)}
        assert [item.event.id for item in batch.items] == [ids[one.arrival] for one in chosen]
        assert list(batch.size_limits) == [one.size_limit for one in chosen]
        assert len(str(batch)) <= budget
        if batch.claim is None:
            return None
        held = Held(batch.claim, batch.claim.deadline)
        assert held.claim.fence > max((one.claim.fence for one in model.claims_on(name)), default=0)
        assert held.deadline == (self.now + Limits().hold if kind == "drain" else None)
        model.take(held, (one.arrival for one in chosen))
        assert batch.deferred_count == len(model.pending(name, self.now))
        return held

    def _some(self, pick: int) -> Held:
        """A claim that is open, if there is one, and now and then one that is not."""
        open = [one for one in self.model.claims if one.open]
        return open[pick % len(open)] if open and pick < 12 else self.model.claims[pick % len(self.model.claims)]

    @precondition(lambda self: self.model.claims)
    @rule(pick=picks, count=st.integers(1, 3), type=st.none() | types)
    def pull(self, pick: int, count: int, type: EventType | None) -> None:
        held = self._some(pick)
        id, owner, fence = held.claim.id, held.claim.owner, held.claim.fence
        member = self.model.members[held.claim.recipient]
        if not held.open or not member.live:
            with pytest.raises((Conflict, NotFound, Refused)):
                self.store.call(inbox.pull, id, owner=owner, fence=fence, limit=count, type=type)
            return
        batch = self.store.call(inbox.pull, id, owner=owner, fence=fence, limit=count, type=type)
        self.model.take_broadcasts(member, self.now)
        waiting = [item.event for item in self.model.pending(member.name, self.now)]
        waiting = [event for event in waiting if type in (None, event.told.type)][:count]
        assert [item.event.id for item in batch.items] == [event.told.id for event in waiting]
        self.model.take(held, (event.arrival for event in waiting))

    @precondition(lambda self: self.model.claims)
    @rule(pick=picks)
    def ack(self, pick: int) -> None:
        held = self._some(pick)
        if self._may_end(held, inbox.ack):
            count = self.store.call(inbox.ack, held.claim.id, owner="me", fence=held.claim.fence)
            assert count == self.model.ack(held, self.now)

    @precondition(lambda self: self.model.claims)
    @rule(pick=picks, bad=picks)
    def release(self, pick: int, bad: int) -> None:
        held = self._some(pick)
        if self._may_end(held, inbox.release):
            ids = [item.event.told.id for item in self.model.held(held)]
            self._release(held, set(ids[bad : bad + 2]))

    def _release(self, held: Held, failed: set[str]) -> None:
        claim = held.claim
        count = self.store.call(inbox.release, claim.id, owner="me", fence=claim.fence, failed_events=sorted(failed))
        assert count == self.model.release(held, failed, self.now)

    def _may_end(self, held: Held, verb: Callable[..., int]) -> bool:
        """Whether a claim is open; if not, and to anybody else, the store must say no."""
        with pytest.raises((Conflict, NotFound)):
            self.store.call(verb, held.claim.id, owner="me" if not held.open else "you", fence=held.claim.fence)
        return held.open

    @precondition(lambda self: self.model.items)
    @rule(name=readers)
    def fail_until_dead(self, name: str) -> None:
        """The first item of an inbox fails of its own as often as it may."""
        member = self.model.members.get(name)
        for _ in range(Limits().attempts):
            if member is None or not member.live or self.model.open_run(name):
                return
            if (held := self._claim(name, 1, 9_000)) is None:
                return
            self._release(held, {self.model.held(held)[0].event.told.id})
            self.states = {}

    @rule(by=st.sampled_from([SECOND, 31 * SECOND, MINUTE, HOUR, DAY, 2 * DAY]))
    def time_passes(self, by: int) -> None:
        self.clock.advance(by)

    @precondition(lambda self: any(moment > self.now + 1 for moment in self.model.moments()))
    @rule(which=st.integers(0, 2), early=st.booleans(), duty=st.sampled_from(["lapse", "expire", "reap"]))
    def time_comes(self, which: int, early: bool, duty: str) -> None:
        """The clock moves to the very moment when something ends, or to just before it, and the janitor comes."""
        to_come = sorted(moment for moment in self.model.moments() if moment > self.now + 1)
        self.clock.advance(to_come[min(which, len(to_come) - 1)] - self.now - early)
        self._janitor(duty)

    @rule(duty=st.sampled_from(["lapse", "expire", "reap"]), limit=st.sampled_from([1, 2, 500]))
    def janitor(self, duty: str, limit: int) -> None:
        self._janitor(duty, limit)

    def _janitor(self, duty: str, limit: int = 500) -> None:
        match duty:
            case "lapse":
                assert self.store.call(maintenance.lapse_claims) == self.model.lapse(self.now)
            case "expire":
                assert self.store.call(maintenance.expire_items) == self.model.expire(self.now)
            case _:
                while self.store.call(maintenance.reap, limit=limit):
                    pass
                self.model.reap(self.now)

    def _known(self, pick: int) -> str:
        """An event that somebody has or will have, rather one with which something has happened already."""
        items = sorted(self.model.items, key=lambda item: item.state in (ItemState.PENDING, ItemState.DELIVERED))
        events = [*(item.event for item in items), *(one.event for one in self.model.broadcasts)]
        ids = list(dict.fromkeys(event.told.id for event in events))
        return ids[pick % len(ids)]

    @precondition(lambda self: self.model.items)
    @rule(pick=picks, name=st.none() | names)
    def discard(self, pick: int, name: str | None) -> None:
        event = self._known(pick)
        if name in self.model.members:
            member = self.model.members[name]
            if any(one.event.told.id == event for one in self.model.to_come(member, self.now)):
                self.model.take_broadcasts(member, self.now)
        found = self._found(inbox.discard, event, name)
        moved = [item for item in found if item.standing(self.now) in (ItemState.PENDING, ItemState.DEAD)]
        if moved:
            answer = self.store.call(inbox.discard, event, name)
            assert [item.recipient for item in answer] == [item.recipient for item in moved]
            for item in moved:
                item.state, item.ended_at = ItemState.DISCARDED, self.now
        elif found:
            with pytest.raises(Conflict):
                self.store.call(inbox.discard, event, name)

    @precondition(lambda self: self.model.items)
    @rule(pick=picks, name=st.none() | names)
    def replay(self, pick: int, name: str | None) -> None:
        event = self._known(pick)
        if name in self.model.members and not self.model.members[name].live:
            with pytest.raises(Refused):
                self.store.call(inbox.replay, event, name)
            return
        found = self._found(inbox.replay, event, name)
        again = [item for item in found if self.model.members[item.recipient].live]
        again = [item for item in again if item.standing(self.now) not in (ItemState.PENDING, ItemState.CLAIMED)]
        if again:
            answer = self.store.call(inbox.replay, event, name)
            assert [item.recipient for item in answer] == [item.recipient for item in again]
            for item, copy in zip(again, answer, strict=True):
                self._again(item, copy)
        elif found:
            with pytest.raises(Conflict):
                self.store.call(inbox.replay, event, name)

    def _again(self, item: Item, copy: core.Item) -> None:
        if item.state is ItemState.DELIVERED:
            assert copy.event.id != item.event.told.id
            assert copy.event.content == item.event.told.content
            self.arrivals += 1
            told = replace(item.event.told, id=copy.event.id, created_at=self.now)
            self.model.accept(item.recipient, replace(item.event, told=told, arrival=self.arrivals), None, None)
        else:
            assert copy.event.id == item.event.told.id
            item.state, item.attempts, item.ended_at, item.expires_at = ItemState.PENDING, 0, None, None

    def _found(self, verb: Callable[..., object], event: str, name: str | None) -> list[Item]:
        """The items that are meant; where there are none the verb must say so."""
        found = self.model.of_event(event, name)
        if not found:
            with pytest.raises((NotFound, UnknownAddress) if name else (NotFound, Conflict)):
                self.store.call(verb, event, name)
        return found

    @precondition(lambda self: self.model.items)
    @rule(pick=picks)
    def done(self, pick: int) -> None:
        theirs = [item for item in self.model.items if item.recipient == "husam"]
        if not theirs:
            return
        item = theirs[pick % len(theirs)]
        if item.standing(self.now) is ItemState.PENDING:
            self.store.call(inbox.mark_done, "husam", item.event.told.id)
            item.state, item.ended_at, item.receipt = ItemState.DELIVERED, self.now, "person"
        else:
            with pytest.raises(Conflict):
                self.store.call(inbox.mark_done, "husam", item.event.told.id)

    @precondition(lambda self: self.model.items)
    @rule(pick=picks, name=names)
    def seen(self, pick: int, name: str) -> None:
        if name in self.model.members and self.model.members[name].live:
            event = self._known(pick)
            new = [item for item in self.model.of_event(event, name) if item.seen_at is None]
            assert self.store.call(inbox.mark_seen, name, [event]) == len(new)
            for item in new:
                item.seen_at = self.now

    @invariant()
    def every_inbox_holds_what_it_should(self) -> None:
        found = [
            (
                item.recipient,
                item.event.id,
                item.state,
                item.attempts,
                item.event.key,
                item.event.expires_at,
                item.ended_at,
                item.seen_at,
                item.receipt.kind if item.receipt else None,
            )
            for item in self.store.query(inbox.page, limit=100_000)
        ]
        assert sorted(found, key=str) == sorted(self.model.everything(self.now), key=str)
        states = {(recipient, event): state for recipient, event, state, *_ in found}
        for place, state in states.items():
            was = self.states.get(place, state)
            done_by_a_person = place[0] == "husam" and (was, state) == (ItemState.PENDING, ItemState.DELIVERED)
            assert was is state or state in STEPS[was] or done_by_a_person, f"{place} went from {was} to {state}"
        self.states = states

    @invariant()
    def what_waits_is_in_order(self) -> None:
        for name in self.model.members:
            waiting = [item.event.id for item in self.store.query(inbox.peek, name, limit=1_000)]
            assert waiting == [event.told.id for event in self.model.peek(name, self.now)]

    @invariant()
    def nothing_vanishes(self) -> None:
        accounts = {account.name: account for account in self.store.query(maintenance.list_accounts)}
        assert list(accounts) == list(self.model.members)
        for name, member in self.model.members.items():
            assert accounts[name].is_balanced
            assert accounts[name].accepted == member.accepted
            assert {state: getattr(accounts[name], state) for state in ItemState} == self.model.counts(name)
        assert self.store.query(checks.stuck_items)[0] == 0
        assert self.store.query(checks.lost_events)[0] == 0
