"""What is left of old cycles, at rest."""

import msgspec

from gatepost.core.mind import Carried
from gatepost.ports.store import Reader, Row, Work


def read(reader: Reader, agent: int) -> Carried:
    """What an agent carries now."""
    return _carried(reader.one("minds/read", agent=agent))


def of_run(reader: Reader, number: int | None) -> Carried:
    """What was carried when a run began."""
    return _carried(reader.one("minds/of_run", number=number)) if number is not None else Carried()


def insert(work: Work, agent: int, carried: Carried) -> None:
    work.run(
        "minds/insert",
        agent=agent,
        run=carried.run,
        summaries=msgspec.json.encode(carried.summaries).decode(),
        dropped=carried.dropped,
        now=work.now,
    )


def _carried(row: Row | None) -> Carried:
    if row is None:
        return Carried()
    run, summaries, dropped = row
    return Carried(run, tuple(msgspec.json.decode(summaries)), dropped)
