"""The tools for memories."""

from dataclasses import dataclass, field
from typing import Annotated, Final

from gatepost.actions import memories as verbs
from gatepost.actions.tools.desk import ROOM, Desk, brief, few, fitting
from gatepost.core.event import Json
from gatepost.core.memory import LARGEST_VALUE, LONGEST_KEY, MOST

#: memories of one call
_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    key: str = field(metadata={"description": f"a short name for it, at most {LONGEST_KEY} characters"})
    value: str = field(metadata={"description": f"what to remember, at most {LARGEST_VALUE // 1024} KB"})


def set_memories(
    desk: Desk, memories: Annotated[list[Remembered], f"what to remember, at most {_AT_ONCE} at once"]
) -> Json:
    """
    Remember things beyond this conversation. The newest are shown to you in every cycle. A key that you have used
    before gets the new value.
    """
    few(memories, _AT_ONCE, "memories")
    count = verbs.set(desk.tx, desk.me.name, {each.key: each.value for each in memories})
    return {"success": True, "count": count}


def get_memories(
    desk: Desk, keys: Annotated[list[str] | None, "which ones; without it, all, the newest first"] = None
) -> Json:
    """Read your memories in full."""
    few(keys or (), _AT_ONCE, "memories")
    found = verbs.page(desk.tx, desk.me.name, keys=keys, limit=MOST)
    shown = fitting([{"key": one.key, "value": brief(one.value, ROOM // 2)} for one in found])
    more = {"more": [one.key for one in found[len(shown) :]][:_AT_ONCE]} if len(shown) < len(found) else {}
    return {"memories": shown} | more


def delete_memories(desk: Desk, keys: Annotated[list[str], "which ones to forget"]) -> Json:
    """Forget what you do not need any more."""
    few(keys, _AT_ONCE, "memories")
    return {"success": True, "deleted": verbs.delete(desk.tx, desk.me.name, keys)}
