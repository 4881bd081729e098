"""
The tools of agents with the skill `routing`: rules that say who gets what comes through channels, the messages that
nobody got, and the triggers that the agent owns.

No tool takes or shows a secret, because everything that a tool is given stays in the mind of the agent. So a new
webhook, or a new bot, is added by a person.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from gatepost.channels import intake_actions as intake
from gatepost.channels.routing import dead_letter_actions as dead_letters, rule_actions as routing_rules
from gatepost.channels.routing.api import DeadLetterView, RouteView
from gatepost.channels.routing.rule import RouteSpec
from gatepost.channels.triggers import actions as trigger_actions
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.api import TriggerView
from gatepost.channels.triggers.trigger import Heartbeat, TriggerConfig, TriggerSchedule
from gatepost.core.json_limits import Json
from gatepost.core.text import parse_field
from gatepost.core.times import parse_duration, parse_instant
from gatepost.errors import Invalid
from gatepost.residents.tools.context import MAX_RESULT_SIZE, ToolContext, shorten, take_fitting

T = TypeVar("T")

#: rules, triggers and messages that are listed
_LIST_LIMIT: Final = 1_000
_MAX_CONTENT_SIZE: Final = 4_000
_TRIGGER_FIELDS: Final = (
    *("name", "provider", "target", "prompt", "owner", "session", "schedule", "heartbeat"),
    *("active", "nextAt"),
)
_Filters = Annotated[
    dict[str, Any] | None,
    "dotted paths and the values that must be there, such as {'payload.repository.name': 'shop'}; paths begin with"
    " trigger, channel, session, kind, content, metadata or payload",
]
_Targets = Annotated[list[str] | None, "who gets what matches: names, team:NAME or team:NAME/ROLE"]
_Channel = Annotated[str | None, "such as telegram, cli, webhook or cron; * is any"]
_Rank = Annotated[int | None, "of the rules that match, the highest rank decides"]
_Rule = Annotated[str, "the id or the name of a rule"]


def create_route(
    ctx: ToolContext,
    name: Annotated[str, "a short name, which no other rule has"],
    targets: Annotated[list[str], "who gets what matches: names, team:NAME or team:NAME/ROLE"],
    channel: _Channel = None,
    filters: _Filters = None,
    rank: _Rank = None,
) -> Json:
    """Make a rule that says who gets what comes through a channel. Without filters it matches everything there."""
    spec = RouteSpec(name=name, channel=channel or "*", filters=filters or {}, targets=tuple(targets), rank=rank or 0)
    return _build_rule(routing_rules.create_rule(ctx.tx, spec, by=ctx.agent.name))


def update_route(
    ctx: ToolContext,
    route: _Rule,
    name: Annotated[str | None, "another name"] = None,
    targets: _Targets = None,
    channel: _Channel = None,
    filters: _Filters = None,
    rank: _Rank = None,
    active: Annotated[bool | None, "false: it decides about nothing"] = None,
) -> Json:
    """Change a rule that you have made. What you leave out stays; filters and targets are replaced as a whole."""
    rule = routing_rules.show_rule(ctx.tx, route, by=ctx.agent.name)
    changes = {
        "name": name,
        "targets": tuple(targets) if targets is not None else None,
        "channel": channel,
        "filters": filters,
        "rank": rank,
        "active": active,
    }
    given = {field: value for field, value in changes.items() if value is not None}
    if not given:
        raise Invalid("nothing to change", hint="give a new value, such as rank")
    spec = replace(routing_rules.get_spec(rule), **given)
    return _build_rule(routing_rules.update_rule(ctx.tx, rule.id, spec, by=ctx.agent.name))


def disable_route(ctx: ToolContext, route: _Rule) -> Json:
    """Let a rule that you have made decide about nothing any more. It is kept, and update_route can activate it."""
    return _build_rule(routing_rules.set_rule_active(ctx.tx, route, False, by=ctx.agent.name))


def list_routes(ctx: ToolContext) -> Json:
    """Read all rules. Of those that match, the one with the highest rank decides, and of equal ones the oldest."""
    rules = routing_rules.page_rules(ctx.tx, by=ctx.agent.name, limit=_LIST_LIMIT)
    return _list("routes", rules, _build_rule)


def list_dead_letters(ctx: ToolContext) -> Json:
    """Read the messages that came through a channel and that nobody got, the oldest first, with the reason."""
    letters = dead_letters.page(ctx.tx, by=ctx.agent.name, limit=_LIST_LIMIT)
    return _list("deadLetters", letters, _build_letter)


def replay_dead_letter(ctx: ToolContext, id: Annotated[str, "the id of the message, such as dead_..."]) -> Json:
    """Route a message that nobody got again, by the rules of now. First make a rule that matches it."""
    received = intake.replay_dead_letter(ctx.tx, id, by=ctx.agent.name)
    return {"success": True, "id": id, "targets": list(received.targets)}


def discard_dead_letter(ctx: ToolContext, id: Annotated[str, "the id of the message, such as dead_..."]) -> Json:
    """Discard a message that nobody got: nobody will get it. This cannot be undone."""
    dead_letters.discard(ctx.tx, id, by=ctx.agent.name)
    return {"success": True, "id": id}


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
    trigger = next((own for own in _list_own(ctx) if own.name == name), None)
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
        new_trigger = trigger_actions.add(ctx.tx, spec, by=ctx.agent.name)
        return disable_trigger(ctx, name) if active is False else _build_trigger(new_trigger)
    changes: dict[str, Any] = {"config": config} if config != trigger.config else {}
    if target is not None:
        changes["target"] = target or None
    changes |= {field: value for field, value in (("prompt", prompt), ("active", active)) if value is not None}
    if not changes:
        raise Invalid("nothing to change", hint="give a new value, such as prompt")
    return _build_trigger(trigger_actions.change(ctx.tx, name, changes, by=ctx.agent.name))


def list_triggers(ctx: ToolContext) -> Json:
    """Read the triggers that you own, without their secrets."""
    return _list("triggers", _list_own(ctx), _build_trigger)


def disable_trigger(ctx: ToolContext, name: Annotated[str, "a trigger that you own"]) -> Json:
    """Let nothing come through a trigger any more. It is kept, and set_trigger can activate it."""
    return _build_trigger(trigger_actions.change(ctx.tx, name, {"active": False}, by=ctx.agent.name))


def _list_own(ctx: ToolContext) -> list[Any]:
    return trigger_actions.page(ctx.tx, by=ctx.agent.name, limit=_LIST_LIMIT)


def _list(name: str, records: Sequence[T], build: Callable[[T], Json]) -> Json:
    documents = take_fitting([build(record) for record in records])
    return {name: documents} | ({"more": len(records) - len(documents)} if len(documents) < len(records) else {})


def _build_rule(rule: Any) -> Json:
    return msgspec.to_builtins(RouteView.of(rule))


def _build_letter(letter: Any) -> Json:
    document = msgspec.to_builtins(DeadLetterView.of(letter))
    payload = msgspec.json.encode(document.pop("payload")).decode()
    document["content"] = shorten(document["content"], _MAX_CONTENT_SIZE)
    return document | {"payload": shorten(payload, _MAX_CONTENT_SIZE)}


def _build_trigger(trigger: Any) -> Json:
    document = msgspec.to_builtins(TriggerView.of(trigger))
    prompt = shorten(trigger.prompt, MAX_RESULT_SIZE // 2) if trigger.prompt else None
    return {name: document[name] for name in _TRIGGER_FIELDS} | {"prompt": prompt}
