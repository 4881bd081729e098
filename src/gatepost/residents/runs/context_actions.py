"""What the model of a resident reads at the start of a cycle, beside the batch: bounded, however much there is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from gatepost.core.ports import Reader
from gatepost.directory.entity import Entity
from gatepost.plans import actions as plans
from gatepost.plans.plan import PlanStatus
from gatepost.residents import memory_actions as memories, system_prompt as prompt_rules
from gatepost.residents.agent_config import AgentConfig
from gatepost.residents.memory import GoalStatus
from gatepost.residents.runs import actions as runs
from gatepost.residents.runs.actions import AgentMind
from gatepost.residents.runs.run import Run
from gatepost.residents.system_prompt import AgentFacts, SpaceFacts
from gatepost.spaces import rows as space_rows
from gatepost.spaces.space import Space

#: spaces whose readers see that the agent thinks, and those of them that its system prompt lists
_MAX_SPACES: Final = 1_000
_MAX_SHOWN_SPACES: Final = 50
_MAX_MEMBERS: Final = 20
_MAX_GOALS: Final = 50
_MAX_MEMORIES: Final = 100
_MAX_PLANS: Final = 50

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CycleContext:
    """The system prompt, the agent's mind before the cycle, and the spaces that it is a member of."""

    system: str
    mind: AgentMind
    spaces: tuple[Space, ...]


def read_cycle_context(tx: Reader, agent: Entity, config: AgentConfig, run: Run) -> CycleContext:
    spaces = space_rows.list_page(tx, entity=agent.number, after=0, limit=_MAX_SPACES)
    system_prompt = prompt_rules.render_system_prompt(read_facts(tx, agent, config, spaces), tx.now)
    return CycleContext(system_prompt, runs.read_mind_before(tx, run, agent.number), tuple(spaces))


def read_facts(tx: Reader, agent: Entity, config: AgentConfig, spaces: Sequence[Space] | None = None) -> AgentFacts:
    """
    Return the facts for the system prompt, of each kind the first few; a section with more is in `incomplete_sections`.
    `spaces` are the agent's spaces, if the caller has read them already.
    """
    if spaces is None:
        spaces = space_rows.list_page(tx, entity=agent.number, after=0, limit=_MAX_SHOWN_SPACES + 1)
    cut_sections: set[str] = set()

    def take_first(section: str, limit: int, values: Sequence[T]) -> tuple[T, ...]:
        if len(values) > limit:
            cut_sections.add(section)
        return tuple(values[:limit])

    return AgentFacts(
        name=agent.name,
        display=agent.display,
        team=agent.team,
        role=agent.role,
        description=config.description,
        instructions=config.instructions,
        spaces=tuple(_build_space_facts(tx, take_first("places", _MAX_SHOWN_SPACES, spaces))),
        goals=take_first(
            "goals", _MAX_GOALS, memories.page_goals(tx, agent, status=GoalStatus.ACTIVE, limit=_MAX_GOALS + 1)
        ),
        memories=take_first("memories", _MAX_MEMORIES, memories.page_memories(tx, agent, limit=_MAX_MEMORIES + 1)),
        plans=take_first("plans", _MAX_PLANS, plans.page(tx, agent, status=PlanStatus.PENDING, limit=_MAX_PLANS + 1)),
        incomplete_sections=frozenset(cut_sections),
    )


def _build_space_facts(tx: Reader, spaces: Sequence[Space]) -> Iterator[SpaceFacts]:
    members = space_rows.list_first_members(tx, [space.number for space in spaces], _MAX_MEMBERS + 1)
    for space in spaces:
        space_members = members.get(space.number, [])
        yield SpaceFacts(
            id=space.id,
            name=space.name,
            members=tuple(space_members[:_MAX_MEMBERS]),
            has_more=len(space_members) > _MAX_MEMBERS,
            is_archived=space.archived_at is not None,
        )
