"""`gatepost agent runs`, `mind` and `replay`: what residents did, and what they remember of it."""

from collections.abc import Iterable
from itertools import zip_longest
from typing import Final

from gatepost.cli import output
from gatepost.cli.command import TableRow
from gatepost.cli.gateway_or_store import CommandConnection
from gatepost.core.escaping import escape_unsafe
from gatepost.core.ports import Store
from gatepost.core.quoting import quote
from gatepost.core.times import SECOND, format_rfc3339, parse_instant
from gatepost.residents.runs.api import ReplayRun, ReplayView, RunView, StepView, TurnView
from gatepost.residents.runs.mind_api import MindView

#: characters of an original action that stand beside the replayed one
_ORIGINAL_WIDTH: Final = 60


def mind(mind: MindView) -> None:
    """
    Show what an agent remembers. Old cycles are summaries; the later ones follow turn by turn.

    Example:
      gatepost agent mind analyst
    """
    if mind.dropped:
        output.line_out(f"({output.count(mind.dropped, 'older summary')} only in the runs)")
    for summary in mind.summaries:
        output.line_out(f"- {escape_unsafe(summary)}")
    for turn in mind.turns:
        for line in _format_turn(turn):
            output.line_out(line)
    output.talk(f"{output.count(len(mind.turns), 'turn')}, about {output.count(mind.tokens, 'token')}")


def fetch_replay(connection: CommandConnection, request: ReplayRun) -> ReplayView:
    if connection.store is None:
        return connection.send(request)
    import asyncio  # this operation needs models, so the client on the store does not have it

    return asyncio.run(_replay_on_store(connection.store, request))


async def _replay_on_store(store: Store, request: ReplayRun) -> ReplayView:
    from gatepost import app
    from gatepost.residents.background.run_replay import answer_request

    async with app.open_cycle_deps(store, lambda _: None) as deps:
        return await answer_request(store, request, deps.get_model)


def replay(replay: ReplayView) -> None:
    """
    Replay a past run with another model, and compare the two. Nothing is changed.

    Example:
      gatepost agent replay "$RUN" --model anthropic:claude-sonnet-4-5
    """
    pairs = zip_longest(_list_actions(replay.original), _list_actions(replay.replayed), fillvalue="")
    output.table(["", "THEN", "NOW"], [_build_comparison(*pair) for pair in pairs])
    output.line_out("same" if replay.same else "different")
    output.talk(f"{replay.model} replayed the run; nothing was changed")


def build_row(run: RunView) -> TableRow:
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
        quote(run.error or run.summary),
    ]


def _format_turn(turn: TurnView) -> list[str]:
    """Return the lines of a turn: who, and what."""
    if turn.prompt is not None:
        return ["prompt", output.indent(turn.prompt.text)]
    if turn.result is not None:
        return [f"{escape_unsafe(turn.result.tool)} returned", output.indent(turn.result.content)]
    return ["reply", *(output.indent(action) for action in _list_actions([turn]))]


def _list_actions(turns: Iterable[TurnView | StepView]) -> list[str]:
    """Return what the model said and did: each text and each call."""
    actions: list[str] = []
    for turn in turns:
        if turn.reply is not None:
            actions += [turn.reply.text] if turn.reply.text else []
            actions += [f"{call.tool} {call.arguments}" for call in turn.reply.calls]
    return actions


def _build_comparison(original: str, replayed: str) -> list[str]:
    cells = [escape_unsafe(" ".join(action.split())) for action in (original, replayed)]
    cut = cells[0] if len(cells[0]) <= _ORIGINAL_WIDTH else f"{cells[0][: _ORIGINAL_WIDTH - 3]}..."
    return ["=" if original == replayed else "!", cut, cells[1]]
