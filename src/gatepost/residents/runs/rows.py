"""
Runs, with what belongs to them: the steps of the journal, and the mind that a run starts with.

A step's body is JSON with the fields of its turn.
"""

from typing import Any, Final

import msgspec

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import Instant
from gatepost.residents.mind_compaction import CycleWeight, MindSummaries
from gatepost.residents.model_port import CallResult, ModelReply, Prompt, Turn
from gatepost.residents.runs.cycle_limits import RunLimit
from gatepost.residents.runs.run import Run, RunStatus, Step
from gatepost.stores.row_mapping import Mapper, fetch_number, fetch_row, get_columns

RUN: Final = Mapper(Run)
_MIND: Final = Mapper(MindSummaries, summaries=msgspec.json.Decoder(tuple[str, ...]).decode)
#: more steps than any run has
NO_LIMIT: Final = 2**31 - 1
_KINDS: Final[dict[type[Turn], str]] = {Prompt: "prompt", ModelReply: "reply", CallResult: "result"}
_DECODERS: Final = {kind: msgspec.json.Decoder(turn).decode for turn, kind in _KINDS.items()}
_encode_turn: Final = msgspec.json.Encoder().encode
_NO_REPLY: Final = ModelReply()


def create(tx: Transaction, entity: int, *, tokens: int, agent: str, **fields: Any) -> Run:
    """Create a run with the current mind of its agent; `tokens` is the size of its first step."""
    row = fetch_row(tx, "residents/runs/insert", agent=entity, tokens=tokens, now=tx.now, **fields)
    return Run(
        number=row.number, mind_number=row.mind, agent=agent, status=RunStatus.RUNNING, started_at=tx.now, **fields
    )


def find_open(tx: Reader, agent: int) -> Run | None:
    """Return the open run of an agent."""
    row = tx.fetch_one("residents/runs/find_open", agent=agent)
    return read(tx, row.id) if row else None


def read(tx: Reader, id: str) -> Run | None:
    return RUN.fetch_one(tx, "residents/runs/read", id=id)


def find_first_since(tx: Reader, since: Instant) -> int:
    """Return the number of the first run that started at an instant or later; the next number if there is none."""
    return fetch_number(tx, "residents/runs/find_first_since", since=since)


def add_usage(tx: Transaction, run: int, turn: Turn, *, tokens: int, effects: int, events: int, hops: int) -> bool:
    """Add a turn of so many tokens to the counters of a run; return False if the run is not running any more."""
    reply = turn if isinstance(turn, ModelReply) else _NO_REPLY
    row_count = tx.execute(
        "residents/runs/add_usage",
        number=run,
        tokens=tokens,
        steps=0 if reply is _NO_REPLY else 1,
        effects=effects,
        events=events,
        prompt_tokens=reply.usage.prompt,
        completion_tokens=reply.usage.completion,
        hops=hops,
        model=reply.model,
    )
    return row_count == 1


def end(
    tx: Transaction,
    run: int,
    status: RunStatus,
    *,
    summary: str = "",
    error: str | None = None,
    limit: RunLimit | None = None,
) -> int | None:
    """
    End a run; return its tokens, or None if it was not running. A run that completes while a call of it is open waits
    for the result of that call.
    """
    row = tx.fetch_one(
        "residents/runs/end", number=run, status=status, summary=summary, error=error, limit_reached=limit, now=tx.now
    )
    return int(row.tokens) if row else None


def count_refusal(tx: Transaction, run: int) -> int:
    """Count that the model refused to continue a run; return the number of refusals."""
    return fetch_number(tx, "residents/runs/count_refusal", number=run)


def list_last_limits(tx: Reader, agent: int, *, before: int, limit: int) -> list[RunLimit | None]:
    """Return the limits at which the cycles before a run ended, newest first, without those that a budget ended."""
    rows = tx.fetch_all("residents/runs/list_last_limits", agent=agent, before=before, limit=limit)
    return [RunLimit(row.limit_reached) if row.limit_reached is not None else None for row in rows]


def find_last_before(tx: Reader, agent: int, since: Instant) -> tuple[int, Instant | None] | None:
    """Return the number of the last run that an agent started before an instant, and when it ended."""
    row = tx.fetch_one("residents/runs/find_last_before", agent=agent, since=since)
    return (row.number, row.ended_at) if row else None


def sum_usage(tx: Reader, agent: int, *, after: int) -> tuple[int, int]:
    """Return the tokens that the runs of an agent after a run have used, and the cycles."""
    row = fetch_row(tx, "residents/runs/sum_usage", agent=agent, after=after)
    return row.tokens, row.cycles


def list_cycle_weights(tx: Reader, agent: int, after: int) -> list[CycleWeight]:
    """Return the sizes of the cycles in a mind after a run, oldest first."""
    rows = tx.fetch_all("residents/runs/list_cycle_weights", agent=agent, after=after)
    return [CycleWeight(row.number, row.tokens, row.summary) for row in rows]


def list_abandoned(tx: Reader, after: int, limit: int) -> list[tuple[int, str]]:
    """Return the agents whose run is open and has no lease: number and name."""
    return [
        (row.number, row.name)
        for row in tx.fetch_all("residents/runs/list_abandoned", after=after, now=tx.now, limit=limit)
    ]


def list_open_of_retired(tx: Reader, limit: int) -> list[str]:
    """Return the ids of open runs of retired agents."""
    return [row.id for row in tx.fetch_all("residents/runs/list_open_of_retired", limit=limit)]


def insert_step(tx: Transaction, run: int, number: int, turn: Turn, call: str | None = None) -> None:
    """Store a step; `call` is the call of the run that a result answers, and a call has one result."""
    body = _encode_turn(turn).decode()
    tx.execute(
        "residents/steps/insert", run=run, number=number, kind=_KINDS[type(turn)], call=call, body=body, now=tx.now
    )


def list_steps(tx: Reader, run: int, *, after: int = 0, limit: int = NO_LIMIT) -> list[Step]:
    """Return the steps of a run in order; `after` is the number of the last one seen."""
    rows = tx.fetch_page("residents/steps/list_by_run", run=run, after=after, limit=limit)
    return [Step(number=row.number, turn=decode_turn(row.kind, row.body), at=row.created_at) for row in rows]


def decode_turn(kind: str, body: str) -> Turn:
    """Return the turn of a stored step; raise ValueError if the body is none, LookupError for an unknown kind."""
    return _DECODERS[kind](body)


def list_turns(tx: Reader, agent: int, *, after: int, before: int) -> tuple[Turn, ...]:
    """Return the turns of the cycles in a mind between two runs, oldest first."""
    rows = tx.fetch_all("residents/steps/list_by_mind", agent=agent, after=after, before=before)
    return tuple(decode_turn(row.kind, row.body) for row in rows)


def read_mind(tx: Reader, agent: int) -> MindSummaries:
    """Return the current mind of an agent."""
    return _MIND.fetch_one(tx, "residents/minds/read", agent=agent) or MindSummaries()


def read_mind_of_run(tx: Reader, number: int | None) -> MindSummaries:
    """Return the mind with which a run began."""
    mind = _MIND.fetch_one(tx, "residents/minds/read_of_run", number=number) if number is not None else None
    return mind or MindSummaries()


def insert_mind(tx: Transaction, agent: int, mind: MindSummaries) -> None:
    tx.execute(
        "residents/minds/insert",
        **get_columns(mind, "run dropped_count"),
        agent=agent,
        summaries=msgspec.json.encode(mind.summaries).decode(),
        now=tx.now,
    )
