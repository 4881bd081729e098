"""Triggers, as far as they are webhooks: `/api/triggers` to manage them, `/hooks/{trigger}` to call them."""

from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response

from gatepost.actions import triggers
from gatepost.actions.pages import limit_page
from gatepost.core import wire
from gatepost.core.webhook import Scheme
from gatepost.gateway import hooks, shapes
from gatepost.gateway.auth import administrator
from gatepost.gateway.hot import Plain
from gatepost.gateway.office import office
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import After, House, Limit, Who, Write, page
from gatepost.gateway.shapes import shaped
from gatepost.gateway.wire import NewTrigger, TriggerChange

router = APIRouter(prefix="/api/triggers", tags=["triggers"], responses=documented(401, 403, 422, 503))


@router.post("", status_code=201, responses=shaped(shapes.Trigger, 201) | documented(404, 409, 413))
async def add(body: NewTrigger, who: Who, write: Write) -> Any:
    """Add a webhook. Its secret goes in and is never told again."""
    administrator(who)
    wish = triggers.TriggerSpec(
        name=body.name,
        scheme=Scheme.parse(body.scheme),
        secret=body.secret,
        target=body.target,
        prompt=body.prompt,
        owner=body.owner,
    )
    return await write(lambda tx: wire.write_trigger(triggers.add(tx, wish)))


@router.get("", responses=shaped(shapes.TriggerPage))
async def list_triggers(who: Who, house: House, after: After = 0, limit: Limit = 100) -> Any:
    """The webhooks there are, without their secrets."""
    administrator(who)
    found = await house.store.read(limit_page(triggers.page), after=after, limit=limit)
    return page(found, limit, wire.write_trigger, lambda one: one.number)


@router.get("/{name}", responses=shaped(shapes.Trigger) | documented(404))
async def show(name: str, who: Who, house: House) -> Any:
    """A webhook, without its secret."""
    administrator(who)
    return wire.write_trigger(await house.store.read(triggers.show, name))


@router.patch("/{name}", responses=shaped(shapes.Trigger) | documented(404))
async def change(name: str, body: TriggerChange, who: Who, write: Write) -> Any:
    """Open or close a webhook; closed, it answers as if it were not there."""
    administrator(who)
    return await write(lambda tx: wire.write_trigger(triggers.set_active(tx, name, body.active)))


@router.delete("/{name}", status_code=204, responses=documented(404))
async def delete(name: str, who: Who, write: Write) -> None:
    """Delete a webhook; what came by it stays."""
    administrator(who)
    await write(lambda tx: triggers.delete(tx, name))


async def hook(request: Request) -> Response:
    """What comes from outside: whoever signs it as the webhook's scheme says is let in, and nobody else."""
    house = office(request)
    status, headers, body = await hooks.take(
        request.path_params["trigger"], request.method, request.headers.items(), await request.body(), house.store
    )
    return Response(body, status, headers)


def install(app: FastAPI) -> None:
    app.router.routes.append(Plain("/hooks/{trigger}", hook, methods=["POST"], include_in_schema=False))
