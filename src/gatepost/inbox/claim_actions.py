"""
Read an inbox: claim a batch, then ack or release it.

A reader claims a batch, works on it, and acks it. If it releases the batch, or dies, the items go to the next reader.
Why no item is lost, and no item is given to two readers at once:

- Every claim on an inbox locks the inbox's row (`items.lock_inbox`) first: claims happen one after the other, each
  with a higher fence.
- An item changes hands only by a statement that takes it out of the pending items, or puts it back. Ack, release and
  lapse all end the claim's own row first, and only one of them finds it open.
- A drain's claim has a deadline by the database's clock. After it, the next claim (or the janitor) takes the items
  back. Until then a late ack still counts: the items were shown, and nobody else has them.
- A claim of kind `session` holds what a hook has printed: it is the drain's claim, extended (`extend`) until a reply of
  the model proves that the items were read (`guests/hooks/delivery_proof.py`).
- A run's claim has no deadline, because the run is resumed instead. While a run is open, draining its inbox raises
  `Conflict`.

    pending --claim--> claimed --ack--> delivered
       ^                  |
       `-- release, lapse-'                           (an item that fails too often dies)

An item that is dead is read by nobody, until it is replayed. What is done with single items (done, seen, discard,
replay) is in `inbox/item_actions.py`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, Unpack

from msgspec.structs import replace

from gatepost.core import ids
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import CLOCK_TOLERANCE, MAX_DURATION, Duration
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity, EntityKind
from gatepost.errors import Conflict, Invalid, NotFound, Refused
from gatepost.inbox import (
    batch_selection as batch_rules,
    broadcast_actions as broadcasts,
    claimed_batch as claim_rules,
    item_rows as items,
)
from gatepost.inbox.batch_selection import Candidate, SelectedItem
from gatepost.inbox.claimed_batch import Batch, Claim, EndedClaim
from gatepost.inbox.event import EventType, Item, ItemsRead, ItemState, Priority
from gatepost.stores.row_mapping import fetch_number, get_columns

#: lapsed claims that one claim releases
_LAPSE_LIMIT: Final = 100


def peek(
    tx: Reader, name: str, *, limit: int = batch_rules.GUEST_LIMIT, after: tuple[int, int] = (-1, 0)
) -> list[Item]:
    """
    Return the pending items of an inbox, most urgent first; nothing changes. `after` is the priority and the arrival of
    the last item seen.
    """
    return items.peek(tx, directory.find(tx, name).number, limit, after=after)


def list_page(
    tx: Reader,
    name: str | None = None,
    *,
    after: int = 0,
    after_recipient: str | None = None,
    newest_first: bool = False,
    limit: int = 100,
    **filters: Unpack[items.ItemFilter],
) -> list[Item]:
    """
    Return items of one inbox, or of all, in order of arrival; `after` is the arrival of the last item seen. An event
    with several recipients has an item for each: `after_recipient` is the recipient of the last item seen; without it
    the caller has seen all items of that event. With `newest_first` the order is reversed.
    """
    if (sender := filters.get("sender")) is not None:
        filters["sender"] = directory.find(tx, sender).name
    return items.list_page(
        tx,
        filters,
        recipient=directory.find_number(tx, name),
        after=after,
        after_recipient=directory.find_number(tx, after_recipient),
        newest_first=newest_first,
        limit=limit,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimTerms:
    """How a batch is claimed."""

    owner: str
    kind: str = "drain"
    #: items
    limit: int = batch_rules.GUEST_LIMIT
    #: bytes of rendered text
    budget: int = batch_rules.GUEST_BUDGET
    #: until the claim of a drain lapses; None for `policy.hold`
    hold: Duration | None = None

    def validate(self) -> None:
        claim_rules.check_owner(self.owner)
        if self.kind not in ("drain", "run"):
            raise Invalid(f"{self.kind!r} is not a kind of claim", hint="use drain or run")
        if self.hold is not None and not 0 < self.hold <= MAX_DURATION:
            raise Invalid(f"a claim cannot be held for {self.hold} microseconds")
        if not 1 <= self.limit <= 1_000:
            raise Invalid(f"{self.limit} is not a size of a batch", hint="use 1 to 1000")
        if self.budget < batch_rules.MIN_BUDGET:
            raise Invalid(f"{self.budget} bytes are too few for a batch", hint=f"use {batch_rules.MIN_BUDGET} or more")


def claim(
    tx: Transaction,
    name: str | Entity,
    *,
    owner: str,
    kind: str = "drain",
    limit: int = batch_rules.GUEST_LIMIT,
    budget: int = batch_rules.GUEST_BUDGET,
    hold: Duration | None = None,
    events: Collection[str] = (),
) -> Batch:
    """Claim the next batch of an inbox, or those of these events that are pending; without a claim it is empty."""
    terms = ClaimTerms(owner=owner, kind=kind, limit=limit, budget=budget, hold=hold)
    recipient, fence, first_candidates = _lock_and_look(tx, name, terms, is_looking=not events)
    if events:
        states = items.read_states(tx, recipient.number, (), [ids.check("evt", event) for event in events])
        arrivals = sorted(
            {item.arrival for item in states.values() if item.state is ItemState.PENDING and not item.is_hidden}
        )
        return claim_items(tx, recipient, fence, [SelectedItem(arrival) for arrival in arrivals], terms)
    waiting_items = find_candidates(tx, recipient.number, terms, first=first_candidates)
    selection = batch_rules.select_batch(waiting_items, limit=limit, budget=budget)
    # If there are fewer than `find_candidates` asks for, these are all that wait.
    is_complete = len(waiting_items) < min(
        batch_rules.CANDIDATES_PER_SLOT * limit, batch_rules.count_lines_that_fit(budget)
    )
    return claim_items(
        tx, recipient, fence, selection, terms, waiting_count=len(waiting_items) if is_complete else None
    )


def lock_inbox(tx: Transaction, name: str | Entity, terms: ClaimTerms) -> tuple[Entity, int]:
    """
    Lock an inbox to claim from it, release its lapsed claims and take in new broadcasts. Return the entity it belongs
    to, and the fence of the claim.
    """
    recipient, fence, _ = _lock_and_look(tx, name, terms, is_looking=False)
    return recipient, fence


def _lock_and_look(
    tx: Transaction, name: str | Entity, terms: ClaimTerms, *, is_looking: bool
) -> tuple[Entity, int, list[Candidate] | None]:
    """Lock an inbox as `lock_inbox` does; if looking, return also the first candidates, None if that changed them."""
    terms.validate()
    future = tx.now + CLOCK_TOLERANCE
    entity_name, read_entity = directory.find_later(tx, name)
    take_fence = tx.fetch_later("inbox/inboxes/lock_by_name", name=entity_name)
    read_candidates = (
        items.list_candidates_later(tx, entity_name, batch_rules.CANDIDATES_PER_SLOT * terms.limit)
        if is_looking
        else None
    )
    row = tx.fetch_one("inbox/claims/read_inbox_state", name=entity_name, now=tx.now, future=future)
    recipient = directory.find_live(tx, read_entity() or entity_name)
    if recipient.kind is EntityKind.HUMAN:
        raise Refused(
            f"{recipient.name!r} is a person: their items wait until they are done",
            hint="use `gatepost inbox done EVENT`",
        )
    assert row is not None  # it has a name
    [inbox] = take_fence()
    if terms.kind == "drain" and row.run is not None:
        raise Conflict(f"{recipient.name!r} is thinking: its run {row.run!r} has the inbox")
    if row.is_late:
        for number, _ in items.lapse_claims(tx, recipient.number, _LAPSE_LIMIT):
            items.release(tx, number)
    broadcasts.take(tx, recipient, inbox.cursor, row.last_broadcast)
    is_unchanged = not row.is_late and row.last_broadcast <= inbox.cursor
    return recipient, inbox.fence, read_candidates() if read_candidates is not None and is_unchanged else None


def find_candidates(
    tx: Transaction,
    recipient: int,
    terms: ClaimTerms,
    *,
    exclude: Collection[int] = (),
    first: list[Candidate] | None = None,
) -> list[Candidate]:
    """
    Return the pending items from which a batch on these terms can be selected, without the items with the arrivals in
    `exclude`. `first` are the first of them, if they were read before.
    """
    limit = batch_rules.CANDIDATES_PER_SLOT * terms.limit + len(exclude)
    candidates = items.list_candidates(tx, recipient, limit) if first is None else first
    if len(candidates) == limit and candidates[-1].priority == Priority.CRITICAL:
        candidates = items.list_candidates(tx, recipient, batch_rules.count_lines_that_fit(terms.budget) + len(exclude))
    elif len(candidates) == limit:
        candidates += _find_other_sources(tx, recipient, candidates, terms.limit)
    return [item for item in candidates if item.arrival not in exclude] if exclude else candidates


def claim_items(
    tx: Transaction,
    recipient: Entity,
    fence: int,
    selection: Sequence[SelectedItem],
    terms: ClaimTerms,
    *,
    waiting_count: int | None = None,
) -> Batch:
    """Claim the selected items; `waiting_count` is the number of items they were selected from, if it is known."""
    if not selection:
        return Batch(claim=None, at=tx.now)
    new_claim = _build_claim(tx, recipient, fence, terms)
    read_number = tx.fetch_later("inbox/claims/insert", **_get_claim_columns(new_claim, recipient))
    batch = _fill_claim(tx, new_claim, recipient.number, selection, waiting_count)
    if not batch.items:
        items.end_claim(tx, new_claim.id, terms.owner, fence, "released")
        return replace(batch, claim=None)
    [row] = read_number()
    return replace(batch, claim=replace(new_claim, number=row.number))


def begin_claim(tx: Transaction, recipient: Entity, fence: int, terms: ClaimTerms) -> Claim:
    """Write a new claim without items, and return it."""
    claim = _build_claim(tx, recipient, fence, terms)
    return replace(claim, number=fetch_number(tx, "inbox/claims/insert", **_get_claim_columns(claim, recipient)))


def _build_claim(tx: Transaction, recipient: Entity, fence: int, terms: ClaimTerms) -> Claim:
    return Claim(
        id=tx.new_id("clm"),
        recipient=recipient.name,
        kind=terms.kind,
        owner=terms.owner,
        fence=fence,
        taken_at=tx.now,
        deadline=tx.now + (terms.hold or tx.policy.hold) if terms.kind == "drain" else None,
    )


def _get_claim_columns(claim: Claim, recipient: Entity) -> dict[str, Any]:
    columns = get_columns(claim, "id kind owner fence deadline")
    return {"recipient": recipient.number, "now": claim.taken_at, **columns}


def pull(
    tx: Transaction,
    id: str,
    *,
    owner: str,
    fence: int,
    limit: int = 1,
    type: EventType | None = None,
    budget: int | None = None,
) -> Batch:
    """
    Take more items into an open claim, most urgent first. With a budget (bytes), take only items that fit, and shorten
    them to it.
    """
    if not 1 <= limit <= 1_000:
        raise Invalid(f"{limit} is not a number of items", hint="use 1 to 1000")
    open_claim = items.read_claim(tx, id)
    if open_claim is None:
        raise _build_claim_error(tx, id)
    recipient = directory.find_live(tx, open_claim.recipient)
    _, cursor = items.lock_inbox(tx, recipient.number)
    if not tx.execute("inbox/claims/lock", id=id, owner=owner, fence=fence):
        raise _build_claim_error(tx, id)
    broadcasts.take(tx, recipient, cursor)
    if budget is not None:
        selection = batch_rules.select_batch(
            items.list_candidates(tx, recipient.number, limit), limit=limit, budget=budget
        )
    else:
        selection = [SelectedItem(item.event.arrival) for item in items.peek(tx, recipient.number, limit, type)]
    return _fill_claim(tx, open_claim, recipient.number, selection) if selection else Batch(claim=None, at=tx.now)


def extend(tx: Transaction, id: str, *, owner: str, fence: int, hold: Duration) -> None:
    """Hold a guest's claim for its guest session, until `hold` from now. A stale owner is refused."""
    _check_holder(id, owner, fence)
    if not tx.execute("inbox/claims/extend", id=id, owner=owner, fence=fence, deadline=tx.now + hold):
        raise _build_claim_error(tx, id)


