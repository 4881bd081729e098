"""Inboxes and the events in them: `/api/inbox/{name}`, `/api/events/{id}`. The push itself is in `hot.py`."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from gatepost.actions import directory, inbox, inbox_items, maintenance, push
from gatepost.actions.pages import limit_page
from gatepost.core import wire
from gatepost.core.event import EventType, Item, ItemState
from gatepost.core.times import parse_duration, parse_instant
from gatepost.errors import Invalid
from gatepost.gateway import shapes
from gatepost.gateway.auth import Acting, Principal, administrator, find_own
from gatepost.gateway.drained import Drained
from gatepost.gateway.office import Office
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import After, House, Limit, Who, Write, page
from gatepost.gateway.shapes import shaped
from gatepost.gateway.wire import About, ClaimWish, Drain, Held, Release, SeenBody
from gatepost.ports import Reader, Transaction

router = APIRouter(tags=["inbox"], responses=documented(401, 403, 404, 422, 503))
Words = Annotated[str | None, Query(max_length=300)]


def filtered(
    state: Annotated[str | None, Query(description=f"one of {', '.join(ItemState)}")] = None,
    type: Annotated[str | None, Query(description=f"one of {', '.join(EventType)}")] = None,
    sender: Words = None,
    ref: Annotated[
        str | None, Query(examples=["task:0.0.123"], json_schema_extra={"maxLength": 2 * push.MAX_REF_LENGTH + 1})
    ] = None,
    since: Annotated[str | None, Query(examples=["2026-02-18T15:07:00Z"])] = None,
    until: Words = None,
) -> inbox.ItemFilter:
    """Which items are asked for."""
    return inbox.ItemFilter(
        state=ItemState.parse(state) if state else None,
        type=EventType.parse(type) if type else None,
        sender=sender,
        ref=push.parse_ref(ref) if ref else None,
        since=parse_instant(since) if since else None,
        until=parse_instant(until) if until else None,
    )


Wanted = Annotated[inbox.ItemFilter, Depends(filtered)]


@router.get("/api/inbox", responses=shaped(shapes.ItemPage) | documented(413))
async def list_all(who: Who, house: House, wanted: Wanted, after: Words = None, limit: Limit = 100) -> Any:
    """The items of all inboxes in order of arrival, for the administrator."""
    administrator(who)
    arrival, _, name = (after or "0").partition("-")
    seen = _number(arrival, after)
    found = await house.store.read(limit_page(inbox.page), after=seen, beyond=name or None, limit=limit, **wanted)
    return page(found, limit, wire.write_item, lambda item: f"{item.event.arrival}-{item.recipient}")


@router.get("/api/inbox/{name}", responses=shaped(shapes.ItemPage) | documented(413))
async def list_inbox(name: str, who: Who, house: House, wanted: Wanted, after: After = 0, limit: Limit = 100) -> Any:
    """The items of an inbox in order of arrival, whatever state they are in."""
    whose = await _whose(house, who, name)
    found = await house.store.read(limit_page(inbox.page), whose, after=after, limit=limit, **wanted)
    return page(found, limit, wire.write_item, lambda item: item.event.arrival)


@router.get("/api/inbox/{name}/account", responses=shaped(shapes.Account))
async def account(name: str, who: Who, house: House) -> Any:
    """What an inbox accepted, and what has become of it."""
    [found] = await house.store.read(maintenance.list_accounts, await _whose(house, who, name))
    return wire.write_account(found)


@router.get("/api/inbox/{name}/peek", responses=shaped(shapes.ItemPage))
async def peek(name: str, who: Who, house: House, after: Words = None, limit: Limit = 20) -> Any:
    """What waits, most urgent first; nothing changes."""
    priority, _, arrival = (after or "0-0").partition("-")
    seen = (_number(priority, after), _number(arrival, after)) if after is not None else (-1, 0)
    found = await house.store.read(limit_page(inbox.peek), await _whose(house, who, name), limit=limit, after=seen)
    return page(found, limit, wire.write_item, lambda item: f"{item.event.priority.value}-{item.event.arrival}")


@router.post("/api/inbox/{name}/drain", responses=shaped(shapes.Batch) | documented(409))
async def drain(name: str, who: Who, house: House, body: Drain | None = None) -> Response:
    """
    Take the next batch and mark it delivered once this answer has been sent. If the connection breaks before that, the
    items come again.
    """
    wish = body or Drain()
    reader = await _whose(house, who, name)
    owner = wish.session or f"http:{reader}"
    taken = await house.store.run(inbox.claim, reader, owner=owner, limit=wish.limit, budget=wish.budget, lane=reader)
    return Drained(house, taken)


@router.post("/api/inbox/{name}/claim", responses=shaped(shapes.Batch) | documented(409))
async def claim(name: str, body: ClaimWish, who: Who, house: House) -> Any:
    """Take the next batch for a while; ack or release it."""
    reader = await _whose(house, who, name)
    taken = await house.store.run(
        inbox.claim,
        reader,
        owner=body.owner,
        limit=body.limit,
        budget=body.budget,
        hold=parse_duration(body.hold) if body.hold else None,
        lane=reader,
    )
    return wire.write_batch(taken)


@router.post("/api/inbox/{name}/ack", responses=shaped(shapes.Acked) | documented(409))
async def ack(name: str, body: Held, who: Who, house: House, write: Write) -> Any:
    """Say that the items of a claim were read."""
    reader = await _whose(house, who, name)
    return await write(
        lambda tx: {"delivered": inbox.ack(tx, body.claim_id, recipient=reader, owner=body.owner, fence=body.fence)},
        lane=reader,
    )


@router.post("/api/inbox/{name}/release", responses=shaped(shapes.Released) | documented(409))
async def release(name: str, body: Release, who: Who, house: House, write: Write) -> Any:
    """Give the items of a claim back; those that `failed` of their own are counted."""
    reader = await _whose(house, who, name)

    def verb(tx: Transaction) -> wire.Document:
        id, owner, fence, failed = body.claim_id, body.owner, body.fence, body.failed
        return {"released": inbox.release(tx, id, recipient=reader, owner=owner, fence=fence, failed_events=failed)}

    return await write(verb, lane=reader)


@router.post("/api/inbox/{name}/seen", responses=shaped(shapes.Seen))
async def seen(name: str, body: SeenBody, who: Who, house: House) -> Any:
    """Record that items were seen."""
    reader = await _whose(house, who, name)
    return {"seen": await house.store.run(inbox_items.mark_seen, reader, body.events, lane=reader)}


@router.get("/api/events/{id}", tags=["events"], responses=shaped(shapes.Shown))
async def show(id: str, who: Who, house: House) -> Any:
    """An event as it stands with each of its recipients; for an entity's own credential, with itself."""
    return await house.store.read(_shown, id, who.as_(None))


