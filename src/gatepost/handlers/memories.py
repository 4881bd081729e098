"""Memories of agents."""

from gatepost.actions import memories
from gatepost.api.access import Caller
from gatepost.api.memories import ListMemories, MemoryPage, MemoryView
from gatepost.core.times import Instant
from gatepost.errors import Invalid
from gatepost.handlers.agents import find_agent
from gatepost.handlers.pages import read_page
from gatepost.ports import Reader


@ListMemories.handler
def list_memories(tx: Reader, request: ListMemories, caller: Caller) -> MemoryPage:
    return read_page(
        tx,
        MemoryPage,
        memories.page_memories,
        find_agent(tx, request.name).name,
        after=None if request.after is None else _parse_cursor(request.after),
        limit=request.limit,
        view=MemoryView.of,
        cursor=lambda memory: f"{memory.updated_at}-{memory.key}",
    )


def _parse_cursor(text: str) -> tuple[Instant, str]:
    """Return when the last memory of the page before was set, and its key."""
    updated_at, dash, key = text.partition("-")
    if not dash or not updated_at.isascii() or not updated_at.isdigit() or len(updated_at) > 18:
        raise Invalid(f"{text!r:.60} is not the end of a page", hint="send `next` back as it was")
    return int(updated_at), key
