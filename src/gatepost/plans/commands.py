"""`gatepost plan`."""

from functools import partial
from typing import Annotated, Final

import msgspec

from gatepost.cli import inputs, output
from gatepost.cli.command import Facts, Noun, Outcome, TableRow
from gatepost.cli.current_agent import choose_agent, find_session_agent
from gatepost.cli.gateway_or_store import connect
from gatepost.cli.parameters import JsonFlag, argument, option
from gatepost.core import ids
from gatepost.core.quoting import quote, render_name
from gatepost.core.text import has_visible_text
from gatepost.core.times import parse_instant
from gatepost.errors import Invalid
from gatepost.plans.api import ChangePlan, CreatePlan, DeletePlan, ListPlans, PlanView, RunPlan, ShowPlan
from gatepost.plans.missed_slots import GRACE
from gatepost.plans.plan import CatchUp, PlanSpec, PlanStatus, read_schedule, require_schedule
from gatepost.reports.fire_list_api import FireKind, FireView, ListFires, ListPlanFires, PastFireView
from gatepost.settings import Configuration

plans = Noun(
    "plan", "Set, list, run and delete plans. An agent gets the instruction of a plan later, once or repeatedly."
)
commands = [plans]

#: of a past fire
FIRE_COLUMNS: Final = ("DUE", "FIRED", "EVENT", "STATE", "FOR")
_check_id = partial(ids.check, "plan")
_PLAN: Final = argument("PLAN", "the id of a plan", parse=_check_id)
#: the fields of a plan that `enable` and `disable` leave alone
_OTHERS: Final = dict.fromkeys(
    ("name", "instruction", "run_after", "scheduled_at", "cron", "time_zone", "on_gate", "catch_up", "by")
)


@plans.request(
    "set",
    CreatePlan,
    instruction=argument("TEXT|-", "the instruction; - reads stdin", parse=inputs.read_text),
    run_after=option("--after", "5h"),
    scheduled_at=option("--at", "TIME", "due once, at this time, such as 2026-02-20T10:00:00Z"),
    cron=option("--cron", "EXPR"),
    time_zone=option("--zone", "ZONE"),
    catch_up=option("--catch-up", "once|skip|all", parse=CatchUp.parse),
    owner=option("--owner", "NAME", "who gets it; by default the current agent"),
    active=None,
    by=None,
)
def set_plan(
    request: CreatePlan,
    configuration: Configuration,
    id: Annotated[str | None, option("--id", "PLAN", "change this plan instead", parse=_check_id)] = None,
    json: JsonFlag = False,
) -> None:
    """
    Create a plan and print its id, or change one. With --id the given fields change, and the others stay.

    When it is due, its owner gets an event in the inbox: once, however many gateways run, and late if none ran.

    Examples:
      gatepost plan set --owner analyst --name Build --after 30m "Is it green?"
      gatepost plan set --name "Daily report" --cron "0 9 * * 1-5" "Post it"
      gatepost plan set --id plan_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --cron @weekly
    """
    schedule = read_schedule(request)  # here too, so that a mistake is reported before anything is opened
    fields = msgspec.structs.asdict(request) | {"by": find_session_agent(configuration)}
    owner = fields.pop("owner")
    if id is None:
        require_schedule(PlanSpec(name=request.name, schedule=schedule))
        owner = choose_agent(owner, "--owner", configuration, otherwise="the plan has no owner")
    elif owner is not None:
        raise Invalid("the owner of a plan cannot change", hint="leave out --owner, or create a plan without --id")
    elif request == CreatePlan():
        raise Invalid("nothing to change", hint="give a new value, such as --after 5h or another TEXT")
    is_given = id is None or request.instruction is not None
    if is_given and not has_visible_text(request.instruction or ""):
        raise Invalid("a plan needs an instruction", hint="give it as TEXT; - reads stdin")
    with connect(configuration) as connection:
        if request.scheduled_at is not None and connection.read_clock() - parse_instant(request.scheduled_at) > GRACE:
            raise Invalid(
                f"--at: {request.scheduled_at!r} is in the past",
                hint="give a time that is still to come, or --after 5h",
            )
        plan = connection.send(CreatePlan(owner=owner, **fields) if id is None else ChangePlan(id=id, **fields))
    output.done(msgspec.to_builtins(plan), plan.id, f"{plan.owner} gets it {_describe_schedule(plan)}", json=json)


@plans.list(
    "list",
    ListPlans,
    columns=("PLAN", "OWNER", "NEXT", "RECURS", "FIRED", "INSTRUCTION"),
    empty=lambda request: f"no plans of {request.owner!r}" if request.owner else "no plans yet",
)
def list_plans(plan: PlanView) -> TableRow:
    """
    List the plans, in the order in which they were created.

    Example:
      gatepost plan list --owner analyst --status pending
    """
    return [
        plan.id,
        plan.owner,
        output.format_seconds(plan.next_run_at) or _get_state(plan),
        f"{plan.cron} {plan.time_zone}" if plan.cron is not None else "",
        str(plan.fired),
        f"{render_name(plan.name)}: {quote(plan.instruction)}",
    ]


