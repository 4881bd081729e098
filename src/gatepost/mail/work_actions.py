"""
Add work items, and post notes and events on them.

Whoever a note names in `notify`, and whoever the rules of `work.notify` name for an event, has it in the inbox when the
transaction commits. A note is from its author; the notice of an event is from Gatepost itself. A rule never makes an
event fail: retired names are skipped, and of an unknown name the administrator is told once.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final, TypeVar

from msgspec.structs import replace

from gatepost.core import address
from gatepost.core.address import Address, AllAgentsAddress, TeamAddress
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.text import check_storable, count_bytes
from gatepost.core.times import format_rfc3339
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity
from gatepost.errors import (
    Conflict,
    GatepostError,
    Invalid,
    LimitReached,
    NotFound,
    TooLarge,
    UnknownAddress,
    quote_value,
)
from gatepost.inbox.event import EventType, Priority, Push, PushResult, Ref
from gatepost.inbox.push import actions as push
from gatepost.mail import ledger_delivery, sent_record_rows as outgoing, work_item as rules, work_rows as work_items
from gatepost.mail.ledger_delivery import WorkPosted
from gatepost.mail.notification_rule import MAKER, NotifyRule, build_rules, find_rule
from gatepost.mail.sent_record import PRIORITY_OFFSET, PostState, SentRecord
from gatepost.mail.work_item import EventData, Note, NoteData, WorkEvent, WorkItem, WorkItemSpec, WorkType

W = TypeVar("W", NoteData, EventData)

_MAX_HINTS: Final = 3


def add(tx: Transaction, spec: WorkItemSpec, *, by: str | Entity) -> WorkItem:
    """Add a work item; its id and its topic must be free."""
    author = directory.find_live(tx, by)
    entities.lock(tx, author.number)  # so that two that add an item at once cannot both pass the limit
    if work_items.count_made(tx, author.number, tx.policy.work_items) >= tx.policy.work_items:
        raise LimitReached(
            f"{author.name!r} has {tx.policy.work_items} open work items already, the limit for one entity",
            hint="report what is complete, or raise limits.work_items",
        )
    spec = replace(spec, id=rules.check_id(spec.id), title=rules.check_title(spec.title or spec.id))
    topic = rules.check_id(spec.topic) if spec.topic is not None else None
    parent = find(tx, spec.parent) if spec.parent is not None else None
    if parent is not None and parent.ref == Ref(spec.type, spec.id):
        raise Invalid(f"{spec.type}:{spec.id} cannot be its own parent")
    is_topic_taken = topic not in (None, spec.id) and work_items.find(tx, spec.type, topic or "") is not None
    if (
        is_topic_taken
        or work_items.find(tx, spec.type, spec.id)
        or not work_items.insert(
            tx, replace(spec, topic=topic), parent=parent.number if parent else None, made_by=author.number
        )
    ):
        noun = f"topic {topic!r}" if work_items.find(tx, spec.type, spec.id) is None else f"{spec.type} {spec.id!r}"
        raise Conflict(f"there is a {noun} already", hint="use another id")
    return find(tx, Ref(spec.type, spec.id))


def find(tx: Reader, ref: Ref) -> WorkItem:
    """Return the work item with this type, and with this id or topic."""
    type = WorkType.parse(ref.type)
    item = work_items.find(tx, type, ref.id) if len(ref.id) <= rules.MAX_ID_LENGTH else None
    if item is None:
        similar_ids = get_close_matches(ref.id, work_items.list_recent_ids(tx, type), n=_MAX_HINTS, cutoff=0.6)
        hint = (
            f"did you mean {' or '.join(f'{type}:{id}' for id in similar_ids)}?"
            if similar_ids
            else f"`gatepost work add {type}:ID` or the tool add_work_item adds one"
        )
        raise NotFound(f"there is no {type} {quote_value(ref.id)}", hint=hint)
    return item


def list_page(
    tx: Reader,
    *,
    type: WorkType | None = None,
    status: str | None = None,
    parent: Ref | None = None,
    after: int = 0,
    limit: int = 100,
) -> list[WorkItem]:
    """Return work items in the order in which they were added; `after` is the number of the last one seen."""
    number = find(tx, parent).number if parent is not None else None
    filters = {"type": type, "status": status, "parent": number, "after": after, "limit": limit}
    return [work_items.build(row) for row in tx.fetch_page("mail/work_items/list_page", **filters)]


def list_notes(tx: Reader, ref: Ref, *, after: int = 0, limit: int = 100) -> list[Note]:
    return outgoing.list_posts(tx, NoteData, find(tx, ref).ref, after=after, limit=limit)


def list_events(tx: Reader, ref: Ref, *, after: int = 0, limit: int = 100) -> list[WorkEvent]:
    return outgoing.list_posts(tx, EventData, find(tx, ref).ref, after=after, limit=limit)


def post_note(
    tx: Transaction,
    ref: Ref,
    text: str,
    *,
    by: str | Entity,
    notify: Sequence[str] = (),
    priority: Priority = Priority.NORMAL,
    ledger_key: str | None = None,
) -> Note:
    """
    Post a note on a work item; everyone in `notify` has it in the inbox. A note that is on the ledger already has a
    `ledger_key` there.
    """
    author = directory.find_live(tx, by)
    if not text.strip():
        raise Invalid("the note is empty")
    _check_size(tx, "note", text)
    item, is_new = _find_or_add(tx, ref, author, ledger_key)
    addresses = rules.check_addresses(notify)
    recipients = _find_recipients(tx, addresses)
    id = tx.new_id("note")
    result = push.fan_out(
        tx,
        Push(
            to=author.name,
            type=EventType.NOTE,
            source="work",
            sender=author.name,
            subject=item.title if item.title != item.id else None,
            content=text,
            data={"noteId": id},
            priority=priority,
            dedup_key=f"note:{author.name}:{ledger_key or id}",
            ref=item.ref,
        ),
        author,
        recipients,
    )
    data = NoteData(
        type=f"{item.type}.note",
        from_agent=author.name,
        note=text,
        notify=addresses,
        uid=id,
        ledger_priority=priority.value + PRIORITY_OFFSET,
        ts=format_rfc3339(tx.now),
    )
    return _record(tx, data, item, author, addresses, result, ledger_key, kind="notes", has_added_item=is_new)


def post_event(
    tx: Transaction,
    ref: Ref,
    event: str,
    *,
    reason: str = "",
    by: str | Entity,
    ledger_key: str | None = None,
) -> WorkEvent:
    """
    Record an event of a work item, and notify whom the rules name. An event that is on the ledger already has a
    `ledger_key` there.
    """
    author = directory.find_live(tx, by)
    event = rules.parse_event(WorkType.parse(ref.type), event)
    item, is_new = _find_or_add(tx, ref, author, ledger_key)
    data = EventData(
        type=f"{item.type}.{event}",
        from_agent=author.name,
        reason=_check_reason(reason),
        uid=tx.new_id("work"),
        ts=format_rfc3339(tx.now),
    )
    tx.execute_later("mail/work_items/set_status", number=item.number, status=event, now=tx.now)
    for name in {item.id, item.topic or item.id}:
        tx.after_commit(Signal(Topic("work", f"{item.type}:{name}"), event, wakes=False))
    rule = find_rule(build_rules(tx.policy.work_notify), data.type)
    targets = rule.list_addresses(item.made_by) if rule is not None else ()
    result = _notify(tx, data, rule, targets, item, author) if rule is not None else None
    return _record(tx, data, item, author, targets, result, ledger_key, kind="events", has_added_item=is_new)


def _find_or_add(tx: Transaction, ref: Ref, author: Entity, ledger_key: str | None) -> tuple[WorkItem, bool]:
    """Return a work item, and whether it was added now. What is on the ledger already is about items that are there."""
    try:
        return find(tx, ref), False
    except NotFound:
        if ledger_key is not None or not tx.policy.work_auto_add:
            raise
    return add(tx, WorkItemSpec(type=WorkType.parse(ref.type), id=ref.id), by=author), True


def _record(
    tx: Transaction,
    data: W,
    item: WorkItem,
    author: Entity,
    targets: Sequence[str],
    result: PushResult | None,
    ledger_key: str | None,
    *,
    kind: str,
    has_added_item: bool,
) -> SentRecord[W]:
    """Insert the record of a note or an event, and put it on the ledger, unless it is there."""
    names = tuple(delivery.name for delivery in result.deliveries) if result is not None else ()
    assert data.uid is not None
    record = SentRecord(
        id=data.uid,
        sender=author.name,
        targets=tuple(targets),
        data=data,
        ref=item.ref,
        event=result.event if result is not None and names else None,
        created_at=tx.now,
        dedup_key=ledger_key,
        post=PostState.UNPOSTED if ledger_key is not None else ledger_delivery.find_post_state(tx, kind),
        notified=names,
        has_added_item=has_added_item,
    )
    record = outgoing.insert(tx, record, author.number, names)
    if ledger_key is not None:
        outgoing.set_posted(tx, record.number)
    else:
        tx.react(WorkPosted(record, author, item))
        if record.post is None or not ledger_delivery.is_posted_at_once(tx):
            return record
    return replace(record, post=PostState.POSTED, posted_at=tx.now)


def is_known(tx: Reader, target: str) -> bool:
    """Return True if a note can notify this address."""
    return any(entity.is_live for entity in _resolve(tx, target))


def find_unknown_names(tx: Reader) -> list[tuple[str, str]]:
    """Return the pattern and the address of each rule of `work.notify` that names nobody."""
    return [
        (rule.pattern, target)
        for rule in build_rules(tx.policy.work_notify)
        for target in rule.to
        if target != MAKER and not _resolve(tx, target)
    ]


def _resolve(tx: Reader, target: str) -> list[Entity]:
    """Return the entities at an address, the retired ones too."""
    return list(directory.resolve(tx, [address.parse(target)]).get(address.parse(target), ()))


def _notify(
    tx: Transaction, event: EventData, rule: NotifyRule, targets: Sequence[str], item: WorkItem, author: Entity
) -> PushResult:
    """Push the notice of an event to the targets of a rule; its author gets none."""
    recipients: dict[int, Entity] = {}
    for target in targets:
        matches = _resolve(tx, target)
        if not matches:
            _alert_unknown(tx, rule, target, author)
        recipients |= {entity.number: entity for entity in matches if entity.number != author.number}
    title = f" ({item.title})" if item.title != item.id else ""
    reason = f": {event.reason}" if event.reason else ""
    content = f"{item.ref}{title}, by {author.name}{reason}"
    return push.fan_out(
        tx,
        Push(
            to=author.name,
            type=EventType.EVENT,
            source=event.type,
            content=content.encode()[: tx.policy.content].decode(errors="ignore"),  # the record has it in full
            priority=rule.priority,
            dedup_key=f"work:{item.type}:{item.id}:{event.uid}",
            ref=item.ref,
            cause=Ref("agent", author.name),
        ),
        None,
        list(recipients.values()),
    )


def _alert_unknown(tx: Transaction, rule: NotifyRule, target: str, author: Entity) -> None:
    """Tell the administrator, once, that a rule names nobody."""
    text = f"the setting work.notify sends {rule.pattern} to {target!r}, and no entity has this name"
    topic, cause = f"work.notify:{target}", Ref("agent", author.name)
    push.push_alerts(tx, [push.build_alert(directory.ADMINISTRATOR, text, topic, source="work", cause=cause)])


def _find_recipients(tx: Transaction, addresses: Sequence[str]) -> list[Entity]:
    """Return the entities at these addresses, each once; refuse an address of nobody."""
    targets = [_parse_recipient(text) for text in addresses]
    if any(isinstance(target, AllAgentsAddress) for target in targets):
        raise Invalid("a note cannot notify every agent", hint="name them, or a team")
    entities_by_address = directory.resolve(tx, targets)
    for target in targets:
        if not any(entity.is_live for entity in entities_by_address.get(target, ())):
            raise _build_missing_error(tx, target, entities_by_address.get(target, ()))
    return list({entity.number: entity for target in targets for entity in entities_by_address[target]}.values())


def _parse_recipient(text: str) -> Address:
    try:
        return address.parse(text)
    except Invalid as error:
        raise Invalid(
            error.message, hint="name each by itself: a name, an alias, team:NAME or team:NAME/ROLE"
        ) from None


def _build_missing_error(tx: Transaction, target: Address, retired: Sequence[Entity]) -> GatepostError:
    if isinstance(target, TeamAddress):
        return UnknownAddress(
            f"no entity is in {str(target)!r}", hint="`gatepost agent list` shows who is in which team"
        )
    if retired:
        return Conflict(f"{retired[0].name!r} is retired and receives nothing")
    return directory.build_unknown_error(tx, str(target))


def _check_size(tx: Transaction, field: str, text: str) -> None:
    check_storable(field, text)
    if count_bytes(text) > tx.policy.content:
        raise TooLarge(f"the {field} is {count_bytes(text)} bytes, over the limit of {tx.policy.content}")


def _check_reason(text: str) -> str:
    if len(text) > rules.MAX_REASON_LENGTH:
        raise TooLarge(f"the reason has {len(text)} characters, over the limit of {rules.MAX_REASON_LENGTH}")
    return check_storable("reason", text)
