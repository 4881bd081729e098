"""
What inboxes should do, in plain Python: the rules of the semantics page without a database.

The model shares nothing with the code under test but the nouns and the pure rule that chooses a batch (which has
properties of its own, in `test_batch.py`); which items are candidates for that rule it works out by itself.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gatepost.core import event as core
from gatepost.core.batch import Candidate, SelectedItem, select_batch
from gatepost.core.claim import Claim
from gatepost.core.entity import EntityKind
from gatepost.core.event import ItemState, Priority
from gatepost.core.limits import Limits

LIMITS = Limits()
ENDED = (ItemState.DELIVERED, ItemState.EXPIRED, ItemState.DISCARDED)


@dataclass(eq=False)
class Event:
    """An event, known by the id that the store gave it."""

    told: core.Event
    arrival: int
    #: what the batch rule needs: the sender, else the source; whether that is a person; bytes of its line
    source: str
    person: bool
    size: int

    @property
    def order(self) -> tuple[int, int]:
        return self.told.priority, self.arrival


@dataclass(eq=False)
class Item:
    recipient: str
    event: Event
    key: str | None
    expires_at: int | None
    state: ItemState = ItemState.PENDING
    attempts: int = 0
    #: who holds it, and the kind of claim it is or was delivered by
    holder: "Held | None" = None
    receipt: str | None = None
    ended_at: int | None = None
    seen_at: int | None = None

    def standing(self, now: int) -> ItemState:
        overdue = self.expires_at is not None and self.expires_at <= now
        return ItemState.EXPIRED if overdue and self.state is ItemState.PENDING else self.state


@dataclass
class Member:
    name: str
    kind: EntityKind
    team: str | None
    live: bool = True
    #: the broadcasts before this one are behind it
    cursor: int = 0
    accepted: int = 0
    reaped: dict[ItemState, int] = field(default_factory=lambda: dict.fromkeys(ENDED, 0))


@dataclass(eq=False)
class Broadcast:
    number: int
    event: Event
    key: str
    expires_at: int | None


@dataclass(eq=False)
class Held:
    claim: Claim
    deadline: int | None
    open: bool = True


class Model:
    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self.items: list[Item] = []
        self.broadcasts: list[Broadcast] = []
        self.claims: list[Held] = []
        self.casts = 0

    def register(self, name: str, kind: EntityKind, team: str | None) -> None:
        self.members[name] = Member(name, kind, team, cursor=self.casts)

    def team(self, team: str) -> list[Member]:
        return [member for member in self.members.values() if member.team == team and member.live]

    def keyed(self, name: str, key: str | None) -> Item | None:
        """The item that has this key, if any: a repeat of it changes nothing."""
        return next((item for item in self.items if key and (item.recipient, item.key) == (name, key)), None)

    def accept(self, name: str, event: Event, key: str | None, expires_at: int | None) -> None:
        self.items.append(Item(name, event, key, expires_at))
        self.members[name].accepted += 1

    def cast(self, event: Event, key: str, expires_at: int | None) -> None:
        self.casts += 1
        self.broadcasts.append(Broadcast(self.casts, event, key, expires_at))

    def to_come(self, member: Member, now: int) -> list[Broadcast]:
        """What was broadcast since the agent was there, and it has not taken yet."""
        if member.kind is not EntityKind.AGENT or not member.live:
            return []
        return [
            one
            for one in self.broadcasts
            if one.number > member.cursor
            and (one.event.told.sender is None or one.event.told.sender.name != member.name)
            and (one.expires_at is None or one.expires_at > now)
            and self.keyed(member.name, one.key) is None
        ]

    def take_broadcasts(self, member: Member, now: int) -> None:
        for one in self.to_come(member, now):
            self.accept(member.name, one.event, one.key, one.expires_at)
        member.cursor = max([member.cursor, *(one.number for one in self.broadcasts)])

    def pending(self, name: str, now: int) -> list[Item]:
        """What waits, in the order to show it."""
        waiting = [item for item in self.items if item.recipient == name and item.standing(now) is ItemState.PENDING]
        return sorted(waiting, key=lambda item: item.event.order)

    def peek(self, name: str, now: int) -> list[Event]:
        """What waits, broadcasts to come among it."""
        waiting = [item.event for item in self.pending(name, now)]
        waiting += [one.event for one in self.to_come(self.members[name], now)]
        return sorted(waiting, key=lambda event: event.order)

    def chosen(self, name: str, cap: int, budget: int, now: int) -> list[SelectedItem]:
        return select_batch(self._candidates(self.pending(name, now), cap, budget), limit=cap, budget=budget)

    def _candidates(self, waiting: Iterable[Item], cap: int, budget: int) -> list[Candidate]:
        """
        The first 4 x cap in order (of critical ones as many as fit); and while these cannot fill a batch without one
        source taking over half of it, the heads of other sources: four of each, and then more.
        """
        events = [item.event for item in waiting]
        everything = [Candidate(one.arrival, one.told.priority, one.person, one.source, one.size) for one in events]
        ranked = sorted(everything, key=_rank)
        first = ranked[: 4 * cap]
        if len(first) < 4 * cap:
            return first
        if first[-1].priority == Priority.CRITICAL:
            return ranked[: budget // 12 + 1]
        others = sorted({one.source for one in ranked} - {one.source for one in first})[:32]
        half, heads = max(1, cap // 2), list[Candidate]()
        for depth in (min(4, half), half):
            shares = Counter(one.source for one in (*first, *heads))
            if sum(min(half, share) for share in shares.values()) < cap:
                own = {source: [one for one in ranked if one.source == source] for source in others}
                firsts = [one for theirs in own.values() for one in sorted(theirs, key=_order)[:depth]]
                heads = sorted(firsts, key=_rank)[: 4 * cap]
        return first + heads

    def claims_on(self, name: str) -> list[Held]:
        return [held for held in self.claims if held.claim.recipient == name]

    def open_run(self, name: str) -> bool:
        return any(held.open and held.claim.kind == "run" for held in self.claims_on(name))

    def take(self, held: Held, arrivals: Iterable[int]) -> None:
        if held not in self.claims:
            self.claims.append(held)
        wanted = set(arrivals)
        for item in self.items:
            if item.recipient == held.claim.recipient and item.event.arrival in wanted:
                assert item.state is ItemState.PENDING
                item.state, item.holder, item.receipt = ItemState.CLAIMED, held, held.claim.kind

    def held(self, held: Held) -> list[Item]:
        return [item for item in self.items if item.holder is held and item.state is ItemState.CLAIMED]

    def ack(self, held: Held, now: int) -> int:
        held.open = False
        items = self.held(held)
        for item in items:
            item.state, item.ended_at = ItemState.DELIVERED, now
        return len(items)

    def release(self, held: Held, failed: set[str], now: int) -> int:
        held.open = False
        items = self.held(held)
        for item in items:
            item.state, item.holder, item.receipt = ItemState.PENDING, None, None
            if item.event.told.id in failed:
                item.attempts += 1
                if item.attempts >= LIMITS.attempts:
                    item.state, item.ended_at = ItemState.DEAD, now
        return len(items)

    def lapse(self, now: int, name: str | None = None) -> int:
        open = [held for held in self.claims if held.open and name in (None, held.claim.recipient)]
        late = [held for held in open if held.deadline is not None and held.deadline <= now]
        for held in late:
            self.release(held, set(), now)
        return len(late)

    def expire(self, now: int) -> int:
        late = [item for item in self.items if item.state is not item.standing(now)]
        for item in late:
            item.state, item.ended_at = ItemState.EXPIRED, now
        return len(late)

    def reap(self, now: int) -> None:
        before = now - LIMITS.remember
        for item in list(self.items):
            if item.state in ENDED and item.ended_at is not None and item.ended_at <= before:
                self.items.remove(item)
                self.members[item.recipient].reaped[item.state] += 1
        cursors = [one.cursor for one in self.members.values() if one.live and one.kind is EntityKind.AGENT]
        for one in list(self.broadcasts):
            expired = one.expires_at is not None and one.expires_at <= before
            if expired or (one.event.told.created_at <= before and all(cursor >= one.number for cursor in cursors)):
                self.broadcasts.remove(one)

    def moments(self) -> set[int]:
        """When something comes to its end: deadlines, expiries, and what has been remembered long enough."""
        deadlines = {held.deadline for held in self.claims if held.open}
        expiries = {item.expires_at for item in self.items} | {one.expires_at for one in self.broadcasts}
        ends = (
            {item.ended_at for item in self.items} | {one.event.told.created_at for one in self.broadcasts} | expiries
        )
        later = {at + LIMITS.remember for at in ends if at is not None}
        return later | {at for at in deadlines | expiries if at is not None}

    def of_event(self, id: str, name: str | None = None) -> list[Item]:
        """The items of an event, in the order in which their recipients were registered."""
        found = {item.recipient: item for item in self.items if item.event.told.id == id}
        return [found[member] for member in self.members if member in found and name in (None, member)]

    def everything(self, now: int) -> list[tuple[object, ...]]:
        """All that can be seen of all inboxes, broadcasts to come among it."""
        rows: list[tuple[object, ...]] = [
            (
                item.recipient,
                item.event.told.id,
                item.standing(now),
                item.attempts,
                item.key,
                item.expires_at,
                item.ended_at,
                item.seen_at,
                item.receipt,
            )
            for item in self.items
        ]
        rows += [
            (member.name, one.event.told.id, ItemState.PENDING, 0, one.key, one.expires_at, None, None, None)
            for member in self.members.values()
            for one in self.to_come(member, now)
        ]
        return rows

    def counts(self, name: str) -> dict[ItemState, int]:
        counts = dict.fromkeys(ItemState, 0) | self.members[name].reaped
        for item in self.items:
            counts[item.state] += item.recipient == name
        return counts


def _order(one: Candidate) -> tuple[int, int]:
    return one.priority, one.arrival


def _rank(one: Candidate) -> tuple[int, bool, int]:
    return one.priority, not one.is_person, one.arrival
