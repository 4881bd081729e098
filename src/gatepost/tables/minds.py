"""What is left of old cycles, at rest."""

import msgspec

from gatepost.core.mind import Carried
from gatepost.ports import Reader, Row, Transaction


def read(tx: Reader, agent: int) -> Carried:
    """What an agent carries now."""
    return _carried(tx.fetch_one("minds/read", agent=agent))


def of_run(tx: Reader, number: int | None) -> Carried:
    """What was carried when a run began."""
    return _carried(tx.fetch_one("minds/of_run", number=number)) if number is not None else Carried()


def insert(tx: Transaction, agent: int, carried: Carried) -> None:
    tx.execute(
        "minds/insert",
        agent=agent,
        run=carried.run,
        summaries=msgspec.json.encode(carried.summaries).decode(),
        dropped=carried.dropped,
        now=tx.now,
    )


def _carried(row: Row | None) -> Carried:
    if row is None:
        return Carried()
    run, summaries, dropped = row
    return Carried(run, tuple(msgspec.json.decode(summaries)), dropped)
