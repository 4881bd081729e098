"""
Push events into inboxes.

`push_all` takes many pushes and returns an outcome for each: an event with, for every recipient, whether it is a
duplicate; or an error that concerns that push alone. It runs the same few statements, however many pushes there are:

    resolve the names -> take arrivals -> check each -> dedup keys -> events -> items -> counts and signals

Dedup keys are inserted first, because only they can detect a duplicate: the unique key (recipient, dedup key) refuses
it. If all keys of an event are refused, the event is not stored, so a duplicate changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from gatepost.core import address
from gatepost.core.address import Address, AllAgentsAddress, EntityAddress, TeamAddress
from gatepost.core.ports import Reader, RetryTransaction, Transaction, batched, needs_disk_space, weigh_by
from gatepost.core.signals import Signal, Topic
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity, EntityKind
from gatepost.errors import GatepostError, Refused, TooLarge, UnknownAddress
from gatepost.inbox import (
    broadcast_actions as broadcasts,
    event_rendering as render,
    event_rows as events,
    item_rows as items,
)
from gatepost.inbox.event import (
    Delivery,
    Event,
    EventType,
    PersonsReached,
    Priority,
    Push,
    PushResult,
    Ref,
    Sender,
    Trust,
    UrgentEventPushed,
)
from gatepost.inbox.push import dedup_key_rows as keys, dedup_keys as dedup, event_limits, hop_actions as chains
from gatepost.inbox.wake_actions import OPEN_RECEPTION, FindReceptions, Reception

#: the dedup keys of alerts by Gatepost itself begin with it
ALERT_KEY_PREFIX: Final = "alert:gatepost:"
#: a push to a team counts as this many pushes to one recipient; the writer does not know the size of the team yet
TEAM_WEIGHT: Final = 50
#: items of all pushes in one batch
MAX_BATCH_ITEMS: Final = 10_000

PushOutcome = PushResult | GatepostError


class EventDraft(Struct, eq=False):
    """A push that was checked: the event to store, and its recipients."""

    event: Event
    #: JSON
    data: str | None
    sender: Entity | None
    recipients: list[Entity]
    #: bytes of the rendered event
    size: int
    #: an alert without a key of its own: it is a repeat only while an equal one is pending, and repeats are counted
    is_counted: bool = False
    #: the numbers of the recipients for which it is no duplicate; filled when the items are stored
    new_recipients: set[int] = field(default_factory=set)
    #: how often the recipients for which it is a repeat have got it
    times: dict[int, int] = field(default_factory=dict)


def _weigh(push: Push) -> int:
    """Return the load of a push in a transaction that it shares: a push to a team writes an item for each member."""
    return TEAM_WEIGHT if address.is_team(push.to) else 1


@needs_disk_space()
@weigh_by(_weigh)
@batched
def push_all(tx: Transaction, pushes: Sequence[Push]) -> list[PushOutcome]:
    """Store the pushes that are valid; return an outcome for each push, in their order."""
    if not pushes:
        return []
    names = _list_names(pushes) if tx.is_remote else None
    if names is not None:  # what is not known yet is asked with the first statement
        fetch_receptions = tx.ask(FindReceptions(names))
        new_keys = [key for push in pushes if (key := dedup.build_key(push)) is not None]
        list_taken = keys.list_taken_later(tx, names, new_keys)
        drafts = _prepare_pushes(tx, pushes)
        taken_keys = list_taken()
    else:
        drafts, taken_keys = _prepare_pushes(tx, pushes), None
        fetch_receptions = _find_receptions(tx, [draft for draft in drafts if isinstance(draft, EventDraft)])
    _store_and_alert(tx, drafts, taken_keys)
    receptions = fetch_receptions()
    return [_build_result(tx, draft, receptions) if isinstance(draft, EventDraft) else draft for draft in drafts]


def _list_names(pushes: Sequence[Push]) -> list[str] | None:
    """
    Return the names to which these pushes go, whose keys can be looked for; None if one of the pushes goes elsewhere,
    such as to a team, or has a key that is made of its content, or that was not validated yet and may be refused.
    """
    names = set()
    for push in pushes:
        target = _parse_address(push.to)
        has_plain_key = push.type is not EventType.ALERT if push.dedup_key is None else push.dedup_key.isprintable()
        if not isinstance(target, EntityAddress) or not has_plain_key:
            return None
        names.add(target.name)
    return sorted(names)


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


@needs_disk_space()
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
    is_valid: bool = False,
) -> PushResult:
    """
    Store one push of this sender, None for Gatepost itself, for these recipients: one event, one item each. The sender
    and retired recipients get none. Without recipients (None) it is a broadcast. With `allow_retired` the sender may
    have retired since it sent this; with `is_valid` the caller has validated all but the data.
    """
    if not allow_retired:
        _check_sender(sender)
    [push] = chains.continue_chains(tx, [push], [sender])
    [arrival] = events.take_arrivals(tx, 1)
    draft = _build_draft(tx, push, sender, arrival, is_valid=is_valid)
    if recipients is None:
        return _push_broadcast(tx, draft)
    draft.recipients = [entity for entity in recipients if entity.is_live and entity != sender]
    _store_and_alert(tx, [draft])
    return _build_result(tx, draft)


def push_copy(tx: Transaction, push: Push, recipient: Entity) -> PushResult:
    """Store the copy of an event for one recipient, without a dedup key; its sender may have retired since."""
    sender = directory.find(tx, push.sender) if push.sender else None
    [arrival] = events.take_arrivals(tx, 1)
    draft = _build_draft(tx, push, sender, arrival, is_copy=True)
    draft.recipients = [recipient]
    _store_drafts(tx, [draft])
    return _build_result(tx, draft)


def build_alert(
    to: str,
    content: str,
    topic: str,
    *,
    source: str = "gatepost",
    ref: Ref | None = None,
    hops: int = 0,
    cause: Ref | None = None,
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
        cause=cause,
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
    sender_addresses = map(_parse_address, {push.sender for push in pushes if push.sender})
    valid_addresses += [entry for entry in sender_addresses if isinstance(entry, EntityAddress)]
    take_arrivals = events.take_arrivals_later(tx, len(pushes))
    entities_by_address = directory.resolve(tx, valid_addresses)
    senders = [next(iter(entities_by_address.get(EntityAddress(push.sender or ""), ())), None) for push in pushes]
    pushes = chains.continue_chains(tx, pushes, senders)
    arrivals = take_arrivals()
    drafts: list[EventDraft | PushOutcome] = []
    for push, target, sender, arrival in zip(pushes, addresses, senders, arrivals, strict=True):
        try:
            if isinstance(target, GatepostError):
                raise target
            if push.sender and sender is None:
                address.parse(push.sender)
                raise directory.build_unknown_error(tx, push.sender)
            _check_sender(sender)
            draft = _build_draft(tx, push, sender, arrival)
            if isinstance(target, AllAgentsAddress):
                drafts.append(_push_broadcast(tx, draft))
            else:
                draft.recipients = _find_recipients(tx, target, sender, entities_by_address)
                drafts.append(draft)
        except GatepostError as error:
            drafts.append(error)
    return drafts


def _parse_address(text: str) -> Address | GatepostError:
    try:
        return address.parse(text)
    except GatepostError as error:
        return error


def _check_sender(sender: Entity | None) -> None:
    if sender is not None and not sender.is_live:
        raise directory.build_retired_error(sender, " and sends nothing")


def _build_draft(
    tx: Transaction,
    push: Push,
    sender: Entity | None,
    arrival: int,
    *,
    is_copy: bool = False,
    is_valid: bool = False,
) -> EventDraft:
    """
    Validate a push, unless it `is_valid`, and return the event to store, without recipients. A copy of an earlier event
    (`is_copy`) has no dedup key.
    """
    if not is_valid:
        event_limits.check_push(push, tx.policy)
    data = event_limits.encode_data(push.data, tx.policy)
    event = Event(
        id=tx.new_id("evt"),
        type=push.type,
        source=push.source,
        sender=Sender(sender.name, sender.display, sender.kind) if sender else None,
        subject=push.subject,
        content=push.content,
        data=push.data,
        priority=push.priority,
        dedup_key=None if is_copy else dedup.build_key(push),
        created_at=tx.now,
        source_time=push.source_time,
        expires_at=tx.now + push.ttl if push.ttl is not None else push.expires_at,
        ref=push.ref,
        route=push.route,
        hops=push.hops,
        trust=push.trust,
        wakes=push.priority is not Priority.FYI and push.hops <= tx.policy.hops,
        arrival=arrival,
    )
    is_counted = push.type is EventType.ALERT and push.dedup_key is None and not is_copy
    return EventDraft(event, data, sender, [], render.measure(event), is_counted)


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
    result = broadcasts.store(tx, draft.event, _build_item_row(draft, 0), draft.sender, draft.data)
    if draft.event.hops > tx.policy.hops and not result.duplicate:
        # Agents take it one by one, so the administrator gets one alert instead of every owner.
        push_alerts(tx, [_build_chain_alert(tx, draft.event, directory.ADMINISTRATOR, "*")])
    return result


def _store_and_alert(
    tx: Transaction, outcomes: Sequence[EventDraft | PushOutcome], taken_keys: keys.TakenKeys | None = None
) -> None:
    """
    Store the drafts among the outcomes. Alert the owner of each new recipient of an event past the limit of hops, once
    an hour for each sender.
    """
    drafts = [outcome for outcome in outcomes if isinstance(outcome, EventDraft)]
    _store_drafts(tx, drafts, taken_keys)
    alerts = [
        _build_chain_alert(
            tx,
            draft.event,
            recipient.owner if recipient.owner != recipient.name else directory.ADMINISTRATOR,
            recipient.name,
        )
        for draft in drafts
        if draft.event.hops > tx.policy.hops
        for recipient in draft.recipients
        if recipient.number in draft.new_recipients
        and recipient.owner is not None
        and recipient.name != directory.ADMINISTRATOR
    ]
    push_alerts(tx, alerts)
    for draft in drafts:
        persons = _list_new_persons(draft) if draft.event.priority <= tx.policy.channel_notify else []
        if persons:
            tx.react(UrgentEventPushed(draft.event, [person.number for person in persons]))


def _list_new_persons(draft: EventDraft) -> list[Entity]:
    return [
        recipient
        for recipient in draft.recipients
        if recipient.kind is EntityKind.HUMAN and recipient.number in draft.new_recipients
    ]


def _store_drafts(tx: Transaction, drafts: Sequence[EventDraft], taken_keys: keys.TakenKeys | None = None) -> None:
    """
    Store the events and an item for each recipient; a duplicate is not stored. `taken_keys` are those keys of the
    drafts that recipients have, if that is known.
    """
    rows = [_build_item_row(draft, recipient.number) for draft in drafts for recipient in draft.recipients]
    if not rows:
        return
    for draft in drafts:
        if draft.is_counted and draft.event.dedup_key is not None:
            keys.free(tx, [recipient.number for recipient in draft.recipients], draft.event.dedup_key)
    # In one order everywhere, so that of two writers with the same keys one waits for the other, without a deadlock.
    new_rows = keys.take(tx, sorted(rows, key=lambda row: (row[0], row[2] or "")), taken_keys)
    new_items = {(row[1], row[0]) for row in new_rows}
    for draft in drafts:
        draft.new_recipients = {
            entity.number for entity in draft.recipients if (draft.event.arrival, entity.number) in new_items
        }
    new_drafts = [draft for draft in drafts if draft.new_recipients]
    if new_drafts:
        events.insert(
            tx, [(draft.event, draft.sender.number if draft.sender else None, draft.data) for draft in new_drafts]
        )
        items.insert(tx, new_rows)
    for draft in drafts:  # now, because the first of equal alerts may be among those that were just inserted
        repeats = [entity.number for entity in draft.recipients if entity.number not in draft.new_recipients]
        if repeats and draft.is_counted and draft.event.dedup_key is not None:
            draft.times = items.count_repeat(tx, repeats, draft.event.dedup_key)
            if len(draft.times) < len(repeats):
                raise RetryTransaction("an equal alert was just read")
    for draft in new_drafts:
        for recipient in draft.recipients:
            if recipient.number in draft.new_recipients:
                tx.add_to_account(recipient.number, "accepted", 1)
                tx.after_commit(
                    Signal(Topic("inbox", recipient.name), draft.event.type, draft.event, draft.event.wakes)
                )
    reached = [(draft.event, persons) for draft in new_drafts if (persons := _list_new_persons(draft))]
    if reached:
        tx.react(PersonsReached(reached))


def _find_receptions(tx: Transaction, drafts: Sequence[EventDraft]) -> Callable[[], Mapping[str, Reception]]:
    """Ask which recipients nothing reaches or wakes now, together with the next statement."""
    names = {entity.name for draft in drafts for entity in draft.recipients}
    return tx.ask(FindReceptions(sorted(names))) if names else dict


def _build_result(
    tx: Transaction, draft: EventDraft, receptions: Mapping[str, Reception] = MappingProxyType({})
) -> PushResult:
    """Return the result of a draft that was stored; for a duplicate, with the event that came first."""
    duplicate_numbers = [
        recipient.number for recipient in draft.recipients if recipient.number not in draft.new_recipients
    ]
    first_events = (
        keys.find_events(tx, duplicate_numbers, draft.event.dedup_key)
        if duplicate_numbers and draft.event.dedup_key is not None
        else {}
    )
    if len(first_events) < len(duplicate_numbers):
        raise RetryTransaction(f"the first event with the key {draft.event.dedup_key!r} was just removed")
    deliveries = tuple(
        Delivery(
            recipient.name,
            first_events.get(recipient.number, draft.event.id),
            duplicate=recipient.number not in draft.new_recipients,
            times=draft.times.get(recipient.number, 1),
            reachable=not receptions.get(recipient.name, OPEN_RECEPTION).is_lost,
            attention=receptions.get(recipient.name, OPEN_RECEPTION).find_obstacle(draft.event.priority)
            if draft.event.wakes
            else None,
        )
        for recipient in draft.recipients
    )
    return PushResult(draft.event.id if draft.new_recipients or not deliveries else deliveries[0].event, deliveries)


def _build_item_row(draft: EventDraft, recipient: int) -> items.NewItem:
    event = draft.event
    is_human = draft.sender is not None and draft.sender.kind is EntityKind.HUMAN
    source = draft.sender.name if draft.sender else event.source
    return (
        recipient,
        event.arrival,
        event.dedup_key,
        event.priority.value,
        is_human,
        source,
        event.expires_at,
        event.wakes,
        draft.size,
    )


def _build_chain_alert(tx: Transaction, event: Event, to: str, recipient: str) -> Push:
    sender = event.sender.name if event.sender else None
    topic = chains.build_alert_topic(sender, recipient, event.created_at)
    return build_alert(to, chains.build_alert_text(event, recipient), topic, hops=tx.policy.hops)  # it wakes, just
