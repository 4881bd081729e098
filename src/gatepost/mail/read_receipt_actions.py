"""
Tell senders who has read their mail.

A sender that asks for an acknowledgement gets an event when all recipients have read its mail, and another after the
deadline if somebody has not. An agent has read mail when the batch with it is acked; a person, when it is marked as
done. A broadcast cannot be acknowledged, because it has no list of recipients.
"""

from collections.abc import Sequence
from typing import Final

from gatepost.core.ports import Transaction
from gatepost.core.times import format_duration
from gatepost.directory import entity_actions as directory
from gatepost.errors import quote_value
from gatepost.inbox.event import EventType, ItemsRead, Push, Ref, Trust
from gatepost.inbox.push import actions as push
from gatepost.mail import sent_record_rows as outgoing
from gatepost.mail.sent_record import AckState, Mail

#: mails that one call reports as overdue; the next call reports the rest
_OVERDUE_LIMIT: Final = 500
#: readers that an acknowledgement names
_MAX_NAMES: Final = 10


def confirm_reads(tx: Transaction, event: ItemsRead) -> None:
    """Tell the senders of mail who wait to hear that all recipients have read it, if they have now."""
    for row in tx.fetch_all("mail/outgoing/list_awaited", claim=event.claim):
        outgoing.lock(tx, row.id)
        mail = outgoing.find_mail(tx, row.id)
        assert mail is not None
        if mail.ack is not AckState.READ and not outgoing.list_unread(tx, mail.number):
            outgoing.set_ack(tx, mail.number, AckState.READ)
            names = [entry.name for entry in mail.recipients]
            _push_notice(tx, mail, AckState.READ, f"read by {_join_names(names, sum(mail.states.values()))}")


def report_overdue(tx: Transaction, *, limit: int = _OVERDUE_LIMIT) -> int:
    """Tell the senders whose mail was not read in time who has not read it; return how many mails there were."""
    overdue_ids = [row.id for row in tx.fetch_all("mail/outgoing/take_overdue", now=tx.now, limit=limit)]
    for id in overdue_ids:
        mail = outgoing.find_mail(tx, id)
        assert mail is not None
        assert mail.ack_deadline is not None
        outgoing.set_ack(tx, mail.number, AckState.OVERDUE)
        unread_names = outgoing.list_unread(tx, mail.number)
        names = _join_names(unread_names, len(unread_names))
        waited = format_duration(mail.ack_deadline - mail.created_at)
        _push_notice(tx, mail, AckState.OVERDUE, f"not read by {names} within {waited}")
    return len(overdue_ids)


def _push_notice(tx: Transaction, mail: Mail, ack: AckState, text: str) -> None:
    """Tell the sender of mail how far its acknowledgement is; a retired sender is told nothing."""
    if not directory.find(tx, mail.sender).is_live:
        return
    title = f" {quote_value(mail.data.subject, 120)}" if mail.data.subject else ""
    push.push_event(
        tx,
        Push(
            to=mail.sender,
            type=EventType.SYSTEM,
            source="mail",
            content=f"your mail{title} to {mail.to} was {text}",
            dedup_key=f"ack:{mail.id}:{ack}",
            ref=Ref("mail", mail.id),
            # mail that waits for the ledger is in no inbox yet
            cause=Ref("event", mail.event) if mail.event else Ref("agent", mail.sender),
            trust=Trust.OWNER,
        ),
    )


def _join_names(names: Sequence[str], count: int) -> str:
    """Return the first names, and how many others there are of `count`."""
    shown_names = names[:_MAX_NAMES]
    other_count = count - len(shown_names)
    others = f" and {other_count} other{'s' if other_count > 1 else ''}" if other_count else ""
    return f"{', '.join(shown_names)}{others}"
