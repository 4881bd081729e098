"""
Reply to an event, on the way it came, and ask a decision there.

    mail             mail to its sender, in the same thread
    space message    a message in the space
    note             a note on the work item, which notifies the author
    prompt           a response in its session, on the channel that it came by, and on no other one
    answer           the same, if the answer to a decision came by a channel

Other events have no way back, and the error says what to do instead.

The route of a prompt is a channel and a session, with the trigger behind it. A response, and a question about the
prompt, are entries of the shared inbox; on a channel with chats they are sent, too.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gatepost.channels import (
    conversation_actions as conversations,
    intake_actions as intake,
    outgoing_message_actions as messages,
    question_actions as questions,
)
from gatepost.channels.conversation import ChannelSession, Conversation
from gatepost.channels.provider import Button
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.api import EntryKind
from gatepost.channels.triggers import rows as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core import ids
from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity
from gatepost.errors import Invalid, NotFound, Refused, quote_value
from gatepost.gates import decision_actions as decisions, question_rules
from gatepost.gates.decision import Decision, Option, Question
from gatepost.inbox import item_rows as items
from gatepost.inbox.event import DECISION_KEY, OWN_CHANNELS, Event, EventType, Posted, parse_body
from gatepost.mail import mail_actions as mail, work_actions as work
from gatepost.mail.sent_record import MailSpec
from gatepost.spaces import actions as spaces

#: how sessions begin
_SESSION: Final = re.compile(rf"(?:{'|'.join(OWN_CHANNELS)})-|chat-.*:user-")


class Reply(Struct, frozen=True):
    """What a reply became: `mail`, `message`, `note` or `channel`, and its id."""

    kind: str
    id: str


def reply(tx: Transaction, event: str, text: str, *, by: str | Entity, buttons: Sequence[Option] = ()) -> Reply:
    """
    Reply to an event that the author has received; the session of a prompt stands for the last prompt in it. A reply on
    a channel that has buttons may offer some: a press of one is a prompt.
    """
    author = directory.find_live(tx, by)
    if not text.strip():
        raise Invalid("the reply is empty", hint="give it a text")
    question_rules.check_options(buttons)
    event = find_event_id(tx, event, author)
    is_known_mail = mail.find_known_mail(tx, event, author) is not None
    origin = mail.find_readable_event(tx, event, author) if not is_known_mail else None
    if buttons and (origin is None or not _is_from_channel(origin, author)):
        raise Refused("only a reply on a channel can have buttons", hint="write the choices into the text")
    if origin is None:
        return _reply_by_mail(tx, event, text, author)
    match origin.type:
        case _ if _is_from_channel(origin, author):
            _check_received(origin, author)
            return Reply("channel", reply_on_route(tx, origin, text, author, buttons))
        case EventType.MAIL if origin.sender is not None:
            return _reply_by_mail(tx, event, text, author)
        case EventType.SPACE_MESSAGE:
            body = parse_body(origin)
            assert isinstance(body, Posted)
            return Reply("message", spaces.post(tx, body.space, sender=author, content=text).id)
        case EventType.NOTE if origin.ref is not None and origin.sender is not None:
            notify = () if origin.sender.name == author.name else (origin.sender.name,)
            note = work.post_note(tx, origin.ref, text, by=author, notify=notify, priority=origin.priority)
            return Reply("note", note.id)
        case _:
            if origin.route is not None:
                find_route(tx, origin, author)  # it says that nothing can be sent there
            raise _build_refusal(origin)


def _reply_by_mail(tx: Transaction, event: str, text: str, author: Entity) -> Reply:
    spec = MailSpec(payload={"text": text}, reply_to=event)
    return Reply("mail", mail.send(tx, spec, sender=author).id)


def _is_from_channel(event: Event, reader: Entity) -> bool:
    """
    Return True if a person is on the route of an event: it is a prompt, or the answer to a decision of the reader. Only
    Gatepost gives events the dedup keys of decisions.
    """
    is_answer = event.type is EventType.DECISION and (event.dedup_key or "").startswith(DECISION_KEY)
    is_prompt = event.type is EventType.CHANNEL or (is_answer and _get_data(event, "asker") == reader.name)
    return event.route is not None and is_prompt


def _check_received(event: Event, author: Entity) -> None:
    """Refuse a reply of the person who wrote a prompt: only those who got it answer it."""
    if event.sender is not None and event.sender.name == author.name:
        raise Refused(f"{event.id!r} is a prompt of {author.name!r}", hint="write another with `gatepost chat`")


def _get_data(event: Event, name: str) -> Json:
    return event.data.get(name) if isinstance(event.data, dict) else None


def _build_refusal(event: Event) -> Refused:
    hint = {
        EventType.DECISION: "answer the decision instead",
        EventType.GATE: "resolve the gate instead",
    }.get(event.type, "use `gatepost send` to write to somebody")
    reason = "it has no sender" if event.type is EventType.MAIL else f"it is of the type {event.type.value!r}"
    return Refused(f"{event.id!r} cannot be replied to: {reason}", hint=hint)


def reply_on_route(tx: Transaction, event: Event, text: str, author: Entity, buttons: Sequence[Option] = ()) -> str:
    """Reply to an event on its route; return the id of the entry of the shared inbox."""
    intake.check_content(tx, text)
    trigger, session = find_route(tx, event, author)
    assert event.route is not None
    options = [Button(button.id, button.label) for button in buttons]
    if options and (trigger is None or session.chat is None):
        channel = quote_value(event.route.channel)
        raise Refused(f"the channel {channel} has no buttons under replies", hint="write the choices into the text")
    id = shared_inbox.record(
        tx,
        EntryKind.SYSTEM_RESPONSE,
        event.route,
        text,
        trigger=trigger.number if trigger is not None else None,
        sender=author.number,
        person=directory.find_number(tx, session.person),
        metadata={"event_id": event.id} | ({"buttons": msgspec.json.encode(options).decode()} if options else {}),
    )
    if trigger is not None and session.chat is not None:
        messages.send(
            tx, trigger.number, session.chat, text, thread=session.thread, options=options, user_id=session.user_id
        )
    return id


def find_event_id(tx: Reader, text: str, reader: Entity) -> str:
    """
    Return the id that a text names: its own, of an event or of mail, or that of the last prompt which the reader has
    received in the session of this name. Lines of an inbox show sessions and the ids of mail.
    """
    with suppress(Invalid):
        return ids.check_event(text)
    events = items.list_last_prompts(tx, reader.number, text)
    if not events and _SESSION.match(text):
        raise NotFound(
            f"{reader.name!r} got no prompt in the session {quote_value(text)}",
            hint="`gatepost inbox peek` shows the channel sessions of your prompts",
        )
    if not events:
        return ids.check_event(text)  # which says what is wrong with it
    if len({(event.channel, event.source) for event in events}) > 1:
        raise Refused(
            f"several channels have a session {quote_value(text)}", hint="give the id of the event to reply to"
        )
    return events[0].id


def find_route(tx: Reader, event: Event, reader: Entity) -> tuple[Trigger | None, ChannelSession]:
    """Return the trigger and the session behind the route of an event; refuse one that cannot be replied to."""
    if event.route is None:
        raise Refused(f"{event.id!r} came by no channel")
    if not _is_from_channel(event, reader):
        raise Refused(
            f"{event.id!r} came by {event.route.channel!r}, on which nothing can be sent",
            hint="use `gatepost send` to write to somebody",
        )
    is_own_channel = event.route.channel in OWN_CHANNELS  # which has no trigger, whatever the names of triggers are
    name = event.source if event.type is EventType.CHANNEL else _get_data(event, "trigger")
    trigger = triggers.find(tx, str(name)) if not is_own_channel else None
    if trigger is not None and trigger.provider != event.route.channel:
        trigger = None
    session = conversations.find_session(tx, event.route.channel, event.route.session, trigger)
    if session is None or (trigger is None and event.route.channel not in OWN_CHANNELS):
        raise NotFound(f"the channel of {event.id!r} is gone", hint="send mail to its sender instead")
    if trigger is not None:
        writer = event.sender.name if event.sender is not None else None
        if writer != session.person or not messages.may_write(tx, trigger, session):
            raise Refused(
                f"the user behind {event.id!r} cannot be reached: the pairing has ended, or a list blocks the user",
                hint="`gatepost channel pair` lets a user in again",
            )
    return trigger, session


def find_conversation(tx: Reader, event: str, author: str) -> Conversation | None:
    """
    Return where a person reads the reply of an author to an event, or to the session of a prompt; None if nobody reads
    it on a channel.
    """
    replier = directory.find_live(tx, author)
    origin = mail.find_readable_event(tx, find_event_id(tx, event, replier), replier)
    if not _is_from_channel(origin, replier) or origin.route is None:
        return None
    _, session = find_route(tx, origin, replier)
    if session.person is None:
        return None
    return Conversation(origin.route.channel, origin.route.session, session.person)


def ask_decision(tx: Transaction, question: Question, event: str | None, *, by: str | None) -> Decision:
    """
    Ask a decision. With an event that the asker has received, it is asked of the person who wrote the event, and shown
    on its route; others whom the question names may answer, too.
    """
    if event is None:
        return decisions.ask(tx, question, by=by)
    if by is None:
        raise Invalid("a decision needs an asker", hint="give `asker`")
    asker = directory.find_live(tx, by)
    origin = mail.find_readable_event(tx, find_event_id(tx, event, asker), asker)
    trigger, session = find_route(tx, origin, asker)
    assert origin.route is not None
    if session.person is None:
        raise Refused("nobody here is paired with this channel session", hint="`gatepost channel pair` pairs a user")
    respondents = tuple(dict.fromkeys((directory.find_live(tx, session.person).name, *question.respondents)))
    decision = decisions.ask(tx, replace(question, respondents=respondents), by=asker.name)
    if not questions.is_shown(tx, decision, origin.route, trigger):
        questions.show(tx, decision, origin.route, trigger, session)
    return decision
