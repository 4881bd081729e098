"""Records: what is read out for an export only, and stored as it was."""

import json
from collections.abc import Sequence
from typing import Final

from gatepost.core.event import Priority, Push, Receipt, Ref, Route, Trust, Type
from gatepost.core.gate import Gate
from gatepost.core.instants import Instant
from gatepost.core.key import Key
from gatepost.core.plan import Plan
from gatepost.core.record import EventRecord, ItemRecord, KeyRecord, MemberRecord, TriggerRecord
from gatepost.core.space import Space
from gatepost.ports.store import Reader, Row, Work
from gatepost.tables.events import zip_columns
from gatepost.tables.rows import Columns, columns

_KEY: Final = Columns(Key, "id prefix kind entity trigger name created_at revoked_at")
_ITEM: Final = Columns(ItemRecord, "recipient event state key expires_at wakes attempts seen_at ended_at")
_COLUMNS = (  # noqa: SIM905
    "recipient arrival dedup_key priority sender_is_person source expires_at wakes state attempts seen_at ended_at size"
).split()
#: recipient, arrival, key, priority, whether a person sent it, source, expiry, whether it wakes, state, attempts,
#: when it was seen, when it ended, size
OldItem = tuple[
    int, int, str | None, int, bool, str, Instant | None, bool, str, int, Instant | None, Instant | None, int
]


def count_events(reader: Reader) -> int:
    row = reader.one("events/count")
    assert row is not None
    return int(row[0])


def events(reader: Reader, after: int, most: int) -> list[tuple[int, EventRecord]]:
    """Events in order of arrival, each with its arrival."""
    return [(row[0], _event(row)) for row in reader.all("events/page", after=after, most=most)]


def arrivals_of(reader: Reader, ids: Sequence[str]) -> dict[str, int]:
    """The arrivals of those of these events that there are."""
    return {row[0]: row[1] for row in reader.all("events/by_ids", ids=list(ids))}


def items(
    reader: Reader, first: int, last: int, *, arrival: int, recipient: int, most: int
) -> list[tuple[int, int, ItemRecord]]:
    """The items of the events that arrived from first to last, after one of them; with arrival and recipient."""
    rows = reader.all(
        "items/between", first=first, last=last, arrival=arrival, recipient=recipient, now=reader.now, most=most
    )
    return [(row[0], row[1], _item(row)) for row in rows]


def present(reader: Reader, arrivals: Sequence[int]) -> set[tuple[int, int]]:
    """The (arrival, recipient) of every item of these events."""
    return {(row[0], row[1]) for row in reader.all("items/present", arrivals=sorted(set(arrivals)))}


def awaited(reader: Reader, arrivals: Sequence[int]) -> set[tuple[int, int]]:
    """The (arrival, recipient) of every item that these broadcasts will still become."""
    return {(row[0], row[1]) for row in reader.all("items/awaited", arrivals=sorted(set(arrivals)))}


def restore(work: Work, rows: Sequence[OldItem]) -> None:
    """Store items in whatever state they were in, but for those that are there and for repeats of a key."""
    work.many("items/restore", dict(zip(_COLUMNS, zip_columns(rows), strict=True)))


def attach(work: Work, recipient: int, arrival: int, claim: int) -> None:
    """Give an item its receipt."""
    work.run("items/attach", recipient=recipient, arrival=arrival, claim=claim)


def count_messages(reader: Reader) -> int:
    row = reader.one("messages/count")
    assert row is not None
    return int(row[0])


def members(reader: Reader, space: Space) -> list[MemberRecord]:
    """Everybody in a space, the retired too."""
    rows = reader.all("members/everybody", space=space.number)
    return [MemberRecord(space=space.id, name=name, joined_at=at, read=read) for name, at, read in rows]


def keys(reader: Reader, after: int, most: int) -> list[tuple[int, KeyRecord]]:
    """Keys in the order in which they were made, each with its number."""
    return [(row[0], _key(row)) for row in reader.all("keys/page", after=after, most=most)]


def date_space(work: Work, space: int, record: Space) -> None:
    """Say since when there is a space that was made elsewhere, and since when it is only read."""
    work.run("spaces/date", number=space, created_at=record.created_at, archived_at=record.archived_at)


def numbers_of(reader: Reader, ids: Sequence[str]) -> dict[str, int]:
    """The numbers of those of these messages that there are."""
    return {row[0]: row[1] for row in reader.all("messages/by_ids", ids=list(ids))}


def join(work: Work, space: int, entity: int, joined_at: Instant, read_seq: int) -> None:
    """Make somebody a member as they were elsewhere, unless they are one."""
    row = {"space": [space], "entity": [entity], "joined_at": [joined_at], "read_seq": [read_seq]}
    work.many("members/insert", row)


def last_until(reader: Reader, at: Instant) -> int:
    """The arrival of the last event that was made no later."""
    row = reader.one("events/last_until", at=at)
    assert row is not None
    return int(row[0])


def date_gate(work: Work, number: int, gate: Gate, by: int | None) -> None:
    """Say what has become of a gate that was made elsewhere, and by whom it was ended."""
    ended = gate.resolution
    work.run(
        "gates/date",
        number=number,
        trouble=gate.trouble,
        escalated_at=gate.escalated_at,
        ended_at=ended.at if ended else None,
    )
    if ended is not None:
        work.run("resolutions/insert", gate=number, ending=ended.ending, reason=ended.reason, ended_by=by, now=ended.at)


def restore_plan(work: Work, plan: Plan, owner: int, gate: int | None) -> bool:
    """Say whether it is new."""
    stored = work.run(
        "plans/restore",
        **columns(plan, "id name instruction cron zone catch_up status next_at hops last_at fired created_at ended_at"),
        owner=owner,
        gate=gate,
    )
    return stored == 1


def restore_trigger(work: Work, record: TriggerRecord, owner: int | None) -> bool:
    """Say whether it is new; without its secret it is closed."""
    trigger = record.trigger
    stored = work.run(
        "triggers/insert",
        **columns(trigger, "name provider scheme target prompt"),
        id=work.id("trg"),
        secret=record.secret,
        owner=owner,
        active=trigger.active and record.secret is not None,
        now=trigger.created_at,
    )
    return stored == 1


def restore_key(work: Work, record: KeyRecord, entity: int | None) -> bool:
    """Say whether it is new."""
    key = record.key
    stored = work.run(
        "keys/restore",
        **columns(key, "id prefix kind trigger name created_at revoked_at"),
        hash=record.hash,
        entity=entity,
    )
    return stored == 1


def _key(row: Row) -> KeyRecord:
    _, id, prefix, hash, *rest = row
    return KeyRecord(_KEY.read((id, prefix, *rest)), hash)


def _event(row: Row) -> EventRecord:
    _, id, type, source, sender, subject, content, data, priority, created_at, *rest = row
    ref_type, ref_id, channel, session, hops, trust, occurred_at = rest
    wish = Push(
        to="",
        type=Type(type),
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
    kind, owner, at = row[11:]
    ended_at = row[10]
    return _ITEM.read(row[2:11], receipt=Receipt(kind, owner, ended_at or at) if kind else None)
