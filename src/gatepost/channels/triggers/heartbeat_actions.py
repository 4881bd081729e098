"""
Heartbeats: a cron trigger with one fires only for those who have something to do, and only in its hours.

Unread fyi items, open work items and active goals are something to do. Recipients are judged one by one. One who has
not read the last heartbeat yet gets no other: it would say the same.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from gatepost.channels.triggers.trigger import DEFAULT_TARGET, USER_AGENT, CountGoals, Heartbeat, TriggerSchedule
from gatepost.core import address
from gatepost.core.address import AllAgentsAddress
from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader
from gatepost.core.times import Instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity
from gatepost.errors import Invalid
from gatepost.inbox import item_rows as items
from gatepost.mail import work_rows as work_items
from gatepost.plans import cron
from gatepost.plans.missed_slots import GRACE

#: things of one kind that a heartbeat counts
_COUNT_LIMIT: Final = 100


class HeartbeatReasons(Struct, frozen=True, kw_only=True):
    """What an entity has to do, each counted up to a limit."""

    fyi_items: int
    work_items: int
    goals: int

    def __bool__(self) -> bool:
        return bool(self.fyi_items or self.work_items or self.goals)

    def __str__(self) -> str:
        counts = (
            (self.fyi_items, "unread fyi item"),
            (self.work_items, "open work item"),
            (self.goals, "active goal"),
        )
        parts = [_describe_count(count, noun) for count, noun in counts if count]
        return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)

    def build_data(self) -> dict[str, Json]:
        return {"fyiItems": self.fyi_items, "workItems": self.work_items, "goals": self.goals}


def _describe_count(count: int, noun: str) -> str:
    return f"{count}{'+' if count == _COUNT_LIMIT else ''} {noun}{'' if count == 1 else 's'}"


def is_in_hours(heartbeat: Heartbeat, schedule: TriggerSchedule, slot: Instant, now: Instant) -> bool:
    """Return True if a slot is in the active hours; of one that is late, now counts: it must not wake at night."""
    moment = slot if now - slot <= GRACE else now
    return heartbeat.is_active(cron.read_hour(moment, schedule.zone))


def list_reasons(
    tx: Reader, targets: Sequence[str], *, source: str, key_prefix: str
) -> list[tuple[Entity, HeartbeatReasons]]:
    """
    Return the entities at these addresses that have something to do, each with what. Those with a pending heartbeat are
    left out: one of this source whose dedup key begins with `key_prefix`.
    """
    reasons = [(entity, find_reasons(tx, entity)) for entity in _list_recipients(tx, targets)]
    return [
        (entity, reason)
        for entity, reason in reasons
        if reason and not items.has_pending_key(tx, entity.number, source, key_prefix)
    ]


def find_reasons(tx: Reader, entity: Entity) -> HeartbeatReasons:
    """Return what an entity has to do."""
    return HeartbeatReasons(
        fyi_items=items.count_fyi(tx, entity.number, _COUNT_LIMIT),
        work_items=work_items.count_open(tx, entity.number, _COUNT_LIMIT),
        goals=tx.ask(CountGoals(entity, _COUNT_LIMIT)),
    )


def _list_recipients(tx: Reader, targets: Sequence[str]) -> list[Entity]:
    """
    Return the live entities at these addresses, each once. `user-agent` only passes on what it gets, so those who get
    it then are judged in its place.
    """
    addresses = [address.parse(DEFAULT_TARGET if target == USER_AGENT else target) for target in targets]
    if any(isinstance(target, AllAgentsAddress) for target in addresses):
        raise Invalid("a heartbeat cannot go to every agent", hint="name an agent or a team")
    entities_by_address = directory.resolve(tx, addresses)
    entities = [entity for target in addresses for entity in entities_by_address.get(target, ()) if entity.is_live]
    return list({entity.number: entity for entity in entities}.values())
