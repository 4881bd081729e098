"""
The tools that every resident has, as plain functions over a `Desk`.

    speaking      enter_space send_message read_messages
    noticing      peek_inbox skip
    remembering   set_memories get_memories delete_memories
    aiming        set_goals delete_goals
    planning      set_plans get_plans delete_plans
    writing       send_mail post_note
    asking        ask_decision answer_decision set_gate resolve_gate

A tool acts as the agent whose desk it is, and goes through the same verbs as everybody else: what its agent may not
read or change through any other door it may not here either.
"""

from collections.abc import Mapping
from typing import Any, Final

from gatepost.actions.tools import decisions, goals, inbox, mail, memories, plans, spaces
from gatepost.actions.tools.context import ToolContext, ToolFunction
from gatepost.core.event import Json
from gatepost.errors import NotFound

__all__ = ["BUILT_IN_TOOLS", "ToolContext", "ToolFunction", "call_tool"]

BUILT_IN_TOOLS: Final[Mapping[str, ToolFunction]] = {
    "enter_space": ToolFunction(spaces.enter_space, has_effect=False),
    "send_message": ToolFunction(spaces.send_message, has_effect=True),
    "read_messages": ToolFunction(spaces.read_messages, has_effect=False),
    "peek_inbox": ToolFunction(inbox.peek_inbox, has_effect=False),
    "skip": ToolFunction(inbox.skip, has_effect=False),
    "set_memories": ToolFunction(memories.set_memories, has_effect=True),
    "get_memories": ToolFunction(memories.get_memories, has_effect=False),
    "delete_memories": ToolFunction(memories.delete_memories, has_effect=True),
    "set_goals": ToolFunction(goals.set_goals, has_effect=True),
    "delete_goals": ToolFunction(goals.delete_goals, has_effect=True),
    "set_plans": ToolFunction(plans.set_plans, has_effect=True),
    "get_plans": ToolFunction(plans.get_plans, has_effect=False),
    "delete_plans": ToolFunction(plans.delete_plans, has_effect=True),
    "send_mail": ToolFunction(mail.send_mail, has_effect=True),
    "post_note": ToolFunction(mail.post_note, has_effect=True),
    "ask_decision": ToolFunction(decisions.ask_decision, has_effect=True),
    "answer_decision": ToolFunction(decisions.answer_decision, has_effect=True),
    "set_gate": ToolFunction(decisions.set_gate, has_effect=True),
    "resolve_gate": ToolFunction(decisions.resolve_gate, has_effect=True),
}


def call_tool(ctx: ToolContext, name: str, arguments: Mapping[str, Any]) -> Json:
    """
    Let a tool do what it does, with arguments of the types that its function says. When it raises, part of it may be
    done: whoever calls must not commit that.
    """
    tool = BUILT_IN_TOOLS.get(name)
    if tool is None:
        raise NotFound(f"there is no tool {name!r}")
    return tool.function(ctx, **arguments)
