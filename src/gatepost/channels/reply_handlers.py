"""Replies to events, on the way they came."""

from gatepost.channels import reply_actions as replies
from gatepost.core.ports import Transaction
from gatepost.mail.mail_api import ReplyToEvent, SentReplyView
from gatepost.operations.access import Caller


@ReplyToEvent.handler
def reply_to_event(tx: Transaction, request: ReplyToEvent, caller: Caller) -> SentReplyView:
    assert request.sender is not None
    reply = replies.reply(tx, request.id, request.text, by=request.sender)
    return SentReplyView(kind=reply.kind, id=reply.id)
