"""
Send and deliver mail, and list what was sent.

Sending is one transaction: the event, an item for each recipient, and one record in `outgoing`, which holds what a
ledger posts. The record stays when the items are removed after their time; how each item ended is saved with it.

With a public ledger, mail that is not urgent has only the record at first. It is delivered when it is seen on the
ledger, or when it has waited for `ledger.patience`; both do it by `deliver`, and the first one counts. Mail to an agent
outside has no item at all: its recipient reads it on the ledger.

`read_receipt_actions.py` tells senders who has read it.
"""

from contextlib import suppress
from typing import Final, NotRequired, TypedDict, Unpack

from msgspec.structs import replace

from gatepost.core import address, ids
from gatepost.core.address import Address, AllAgentsAddress, EntityAddress
from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import HOUR, MAX_DURATION
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity
from gatepost.errors import Invalid, LimitReached, NotFound, Refused
from gatepost.inbox import item_actions as inbox_items
from gatepost.inbox.event import DEFAULT_MESSAGE_TYPE, Event, EventType, FindSentEvent, Push, PushResult, Ref
from gatepost.inbox.push import actions as push, event_limits, hop_actions as chains
from gatepost.mail import ledger_delivery, sent_record as rules, sent_record_rows as outgoing
from gatepost.mail.ledger_delivery import FindOutsider, MailSent
from gatepost.mail.sent_record import PRIORITY_OFFSET, AckRequest, AckState, Mail, MailData, MailSpec, PostState

#: mails that one call delivers; the next call delivers the rest
_OVERDUE_LIMIT: Final = 500


def send(tx: Transaction, spec: MailSpec, *, sender: str | Entity) -> Mail:
    """Send mail, and return it with the state for each recipient."""
    author = directory.find_live(tx, sender)
    thread = None
    if spec.reply_to is not None:
        spec, thread = _continue_thread(tx, spec, author)
    if spec.to is None:
        raise Invalid("the mail has no recipient", hint="name one in `to`, or the event that it replies to")
    target = address.parse(spec.to)
    if isinstance(target, EntityAddress) and _is_named(tx, target, author):
        raise Refused(f"the mail would go back to its sender {author.name!r}", hint="name another recipient")
    if isinstance(target, AllAgentsAddress) and spec.ack is AckRequest.REQUIRED:
        raise Invalid("mail to every agent cannot be acknowledged", hint="name those who have to read it, or a team")
    mail = _build_mail(tx, spec, author, thread)
    outsider = tx.ask(FindOutsider(target, author)) if isinstance(target, EntityAddress) else None
    if outsider is not None:
        _check_outside(tx, mail)
        mail, names = replace(mail, post=PostState.UNPOSTED), [outsider]
    elif ledger_delivery.is_awaited(tx, mail.data.priority):
        names = _check_awaited(tx, mail, author, target)
        hops = chains.count_next_hops(tx, author)  # when it is delivered, its chain may be long past
        mail = replace(mail, deliver_at=tx.now + tx.policy.ledger_patience, hops=hops)
    else:
        result = push.push_event(tx, _build_push(mail))
        if result.broadcast is None and not result.deliveries:
            raise Refused(f"nobody else is in {spec.to!r}")
        mail, names = replace(mail, event=result.event), _list_names(result)
    tx.react(MailSent(outgoing.insert(tx, mail, author.number, names), author, names))
    return show(tx, mail.id)


def _check_outside(tx: Transaction, mail: Mail) -> None:
    """Refuse mail that cannot go to an agent outside."""
    event_limits.validate_push(_build_push(mail), tx.policy)
    if mail.ack is not None:
        raise Invalid(f"mail to {mail.to!r} cannot be acknowledged", hint="it is an agent outside: ask for a reply")


def _check_awaited(tx: Transaction, mail: Mail, author: Entity, target: Address) -> list[str]:
    """Refuse mail that could not be delivered later; return the names of its recipients, none for a broadcast."""
    event_limits.validate_push(_build_push(mail), tx.policy)
    if isinstance(target, AllAgentsAddress):
        return []
    recipients = push.find_recipients(tx, target, author)
    if not recipients:
        raise Refused(f"nobody else is in {mail.to!r}")
    return [entity.name for entity in recipients]


