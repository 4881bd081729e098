"""
The tool that sets a trigger: it makes one, or changes one. The other tools of agents with the skill `routing` are
operations (`channels/routing/api.py`, `channels/triggers/api.py`).

No tool takes or shows a secret, because everything that a tool is given stays in the mind of the agent. So a new
webhook, or a new bot, is added by a person.
"""

from typing import Annotated, Any

from msgspec.structs import replace

from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.api import TriggerView
from gatepost.channels.triggers.trigger import Heartbeat, Trigger, TriggerConfig, TriggerSchedule
from gatepost.core.json_limits import Json
from gatepost.core.text import parse_field
from gatepost.core.times import parse_duration, parse_instant
from gatepost.errors import Invalid
from gatepost.operations.operation_tool import load_tools
from gatepost.operations.tool import Door
from gatepost.residents.tools.context import ToolContext
from gatepost.residents.tools.operation_calls import build_result


def set_trigger(
    ctx: ToolContext,
    name: Annotated[str, "the name of the trigger; a new name makes a new one"],
    target: Annotated[str | None, "who gets what no rule is about; an empty text if the rules decide"] = None,
    prompt: Annotated[str | None, "added to every event as context"] = None,
    session: Annotated[str | None, "a template of its sessions, such as pr-{{number}}"] = None,
    templates: Annotated[list[dict[str, Any]] | None, "of a webhook: how payloads become lines"] = None,
    cron: Annotated[str | None, "fire by five fields, such as '0 9 * * 1', or @daily"] = None,
    every: Annotated[str | None, "fire in this interval, such as '30m'"] = None,
    at: Annotated[str | None, "fire once: a time with its offset, such as 2026-02-20T10:00:00Z"] = None,
    time_zone: Annotated[str | None, "of cron and of the hours; UTC if you do not say"] = None,
    active_hours: Annotated[list[int] | None, "only fire in these hours and if there is work, such as [8, 22]"] = None,
    active: Annotated[bool | None, "false: nothing comes through it"] = None,
) -> Json:
    """
    Make a trigger that fires by a schedule (give one of cron, every and at), or change a trigger that you own. New
    webhooks and bots need a secret, and are added by a person.
    """
    trigger = next(
        (own for own in triggers.list_page(ctx.tx, by=ctx.agent.name, limit=1_000) if own.name == name), None
    )
    config = trigger.config if trigger is not None else TriggerConfig()
    if cron is not None or every is not None or at is not None:
        zone = time_zone or (config.schedule.zone if config.schedule is not None else "UTC")
        schedule = TriggerSchedule(
            cron=cron,
            zone=zone,
            every=parse_field("every", every, parse_duration),
            at=parse_field("at", at, parse_instant),
        )
        config = replace(config, schedule=schedule)
    elif time_zone is not None and config.schedule is not None:
        config = replace(config, schedule=replace(config.schedule, zone=time_zone))
    if active_hours is not None:
        if len(active_hours) != 2:
            raise Invalid("active_hours has a first and a last hour", hint="such as [8, 22]")
        config = replace(config, heartbeat=Heartbeat(active_hours=(active_hours[0], active_hours[1])))
    if session is not None:
        config = replace(config, session=session or None)
    if templates is not None:
        config = replace(config, templates=tuple(templates))
    if trigger is None:
        spec = TriggerSpec(name=name, provider="cron", target=target or None, prompt=prompt, config=config)
        trigger = triggers.add(ctx.tx, spec, by=ctx.agent.name)
        if active is False:
            trigger = triggers.change(ctx.tx, name, {"active": False}, by=ctx.agent.name)
        return _build_trigger(ctx, trigger)
    changes: dict[str, Any] = {"config": config} if config != trigger.config else {}
    if target is not None:
        changes["target"] = target or None
    changes |= {field: value for field, value in (("prompt", prompt), ("active", active)) if value is not None}
    if not changes:
        raise Invalid("nothing to change", hint="give a new value, such as prompt")
    return _build_trigger(ctx, triggers.change(ctx.tx, name, changes, by=ctx.agent.name))


def _build_trigger(ctx: ToolContext, trigger: Trigger) -> Json:
    owner = triggers.find_owner(ctx.tx, trigger)
    return build_result(load_tools(Door.RESIDENT)["disable_trigger"], TriggerView.of(trigger, owner=owner))
