"""
Reply to an event, on the way it came.

    mail             mail to its sender, in the same thread
    space message    a message in the space
    note             a note on the work item, which notifies the author
    prompt           a response in its session, on the channel that it came by, and on no other one

Other events have no way back, and the error says what to do instead.
"""

from msgspec import Struct

from gatepost.channels import channel_reply_actions as channel_replies
from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity
from gatepost.errors import Invalid, Refused
from gatepost.inbox.event import Event, EventType, Posted, parse_body
from gatepost.mail import mail_actions as mail, work_actions as work
from gatepost.mail.sent_mail import MailSpec
from gatepost.spaces import actions as spaces


class Reply(Struct, frozen=True):
    """What a reply became: `mail`, `message`, `note` or `channel`, and its id."""

    kind: str
    id: str


def reply(tx: Transaction, event: str, text: str, *, by: str | Entity, hops: int = 0) -> Reply:
    """Reply to an event that the author has received; the session of a prompt stands for the last prompt in it."""
    author = directory.find_live(tx, by)
    if not text.strip():
        raise Invalid("the reply is empty", hint="give it a text")
    event = channel_replies.find_event_id(tx, event, author)
    if mail.find_known_mail(tx, event, author) is not None:
        return _reply_by_mail(tx, event, text, author, hops)
    origin = mail.find_readable_event(tx, event, author)
    match origin.type:
        case EventType.CHANNEL if origin.route is not None:
            _check_received(origin, author)
            return Reply("channel", channel_replies.reply(tx, origin, text, author))
        case EventType.MAIL if origin.sender is not None:
            return _reply_by_mail(tx, event, text, author, hops)
        case EventType.SPACE_MESSAGE:
            body = parse_body(origin)
            assert isinstance(body, Posted)
            return Reply("message", spaces.post(tx, body.space, sender=author, content=text, hops=hops).id)
        case EventType.NOTE if origin.ref is not None and origin.sender is not None:
            notify = () if origin.sender.name == author.name else (origin.sender.name,)
            note = work.post_note(tx, origin.ref, text, by=author, notify=notify, priority=origin.priority, hops=hops)
            return Reply("note", note.id)
        case _:
            if origin.route is not None:
                channel_replies.find_route(tx, origin)  # it says that nothing can be sent there
            raise _build_refusal(origin)


def _reply_by_mail(tx: Transaction, event: str, text: str, author: Entity, hops: int) -> Reply:
    spec = MailSpec(payload={"text": text}, reply_to=event)
    return Reply("mail", mail.send(tx, spec, sender=author, hops=hops).id)


def _check_received(event: Event, author: Entity) -> None:
    """Refuse a reply of the person who wrote a prompt: only those who got it answer it."""
    if event.sender is not None and event.sender.name == author.name:
        raise Refused(f"{event.id!r} is a prompt of {author.name!r}", hint="write another with `gatepost chat`")


def _build_refusal(event: Event) -> Refused:
    hint = {
        EventType.DECISION: "answer the decision instead",
        EventType.GATE: "resolve the gate instead",
    }.get(event.type, "send mail to whom it concerns instead")
    reason = "it has no sender" if event.type is EventType.MAIL else f"it is of the type {event.type.value!r}"
    return Refused(f"{event.id!r} cannot be replied to: {reason}", hint=hint)
