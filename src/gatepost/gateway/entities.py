"""Entities: `/api/entities`. What agents have besides is in `agents.py`."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request

from gatepost.actions import directory
from gatepost.core import wire
from gatepost.core.entity import Kind
from gatepost.gateway import shapes
from gatepost.gateway.auth import Principal, administrator, caller, somebody
from gatepost.gateway.office import Office, office
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import After, IdempotencyKey, Limit, page, write
from gatepost.gateway.shapes import shaped
from gatepost.gateway.wire import EntityChange, NewEntity
from gatepost.ports.store import Work

router = APIRouter(tags=["entities"], responses=documented(401, 403, 422, 503))
Who = Annotated[Principal, Depends(caller)]
House = Annotated[Office, Depends(office)]


@router.post("/api/entities", status_code=201, responses=shaped(shapes.Entity, 201) | documented(404, 409))
async def add_entity(body: NewEntity, request: Request, who: Who, house: House, key: IdempotencyKey = None) -> Any:
    """Register an agent, a human or a service."""
    administrator(who)
    newcomer = directory.Newcomer(
        name=body.name,
        kind=Kind(body.kind),
        display=body.display_name,
        team=body.team,
        role=body.role,
        owner=body.owner,
        aliases=body.aliases,
    )

    def verb(work: Work) -> wire.Document:
        return wire.entity(directory.register(work, newcomer))

    return await write(house, request, who, key, verb, lane="directory")


@router.get("/api/entities", responses=shaped(shapes.EntityPage))
async def list_entities(
    who: Who,
    house: House,
    kind: Literal["agent", "human", "service"] | None = None,
    team: str | None = None,
    retired: bool = False,
    after: After = 0,
    limit: Limit = 100,
) -> Any:
    """Who there is, in order of registration."""
    somebody(who)
    wanted = Kind(kind) if kind else None
    found = await house.store.read(directory.page, kind=wanted, team=team, retired=retired, after=after, limit=limit)
    return page([wire.entity(one) for one in found], limit, lambda: found[-1].number)


@router.get("/api/entities/{name}", responses=shaped(shapes.Entity) | documented(404))
async def show_entity(name: str, who: Who, house: House) -> Any:
    """An agent, a human or a service, by its name or an alias."""
    somebody(who)
    return wire.entity(await house.store.read(directory.show, name))


@router.patch("/api/entities/{name}", responses=shaped(shapes.Entity) | documented(404, 409))
async def change_entity(
    name: str, body: EntityChange, request: Request, who: Who, house: House, key: IdempotencyKey = None
) -> Any:
    """Change what is named in the body; the rest stays."""
    administrator(who)

    def verb(work: Work) -> wire.Document:
        return wire.entity(directory.update(work, name, **body.changes()))

    return await write(house, request, who, key, verb, lane="directory")


@router.delete("/api/entities/{name}", responses=shaped(shapes.Entity) | documented(404, 409))
async def retire_entity(name: str, request: Request, who: Who, house: House, key: IdempotencyKey = None) -> Any:
    """Retire an entity: it keeps its history and receives nothing more."""
    administrator(who)

    def verb(work: Work) -> wire.Document:
        return wire.entity(directory.retire(work, name))

    return await write(house, request, who, key, verb, lane="directory")
