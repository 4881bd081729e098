"""
Tools of residents that are operations: decoded, bound to the agent and answered as for every other caller, in the
transaction of the cycle. So the effect of a call and its result in the journal are one commit, and no key is needed to
recognise a repeat. The chain of events that led to the cycle is found by the sender (`inbox/push/hop_actions.py`).

Only residents have these limits: a result fits into the mind, and an agent has few pending gates.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from gatepost.core.json_limits import Json
from gatepost.directory.authorization_actions import authorize_names
from gatepost.errors import GatepostError, Invalid
from gatepost.gates import gate_actions as gates
from gatepost.gates.decision_api import AskDecision, QuestionRequest, ReviseDecision
from gatepost.gates.gate_api import AddGate
from gatepost.operations.access import Caller, CallerKind
from gatepost.operations.operation import Request
from gatepost.operations.operation_tool import OperationTool
from gatepost.residents.tools.context import ToolContext, measure_json, shorten, take_fitting

#: pending gates and decisions of one agent
_MAX_GATES: Final = 50


def call_operation(ctx: ToolContext, tool: OperationTool, arguments: Mapping[str, Any]) -> Json:
    """Call a tool that is an operation, as the agent of the context; return its result."""
    request = tool.decode(arguments, ctx.agent.name)
    if prepare := _PREPARATIONS.get(type(request)):
        request = prepare(ctx, request)
    caller, operation = Caller(CallerKind.ENTITY, ctx.agent.name), request.operation
    try:
        operation.access.admit(caller)
        request = authorize_names(ctx.tx, operation.access.bind(request, caller), caller)
        return build_result(tool, operation.call_handler(ctx.tx, request, caller))
    except GatepostError as error:
        tool.relabel(error)
        raise


def build_result(tool: OperationTool, answer: Any) -> Json:
    """Return an answer as the model reads it: what is too long is cut, and `more` says how many items do not fit."""
    document = tool.encode(answer)
    if not tool.is_list:
        return ({"success": True} if tool.has_effect else {}) | _cut(document, tool.tool.max_field)
    items = [_cut(item, tool.tool.max_field) for item in document[tool.tool.items]]
    fitting = take_fitting(items)
    return {tool.tool.items: fitting} | ({"more": len(items) - len(fitting)} if len(fitting) < len(items) else {})


def _cut(fields: Mapping[str, Any], max_size: int) -> Json:
    """Return the fields; one that is too long is cut, and is a text then."""
    return {
        name: value if measure_json(value) <= max_size else _cut_value(value, max_size)
        for name, value in fields.items()
    }


def _cut_value(value: Any, max_size: int) -> str:
    return shorten(value if isinstance(value, str) else msgspec.json.encode(value).decode(), max_size)


def _check_gate_count(ctx: ToolContext, request: Request[Any]) -> Request[Any]:
    pending = gates.list_page(ctx.tx, owner=ctx.agent.name, pending=True, limit=_MAX_GATES)
    if len(pending) >= _MAX_GATES:
        raise Invalid(
            f"you have {_MAX_GATES} gates and decisions already", hint="withdraw those that are not needed any more"
        )
    return request


def _allow_words(ctx: ToolContext, request: QuestionRequest) -> QuestionRequest:
    """Return the question, which is answered in words if there is nothing to choose from."""
    del ctx
    return replace(request, free_text=request.free_text or (not request.options and request.action is None))


#: what is done with a request of a resident before it is answered
_PREPARATIONS: Final[Mapping[type[Request[Any]], Callable[[ToolContext, Any], Request[Any]]]] = {
    AddGate: _check_gate_count,
    AskDecision: lambda ctx, request: _check_gate_count(ctx, _allow_words(ctx, request)),
    ReviseDecision: _allow_words,
}