def deliver(tx: Transaction, id: str) -> None:
    """Put mail into the inboxes of its recipients, if it waits for the ledger."""
    mail = outgoing.lock(tx, id)
    if mail is None or mail.event is not None or mail.deliver_at is None:
        return
    names = outgoing.list_recipients(tx, mail.number)
    recipients = list(entities.find_by_names(tx, names).values()) if names else None
    author = directory.find(tx, mail.sender)
    try:
        result = push.fan_out(tx, _build_push(mail), author, recipients, allow_retired=True)
    except LimitReached:  # of broadcasts
        tx.execute_later("mail/outgoing/set_deliver_at", number=mail.number, deliver_at=tx.now + HOUR)
        return
    tx.execute_later("mail/outgoing/set_delivered", number=mail.number, event=result.event)


def deliver_overdue(tx: Transaction, *, limit: int = _OVERDUE_LIMIT) -> int:
    """Deliver mail that has waited for the ledger long enough; return how many mails there were."""
    ids = [row.id for row in tx.fetch_all("mail/outgoing/list_undelivered", now=tx.now, limit=limit)]
    for id in ids:
        deliver(tx, id)
    return len(ids)


def show(tx: Reader, id: str, *, viewer: str | None = None) -> Mail:
    """Return the mail with this id, or with this event, to its sender, or to the administrator (None)."""
    mail = outgoing.find_mail(tx, ids.check("evt" if id.startswith("evt_") else "mail", id))
    if mail is None or (viewer is not None and mail.sender != viewer):
        raise NotFound(f"there is no mail {id!r}", hint="`gatepost inbox sent` lists the mail of its sender")
    return mail


class MailFilter(TypedDict):
    """The mail to return, at most `limit`; `before` is the number of the last one seen."""

    thread: str | None
    ref: Ref | None
    message_type: NotRequired[str | None]
    before: int | None
    limit: int


def list_sent(tx: Reader, sender: str, **filters: Unpack[MailFilter]) -> list[Mail]:
    """Return the mail that an entity has sent, the newest first."""
    filters["thread"] = _find_thread(tx, filters["thread"])
    return outgoing.list_page(tx, "mail/outgoing/list_sent", sender=directory.find(tx, sender).number, **filters)


def list_thread(tx: Reader, viewer: str | None, **filters: Unpack[MailFilter]) -> list[Mail]:
    """
    Return the mail of a thread, or about a reference, that an entity has sent or received, the newest first; for the
    administrator (None) all of it. Only its sender sees how far the others are with it.
    """
    if filters["thread"] is None and filters["ref"] is None:
        raise Invalid("the thread is missing", hint="give the id of a thread, or a reference")
    filters["thread"] = _find_thread(tx, filters["thread"])
    number = directory.find_number(tx, viewer)
    mails = outgoing.list_page(tx, "mail/outgoing/list_thread", viewer=number, **filters)
    return [mail if viewer in (None, mail.sender) else replace(mail, recipients=(), states={}) for mail in mails]


def _find_thread(tx: Reader, id: str | None) -> str | None:
    """Return the thread with this id, or of the mail or the event with this id."""
    mail = outgoing.find_mail(tx, id) if id is not None else None
    return id if mail is None else mail.thread


def find_sent_event(tx: Reader, question: FindSentEvent) -> str | None:
    """Return the event that mail, a note or a work event became."""
    record = outgoing.read(tx, question.id)
    return record.event if record is not None else None


def _continue_thread(tx: Reader, spec: MailSpec, author: Entity) -> tuple[MailSpec, str | None]:
    """
    Return a reply with the subject, the reference and the recipient of what it replies to, unless it names its own; and
    the thread that it belongs to.
    """
    assert spec.reply_to is not None
    parent = find_known_mail(tx, spec.reply_to, author)
    if parent is not None:
        origin = parent.to if parent.sender == author.name else parent.sender
        return (
            replace(
                spec,
                to=spec.to or origin,
                subject=spec.subject or parent.data.subject,
                ref=spec.ref or parent.ref,
                reply_to=parent.event,
            ),
            parent.thread,
        )
    event = find_readable_event(tx, spec.reply_to, author)
    if spec.to is None and event.sender is None:
        raise Refused(f"{spec.reply_to!r} has no sender to reply to", hint="name the recipient in `to`")
    to = spec.to if event.sender is None else spec.to or event.sender.name
    subject, ref = spec.subject or event.subject, spec.ref or event.ref
    return replace(spec, to=to, subject=subject, ref=ref, reply_to=event.id), _read_thread(tx, event, author)


