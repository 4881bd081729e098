"""Memories of agents."""

from typing import Annotated

from msgspec import Meta

from gatepost.api.access import Owner
from gatepost.api.fields import Limit, RecordView, Time
from gatepost.api.operation import Page, Request, read
from gatepost.core.memory import Memory
from gatepost.errors import NotFound


class MemoryView(RecordView[Memory]):
    key: str
    value: str
    updated_at: Time


class MemoryPage(Page[MemoryView]):
    pass


@read("GET /api/agents/{name}/memories", access=Owner("name"), errors=(NotFound,))
class ListMemories(Request[MemoryPage]):
    """List what an agent has told itself to remember, the newest first."""

    name: str
    after: Annotated[str, Meta(max_length=300, description="`next` of the page before")] | None = None
    limit: Limit = 1000
