"""Plans: instructions that come to their owner's inbox later."""

from typing import Annotated, Final

from msgspec import Meta

from gatepost.errors import Conflict, NotFound, TooLarge
from gatepost.operations.access import ActAs, AnyEntity
from gatepost.operations.fields import After, Count, Limit, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Request, read, write
from gatepost.operations.tool import FOR_MCP, Tool, ToolChanges
from gatepost.plans.plan import CatchUp, Plan, PlanFire, PlanStatus


class PlanView(RecordView[Plan]):
    id: str
    owner: str
    name: str
    instruction: str
    cron: str | None
    time_zone: Annotated[str | None, Source("zone")]
    catch_up: CatchUp
    scheduled_at: Annotated[Time | None, describe("the slot of a plan that fires once")]
    on_gate: Annotated[str | None, Source("gate")]
    hops: Count
    next_run_at: Annotated[Time | None, describe("null if it has ended, waits for its gate, or is disabled")]
    last_run_at: Annotated[Time | None, describe("the last slot that fired, not the time of firing"), Source("last_at")]
    status: PlanStatus
    active: Annotated[bool, describe("whether it fires; a plan that is disabled does not")]
    fired: Count
    created_at: Time
    ended_at: Time | None
    is_recurring: Annotated[bool, Source(lambda plan: plan.cron is not None)]


class PlanFireView(RecordView[PlanFire]):
    """What came of a plan that was run by hand."""

    plan: str
    event_id: Annotated[str, Source("event")]
    recipient: str
    fired_at: Time


#: what a model gets of a plan
_ANSWER: Final = ("id", "name", "instruction", "cron", "on_gate", "next_run_at", "status", "active")


class PlanFields(Request[PlanView], kw_only=True):
    """What a request says of a plan; a field that is null is not said."""

    name: Annotated[str | None, describe("the name of the plan")] = None
    instruction: Annotated[str | None, describe("text that comes to the inbox")] = None
    run_after: Annotated[str | None, Meta(description="due once, after this time", examples=["5 hours"])] = None
    scheduled_at: Annotated[
        str | None, Meta(description="due once, at this time", examples=["2026-02-20T10:00:00Z"])
    ] = None
    cron: Annotated[str | None, describe("due again and again: five fields, or a word such as @daily")] = None
    time_zone: Annotated[str | None, describe("the time zone of cron; by default UTC")] = None
    on_gate: Annotated[str | None, describe("due once, when this gate is resolved")] = None
    catch_up: Annotated[CatchUp | None, describe("which missed slots of cron fire late")] = None
    active: Annotated[bool | None, describe("whether it fires; by default a new plan does")] = None
    by: Annotated[str | None, describe("entity that sets it: a guest's plan continues its chain of events")] = None


@write(
    "POST /api/plans",
    access=ActAs("owner", "by"),
    lane="{owner}",
    status=201,
    requires_body=True,
    errors=(NotFound, Conflict, TooLarge),
    example={"owner": "analyst", "name": "Daily Report", "instruction": "Post the summary", "cron": "0 9 * * *"},
    tool=Tool(
        name="set_plan",
        title="Set a plan",
        answer=_ANSWER,
        description="Have an instruction come to your inbox later. Give exactly one of run_after, scheduled_at, cron"
        " and on_gate.",
        own=("owner", "by"),
        hidden=("catch_up", "active"),
        doors=FOR_MCP,
    ),
)
class CreatePlan(PlanFields):
    """Create a plan, due by exactly one of `runAfter`, `scheduledAt`, `cron` and `onGate`."""

    owner: Annotated[str | None, describe("entity whose inbox it fires into; default: the caller")] = None


@read(
    "GET /api/plans",
    access=ActAs("owner"),
    errors=(NotFound,),
    tool=Tool(
        name="list_plans",
        title="List plans",
        answer=_ANSWER,
        description="List your plans.",
        hidden=("owner",),
        for_residents=ToolChanges(
            name="get_plans",
            description="Read your plans in full.",
            answer=(*_ANSWER, "time_zone", "scheduled_at", "is_recurring"),
            items="plans",
        ),
    ),
)
class ListPlans(Request[Page[PlanView]]):
    """List the plans of the caller; for the administrator all, or those of an owner."""

    owner: Annotated[str | None, describe("only plans of this owner")] = None
    status: Annotated[PlanStatus | None, describe("only plans with this status")] = None
    after: After = 0
    limit: Limit = 100


@read("GET /api/plans/{id}", access=AnyEntity())
class ShowPlan(Request[PlanView]):
    """Show a plan of the caller; the administrator sees all."""

    id: str


@write(
    "PATCH /api/plans/{id}",
    access=ActAs("by"),
    requires_body=True,
    errors=(Conflict, TooLarge),
    example={"cron": "0 9 * * 1", "timeZone": "Europe/Berlin"},
)
class ChangePlan(PlanFields):
    """
    Change the fields that the body names; the others stay. A plan that is enabled again is due as if it were just set:
    slots that have passed are not caught up; one that is due once fires at once if its time has come.
    """

    id: str


@write("DELETE /api/plans/{id}", access=AnyEntity(), status=204)
class DeletePlan(Request[None]):
    """Delete a plan: it fires no more."""

    id: str


@write("POST /api/plans/{id}/run", access=ActAs("by"), errors=(Conflict, TooLarge), example={})
class RunPlan(Request[PlanFireView]):
    """Fire a plan once, now. Its schedule stays as it is; one that is disabled or has ended can be run, too."""

    id: str
    by: Annotated[str | None, describe("entity that runs it: a guest continues its chain of events")] = None
