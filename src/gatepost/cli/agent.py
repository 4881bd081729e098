"""`gatepost agent`."""

import time
from typing import Annotated, Any, Final

import msgspec

from gatepost import app as wiring
from gatepost.api.agent_config import ConfigView, ModelView
from gatepost.api.agents import AgentView, ChangeAgent, PauseAgent, RegisterAgent, ResumeAgent, ShowAgent, WakeAgent
from gatepost.api.inbox import ShowAccount
from gatepost.cli import entities, output, residents, words
from gatepost.cli.connect import connect
from gatepost.cli.entities import Alias, Display, Name, NewName, Owner, Retired, Role, Team
from gatepost.cli.plain import Json, Limit, Noun, option
from gatepost.core import agent_config
from gatepost.core.agent import DEMO, Budget, ModelChoice
from gatepost.core.entity import EntityKind
from gatepost.core.times import parse_instant
from gatepost.errors import Invalid

app = Noun(help="Agents: programs that have an inbox, and those that live here.")

#: of a configuration, or of instructions
_MAX_BYTES: Final = 512 * 1024

Model = Annotated[
    str | None, option("--model", "M", "openai:NAME, anthropic:NAME, ollama:NAME, or demo, which needs no key.")
]
Description = Annotated[str | None, option("--description", "TEXT", "What it is for.")]
Instructions = Annotated[
    str | None, option("--instructions", "TEXT|@FILE|-", "What it is told; @FILE reads a file, - stdin.")
]
ConfigFile = Annotated[
    str | None, option("--config", "FILE", "A configuration in JSON, or TOML if the name ends so; - is stdin.")
]


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

    Examples:
      gatepost agent add analyst --model demo --instructions "Answer questions about revenue"
      gatepost agent add support --config support.toml --instructions @support.md
      gatepost agent add quinn --display Quinn --team web --role reviewer --alias bead-42
    """
    fields = _read_config(model, description, instructions, config)
    if fields:  # a field that is null gets its default, and makes a resident too
        fields = {"model": DEMO} | {field: value for field, value in fields.items() if value is not None}
    request = RegisterAgent(
        name=name, display_name=display, team=team, role=role, owner=owner, aliases=tuple(alias or ()), **fields
    )
    with connect() as connection:
        agent = connection.send(request)
    choice = _parse_model(agent.config.model) if agent.config else None
    suffix = f"; it lives here, and thinks with {choice.name}" if choice else ""
    _print_agent(agent, f"registered {agent.name!r}{suffix}", json=json)
    if choice:
        _warn_of_missing_key(choice)


@app.verb("list")
def list_(team: Team = None, retired: Retired = False, limit: Limit = "1000", json: Json = False) -> None:
    """
    List the agents, in order of registration.

    Example:
      gatepost agent list --team web
    """
    entities.list_(EntityKind.AGENT, team=team, retired=retired, limit=limit, json=json)


@app.verb("show")
def show(name: Name, json: Json = False) -> None:
    """
    Show an agent, the accounts of its inbox and, if it lives here, what it is told to be. Secrets are masked.

    Examples:
      gatepost agent show analyst
      gatepost agent show analyst --json
    """
    with connect() as connection:
        entities.find_entity(connection, name, EntityKind.AGENT)
        agent = connection.send(ShowAgent(name=name))
        account = connection.send(ShowAccount(name=agent.name))
    if json:
        output.document({**msgspec.to_builtins(agent), "inbox": msgspec.to_builtins(account)})
        return
    resident_facts = _list_resident_facts(agent, agent.config) if agent.config else ()
    output.facts(*entities.list_facts(agent, account), *resident_facts)
    if agent.config and agent.config.instructions:
        output.line_out("instructions")
        output.line_out(output.prose(agent.config.instructions))


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

    Examples:
      gatepost agent set analyst --model openai:gpt-5
      gatepost agent set analyst --instructions @analyst.md --team finance
      gatepost agent set analyst --config tools.toml
    """
    entity_fields = {"display_name": display, "team": team, "role": role, "owner": owner}
    fields = _read_config(model, description, instructions, config)
    fields |= {field: value for field, value in entity_fields.items() if value is not None}
    if not fields:
        raise Invalid(
            "nothing is to be changed", hint="give --model, --instructions, --config or --display, --team ..."
        )
    with connect() as connection:
        entities.find_entity(connection, name, EntityKind.AGENT)
        agent = connection.send(ChangeAgent(name=name, **fields))
    suffix = f"; its configuration is number {agent.version}" if agent.resident else ""
    _print_agent(agent, f"changed {agent.name!r}{suffix}", json=json)
    if agent.config and "model" in fields:
        _warn_of_missing_key(_parse_model(agent.config.model))


