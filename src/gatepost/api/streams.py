"""Streams of inboxes, agents and runs, and of several of them at once. Those of spaces are with the spaces."""

from typing import Annotated

from msgspec import Meta

from gatepost.api.access import Anybody, Owner
from gatepost.api.events import ItemView
from gatepost.api.operation import Stream, StreamedView, stream
from gatepost.errors import NotFound

Names = Annotated[tuple[str, ...], Meta(max_length=100)]


@stream("GET /api/inbox/{name}/stream", access=Owner("name"), errors=(NotFound,), event="inbox.item")
class WatchInbox(Stream[ItemView]):
    """Watch new items as they come. Resumes from Last-Event-ID."""

    name: str


@stream("GET /api/agents/{name}/stream", access=Owner("name"), errors=(NotFound,))
class WatchAgent(Stream[StreamedView]):
    """Watch all that concerns an agent: its inbox, and the spaces it is in. Resumes from Last-Event-ID."""

    name: str


@stream("GET /api/runs/{id}/stream", access=Anybody(), errors=(NotFound,))
class WatchRun(Stream[StreamedView]):
    """Watch a run from its first step on, also as it is being thought. Resumes from Last-Event-ID."""

    id: str


@stream("GET /api/stream", access=Anybody(), errors=(NotFound,))
class WatchAll(Stream[StreamedView]):
    """
    Watch spaces and inboxes in one stream: those named, or all of the caller's own. Resumes from Last-Event-ID. Where
    nothing is named, the administrator sees all spaces and no inbox.
    """

    space: Names = ()
    inbox: Names = ()
