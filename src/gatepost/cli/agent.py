"""`gatepost agent`."""

from typing import Annotated

from gatepost.actions.directory import Newcomer
from gatepost.cli import entities, residents
from gatepost.cli.entities import Alias, Display, Name, NewName, Owner, Retired, Role, Team
from gatepost.cli.here import Json, Limit
from gatepost.cli.plain import Noun, argument, option
from gatepost.cli.residents import ConfigFile, Description, Instructions, Model
from gatepost.core.entity import Kind
from gatepost.core.run import Status

app = Noun(help="Agents: programs that have an inbox, and those that live here.")


@app.verb("add")
def add(
    name: NewName,
    model: Model = None,
    instructions: Instructions = None,
    description: Description = None,
    config: ConfigFile = None,
    display: Display = None,
    team: Team = None,
    role: Role = None,
    alias: Alias = None,
    owner: Owner = None,
    json: Json = False,
) -> None:
    """
    Register an agent: from now on it has an inbox.

    With a model, instructions or any other configuration it lives here: a gateway thinks for it. Without, it is a guest
    that reads its inbox itself.

    \b
    Examples:
      gatepost agent add analyst --model demo --instructions "Answer questions about revenue"
      gatepost agent add support --config support.toml --instructions @support.md
      gatepost agent add quinn --display Quinn --team web --role reviewer --alias bead-42
    """
    newcomer = Newcomer(
        name=name, kind=Kind.AGENT, display=display, team=team, role=role, owner=owner, aliases=alias or ()
    )
    residents.add(newcomer, residents.told(model, description, instructions, config), json=json)


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
    Show an agent, the accounts of its inbox and, if it lives here, what it is told to be. Secrets are masked.

    \b
    Examples:
      gatepost agent show analyst
      gatepost agent show analyst --json
    """
    residents.show(name, json=json)


@app.verb("set")
def set_(
    name: Name,
    model: Model = None,
    instructions: Instructions = None,
    description: Description = None,
    config: ConfigFile = None,
    display: Display = None,
    team: Team = None,
    role: Role = None,
    owner: Owner = None,
    json: Json = False,
) -> None:
    """
    Change what is given of an agent; the rest stays. A guest that is given a model lives here from now on.

    A file changes the fields that are in it, each as a whole. What `agent show` prints may be sent back: a masked
    secret stands for the one that is stored.

    \b
    Examples:
      gatepost agent set analyst --model openai:gpt-5
      gatepost agent set analyst --instructions @analyst.md --team finance
      gatepost agent set analyst --config tools.toml
    """
    fields = {"displayName": display, "team": team, "role": role, "owner": owner}
    given = {field: value for field, value in fields.items() if value is not None}
    residents.change(name, residents.told(model, description, instructions, config) | given, json=json)


@app.verb("pause")
def pause(name: Name, json: Json = False) -> None:
    """
    Let an agent that lives here begin nothing from now on. Its inbox fills meanwhile.

    \b
    Example:
      gatepost agent pause analyst
    """
    residents.pause(name, json=json)


@app.verb("resume")
def resume(name: Name, json: Json = False) -> None:
    """
    Let an agent that was paused go on with whatever waits.

    \b
    Example:
      gatepost agent resume analyst
    """
    residents.resume(name, json=json)


@app.verb("runs")
def runs(
    name: Name,
    status: Annotated[str | None, option("--status", "STATUS", f"Only those that are {', '.join(Status)}.")] = None,
    limit: Limit = "20",
    json: Json = False,
) -> None:
    """
    List what an agent did, the newest run first.

    \b
    Example:
      gatepost agent runs analyst --status failed
    """
    residents.runs(name, status=status, limit=limit, json=json)


@app.verb("mind")
def mind(name: Name, json: Json = False) -> None:
    """
    Show what an agent has in mind: its summaries of old cycles, and the later ones turn by turn.

    \b
    Example:
      gatepost agent mind analyst
    """
    residents.mind(name, json=json)


@app.verb("replay")
def replay(
    run: Annotated[str, argument("RUN", "The id of a run.")],
    model: Annotated[str, option("--model", "M", "The model to hold it against.")] = "demo",
    json: Json = False,
) -> None:
    """
    Show a past run to another model, and what it would have said and done beside what was. Nothing is done.

    \b
    Example:
      gatepost agent replay run_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --model anthropic:claude-sonnet-4-5
    """
    residents.replay(run, model, json=json)


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
