"""`gatepost agent`."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Final, cast

from gatepost import app as wiring
from gatepost.actions import agents as verbs
from gatepost.actions import directory, maintenance
from gatepost.actions.directory import EntityChanges, EntitySpec
from gatepost.api.entities import EntityView
from gatepost.api.inbox import AccountView
from gatepost.cli import entities, here, output, residents, words
from gatepost.cli.entities import Alias, Display, Name, NewName, Owner, Retired, Role, Team
from gatepost.cli.here import Json, Limit
from gatepost.cli.plain import Noun, option
from gatepost.core import agent_config as rules
from gatepost.core import wire
from gatepost.core.agent import ModelChoice, Resident
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.signals import Signal
from gatepost.core.times import format_rfc3339
from gatepost.errors import Invalid
from gatepost.ports import Reader

app = Noun(help="Agents: programs that have an inbox, and those that live here.")

#: bytes of a configuration, or of instructions
_LARGEST: Final = 512 * 1024

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
    newcomer = EntitySpec(
        name=name, kind=EntityKind.AGENT, display=display, team=team, role=role, owner=owner, aliases=alias or ()
    )
    configured = _told(model, description, instructions, config)
    with here.opened() as place:
        if configured:
            told = {field: value for field, value in asdict(newcomer).items() if field != "kind"}
            place.do(
                lambda near: near.call(verbs.make_resident, newcomer, rules.parse(dict(configured))),
                lambda far: far.settle(config=configured, **told),
            )
        else:
            place.do(lambda near: near.call(directory.register, newcomer), lambda far: far.register(**asdict(newcomer)))
        entity, resident = _found(place, newcomer.name)
    said = f"; it lives here, and thinks with {resident.config.model.name}" if resident else ""
    _done(entity, resident, f"registered {entity.name!r}{said}", json=json)
    if resident:
        _look_for_key(resident.config.model)


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
    with here.opened() as place:
        entities.expect(place.entity(name), EntityKind.AGENT)
        entity, resident = _found(place, name)
        account = place.do(
            lambda near: near.query(maintenance.list_accounts, entity.name)[0], lambda far: far.account(entity.name)
        )
        now = place.now()
    if json:
        output.document(wire.write_agent(entity, resident) | {"inbox": wire.write_account(account)})
        return
    output.facts(
        *entities.list_facts(EntityView.of(entity), AccountView.of(account)),
        *(_facts(resident, now) if resident else ()),
    )
    if resident and resident.config.instructions:
        output.line_out("instructions")
        output.line_out(output.prose(resident.config.instructions))


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
    entity_fields = {"displayName": display, "team": team, "role": role, "owner": owner}
    given = {field: value for field, value in entity_fields.items() if value is not None}
    fields = _told(model, description, instructions, config) | given
    if not fields:
        raise Invalid(
            "nothing is to be changed", hint="give --model, --instructions, --config or --display, --team ..."
        )
    with here.opened() as place:
        entities.expect(place.entity(name), EntityKind.AGENT)
        place.do(
            lambda near: near.call(verbs.update, name, *_apart(fields)), lambda far: far.change_agent(name, fields)
        )
        entity, resident = _found(place, name)
    said = f"; its configuration is number {resident.version}" if resident else ""
    _done(entity, resident, f"changed {entity.name!r}{said}", json=json)
    if resident and "model" in fields:
        _look_for_key(resident.config.model)


@app.verb("pause")
def pause(name: Name, json: Json = False) -> None:
    """
    Let an agent that lives here begin nothing from now on. Its inbox fills meanwhile.

    Example:
      gatepost agent pause analyst
    """
    with here.opened() as place:
        entities.expect(place.entity(name), EntityKind.AGENT)
        place.call(verbs.pause, lambda far: far.pause, name)
        entity, resident = _found(place, name)
    _done(entity, resident, f"paused {entity.name!r}: its inbox fills, and it begins nothing", json=json)


@app.verb("resume")
def resume(name: Name, json: Json = False) -> None:
    """
    Let an agent that was paused go on with whatever waits.

    Example:
      gatepost agent resume analyst
    """
    with here.opened() as place:
        entities.expect(place.entity(name), EntityKind.AGENT)
        place.call(verbs.resume, lambda far: far.resume, name)
        entity, resident = _found(place, name)
    _done(entity, resident, f"{entity.name!r} goes on", json=json)


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
    with here.opened() as place:
        entity = entities.expect(place.entity(name), EntityKind.AGENT)
        place.do(lambda _: place.bell([Signal(entity.name, "wake")]), lambda far: far.wake(entity.name))
    output.done(
        {"name": entity.name, "woken": True},
        entity.name,
        f"rung for {entity.name!r}: whoever thinks for it looks at its inbox",
        json=json,
    )


def _told(model: str | None, description: str | None, instructions: str | None, file: str | None) -> dict[str, Any]:
    """What is said of a configuration: by the file, and over it by the options."""
    if file == instructions == "-":
        raise Invalid("stdin can be read only once", hint="name a file for --config or --instructions")
    document = words.document(file, _LARGEST) if file is not None else {}
    if isinstance(document.get("config"), dict):  # an agent as `agent show --json` prints it
        document = document["config"]
    given = {
        "model": words.given(model, "--model", "which"),
        "description": description,
        "instructions": words.told(instructions, _LARGEST) if instructions is not None else None,
    }
    config = document | {field: value for field, value in given.items() if value is not None}
    rules.parse(config, is_masked=True)  # the same words for what is wrong with it, whoever would find it
    return config


def _found(place: here.Here, name: str) -> tuple[Entity, Resident | None]:
    """An agent and, if it lives here, what it is told to be."""
    return place.look(_agent, lambda far: far.agent, name)


def _agent(tx: Reader, name: str) -> tuple[Entity, Resident | None]:
    found = verbs.require_agent(directory.show(tx, name))
    return found, verbs.show(tx, found.name)


def _apart(fields: Mapping[str, Any]) -> tuple[EntityChanges, dict[str, Any]]:
    """What is to be changed of an agent and of its configuration, from the fields of HTTP."""
    known = {"displayName": "display", "team": "team", "role": "role", "owner": "owner"}
    changes = cast("EntityChanges", {known[field]: value for field, value in fields.items() if field in known})
    return changes, {field: value for field, value in fields.items() if field not in known}


def _done(entity: Entity, resident: Resident | None, said: str, *, json: bool) -> None:
    output.done(wire.write_agent(entity, resident), entity.name, said, json=json)


def _look_for_key(model: ModelChoice) -> None:
    """Say at once what would else be seen when the agent thinks; a gateway may have an environment of its own."""
    if (variable := wiring.find_missing_key(model)) is not None:
        output.talk(f"{variable} is not set: set it where the gateway runs, or the demo stands in for {model.name}")


def _facts(resident: Resident, now: int) -> list[tuple[str, object]]:
    config = resident.config
    paused = f"paused since {format_rfc3339(resident.paused_at)}" if resident.paused_at is not None else None
    resting = resident.rest_until is not None and resident.rest_until > now
    rests = (
        f"rests until {format_rfc3339(resident.rest_until)}" if resident.rest_until is not None and resting else None
    )
    return [
        ("lives here", paused or rests or "and thinks when there is something to think about"),
        ("model", config.model.name),
        ("fallback", config.model.fallback),
        ("about", config.description),
        ("tools", ", ".join(f"{tool.name} ({tool.execution})" for tool in config.tools)),
        ("servers", ", ".join(server.name for server in config.servers)),
        ("skills", ", ".join(config.skills)),
        ("steps", f"at most {config.loop.max_steps} a cycle, {config.loop.max_calls} calls in a reply"),
        ("tokens", f"at most {config.loop.max_tokens} that a cycle adds"),
        ("budget", str(config.budget) if config.budget is not None else None),
        ("mind", f"{resident.tokens} of {config.mind.max_tokens} tokens"),
        ("cycles", resident.cycles),
        ("failures", resident.failures or None),
        ("version", resident.version),
    ]
