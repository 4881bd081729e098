"""
Decide who gets what comes through a trigger, or what a person writes in a chat.

    nobody, if it lacks what its trigger requires: it is kept as unrouted
    the rule with the highest rank that matches (`channels/routing/rule.py`)
    else the target of the trigger
    else `user-agent`, if there is such an agent
    else System4 of the root team, if it is there
    else nobody, again (`channels/routing/unrouted_message_actions.py`)

Spaces know no rules.
"""

from collections.abc import Sequence

from msgspec import Struct

from gatepost.channels import envelope as envelopes
from gatepost.channels.envelope import Envelope
from gatepost.channels.routing import rule as route_rule, rule_actions as routing_rules
from gatepost.channels.routing.api import UnroutedReason
from gatepost.channels.triggers.trigger import DEFAULT_TARGET, USER_AGENT, Trigger
from gatepost.core import address
from gatepost.core.address import AllAgentsAddress
from gatepost.core.ports import Reader
from gatepost.directory import entity_actions as directory


class RecipientChoice(Struct, frozen=True, kw_only=True):
    """Who gets a message, and why."""

    targets: tuple[str, ...]
    #: the rule that decided; None if it was the trigger, or a default
    rule: str | None
    #: None if somebody gets it
    reason: UnroutedReason | None = None
    #: the path of what it lacks, if that is the reason
    missing: str | None = None


def choose(tx: Reader, envelope: Envelope, trigger: Trigger | None) -> RecipientChoice:
    """Return who gets a message: the recipients that the first of the ways above gives."""
    missing = envelopes.find_missing(envelope, trigger.config.requires) if trigger is not None else None
    if missing is not None:
        reason = UnroutedReason.MISSING_METADATA
        return RecipientChoice(targets=(), rule=None, reason=reason, missing=missing)
    document = route_rule.build_document(envelope, trigger.name if trigger is not None else None)
    rule = route_rule.find_rule(routing_rules.list_active(tx, envelope.channel), document)
    if rule is not None:
        return _check_targets(tx, rule.targets, rule.name)
    if trigger is not None and trigger.target is not None:
        return _check_targets(tx, (trigger.target,), None)
    for target in (USER_AGENT, DEFAULT_TARGET):
        if has_recipients(tx, target):
            return RecipientChoice(targets=(target,), rule=None)
    return RecipientChoice(targets=(), rule=None, reason=UnroutedReason.NO_ROUTE)


def _check_targets(tx: Reader, targets: Sequence[str], rule: str | None) -> RecipientChoice:
    live_targets = tuple(target for target in targets if has_recipients(tx, target))
    reason = None if live_targets else UnroutedReason.NO_TARGET
    return RecipientChoice(targets=live_targets, rule=rule, reason=reason)


def has_recipients(tx: Reader, text: str) -> bool:
    """Return True if somebody is at an address."""
    target = address.parse(text)
    if isinstance(target, AllAgentsAddress):
        return True
    return any(entity.is_live for entity in directory.resolve(tx, [target]).get(target, ()))
