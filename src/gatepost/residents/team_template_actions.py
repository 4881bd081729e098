"""
Teams that `gatepost init --template NAME` makes: agents on the model `demo`, which needs no key, to begin with.

    viable-system    System1 to System5 of the team `root`, by Stafford Beer's model, and the `user-agent`. What people
                     write on channels goes to System4, and System3 owns the triggers whose owner nobody has named
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from gatepost.channels.skills import ROUTING
from gatepost.channels.triggers.trigger import USER_AGENT
from gatepost.core.json_limits import Json
from gatepost.core.ports import Transaction
from gatepost.directory import entity_rows as entities
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.residents import agent_actions as agents, agent_config as records, agent_config_json as agent_config

VIABLE_SYSTEM: Final = "viable-system"


class TemplateAgent(NamedTuple):
    spec: EntitySpec
    config: Mapping[str, Json]
    skills: Sequence[str] = ()


def _build_system(number: int, task: str, skills: Sequence[str] = ()) -> TemplateAgent:
    role = f"system{number}"
    spec = EntitySpec(
        name=f"root-{role}", kind=EntityKind.AGENT, display=f"System{number} of root", team="root", role=role
    )
    return TemplateAgent(spec, {"model": records.DEMO, "instructions": f"You are System{number}. {task}"}, skills)


TEMPLATES: Final[Mapping[str, Sequence[TemplateAgent]]] = {
    VIABLE_SYSTEM: (
        _build_system(1, "You do the work that System3 gives you, and report what is done."),
        _build_system(2, "You keep those who do the work from getting in each other's way."),
        _build_system(
            3,
            "You give orders to System1 and watch what becomes of them. You own the triggers, and say who gets what.",
            (ROUTING,),
        ),
        _build_system(4, "You talk with people outside, look ahead, and hand to System3 what should be done."),
        _build_system(5, "You decide what the team is for, when System3 and System4 disagree."),
        TemplateAgent(EntitySpec(name=USER_AGENT, kind=EntityKind.AGENT), {"model": records.USER_AGENT}),
    )
}


def make_team(tx: Transaction, template: str) -> list[tuple[str, bool]]:
    """Make the agents of a template; return each name, and whether it is new. Who has such a name already stays."""
    agents_to_make = TEMPLATES[template]
    known_names = entities.find_by_names(tx, [agent.spec.name for agent in agents_to_make])
    for agent in agents_to_make:
        if agent.spec.name not in known_names:
            agents.make_resident(tx, agent.spec, agent_config.parse(dict(agent.config)))
            agents.set_skills(tx, agent.spec.name, agent.skills)
    return [(agent.spec.name, agent.spec.name not in known_names) for agent in agents_to_make]
