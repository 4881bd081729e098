"""The journal at rest. A step's body is JSON with the fields of its turn."""

import json
from collections.abc import Iterable
from typing import Final, assert_never

from gatepost.core.mind import Call, Prompt, Reply, Result, Turn, Usage
from gatepost.core.run import Step
from gatepost.ports.store import Reader, Row, Work

_encode: Final = json.JSONEncoder(default=lambda noun: {name: getattr(noun, name) for name in noun.__slots__}).encode


def insert(work: Work, run: int, number: int, turn: Turn, call: str | None = None) -> None:
    """Write a step; `call` is which call of the run a result answers, and no call has two."""
    match turn:
        case Prompt():
            kind = "prompt"
        case Reply():
            kind = "reply"
        case Result():
            kind = "result"
        case other:
            assert_never(other)
    work.run("steps/insert", run=run, number=number, kind=kind, call=call, body=_encode(turn), now=work.now)


def of_run(reader: Reader, run: int) -> list[Step]:
    return _steps(reader.all("steps/of_run", run=run))


def of_mind(reader: Reader, agent: int, *, after: int, before: int) -> list[Step]:
    """The steps of the cycles in a mind between two runs, oldest first."""
    return _steps(reader.all("steps/of_mind", agent=agent, after=after, before=before))


def _steps(rows: Iterable[Row]) -> list[Step]:
    return [Step(number=number, turn=_turn(kind, json.loads(body)), at=at) for number, kind, body, at in rows]


def _turn(kind: str, body: dict[str, object]) -> Turn:
    match kind:
        case "prompt":
            return Prompt(str(body["text"]), tuple(body["events"]))  # type: ignore[arg-type]
        case "reply":
            calls = tuple(Call(**call) for call in body["calls"])  # type: ignore[attr-defined]
            return Reply(**body | {"calls": calls, "usage": Usage(**body["usage"])})  # type: ignore[arg-type]
        case _:
            return Result(**body)  # type: ignore[arg-type]