def ack(tx: Transaction, id: str, *, owner: str, fence: int, recipient: str | None = None) -> int:
    """
    Deliver the items of a claim, and return how many. A stale owner is refused; with `recipient`, so is a claim on
    another inbox.
    """
    _check_claim(tx, id, owner, fence, recipient)
    claim = items.end_claim(tx, id, owner, fence, "acked")
    if claim is None:
        raise _build_claim_error(tx, id)
    if claim.has_awaited_mail:
        tx.react(ItemsRead(claim.number))
    return claim.item_count


def release(
    tx: Transaction, id: str, *, owner: str, fence: int, failed_events: Sequence[str] = (), recipient: str | None = None
) -> int:
    """
    Make the items of a claim pending again, and return how many. `failed_events` are those that failed by themselves:
    their failures are counted. A stale owner is refused; with `recipient`, so is a claim on another inbox.
    """
    claim = _end_claim(tx, id, owner, fence, "released", recipient)
    count = _fail_or_kill_items(tx, claim, failed_events) if failed_events else 0
    count += items.release(tx, claim.number)
    tx.after_commit(Signal(Topic("inbox", claim.recipient), "release"))
    return count


def _fail_or_kill_items(tx: Transaction, claim: EndedClaim, failed_events: Sequence[str]) -> int:
    """Count a failure of these items. One that fails for the `policy.attempts`-th time dies; return how many do."""
    attempts, events = tx.policy.attempts, list(failed_events)
    rows = tx.fetch_all("inbox/item_changes/fail", claim=claim.number, events=events, attempts=attempts, now=tx.now)
    return sum(row.state == "dead" for row in rows)


