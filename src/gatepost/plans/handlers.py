"""Plans."""

from msgspec.structs import asdict

from gatepost.core.ports import Reader, Transaction
from gatepost.operations.access import Caller
from gatepost.operations.fields import build_record
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page
from gatepost.plans import actions as plans, api
from gatepost.plans.plan import PlanSpec, read_schedule


@api.CreatePlan.handler
def create_plan(tx: Transaction, request: api.CreatePlan, caller: Caller) -> api.PlanView:
    return api.PlanView.of(plans.set_plan(tx, request.owner, build_spec(request), by=request.by))


@api.ListPlans.handler
def list_plans(tx: Reader, request: api.ListPlans, caller: Caller) -> Page[api.PlanView]:
    return read_page(tx, request, plans.list_page, **asdict(request))


@api.ShowPlan.handler
def show_plan(tx: Reader, request: api.ShowPlan, caller: Caller) -> api.PlanView:
    return api.PlanView.of(plans.show(tx, request.id, owner=caller.entity))


@api.ChangePlan.handler
def change_plan(tx: Transaction, request: api.ChangePlan, caller: Caller) -> api.PlanView:
    return api.PlanView.of(plans.set_plan(tx, caller.entity, build_spec(request, request.id), by=request.by))


@api.RunPlan.handler
def run_plan(tx: Transaction, request: api.RunPlan, caller: Caller) -> api.PlanFireView:
    return api.PlanFireView.of(plans.run_now(tx, request.id, owner=caller.entity, by=request.by))


@api.DeletePlan.handler
def delete_plan(tx: Transaction, request: api.DeletePlan, caller: Caller) -> None:
    plans.delete(tx, request.id, owner=caller.entity)


def build_spec(request: api.PlanFields, id: str | None = None) -> PlanSpec:
    return build_record(PlanSpec, request, id=id, schedule=read_schedule(request))
