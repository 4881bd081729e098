"""Entities and agents: `/api/entities`, `/api/agents`."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request

from gatepost.actions import directory
from gatepost.core import wire
from gatepost.core.entity import Entity, Kind
from gatepost.core.ring import Ring
from gatepost.errors import UnknownAddress
from gatepost.gateway import shapes
from gatepost.gateway.auth import Principal, administrator, caller, somebody
from gatepost.gateway.office import Office, office
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import After, IdempotencyKey, Limit, page, write
from gatepost.gateway.shapes import shaped
from gatepost.gateway.wire import EntityChange, NewAgent, NewEntity
from gatepost.ports.store import Reader, Work

router = APIRouter(tags=["entities"], responses=documented(401, 403, 422, 503))
Who = Annotated[Principal, Depends(caller)]
House = Annotated[Office, Depends(office)]


@router.post("/api/entities", status_code=201, responses=shaped(shapes.Entity, 201) | documented(404, 409))
async def add_entity(body: NewEntity, request: Request, who: Who, house: House, key: IdempotencyKey = None) -> Any:
    """Register an agent, a human or a service."""
    administrator(who)
    return await _register(house, request, who, key, body, Kind(body.kind))


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
    return await _page(house, Kind(kind) if kind else None, team, retired, after, limit)


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
    return await _change(house, request, who, key, name, body, None)


@router.delete("/api/entities/{name}", responses=shaped(shapes.Entity) | documented(404, 409))
async def retire_entity(name: str, request: Request, who: Who, house: House, key: IdempotencyKey = None) -> Any:
    """Retire an entity: it keeps its history and receives nothing more."""
    administrator(who)
    return await _retire(house, request, who, key, name, None)


@router.post(
    "/api/agents", status_code=201, tags=["agents"], responses=shaped(shapes.Entity, 201) | documented(404, 409)
)
async def add_agent(body: NewAgent, request: Request, who: Who, house: House, key: IdempotencyKey = None) -> Any:
    """Register an agent."""
    administrator(who)
    return await _register(house, request, who, key, body, Kind.AGENT)


@router.get("/api/agents", tags=["agents"], responses=shaped(shapes.EntityPage))
async def list_agents(
    who: Who, house: House, team: str | None = None, retired: bool = False, after: After = 0, limit: Limit = 100
) -> Any:
    """The agents there are, in order of registration."""
    somebody(who)
    return await _page(house, Kind.AGENT, team, retired, after, limit)


@router.get("/api/agents/{name}", tags=["agents"], responses=shaped(shapes.Entity) | documented(404))
async def show_agent(name: str, who: Who, house: House) -> Any:
    """An agent, by its name or an alias."""
    somebody(who)
    return wire.entity(await house.store.read(_agent, name))


@router.patch("/api/agents/{name}", tags=["agents"], responses=shaped(shapes.Entity) | documented(404, 409))
async def change_agent(
    name: str, body: EntityChange, request: Request, who: Who, house: House, key: IdempotencyKey = None
) -> Any:
    """Change what is named in the body; the rest stays."""
    administrator(who)
    return await _change(house, request, who, key, name, body, Kind.AGENT)


@router.delete("/api/agents/{name}", tags=["agents"], responses=shaped(shapes.Entity) | documented(404, 409))
async def retire_agent(name: str, request: Request, who: Who, house: House, key: IdempotencyKey = None) -> Any:
    """Retire an agent: it keeps its history and receives nothing more."""
    administrator(who)
    return await _retire(house, request, who, key, name, Kind.AGENT)


@router.post(
    "/api/agents/{name}/wake", status_code=202, tags=["agents"], responses=shaped(shapes.Woken, 202) | documented(404)
)
async def wake(name: str, who: Who, house: House) -> Any:
    """Let an agent look at its inbox; if it is empty, nothing else happens."""
    agent = await house.store.read(_agent, name)
    who.as_(agent.name)
    house.exchange.send([Ring(agent.name, "wake")])
    return {"name": agent.name, "woken": True}


async def _register(
    house: Office, request: Request, who: Principal, key: str | None, body: NewEntity | NewAgent, kind: Kind
) -> Any:
    newcomer = directory.Newcomer(
        name=body.name,
        kind=kind,
        display=body.display_name,
        team=body.team,
        role=body.role,
        owner=body.owner,
        aliases=body.aliases,
    )

    def verb(work: Work) -> wire.Document:
        return wire.entity(directory.register(work, newcomer))

    return await write(house, request, who, key, verb, lane="directory")


async def _page(house: Office, kind: Kind | None, team: str | None, retired: bool, after: int, limit: int) -> Any:
    found = await house.store.read(directory.page, kind=kind, team=team, retired=retired, after=after, limit=limit)
    return page([wire.entity(one) for one in found], limit, lambda: found[-1].number)


async def _change(
    house: Office, request: Request, who: Principal, key: str | None, name: str, body: EntityChange, kind: Kind | None
) -> Any:
    changes = {"display" if field == "display_name" else field: getattr(body, field) for field in body.model_fields_set}

    def verb(work: Work) -> wire.Document:
        _of_kind(directory.find_live(work, name), kind)
        return wire.entity(directory.update(work, name, **changes))

    return await write(house, request, who, key, verb, lane="directory")


async def _retire(
    house: Office, request: Request, who: Principal, key: str | None, name: str, kind: Kind | None
) -> Any:
    def verb(work: Work) -> wire.Document:
        _of_kind(directory.find(work, name), kind)
        return wire.entity(directory.retire(work, name))

    return await write(house, request, who, key, verb, lane="directory")


def _agent(reader: Reader, name: str) -> Entity:
    return _of_kind(directory.show(reader, name), Kind.AGENT)


def _of_kind(entity: Entity, kind: Kind | None) -> Entity:
    if kind is not None and entity.kind is not kind:
        raise UnknownAddress(f"{entity.name!r} is not an {kind}, but a {entity.kind}")
    return entity