def _find_other_sources(tx: Transaction, recipient: int, first: Sequence[Candidate], limit: int) -> list[Candidate]:
    """
    Return the first items of sources that are not among the first candidates, if those crowd the batch: a few of each
    source, and more of each only if these are too few.
    """
    first_sources = sorted({item.source for item in first})
    others: list[Candidate] = []
    for depth in (
        min(batch_rules.HEADS_PER_SOURCE, batch_rules.compute_share(limit)),
        batch_rules.compute_share(limit),
    ):
        if not batch_rules.is_crowded([*first, *others], limit):
            break
        rows = tx.fetch_all(
            "inbox/items/list_source_heads",
            recipient=recipient,
            now=tx.now,
            seen_sources=first_sources,
            max_steps=batch_rules.MAX_OTHER_SOURCES + len(first_sources),
            max_sources=batch_rules.MAX_OTHER_SOURCES,
            per_source=depth,
            limit=batch_rules.CANDIDATES_PER_SLOT * limit,
        )
        others = items.build_candidates(rows)
    return others


def _fill_claim(
    tx: Transaction, claim: Claim, recipient: int, selection: Sequence[SelectedItem], waiting_count: int | None = None
) -> Batch:
    """Put the selected items under the claim, without those that another verb has taken meanwhile."""
    size_limits = {choice.arrival: choice.size_limit for choice in selection}
    arrivals = sorted(size_limits)
    read_taken = items.take_later(tx, recipient, arrivals, claim.id)
    selected_items = items.read(tx, recipient, arrivals)
    taken_arrivals = set(read_taken())
    batch_items = [item for item in selected_items if item.event.arrival in taken_arrivals]
    return Batch(
        claim=claim,
        items=tuple(batch_items),
        size_limits=tuple(size_limits[item.event.arrival] for item in batch_items),
        deferred_count=items.count_pending(tx, recipient, batch_rules.COUNT_LIMIT)
        if waiting_count is None
        else waiting_count - len(selection),
        at=tx.now,
    )


