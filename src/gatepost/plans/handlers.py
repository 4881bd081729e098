"""Plans."""

from msgspec.structs import asdict

from gatepost.core.ports import Reader, Transaction
from gatepost.operations.access import Caller
from gatepost.operations.pagination import read_page
from gatepost.plans import actions as plans
from gatepost.plans.api import ChangePlan, CreatePlan, DeletePlan, ListPlans, PlanFields, PlanPage, PlanView, ShowPlan
from gatepost.plans.plan import PlanSpec, parse_schedule


@CreatePlan.handler
def create_plan(tx: Transaction, request: CreatePlan, caller: Caller) -> PlanView:
    return PlanView.of(plans.set_plan(tx, request.owner, build_spec(request), by=request.by))


@ListPlans.handler
def list_plans(tx: Reader, request: ListPlans, caller: Caller) -> PlanPage:
    return read_page(tx, PlanPage, plans.page, view=PlanView.of, **asdict(request))


@ShowPlan.handler
def show_plan(tx: Reader, request: ShowPlan, caller: Caller) -> PlanView:
    return PlanView.of(plans.show(tx, request.id, owner=caller.entity))


@ChangePlan.handler
def change_plan(tx: Transaction, request: ChangePlan, caller: Caller) -> PlanView:
    return PlanView.of(plans.set_plan(tx, caller.entity, build_spec(request, request.id), by=request.by))


@DeletePlan.handler
def delete_plan(tx: Transaction, request: DeletePlan, caller: Caller) -> None:
    plans.delete(tx, request.id, owner=caller.entity)


def build_spec(request: PlanFields, id: str | None = None) -> PlanSpec:
    return PlanSpec(
        id=id,
        name=request.name,
        instruction=request.instruction,
        schedule=parse_schedule(
            run_after=request.run_after,
            scheduled_at=request.scheduled_at,
            cron=request.cron,
            time_zone=request.time_zone,
            on_gate=request.on_gate,
        ),
        catch_up=request.catch_up,
        active=request.active,
    )
