"""Decisions that are asked on the route of an event; others need no channel, and take the same way."""

from msgspec.structs import replace

from gatepost.channels import channel_reply_actions as channel_replies
from gatepost.core.ports import Transaction
from gatepost.gates.decision_api import AskDecision, DecisionView
from gatepost.gates.decision_handlers import build_question, view_decision
from gatepost.operations.access import Caller


@AskDecision.handler
def ask_decision(tx: Transaction, request: AskDecision, caller: Caller) -> DecisionView:
    question = replace(build_question(request), respondents=request.of, session=request.session)
    return view_decision(tx, channel_replies.ask_decision(tx, question, request.event, by=request.asker))
