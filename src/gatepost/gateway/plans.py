"""Plans: `/api/plans`."""

from typing import Any

from fastapi import APIRouter

from gatepost.actions import plans
from gatepost.actions.pages import limit_page
from gatepost.core import plan as rules
from gatepost.core import wire
from gatepost.core.plan import PlanSpec, PlanStatus
from gatepost.gateway import shapes
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import After, House, Limit, Who, Write, page
from gatepost.gateway.shapes import shaped
from gatepost.gateway.wire import NewPlan, PlanChange

router = APIRouter(prefix="/api/plans", tags=["plans"], responses=documented(401, 403, 404, 422, 503))


@router.post("", status_code=201, responses=shaped(shapes.Plan, 201) | documented(409, 413))
async def create(body: NewPlan, who: Who, write: Write) -> Any:
    """Make a plan, due by exactly one of `runAfter`, `scheduledAt`, `cron` and `onGate`."""
    owner, by = who.as_(body.owner), who.as_(body.by)
    return await write(lambda tx: wire.write_plan(plans.set_plan(tx, owner, _wish(body), by=by)), lane=owner or "")


@router.get("", responses=shaped(shapes.PlanPage))
async def list_plans(
    who: Who,
    house: House,
    owner: str | None = None,
    status: str | None = None,
    after: After = 0,
    limit: Limit = 100,
) -> Any:
    """The plans of the caller; for the administrator all, or those of an owner."""
    wanted = PlanStatus.parse(status) if status else None
    found = await house.store.read(limit_page(plans.page), who.as_(owner), status=wanted, after=after, limit=limit)
    return page(found, limit, wire.write_plan, lambda one: one.number)


@router.get("/{id}", responses=shaped(shapes.Plan))
async def show(id: str, who: Who, house: House) -> Any:
    """A plan of the caller's; the administrator sees all."""
    return wire.write_plan(await house.store.read(plans.show, id, owner=who.as_(None)))


@router.patch("/{id}", responses=shaped(shapes.Plan) | documented(409, 413))
async def change(id: str, body: PlanChange, who: Who, write: Write) -> Any:
    """Change what is named in the body; the rest stays."""
    owner, by = who.as_(None), who.as_(body.by)
    return await write(lambda tx: wire.write_plan(plans.set_plan(tx, owner, _wish(body, id), by=by)))


@router.delete("/{id}", status_code=204)
async def delete(id: str, who: Who, write: Write) -> None:
    """Delete a plan: it fires no more."""
    owner = who.as_(None)
    await write(lambda tx: plans.delete(tx, id, owner=owner))


def _wish(body: NewPlan | PlanChange, id: str | None = None) -> PlanSpec:
    fields = body.model_dump(by_alias=True, exclude={"owner", "by"}, exclude_none=True)
    return rules.parse_spec(fields | ({"id": id} if id else {}))
