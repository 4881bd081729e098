"""`gatepost agent runs`, `mind` and `replay`: what residents did, and what they have in mind."""

import asyncio
from collections.abc import Iterable
from itertools import zip_longest
from typing import Annotated, Final

import msgspec

from gatepost import app
from gatepost.api.agents import ShowMind
from gatepost.api.runs import ListAgentRuns, ReplayRun, ReplayView, RunView, StepView, TurnView
from gatepost.cli import entities, output, words
from gatepost.cli.connect import connect
from gatepost.cli.entities import Name
from gatepost.cli.plain import Json, Limit, argument, option
from gatepost.core import ids, render
from gatepost.core.entity import EntityKind
from gatepost.core.run import RunStatus
from gatepost.core.times import SECOND, format_rfc3339, parse_instant
from gatepost.errors import Invalid
from gatepost.ports import Store

#: characters of an original action that stand beside the replayed one
_ORIGINAL_WIDTH: Final = 60


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
    count = words.number(limit, "--limit", most=100_000)
    parsed_status = _parse_status(status) if status is not None else None
    with connect() as connection:
        agent = entities.find_entity(connection, name, EntityKind.AGENT).name
        runs = connection.list_all(ListAgentRuns(name=agent, status=parsed_status), count + 1)
    headings = ["RUN", "CYCLE", "STATUS", "CAUSE", "EVENTS", "STEPS", "TOKENS", "STARTED", "LIMIT", "SUMMARY"]
    otherwise = f"{agent!r} has no run" + (f" that is {parsed_status}" if parsed_status else "")
    output.listing(runs, count, headings, _build_row, msgspec.to_builtins, otherwise=otherwise, json=json)


def mind(name: Name, json: Json = False) -> None:
    """
    Show what an agent has in mind: its summaries of old cycles, and the later ones turn by turn.

    Example:
      gatepost agent mind analyst
    """
    with connect() as connection:
        agent = entities.find_entity(connection, name, EntityKind.AGENT).name
        mind = connection.send(ShowMind(name=agent))
    if json:
        output.document(msgspec.to_builtins(mind))
        return
    if mind.dropped:
        output.line_out(f"({output.count(mind.dropped, 'older summary')} only in the runs)")
    for summary in mind.summaries:
        output.line_out(f"- {render.escape_unsafe(summary)}")
    for turn in mind.turns:
        for line in _format_turn(turn):
            output.line_out(line)
    output.talk(f"{output.count(len(mind.turns), 'turn')}, about {output.count(mind.tokens, 'token')}")


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
    request = ReplayRun(id=ids.check("run", run), model=model)
    with connect() as connection:
        if connection.store is None:
            result = connection.send(request)
        else:  # this operation needs models, so the client on the store does not have it
            result = asyncio.run(_replay_on_store(connection.store, request))
    if json:
        output.document(msgspec.to_builtins(result))
        return
    pairs = zip_longest(_list_actions(result.original), _list_actions(result.replayed), fillvalue="")
    output.table(["", "THEN", "NOW"], [_build_comparison(*pair) for pair in pairs])
    output.line_out("same" if result.same else "different")
    output.talk(f"{result.model} was shown the run again; nothing was done")


async def _replay_on_store(store: Store, request: ReplayRun) -> ReplayView:
    from gatepost.runtime.replay import answer_request

    async with app.open_cycle_deps(store, lambda _: None) as deps:
        return await answer_request(store, request, deps.get_model)


def _build_row(run: RunView) -> list[str]:
    started_at = parse_instant(run.started_at)
    return [
        run.id,
        str(run.cycle_number),
        run.status.value,
        run.cause,
        str(run.events),
        str(run.steps),
        str(run.prompt_tokens + run.completion_tokens),
        format_rfc3339(started_at - started_at % SECOND),
        run.limit.value if run.limit is not None else "",
        render.quote(run.error or run.summary),
    ]


def _format_turn(turn: TurnView) -> list[str]:
    """Return the lines of a turn: who, and what."""
    if turn.prompt is not None:
        return ["shown", output.prose(turn.prompt.text)]
    if turn.result is not None:
        return [f"{render.escape_unsafe(turn.result.tool)} returned", output.prose(turn.result.content)]
    return ["said", *(output.prose(action) for action in _list_actions([turn]))]


def _list_actions(turns: Iterable[TurnView | StepView]) -> list[str]:
    """Return what the model said and did: each text and each call."""
    actions: list[str] = []
    for turn in turns:
        if turn.reply is not None:
            actions += [turn.reply.text] if turn.reply.text else []
            actions += [f"{call.tool} {call.arguments}" for call in turn.reply.calls]
    return actions


def _build_comparison(original: str, replayed: str) -> list[str]:
    cells = [render.escape_unsafe(" ".join(action.split())) for action in (original, replayed)]
    cut = cells[0] if len(cells[0]) <= _ORIGINAL_WIDTH else f"{cells[0][: _ORIGINAL_WIDTH - 3]}..."
    return ["=" if original == replayed else "!", cut, cells[1]]


def _parse_status(text: str) -> RunStatus:
    try:
        return RunStatus(text)
    except ValueError:
        raise Invalid(f"{text!r} is not a status of a run", hint=f"use one of {', '.join(RunStatus)}") from None
