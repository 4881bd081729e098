"""I13 for residents: whichever tool continues a chain of events, the chain grows by one, and past the limit it ends."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from gatepost.core.policy import Policy
from gatepost.gates import decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import AnswerSpec, Option, Question
from gatepost.gates.gate import GateKind, GateSpec
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Event
from gatepost.mail import work_actions as work
from gatepost.mail.work_item import WorkItemSpec, WorkType
from gatepost.residents.tools import OperationTool, load_tools
from gatepost.spaces import actions as spaces
from tests.residents.tools.tool_caller import ToolCaller
from tests.support.store_context import StoreContext

LIMIT: Final = Policy().hops


def reply_to(ctx: StoreContext, send: Callable[[ToolCaller], object]) -> dict[str, Any]:
    """Let bob write to ann, before ann is in a run; return the arguments of her reply."""
    send(ToolCaller(ctx, "bob", hops=0))
    event = ctx.store.read_sync(inbox.peek, "ann")[-1].event
    return {"event": event.id, "text": "and you?"}


def prepare_reply_to_mail(ctx: StoreContext) -> dict[str, Any]:
    return reply_to(ctx, lambda bob: bob.use("send_mail", to="ann", text="tea?"))


def prepare_reply_in_space(ctx: StoreContext) -> dict[str, Any]:
    ctx.store.run_sync(spaces.post, "tea", sender="bob", content="tea?")
    return {"event": ctx.store.read_sync(inbox.peek, "ann")[-1].event.id, "text": "and you?"}


def prepare_reply_to_note(ctx: StoreContext) -> dict[str, Any]:
    return reply_to(ctx, lambda bob: bob.use("post_note", ref="task:1", note="tea?", notify=["ann"]))


def ask(ctx: StoreContext, *, by: str, of: str) -> str:
    options = (Option(id="yes", label="Yes"),)
    question = Question(question="Ship it?", options=options, free_text=True, respondents=(of,))
    return ctx.store.run_sync(decisions.ask, question, by=by).id


def prepare_answer(ctx: StoreContext) -> dict[str, Any]:
    return {"decisionId": ask(ctx, by="bob", of="ann"), "option": "yes"}


def prepare_revision(ctx: StoreContext) -> dict[str, Any]:
    id = ask(ctx, by="ann", of="bob")
    ctx.store.run_sync(decisions.answer, id, AnswerSpec(text="of what?", again=True), by="bob")
    return {"revises": id, "question": "Ship version 2?", "of": ["bob"]}


def prepare_withdrawal(ctx: StoreContext) -> dict[str, Any]:
    id = ask(ctx, by="ann", of="bob")
    gate = ctx.store.read_sync(decisions.show, id).gate
    ctx.store.run_sync(gates.add_waiter, gate, "bob", by=None)
    return {"gateId": gate, "withdraw": True}


def prepare_gate(ctx: StoreContext) -> dict[str, Any]:
    spec = GateSpec(name="Sign-off", kind=GateKind.HUMAN, owner="bob", awaits="ann")
    return {"gateId": ctx.store.run_sync(gates.add, spec, by="bob").id}


#: a tool, and how its arguments are prepared, so that bob gets an event
CALLS: Final[dict[str, tuple[str, Callable[[StoreContext], dict[str, Any]]]]] = {
    "send_mail": ("send_mail", lambda _: {"to": "bob", "text": "tea?"}),
    "reply to mail": ("reply", prepare_reply_to_mail),
    "reply in a space": ("reply", prepare_reply_in_space),
    "reply to a note": ("reply", prepare_reply_to_note),
    "post_note": ("post_note", lambda _: {"ref": "task:1", "note": "tea?", "notify": ["bob"]}),
    "post_work_event": ("post_work_event", lambda _: {"ref": "task:1", "event": "blocked"}),
    "ask_decision": ("ask_decision", lambda _: {"question": "Tea?", "of": ["bob"]}),
    "revise a decision": ("ask_decision", prepare_revision),
    "answer_decision": ("answer_decision", prepare_answer),
    "set_gate": ("set_gate", lambda _: {"name": "Sign-off", "awaits": "bob"}),
    "resolve_gate": ("resolve_gate", prepare_gate),
    "withdraw a decision": ("resolve_gate", prepare_withdrawal),
}
#: tools whose effect nobody gets an event of, or that route what came from outside
SILENT: Final = {
    *("create_route", "update_route", "disable_route", "discard_dead_letter", "disable_trigger", "add_work_item"),
    *("replay_dead_letter", "set_attention"),
}


def use_tool(ctx: StoreContext, call: str, hops: int) -> Event:
    """Let ann use a tool in a run of a chain of so many hops; return the event that bob got."""
    ctx.set_policy(work_notify=[("task.blocked", ("bob",), 2)])
    ctx.store.run_sync(spaces.create, name="Tea Room", id="tea", members=["ann", "bob"])
    ctx.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="1"), by="husam")
    tool, prepare = CALLS[call]
    arguments = prepare(ctx)
    known = {item.event.id for item in ctx.store.read_sync(inbox.list_page, "bob")}
    ToolCaller(ctx, "ann", hops=hops).use(tool, **arguments)
    [event] = [item.event for item in ctx.store.read_sync(inbox.list_page, "bob") if item.event.id not in known]
    return event


@pytest.mark.parametrize("call", CALLS)
class TestEachTool:
    def test_continues_the_chain_of_its_run(self, ctx: StoreContext, call: str) -> None:
        event = use_tool(ctx, call, hops=5)
        assert (event.hops, event.wakes) == (6, True)

    def test_ends_a_chain_that_is_too_long(self, ctx: StoreContext, call: str) -> None:
        event = use_tool(ctx, call, hops=LIMIT)
        assert (event.hops, event.wakes) == (LIMIT + 1, False)


def test_no_tool_is_left_out() -> None:
    with_effect = {name for name, tool in load_tools().items() if isinstance(tool, OperationTool) and tool.has_effect}
    assert {tool for tool, _ in CALLS.values()} == with_effect - SILENT


def test_a_question_that_is_asked_anew_is_answered_like_a_new_one(ctx: StoreContext) -> None:
    ann = ToolCaller(ctx, "ann", hops=0)
    arguments = prepare_revision(ctx)
    result = ann.use("ask_decision", **arguments)
    assert (result["decisionId"], result["iteration"]) == (arguments["revises"], 2)
    assert set(result) == {"success", "decisionId", "gateId", "asked", "status", "iteration"}
