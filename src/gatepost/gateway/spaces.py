"""Spaces: `/api/spaces`."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from gatepost.actions import spaces
from gatepost.actions.pages import limit_page
from gatepost.core import wire
from gatepost.errors import Invalid
from gatepost.gateway import shapes, stream
from gatepost.gateway.auth import administrator, find_own
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import After, House, Limit, Who, Write, page
from gatepost.gateway.shapes import shaped
from gatepost.gateway.wire import MemberWish, NewMessage, NewSpace, ReadMark, SpaceChange
from gatepost.ports import Transaction

router = APIRouter(prefix="/api/spaces", tags=["spaces"], responses=documented(401, 403, 422, 503))
Member = Annotated[str | None, Query(max_length=200, description="as whom to read; the caller, if it is not given")]
Seq = Annotated[int | None, Query(ge=0, le=2**62)]


@router.post("", status_code=201, responses=shaped(shapes.SpaceMade, 201) | documented(404, 409))
async def create(body: NewSpace, who: Who, write: Write) -> Any:
    """Make a space; its id is made from its name unless one is given."""
    administrator(who)

    def verb(tx: Transaction) -> wire.Document:
        made = spaces.create(tx, name=body.name, id=body.id, members=body.members)
        return wire.write_space(made) | {
            "members": [wire.write_member(one) for one in spaces.list_members(tx, made.id)]
        }

    return await write(verb, lane="directory")


@router.get("", responses=shaped(shapes.SpacePage) | documented(404))
async def list_spaces(who: Who, house: House, member: str | None = None, after: After = 0, limit: Limit = 100) -> Any:
    """The spaces of the caller; for the administrator all, or those of a member."""
    found = await house.store.read(limit_page(spaces.page), viewer=who.as_(member), after=after, limit=limit)
    return page(found, limit, wire.write_space, lambda one: one.number)


@router.get("/{id}", responses=shaped(shapes.Space) | documented(404))
async def show(id: str, who: Who, house: House) -> Any:
    """A space that the caller is in; the administrator sees all."""
    return wire.write_space(await house.store.read(spaces.show, id, viewer=who.as_(None)))


@router.patch("/{id}", responses=shaped(shapes.Space) | documented(404, 409))
async def rename(id: str, body: SpaceChange, who: Who, write: Write) -> Any:
    """Give a space another name; its id stays."""
    administrator(who)
    return await write(lambda tx: wire.write_space(spaces.rename(tx, id, body.name)), lane=f"space:{id}")


@router.delete("/{id}", responses=shaped(shapes.Space) | documented(404, 409))
async def archive(id: str, who: Who, write: Write) -> Any:
    """Close a space: its members can read it, and nobody posts any more."""
    administrator(who)
    return await write(lambda tx: wire.write_space(spaces.archive(tx, id)), lane=f"space:{id}")


@router.get("/{id}/members", responses=shaped(shapes.MemberPage) | documented(404))
async def list_members(id: str, who: Who, house: House) -> Any:
    """The members, in the order in which they joined, and how far each has read."""
    found = await house.store.read(spaces.list_members, id, viewer=who.as_(None))
    return {"items": [wire.write_member(one) for one in found], "next": None}


@router.post("/{id}/members", status_code=201, responses=shaped(shapes.Member, 201) | documented(404, 409))
async def join(id: str, body: MemberWish, who: Who, write: Write) -> Any:
    """Add a member, who then sees all messages."""
    administrator(who)
    return await write(lambda tx: wire.write_member(spaces.join(tx, id, body.name)), lane=f"space:{id}")


@router.delete("/{id}/members/{name}", status_code=204, responses=documented(404, 409))
async def leave(id: str, name: str, who: Who, house: House, write: Write) -> None:
    """Remove a member, who reads nothing more. An entity's own credential can leave by itself."""
    entity = await find_own(house.store, who, name)
    await write(lambda tx: spaces.leave(tx, id, entity.name, by=who.as_(None)), lane=f"space:{id}")


@router.get("/{id}/messages", responses=shaped(shapes.MessagePage) | documented(404))
async def read(
    id: str,
    who: Who,
    house: House,
    member: Member = None,
    after_seq: Annotated[Seq, Query(alias="afterSeq")] = None,
    before_seq: Annotated[Seq, Query(alias="beforeSeq")] = None,
    limit: Limit = 50,
) -> Any:
    """Messages, oldest first: after a number, before one, or the last ones. The administrator may be a member."""
    if after_seq is not None and before_seq is not None:
        raise Invalid("afterSeq and beforeSeq exclude each other", hint="use one of them")
    found = await house.store.read(
        limit_page(spaces.read), id, viewer=who.as_(member), after_seq=after_seq, before_seq=before_seq, limit=limit
    )
    return page(found, limit, wire.write_message, lambda one: one.seq, backwards=after_seq is None)


@router.post("/{id}/messages", status_code=201, responses=shaped(shapes.Message, 201) | documented(404, 409, 413))
async def post(id: str, body: NewMessage, who: Who, write: Write) -> Any:
    """Say something. Every other agent in the space has it in its inbox when this is answered."""
    sender = who.as_(body.sender)
    if sender is None:
        raise Invalid("who says it?", hint="name the sender")
    return await write(
        lambda tx: wire.write_message(spaces.post(tx, id, sender=sender, content=body.content, data=body.data)),
        lane=f"space:{id}",
    )


@router.patch("/{id}/read", responses=shaped(shapes.Member) | documented(404))
async def mark_read(id: str, body: ReadMark, who: Who, house: House) -> Any:
    """Note how far a member has read; it never goes back."""
    name = who.as_(body.name)
    if name is None:
        raise Invalid("who has read it?", hint="name the member")
    return wire.write_member(await house.store.run(spaces.mark_read, id, name, body.seq, lane=f"space:{id}"))


@router.get("/{id}/stream", response_class=stream.EventStream, responses=stream.STREAMED | documented(404))
async def watch(
    id: str, request: Request, who: Who, house: House, last: stream.From, member: Member = None
) -> Response:
    """Messages as they are posted; resumes from Last-Event-ID, which is a message's number."""
    me = who.as_(member)
    found = await house.store.read(spaces.show, id, viewer=me)
    part = stream.space_part(house, found.id, found.last_seq)
    return await stream.respond(request, house, [part], who=me, last=last)
