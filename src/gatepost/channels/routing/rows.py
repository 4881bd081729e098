"""Routing rules, and the messages that nobody got."""

import json
from typing import Final

import msgspec

from gatepost.channels.envelope import Envelope
from gatepost.channels.routing.rule import EventFields, RouteRule, RouteSpec, Unrouted, UnroutedOutcome, UnroutedReason
from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Transaction
from gatepost.stores.row_mapping import Mapper, fetch_number


def decode_filters(text: str) -> dict[str, Json]:
    return msgspec.json.decode(text, type=dict[str, Json])


def decode_targets(text: str) -> tuple[str, ...]:
    return msgspec.json.decode(text, type=tuple[str, ...])


def decode_envelope(text: str) -> Envelope:
    return msgspec.json.decode(text, type=Envelope)


def decode_event(text: str) -> EventFields:
    return msgspec.json.decode(text, type=EventFields)


_RULE: Final = Mapper(RouteRule, filters=decode_filters, targets=decode_targets)
_UNROUTED: Final = Mapper(Unrouted, envelope=decode_envelope, event=decode_event)
_NO_FIELDS: Final = EventFields()
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def insert(tx: Transaction, spec: RouteSpec, *, made_by: int) -> str | None:
    """Return the id of the new rule; None if its name is taken."""
    id = tx.new_id("rule")
    row_count = tx.execute("channels/route_rules/insert", id=id, **_get_columns(spec), made_by=made_by, now=tx.now)
    return id if row_count else None


def find(tx: Reader, id: str) -> RouteRule | None:
    """Return the rule with this id or name."""
    return _RULE.fetch_one(tx, "channels/route_rules/find", id=id)


def list_page(tx: Reader, *, after: int, limit: int) -> list[RouteRule]:
    """Return rules in the order in which they were made."""
    return _RULE.fetch_page(tx, "channels/route_rules/list_page", after=after, limit=limit)


def list_active(tx: Reader, channel: str) -> list[RouteRule]:
    """Return the active rules for a channel, the highest rank first."""
    return _RULE.fetch_all(tx, "channels/route_rules/list_active", channel=channel)


def update(tx: Transaction, number: int, spec: RouteSpec) -> None:
    tx.execute("channels/route_rules/update", number=number, **_get_columns(spec), now=tx.now)


def delete(tx: Transaction, number: int) -> None:
    tx.execute("channels/route_rules/delete", number=number)


def insert_unrouted(
    tx: Transaction,
    trigger: int | None,
    envelope: Envelope,
    reason: UnroutedReason,
    dedup_key: str | None,
    event: EventFields = _NO_FIELDS,
    *,
    sender: int | None = None,
) -> str | None:
    """Keep a message that nobody gets; return its id, None if it is here already."""
    id = tx.new_id("dead")
    row_count = tx.execute(
        "channels/route_rules/insert_unrouted",
        id=id,
        trigger=trigger,
        sender=sender,
        dedup_key=dedup_key,
        envelope=msgspec.json.encode(envelope).decode(),
        event=msgspec.json.encode(event).decode(),
        reason=reason,
        now=tx.now,
    )
    return id if row_count else None


def has_unrouted_key(tx: Reader, dedup_key: str) -> bool:
    return tx.fetch_one("channels/route_rules/has_unrouted_key", dedup_key=dedup_key) is not None


def has_unrouted(tx: Reader, trigger: int) -> bool:
    """Return True if a message of a trigger waits to be replayed or discarded."""
    return tx.fetch_one("channels/route_rules/has_unrouted", trigger=trigger) is not None


def find_unrouted(tx: Reader, id: str) -> Unrouted | None:
    return _UNROUTED.fetch_one(tx, "channels/route_rules/find_unrouted", id=id)


def list_unrouted(tx: Reader, *, handled: bool, after: int, limit: int) -> list[Unrouted]:
    """Return messages that nobody got, the oldest first; with `handled`, those that were replayed or discarded, too."""
    return _UNROUTED.fetch_page(tx, "channels/route_rules/list_unrouted", has_handled=handled, after=after, limit=limit)


def count_unrouted(tx: Reader) -> int:
    return fetch_number(tx, "channels/route_rules/count_unrouted")


def set_handled(tx: Transaction, number: int, outcome: UnroutedOutcome, handled_by: int) -> bool:
    """Return False if it was replayed or discarded before."""
    row_count = tx.execute(
        "channels/route_rules/set_handled", number=number, outcome=outcome, handled_by=handled_by, now=tx.now
    )
    return row_count == 1


def forget_trigger(tx: Transaction, trigger: int) -> None:
    """Keep the messages of a trigger that is deleted."""
    tx.execute("channels/route_rules/forget_trigger", trigger=trigger)


def _get_columns(spec: RouteSpec) -> dict[str, object]:
    return {
        "name": spec.name,
        "channel": spec.channel,
        "filters": _encode(dict(spec.filters)),
        "targets": _encode(list(spec.targets)),
        "rank": spec.rank,
        "active": spec.active,
    }