@router.post("/api/events/{id}/replay", tags=["events"], responses=shaped(shapes.Items) | documented(409))
async def replay(id: str, who: Who, write: Write, body: About | None = None) -> Any:
    """Make what is dead, expired or discarded pending again; what was delivered comes as a new event."""
    name, anew = who.as_(body.name if body else None), not isinstance(who, Acting)
    return await write(lambda tx: _items(inbox_items.replay(tx, id, name, is_new_chain=anew)))


@router.post("/api/events/{id}/discard", tags=["events"], responses=shaped(shapes.Items) | documented(409))
async def discard(id: str, who: Who, write: Write, body: About | None = None) -> Any:
    """Put away what is pending or dead."""
    name = who.as_(body.name if body else None)
    return await write(lambda tx: _items(inbox_items.discard(tx, id, name)))


@router.post("/api/events/{id}/done", tags=["events"], responses=shaped(shapes.Items) | documented(409))
async def done(id: str, who: Who, write: Write, body: About | None = None) -> Any:
    """Mark a person's item as done; the administrator's own unless another is named."""
    name = who.as_(body.name if body else None) or directory.ADMINISTRATOR
    return await write(lambda tx: _items([inbox_items.mark_done(tx, name, id)]))


def _number(text: str, after: str | None) -> int:
    """A number that the end of a page is made of."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise Invalid(f"{after!r:.60} is not the end of a page", hint="send `next` back as it was")
    return int(text)


def _items(items: list[Item]) -> wire.Document:
    return {"items": [wire.write_item(item) for item in items]}


async def _whose(house: Office, who: Principal, name: str) -> str:
    """The name of the entity behind a name or alias, if the caller may act as it."""
    return (await find_own(house.store, who, name)).name


def _shown(tx: Reader, id: str, name: str | None) -> wire.Document:
    found = [item for item in inbox_items.show(tx, id) if name is None or item.recipient == name]
    if not found:
        raise inbox_items.build_missing_error(id)
    return wire.write_items(found)