def find_known_mail(tx: Reader, id: str, reader: Entity) -> Mail | None:
    """Return the mail with this id, or with this event, if an entity has sent or received it; its items may be gone."""
    mail = outgoing.find_mail(tx, ids.check_event(id))
    if mail is None or mail.sender == reader.name:
        return mail
    statement, before = "mail/outgoing/list_thread", mail.number + 1
    known_mails = outgoing.list_page(tx, statement, viewer=reader.number, thread=mail.thread, before=before, limit=1)
    return mail if [known_mail.number for known_mail in known_mails] == [mail.number] else None


def _read_thread(tx: Reader, event: Event, author: Entity) -> str | None:
    """Return the thread that an event of another source names, unless it is one that the two do not have in common."""
    thread = event.data.get("threadId") if isinstance(event.data, dict) else None
    if not isinstance(thread, str) or not 0 < len(thread) <= 256:
        return None
    writer = event.sender and directory.find_number(tx, event.sender.name)
    has_mail, *shares = (
        bool(outgoing.list_page(tx, "mail/outgoing/list_thread", viewer=viewer, thread=thread, before=None, limit=1))
        for viewer in (None, author.number, writer)
    )
    return thread if not has_mail or (writer and all(shares)) else None


def find_readable_event(tx: Reader, id: str, reader: Entity) -> Event:
    """Return an event that an entity has received or sent; for all others it does not exist."""
    with suppress(NotFound):
        for item in inbox_items.show(tx, id):
            sender = item.event.sender
            if item.recipient == reader.name or (sender is not None and sender.name == reader.name):
                return item.event
    raise inbox_items.build_missing_error(id, reader.name)


def _is_named(tx: Reader, target: EntityAddress, entity: Entity) -> bool:
    """Return True if an address is a name or an alias of an entity."""
    return entity.number in [match.number for match in directory.resolve(tx, [target]).get(target, ())]


def _build_mail(tx: Transaction, spec: MailSpec, author: Entity, thread: str | None) -> Mail:
    payload = rules.build_payload(None, spec.payload)
    if not rules.show_payload(payload).strip() and not (spec.subject or "").strip():
        raise Invalid("the mail is empty", hint="give it a text")
    id = tx.new_id("mail")
    is_awaited = spec.ack is AckRequest.REQUIRED
    if not 0 < spec.ack_within <= MAX_DURATION:
        raise Invalid(
            f"{spec.ack_within} microseconds are no time to read mail", hint="give a time such as 2h or 1 day"
        )
    data = MailData(
        uid=id,
        message_type=rules.check_type(spec.message_type or DEFAULT_MESSAGE_TYPE),
        subject=spec.subject or None,
        payload=payload,
        context=spec.context,
        ref_id=spec.ref.id if spec.ref else None,
        ref_type=spec.ref.type if spec.ref else None,
        ledger_priority=spec.priority.value + PRIORITY_OFFSET,
    )
    return Mail(
        id=id,
        event=None,
        sender=author.name,
        targets=(spec.to or "",),
        data=data,
        ref=spec.ref,
        thread=thread or id,
        reply_to=spec.reply_to,
        ack=AckState.PENDING if is_awaited else None,
        ack_deadline=tx.now + spec.ack_within if is_awaited else None,
        created_at=tx.now,
        post=ledger_delivery.find_post_state(tx, "mail"),
    )


def _build_push(mail: Mail) -> Push:
    payload = mail.data.payload
    has_fields = set(payload) - {"text"} or not isinstance(payload.get("text"), str)
    data: dict[str, Json] = {
        "mailId": mail.id,
        "threadId": mail.thread,
        "messageType": mail.data.message_type,
        "replyTo": mail.reply_to,
        "payload": payload if has_fields and payload else None,
        "context": mail.data.context,
        "ack": AckRequest.REQUIRED.value if mail.ack else None,
    }
    return Push(
        to=mail.to,
        type=EventType.MAIL,
        source="mail",
        sender=mail.sender,
        subject=mail.data.subject,
        content=mail.data.text,
        data={name: value for name, value in data.items() if value is not None},
        priority=mail.data.priority,
        dedup_key=f"mail:{mail.sender}:{mail.dedup_key or mail.id}",
        ref=mail.ref,
        hops=mail.hops,
    )


def _list_names(result: PushResult) -> list[str]:
    """Return the names of those who got this event, and not an earlier one with its key."""
    return [delivery.name for delivery in result.deliveries if not delivery.duplicate]
