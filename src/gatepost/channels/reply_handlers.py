"""Replies to events, and decisions that are asked on the route of an event; other decisions take the same way."""

from msgspec.structs import replace

from gatepost.channels import reply_actions as replies
from gatepost.core.ports import Transaction
from gatepost.gates.decision import Option
from gatepost.gates.decision_api import AskDecision, DecisionView
from gatepost.gates.decision_handlers import build_question, view_decision
from gatepost.mail.mail_api import ReplyToEvent, SentReplyView
from gatepost.operations.access import Caller


@ReplyToEvent.handler
def reply_to_event(tx: Transaction, request: ReplyToEvent, caller: Caller) -> SentReplyView:
    assert request.sender is not None
    buttons = [Option(id=button.id, label=button.label) for button in request.buttons]
    reply = replies.reply(tx, request.id, request.text, by=request.sender, buttons=buttons)
    return SentReplyView(kind=reply.kind, id=reply.id)


@AskDecision.handler
def ask_decision(tx: Transaction, request: AskDecision, caller: Caller) -> DecisionView:
    question = replace(
        build_question(request), respondents=request.of, session=request.session, is_followed=request.followed
    )
    return view_decision(tx, replies.ask_decision(tx, question, request.event, by=request.asker))
