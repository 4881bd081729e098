"""`gatepost agent`."""

from gatepost.actions.directory import Newcomer
from gatepost.cli import entities
from gatepost.cli.entities import Alias, Display, Name, NewName, Owner, Retired, Role, Team
from gatepost.cli.here import Json, Limit
from gatepost.cli.plain import Noun
from gatepost.core.entity import Kind

app = Noun(help="Agents: programs that have an inbox.")


@app.verb("add")
def add(
    name: NewName,
    display: Display = None,
    team: Team = None,
    role: Role = None,
    alias: Alias = None,
    owner: Owner = None,
    json: Json = False,
) -> None:
    """
    Register an agent: from now on it has an inbox.

    \b
    Examples:
      gatepost agent add analyst
      gatepost agent add quinn --display Quinn --team web --role reviewer --alias bead-42
    """
    newcomer = Newcomer(
        name=name, kind=Kind.AGENT, display=display, team=team, role=role, owner=owner, aliases=alias or ()
    )
    entities.add(newcomer, json=json)


@app.verb("list")
def list_(team: Team = None, retired: Retired = False, limit: Limit = "1000", json: Json = False) -> None:
    """
    List the agents, in order of registration.

    \b
    Example:
      gatepost agent list --team web
    """
    entities.list_(Kind.AGENT, team=team, retired=retired, limit=limit, json=json)


@app.verb("show")
def show(name: Name, json: Json = False) -> None:
    """
    Show an agent and the accounts of its inbox.

    \b
    Example:
      gatepost agent show analyst
    """
    entities.show(name, Kind.AGENT, json=json)


@app.verb("retire")
def retire(name: Name, json: Json = False) -> None:
    """
    Let an agent receive nothing from now on. What it has stays.

    \b
    Example:
      gatepost agent retire analyst
    """
    entities.retire(name, Kind.AGENT, json=json)


@app.verb("wake")
def wake(name: Name, json: Json = False) -> None:
    """
    Let an agent look at its inbox now. If it is empty, nothing else happens.

    \b
    Example:
      gatepost agent wake analyst
    """
    entities.wake(name, json=json)
