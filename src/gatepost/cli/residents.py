"""What residents are told to be, what they did and what they have in mind, on the command line."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from gatepost import app
from gatepost.actions import agents as verbs
from gatepost.actions import directory, journal
from gatepost.actions.directory import Changes, Newcomer
from gatepost.cli import entities, here, output, words
from gatepost.cli.plain import option
from gatepost.core import config as rules
from gatepost.core import ids, line, unwire, wire
from gatepost.core.agent import ModelChoice, Resident
from gatepost.core.entity import Entity, Kind
from gatepost.core.instants import SECOND, rfc3339
from gatepost.core.mind import Carried, Prompt, Reply, Result, Turn
from gatepost.core.run import Run, Status
from gatepost.core.wire import Document
from gatepost.errors import Invalid
from gatepost.ports.store import Reader, Store

if TYPE_CHECKING:
    from gatepost.client import Client

_LARGEST: Final = 512 * 1024
#: characters of what was said then that stand beside what is said now
_BESIDE: Final = 60

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


def told(model: str | None, description: str | None, instructions: str | None, file: str | None) -> dict[str, Any]:
    """What is said of a configuration: by the file, and over it by the options."""
    if file == instructions == "-":
        raise Invalid("stdin can be read only once", hint="name a file for --config or --instructions")
    document = words.document(file, _LARGEST) if file is not None else {}
    if isinstance(document.get("config"), dict):  # an agent as `agent show --json` prints it
        document = document["config"]
    given = {
        "model": words.given(model, "--model"),
        "description": description,
        "instructions": words.told(instructions, _LARGEST) if instructions is not None else None,
    }
    config = document | {field: value for field, value in given.items() if value is not None}
    rules.parse(config, masked=True)  # the same words for what is wrong with it, whoever would find it
    return config


def add(newcomer: Newcomer, config: dict[str, Any], *, json: bool) -> None:
    with here.opened() as place:
        if config:
            told = {field: value for field, value in asdict(newcomer).items() if field != "kind"}
            place.do(
                lambda near: near.call(verbs.settle, newcomer, rules.parse(dict(config))),
                lambda far: far.settle(config=config, **told),
            )
        else:
            entities.register(place, newcomer)
        entity, resident = _found(place, newcomer.name)
    said = f"; it lives here, and thinks with {resident.config.model.name}" if resident else ""
    _done(entity, resident, f"registered {entity.name!r}{said}", json=json)
    if resident:
        _look_for_key(resident.config.model)


def change(name: str, fields: dict[str, Any], *, json: bool) -> None:
    if not fields:
        raise Invalid(
            "nothing is to be changed", hint="give --model, --instructions, --config or --display, --team ..."
        )
    with here.opened() as place:
        entities.expect(place.entity(name), Kind.AGENT)
        place.do(
            lambda near: near.call(verbs.change, name, *_apart(fields)), lambda far: far.change_agent(name, fields)
        )
        entity, resident = _found(place, name)
    said = f"; its configuration is number {resident.version}" if resident else ""
    _done(entity, resident, f"changed {entity.name!r}{said}", json=json)
    if resident and "model" in fields:
        _look_for_key(resident.config.model)


def pause(name: str, *, json: bool) -> None:
    with here.opened() as place:
        entities.expect(place.entity(name), Kind.AGENT)
        place.do(lambda near: near.call(verbs.pause, name), lambda far: far.pause(name))
        entity, resident = _found(place, name)
    _done(entity, resident, f"paused {entity.name!r}: its inbox fills, and it begins nothing", json=json)


def resume(name: str, *, json: bool) -> None:
    with here.opened() as place:
        entities.expect(place.entity(name), Kind.AGENT)
        place.do(lambda near: near.call(verbs.resume, name), lambda far: far.resume(name))
        entity, resident = _found(place, name)
    _done(entity, resident, f"{entity.name!r} goes on", json=json)


def show(name: str, *, json: bool) -> None:
    with here.opened() as place:
        entities.expect(place.entity(name), Kind.AGENT)
        entity, resident = _found(place, name)
        account = entities.account_of(place, entity)
        now = place.now()
    if json:
        output.document(wire.agent(entity, resident) | {"inbox": wire.account(account)})
        return
    output.facts([*entities.facts(entity, account), *(_facts(resident, now) if resident else ())])
    if resident and resident.config.instructions:
        output.line_out("instructions")
        output.line_out(output.prose(resident.config.instructions))


def runs(name: str, *, status: str | None, limit: str, json: bool) -> None:
    most = words.number(limit, "--limit", most=100_000)
    wanted = _status(status) if status is not None else None
    with here.opened() as place:
        agent = entities.expect(place.entity(name), Kind.AGENT).name
        found = place.all(
            lambda near: near.look(journal.page, agent=agent, status=wanted, limit=most + 1),
            lambda far: far.runs(agent=agent, status=wanted, limit=most + 1),
        )
    headings = ["RUN", "CYCLE", "STATUS", "CAUSE", "EVENTS", "STEPS", "TOKENS", "STARTED", "SUMMARY"]
    none = f"{agent!r} has no run" + (f" that is {wanted}" if wanted else "")
    output.listing(found, most, headings, _row, wire.run, otherwise=none, json=json)


def mind(name: str, *, json: bool) -> None:
    with here.opened() as place:
        agent = entities.expect(place.entity(name), Kind.AGENT).name
        carried, turns, tokens = place.do(lambda near: near.look(_mind, agent), lambda far: _mind_far(far, agent))
    if json:
        output.document(wire.mind(agent, carried, turns, tokens))
        return
    if carried.dropped:
        output.line_out(f"({output.count(carried.dropped, 'older summary')} only in the runs)")
    for summary in carried.summaries:
        output.line_out(f"- {line.escaped(summary)}")
    for turn in turns:
        for said in _told(turn):
            output.line_out(said)
    output.talk(f"{output.count(len(turns), 'turn')}, about {output.count(tokens, 'token')}")


def replay(run: str, model: str, *, json: bool) -> None:
    with here.opened() as place:
        id = ids.check("run", run)
        found = place.do(
            lambda near: asyncio.run(_replayed(near, id, model)), lambda far: _replayed_far(far, id, model)
        )
    if json:
        output.document(found)
        return
    then = _deeds(unwire.turn(each) for each in found["original"])
    now = _deeds(unwire.turn(each) for each in found["replayed"])
    output.table(["", "THEN", "NOW"], [_beside(*pair) for pair in zip_longest(then, now, fillvalue="")])
    output.line_out("same" if found["same"] else "different")
    output.talk(f"{found['model']} was shown the run again; nothing was done")


def _found(place: here.Here, name: str) -> tuple[Entity, Resident | None]:
    """An agent and, if it lives here, what it is told to be."""
    return place.do(lambda near: near.look(_agent, name), lambda far: far.agent(name))


def _agent(reader: Reader, name: str) -> tuple[Entity, Resident | None]:
    found = verbs.of_kind(directory.show(reader, name))
    return found, verbs.show(reader, found.name)


def _apart(fields: Mapping[str, Any]) -> tuple[Changes, dict[str, Any]]:
    """What is to be changed of an agent and of its configuration, from the fields of HTTP."""
    known = {"displayName": "display", "team": "team", "role": "role", "owner": "owner"}
    changes = cast("Changes", {known[field]: value for field, value in fields.items() if field in known})
    return changes, {field: value for field, value in fields.items() if field not in known}


def _mind(reader: Reader, name: str) -> tuple[Carried, Sequence[Turn], int]:
    found = journal.mind(reader, name)
    return found.carried, found.turns, found.tokens


async def _mind_far(far: "Client", name: str) -> tuple[Carried, Sequence[Turn], int]:
    found = await far.mind(name)
    return found.carried, found.turns, found.tokens


async def _replayed(store: Store, id: str, name: str) -> Document:
    from gatepost.runtime.replay import replay

    choice = rules.parse({"model": name}).model
    async with app.means(store, lambda _: None) as means:
        model = await means.model(choice)
        told = await replay(store, id, model)
    return wire.replayed(id, model.name, original=told.original, replayed=told.replayed, same=told.same)


async def _replayed_far(far: "Client", id: str, model: str) -> Document:
    told = await far.replay_run(id, model)
    return wire.replayed(id, told.model, original=told.original, replayed=told.replayed, same=told.same)


def _done(entity: Entity, resident: Resident | None, said: str, *, json: bool) -> None:
    output.done(wire.agent(entity, resident), entity.name, said, json=json)


def _look_for_key(model: ModelChoice) -> None:
    """Say at once what would else be seen when the agent thinks; a gateway may have an environment of its own."""
    if (variable := app.missing_key(model)) is not None:
        output.talk(f"{variable} is not set: set it where the gateway runs, or the demo stands in for {model.name}")


def _facts(resident: Resident, now: int) -> list[tuple[str, object]]:
    config = resident.config
    paused = f"paused since {rfc3339(resident.paused_at)}" if resident.paused_at is not None else None
    resting = resident.rest_until is not None and resident.rest_until > now
    rests = f"rests until {rfc3339(resident.rest_until)}" if resident.rest_until is not None and resting else None
    return [
        ("lives here", paused or rests or "and thinks when there is something to think about"),
        ("model", config.model.name),
        ("fallback", config.model.fallback),
        ("about", config.description),
        ("tools", ", ".join(f"{tool.name} ({tool.execution})" for tool in config.tools)),
        ("servers", ", ".join(server.name for server in config.servers)),
        ("skills", ", ".join(config.skills)),
        ("steps", f"at most {config.loop.max_steps} a cycle, and {config.loop.max_tokens} tokens"),
        ("mind", f"{resident.tokens} of {config.mind.max_tokens} tokens"),
        ("cycles", resident.cycles),
        ("failures", resident.failures or None),
        ("version", resident.version),
    ]


def _row(run: Run) -> list[str]:
    return [
        run.id,
        str(run.cycle),
        run.status.value,
        run.cause,
        str(run.events),
        str(run.steps),
        str(run.prompt_tokens + run.completion_tokens),
        rfc3339(run.started_at - run.started_at % SECOND),
        line.quote(run.error or run.summary),
    ]


def _told(turn: Turn) -> list[str]:
    """A turn of a mind: who, and what."""
    match turn:
        case Prompt(text=text):
            return ["shown", output.prose(text)]
        case Reply():
            return ["said", *(output.prose(deed) for deed in _deeds([turn]))]
        case Result(tool=tool, content=content):
            return [f"{line.escaped(tool)} returned", output.prose(content)]


def _deeds(turns: Iterable[Turn]) -> list[str]:
    """What was said and done, one thing each."""
    deeds: list[str] = []
    for turn in turns:
        if isinstance(turn, Reply):
            deeds += [turn.text] if turn.text else []
            deeds += [f"{call.tool} {call.arguments}" for call in turn.calls]
    return deeds


def _beside(then: str, now: str) -> list[str]:
    shown = [line.escaped(" ".join(each.split())) for each in (then, now)]
    cut = shown[0] if len(shown[0]) <= _BESIDE else f"{shown[0][: _BESIDE - 3]}..."
    return ["=" if then == now else "!", cut, shown[1]]


def _status(text: str) -> Status:
    try:
        return Status(text)
    except ValueError:
        raise Invalid(f"{text!r} is not a status of a run", hint=f"use one of {', '.join(Status)}") from None
