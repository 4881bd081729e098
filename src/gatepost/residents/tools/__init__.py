"""
The built-in tools of residents.

Most are operations (`operations/tool.py`): what a tool may read or change is what the agent may over HTTP. What depends
on the cycle itself, or on several operations, is a function over a `ToolContext`:

    messaging   enter_space send_message read_messages, peek_inbox skip
    planning    set_memories get_memories delete_memories, set_goals delete_goals, set_plans delete_plans
    routing     set_trigger

Both act as the agent of the context. The docstring of a function, and the text beside its parameters, are what the
model reads. Agents with the skill `routing` have more tools than others.
"""

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, Final

from gatepost.channels.skills import ROUTING
from gatepost.core.json_limits import Json
from gatepost.errors import NotFound
from gatepost.operations import discovery, operation_tool
from gatepost.operations.operation_tool import OperationTool
from gatepost.operations.tool import Door
from gatepost.residents.agent_config_json import CYCLE_TOOLS
from gatepost.residents.tools import messaging, planning, routing
from gatepost.residents.tools.context import ToolContext, ToolFunction
from gatepost.residents.tools.operation_calls import call_operation

__all__ = ["OperationTool", "ToolContext", "ToolFunction", "call_tool", "list_tools", "load_tools"]

#: functions that change nothing that others, or later cycles of the agent, can see
_WITHOUT_EFFECT: Final = frozenset({"enter_space", "read_messages", "peek_inbox", "skip", "get_memories"})
_SKILLS: Final = {"set_trigger": ROUTING}


@cache
def load_tools() -> Mapping[str, ToolFunction | OperationTool]:
    """Return every built-in tool by its name; the handlers of operations are imported with them."""
    discovery.import_modules("handlers")
    functions = {**vars(messaging), **vars(planning), **vars(routing)}
    cycle_tools = {
        name: ToolFunction(functions[name], has_effect=name not in _WITHOUT_EFFECT, skill=_SKILLS.get(name))
        for name in CYCLE_TOOLS
    }
    return {**cycle_tools, **operation_tool.load_tools(Door.RESIDENT)}


def list_tools(skills: Collection[str]) -> dict[str, ToolFunction | OperationTool]:
    """Return the built-in tools of a resident with these skills."""
    return {name: tool for name, tool in load_tools().items() if tool.skill is None or tool.skill in skills}


def call_tool(ctx: ToolContext, name: str, arguments: Mapping[str, Any]) -> Json:
    """
    Call a tool and return its result; a function gets arguments of the types that it declares. When it raises, part of
    its effects may be written: the caller must not commit them.
    """
    tool = load_tools().get(name)
    match tool:
        case None:
            raise NotFound(f"there is no tool {name!r}")
        case OperationTool():
            return call_operation(ctx, tool, arguments)
        case ToolFunction():
            return tool.function(ctx, **arguments)
