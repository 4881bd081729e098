"""What is left of old cycles, at rest."""

import msgspec

from gatepost.core.mind import MindSummaries
from gatepost.ports import Reader, Row, Transaction


def read(tx: Reader, agent: int) -> MindSummaries:
    """What an agent carries now."""
    return _carried(tx.fetch_one("minds/read", agent=agent))


def of_run(tx: Reader, number: int | None) -> MindSummaries:
    """What was carried when a run began."""
    return _carried(tx.fetch_one("minds/of_run", number=number)) if number is not None else MindSummaries()


def insert(tx: Transaction, agent: int, carried: MindSummaries) -> None:
    tx.execute(
        "minds/insert",
        agent=agent,
        run=carried.run,
        summaries=msgspec.json.encode(carried.summaries).decode(),
        dropped=carried.dropped_count,
        now=tx.now,
    )


def _carried(row: Row | None) -> MindSummaries:
    if row is None:
        return MindSummaries()
    return MindSummaries(run=row.run, summaries=tuple(msgspec.json.decode(row.summaries)), dropped_count=row.dropped)
