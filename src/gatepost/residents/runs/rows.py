"""
Runs, with what belongs to them: the steps of the journal, and the mind that a run starts with.

A step's body is JSON with the fields of its turn.
"""

from typing import Any, Final, TypedDict, Unpack

import msgspec

from gatepost.core import typed_json
from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import Instant
from gatepost.residents.mind_compaction import MindSummaries
from gatepost.residents.model_port import CallResult, ModelReply, Prompt, Turn
from gatepost.residents.runs.cycle_limits import RunLimit
from gatepost.residents.runs.run import Run, RunStatus, Step
from gatepost.stores.row_mapping import Mapper, fetch_number, fetch_row, get_columns

RUN: Final = Mapper(Run)
MIND: Final = Mapper(MindSummaries, summaries=typed_json.make_decoder(tuple[str, ...]))
#: more steps than any run has
NO_LIMIT: Final = 2**31 - 1
_KINDS: Final[dict[type[Turn], str]] = {Prompt: "prompt", ModelReply: "reply", CallResult: "result"}
_DECODERS: Final = {kind: typed_json.make_decoder(turn) for turn, kind in _KINDS.items()}
_encode_turn: Final = msgspec.json.Encoder().encode


def create(tx: Transaction, entity: int, *, tokens: int, agent: str, **fields: Any) -> Run:
    """Create a run with the current mind of its agent; `tokens` is the size of its first step."""
    row = fetch_row(tx, "residents/runs/insert", agent=entity, tokens=tokens, now=tx.now, **fields)
    return Run(
        number=row.number, mind_number=row.mind, agent=agent, status=RunStatus.RUNNING, started_at=tx.now, **fields
    )


def read(tx: Reader, id: str) -> Run | None:
    return RUN.fetch_one(tx, "residents/runs/read", id=id)


def find_first_since(tx: Reader, since: Instant) -> int:
    """Return the number of the first run that started at an instant or later; the next number if there is none."""
    return fetch_number(tx, "residents/runs/find_first_since", since=since)


class RunResult(TypedDict, total=False):
    """What is said of the end of a run."""

    summary: str
    error: str
    limit_reached: RunLimit


def end(tx: Transaction, run: int, status: RunStatus, **result: Unpack[RunResult]) -> int | None:
    """
    End a run; return its tokens, or None if it was not running. A run that completes while a call of it is open waits
    for the result of that call.
    """
    columns = {"summary": "", "error": None, "limit_reached": None, **result}
    row = tx.fetch_one("residents/runs/end", number=run, status=status, now=tx.now, **columns)
    return int(row.tokens) if row else None


def insert_step(tx: Transaction, run: int, number: int, turn: Turn, call: str | None = None) -> None:
    """Store a step; `call` is the call of the run that a result answers, and a call has one result."""
    body = _encode_turn(turn).decode()
    tx.execute_later(
        "residents/steps/insert", run=run, number=number, kind=_KINDS[type(turn)], call=call, body=body, now=tx.now
    )


def list_steps(tx: Reader, run: int, *, after: int = 0, limit: int = NO_LIMIT) -> list[Step]:
    """Return the steps of a run in order; `after` is the number of the last one seen."""
    rows = tx.fetch_page("residents/steps/list_by_run", run=run, after=after, limit=limit)
    return [Step(number=row.number, turn=decode_turn(row.kind, row.body), at=row.created_at) for row in rows]


def decode_turn(kind: str, body: str) -> Turn:
    """Return the turn of a stored step; raise ValueError if the body is none, LookupError for an unknown kind."""
    return _DECODERS[kind](body)


def read_mind(tx: Reader, agent: int) -> MindSummaries:
    """Return the current mind of an agent."""
    return MIND.fetch_one(tx, "residents/minds/read", agent=agent) or MindSummaries()


def insert_mind(tx: Transaction, agent: int, mind: MindSummaries) -> None:
    summaries = msgspec.json.encode(mind.summaries).decode()
    columns = get_columns(mind, "run dropped_count")
    tx.execute_later("residents/minds/insert", agent=agent, summaries=summaries, now=tx.now, **columns)
