"""The journal at rest. A step's body is JSON with the fields of its turn."""

from typing import Final

import msgspec

from gatepost.core.mind import CallResult, ModelReply, Prompt, Turn
from gatepost.core.run import Step
from gatepost.ports import Reader, Transaction

#: more steps than any run has
ALL: Final = 2**31 - 1
_KINDS: Final[dict[type[Turn], str]] = {Prompt: "prompt", ModelReply: "reply", CallResult: "result"}
_READ: Final = {kind: msgspec.json.Decoder(turn).decode for turn, kind in _KINDS.items()}
_written: Final = msgspec.json.Encoder().encode


def insert(tx: Transaction, run: int, number: int, turn: Turn, call: str | None = None) -> None:
    """Write a step; `call` is which call of the run a result answers, and no call has two."""
    body = _written(turn).decode()
    tx.execute("steps/insert", run=run, number=number, kind=_KINDS[type(turn)], call=call, body=body, now=tx.now)


def of_run(tx: Reader, run: int, *, after: int = 0, limit: int = ALL) -> list[Step]:
    """The steps of a run in order; `after` is the number of the last one seen."""
    rows = tx.fetch_page("steps/of_run", run=run, after=after, limit=limit)
    return [Step(number=row.number, turn=_READ[row.kind](row.body), at=row.created_at) for row in rows]


def of_mind(tx: Reader, agent: int, *, after: int, before: int) -> tuple[Turn, ...]:
    """The turns of the cycles in a mind between two runs, oldest first."""
    rows = tx.fetch_all("steps/of_mind", agent=agent, after=after, before=before)
    return tuple(_READ[row.kind](row.body) for row in rows)
