"""
Push events into inboxes.

`push_all` takes many pushes and returns an outcome for each: an event with, for every recipient, whether it is a
duplicate; or an error that concerns that push alone. It runs the same few statements, however many pushes there are:

    resolve the names -> take arrivals -> check each -> items -> events -> counts and signals

`event_drafts.py` stores what was checked, and says why items come before events.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from gatepost.core import address, json_limits as strict
from gatepost.core.address import Address, AllAgentsAddress, EntityAddress, TeamAddress
from gatepost.core.limits import Limits
from gatepost.core.ports import Reader, Transaction, batched, weigh_by
from gatepost.core.text import check_storable, count_bytes
from gatepost.core.times import MAX_DURATION, MAX_INSTANT
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity, EntityKind
from gatepost.errors import GatepostError, Invalid, Refused, TooLarge, UnknownAddress
from gatepost.inbox import event_rendering as render, event_rows as events
from gatepost.inbox.event import MAX_REF_LENGTH, Event, EventType, Priority, Push, PushResult, Ref, Sender, Trust
from gatepost.inbox.item_events import Pushed
from gatepost.inbox.push import dedup_keys as dedup, draft_actions as event_drafts, hop_actions as chains
from gatepost.inbox.push.draft_actions import EventDraft

#: the dedup keys of alerts by Gatepost itself begin with it
ALERT_KEY_PREFIX: Final = "alert:gatepost:"
#: a push to a team counts as this many pushes to one recipient; the writer does not know the size of the team yet
TEAM_WEIGHT: Final = 50
#: items of all pushes in one batch
MAX_BATCH_ITEMS: Final = 10_000
#: nested arrays and objects; readers call their parser from a deeper stack than ours, and must be able to parse it
_MAX_DATA_DEPTH: Final = 128
_MAX_LENGTHS: Final = {
    "source": 200,
    "subject": 1_000,
    "dedup key": dedup.MAX_LENGTH,
    "reference": MAX_REF_LENGTH,
    "route": 256,
}

PushOutcome = PushResult | GatepostError


def _weigh(push: Push) -> int:
    """Return the load of a push in a transaction that it shares: a push to a team writes an item for each member."""
    return TEAM_WEIGHT if address.is_team(push.to) else 1


@weigh_by(_weigh)
@batched
def push_all(tx: Transaction, pushes: Sequence[Push]) -> list[PushOutcome]:
    """Store the pushes that are valid; return an outcome for each push, in their order."""
    if not pushes:
        return []
    drafts = _prepare_pushes(tx, pushes)
    _store_and_alert(tx, drafts)
    return [event_drafts.build_result(tx, draft) if isinstance(draft, EventDraft) else draft for draft in drafts]


def check_batch(tx: Reader, pushes: Sequence[Push]) -> None:
    """
    Refuse a batch that would make more than `MAX_BATCH_ITEMS` items: all other writers would wait for it. A single
    event is exempt, however many recipients it has. All members of a team count, also duplicates and the sender.
    """
    addresses = [
        target for target in map(_parse_address, (push.to for push in pushes)) if not isinstance(target, GatepostError)
    ]
    teams = {target for target in addresses if isinstance(target, TeamAddress)}
    if len(pushes) < 2 or not teams:
        return  # at most one item each, and the gateway limits the number of pushes
    sizes: dict[Address, int] = {team: entities.count_team(tx, team.team, team.role) for team in teams}
    count = sum(sizes.get(target, 1) for target in addresses)
    if count > MAX_BATCH_ITEMS:
        raise TooLarge(
            f"the batch would make {count} items, over the limit of {MAX_BATCH_ITEMS}", hint="send smaller batches"
        )


def push_event(tx: Transaction, push: Push) -> PushResult:
    """Store one push, or raise its error."""
    [outcome] = push_all(tx, [push])
    if isinstance(outcome, GatepostError):
        raise outcome
    return outcome


def find_recipients(tx: Transaction, target: EntityAddress | TeamAddress, sender: Entity) -> list[Entity]:
    """Return those who get what is pushed to an address; refuse an address of nobody."""
    return _find_recipients(tx, target, sender, directory.resolve(tx, [target]))


def fan_out(
    tx: Transaction,
    push: Push,
    sender: Entity | None,
    recipients: Sequence[Entity] | None,
    *,
    allow_retired: bool = False,
) -> PushResult:
    """
    Store one push of this sender, None for Gatepost itself, for these recipients: one event, one item each. The sender
    and retired recipients get none. Without recipients (None) it is a broadcast. With `allow_retired` the sender may
    have retired since it sent this.
    """
    senders: dict[Address, list[Entity]] = {EntityAddress(sender.name): [sender]} if sender is not None else {}
    [push] = chains.apply_hops(tx, [push], senders)
    [arrival] = events.take_arrivals(tx, 1)
    draft = build_draft(tx, push, arrival, senders, allow_retired=allow_retired)
    if recipients is None:
        return _push_broadcast(tx, draft)
    draft.recipients = [entity for entity in recipients if entity.is_live and entity != draft.sender]
    _store_and_alert(tx, [draft])
    return event_drafts.build_result(tx, draft)


def push_copy(tx: Transaction, push: Push, recipient: Entity) -> PushResult:
    """Store the copy of an event for one recipient, without a dedup key; its sender may have retired since."""
    [arrival] = events.take_arrivals(tx, 1)
    senders = directory.resolve(tx, _parse_senders([push]))
    draft = build_draft(tx, push, arrival, senders, is_copy=True, allow_retired=True)
    draft.recipients = [recipient]
    event_drafts.store_drafts(tx, [draft])
    return event_drafts.build_result(tx, draft)


def build_alert(
    to: str, content: str, topic: str, *, source: str = "gatepost", ref: Ref | None = None, hops: int = 0
) -> Push:
    """Return the push of an alert by Gatepost; a recipient gets one alert for each topic."""
    return Push(
        to=to,
        type=EventType.ALERT,
        source=source,
        content=content,
        priority=Priority.HIGH,
        dedup_key=f"{ALERT_KEY_PREFIX}{topic}",
        ref=ref,
        hops=hops,
        trust=Trust.OWNER,
    )


def push_alerts(tx: Transaction, alerts: Sequence[Push]) -> None:
    """Store alerts; an alert for a retired recipient goes to the administrator."""
    if not alerts:
        return
    drafts = _prepare_pushes(tx, alerts)
    undelivered_alerts = [push for push, draft in zip(alerts, drafts, strict=True) if isinstance(draft, Refused)]
    if undelivered_alerts:
        drafts += _prepare_pushes(tx, [replace(push, to=directory.ADMINISTRATOR) for push in undelivered_alerts])
    _store_and_alert(tx, drafts)


def _prepare_pushes(tx: Transaction, pushes: Sequence[Push]) -> list[EventDraft | PushOutcome]:
    addresses = [_parse_address(push.to) for push in pushes]
    valid_addresses = [entry for entry in addresses if not isinstance(entry, GatepostError)]
    entities_by_address = directory.resolve(tx, [*valid_addresses, *_parse_senders(pushes)])
    pushes = chains.apply_hops(tx, pushes, entities_by_address)
    arrivals = events.take_arrivals(tx, len(pushes))
    drafts: list[EventDraft | PushOutcome] = []
    for push, target, arrival in zip(pushes, addresses, arrivals, strict=True):
        try:
            if isinstance(target, GatepostError):
                raise target
            draft = build_draft(tx, push, arrival, entities_by_address)
            if isinstance(target, AllAgentsAddress):
                drafts.append(_push_broadcast(tx, draft))
            else:
                draft.recipients = _find_recipients(tx, target, draft.sender, entities_by_address)
                drafts.append(draft)
        except GatepostError as error:
            drafts.append(error)
    return drafts


def _parse_address(text: str) -> Address | GatepostError:
    try:
        return address.parse(text)
    except GatepostError as error:
        return error


def _parse_senders(pushes: Sequence[Push]) -> list[Address]:
    senders = {push.sender for push in pushes if push.sender}
    return [target for target in map(_parse_address, senders) if isinstance(target, EntityAddress)]


def build_draft(
    tx: Transaction,
    push: Push,
    arrival: int,
    senders: Mapping[Address, list[Entity]],
    *,
    is_copy: bool = False,
    allow_retired: bool = False,
) -> EventDraft:
    """
    Check a push and return the event to store, without recipients. A copy of an earlier event (`is_copy`) has no dedup
    key; with `allow_retired` the sender may be retired.
    """
    sender = None
    if push.sender:
        matches = senders.get(EntityAddress(push.sender))
        if not matches:
            address.parse(push.sender)
            raise directory.build_unknown_error(tx, push.sender)
        [sender] = matches
        if not sender.is_live and not allow_retired:
            raise directory.build_retired_error(sender, " and sends nothing")
    data = validate_push(push, tx.limits)
    event = Event(
        id=tx.new_id("evt"),
        type=push.type,
        source=push.source,
        sender=Sender(sender.name, sender.display, sender.kind) if sender else None,
        subject=push.subject,
        content=push.content,
        data=push.data,
        priority=push.priority,
        dedup_key=None if is_copy else _build_key(push),
        created_at=tx.now,
        source_time=push.source_time,
        expires_at=tx.now + push.ttl if push.ttl is not None else push.expires_at,
        ref=push.ref,
        route=push.route,
        hops=push.hops,
        trust=push.trust,
        wakes=push.priority is not Priority.FYI and push.hops <= tx.limits.hops,
        arrival=arrival,
    )
    return EventDraft(event, data, sender, [], render.measure(event))


def _build_key(push: Push) -> str | None:
    """Return the dedup key as it is stored; an alert without a key gets one from its content."""
    key = dedup.build_alert_key(push) if push.dedup_key is None and push.type is EventType.ALERT else push.dedup_key
    return f"{push.key_prefix}{key}" if key is not None else None


def validate_push(push: Push, limits: Limits) -> str | None:
    """Refuse a push that is too large or cannot be stored; return its data as JSON."""
    if len(push.content) * 4 > limits.content and count_bytes(push.content) > limits.content:
        raise TooLarge(
            f"the content is {count_bytes(push.content)} bytes, over the limit of {limits.content}",
            hint="send a reference to it instead",
        )
    check_storable("content", push.content)
    if not push.source:
        raise Invalid("an event needs a source")
    for field_name, text in _iter_short_texts(push):
        _check_short_text(field_name, text)
    if push.dedup_key is not None and not push.dedup_key:
        raise Invalid("the dedup key is empty", hint="leave it out for something that is never a repeat")
    if push.dedup_key is not None and push.key_prefix not in (dedup.REDIS, dedup.NATS):
        dedup.check(push.dedup_key)
    if not 0 <= push.hops <= 10_000:
        raise Invalid(f"{push.hops} is not a number of hops")
    if push.ttl is not None and not 0 < push.ttl <= MAX_DURATION:
        raise Invalid(f"{push.ttl} is not a time to live", hint="it must be over zero and at most a hundred years")
    if push.source_time is not None and not 0 <= push.source_time <= MAX_INSTANT:
        raise Invalid(f"{push.source_time} is not a time", hint="it must be in the years 1970 to 9999")
    if push.ref is not None and not (push.ref.type and push.ref.id):
        raise Invalid(f"{str(push.ref)!r} is not a reference", hint="it needs a type and an id")
    if push.route is not None and not (push.route.channel and push.route.session):
        raise Invalid("a route needs a channel and a session")
    if push.data is None:
        return None
    return strict.encode_json(push.data, "data", limits.data, max_depth=_MAX_DATA_DEPTH)


def _iter_short_texts(push: Push) -> Iterable[tuple[str, str]]:
    yield "source", push.source
    if push.subject is not None:
        yield "subject", push.subject
    if push.dedup_key is not None:
        yield "dedup key", push.dedup_key
    if push.ref is not None:
        yield from (("reference", push.ref.type), ("reference", push.ref.id))
    if push.route is not None:
        yield from (("route", push.route.channel), ("route", push.route.session))


def parse_ref(text: str) -> Ref:
    """Parse a reference to search for; refuse one that no event can have."""
    ref = Ref.parse(text)
    for part in (ref.type, ref.id):
        _check_short_text("reference", part)
    return ref


def _check_short_text(field_name: str, text: str) -> None:
    check_storable(field_name, text)
    if len(text) > _MAX_LENGTHS[field_name]:
        raise TooLarge(f"the {field_name} has {len(text)} characters, over the limit of {_MAX_LENGTHS[field_name]}")


def _find_recipients(
    tx: Transaction,
    target: EntityAddress | TeamAddress,
    sender: Entity | None,
    entities_by_address: Mapping[Address, list[Entity]],
) -> list[Entity]:
    match target:
        case EntityAddress(name):
            matches = entities_by_address.get(target)
            if not matches:
                raise directory.build_unknown_error(tx, name, suggest_team=True)
            if not matches[0].is_live:
                raise directory.build_retired_error(matches[0], " and receives nothing")
            return matches
        case TeamAddress():
            members = entities_by_address.get(target)
            if not members or not any(member.is_live for member in members):
                raise UnknownAddress(
                    f"no entity is in {str(target)!r}", hint="`gatepost agent list` shows who is in which team"
                )
            return [member for member in members if member.is_live and member != sender]


def _push_broadcast(tx: Transaction, draft: EventDraft) -> PushResult:
    result = event_drafts.store_broadcast(tx, draft)
    if draft.event.hops > tx.limits.hops and not result.duplicate:
        # Agents take it one by one, so the administrator gets one alert instead of every owner.
        push_alerts(tx, [_build_chain_alert(draft.event, directory.ADMINISTRATOR, "*")])
    return result


def _store_and_alert(tx: Transaction, outcomes: Sequence[EventDraft | PushOutcome]) -> None:
    """
    Store the drafts among the outcomes. Alert the owner of each new recipient of an event past the limit of hops, once
    an hour for each sender.
    """
    drafts = [outcome for outcome in outcomes if isinstance(outcome, EventDraft)]
    event_drafts.store_drafts(tx, drafts)
    alerts = [
        _build_chain_alert(
            draft.event,
            recipient.owner if recipient.owner != recipient.name else directory.ADMINISTRATOR,
            recipient.name,
        )
        for draft in drafts
        if draft.event.hops > tx.limits.hops
        for recipient in draft.recipients
        if recipient.number in draft.new_recipients
        and recipient.owner is not None
        and recipient.name != directory.ADMINISTRATOR
    ]
    push_alerts(tx, alerts)
    for draft in drafts:
        if draft.event.priority <= tx.limits.channel_notify:
            _notify_persons(tx, draft)


def _notify_persons(tx: Transaction, draft: EventDraft) -> None:
    """Tell of an urgent event, if there are persons among its new recipients."""
    persons = [
        recipient.number
        for recipient in draft.recipients
        if recipient.kind is EntityKind.HUMAN and recipient.number in draft.new_recipients
    ]
    if persons:
        tx.react(Pushed(draft.event, persons))


def _build_chain_alert(event: Event, to: str, recipient: str) -> Push:
    sender = event.sender.name if event.sender else None
    origin = f" from {sender!r}" if sender else ""
    audience = "every agent" if recipient == "*" else repr(recipient)
    content = (
        f"a chain of {event.hops} events{origin} reached {audience}:"
        f" the last one was stored and woke nobody (event {event.id})"
    )
    return build_alert(to, content, chains.build_alert_topic(sender, recipient, event.created_at))
