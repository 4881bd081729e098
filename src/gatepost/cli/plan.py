"""`gatepost plan`."""

from typing import Annotated

from gatepost import settings
from gatepost.actions import plans as plan_actions
from gatepost.cli import here, output, words
from gatepost.cli.here import Json, Limit
from gatepost.cli.plain import Noun, argument, option
from gatepost.core import ids, render, wire
from gatepost.core import plan as rules
from gatepost.core.plan import CatchUp, Plan, PlanStatus
from gatepost.core.times import format_rfc3339
from gatepost.errors import Invalid

app = Noun(help="Plans: what an agent is told later, once or again and again.")

_WHEN = "give --after 5h, --at 2026-02-20T10:00:00Z, --cron '0 9 * * 1-5' or --on-gate GATE"


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
    fields = {
        "name": name,
        "runAfter": after,
        "scheduledAt": at,
        "cron": cron,
        "timeZone": zone,
        "onGate": ids.check("gate", on_gate) if on_gate is not None else None,
        "catchUp": CatchUp.parse(catch_up).value if catch_up is not None else None,
        "instruction": words.content(text, configuration.settings.limits.content) if text is not None else None,
    }
    given = {field: value for field, value in fields.items() if value is not None}
    if sum(each is not None for each in (after, at, cron, on_gate)) > 1:
        raise Invalid("give only one of --after, --at, --cron and --on-gate")
    if zone is not None and cron is None:
        raise Invalid("--zone goes with --cron", hint="a time says its offset itself: 2026-02-20T10:00:00+01:00")
    whose = None
    if id is None:
        _check_new(given)
        whose = here.named(owner, "--owner", configuration, otherwise="whose plan is it?")
    elif not given and owner is None:
        raise Invalid("there is nothing to change", hint="say what, such as --after 5h or another TEXT")
    if id is not None and owner is not None:
        raise Invalid("a plan stays with its owner", hint="leave out --owner, or make a new plan without --id")
    with here.opened(configuration) as place:
        plan, by = ids.check("plan", id) if id is not None else None, here.pusher(configuration)
        made = place.do(
            lambda near: near.call(plan_actions.set_plan, whose, rules.parse_spec({**given, "id": plan}), by=by),
            lambda far: far.set_plan(id=plan, owner=whose, by=by, **given),
        )
    output.done(wire.write_plan(made), made.id, f"{made.owner} is told {_when(made)}", json=json)


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
    most = words.number(limit, "--limit", most=100_000)
    wanted = PlanStatus.parse(status) if status is not None else None
    with here.opened() as place:
        whose = words.given(owner, "--owner")
        found = place.all(plan_actions.page, lambda far: far.plans, owner=whose, status=wanted, limit=most + 1)
    headings = ["PLAN", "OWNER", "NEXT", "RECURS", "FIRED", "WHAT"]
    none = "there is no plan" + (f" of {owner!r}" if owner else "")
    output.listing(found, most, headings, _row, wire.write_plan, otherwise=none, json=json)


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
    with here.opened() as place:
        place.call(plan_actions.delete, lambda far: far.delete_plan, plan)
    output.done({"id": plan, "deleted": True}, plan, "deleted", json=json)


def _check_new(given: dict[str, str]) -> None:
    if "name" not in given:
        raise Invalid("a plan needs a name", hint="give --name NAME")
    if not given.keys() & {"runAfter", "scheduledAt", "cron", "onGate"}:
        raise Invalid("a plan must say when it is due", hint=_WHEN)


def _when(plan: Plan) -> str:
    waiting = f"when {plan.gate} is resolved" if plan.status is PlanStatus.PENDING else "never"
    next_at = format_rfc3339(plan.next_at) if plan.next_at is not None else waiting
    return next_at if plan.cron is None else f"{next_at}, and again by {plan.cron!r} in {plan.zone}"


def _row(plan: Plan) -> list[str]:
    return [
        plan.id,
        plan.owner,
        format_rfc3339(plan.next_at - plan.next_at % 1_000_000) if plan.next_at is not None else plan.status.value,
        f"{plan.cron} {plan.zone}" if plan.cron is not None else "",
        str(plan.fired),
        f"{render.render_name(plan.name)}: {render.quote(plan.instruction)}",
    ]
