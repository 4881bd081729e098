"""
Unrouted messages: they came through a trigger or a chat, and nobody got them. Keep them with the reason, list and
discard them. `replay_unrouted` of `channels/intake_actions.py` routes one again. Tools call them `dead_letters`.

An item of an inbox that is `dead` is something else: it was in an inbox, and its recipient failed to handle it.
"""

from typing import Final

import msgspec

from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.routing import rule_actions as routing_rules
from gatepost.channels.routing.api import EventFields, UnroutedMessage, UnroutedOutcome, UnroutedReason
from gatepost.channels.triggers import actions as triggers, rows as trigger_rows
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core import json_limits as strict, typed_json
from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import HOUR
from gatepost.directory import entity_actions as directory
from gatepost.errors import Conflict, NotFound
from gatepost.inbox.event import Event, EventType
from gatepost.inbox.push import actions as push
from gatepost.stores.row_mapping import Mapper, fetch_number

#: what the data of an event has of its envelope and its trigger
_ENVELOPE_FIELDS: Final = frozenset(
    ("channel", "sessionId", "metadata", "serviceName", "payload", "senderName", "context", "edited")
)


def decode_envelope(text: str) -> Envelope:
    return typed_json.decode(text, Envelope)


def decode_event(text: str) -> EventFields:
    return typed_json.decode(text, EventFields)


_MESSAGE: Final = Mapper(UnroutedMessage, envelope=decode_envelope, event=decode_event)
_NO_FIELDS: Final = EventFields()


def keep(
    tx: Transaction,
    trigger: Trigger | None,
    envelope: Envelope,
    reason: UnroutedReason,
    dedup_key: str,
    fields: EventFields,
    sender: int | None,
    missing: str | None = None,
) -> str | None:
    """
    Keep an unrouted message, and tell the owner of its trigger once an hour. Return the id under which it is
    kept; None if it was kept before. A schedule says the same in each slot, so only one message of it waits. `missing`
    is what it lacks.
    """
    number = trigger.number if trigger is not None else None
    strict.encode_json(envelope.payload, "payload", tx.policy.data)
    strict.encode_json(fields.details, "details", tx.policy.data)
    id = None
    is_schedule = trigger is not None and trigger.provider == "cron"
    if not is_schedule or tx.fetch_one("channels/route_rules/has_unrouted", trigger=number) is None:
        id = insert(tx, number, envelope, reason, dedup_key, fields, sender=sender)
        if id is None:
            return None
    name = trigger.name if trigger is not None else envelope.channel
    problem = f"lacks {missing!r}, which its trigger requires" if missing else f"reached nobody ({reason.value})"
    text = f"a message of {name!r} {problem}: `gatepost trigger dead` lists what is kept"
    if reason is UnroutedReason.NO_ROUTE and (trigger is None or trigger.is_channel):
        text += ", and `gatepost init --template viable-system` makes agents who get what people write"
    topic = f"unrouted:{name}:{tx.now // HOUR}"
    owners = triggers.find_owners(tx, trigger)
    push.push_alerts(tx, [push.build_alert(owner.name, text, topic, source=name) for owner in owners])
    return id


def insert(
    tx: Transaction,
    trigger: int | None,
    envelope: Envelope,
    reason: UnroutedReason,
    dedup_key: str | None,
    event: EventFields = _NO_FIELDS,
    *,
    sender: int | None = None,
) -> str | None:
    """Return the id of a new unrouted message; None if it is here already."""
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


def keep_event(tx: Transaction, event: Event, dedup_key: str) -> str | None:
    """Keep a message that was routed and then had nobody to go to; return the id under which it is kept."""
    assert event.route is not None
    data = event.data if isinstance(event.data, dict) else {}
    metadata = data.get("metadata")
    is_user_channel = event.type is EventType.CHANNEL
    envelope = Envelope(
        channel=event.route.channel,
        session=event.route.session,
        kind=EnvelopeKind.TEXT if is_user_channel else EnvelopeKind.EVENT,
        content=event.content,
        payload=None if is_user_channel else data.get("payload"),
        metadata=metadata if isinstance(metadata, dict) else {},
    )
    fields = EventFields(
        subject=event.subject,
        ref=event.ref,
        priority=event.priority,
        details={name: value for name, value in data.items() if name not in _ENVELOPE_FIELDS},
    )
    trigger = trigger_rows.find(tx, event.source)
    sender = directory.find_number(tx, event.sender.name) if event.sender is not None else None
    return keep(tx, trigger, envelope, UnroutedReason.NO_TARGET, dedup_key, fields, sender)


def has_key(tx: Reader, dedup_key: str) -> bool:
    """Return True if a message with this dedup key is, or was, unrouted."""
    return tx.fetch_one("channels/route_rules/has_unrouted_key", dedup_key=dedup_key) is not None


def list_page(
    tx: Reader, *, by: str | None, handled: bool = False, after: int = 0, limit: int = 100
) -> list[UnroutedMessage]:
    """Return unrouted messages, the oldest first; with `handled`, those that were replayed or discarded, too."""
    routing_rules.require_right(tx, by)
    return _MESSAGE.fetch_page(tx, "channels/route_rules/list_unrouted", has_handled=handled, after=after, limit=limit)


def count(tx: Reader) -> int:
    """Return how many unrouted messages were neither replayed nor discarded."""
    return fetch_number(tx, "channels/route_rules/count_unrouted")


def show(tx: Reader, id: str, *, by: str | None) -> UnroutedMessage:
    routing_rules.require_right(tx, by)
    message = _MESSAGE.fetch_one(tx, "channels/route_rules/find_unrouted", id=id)
    if message is None:
        raise NotFound(f"there is no unrouted message {id!r}", hint="`gatepost trigger dead` lists them")
    return message


def discard(tx: Transaction, id: str, *, by: str | None) -> UnroutedMessage:
    """Discard an unrouted message: it is marked as handled, and not routed."""
    set_handled(tx, show(tx, id, by=by), UnroutedOutcome.DISCARDED, by)
    return show(tx, id, by=by)


def check_open(message: UnroutedMessage) -> None:
    """Refuse an unrouted message that was replayed or discarded before."""
    if message.handled_at is not None:
        outcome = message.outcome or UnroutedOutcome.REPLAYED
        raise Conflict(f"the message {message.id!r} was {outcome.value} by {message.handled_by!r} already")


def set_handled(tx: Transaction, message: UnroutedMessage, outcome: UnroutedOutcome, by: str | None) -> None:
    """Save what became of an unrouted message, and who decided it."""
    check_open(message)
    handler = directory.find_live(tx, by or directory.ADMINISTRATOR)
    values = {"number": message.number, "outcome": outcome, "handled_by": handler.number, "now": tx.now}
    if not tx.execute("channels/route_rules/set_handled", **values):
        raise Conflict(f"the message {message.id!r} was replayed or discarded at the same moment")
