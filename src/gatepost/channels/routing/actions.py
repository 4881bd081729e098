"""
Decide who gets what comes through a trigger, and keep what nobody gets.

    the rule with the highest rank that matches
    else the target of the trigger
    else `user-agent`, if there is such an agent
    else System4 of the root team, if it is there
    else it is unrouted: kept with the reason, and its owner is told

Rules are made and changed by the administrator, and by agents with the skill `routing`, each its own. Spaces know no
rules.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gatepost.channels.envelope import Envelope
from gatepost.channels.routing import rows as route_rules, rule as route_rule
from gatepost.channels.routing.rule import ROUTING, RouteRule, RouteSpec, Unrouted, UnroutedReason
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.trigger import DEFAULT_TARGET, USER_AGENT, Trigger
from gatepost.core import address
from gatepost.core.address import AllAgentsAddress
from gatepost.core.ports import Reader, Transaction
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity
from gatepost.errors import Conflict, LimitReached, NotFound, Refused

#: rules of all entities
MAX_RULES: Final = 1_000


class RouteDecision(Struct, frozen=True, kw_only=True):
    """Who gets a message, and why."""

    targets: tuple[str, ...]
    #: the rule that decided; None if it was the trigger, or a default
    rule: str | None
    #: None if somebody gets it
    reason: UnroutedReason | None = None


def decide(tx: Reader, envelope: Envelope, trigger: Trigger | None) -> RouteDecision:
    """Return who gets a message."""
    document = route_rule.build_document(envelope, trigger.name if trigger is not None else None)
    rule = route_rule.find_rule(route_rules.list_active(tx, envelope.channel), document)
    if rule is not None:
        return _check_targets(tx, rule.targets, rule.name)
    if trigger is not None and trigger.target is not None:
        return _check_targets(tx, (trigger.target,), None)
    for target in (USER_AGENT, DEFAULT_TARGET):
        if has_recipients(tx, target):
            return RouteDecision(targets=(target,), rule=None)
    return RouteDecision(targets=(), rule=None, reason=UnroutedReason.NO_ROUTE)


def _check_targets(tx: Reader, targets: Sequence[str], rule: str | None) -> RouteDecision:
    live_targets = tuple(target for target in targets if has_recipients(tx, target))
    reason = None if live_targets else UnroutedReason.NO_TARGET
    return RouteDecision(targets=live_targets, rule=rule, reason=reason)


def has_recipients(tx: Reader, text: str) -> bool:
    """Return True if somebody is at an address."""
    target = address.parse(text)
    if isinstance(target, AllAgentsAddress):
        return True
    return any(entity.is_live for entity in directory.resolve(tx, [target]).get(target, ()))


def create_rule(tx: Transaction, spec: RouteSpec, *, by: str | None) -> RouteRule:
    """Make a rule; None is the administrator."""
    author = _require_right(tx, by)
    spec = _check(tx, spec)
    if len(route_rules.list_page(tx, after=0, limit=MAX_RULES)) >= MAX_RULES:
        raise LimitReached(f"there are {MAX_RULES} rules, the limit", hint="delete some")
    id = route_rules.insert(tx, spec, made_by=author.number)
    if id is None:
        raise Conflict(f"there is a rule {spec.name!r} already", hint="change it, or take another name")
    return show_rule(tx, id)


def update_rule(tx: Transaction, id: str, spec: RouteSpec, *, by: str | None) -> RouteRule:
    """Change a rule; only its maker and the administrator may."""
    rule = _require_own_rule(tx, id, by)
    other = route_rules.find(tx, spec.name)
    if other is not None and other.number != rule.number:
        raise Conflict(f"there is a rule {spec.name!r} already", hint="take another name")
    has_same_targets = spec.targets == rule.targets  # one of them may be retired by now
    route_rules.update(tx, rule.number, route_rule.check_rule(spec) if has_same_targets else _check(tx, spec))
    return show_rule(tx, rule.id)


def set_rule_active(tx: Transaction, id: str, active: bool, *, by: str | None) -> RouteRule:
    rule = _require_own_rule(tx, id, by)
    route_rules.update(tx, rule.number, replace(get_spec(rule), active=active))
    return show_rule(tx, rule.id)


def delete_rule(tx: Transaction, id: str, *, by: str | None) -> None:
    route_rules.delete(tx, _require_own_rule(tx, id, by).number)


def show_rule(tx: Reader, id: str, *, by: str | None = None) -> RouteRule:
    """Return the rule with this id or name, to the administrator and to agents with the skill."""
    _require_right(tx, by)
    rule = route_rules.find(tx, id)
    if rule is None:
        raise NotFound(f"there is no rule {id!r}", hint="`gatepost trigger route list` lists them")
    return rule


def page_rules(tx: Reader, *, by: str | None, after: int = 0, limit: int = 100) -> list[RouteRule]:
    """Return all rules, to the administrator and to agents with the skill."""
    _require_right(tx, by)
    return route_rules.list_page(tx, after=after, limit=limit)


def page_unrouted(
    tx: Reader, *, by: str | None, handled: bool = False, after: int = 0, limit: int = 100
) -> list[Unrouted]:
    """Return messages that nobody got, the oldest first; with `handled`, those that were replayed, too."""
    _require_right(tx, by)
    return route_rules.list_unrouted(tx, handled=handled, after=after, limit=limit)


def count_unrouted(tx: Reader) -> int:
    """Return how many messages nobody got and nobody has replayed."""
    return route_rules.count_unrouted(tx)


def show_unrouted(tx: Reader, id: str, *, by: str | None) -> Unrouted:
    _require_right(tx, by)
    unrouted = route_rules.find_unrouted(tx, id)
    if unrouted is None:
        raise NotFound(f"there is no unrouted message {id!r}", hint="`gatepost trigger dead` lists them")
    return unrouted


def get_spec(rule: RouteRule) -> RouteSpec:
    return RouteSpec(
        name=rule.name,
        channel=rule.channel,
        filters=rule.filters,
        targets=rule.targets,
        rank=rule.rank,
        active=rule.active,
    )


def _check(tx: Reader, spec: RouteSpec) -> RouteSpec:
    """Return a valid rule; its targets must exist."""
    spec = route_rule.check_rule(spec)
    targets = [triggers.resolve_target(tx, text) for text in spec.targets]
    return replace(spec, targets=tuple(dict.fromkeys(targets)))


def _require_right(tx: Reader, by: str | None) -> Entity:
    """Return the entity that manages rules; refuse an agent without the skill."""
    entity = directory.find_live(tx, by or directory.ADMINISTRATOR)
    if by is not None and entity.name != directory.ADMINISTRATOR and not triggers.has_routing_skill(tx, entity):
        raise Refused(
            f"{entity.name!r} has not the skill to route",
            hint=f'it needs `"skills": ["{ROUTING}"]` in its configuration',
        )
    return entity


def _require_own_rule(tx: Reader, id: str, by: str | None) -> RouteRule:
    entity = _require_right(tx, by)
    rule = show_rule(tx, id)
    if by is not None and entity.name not in (directory.ADMINISTRATOR, rule.made_by):
        raise Refused(f"the rule {rule.name!r} was made by {rule.made_by!r}", hint="only its maker can change it")
    return rule


def find_owners(tx: Reader, trigger: Trigger | None) -> list[Entity]:
    """Return who gets the alerts about a trigger: its owners, or the administrator if none of them is there."""
    owners = []
    if trigger is not None:
        target = address.parse(trigger.owner)
        owners = [entity for entity in directory.resolve(tx, [target]).get(target, ()) if entity.is_live]
    administrator = entities.find_by_names(tx, [directory.ADMINISTRATOR]).get(directory.ADMINISTRATOR)
    return owners or ([administrator] if administrator is not None else [])
