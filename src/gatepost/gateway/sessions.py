"""The sessions of guests: `/api/sessions`. The hooks of their programs make them known."""

from typing import Any

from fastapi import APIRouter

from gatepost.actions import sessions
from gatepost.core import wire
from gatepost.gateway import shapes
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import House, Who
from gatepost.gateway.shapes import shaped

router = APIRouter(prefix="/api/sessions", tags=["sessions"], responses=documented(401, 403, 404, 422, 503))


@router.get("/{id}", responses=shaped(shapes.Session))
async def show(id: str, who: Who, house: House) -> Any:
    """A session of the caller's, by the id that its program gave it: whose it is, and what it is doing."""
    return wire.write_session(await house.store.read(sessions.find, id, agent=who.as_(None)))
