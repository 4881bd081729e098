"""The tools for memories."""

from dataclasses import dataclass, field
from typing import Annotated, Final

from gatepost.actions import memories as memory_actions
from gatepost.actions.tools.context import MAX_RESULT_SIZE, ToolContext, check_count, shorten, take_fitting
from gatepost.core.event import Json
from gatepost.core.memory import MAX_KEY_LENGTH, MAX_MEMORIES, MAX_VALUE_BYTES

#: memories of one call
_MAX_PER_CALL: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInput:
    key: str = field(metadata={"description": f"a short name for it, at most {MAX_KEY_LENGTH} characters"})
    value: str = field(metadata={"description": f"what to remember, at most {MAX_VALUE_BYTES // 1024} KB"})


def set_memories(
    ctx: ToolContext, memories: Annotated[list[MemoryInput], f"what to remember, at most {_MAX_PER_CALL} at once"]
) -> Json:
    """
    Remember things beyond this conversation. The newest are shown to you in every cycle. A key that you have used
    before gets the new value.
    """
    check_count(memories, _MAX_PER_CALL, "memories")
    count = memory_actions.set_memories(ctx.tx, ctx.agent.name, {memory.key: memory.value for memory in memories})
    return {"success": True, "count": count}


def get_memories(
    ctx: ToolContext, keys: Annotated[list[str] | None, "which ones; without it, all, the newest first"] = None
) -> Json:
    """Read your memories in full."""
    check_count(keys or (), _MAX_PER_CALL, "memories")
    all_memories = memory_actions.page(ctx.tx, ctx.agent.name, keys=keys, limit=MAX_MEMORIES)
    documents = take_fitting(
        [{"key": memory.key, "value": shorten(memory.value, MAX_RESULT_SIZE // 2)} for memory in all_memories]
    )
    more_keys = (
        {"more": [memory.key for memory in all_memories[len(documents) :]][:_MAX_PER_CALL]}
        if len(documents) < len(all_memories)
        else {}
    )
    return {"memories": documents} | more_keys


def delete_memories(ctx: ToolContext, keys: Annotated[list[str], "which ones to forget"]) -> Json:
    """Forget what you do not need any more."""
    check_count(keys, _MAX_PER_CALL, "memories")
    return {"success": True, "deleted": memory_actions.delete(ctx.tx, ctx.agent.name, keys)}
