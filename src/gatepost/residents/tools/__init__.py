"""
The built-in tools of residents, as plain functions over a `ToolContext`.

    messaging   enter_space send_message read_messages, peek_inbox skip
    mail        send_mail reply, post_note read_notes post_work_event
    planning    set_memories get_memories delete_memories, set_goals delete_goals, set_plans get_plans delete_plans
    decisions   ask_decision answer_decision, set_gate resolve_gate
    routing     create_route update_route disable_route list_routes, list_dead_letters replay_dead_letter
                discard_dead_letter, set_trigger list_triggers disable_trigger; only agents with the skill `routing`
                have them

A tool acts as the agent of its context, and calls the same verbs as all other callers: what the agent may not read or
change over HTTP, it may not read or change with a tool.

The docstring of a tool, and the text beside its parameters, are what the model reads.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from gatepost.channels.routing.rule import ROUTING
from gatepost.core.json_limits import Json
from gatepost.errors import NotFound
from gatepost.residents.tools import decisions, mail, messaging, planning, routing
from gatepost.residents.tools.context import ToolContext, ToolFunction

__all__ = ["BUILT_IN_TOOLS", "ToolContext", "ToolFunction", "call_tool", "list_tools"]

BUILT_IN_TOOLS: Final[Mapping[str, ToolFunction]] = {
    "enter_space": ToolFunction(messaging.enter_space, has_effect=False),
    "send_message": ToolFunction(messaging.send_message, has_effect=True),
    "read_messages": ToolFunction(messaging.read_messages, has_effect=False),
    "peek_inbox": ToolFunction(messaging.peek_inbox, has_effect=False),
    "skip": ToolFunction(messaging.skip, has_effect=False),
    "set_memories": ToolFunction(planning.set_memories, has_effect=True),
    "get_memories": ToolFunction(planning.get_memories, has_effect=False),
    "delete_memories": ToolFunction(planning.delete_memories, has_effect=True),
    "set_goals": ToolFunction(planning.set_goals, has_effect=True),
    "delete_goals": ToolFunction(planning.delete_goals, has_effect=True),
    "set_plans": ToolFunction(planning.set_plans, has_effect=True),
    "get_plans": ToolFunction(planning.get_plans, has_effect=False),
    "delete_plans": ToolFunction(planning.delete_plans, has_effect=True),
    "send_mail": ToolFunction(mail.send_mail, has_effect=True),
    "reply": ToolFunction(mail.reply, has_effect=True),
    "post_note": ToolFunction(mail.post_note, has_effect=True),
    "read_notes": ToolFunction(mail.read_notes, has_effect=False),
    "post_work_event": ToolFunction(mail.post_work_event, has_effect=True),
    "ask_decision": ToolFunction(decisions.ask_decision, has_effect=True),
    "answer_decision": ToolFunction(decisions.answer_decision, has_effect=True),
    "set_gate": ToolFunction(decisions.set_gate, has_effect=True),
    "resolve_gate": ToolFunction(decisions.resolve_gate, has_effect=True),
    "create_route": ToolFunction(routing.create_route, has_effect=True, skill=ROUTING),
    "update_route": ToolFunction(routing.update_route, has_effect=True, skill=ROUTING),
    "disable_route": ToolFunction(routing.disable_route, has_effect=True, skill=ROUTING),
    "list_routes": ToolFunction(routing.list_routes, has_effect=False, skill=ROUTING),
    "list_dead_letters": ToolFunction(routing.list_dead_letters, has_effect=False, skill=ROUTING),
    "replay_dead_letter": ToolFunction(routing.replay_dead_letter, has_effect=True, skill=ROUTING),
    "discard_dead_letter": ToolFunction(routing.discard_dead_letter, has_effect=True, skill=ROUTING),
    "set_trigger": ToolFunction(routing.set_trigger, has_effect=True, skill=ROUTING),
    "list_triggers": ToolFunction(routing.list_triggers, has_effect=False, skill=ROUTING),
    "disable_trigger": ToolFunction(routing.disable_trigger, has_effect=True, skill=ROUTING),
}


def list_tools(skills: Collection[str]) -> dict[str, ToolFunction]:
    """Return the built-in tools of a resident with these skills."""
    return {name: tool for name, tool in BUILT_IN_TOOLS.items() if tool.skill is None or tool.skill in skills}


def call_tool(ctx: ToolContext, name: str, arguments: Mapping[str, Any]) -> Json:
    """
    Call a tool with arguments of the types that its function declares, and return its result. When it raises, part of
    its effects may be written: the caller must not commit them.
    """
    tool = BUILT_IN_TOOLS.get(name)
    if tool is None:
        raise NotFound(f"there is no tool {name!r}")
    return tool.function(ctx, **arguments)
