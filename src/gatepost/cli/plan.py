"""`gatepost plan`."""

from typing import Annotated, Any

import msgspec

from gatepost import settings
from gatepost.api.plans import ChangePlan, CreatePlan, DeletePlan, ListPlans, PlanView
from gatepost.cli import identity, output, words
from gatepost.cli.connect import connect
from gatepost.cli.plain import Json, Limit, Noun, argument, option
from gatepost.core import ids, render
from gatepost.core.plan import CatchUp, PlanStatus
from gatepost.errors import Invalid

app = Noun(help="Plans: what an agent is told later, once or again and again.")

_SCHEDULE_HINT = "give --after 5h, --at 2026-02-20T10:00:00Z, --cron '0 9 * * 1-5' or --on-gate GATE"


@app.verb("set")
def set_(
    text: Annotated[str | None, argument("TEXT|-", "What to do then; - reads stdin.")] = None,
    owner: Annotated[str | None, option("--owner", "NAME", "Who is told; else the current agent.")] = None,
    name: Annotated[str | None, option("--name", "NAME", "What the plan is called.")] = None,
    after: Annotated[str | None, option("--after", "5h", "Due once, so long from now.")] = None,
    at: Annotated[str | None, option("--at", "TIME", "Due once, at this time.")] = None,
    cron: Annotated[str | None, option("--cron", "EXPR", "Due again and again: five fields, or @daily.")] = None,
    zone: Annotated[str | None, option("--zone", "ZONE", "The time zone of --cron; else UTC.")] = None,
    on_gate: Annotated[str | None, option("--on-gate", "GATE", "Due once, when this gate is resolved.")] = None,
    catch_up: Annotated[
        str | None, option("--catch-up", "once|skip|all", "What of --cron fires late that was missed.")
    ] = None,
    id: Annotated[str | None, option("--id", "PLAN", "Change this plan instead.")] = None,
    json: Json = False,
) -> None:
    """
    Make a plan, and print its id; with --id, change what is given of one.

    When it is due, its owner has an event in the inbox: once, however many gateways run, and late if none did.

    Examples:
      gatepost plan set --owner analyst --name "Check the build" --after 30m "See whether the build is green"
      gatepost plan set --owner analyst --name "Daily report" --cron "0 9 * * 1-5" --zone Europe/Berlin "Post it"
      gatepost plan set --id plan_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --cron @weekly
    """
    configuration = settings.load()
    fields: dict[str, Any] = {
        "name": name,
        "run_after": after,
        "scheduled_at": at,
        "cron": cron,
        "time_zone": zone,
        "on_gate": on_gate,
        "catch_up": CatchUp.parse(catch_up) if catch_up is not None else None,
        "instruction": words.content(text, configuration.settings.limits.content) if text is not None else None,
    }
    if sum(schedule is not None for schedule in (after, at, cron, on_gate)) > 1:
        raise Invalid("give only one of --after, --at, --cron and --on-gate")
    if zone is not None and cron is None:
        raise Invalid("--zone goes with --cron", hint="a time says its offset itself: 2026-02-20T10:00:00+01:00")
    by = identity.find_session_agent(configuration)
    request: CreatePlan | ChangePlan
    if id is None:
        _check_new(fields)
        owner = identity.choose_agent(owner, "--owner", configuration, otherwise="whose plan is it?")
        request = CreatePlan(owner=owner, by=by, **fields)
    elif owner is not None:
        raise Invalid("a plan stays with its owner", hint="leave out --owner, or make a new plan without --id")
    elif all(value is None for value in fields.values()):
        raise Invalid("there is nothing to change", hint="say what, such as --after 5h or another TEXT")
    else:
        request = ChangePlan(id=_check_id(id), by=by, **fields)
    with connect(configuration) as connection:
        plan = connection.send(request)
    output.done(msgspec.to_builtins(plan), plan.id, f"{plan.owner} is told {_describe_schedule(plan)}", json=json)


@app.verb("list")
def list_(
    owner: Annotated[str | None, option("--owner", "NAME", "Only this one's.")] = None,
    status: Annotated[str | None, option("--status", "STATUS", f"Only those that are {', '.join(PlanStatus)}.")] = None,
    limit: Limit = "100",
    json: Json = False,
) -> None:
    """
    List the plans, in the order in which they were made.

    Example:
      gatepost plan list --owner analyst --status pending
    """
    count = words.number(limit, "--limit", most=100_000)
    request = ListPlans(
        owner=words.given(owner, "--owner"), status=PlanStatus.parse(status) if status is not None else None
    )
    with connect() as connection:
        plans = connection.list_all(request, count + 1)
    headings = ["PLAN", "OWNER", "NEXT", "RECURS", "FIRED", "WHAT"]
    none = "there is no plan" + (f" of {owner!r}" if owner else "")
    output.listing(plans, count, headings, _build_row, msgspec.to_builtins, otherwise=none, json=json)


@app.verb("delete")
def delete(
    plan: Annotated[str, argument("PLAN", "The id of a plan.")],
    json: Json = False,
) -> None:
    """
    Delete a plan: it fires no more.

    Example:
      gatepost plan delete plan_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    with connect() as connection:
        connection.send(DeletePlan(id=_check_id(plan)))
    output.done({"id": plan, "deleted": True}, plan, "deleted", json=json)


def _check_id(text: str) -> str:
    """Return the id of a plan; in the path of a request, `a/b` would be another path."""
    return ids.check("plan", text)


def _check_new(fields: dict[str, Any]) -> None:
    if fields["name"] is None:
        raise Invalid("a plan needs a name", hint="give --name NAME")
    if all(fields[name] is None for name in ("run_after", "scheduled_at", "cron", "on_gate")):
        raise Invalid("a plan must say when it is due", hint=_SCHEDULE_HINT)


def _describe_schedule(plan: PlanView) -> str:
    without_slot = f"when {plan.on_gate} is resolved" if plan.status is PlanStatus.PENDING else "never"
    next_slot = plan.next_run_at or without_slot
    return next_slot if plan.cron is None else f"{next_slot}, and again by {plan.cron!r} in {plan.time_zone}"


def _build_row(plan: PlanView) -> list[str]:
    return [
        plan.id,
        plan.owner,
        output.format_seconds(plan.next_run_at) if plan.next_run_at is not None else plan.status.value,
        f"{plan.cron} {plan.time_zone}" if plan.cron is not None else "",
        str(plan.fired),
        f"{render.render_name(plan.name)}: {render.quote(plan.instruction)}",
    ]
