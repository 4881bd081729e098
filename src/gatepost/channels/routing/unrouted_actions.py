"""
Messages that nobody got: keep them with the reason, and discard them. `channels/intake_actions.py` replays them.

They are apart from the dead letters of inboxes, because they were never in one.
"""

from typing import Final

from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.routing import actions as routing, rows as route_rules
from gatepost.channels.routing.rule import EventFields, Unrouted, UnroutedOutcome, UnroutedReason
from gatepost.channels.triggers import rows as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core import json_limits as strict
from gatepost.core.ports import Transaction
from gatepost.core.times import HOUR
from gatepost.directory import entity_actions as directory
from gatepost.errors import Conflict
from gatepost.inbox.event import Event, EventType
from gatepost.inbox.push import actions as push

#: what the data of an event has of its envelope and its trigger
_ENVELOPE_FIELDS: Final = frozenset(
    ("channel", "sessionId", "metadata", "serviceName", "payload", "senderName", "context", "edited")
)


def keep(
    tx: Transaction,
    trigger: Trigger | None,
    envelope: Envelope,
    reason: UnroutedReason,
    dedup_key: str,
    fields: EventFields,
    sender: int | None,
) -> str | None:
    """
    Keep a message that nobody gets, and tell the owner of its trigger once an hour. Return the id under which it is
    kept; None if it was kept before. A schedule says the same in each slot, so only one message of it waits.
    """
    number = trigger.number if trigger is not None else None
    strict.encode_json(envelope.payload, "payload", tx.limits.data)
    strict.encode_json(fields.details, "details", tx.limits.data)
    id = None
    has_waiting = trigger is not None and trigger.provider == "cron" and route_rules.has_unrouted(tx, trigger.number)
    if not has_waiting:
        id = route_rules.insert_unrouted(tx, number, envelope, reason, dedup_key, fields, sender=sender)
        if id is None:
            return None
    name = trigger.name if trigger is not None else envelope.channel
    text = f"a message of {name!r} reached nobody ({reason.value}): `gatepost trigger dead` lists what is kept"
    topic = f"unrouted:{name}:{tx.now // HOUR}"
    owners = routing.find_owners(tx, trigger)
    push.push_alerts(tx, [push.build_alert(owner.name, text, topic, source=name) for owner in owners])
    return id


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
    trigger = triggers.find(tx, event.source)
    sender = directory.find_number(tx, event.sender.name) if event.sender is not None else None
    return keep(tx, trigger, envelope, UnroutedReason.NO_TARGET, dedup_key, fields, sender)


def discard(tx: Transaction, id: str, *, by: str | None) -> Unrouted:
    """Discard a message that nobody got: it is marked as handled, and not routed."""
    unrouted = routing.show_unrouted(tx, id, by=by)
    if unrouted.handled_at is not None:
        raise build_conflict(unrouted)
    set_handled(tx, unrouted, UnroutedOutcome.DISCARDED, by)
    return routing.show_unrouted(tx, id, by=by)


def set_handled(tx: Transaction, unrouted: Unrouted, outcome: UnroutedOutcome, by: str | None) -> None:
    """Save what became of a message, and who decided it."""
    handler = directory.find_live(tx, by or directory.ADMINISTRATOR)
    if not route_rules.set_handled(tx, unrouted.number, outcome, handler.number):
        raise Conflict(f"the message {unrouted.id!r} was replayed or discarded at the same moment")


def build_conflict(unrouted: Unrouted) -> Conflict:
    """Return the error for a message that was replayed or discarded before."""
    outcome = unrouted.outcome or UnroutedOutcome.REPLAYED
    return Conflict(f"the message {unrouted.id!r} was {outcome.value} by {unrouted.handled_by!r} already")
