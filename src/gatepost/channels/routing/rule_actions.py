"""
Make, change and delete routing rules. The administrator does, and agents with the skill `routing`, each its own.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from gatepost.channels.routing import rule as route_rule
from gatepost.channels.routing.rule import ANY_CHANNEL, RouteRule, RouteSpec
from gatepost.channels.skills import ROUTING
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.trigger import BUILT_IN_PROVIDERS
from gatepost.core import typed_json
from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity
from gatepost.errors import Conflict, Invalid, LimitReached, NotFound, Refused, quote_value
from gatepost.inbox.event import OWN_CHANNELS
from gatepost.stores.row_mapping import Mapper, get_columns

#: rules of all entities
MAX_RULES: Final = 1_000
#: what a rule can be about without a trigger; a package has the channel of its own name
_CHANNELS: Final = (ANY_CHANNEL, *BUILT_IN_PROVIDERS, *OWN_CHANNELS)


def decode_filters(text: str) -> dict[str, Json]:
    return typed_json.decode(text, dict[str, Json])


def decode_targets(text: str) -> tuple[str, ...]:
    return typed_json.decode(text, tuple[str, ...])


_RULE: Final = Mapper(RouteRule, filters=decode_filters, targets=decode_targets)
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def create_rule(tx: Transaction, spec: RouteSpec, *, by: str | None) -> RouteRule:
    """Make a rule; None is the administrator."""
    author = require_right(tx, by)
    spec = _check(tx, spec)
    _check_channel(tx, spec.channel)
    if len(_RULE.fetch_page(tx, "channels/route_rules/list_page", after=0, limit=MAX_RULES)) >= MAX_RULES:
        raise LimitReached(f"there are {MAX_RULES} rules, the limit", hint="delete some")
    id = tx.new_id("rule")
    columns = _get_columns(spec)
    if not tx.execute("channels/route_rules/insert", id=id, **columns, made_by=author.number, now=tx.now):
        raise Conflict(f"there is a rule {spec.name!r} already", hint="change it, or take another name")
    return show_rule(tx, id)


def update_rule(tx: Transaction, id: str, changes: Mapping[str, Any], *, by: str | None) -> RouteRule:
    """Change fields of a rule; only its maker and the administrator may."""
    rule = _require_own_rule(tx, id, by)
    spec = replace(RouteSpec(**get_columns(rule, "name channel filters targets rank active")), **changes)
    other = _find(tx, spec.name)
    if other is not None and other.number != rule.number:
        raise Conflict(f"there is a rule {spec.name!r} already", hint="take another name")
    if spec.channel != rule.channel:
        _check_channel(tx, spec.channel)
    has_same_targets = spec.targets == rule.targets  # one of them may be retired by now
    columns = _get_columns(route_rule.check_rule(spec) if has_same_targets else _check(tx, spec))
    tx.execute_later("channels/route_rules/update", number=rule.number, **columns, now=tx.now)
    return show_rule(tx, rule.id)


def delete_rule(tx: Transaction, id: str, *, by: str | None) -> None:
    tx.execute_later("channels/route_rules/delete", number=_require_own_rule(tx, id, by).number)


def show_rule(tx: Reader, id: str, *, by: str | None = None) -> RouteRule:
    """Return the rule with this id or name, to the administrator and to agents with the skill."""
    require_right(tx, by)
    rule = _find(tx, id)
    if rule is None:
        raise NotFound(f"there is no rule {id!r}", hint="`gatepost trigger route list` lists them")
    return rule


def list_rules(tx: Reader, *, by: str | None, after: int = 0, limit: int = 100) -> list[RouteRule]:
    """Return all rules, to the administrator and to agents with the skill."""
    require_right(tx, by)
    return _RULE.fetch_page(tx, "channels/route_rules/list_page", after=after, limit=limit)


def list_active(tx: Reader, channel: str) -> list[RouteRule]:
    """Return the active rules for a channel, the highest rank first."""
    return _RULE.fetch_all(tx, "channels/route_rules/list_active", channel=channel)


def _check(tx: Reader, spec: RouteSpec) -> RouteSpec:
    """Return a valid rule; its targets must exist."""
    spec = route_rule.check_rule(spec)
    targets = [triggers.resolve_target(tx, text) for text in spec.targets]
    return replace(spec, targets=tuple(dict.fromkeys(targets)))


def _check_channel(tx: Reader, channel: str) -> None:
    """Raise Invalid if nothing can come by this channel: no trigger has the provider of a package of that name."""
    if channel in _CHANNELS or triggers.list_page(tx, provider=channel, limit=1):
        return
    raise Invalid(
        f"channel: {quote_value(channel)} is not a channel",
        hint=f"use one of {', '.join(_CHANNELS)}, or first add the trigger of the package that has it",
    )


def require_right(tx: Reader, by: str | None) -> Entity:
    """Return the entity that manages rules and unrouted messages; refuse an agent without the skill."""
    entity = directory.find_live(tx, by or directory.ADMINISTRATOR)
    if by is not None and entity.name != directory.ADMINISTRATOR and not triggers.has_routing_skill(tx, entity):
        raise Refused(
            f"{entity.name!r} lacks the skill {ROUTING!r}",
            hint=f"`gatepost agent set NAME --skill {ROUTING}` gives it the skill",
        )
    return entity


def _require_own_rule(tx: Reader, id: str, by: str | None) -> RouteRule:
    entity = require_right(tx, by)
    rule = show_rule(tx, id)
    if by is not None and entity.name not in (directory.ADMINISTRATOR, rule.made_by):
        raise Refused(f"the rule {rule.name!r} was made by {rule.made_by!r}", hint="only its maker can change it")
    return rule


def _find(tx: Reader, id: str) -> RouteRule | None:
    """Return the rule with this id or name."""
    return _RULE.fetch_one(tx, "channels/route_rules/find", id=id)


def _get_columns(spec: RouteSpec) -> dict[str, object]:
    filters, targets = _encode(dict(spec.filters)), _encode(list(spec.targets))
    return {**get_columns(spec, "name channel rank active"), "filters": filters, "targets": targets}
