"""Calls that somebody outside answers, at rest."""

import json
from typing import Final

from gatepost.core.event import Json
from gatepost.core.mind import ToolCall
from gatepost.core.run import CallStatus, OpenCall
from gatepost.core.times import Instant
from gatepost.ports import Reader, Row, Transaction
from gatepost.tables.rows import Mapper, get_columns

_CALL: Final = Mapper(OpenCall, apart="result")


def insert(tx: Transaction, run: int, call: ToolCall, expires_at: Instant) -> None:
    tx.execute("calls/insert", **get_columns(call, "id tool arguments"), run=run, now=tx.now, expires_at=expires_at)


def read(tx: Reader, id: str) -> tuple[OpenCall, int] | None:
    """A call, and the number of its run."""
    row = tx.fetch_one("calls/read", id=id)
    return (_call(row), row.run_number) if row else None


def of_run(tx: Reader, run: int) -> list[OpenCall]:
    return [_call(row) for row in tx.fetch_all("calls/of_run", run=run)]


def late(tx: Reader, limit: int) -> list[tuple[OpenCall, int]]:
    """Those that nobody has answered in time, and the numbers of their runs."""
    return [(_call(row), row.run_number) for row in tx.fetch_all("calls/late", now=tx.now, limit=limit)]


def end(tx: Transaction, id: str, status: CallStatus, result: Json) -> bool:
    """Answer a call, or let it run out of time; say whether it was pending."""
    return tx.execute("calls/end", id=id, status=status, result=json.dumps(result), now=tx.now) == 1


def _call(row: Row) -> OpenCall:
    return _CALL.read(row, result=json.loads(row.result) if row.result is not None else None)
