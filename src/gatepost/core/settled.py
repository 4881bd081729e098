"""
Residents as lines of an export: what they are told to be, what they remember and work towards, and what they have in
mind, as far as it is in their own words. Their journals stay where they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gatepost.core import agent_config as configs
from gatepost.core import goal as goals
from gatepost.core import ids, wire
from gatepost.core import memory as memories
from gatepost.core.agent import AgentConfig
from gatepost.core.fields import Fields
from gatepost.core.goal import Goal
from gatepost.core.shape import Shape
from gatepost.core.times import Instant
from gatepost.errors import Invalid

_MOST_SUMMARIES: Final = 10_000
_FARTHEST: Final = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentRecord:
    name: str
    config: AgentConfig = field(repr=False)
    paused_at: Instant | None
    #: by key, the oldest first
    memories: Mapping[str, str]
    goals: tuple[Goal, ...]
    #: of its cycles, oldest first
    summaries: tuple[str, ...]
    #: summaries that were let go before
    dropped: int


def bare(config: AgentConfig) -> AgentConfig:
    """The same without the secrets in it."""
    return configs.replace_secrets(config, lambda _: {})


_RESIDENT: Final = Shape(ResidentRecord, "name pausedAt memories summaries dropped")


def document(record: ResidentRecord) -> dict[str, Any]:
    goals = [wire.write_goal(goal) for goal in record.goals]
    return _RESIDENT.write(record) | {"config": configs.build_document(record.config), "goals": goals}


def read(fields: Fields) -> ResidentRecord:
    remembered = Fields({}) if fields.value("memories") is None else fields.inner("memories")
    record = _RESIDENT.read_fields(
        fields,
        config=configs.parse(fields.value("config")),
        memories={memories.check_key(key): memories.check_value(remembered.text(key)) for key in remembered.document},
        goals=tuple(map(_goal, fields.inners("goals"))),
    )
    if (many := len(record.summaries)) > _MOST_SUMMARIES:
        raise Invalid(f"{many} summaries are too many", hint=f"at most {_MOST_SUMMARIES} are taken")
    return record


def _goal(fields: Fields) -> Goal:
    priority = fields.value("priority")
    if not isinstance(priority, int) or isinstance(priority, bool) or abs(priority) > _FARTHEST:
        raise Invalid(f"{priority!r:.60} is not a priority of a goal")
    goal = wire.GOAL.read_fields(fields, priority=goals.check_priority(priority))
    ids.check("goal", goal.id)
    goals.check_description(goal.description)
    return goal
