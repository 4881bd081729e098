"""Memories of agents."""

from typing import Annotated, Self

from msgspec import Meta

from gatepost.api.access import Owner
from gatepost.api.fields import Limit, Time
from gatepost.api.operation import Page, Request, View, read
from gatepost.core.memory import Memory
from gatepost.core.times import format_rfc3339
from gatepost.errors import NotFound


class MemoryView(View):
    key: str
    value: str
    updated_at: Time

    @classmethod
    def of(cls, memory: Memory) -> Self:
        return cls(key=memory.key, value=memory.value, updated_at=format_rfc3339(memory.updated_at))


class MemoryPage(Page[MemoryView]):
    pass


@read("GET /api/agents/{name}/memories", access=Owner("name"), errors=(NotFound,))
class ListMemories(Request[MemoryPage]):
    """List what an agent has told itself to remember, the newest first."""

    name: str
    after: Annotated[str, Meta(max_length=300, description="`next` of the page before")] | None = None
    limit: Limit = 1000
