"""
What inboxes should do, in plain Python: the rules of the semantics page without a database.

The model shares nothing with the code under test but the nouns and the pure rule that chooses a batch (which has
properties of its own, in `test_batch.py`); which items are candidates for that rule it works out by itself.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gatepost.core.policy import Policy
from gatepost.directory.entity import EntityKind
from gatepost.inbox import event as core
from gatepost.inbox.batch_selection import Candidate, SelectedItem, select_batch
from gatepost.inbox.claimed_batch import Claim
from gatepost.inbox.event import ItemState, Priority

DEFAULT_LIMITS = Policy()
END_STATES = (ItemState.DELIVERED, ItemState.EXPIRED, ItemState.DISCARDED)


@dataclass(eq=False)
class EventModel:
    """An event, known by the id that the store gave it."""

    core_event: core.Event
    arrival: int
    #: what the batch rule needs: the sender, else the source; whether that is a person; bytes of its line
    source: str
    is_person: bool
    size: int

    @property
    def order(self) -> tuple[int, int]:
        return self.core_event.priority, self.arrival


@dataclass(eq=False)
class ItemModel:
    recipient: str
    event: EventModel
    key: str | None
    expires_at: int | None
    state: ItemState = ItemState.PENDING
    attempts: int = 0
    #: who holds it, and the kind of claim it is or was delivered by
    claim_model: "ClaimModel | None" = None
    receipt: str | None = None
    ended_at: int | None = None
    seen_at: int | None = None
    #: while it is snoozed
    hidden_until: int | None = None
    awaits: str | None = None

    def is_hidden(self, now: int) -> bool:
        return self.hidden_until is not None and self.hidden_until > now

    def unhide(self) -> None:
        self.hidden_until = self.awaits = None

    def get_state(self, now: int) -> ItemState:
        is_overdue = self.expires_at is not None and self.expires_at <= now
        return ItemState.EXPIRED if is_overdue and self.state is ItemState.PENDING else self.state


@dataclass
class MemberModel:
    name: str
    kind: EntityKind
    team: str | None
    is_live: bool = True
    #: the broadcasts before this one are behind it
    cursor: int = 0
    accepted_count: int = 0
    reaped_counts: dict[ItemState, int] = field(default_factory=lambda: dict.fromkeys(END_STATES, 0))


@dataclass(eq=False)
class BroadcastModel:
    number: int
    event: EventModel
    key: str
    expires_at: int | None


@dataclass(eq=False)
class ClaimModel:
    claim: Claim
    deadline: int | None
    is_open: bool = True


class InboxModel:
    def __init__(self) -> None:
        self.members: dict[str, MemberModel] = {}
        self.items: list[ItemModel] = []
        self.broadcasts: list[BroadcastModel] = []
        self.claims: list[ClaimModel] = []
        self.broadcast_count = 0

    def register(self, name: str, kind: EntityKind, team: str | None) -> None:
        self.members[name] = MemberModel(name, kind, team, cursor=self.broadcast_count)

    def list_team(self, team: str) -> list[MemberModel]:
        return [member for member in self.members.values() if member.team == team and member.is_live]

    def find_by_key(self, name: str, key: str | None) -> ItemModel | None:
        """The item that has this key, if any: a repeat of it changes nothing."""
        return next((item for item in self.items if key and (item.recipient, item.key) == (name, key)), None)

    def accept(self, name: str, event: EventModel, key: str | None, expires_at: int | None) -> None:
        if self.members[name].kind is EntityKind.HUMAN:
            for item in self.items:
                if item.recipient == name and item.state is ItemState.PENDING and _is_awaited(item.awaits, event):
                    item.unhide()
        self.items.append(ItemModel(name, event, key, expires_at))
        self.members[name].accepted_count += 1

    def broadcast(self, event: EventModel, key: str, expires_at: int | None) -> None:
        self.broadcast_count += 1
        self.broadcasts.append(BroadcastModel(self.broadcast_count, event, key, expires_at))

    def list_untaken_broadcasts(self, member: MemberModel, now: int) -> list[BroadcastModel]:
        """What was broadcast since the agent was there, and it has not taken yet."""
        if member.kind is not EntityKind.AGENT or not member.is_live:
            return []
        return [
            broadcast
            for broadcast in self.broadcasts
            if broadcast.number > member.cursor
            and (broadcast.event.core_event.sender is None or broadcast.event.core_event.sender.name != member.name)
            and (broadcast.expires_at is None or broadcast.expires_at > now)
            and self.find_by_key(member.name, broadcast.key) is None
        ]

    def take_broadcasts(self, member: MemberModel, now: int) -> None:
        for broadcast in self.list_untaken_broadcasts(member, now):
            self.accept(member.name, broadcast.event, broadcast.key, broadcast.expires_at)
        member.cursor = max([member.cursor, *(broadcast.number for broadcast in self.broadcasts)])

    def list_pending(self, name: str, now: int) -> list[ItemModel]:
        """What waits, in the order to show it."""
        items = [
            item
            for item in self.items
            if item.recipient == name and item.get_state(now) is ItemState.PENDING and not item.is_hidden(now)
        ]
        return sorted(items, key=lambda item: item.event.order)

    def list_visible(self, name: str, now: int) -> list[EventModel]:
        """What waits, broadcasts to come among it."""
        events = [item.event for item in self.list_pending(name, now)]
        events += [broadcast.event for broadcast in self.list_untaken_broadcasts(self.members[name], now)]
        return sorted(events, key=lambda event: event.order)

    def select(self, name: str, limit: int, budget: int, now: int) -> list[SelectedItem]:
        return select_batch(self._candidates(self.list_pending(name, now), limit, budget), limit=limit, budget=budget)

    def _candidates(self, items: Iterable[ItemModel], limit: int, budget: int) -> list[Candidate]:
        """
        The first 4 x cap in order (of critical ones as many as fit); and while these cannot fill a batch without one
        source taking over half of it, the heads of other sources: four of each, and then more.
        """
        events = [item.event for item in items]
        candidates = [
            Candidate(
                candidate.arrival, candidate.core_event.priority, candidate.is_person, candidate.source, candidate.size
            )
            for candidate in events
        ]
        ranked = sorted(candidates, key=_get_rank)
        first = ranked[: 4 * limit]
        if len(first) < 4 * limit:
            return first
        if first[-1].priority == Priority.CRITICAL:
            return ranked[: budget // 12 + 1]
        other_sources = sorted({candidate.source for candidate in ranked} - {candidate.source for candidate in first})[
            :32
        ]
        half, heads = max(1, limit // 2), list[Candidate]()
        for depth in (min(4, half), half):
            shares = Counter(candidate.source for candidate in (*first, *heads))
            if sum(min(half, share) for share in shares.values()) < limit:
                by_source = {
                    source: [candidate for candidate in ranked if candidate.source == source]
                    for source in other_sources
                }
                firsts = [
                    candidate
                    for source_candidates in by_source.values()
                    for candidate in sorted(source_candidates, key=_get_order)[:depth]
                ]
                heads = sorted(firsts, key=_get_rank)[: 4 * limit]
        return first + heads

    def list_claims(self, name: str) -> list[ClaimModel]:
        return [claim_model for claim_model in self.claims if claim_model.claim.recipient == name]

    def has_open_run(self, name: str) -> bool:
        return any(claim_model.is_open and claim_model.claim.kind == "run" for claim_model in self.list_claims(name))

    def claim_items(self, claim_model: ClaimModel, arrivals: Iterable[int]) -> None:
        if claim_model not in self.claims:
            self.claims.append(claim_model)
        arrival_set = set(arrivals)
        for item in self.items:
            if item.recipient == claim_model.claim.recipient and item.event.arrival in arrival_set:
                assert item.state is ItemState.PENDING
                item.state, item.claim_model, item.receipt = ItemState.CLAIMED, claim_model, claim_model.claim.kind

    def list_claimed_items(self, claim_model: ClaimModel) -> list[ItemModel]:
        return [item for item in self.items if item.claim_model is claim_model and item.state is ItemState.CLAIMED]

    def ack(self, claim_model: ClaimModel, now: int) -> int:
        claim_model.is_open = False
        items = self.list_claimed_items(claim_model)
        for item in items:
            item.state, item.ended_at = ItemState.DELIVERED, now
        return len(items)

    def release(self, claim_model: ClaimModel, failed_ids: set[str], now: int) -> int:
        claim_model.is_open = False
        items = self.list_claimed_items(claim_model)
        for item in items:
            item.state, item.claim_model, item.receipt = ItemState.PENDING, None, None
            if item.event.core_event.id in failed_ids:
                item.attempts += 1
                if item.attempts >= DEFAULT_LIMITS.attempts:
                    item.state, item.ended_at = ItemState.DEAD, now
        return len(items)

    def lapse(self, now: int, name: str | None = None) -> int:
        open_claims = [
            claim_model
            for claim_model in self.claims
            if claim_model.is_open and name in (None, claim_model.claim.recipient)
        ]
        lapsed_claims = [
            claim_model
            for claim_model in open_claims
            if claim_model.deadline is not None and claim_model.deadline <= now
        ]
        for claim_model in lapsed_claims:
            self.release(claim_model, set(), now)
        return len(lapsed_claims)

    def expire(self, now: int) -> int:
        expired_items = [item for item in self.items if item.state is not item.get_state(now)]
        for item in expired_items:
            item.state, item.ended_at = ItemState.EXPIRED, now
        return len(expired_items)

    def return_due(self, now: int) -> int:
        """The janitor shows what was snoozed until now."""
        due_items = [
            item
            for item in self.items
            if item.state is ItemState.PENDING and item.hidden_until is not None and not item.is_hidden(now)
        ]
        for item in due_items:
            item.unhide()
        return len(due_items)

    def reap(self, now: int) -> None:
        cutoff = now - DEFAULT_LIMITS.remember
        for item in list(self.items):
            if item.state in END_STATES and item.ended_at is not None and item.ended_at <= cutoff:
                self.items.remove(item)
                self.members[item.recipient].reaped_counts[item.state] += 1
        cursors = [
            record.cursor for record in self.members.values() if record.is_live and record.kind is EntityKind.AGENT
        ]
        for record in list(self.broadcasts):
            is_expired = record.expires_at is not None and record.expires_at <= cutoff
            if is_expired or (
                record.event.core_event.created_at <= cutoff and all(cursor >= record.number for cursor in cursors)
            ):
                self.broadcasts.remove(record)

    def moments(self) -> set[int]:
        """When something comes to its end: deadlines, expiries, and what has been remembered long enough."""
        deadlines = {claim_model.deadline for claim_model in self.claims if claim_model.is_open}
        expiries = {item.expires_at for item in self.items} | {broadcast.expires_at for broadcast in self.broadcasts}
        ends = (
            {item.ended_at for item in self.items}
            | {broadcast.event.core_event.created_at for broadcast in self.broadcasts}
            | expiries
        )
        later = {moment + DEFAULT_LIMITS.remember for moment in ends if moment is not None}
        returns = {item.hidden_until for item in self.items}
        return later | {moment for moment in deadlines | expiries | returns if moment is not None}

    def find_items(self, event_id: str, name: str | None = None) -> list[ItemModel]:
        """The items of an event, in the order in which their recipients were registered."""
        items = {item.recipient: item for item in self.items if item.event.core_event.id == event_id}
        return [items[member] for member in self.members if member in items and name in (None, member)]

    def list_rows(self, now: int) -> list[tuple[object, ...]]:
        """All that can be seen of all inboxes, broadcasts to come among it."""
        rows: list[tuple[object, ...]] = [
            (
                item.recipient,
                item.event.core_event.id,
                item.get_state(now),
                item.attempts,
                item.key,
                item.expires_at,
                item.ended_at,
                item.seen_at,
                item.receipt,
                item.hidden_until if item.state is ItemState.PENDING else None,
                item.awaits if item.state is ItemState.PENDING else None,
            )
            for item in self.items
        ]
        rows += [
            (
                member.name,
                broadcast.event.core_event.id,
                ItemState.PENDING,
                0,
                broadcast.key,
                broadcast.expires_at,
                None,
                None,
                None,
                None,
                None,
            )
            for member in self.members.values()
            for broadcast in self.list_untaken_broadcasts(member, now)
        ]
        return rows

    def count_states(self, name: str) -> dict[ItemState, int]:
        counts = dict.fromkeys(ItemState, 0) | self.members[name].reaped_counts
        for item in self.items:
            counts[item.state] += item.recipient == name
        return counts


def _get_order(candidate: Candidate) -> tuple[int, int]:
    return candidate.priority, candidate.arrival


def _get_rank(candidate: Candidate) -> tuple[int, bool, int]:
    return candidate.priority, not candidate.is_person, candidate.arrival


def _is_awaited(text: str | None, event: EventModel) -> bool:
    """Whether an event is one of those that the machine lets people wait for."""
    kind = event.core_event.type.value
    return text in (kind, f"from:{event.source}", f"{kind}:{event.source}")
