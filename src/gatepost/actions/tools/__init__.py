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

from gatepost.actions.tools import aiming, asking, noticing, planning, remembering, speaking, writing
from gatepost.actions.tools.desk import BuiltIn, Desk
from gatepost.core.event import Json
from gatepost.errors import NotFound

__all__ = ["BUILT_IN", "BuiltIn", "Desk", "use"]

BUILT_IN: Final[Mapping[str, BuiltIn]] = {
    "enter_space": BuiltIn(speaking.enter_space, effect=False),
    "send_message": BuiltIn(speaking.send_message, effect=True),
    "read_messages": BuiltIn(speaking.read_messages, effect=False),
    "peek_inbox": BuiltIn(noticing.peek_inbox, effect=False),
    "skip": BuiltIn(noticing.skip, effect=False),
    "set_memories": BuiltIn(remembering.set_memories, effect=True),
    "get_memories": BuiltIn(remembering.get_memories, effect=False),
    "delete_memories": BuiltIn(remembering.delete_memories, effect=True),
    "set_goals": BuiltIn(aiming.set_goals, effect=True),
    "delete_goals": BuiltIn(aiming.delete_goals, effect=True),
    "set_plans": BuiltIn(planning.set_plans, effect=True),
    "get_plans": BuiltIn(planning.get_plans, effect=False),
    "delete_plans": BuiltIn(planning.delete_plans, effect=True),
    "send_mail": BuiltIn(writing.send_mail, effect=True),
    "post_note": BuiltIn(writing.post_note, effect=True),
    "ask_decision": BuiltIn(asking.ask_decision, effect=True),
    "answer_decision": BuiltIn(asking.answer_decision, effect=True),
    "set_gate": BuiltIn(asking.set_gate, effect=True),
    "resolve_gate": BuiltIn(asking.resolve_gate, effect=True),
}


def use(desk: Desk, name: str, arguments: Mapping[str, Any]) -> Json:
    """
    Let a tool do what it does, with arguments of the types that its function says. When it raises, part of it may be
    done: whoever calls must not commit that.
    """
    tool = BUILT_IN.get(name)
    if tool is None:
        raise NotFound(f"there is no tool {name!r}")
    return tool.function(desk, **arguments)
