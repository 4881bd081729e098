"""
Items, one event in one inbox each, and the claims on them. A claim locks the row of its inbox, which has the fence and
the broadcast cursor.

Pending items are in one table, in the order in which they get into a batch, and items that are not pending any more are
in another (`take_later` and others move them). The keys of both are in a third.

A list of items (`list_page`) has several parts: the pending items of each priority, those that are past, and the
broadcasts that agents have not taken yet, each as the item that it will be. Each part is read by a statement of its own
in its order, and they are merged here: a query over all would make the database sort all items. A transaction that
reads sees all at one moment. A peek has another order, by priority and arrival: one statement reads the first items of
each priority, of people and of machines, and merges them.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypedDict

from msgspec.structs import replace

from gatepost.core.ports import Reader, Row, Transaction
from gatepost.core.signals import Position
from gatepost.core.times import CLOCK_TOLERANCE, Instant
from gatepost.directory.entity import EntityKind
from gatepost.inbox.batch_selection import Candidate, StoredState
from gatepost.inbox.claimed_batch import Claim, EndedClaim
from gatepost.inbox.event import Event, EventType, Item, ItemState, Priority, Receipt, Ref, Route, Sender, Trust
from gatepost.inbox.event_rows import find_first_arrival
from gatepost.stores.row_mapping import Mapper, fetch_number, fetch_row, load_json, zip_columns

ITEM_COLUMNS: Final = "recipient arrival dedup_key priority sender_is_person source expires_at wakes size"
_PENDING_COLUMNS: Final = "recipient arrival priority is_from_machine source expires_at wakes size"

#: items among which the prompts of a channel session are looked for
_MAX_PROMPT_ITEMS: Final = 1_000
#: bytes by which a line gets longer that says how often its event came
_TIMES_LENGTH: Final = 24
#: after every arrival
_END: Final = 2**62
#: by their values: to call the class takes as long as everything else about an item
_TYPES: Final = {type.value: type for type in EventType}
_KINDS: Final = {kind.value: kind for kind in EntityKind}
_PRIORITIES: Final = {priority.value: priority for priority in Priority}
_TRUSTS: Final = {trust.value: trust for trust in Trust}
_STATES: Final = {state.value: state for state in ItemState}

#: the values of `ITEM_COLUMNS`
NewItem = tuple[int, int, str | None, int, bool, str, Instant | None, bool, int]
_CLAIM: Final = Mapper(Claim)


def insert(tx: Transaction, rows: Sequence[NewItem]) -> None:
    """Store pending items, which have taken their keys."""
    values = [
        (recipient, arrival, priority, not is_person, *rest)
        for recipient, arrival, _, priority, is_person, *rest in rows
    ]
    tx.execute_many_later("inbox/items/insert", zip_columns(_PENDING_COLUMNS, values))


def count_repeat(tx: Transaction, recipients: Sequence[int], key: str) -> dict[int, int]:
    """Count a repeat of the pending items with this key; return how often each has come, by recipient."""
    rows = tx.fetch_all(
        "inbox/item_changes/count_repeat", recipients=list(recipients), dedup_key=key, growth=_TIMES_LENGTH
    )
    return {row.recipient: row.times for row in rows}


class SessionPrompt(NamedTuple):
    """An event by which somebody wrote in a channel session."""

    id: str
    channel: str
    source: str


def list_last_prompts(tx: Reader, recipient: int, session: str) -> list[SessionPrompt]:
    """Return the prompts of a channel session among the last items of a recipient, the newest first."""
    rows = tx.fetch_all("inbox/items/list_last_prompts", recipient=recipient, session=session, limit=_MAX_PROMPT_ITEMS)
    return [SessionPrompt(row.id, row.channel, row.source) for row in rows]


def list_candidates(tx: Reader, recipient: int, limit: int) -> list[Candidate]:
    return list_candidates_later(tx, recipient, limit)()


def list_candidates_later(tx: Reader, recipient: int | str, limit: int) -> Callable[[], list[Candidate]]:
    """Return a function that returns them, once another statement has run; a recipient may be given by name."""
    number, name = (None, recipient) if isinstance(recipient, str) else (recipient, None)
    fetch = tx.fetch_later("inbox/items/list_candidates", recipient=number, name=name, now=tx.now, limit=limit)
    return lambda: build_candidates(fetch())


def list_candidates_at(tx: Reader, recipient: int, arrivals: Sequence[int]) -> list[Candidate]:
    """Return the pending ones of these items, the expired ones too."""
    rows = (
        tx.fetch_all("inbox/items/list_candidates_at", recipient=recipient, arrivals=arrivals, now=tx.now)
        if arrivals
        else []
    )
    return build_candidates(rows)


def read_states(tx: Reader, recipient: int, keys: Sequence[str], events: Sequence[str]) -> dict[str, StoredState]:
    """Return the states of items, by their keys and by the ids of their events."""
    states: dict[str, StoredState] = {}
    rows = tx.fetch_all("inbox/items/read_states", recipient=recipient, keys=list(keys), events=list(events))
    for row in rows:
        is_hidden = row.hidden_until is not None and row.hidden_until > tx.now
        state = StoredState(arrival=row.arrival, state=find_state(row, tx.now), is_hidden=is_hidden)
        states |= {row.event: state} | ({row.dedup_key: state} if row.dedup_key is not None else {})
    return states


def count_pending(tx: Reader, recipient: int, limit: int) -> int:
    """Count the pending items of a recipient, up to a limit."""
    return fetch_number(tx, "inbox/items/count_pending", recipient=recipient, now=tx.now, limit=limit)


def count_fyi(tx: Reader, recipient: int, limit: int) -> int:
    """Count the pending fyi items of a recipient, up to a limit."""
    return fetch_number(tx, "inbox/items/count_fyi", recipient=recipient, now=tx.now, limit=limit)


def has_pending_key(tx: Reader, recipient: int, source: str, key_prefix: str) -> bool:
    """Return True if an item of this source is pending whose dedup key begins like this."""
    pattern = f"{key_prefix}%"
    row = tx.fetch_one("inbox/items/has_pending_key", recipient=recipient, source=source, pattern=pattern, now=tx.now)
    return row is not None


def read(tx: Reader, recipient: int, arrivals: Sequence[int]) -> list[Item]:
    """Return items with their events, in the order in which they are shown."""
    return [build_item(row) for row in tx.fetch_all("inbox/items/read", recipient=recipient, arrivals=list(arrivals))]


def peek(
    tx: Reader, recipient: int, limit: int, type: EventType | None = None, *, after: tuple[int, int] = (-1, 0)
) -> list[Item]:
    """Return the pending items, most urgent first; `after` is the priority and the arrival of the last one seen."""
    priority, arrival = after
    rows = tx.fetch_page(
        "inbox/items/peek", recipient=recipient, type=type, priority=priority, arrival=arrival, now=tx.now, limit=limit
    )
    return [build_item(row) for row in rows]


def list_since(tx: Reader, recipient: int, after: Position, up_to: Position, limit: int) -> list[tuple[Item, Position]]:
    """Return the items after one position, up to another, each with its own; broadcasts that were not taken yet too."""
    rows = tx.fetch_page(
        "inbox/items/list_since",
        recipient=recipient,
        after_transaction=after.transaction,
        after_arrival=after.arrival,
        to_transaction=up_to.transaction,
        to_arrival=up_to.arrival,
        now=tx.now,
        limit=limit,
    )
    return [(build_item(row, tx.now), Position(row.xid, row.arrival)) for row in rows]


def list_by_event(tx: Reader, event: str, recipient: int | None = None) -> list[tuple[int, Item]]:
    """Return the items of an event, each with the number of its recipient."""
    rows = tx.fetch_all("inbox/items/list_by_event", event=event, recipient=recipient)
    numbered_items = [(row.recipient, build_item(row)) for row in rows]
    return [
        (number, replace(item, event=replace(item.event, content=rows[0].content, data=load_json(rows[0].data))))
        for number, item in numbered_items
    ]


def list_by_broadcast(tx: Reader, event: str, limit: int) -> list[Item]:
    """Return a broadcast as items of the agents that have not taken it yet."""
    return [build_item(row) for row in tx.fetch_all("inbox/items/list_by_broadcast", event=event, limit=limit)]


def take_later(
    tx: Transaction, recipient: int, arrivals: Sequence[int], claim: str, *, not_expired_at: Instant = 0
) -> Callable[[], list[int]]:
    """
    Put pending items under the claim with this id. Return a function that returns the arrivals of those that still were
    pending, and not past their time, once another statement has run.
    """
    return _leave_later(tx, recipient, arrivals, "taken", claim=claim, not_expired_at=not_expired_at)


def discard(tx: Transaction, recipient: int, arrivals: Sequence[int], *, not_expired_at: Instant = 0) -> int:
    """Discard items that are pending or dead; return how many."""
    read_pending = _leave_later(tx, recipient, arrivals, "discarded", ended_at=tx.now, not_expired_at=not_expired_at)
    dead_count = tx.execute("inbox/item_changes/discard_dead", recipient=recipient, arrivals=list(arrivals), now=tx.now)
    return len(read_pending()) + dead_count


def _leave_later(
    tx: Transaction,
    recipient: int,
    arrivals: Sequence[int],
    state: str,
    *,
    claim: str | None = None,
    ended_at: Instant | None = None,
    not_expired_at: Instant,
) -> Callable[[], list[int]]:
    place = {"recipient": recipient, "arrivals": list(arrivals)}
    fetch = tx.fetch_later(
        "inbox/item_changes/leave", **place, state=state, claim=claim, ended_at=ended_at, now=not_expired_at
    )
    tx.execute_later("inbox/item_changes/remove_pending", **place)
    return lambda: [row.arrival for row in fetch()]


def expire(tx: Transaction, limit: int) -> int:
    """Let items that are past their time expire; return how many."""
    arrivals: dict[int, list[int]] = {}
    rows = tx.fetch_all("inbox/item_changes/expire", now=tx.now, limit=limit)
    for row in rows:
        arrivals.setdefault(row.recipient, []).append(row.arrival)
    for recipient, expired in arrivals.items():
        tx.execute_later("inbox/item_changes/remove_pending", recipient=recipient, arrivals=expired)
    return len(rows)


def replay(tx: Transaction, recipient: int, item: Item) -> bool:
    """Make an item that has ended pending again; return False if it is no longer in the state in which it was read."""
    place: dict[str, Any] = {"recipient": recipient, "arrival": item.event.arrival}
    if item.state is ItemState.PENDING:  # past its time
        return tx.fetch_one("inbox/item_changes/replay_pending", **place) is not None
    row = tx.fetch_one("inbox/item_changes/replay", **place, state=item.state)
    _remove_past_later(tx, recipient, [item.event.arrival])
    return row is not None


def undo_complete(
    tx: Transaction, recipient: int, arrivals: Sequence[int], receipt: str | None, since: Instant
) -> list[int]:
    """Make items pending again that a person was done with; return their arrivals."""
    rows = tx.fetch_all(
        "inbox/item_changes/undo_complete",
        recipient=recipient,
        arrivals=list(arrivals),
        receipt=receipt,
        since=since,
    )
    undone = [row.arrival for row in rows]
    _remove_past_later(tx, recipient, undone)
    return undone


def _remove_past_later(tx: Transaction, recipient: int, arrivals: Sequence[int]) -> None:
    tx.execute_later("inbox/item_changes/remove_past", recipient=recipient, arrivals=list(arrivals))


def release(tx: Transaction, claim: int) -> int:
    """Make the items of a claim that has ended pending again; return how many."""
    count = tx.execute("inbox/item_changes/release", claim=claim)
    tx.execute_later("inbox/item_changes/remove_released", claim=claim)
    return count


def mark_seen(tx: Transaction, recipient: int, events: Sequence[str]) -> int:
    """Record that items were seen; return how many were not seen before."""
    parameters = {"recipient": recipient, "events": list(events), "now": tx.now}
    return sum(
        tx.execute(statement, **parameters)
        for statement in ("inbox/item_changes/mark_pending_seen", "inbox/item_changes/mark_past_seen")
    )


def reap(tx: Transaction, before: Instant, limit: int) -> list[tuple[int, int, str, Instant]]:
    """
    Delete items that ended before then, and their keys; return the recipient, the arrival, the state and the end of
    each.
    """
    fetch_ended = tx.fetch_later("inbox/item_changes/reap", before=before, limit=limit)
    rows = tx.fetch_all("inbox/item_changes/reap_delivered", before=before, limit=limit) + fetch_ended()
    if rows:
        columns = {"recipient": [row.recipient for row in rows], "arrival": [row.arrival for row in rows]}
        tx.execute_many_later("inbox/dedup_keys/remove", columns)
    return [(row.recipient, row.arrival, row.state, row.ended_at) for row in rows]


class ItemFilter(TypedDict, total=False):
    """The items to return; a filter that is missing or None matches all."""

    state: ItemState | None
    type: EventType | None
    priority: Priority | None
    sender: str | None
    ref: Ref | None
    #: the type of mail
    message_type: str | None
    #: the name of the sender, or, of an event without a sender, its source
    origin: str | None
    #: it is snoozed, or it is not
    hidden: bool | None
    #: the event came through this channel
    channel: str | None
    #: the event was created at this time or later
    since: Instant | None
    #: the event was created before this time
    until: Instant | None
    #: the subject or the content contains it, in capitals or not
    text: str | None


def list_page(
    tx: Reader,
    filters: ItemFilter,
    *,
    recipient: int | None,
    newest_first: bool,
    after: int,
    after_recipient: int | None,
    limit: int,
) -> list[Item]:
    """
    Return items of one inbox or of all by arrival and recipient, after an arrival; with `after_recipient` also those of
    this arrival that go to recipients after that one. With `newest_first`, go backwards: `after` is the last arrival
    seen too, and 0 is the beginning. Pending items past their time are shown as expired.
    """
    since = filters.get("since")
    # Matches may be rare, so nothing is looked for among older events; if the clock was set back a little, events that
    # seem older may come later.
    first = 1 if since is None else find_first_arrival(tx, since - CLOCK_TOLERANCE)
    parameters: dict[str, Any] = {
        **build_filter_parameters(tx, filters),
        "after": first - 1 if newest_first else max(after, first - 1),
        "before": (after or _END) if newest_first else _END,
        "limit": limit,
    }
    merged = _MergedPage(tx, newest_first)
    if recipient is not None:
        parameters["recipient"] = recipient
        merged.add(tx.fetch_page("inbox/item_lists/list_inbox_broadcasts", newest_first=newest_first, **parameters))
        merged.add(
            tx.fetch_page(
                "inbox/item_lists/list_past_newest" if newest_first else "inbox/item_lists/list_past", **parameters
            )
        )
        for row in tx.fetch_all("inbox/items/list_classes", recipient=recipient):
            section = {"class_priority": row.priority, "class_is_from_machine": row.is_from_machine}
            merged.add(
                tx.fetch_page(
                    "inbox/item_lists/list_pending_newest" if newest_first else "inbox/item_lists/list_pending",
                    **section,
                    **parameters,
                )
            )
    else:
        parameters |= {"last_arrival": after, "last_recipient": after_recipient}
        if after_recipient is not None:  # the rest of the last arrival comes first
            parameters |= {"before": after + 1} if newest_first else {"after": parameters["after"] - 1}
        merged.add(tx.fetch_page("inbox/item_lists/list_all_broadcasts", newest_first=newest_first, **parameters))
        merged.add(
            tx.fetch_page(
                "inbox/item_lists/list_all_past_newest" if newest_first else "inbox/item_lists/list_all_past",
                **parameters,
            )
        )
        merged.add(
            tx.fetch_page(
                "inbox/item_lists/list_all_pending_newest" if newest_first else "inbox/item_lists/list_all_pending",
                **parameters,
            )
        )
    return [build_item(row, tx.now) for row in merged.end(limit)]


def build_filter_parameters(tx: Reader, filters: ItemFilter) -> dict[str, Any]:
    """Return the parameters of a statement that has the part `item_filters`."""
    priority, ref, text = filters.get("priority"), filters.get("ref"), filters.get("text")
    names = ("state", "type", "message_type", "sender", "origin", "hidden", "channel", "since", "until")
    return {
        **{name: filters.get(name) for name in names},
        "priority": None if priority is None else priority.value,
        "ref_type": ref.type if ref else None,
        "ref_id": ref.id if ref else None,
        "pattern": None if text is None else f"%{text.replace('!', '!!').replace('%', '!%').replace('_', '!_')}%",
        "now": tx.now,
    }


class _MergedPage:
    """A page of several parts. It ends where the first part ends that was truncated: others would leave rows out."""

    def __init__(self, tx: Reader, newest_first: bool) -> None:
        self._tx = tx
        self._sign = -1 if newest_first else 1
        self._rows: list[Row] = []
        self._ends: list[tuple[int, int]] = []
        tx.is_truncated = False

    def add(self, rows: Sequence[Row]) -> None:
        """Add the part that was just read."""
        self._rows += rows
        if self._tx.is_truncated:
            self._ends.append(self._get_position(rows[-1]))
            self._tx.is_truncated = False

    def end(self, limit: int) -> list[Row]:
        """Return the rows of the page in order."""
        rows = sorted(self._rows, key=self._get_position)
        if self._ends:
            self._tx.is_truncated = True
            end = min(self._ends)
            rows = [row for row in rows if self._get_position(row) <= end]
        return rows[:limit]

    def _get_position(self, row: Row) -> tuple[int, int]:
        return self._sign * row.arrival, self._sign * row.recipient


def build_candidates(rows: Sequence[Row]) -> list[Candidate]:
    return [Candidate(row.arrival, row.priority, row.sender_is_person, row.source, row.size) for row in rows]


def find_state(row: Row, now: Instant) -> ItemState:
    """Return the state of an item. A pending one past its time is expired, also if the janitor has not seen it yet."""
    is_overdue = row.state == "pending" and row.expires_at is not None and row.expires_at <= now
    return ItemState.EXPIRED if is_overdue else _STATES[row.state]


def build_item(row: Row, now: Instant | None = None) -> Item:
    event = Event(
        id=row.id,
        type=_TYPES[row.type],
        source=row.source,
        sender=Sender(row.sender_name, row.sender_display, _KINDS[row.sender_kind]) if row.sender_name else None,
        subject=row.subject,
        content=row.content,
        data=load_json(row.data),
        priority=_PRIORITIES[row.priority],
        dedup_key=row.dedup_key,
        created_at=row.created_at,
        source_time=row.occurred_at,
        expires_at=row.expires_at,
        ref=Ref(row.ref_type, row.ref_id) if row.ref_type else None,
        route=Route(row.route_channel, row.route_session) if row.route_channel else None,
        hops=row.hops,
        trust=_TRUSTS[row.trust],
        wakes=row.wakes,
        times=row.times,
        arrival=row.arrival,
    )
    return Item(
        event=event,
        recipient=row.recipient_name,
        state=_STATES[row.state] if now is None else find_state(row, now),
        attempts=row.attempts,
        seen_at=row.seen_at,
        ended_at=row.ended_at,
        receipt=Receipt(kind=row.claim_kind, owner=row.claim_owner, at=row.ended_at or row.claim_at)
        if row.claim_kind
        else None,
        hidden_until=row.hidden_until if row.state == "pending" else None,
        awaits=row.awaits if row.state == "pending" else None,
    )


def lock_inbox(tx: Transaction, recipient: int) -> tuple[int, int]:
    """Lock an inbox and increment its fence; return the fence and the broadcast cursor."""
    row = fetch_row(tx, "inbox/inboxes/lock", recipient=recipient)
    return row.fence, row.cursor


def end_claim(tx: Transaction, id: str, owner: str, fence: int, outcome: str) -> EndedClaim | None:
    """End an open claim, and return it; None if it is not theirs or not open."""
    return end_claim_later(tx, id, owner, fence, outcome)()


def end_claim_later(tx: Transaction, id: str, owner: str, fence: int, outcome: str) -> Callable[[], EndedClaim | None]:
    """Return a function that returns it, once another statement has run."""
    fetch = tx.fetch_later("inbox/claims/end", id=id, owner=owner, fence=fence, outcome=outcome, now=tx.now)

    def read() -> EndedClaim | None:
        row = next(iter(fetch()), None)
        return EndedClaim(row.number, row.recipient, row.item_count, bool(row.has_awaited_mail)) if row else None

    return read


def read_claim(tx: Reader, id: str) -> Claim | None:
    return _CLAIM.fetch_one(tx, "inbox/claims/read", id=id)


def lapse_claims(tx: Transaction, recipient: int | None, limit: int) -> list[tuple[int, str]]:
    """End claims past their deadline; return the number and the recipient's name of each."""
    rows = tx.fetch_all(
        "inbox/claims/lapse", recipient=recipient, now=tx.now, future=tx.now + CLOCK_TOLERANCE, limit=limit
    )
    return [(row.number, row.recipient) for row in rows]


def reap_claims(tx: Transaction, before: Instant, limit: int) -> int:
    return tx.execute("inbox/claims/reap", before=before, limit=limit)
