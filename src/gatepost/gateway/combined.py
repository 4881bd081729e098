"""
Streams of several things at once: `/api/stream` for the caller, `/api/agents/{name}/stream` for one agent.

Which spaces those are may be named, and then they are those; or else they are all that somebody is in, and when that
changes the stream ends with a place to resume from. A reader that comes back with it goes on with each part where it
was, and begins with a new space where its member began: with what is unread there.
"""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from gatepost.actions import inbox_feed, spaces
from gatepost.core.space import Space
from gatepost.errors import Invalid
from gatepost.gateway import stream
from gatepost.gateway.auth import find_own
from gatepost.gateway.office import Office
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import House, Who
from gatepost.ports import Reader
from gatepost.runtime.live import StreamEnd

router = APIRouter(tags=["streams"], responses=stream.STREAMED | documented(401, 403, 404, 422, 503))
Names = Annotated[Sequence[str], Query(max_length=100)]

_MOST: Final = 200
_CHANGED: Final = StreamEnd("the spaces have changed", is_resumable=True)


@router.get("/api/stream", response_class=stream.EventStream)
async def everything(
    request: Request, who: Who, house: House, last: stream.From, space: Names = (), inbox: Names = ()
) -> Response:
    """
    Watch spaces and inboxes in one stream: those named, or all of the caller's own. Resumes from Last-Event-ID.

    Where nothing is named, the administrator sees all spaces and no inbox.
    """
    me = who.as_(None)
    if not space and not inbox:
        return await _of(request, house, me, me, last)
    names = list(dict.fromkeys([(await find_own(house.store, who, name)).name for name in inbox]))
    found, here = await house.store.read(_named, space, me)
    parts = [stream.space_part(house, one.id, one.last_seq) for one in found]
    parts += [stream.inbox_part(house, name, here) for name in names]
    return await stream.respond(request, house, parts, who=me, last=last, combined=True)


@router.get("/api/agents/{name}/stream", tags=["agents"], response_class=stream.EventStream)
async def agent(name: str, request: Request, who: Who, house: House, last: stream.From) -> Response:
    """Watch all that concerns an agent: its inbox, and the spaces it is in. Resumes from Last-Event-ID."""
    entity = await find_own(house.store, who, name)
    return await _of(request, house, entity.name, who.as_(None), last)


async def _of(request: Request, house: Office, name: str | None, me: str | None, last: str | None) -> Response:
    """All spaces of somebody and their inbox; for the administrator (None) all spaces."""
    found, read, here = await house.store.read(_theirs, name)
    if name is None and not found:
        raise Invalid("there is nothing to watch yet", hint="name spaces or inboxes: ?space=ID&inbox=NAME")
    parts = [stream.space_part(house, one.id, read.get(one.id, 0) if last else one.last_seq) for one in found]
    parts += [stream.inbox_part(house, name, here)] if name is not None else []
    ids = {one.id for one in found}

    async def still() -> StreamEnd | None:
        now, _, _ = await house.store.read(_theirs, name)
        return None if {one.id for one in now} == ids else _CHANGED

    return await stream.respond(request, house, parts, who=me, last=last, combined=True, still=still)


def _theirs(tx: Reader, name: str | None) -> tuple[list[Space], dict[str, int], inbox_feed.Position]:
    """The spaces of somebody, how far they have read in each, and the end of all inboxes."""
    found = spaces.page(tx, viewer=name, limit=_MOST + 1)
    if len(found) > _MOST:
        raise Invalid(f"these are over {_MOST} spaces", hint="name those to watch: ?space=ID&space=ID")
    unread = spaces.count_unread(tx, name) if name is not None else {}
    return found, {one.id: one.last_seq - unread[one.id] for one in found if one.id in unread}, inbox_feed.read_end(tx)


def _named(tx: Reader, ids: Sequence[str], me: str | None) -> tuple[list[Space], inbox_feed.Position]:
    return [spaces.show(tx, id, viewer=me) for id in dict.fromkeys(ids)], inbox_feed.read_end(tx)
