"""`gatepost agent runs`, `mind` and `replay`: what residents did, and what they have in mind."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Final

from gatepost import app
from gatepost.actions import runs
from gatepost.cli import entities, here, output, words
from gatepost.cli.entities import Name
from gatepost.cli.here import Json, Limit
from gatepost.cli.plain import argument, option
from gatepost.core import agent_config as rules
from gatepost.core import ids, render, unwire, wire
from gatepost.core.entity import EntityKind
from gatepost.core.mind import CallResult, MindSummaries, ModelReply, Prompt, Turn
from gatepost.core.run import Run, RunStatus
from gatepost.core.times import SECOND, format_rfc3339
from gatepost.core.wire import Document
from gatepost.errors import Invalid
from gatepost.ports import Reader, Store

if TYPE_CHECKING:
    from gatepost.client import Client

#: characters of what was said then that stand beside what is said now
_BESIDE: Final = 60


def list_runs(
    name: Name,
    status: Annotated[str | None, option("--status", "STATUS", f"Only those that are {', '.join(RunStatus)}.")] = None,
    limit: Limit = "20",
    json: Json = False,
) -> None:
    """
    List what an agent did, the newest run first.

    Example:
      gatepost agent runs analyst --status failed
    """
    most = words.number(limit, "--limit", most=100_000)
    wanted = _status(status) if status is not None else None
    with here.opened() as place:
        agent = entities.expect(place.entity(name), EntityKind.AGENT).name
        found = place.all(runs.page, lambda far: far.runs, agent=agent, status=wanted, limit=most + 1)
    headings = ["RUN", "CYCLE", "STATUS", "CAUSE", "EVENTS", "STEPS", "TOKENS", "STARTED", "LIMIT", "SUMMARY"]
    none = f"{agent!r} has no run" + (f" that is {wanted}" if wanted else "")
    output.listing(found, most, headings, _row, wire.write_run, otherwise=none, json=json)


def mind(name: Name, json: Json = False) -> None:
    """
    Show what an agent has in mind: its summaries of old cycles, and the later ones turn by turn.

    Example:
      gatepost agent mind analyst
    """
    with here.opened() as place:
        agent = entities.expect(place.entity(name), EntityKind.AGENT).name
        carried, turns, tokens = place.do(lambda near: near.query(_mind, agent), lambda far: _mind_far(far, agent))
    if json:
        output.document(wire.write_mind(agent, carried, turns, tokens))
        return
    if carried.dropped_count:
        output.line_out(f"({output.count(carried.dropped_count, 'older summary')} only in the runs)")
    for summary in carried.summaries:
        output.line_out(f"- {render.escape_unsafe(summary)}")
    for turn in turns:
        for said in _told(turn):
            output.line_out(said)
    output.talk(f"{output.count(len(turns), 'turn')}, about {output.count(tokens, 'token')}")


def replay(
    run: Annotated[str, argument("RUN", "The id of a run.")],
    model: Annotated[str, option("--model", "M", "The model to hold it against.")] = "demo",
    json: Json = False,
) -> None:
    """
    Show a past run to another model, and what it would have said and done beside what was. Nothing is done.

    Example:
      gatepost agent replay run_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --model anthropic:claude-sonnet-4-5
    """
    with here.opened() as place:
        id = ids.check("run", run)
        found = place.do(
            lambda near: asyncio.run(_replayed(near, id, model)), lambda far: _replayed_far(far, id, model)
        )
    if json:
        output.document(found)
        return
    then = _deeds(unwire.read_turn(each) for each in found["original"])
    now = _deeds(unwire.read_turn(each) for each in found["replayed"])
    output.table(["", "THEN", "NOW"], [_beside(*pair) for pair in zip_longest(then, now, fillvalue="")])
    output.line_out("same" if found["same"] else "different")
    output.talk(f"{found['model']} was shown the run again; nothing was done")


def _mind(tx: Reader, name: str) -> tuple[MindSummaries, Sequence[Turn], int]:
    found = runs.read_mind(tx, name)
    return found.past_cycles, found.turns, found.tokens


async def _mind_far(far: "Client", name: str) -> tuple[MindSummaries, Sequence[Turn], int]:
    found = await far.mind(name)
    return found.carried, found.turns, found.tokens


async def _replayed(store: Store, id: str, name: str) -> Document:
    from gatepost.runtime.replay import replay

    choice = rules.parse({"model": name}).model
    async with app.open_cycle_deps(store, lambda _: None) as means:
        model = await means.get_model(choice)
        told = await replay(store, id, model)
    return wire.write_replay(id, model.name, steps=told.original, turns=told.turns, is_same=told.is_same)


async def _replayed_far(far: "Client", id: str, model: str) -> Document:
    told = await far.replay_run(id, model)
    return wire.write_replay(id, told.model, steps=told.original, turns=told.replayed, is_same=told.same)


def _row(run: Run) -> list[str]:
    return [
        run.id,
        str(run.cycle),
        run.status.value,
        run.cause,
        str(run.events),
        str(run.steps),
        str(run.prompt_tokens + run.completion_tokens),
        format_rfc3339(run.started_at - run.started_at % SECOND),
        run.limit.value if run.limit is not None else "",
        render.quote(run.error or run.summary),
    ]


def _told(turn: Turn) -> list[str]:
    """A turn of a mind: who, and what."""
    match turn:
        case Prompt(text=text):
            return ["shown", output.prose(text)]
        case ModelReply():
            return ["said", *(output.prose(deed) for deed in _deeds([turn]))]
        case CallResult(tool=tool, content=content):
            return [f"{render.escape_unsafe(tool)} returned", output.prose(content)]


def _deeds(turns: Iterable[Turn]) -> list[str]:
    """What was said and done, one thing each."""
    deeds: list[str] = []
    for turn in turns:
        if isinstance(turn, ModelReply):
            deeds += [turn.text] if turn.text else []
            deeds += [f"{call.tool} {call.arguments}" for call in turn.calls]
    return deeds


def _beside(then: str, now: str) -> list[str]:
    shown = [render.escape_unsafe(" ".join(each.split())) for each in (then, now)]
    cut = shown[0] if len(shown[0]) <= _BESIDE else f"{shown[0][: _BESIDE - 3]}..."
    return ["=" if then == now else "!", cut, shown[1]]


def _status(text: str) -> RunStatus:
    try:
        return RunStatus(text)
    except ValueError:
        raise Invalid(f"{text!r} is not a status of a run", hint=f"use one of {', '.join(RunStatus)}") from None
