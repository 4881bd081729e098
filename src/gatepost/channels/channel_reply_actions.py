"""
Reply to what came by a channel, and ask on it.

A route is a channel and a session, with the trigger behind it. A reply to an event, and a question about it, go out on
the route of the event, and on no other one. The shared inbox has both; `channel_messages` sends them.
"""

import re
from typing import Final

from msgspec.structs import replace

from gatepost.channels import (
    intake_actions as channels,
    message_actions as channel_messages,
    question_actions as channel_questions,
)
from gatepost.channels.conversation import ChannelSession, Conversation
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.entry import EntryKind
from gatepost.channels.triggers import rows as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core import ids
from gatepost.core.ports import Reader, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity
from gatepost.errors import Invalid, NotFound, Refused, quote_value
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import Decision, Question
from gatepost.inbox import item_rows as items
from gatepost.inbox.event import OWN_CHANNELS, Event, EventType
from gatepost.mail import mail_actions as mail

#: how sessions begin
_SESSION: Final = re.compile(rf"(?:{'|'.join(OWN_CHANNELS)})-|chat-.*:user-")


def reply(tx: Transaction, event: Event, text: str, author: Entity) -> str:
    """Reply to an event on its route; return the id of the entry of the shared inbox."""
    channels.check_content(tx, text)
    trigger, session = find_route(tx, event)
    assert event.route is not None
    id = shared_inbox.record(
        tx,
        EntryKind.SYSTEM_RESPONSE,
        event.route,
        text,
        trigger=trigger.number if trigger is not None else None,
        sender=author.number,
        person=directory.find_number(tx, session.person),
        metadata={"event_id": event.id},
    )
    if trigger is not None and session.chat is not None:
        channel_messages.send(tx, trigger.number, session.chat, text, thread=session.thread, user_id=session.user_id)
    return id


def find_event_id(tx: Reader, text: str, reader: Entity) -> str:
    """
    Return the id of the event that a text names: an id, or the session of a prompt as the lines of an inbox have it.
    A session stands for the last prompt in it that the reader has received.
    """
    if text.startswith("evt_"):
        return text
    events = items.list_last_prompts(tx, reader.number, text)
    if not events and _SESSION.match(text):
        raise NotFound(
            f"{reader.name!r} got no prompt in the session {quote_value(text)}",
            hint="`gatepost inbox peek` shows the sessions of your prompts",
        )
    if not events:
        return ids.check("evt", text)
    if len({(event.channel, event.source) for event in events}) > 1:
        raise Refused(
            f"several channels have a session {quote_value(text)}", hint="give the id of the event to reply to"
        )
    return events[0].id


def find_route(tx: Reader, event: Event) -> tuple[Trigger | None, ChannelSession]:
    """Return the trigger and the session behind the route of an event; refuse one that cannot be replied to."""
    if event.route is None:
        raise Refused(f"{event.id!r} came by no channel")
    if event.type is not EventType.CHANNEL:
        raise Refused(
            f"{event.id!r} came by {event.route.channel!r}, on which nothing can be sent",
            hint="send mail to whom it concerns instead",
        )
    is_own_channel = event.route.channel in OWN_CHANNELS  # which has no trigger, whatever the names of triggers are
    trigger = triggers.find(tx, event.source) if not is_own_channel else None
    if trigger is not None and trigger.provider != event.route.channel:
        trigger = None
    session = channels.find_session(tx, event.route.channel, event.route.session, trigger)
    if session is None or (trigger is None and event.route.channel not in OWN_CHANNELS):
        raise NotFound(f"the channel of {event.id!r} is gone", hint="send mail to its sender instead")
    if trigger is not None:
        writer = event.sender.name if event.sender is not None else None
        if writer != session.person or not channel_messages.may_write(tx, trigger, session):
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
    if origin.type is not EventType.CHANNEL or origin.route is None:
        return None
    _, session = find_route(tx, origin)
    if session.person is None:
        return None
    return Conversation(origin.route.channel, origin.route.session, session.person)


def ask_decision(tx: Transaction, question: Question, event: str | None, *, by: str | None, hops: int = 0) -> Decision:
    """
    Ask a decision. With an event that the asker has received, it is asked of the person who wrote the event, and shown
    on its route; others whom the question names may answer, too.
    """
    if event is None:
        return decisions.ask(tx, question, by=by, hops=hops)
    if by is None:
        raise Invalid("a decision needs somebody who asks", hint="give `asker`")
    asker = directory.find_live(tx, by)
    origin = mail.find_readable_event(tx, find_event_id(tx, event, asker), asker)
    trigger, session = find_route(tx, origin)
    assert origin.route is not None
    person = shared_inbox.require_person(tx, session.person)
    respondents = tuple(dict.fromkeys((person, *question.respondents)))
    decision = decisions.ask(tx, replace(question, respondents=respondents), by=asker.name, hops=hops)
    if not channel_questions.is_shown(tx, decision, origin.route, trigger):
        channel_questions.show(tx, decision, origin.route, trigger, session)
    return decision