def _check_holder(id: str, owner: str, fence: int) -> None:
    """Refuse values that no claim can have, before the database refuses them with an error of its own."""
    ids.check("clm", id)
    claim_rules.check_owner(owner)
    if not 0 < fence < 2**63:
        raise Invalid(f"{fence} is not a fence")


def _end_claim(tx: Transaction, id: str, owner: str, fence: int, outcome: str, recipient: str | None) -> EndedClaim:
    """End a claim, and return it."""
    _check_claim(tx, id, owner, fence, recipient)
    ended_claim = items.end_claim(tx, id, owner, fence, outcome)
    if ended_claim is None:
        raise _build_claim_error(tx, id)
    return ended_claim


def _check_claim(tx: Transaction, id: str, owner: str, fence: int, recipient: str | None) -> None:
    """With `recipient`, refuse a claim on another inbox in the same words as one that does not exist."""
    _check_holder(id, owner, fence)
    stored_claim = items.read_claim(tx, id) if recipient is not None else None
    if recipient is not None and (stored_claim is None or stored_claim.recipient != recipient):
        raise NotFound(f"there is no claim {id!r} in the inbox of {recipient!r}")


def _build_claim_error(tx: Transaction, id: str) -> NotFound | Conflict:
    stored_claim = items.read_claim(tx, id)
    if stored_claim is None:
        return NotFound(f"there is no claim {id!r}")
    if stored_claim.outcome == "lapsed":
        return Conflict(f"the claim {id!r} lapsed: it was held too long, and its items went to the next reader")
    if stored_claim.outcome:
        return Conflict(f"the claim {id!r} was {stored_claim.outcome} already")
    return Conflict(f"the claim {id!r} belongs to {stored_claim.owner!r} with fence {stored_claim.fence}")
