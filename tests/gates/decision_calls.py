"""Ask, answer and show a decision."""

from typing import Any

from gatepost.gates import automatic_end_actions as automatic_ends, decision_actions as decisions
from gatepost.gates.decision import AnswerSpec, Decision, Option, Question
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType, Item
from tests.support.store_context import StoreContext

YES_OR_NO = (Option(id="yes", label="Ship it"), Option(id="no", label="Wait", description="until Monday"))


def ask_decision(ctx: StoreContext, by: str | None = "ann", **fields: Any) -> Decision:
    return ctx.store.run_sync(decisions.ask, build_question(**fields), by=by)


def build_question(**fields: Any) -> Question:
    return Question(**{"question": "Ship?", "options": YES_OR_NO, "respondents": ("husam",)} | fields)


def answer_decision(ctx: StoreContext, decision: Decision, by: str | None = "husam", **reply: Any) -> Decision:
    """Answer what was read: the decision as it is given here."""
    spec = AnswerSpec(**{"context_hash": decision.context_hash} | reply)
    return ctx.store.run_sync(decisions.answer, decision.id, spec, by=by)


def show_decision(ctx: StoreContext, decision: Decision) -> Decision:
    return ctx.store.read_sync(decisions.show, decision.id)


def list_decision_items(ctx: StoreContext, name: str) -> list[Item]:
    return ctx.store.read_sync(inbox.list_page, name, type=EventType.DECISION, limit=1_000)


def end_due(ctx: StoreContext) -> None:
    while ctx.store.run_sync(automatic_ends.end_due):
        pass
