"""
Messages that go out on channels: answers, questions, notices of urgent events (`notice_actions.py`).

A verb that sends writes a message and a job; `channels/background/channel_tasks.py` sends the messages of a chat in
their order. Sending is at least once: a process that dies after a channel has taken a message, and before that is
stored, sends it again. A message is for the user whom it was written to, and fails if that user is not let in any more
when it is sent. The command line and the page have no chat to send to: people read the shared inbox there.
"""

import json
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from gatepost.channels import access_actions as access, conversation_actions as conversations
from gatepost.channels.conversation import ChannelSession
from gatepost.channels.envelope import Envelope
from gatepost.channels.provider import Button
from gatepost.channels.triggers import actions as trigger_actions, rows as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core import typed_json
from gatepost.core.escaping import escape_markdown
from gatepost.core.ports import Reader, Row, Transaction
from gatepost.core.text import ParsedEnum
from gatepost.core.times import DAY, Instant
from gatepost.directory import entity_actions as directory
from gatepost.gates.decision import Decision, render_action
from gatepost.inbox.push import actions as push
from gatepost.jobs import job_actions as jobs
from gatepost.stores.row_mapping import Mapper, fetch_number

#: the kind of the jobs that send; the payload is the id of a message
SEND_JOB: Final = "channel.send"
#: messages of one chat that are read at once
_MAX_MESSAGES: Final = 100


class MessageState(ParsedEnum, description="a state of a message"):
    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"


class ChannelMessage(Struct, frozen=True, kw_only=True):
    """What is sent on a channel; a long one is sent in parts."""

    number: int
    id: str
    trigger: str
    chat: str
    thread: str | None
    #: whom it is for, as the channel names the user, and the name of that person; without a user, whoever is there
    user_id: str | None
    person: str | None
    content: str
    options: Sequence[Button]
    #: the decision that the buttons answer; without one they belong to a reply, or let a user in
    decision: str | None
    #: the number of the message that this one changes, instead of sending another
    replaces: int | None
    state: MessageState
    #: the ids that the channel gave to the parts
    sent_ids: Sequence[str]
    error: str | None
    created_at: Instant
    sent_at: Instant | None

    @property
    def has_reply_buttons(self) -> bool:
        """Whether a press of its buttons is a prompt. The ids of the buttons that let a user in have a colon."""
        return self.decision is None and bool(self.options) and not any(":" in option.id for option in self.options)


class Notice(Struct, frozen=True, kw_only=True):
    """That a message is a notice of urgent items (`notice_actions.py`)."""

    #: who sent the items
    sender: str
    #: of a summary: the number of items
    count: int = 0
    #: of a summary: when it is sent
    due_at: Instant | None = None


def _decode_buttons(text: str | None) -> list[Button]:
    return typed_json.decode(text, list[Button]) if text else []


_MESSAGE: Final = Mapper(
    ChannelMessage, without="trigger decision person", options=_decode_buttons, sent_ids=json.loads
)


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
    notice: Notice | None = None,
) -> str:
    """
    Write a message to a chat, and the job that sends it; return its id. It is for the user `user_id`, by default that
    of a private chat; with `is_for_anybody`, for a user who is not let in yet.
    """
    bot = triggers.read(tx, trigger)
    assert bot is not None
    recipient = None if is_for_anybody else user_id or chat
    person = access.find_person(tx, bot, chat, recipient) if recipient is not None else None
    id = tx.new_id("out")
    fetch_number(
        tx,
        "channels/channel_messages/insert",
        id=id,
        trigger=trigger,
        chat=chat,
        thread=thread,
        user_id=recipient,
        person=directory.find_number(tx, person),
        content=content,
        options=msgspec.json.encode(list(options)).decode() if options else None,
        decision=decision,
        replaces=replaces,
        notice_of=notice.sender if notice is not None else None,
        notice_count=notice.count if notice is not None else 0,
        due_at=notice.due_at if notice is not None else None,
        now=tx.now,
    )
    jobs.add(tx, SEND_JOB, id, due_at=notice.due_at if notice is not None else None)
    return id


def send_question(tx: Transaction, decision: Decision, trigger: Trigger, session: ChannelSession) -> None:
    """Send the question of a decision to a session, with a button for each option, if it may be written to."""
    if session.chat is None or not may_write(tx, trigger, session):
        return
    options = [Button(option.id, option.label) for option in decision.options]
    text = decision.question
    if decision.action is not None:
        text += f"\n\n{escape_markdown(render_action(decision))}"
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
    for message in list_by_decision(tx, decision.number):
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