@app.verb("pause")
def pause(name: Name, json: Json = False) -> None:
    """
    Let an agent that lives here begin nothing from now on. Its inbox fills meanwhile.

    Example:
      gatepost agent pause analyst
    """
    with connect() as connection:
        entities.find_entity(connection, name, EntityKind.AGENT)
        agent = connection.send(PauseAgent(name=name))
    _print_agent(agent, f"paused {agent.name!r}: its inbox fills, and it begins nothing", json=json)


@app.verb("resume")
def resume(name: Name, json: Json = False) -> None:
    """
    Let an agent that was paused go on with whatever waits.

    Example:
      gatepost agent resume analyst
    """
    with connect() as connection:
        entities.find_entity(connection, name, EntityKind.AGENT)
        agent = connection.send(ResumeAgent(name=name))
    _print_agent(agent, f"{agent.name!r} goes on", json=json)


app.verb("runs")(residents.list_runs)
app.verb("mind")(residents.mind)
app.verb("replay")(residents.replay)


@app.verb("retire")
def retire(name: Name, json: Json = False) -> None:
    """
    Let an agent receive nothing from now on. What it has stays.

    Example:
      gatepost agent retire analyst
    """
    entities.retire(name, EntityKind.AGENT, json=json)


@app.verb("wake")
def wake(name: Name, json: Json = False) -> None:
    """
    Let an agent look at its inbox now. If it is empty, nothing else happens.

    Example:
      gatepost agent wake analyst
    """
    with connect() as connection:
        agent = entities.find_entity(connection, name, EntityKind.AGENT)
        view = connection.send(WakeAgent(name=agent.name))
    output.done(
        msgspec.to_builtins(view),
        view.name,
        f"rung for {view.name!r}: whoever thinks for it looks at its inbox",
        json=json,
    )


def _read_config(
    model: str | None, description: str | None, instructions: str | None, file: str | None
) -> dict[str, Any]:
    """Return the fields of a configuration: those of the file, replaced by those of the options."""
    if file == instructions == "-":
        raise Invalid("stdin can be read only once", hint="name a file for --config or --instructions")
    document = words.document(file, _MAX_BYTES) if file is not None else {}
    if isinstance(document.get("config"), dict):  # an agent as `agent show --json` prints it
        document = document["config"]
    options = {
        "model": words.given(model, "--model", "which"),
        "description": description,
        "instructions": words.told(instructions, _MAX_BYTES) if instructions is not None else None,
    }
    config = document | {field: value for field, value in options.items() if value is not None}
    agent_config.parse(config, is_masked=True)  # a request has no place for unknown fields
    return config


def _print_agent(agent: AgentView, message: str, *, json: bool) -> None:
    output.done(msgspec.to_builtins(agent), agent.name, message, json=json)


def _parse_model(model: ModelView) -> ModelChoice:
    return agent_config.parse({"model": msgspec.to_builtins(model)}).model


def _warn_of_missing_key(model: ModelChoice) -> None:
    """Say now what would show only when the agent thinks. A gateway may have an environment of its own."""
    if (variable := wiring.find_missing_key(model)) is not None:
        output.talk(f"{variable} is not set: set it where the gateway runs, or the demo stands in for {model.name}")


def _list_resident_facts(agent: AgentView, config: ConfigView) -> list[tuple[str, object]]:
    return [
        ("lives here", _describe_activity(agent)),
        ("model", _parse_model(config.model).name),
        ("fallback", config.model.fallback),
        ("about", config.description),
        ("tools", ", ".join(f"{tool.name} ({tool.execution_type})" for tool in config.tools)),
        ("servers", ", ".join(server.name for server in config.mcp.servers)),
        ("skills", ", ".join(config.skills)),
        ("steps", f"at most {config.loop.max_steps} a cycle, {config.loop.max_calls} calls in a reply"),
        ("tokens", f"at most {config.loop.max_tokens} that a cycle adds"),
        ("budget", Budget(**msgspec.structs.asdict(config.budget)) if config.budget is not None else None),
        ("mind", f"{agent.mind_tokens} of {config.mind.max_tokens} tokens"),
        ("cycles", agent.cycles),
        ("failures", agent.failures or None),
        ("version", agent.version),
    ]


def _describe_activity(agent: AgentView) -> str:
    if agent.paused_at is not None:
        return f"paused since {agent.paused_at}"
    if agent.rest_until is not None and parse_instant(agent.rest_until) > time.time_ns() // 1_000:
        return f"rests until {agent.rest_until}"
    return "and thinks when there is something to think about"
