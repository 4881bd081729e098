"""Records: what is read out for an export only, and stored as it was."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gatepost.core.event import EventType, Priority, Push, Receipt, Ref, Route, Trust
from gatepost.core.gate import Gate
from gatepost.core.key import Key
from gatepost.core.plan import Plan
from gatepost.core.record import EventRecord, ItemRecord, KeyRecord, MemberRecord, TriggerRecord
from gatepost.core.space import Space
from gatepost.core.times import Instant
from gatepost.ports import Reader, Row, Transaction
from gatepost.tables.events import zip_columns
from gatepost.tables.rows import Mapper, get_columns

_KEY: Final = Mapper(Key)
_ITEM: Final = Mapper(ItemRecord, apart="recipient event key receipt")
_COLUMNS = (  # noqa: SIM905
    "recipient arrival dedup_key priority sender_is_person source expires_at wakes state attempts seen_at ended_at size"
).split()
#: recipient, arrival, key, priority, whether a person sent it, source, expiry, whether it wakes, state, attempts,
#: when it was seen, when it ended, size
OldItem = tuple[
    int, int, str | None, int, bool, str, Instant | None, bool, str, int, Instant | None, Instant | None, int
]


def count_events(tx: Reader) -> int:
    row = tx.fetch_one("events/count")
    assert row is not None
    return int(row[0])


def events(tx: Reader, after: int, most: int) -> list[tuple[int, EventRecord]]:
    """Events in order of arrival, each with its arrival."""
    return [(row[0], _event(row)) for row in tx.fetch_all("events/page", after=after, limit=most)]


def arrivals_of(tx: Reader, ids: Sequence[str]) -> dict[str, int]:
    """The arrivals of those of these events that there are."""
    return {row[0]: row[1] for row in tx.fetch_all("events/by_ids", ids=list(ids))}


def items(
    tx: Reader, first: int, last: int, *, arrival: int, recipient: int, most: int
) -> list[tuple[int, int, ItemRecord]]:
    """The items of the events that arrived from first to last, after one of them; with arrival and recipient."""
    rows = tx.fetch_all(
        "items/between", first=first, last=last, arrival=arrival, recipient=recipient, now=tx.now, limit=most
    )
    return [(row[0], row[1], _item(row)) for row in rows]


def present(tx: Reader, arrivals: Sequence[int]) -> set[tuple[int, int]]:
    """The (arrival, recipient) of every item of these events."""
    return {(row[0], row[1]) for row in tx.fetch_all("items/present", arrivals=sorted(set(arrivals)))}


def awaited(tx: Reader, arrivals: Sequence[int]) -> set[tuple[int, int]]:
    """The (arrival, recipient) of every item that these broadcasts will still become."""
    return {(row[0], row[1]) for row in tx.fetch_all("items/awaited", arrivals=sorted(set(arrivals)))}


def restore(tx: Transaction, rows: Sequence[OldItem]) -> None:
    """Store items in whatever state they were in, but for those that are there and for repeats of a key."""
    tx.execute_many("items/restore", dict(zip(_COLUMNS, zip_columns(rows), strict=True)))


def attach(tx: Transaction, recipient: int, arrival: int, claim: int) -> None:
    """Give an item its receipt."""
    tx.execute("items/attach", recipient=recipient, arrival=arrival, claim=claim)


def count_messages(tx: Reader) -> int:
    row = tx.fetch_one("messages/count")
    assert row is not None
    return int(row[0])


def members(tx: Reader, space: Space) -> list[MemberRecord]:
    """Everybody in a space, the retired too."""
    rows = tx.fetch_all("members/everybody", space=space.number)
    return [MemberRecord(space=space.id, name=row.name, joined_at=row.joined_at, read=row.last_read) for row in rows]


def keys(tx: Reader, after: int, most: int) -> list[tuple[int, KeyRecord]]:
    """Keys in the order in which they were made, each with its number."""
    return [(row[0], _key(row)) for row in tx.fetch_all("keys/page", after=after, limit=most)]


def date_space(tx: Transaction, space: int, record: Space) -> None:
    """Say since when there is a space that was made elsewhere, and since when it is only read."""
    tx.execute("spaces/date", number=space, created_at=record.created_at, archived_at=record.archived_at)


def numbers_of(tx: Reader, ids: Sequence[str]) -> dict[str, int]:
    """The numbers of those of these messages that there are."""
    return {row[0]: row[1] for row in tx.fetch_all("messages/by_ids", ids=list(ids))}


def join(tx: Transaction, space: int, entity: int, joined_at: Instant, read_seq: int) -> None:
    """Make somebody a member as they were elsewhere, unless they are one."""
    row = {"space": [space], "entity": [entity], "joined_at": [joined_at], "read_seq": [read_seq]}
    tx.execute_many("members/insert", row)


def last_until(tx: Reader, at: Instant) -> int:
    """The arrival of the last event that was made no later."""
    row = tx.fetch_one("events/last_until", at=at)
    assert row is not None
    return int(row[0])


def date_gate(tx: Transaction, number: int, gate: Gate, by: int | None) -> None:
    """Say what has become of a gate that was made elsewhere, and by whom it was ended."""
    ended = gate.resolution
    tx.execute(
        "gates/date",
        number=number,
        trouble=gate.trouble,
        escalated_at=gate.escalated_at,
        ended_at=ended.at if ended else None,
    )
    if ended is not None:
        tx.execute(
            "resolutions/insert", gate=number, ending=ended.ending, reason=ended.reason, ended_by=by, now=ended.at
        )


def restore_plan(tx: Transaction, plan: Plan, owner: int, gate: int | None) -> bool:
    """Say whether it is new."""
    stored = tx.execute(
        "plans/restore",
        **get_columns(
            plan, "id name instruction cron zone catch_up status next_at hops last_at fired created_at ended_at"
        ),
        owner=owner,
        gate=gate,
    )
    return stored == 1


def restore_trigger(tx: Transaction, record: TriggerRecord, owner: int | None) -> bool:
    """Say whether it is new; without its secret it is closed."""
    trigger = record.trigger
    stored = tx.execute(
        "triggers/insert",
        **get_columns(trigger, "name provider scheme target prompt"),
        id=tx.new_id("trg"),
        secret=record.secret,
        owner=owner,
        active=trigger.active and record.secret is not None,
        now=trigger.created_at,
    )
    return stored == 1


def restore_key(tx: Transaction, record: KeyRecord, entity: int | None) -> bool:
    """Say whether it is new."""
    key = record.key
    stored = tx.execute(
        "keys/restore",
        **get_columns(key, "id prefix kind trigger name created_at revoked_at"),
        hash=record.hash,
        entity=entity,
    )
    return stored == 1


def _key(row: Row) -> KeyRecord:
    return KeyRecord(replace(_KEY.read(row), number=0), row.hash)


def _event(row: Row) -> EventRecord:
    _, id, type, source, sender, subject, content, data, priority, created_at, *rest = row
    ref_type, ref_id, channel, session, hops, trust, occurred_at = rest
    wish = Push(
        to="",
        type=EventType(type),
        source=source,
        sender=sender,
        subject=subject,
        content=content,
        data=json.loads(data) if data is not None else None,
        priority=Priority(priority),
        occurred_at=occurred_at,
        ref=Ref(ref_type, ref_id) if ref_type else None,
        route=Route(channel, session) if channel else None,
        hops=hops,
        trust=Trust(trust),
    )
    return EventRecord(id, created_at, wish)


def _item(row: Row) -> ItemRecord:
    receipt = Receipt(row.claim_kind, row.claim_owner, row.ended_at or row.claim_at) if row.claim_kind else None
    return _ITEM.read(row, recipient=row.recipient_name, event=row.id, key=row.dedup_key, receipt=receipt)