def _get_state(plan: PlanView) -> str:
    return "disabled" if plan.status is PlanStatus.PENDING and not plan.active else plan.status.value


@plans.show("show", ShowPlan, id=_PLAN)
def show(plan: PlanView) -> Facts:
    """
    Show a plan: what it says, and when it fires.

    Example:
      gatepost plan show plan_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    once = f"at {output.format_seconds(plan.scheduled_at)}" if plan.scheduled_at is not None else None
    return [
        ("plan", plan.id),
        ("name", plan.name),
        ("state", _get_state(plan)),
        ("owner", plan.owner),
        ("instruction", plan.instruction),
        ("fires", f"{plan.cron} {plan.time_zone}" if plan.cron is not None else once),
        ("on gate", plan.on_gate),
        ("catch up", plan.catch_up.value if plan.cron is not None else None),
        ("next", output.format_seconds(plan.next_run_at)),
        ("last", output.format_seconds(plan.last_run_at)),
        ("fired", f"{plan.fired} {'time' if plan.fired == 1 else 'times'}"),
        ("since", plan.created_at),
        ("ended", plan.ended_at),
    ]


@plans.list(
    "next",
    ListFires,
    columns=("DUE", "KIND", "OWNER", "WHAT"),
    empty=lambda request: f"nothing fires within {request.within}",
    count=20,
    within=option("--within", "1d", default="1d"),
)
def next_fires(fire: FireView) -> TableRow:
    """
    List when plans and cron triggers fire next.

    Example:
      gatepost plan next --owner analyst --within 7d
    """
    what = fire.id if fire.kind is FireKind.TRIGGER else f"{fire.id} {render_name(fire.name)}"
    return [output.format_seconds(fire.at), fire.kind.value, fire.owner, what]


@plans.list(
    "fires",
    ListPlanFires,
    columns=FIRE_COLUMNS,
    empty="no fire of this plan is remembered",
    count=20,
    id=_PLAN,
)
def fires(fire: PastFireView) -> TableRow:
    """
    List when a plan has fired, the newest first.

    Example:
      gatepost plan fires plan_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    return build_past_fire_row(fire)


def build_past_fire_row(fire: PastFireView) -> TableRow:
    return [
        output.format_seconds(fire.due_at),
        output.format_seconds(fire.fired_at),
        fire.event_id,
        fire.state.value,
        fire.recipient,
    ]


@plans.request("enable", ChangePlan, id=_PLAN, active=True, **_OTHERS)
def enable(request: ChangePlan, configuration: Configuration, json: JsonFlag = False) -> None:
    """
    Let a plan that was disabled fire again.

    Slots of cron that have passed meanwhile are left out. A plan that is due once fires at once if its time has passed
    meanwhile, or if its gate was resolved.

    Example:
      gatepost plan enable plan_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    with connect(configuration) as connection:
        plan = connection.send(msgspec.structs.replace(request, by=find_session_agent(configuration)))
        now = connection.read_clock()
    is_late = plan.next_run_at is not None and now >= parse_instant(plan.next_run_at)
    late = f"now: it was due at {output.format_seconds(plan.next_run_at)}"
    message = f"enabled: {plan.owner} gets it {late if is_late else _describe_schedule(plan)}"
    output.done(msgspec.to_builtins(plan), plan.id, message, json=json)


@plans.send("disable", ChangePlan, id=_PLAN, active=False, **_OTHERS)
def disable(plan: PlanView) -> Outcome:
    """
    Keep a plan from firing until it is enabled.

    Example:
      gatepost plan disable plan_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    return Outcome(plan.id, f"disabled: {plan.owner} gets it no more until it is enabled")


@plans.request("run", RunPlan, id=_PLAN, by=None)
def run(request: RunPlan, configuration: Configuration, json: JsonFlag = False) -> None:
    """
    Fire a plan once, now, and print the id of its event. Its schedule stays as it is.

    A plan that is disabled or has ended can be run, too.

    Example:
      gatepost plan run plan_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    with connect(configuration) as connection:
        fire = connection.send(msgspec.structs.replace(request, by=find_session_agent(configuration)))
    output.done(msgspec.to_builtins(fire), fire.event_id, f"{fire.recipient} gets it now", json=json)


@plans.send("delete", DeletePlan, id=_PLAN)
def delete(request: DeletePlan) -> Outcome:
    """
    Delete a plan: it fires no more.

    Example:
      gatepost plan delete plan_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    return Outcome(request.id, "deleted: the plan fires no more", {"id": request.id, "deleted": True})


def _describe_schedule(plan: PlanView) -> str:
    if plan.status is PlanStatus.PENDING and not plan.active:
        return f"once it is enabled: `gatepost plan enable {plan.id}`"
    without_slot = f"when {plan.on_gate} is resolved" if plan.status is PlanStatus.PENDING else "never"
    next_slot = f"at {output.format_seconds(plan.next_run_at)}" if plan.next_run_at is not None else without_slot
    return next_slot if plan.cron is None else f"{next_slot}, and again by {plan.cron!r} in {plan.time_zone}"
