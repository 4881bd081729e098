"""Runs at rest."""

from typing import Any, Final

from gatepost.core.mind import CycleWeight
from gatepost.core.run import Run, RunLimit, RunStatus
from gatepost.core.times import Instant
from gatepost.ports import Reader, Row, Transaction
from gatepost.tables.rows import Mapper

_RUN: Final = Mapper(Run, apart="mind_number limit")


def begin(tx: Transaction, entity: int, *, tokens: int, agent: str, **fields: Any) -> Run:
    """Begin a run, whose first step weighs so much, with what its agent carries by now."""
    row = tx.fetch_one("runs/insert", agent=entity, tokens=tokens, now=tx.now, **fields)
    assert row is not None
    return Run(
        number=row.number, mind_number=row.mind, agent=agent, status=RunStatus.RUNNING, started_at=tx.now, **fields
    )


def open_of(tx: Reader, agent: int) -> Run | None:
    """The run that an agent has not ended."""
    row = tx.fetch_one("runs/open", agent=agent)
    return read(tx, row.id) if row else None


def read(tx: Reader, id: str) -> Run | None:
    row = tx.fetch_one("runs/read", id=id)
    return _run(row) if row else None


def page(
    tx: Reader, *, agent: int | None, status: RunStatus | None, before: int | None = None, limit: int = 100
) -> list[Run]:
    """Runs, the newest first; `before` is the number of the last one seen."""
    return [_run(row) for row in tx.fetch_page("runs/list", agent=agent, status=status, before=before, limit=limit)]


def count(
    tx: Transaction,
    run: int,
    *,
    tokens: int,
    steps: int = 0,
    effects: int = 0,
    events: int = 0,
    prompt_tokens: int = 0,
    completion_tokens: int = 0,
    hops: int = 0,
    model: str = "",
) -> bool:
    """Add to what a run has come to; say whether it is still running."""
    return (
        tx.execute(
            "runs/count",
            number=run,
            tokens=tokens,
            steps=steps,
            effects=effects,
            events=events,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            hops=hops,
            model=model,
        )
        == 1
    )


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
    End a run; return what it weighs, or None if it was not running. One that would be completed while somebody
    outside has yet to answer a call of its waits for that.
    """
    row = tx.fetch_one(
        "runs/end", number=run, status=status, summary=summary, error=error, limit_reached=limit, now=tx.now
    )
    return int(row.tokens) if row else None


def refused(tx: Transaction, run: int) -> int:
    """Count that the model would not go on with a run; return how often it would not."""
    row = tx.fetch_one("runs/refused", number=run)
    assert row is not None
    return int(row.refusals)


def answered(tx: Transaction, run: int) -> bool:
    """Let a run be completed that waited for its last call."""
    return tx.execute("runs/answered", number=run) == 1


def last_limits(tx: Reader, agent: int, *, before: int, limit: int) -> list[RunLimit | None]:
    """Return the limits at which the cycles before a run ended, newest first, without those that a budget ended."""
    rows = tx.fetch_all("runs/last_limits", agent=agent, before=before, limit=limit)
    return [RunLimit(row.limit_reached) if row.limit_reached is not None else None for row in rows]


def last_before(tx: Reader, agent: int, since: Instant) -> tuple[int, Instant | None] | None:
    """Return the number of the last run that an agent started before an instant, and when it ended."""
    row = tx.fetch_one("runs/last_before", agent=agent, since=since)
    return (row.number, row.ended_at) if row else None


def spending(tx: Reader, agent: int, *, after: int) -> tuple[int, int]:
    """Return the tokens that the runs of an agent after a run have used, and the cycles."""
    row = tx.fetch_one("runs/spending", agent=agent, after=after)
    assert row is not None
    return row.tokens, row.cycles


def weights(tx: Reader, agent: int, after: int) -> list[CycleWeight]:
    """The cycles in a mind after a run, oldest first."""
    return [
        CycleWeight(row.number, row.tokens, row.summary)
        for row in tx.fetch_all("runs/weights", agent=agent, after=after)
    ]


def abandoned(tx: Reader, after: int, limit: int) -> list[tuple[int, str]]:
    """Agents whose run is open while nobody is at work on it: number and name."""
    return [(row.number, row.name) for row in tx.fetch_all("runs/abandoned", after=after, now=tx.now, limit=limit)]


def of_retired(tx: Reader, limit: int) -> list[str]:
    """Runs that are open though their agent has retired."""
    return [row.id for row in tx.fetch_all("runs/of_retired", limit=limit)]


def _run(row: Row) -> Run:
    limit = RunLimit(row.limit_reached) if row.limit_reached is not None else None
    return _RUN.read(row, mind_number=row.mind, limit=limit)