def list_private_chats(tx: Reader, person: int) -> list[tuple[Trigger, str]]:
    """Return the triggers and the chats in which a person can be reached; not those that a trigger blocks."""
    chats = [(triggers.read(tx, number), chat) for number, chat in conversations.list_chats_of_person(tx, person)]
    return [(trigger, chat) for trigger, chat in chats if trigger is not None and not trigger.blocks(chat)]


def find(tx: Reader, id: str) -> ChannelMessage | None:
    row = tx.fetch_one("channels/channel_messages/find", id=id)
    return _build(row) if row else None


def read(tx: Reader, number: int) -> ChannelMessage | None:
    row = tx.fetch_one("channels/channel_messages/read", number=number)
    return _build(row) if row else None


def list_pending(tx: Reader, id: str) -> list[ChannelMessage]:
    """
    Return what is to be sent to the chat of a message, up to that message: replies and questions, then notices, the
    oldest first.
    """
    row = tx.fetch_one("channels/channel_messages/find", id=id)
    if row is None or _build(row).state is not MessageState.PENDING:
        return []
    rows = tx.fetch_all(
        "channels/channel_messages/list_pending",
        trigger=row.trigger,
        chat=row.chat,
        number=row.number,
        is_notice=row.notice_of is not None,
        now=tx.now,
        limit=_MAX_MESSAGES,
    )
    return [_build(row) for row in rows]


def list_by_decision(tx: Reader, decision: int) -> list[ChannelMessage]:
    """Return the messages that show a decision."""
    return [_build(row) for row in tx.fetch_all("channels/channel_messages/list_by_decision", decision=decision)]


def find_by_sent_id(tx: Reader, trigger: int, chat: str, sent_id: str) -> ChannelMessage | None:
    """Return the message with buttons, or with the question of a decision, to which the channel gave this id."""
    pattern = f"%{json.dumps(sent_id)}%"
    row = tx.fetch_one("channels/channel_messages/find_by_sent_id", trigger=trigger, chat=chat, pattern=pattern)
    return _build(row) if row else None


def find_question(tx: Reader, trigger: Trigger, envelope: Envelope) -> ChannelMessage | None:
    """Return the message with the question of a decision that an envelope replies to."""
    if envelope.reply_to is None or envelope.chat is None:
        return None
    message = find_by_sent_id(tx, trigger.number, envelope.chat, envelope.reply_to)
    return message if message is not None and message.decision is not None else None


def is_newest(tx: Reader, message: ChannelMessage, decision: Decision) -> bool:
    """Return True if no message of this chat shows a later round of a decision."""
    return not any(
        other.number > message.number and (other.trigger, other.chat) == (message.trigger, message.chat)
        for other in list_by_decision(tx, decision.number)
    )


def save_part(tx: Transaction, message: ChannelMessage, sent_ids: Sequence[str]) -> None:
    """Save the ids that the channel gave to the parts that are sent."""
    tx.execute_later("channels/channel_messages/save_part", number=message.number, sent_ids=json.dumps(list(sent_ids)))


def finish(tx: Transaction, message: ChannelMessage) -> None:
    _set_state(tx, message, MessageState.SENT, None)


def fail(tx: Transaction, message: ChannelMessage, reason: str) -> None:
    """Save that a message cannot be sent."""
    _set_state(tx, message, MessageState.FAILED, reason)


def _set_state(tx: Transaction, message: ChannelMessage, state: MessageState, error: str | None) -> None:
    tx.execute_later("channels/channel_messages/set_state", number=message.number, state=state, error=error, now=tx.now)


def close_chat(tx: Transaction, trigger: Trigger, chat: str, reason: str) -> None:
    """End all messages to a chat that cannot be written to any more, and tell the owners of the trigger once a day."""
    tx.execute_later("channels/channel_messages/fail_chat", trigger=trigger.number, chat=chat, error=reason, now=tx.now)
    text = f"{trigger.label} cannot write to the chat {chat} any more: {reason}"
    tell_owners(tx, trigger, text, f"chat:{trigger.name}:{chat}:{tx.now // DAY}")


def tell_owners(tx: Transaction, trigger: Trigger, text: str, topic: str) -> None:
    """Push an alert about a trigger to its owners; one for each topic."""
    owners = trigger_actions.find_owners(tx, trigger)
    push.push_alerts(tx, [push.build_alert(owner.name, text, topic, source=trigger.name) for owner in owners])


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    """Delete messages that were sent, or given up, before; those with a question stay."""
    return tx.execute("channels/channel_messages/reap", before=before, limit=limit)


def _build(row: Row) -> ChannelMessage:
    return _MESSAGE.read(row, trigger=row.trigger_name, decision=row.decision_id, person=row.person_name)
