"""
Residents as lines of an export: what they are told to be, what they remember and work towards, and what they have in
mind, as far as it is in their own words. Their journals stay where they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gatepost.core import config as configs
from gatepost.core import goal as goals
from gatepost.core import ids, wire
from gatepost.core import memory as memories
from gatepost.core.agent import Config
from gatepost.core.fields import Fields
from gatepost.core.goal import Goal
from gatepost.core.instants import Instant, rfc3339
from gatepost.errors import Invalid

_MOST_SUMMARIES: Final = 10_000
_FARTHEST: Final = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentRecord:
    name: str
    config: Config = field(repr=False)
    paused_at: Instant | None
    #: by key, the oldest first
    memories: Mapping[str, str]
    goals: tuple[Goal, ...]
    #: of its cycles, oldest first
    summaries: tuple[str, ...]
    #: summaries that were let go before
    dropped: int


def bare(config: Config) -> Config:
    """The same without the secrets in it."""
    return configs.with_secrets(config, lambda _: {})


def document(record: ResidentRecord) -> dict[str, Any]:
    return {
        "name": record.name,
        "config": configs.document(record.config),
        "pausedAt": rfc3339(record.paused_at) if record.paused_at is not None else None,
        "memories": dict(record.memories),
        "goals": [wire.goal(goal) for goal in record.goals],
        "summaries": list(record.summaries),
        "dropped": record.dropped,
    }


def read(fields: Fields) -> ResidentRecord:
    remembered = Fields({}) if fields.value("memories") is None else fields.inner("memories")
    summaries = fields.texts("summaries")
    if len(summaries) > _MOST_SUMMARIES:
        raise Invalid(f"{len(summaries)} summaries are too many", hint=f"at most {_MOST_SUMMARIES} are taken")
    return ResidentRecord(
        name=fields.text("name"),
        config=configs.parse(fields.value("config")),
        paused_at=fields.time_or_none("pausedAt"),
        memories={memories.key(key): memories.value(remembered.text(key)) for key in remembered.document},
        goals=tuple(map(_goal, fields.inners("goals"))),
        summaries=tuple(summaries),
        dropped=fields.whole("dropped"),
    )


def _goal(fields: Fields) -> Goal:
    priority = fields.value("priority")
    if not isinstance(priority, int) or isinstance(priority, bool) or abs(priority) > _FARTHEST:
        raise Invalid(f"{priority!r:.60} is not a priority of a goal")
    goal = wire.GOAL.of(fields, priority=goals.ranked(priority))
    ids.check("goal", goal.id)
    goals.described(goal.description)
    return goal
