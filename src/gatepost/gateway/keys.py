"""Keys: `/api/keys`. For the administrator only."""

from typing import Any

from fastapi import APIRouter

from gatepost.actions import directory, keys
from gatepost.actions.pages import limit_page
from gatepost.core import wire
from gatepost.core.key import KeyKind
from gatepost.errors import Invalid
from gatepost.gateway import shapes
from gatepost.gateway.auth import administrator
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import After, House, Limit, Who, Write, page
from gatepost.gateway.shapes import shaped
from gatepost.gateway.wire import NewKey
from gatepost.runtime.admin_key import generate_secret

router = APIRouter(prefix="/api/keys", tags=["keys"], responses=documented(401, 403, 422, 503))


@router.post("", status_code=201, responses=shaped(shapes.KeyMade, 201) | documented(404))
async def create(body: NewKey, who: Who, house: House) -> Any:
    """Make a key: for one agent, for one agent's trigger, public, or the administrator's. It is shown this once."""
    administrator(who)
    if sum((body.agent is not None, body.trigger is not None, body.public)) > 1:
        raise Invalid("a key is for one thing", hint="name an agent, or a trigger, or say public")
    secret = generate_secret(public=body.public)
    kind: KeyKind = "agent" if body.agent else "trigger" if body.trigger else "public" if body.public else "admin"
    name = body.agent or body.trigger
    entity = (await house.store.read(directory.find_live, name)).name if name else None
    made = await house.store.run(keys.create, kind=kind, secret=secret, entity=entity, name=body.name)
    return wire.write_key(made) | {"key": secret}


@router.get("", responses=shaped(shapes.KeyPage))
async def list_keys(who: Who, house: House, after: After = 0, limit: Limit = 100) -> Any:
    """The keys there are and were, by their prefixes, in the order in which they were made."""
    administrator(who)
    found = await house.store.read(limit_page(keys.page), after=after, limit=limit)
    return page(found, limit, wire.write_key, lambda one: one.number)


@router.delete("/{id}", responses=shaped(shapes.Key) | documented(404, 409))
async def revoke(id: str, who: Who, write: Write) -> Any:
    """Let a key, named by its id or prefix, be good for nothing from now on."""
    administrator(who)
    return await write(lambda tx: wire.write_key(keys.revoke(tx, id)))
