"""`gatepost agent`. What it lists is declared here; what is about one agent is in `resident_commands.py`."""

from typing import Final

from gatepost.cli.command import Noun, Outcome, TableRow
from gatepost.directory import person_commands as person
from gatepost.directory.entity_api import EntityView, RetireEntity
from gatepost.directory.person_commands import COLUMNS, NAME, send_to_agent
from gatepost.residents.agent_api import AgentView, ListAgents

_RESIDENTS: Final = "gatepost.residents.resident_commands"

agents = Noun("agent", "Register, change and inspect agents.")
commands = [agents]

agents.import_verbs(_RESIDENTS, "add")


@agents.list(
    "list",
    ListAgents,
    columns=(*COLUMNS, "REACHABLE"),
    empty=lambda request: f"no agents in the team {request.team!r}" if request.team else "no agents yet",
    count=1_000,
)
def list_agents(agent: AgentView) -> TableRow:
    """
    List the agents in order of registration, and who is reachable.

    Example:
      gatepost agent list --team web
    """
    reachability = agent.reachability
    latency = f"{reachability.latency} s" if reachability and reachability.latency is not None else None
    words = (reachability.state, reachability.by, latency) if reachability else ()
    return [*person.build_row(agent), ", ".join(filter(None, words))]


agents.import_verbs(_RESIDENTS, "show", "set", "pause", "resume", "runs", "usage", "budgets", "mind", "replay")


@agents.send("retire", RetireEntity, name=NAME, fetch=send_to_agent)
def retire(agent: EntityView) -> Outcome:
    """
    Retire an agent. It receives nothing more, and what it has stays.

    Example:
      gatepost agent retire analyst
    """
    return person.retire(agent)


agents.import_verbs(_RESIDENTS, "wake")
