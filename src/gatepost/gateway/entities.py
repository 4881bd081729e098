"""Entities: `/api/entities`. What agents have besides is in `agents.py`."""

from typing import Any, Literal

from fastapi import APIRouter

from gatepost.actions import directory
from gatepost.actions.pages import limit_page
from gatepost.core import wire
from gatepost.core.entity import EntityKind
from gatepost.gateway import shapes
from gatepost.gateway.auth import administrator, somebody
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import After, House, Limit, Who, Write, page
from gatepost.gateway.shapes import shaped
from gatepost.gateway.wire import EntityChange, NewEntity

router = APIRouter(tags=["entities"], responses=documented(401, 403, 422, 503))


@router.post("/api/entities", status_code=201, responses=shaped(shapes.Entity, 201) | documented(404, 409))
async def add_entity(body: NewEntity, who: Who, write: Write) -> Any:
    """Register an agent, a human or a service."""
    administrator(who)
    newcomer = body.newcomer(EntityKind(body.kind))
    return await write(lambda tx: wire.write_entity(directory.register(tx, newcomer)), lane="directory")


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
    wanted = EntityKind(kind) if kind else None
    found = await house.store.read(
        limit_page(directory.page), kind=wanted, team=team, retired=retired, after=after, limit=limit
    )
    return page(found, limit, wire.write_entity, lambda one: one.number)


@router.get("/api/entities/{name}", responses=shaped(shapes.Entity) | documented(404))
async def show_entity(name: str, who: Who, house: House) -> Any:
    """An agent, a human or a service, by its name or an alias."""
    somebody(who)
    return wire.write_entity(await house.store.read(directory.show, name))


@router.patch("/api/entities/{name}", responses=shaped(shapes.Entity) | documented(404, 409))
async def change_entity(name: str, body: EntityChange, who: Who, write: Write) -> Any:
    """Change what is named in the body; the rest stays."""
    administrator(who)
    return await write(lambda tx: wire.write_entity(directory.update(tx, name, **body.changes())), lane="directory")


@router.delete("/api/entities/{name}", responses=shaped(shapes.Entity) | documented(404, 409))
async def retire_entity(name: str, who: Who, write: Write) -> Any:
    """Retire an entity: it keeps its history and receives nothing more."""
    administrator(who)
    return await write(lambda tx: wire.write_entity(directory.retire(tx, name)), lane="directory")
