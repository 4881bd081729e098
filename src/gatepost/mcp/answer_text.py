"""
Answers as text, one line for each thing, for models whose host shows them no structured output.

What people and agents wrote is quoted as in an inbox, so that no message can pretend to be another line.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from gatepost.gates.decision_api import DecisionAnswerView, DecisionView
from gatepost.gates.gate_api import GateView
from gatepost.inbox.event_api import ItemView
from gatepost.inbox.event_rendering import quote, render_event, render_json, render_name
from gatepost.inbox.item_api import BatchView
from gatepost.mail.mail_api import MailView, SentReplyView
from gatepost.mail.work_api import NoteView, WorkEventView
from gatepost.operations.operation import Page
from gatepost.operations.tool_schema import McpToolSpec
from gatepost.plans.api import PlanView
from gatepost.residents.agent_api import AgentView
from gatepost.spaces.api import MessageView


def render_answer(spec: McpToolSpec, answer: Any) -> str:
    """Return the answer of a tool as text."""
    match answer:
        case BatchView():
            ids = ", ".join(item.event_id for item in answer.items)
            return f"{answer.text}\nevents: {ids}" if ids else "the inbox is empty"
        case Page():
            lines = [_render_line(spec, item) for item in answer.items]
            more = [f"there is more: {spec.describe_next(answer.next)}"] if answer.next is not None else []
            return "\n".join([*lines, *more]) or "there is nothing"
        case _:
            return _render_line(spec, answer)


def _render_line(spec: McpToolSpec, view: Any) -> str:
    match view:
        case ItemView():
            return f"{render_event(view.to_event())} ({view.event_id}, {view.state})"
        case GateView():
            return f"gate {view.id} {quote(view.name)}: {', '.join(_list_gate_facts(view))}"
        case DecisionView():
            return f"decision {view.id}: {'; '.join(_list_decision_facts(view))}"
        case PlanView():
            due = f", next at {view.next_run_at}" if view.next_run_at else ""
            state = view.status if view.active else f"{view.status}, disabled"
            return f"plan {view.id} {quote(view.name)}: {state}{due}, {quote(view.instruction)}"
        case MessageView():
            return f"message {view.seq} by {render_name(view.sender)}: {quote(view.content)}"
        case MailView():
            return f"sent to {render_name(view.to)} as mail {view.id}"
        case SentReplyView():
            return f"sent as {view.kind} {view.id}"
        case NoteView():
            got = f", sent to {', '.join(view.recipients)}" if view.recipients else ""
            return f"note {view.id} by {render_name(view.author)}: {quote(view.text)}{got}"
        case WorkEventView():
            got = f", sent to {', '.join(view.recipients)}" if view.recipients else ""
            return f"event {view.id} of {view.item.type} {render_name(view.item.id)}: {view.type}{got}"
        case AgentView():
            team = f", team {render_name(view.team)}" if view.team else ""
            role = f", role {render_name(view.role)}" if view.role else ""
            return f"{view.name} ({render_name(view.display_name)}{team}{role})"
        case _:
            return render_json(spec.encode_item(view))


def _list_gate_facts(gate: GateView) -> Iterator[str]:
    yield f"{gate.status}, {gate.kind}, owner {gate.owner}"
    if gate.awaits:
        yield f"awaits {render_name(gate.awaits)}"
    if gate.deadline:
        yield f"until {gate.deadline}"
    if gate.instruction:
        yield quote(gate.instruction)
    if gate.resolution:
        by = f" by {gate.resolution.by}" if gate.resolution.by else ""
        yield f"ended{by}: {quote(gate.resolution.reason)}"


def _list_decision_facts(decision: DecisionView) -> Iterator[str]:
    yield f"{decision.status}, {decision.asker} asks {', '.join(decision.asked)} {quote(decision.question)}"
    if decision.action is not UNSET:
        yield f"action {render_name(decision.action.name)} {render_json(decision.action.args)}"
    if decision.options:
        yield f"options {', '.join(f'{option.id} {quote(option.label)}' for option in decision.options)}"
    if decision.deadline:
        yield f"until {decision.deadline}"
    if decision.answer:
        yield _render_decision_answer(decision.answer)


def _render_decision_answer(answer: DecisionAnswerView) -> str:
    by = f" by {answer.by}" if answer.by else ""
    option = f" {answer.option}" if answer.option else ""
    args = f" {render_json(answer.args)}" if answer.args is not UNSET else ""
    text = f" {quote(answer.text)}" if answer.text else ""
    return f"{answer.outcome}{by}:{option}{args}{text}"
