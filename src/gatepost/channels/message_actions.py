"""
Send on channels.

A verb that sends writes a message and a job; `channels/background/channel_tasks.py` sends the messages of a chat in
their order. Sending is at least once: a process that dies after a channel has taken a message, and before that is
stored, sends it again. A message is for the user whom it was written to, and fails if that user is not let in any more
when it is sent. The command line and the page have no chat to send to: people read the shared inbox there.
"""

from collections.abc import Sequence
from typing import Final

from gatepost.channels import access_actions as access, conversation_rows as channels, message_rows as channel_messages
from gatepost.channels.conversation import Button, ChannelMessage, ChannelSession, MessageState
from gatepost.channels.telegram.formatted_text import shorten_text
from gatepost.channels.triggers import actions as trigger_actions, rows as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import DAY
from gatepost.directory import entity_actions as directory
from gatepost.gates.decision import Decision
from gatepost.inbox.event import EventType, Pushed
from gatepost.inbox.event_rendering import escape_deceptive, escape_markdown, render_name
from gatepost.inbox.push import actions as push
from gatepost.jobs import job_actions as jobs

#: the kind of the jobs that send; the payload is the id of a message
SEND_JOB: Final = "channel.send"
#: messages of one chat that are sent in one go
_MAX_MESSAGES: Final = 1_000
#: characters of an urgent event that are sent
_MAX_NOTICE_LENGTH: Final = 1_000
#: types of events that a paired person has in the chat already: a question has a message with buttons
_QUIET_TYPES: Final = frozenset((EventType.CHANNEL, EventType.DECISION))


def send(
    tx: Transaction,
    trigger: int,
    chat: str,
    content: str,
    *,
    thread: str | None = None,
    options: Sequence[Button] = (),
    decision: int | None = None,
    replaces: int | None = None,
    user_id: str | None = None,
    is_for_anybody: bool = False,
) -> str:
    """
    Write a message to a chat, and the job that sends it; return its id. It is for the user `user_id`, by default that
    of a private chat; with `is_for_anybody`, for a user who is not let in yet.
    """
    bot = triggers.read(tx, trigger)
    assert bot is not None
    recipient = None if is_for_anybody else user_id or chat
    person = access.find_person(tx, bot, chat, recipient) if recipient is not None else None
    id = channel_messages.insert(
        tx,
        trigger,
        chat,
        content,
        thread=thread,
        user_id=recipient,
        person=directory.find_number(tx, person),
        options=options,
        decision=decision,
        replaces=replaces,
    )
    jobs.add(tx, SEND_JOB, id)
    return id


def send_question(tx: Transaction, decision: Decision, trigger: Trigger, session: ChannelSession) -> None:
    """Send the question of a decision to a session, with a button for each option, if it may be written to."""
    if session.chat is None or not may_write(tx, trigger, session):
        return
    options = [Button(option.id, option.label) for option in decision.options]
    text = decision.question
    if decision.free_text:
        text += "\n\n_Reply to this message to answer in your own words._"
    send(
        tx,
        trigger.number,
        session.chat,
        text,
        thread=session.thread,
        options=options,
        decision=decision.number,
        user_id=session.user_id,
    )


def may_write(tx: Reader, trigger: Trigger, session: ChannelSession) -> bool:
    """Return True if the user of a session is still let in, and is still its person."""
    if session.chat is None:
        return True
    return access.may_write(tx, trigger, session.chat, session.user_id or session.chat, session.person)


def may_send(tx: Reader, trigger: Trigger, message: ChannelMessage) -> bool:
    """Return True if whoever a message is for is still let in."""
    return access.may_write(tx, trigger, message.chat, message.user_id, message.person)


def show_end(tx: Transaction, decision: Decision, text: str) -> None:
    """
    Change the messages of a decision that has ended: they show who answered what, and have no buttons. Who is
    not let in any more does not see it.
    """
    for message in channel_messages.list_by_decision(tx, decision.number):
        trigger = triggers.find(tx, message.trigger)
        if trigger is not None and may_send(tx, trigger, message):
            content = f"{decision.question}\n\n{text}"
            send(
                tx,
                trigger.number,
                message.chat,
                content,
                thread=message.thread,
                replaces=message.number,
                user_id=message.user_id,
            )


def notify_persons(tx: Transaction, pushed: Pushed) -> None:
    """Send the beginning of an urgent event to the paired chats of the persons who got it; the inbox has all of it."""
    event = pushed.event
    if event.type in _QUIET_TYPES or (event.ref is not None and event.ref.type == "pairing"):
        return  # a request for a pairing has a message with buttons
    for person in pushed.persons:
        for trigger, chat in list_private_chats(tx, person):
            subject = f"{event.subject}\n" if event.subject else ""
            sender = render_name(event.sender.display if event.sender is not None else event.source)
            text = shorten_text(escape_deceptive(f"{subject}{event.content}"), _MAX_NOTICE_LENGTH)
            send(tx, trigger.number, chat, f"{escape_markdown(sender)}: {text}")


def list_private_chats(tx: Reader, person: int) -> list[tuple[Trigger, str]]:
    """Return the triggers and the chats in which a person can be reached; not those that a trigger blocks."""
    found = [(triggers.read(tx, number), chat) for number, chat in channels.list_chats_of_person(tx, person)]
    return [(trigger, chat) for trigger, chat in found if trigger is not None and not trigger.blocks(chat)]


def list_pending(tx: Reader, id: str) -> list[ChannelMessage]:
    """Return what is to be sent to the chat of a message, up to that message, the oldest first."""
    message = channel_messages.find(tx, id)
    if message is None or message.state is not MessageState.PENDING:
        return []
    return channel_messages.list_pending(tx, message, limit=_MAX_MESSAGES)


def save_part(tx: Transaction, message: ChannelMessage, sent_ids: Sequence[str]) -> None:
    """Save the ids that the channel gave to the parts that are sent."""
    channel_messages.save_part(tx, message.number, sent_ids)


def finish(tx: Transaction, message: ChannelMessage) -> None:
    channel_messages.set_state(tx, message.number, MessageState.SENT, None)


def fail(tx: Transaction, message: ChannelMessage, reason: str) -> None:
    """Save that a message cannot be sent."""
    channel_messages.set_state(tx, message.number, MessageState.FAILED, reason)


def close_chat(tx: Transaction, trigger: Trigger, chat: str, reason: str) -> None:
    """End all messages to a chat that cannot be written to any more, and tell the owners of the trigger once a day."""
    channel_messages.fail_chat(tx, trigger.number, chat, reason)
    text = f"{trigger.label} cannot write to the chat {chat} any more: {reason}"
    tell_owners(tx, trigger, text, f"chat:{trigger.name}:{chat}:{tx.now // DAY}")


def tell_owners(tx: Transaction, trigger: Trigger, text: str, topic: str) -> None:
    """Push an alert about a trigger to its owners; one for each topic."""
    owners = trigger_actions.find_owners(tx, trigger)
    push.push_alerts(tx, [push.build_alert(owner.name, text, topic, source=trigger.name) for owner in owners])
