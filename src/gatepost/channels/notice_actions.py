"""
Notices: what a person gets in paired chats of the urgent items in the inbox.

A sender cannot bury a phone: a chat gets at most `_MAX_NOTICES` notices of one sender in `_WINDOW`. What comes after
them is counted, and the number is sent when the window ends. Replies and questions are sent before notices. What comes
while a person is not to be disturbed is counted, too, of all senders together, and the number is sent at the end,
whenever that is.
"""

from typing import Final

from gatepost.channels import outgoing_message_actions as messages
from gatepost.channels.outgoing_message_actions import Notice
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.escaping import escape_deceptive, escape_markdown
from gatepost.core.ports import Transaction
from gatepost.core.quoting import render_name
from gatepost.core.times import MINUTE, Duration, Instant
from gatepost.directory import attention_actions
from gatepost.directory.attention import AttentionChanged
from gatepost.inbox.event import EventType, UrgentEventPushed
from gatepost.jobs import job_actions as jobs
from gatepost.stores.row_mapping import fetch_row

#: characters of an urgent event that are sent
_MAX_LENGTH: Final = 1_000
#: types of events that a paired person has in the chat already: a question has a message with buttons
_QUIET_TYPES: Final = frozenset((EventType.CHANNEL, EventType.DECISION))
_MAX_NOTICES: Final = 5
_WINDOW: Final[Duration] = 10 * MINUTE
#: stands for all senders whose items are held back; no sender has this name
_HELD: Final = "~held"


def notify_persons(tx: Transaction, pushed: UrgentEventPushed) -> None:
    """Send the beginning of an urgent event to the paired chats of the persons who got it; the inbox has all of it."""
    event = pushed.event
    if event.type in _QUIET_TYPES or (event.ref is not None and event.ref.type == "pairing"):
        return  # a request for a pairing has a message with buttons
    chats = [(person, *place) for person in pushed.persons for place in messages.list_private_chats(tx, person)]
    if not chats:
        return
    subject = f"{event.subject}\n" if event.subject else ""
    text = escape_deceptive(f"{subject}{event.content}")
    if len(text) > _MAX_LENGTH:
        text = f"{text[: _MAX_LENGTH - 1].rstrip()}…"
    sender = event.sender.name if event.sender is not None else event.source
    label = escape_markdown(render_name(event.sender.display if event.sender is not None else event.source))
    attention = attention_actions.find_all(tx, pushed.persons)
    for person, trigger, chat in chats:
        held = attention.get(person)
        if held is not None and event.priority > held.level.max_priority:
            _count_held(tx, trigger, chat, held.until)
        else:
            _send_notice(tx, trigger, chat, sender, label, text)


def _count_held(tx: Transaction, trigger: Trigger, chat: str, until: Instant) -> None:
    """Count an item in the summary that a chat gets when its person can be disturbed again."""
    place = {"trigger": trigger.number, "chat": chat, "sender": _HELD}
    row = tx.fetch_one("channels/channel_messages/find_summary", **place, now=tx.now)
    if row is not None:
        count, number = row.notice_count + 1, row.number
        content = _write_held_summary(count)
        tx.execute_later("channels/channel_messages/count_notice", number=number, count=count, content=content)
    else:
        notice = Notice(sender=_HELD, count=1, due_at=until)
        messages.send(tx, trigger.number, chat, _write_held_summary(1), notice=notice)


def move_held(tx: Transaction, event: AttentionChanged) -> None:
    """Send the summary of what was held back when the person can be disturbed again, which has just changed."""
    for trigger, chat in messages.list_private_chats(tx, event.entity.number):
        place = {"trigger": trigger.number, "chat": chat, "sender": _HELD}
        row = tx.fetch_one("channels/channel_messages/find_summary", **place, now=tx.now)
        if row is not None:
            due_at = event.until if event.until is not None else tx.now
            tx.execute_later("channels/channel_messages/move_summary", number=row.number, due_at=due_at)
            jobs.add(tx, messages.SEND_JOB, row.id, due_at=due_at)


def _write_held_summary(count: int) -> str:
    return f"{count} urgent item{'' if count == 1 else 's'} came while you were not to be disturbed"


def _send_notice(tx: Transaction, trigger: Trigger, chat: str, sender: str, label: str, text: str) -> None:
    """Send a notice, or count it in the summary of its sender."""
    place = {"trigger": trigger.number, "chat": chat, "sender": sender}
    row = tx.fetch_one("channels/channel_messages/find_summary", **place, now=tx.now)
    if row is not None:
        count = row.notice_count + 1
        content = _write_summary(label, count)
        tx.execute_later("channels/channel_messages/count_notice", number=row.number, count=count, content=content)
        return
    row = fetch_row(tx, "channels/channel_messages/read_notices", **place, since=tx.now - _WINDOW)
    if row.total < _MAX_NOTICES:
        messages.send(tx, trigger.number, chat, f"{label}: {text}", notice=Notice(sender=sender))
    else:
        notice = Notice(sender=sender, count=1, due_at=row.first_at + _WINDOW)
        messages.send(tx, trigger.number, chat, _write_summary(label, 1), notice=notice)


def _write_summary(label: str, count: int) -> str:
    return f"{label}: {count} more urgent item{'' if count == 1 else 's'} in your inbox"
