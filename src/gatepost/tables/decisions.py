"""Decisions, who was asked, and what was answered."""

import json
from collections.abc import Sequence
from typing import Final

from gatepost.core.decision import Answer, Decision, Option
from gatepost.core.event import Ref
from gatepost.core.times import Instant
from gatepost.ports import Reader, Row, Transaction
from gatepost.tables.rows import Columns, columns, grouped

_DECISION: Final = Columns(
    Decision,
    "number id gate asker question options free_text urgency default deadline context context_hash"
    " session iteration guidance created_at",
)
_ANSWER: Final = Columns(Answer, "iteration outcome option text by at")


def insert(tx: Transaction, decision: Decision, *, gate: int, asker: int) -> int:
    row = tx.fetch_one(
        "decisions/insert",
        **columns(decision, "id question free_text context context_hash session iteration guidance"),
        gate=gate,
        asker=asker,
        options=_written(decision.options),
        urgency=decision.urgency.value,
        default_option=decision.default,
        ref_type=decision.ref.type if decision.ref else None,
        ref_id=decision.ref.id if decision.ref else None,
        now=decision.created_at,
    )
    assert row is not None
    return int(row[0])


def ask(tx: Transaction, decision: int, entity: int) -> None:
    """Let somebody answer."""
    tx.execute("asked/insert", decision=decision, entity=entity)


def revise(tx: Transaction, decision: Decision) -> None:
    """Write the question of the next round over that of the last."""
    tx.execute(
        "decisions/revise",
        **columns(decision, "number question free_text context context_hash iteration guidance"),
        options=_written(decision.options),
        urgency=decision.urgency.value,
        default_option=decision.default,
        ref_type=decision.ref.type if decision.ref else None,
        ref_id=decision.ref.id if decision.ref else None,
    )


def answer(tx: Transaction, decision: int, given: Answer, by: int | None) -> bool:
    """Write down how a round ended; say whether that is how."""
    changed = tx.execute(
        "answers/insert",
        decision=decision,
        iteration=given.iteration,
        outcome=given.outcome,
        option=given.option,
        words=given.text,
        answered_by=by,
        now=given.at,
    )
    return changed == 1


def read(tx: Reader, id: str) -> Decision | None:
    row = tx.fetch_one("decisions/read", id=id)
    return _decisions(tx, [row])[0] if row else None


def of_gate(tx: Reader, gate: str) -> Decision | None:
    row = tx.fetch_one("decisions/of_gate", gate=gate)
    return _decisions(tx, [row])[0] if row else None


def page(
    tx: Reader,
    *,
    asker: int | None,
    asked: int | None,
    concerned: int | None,
    session: str | None,
    pending: bool | None,
    since: Instant | None,
    after: int,
    limit: int,
) -> list[Decision]:
    """Decisions in the order they were asked."""
    rows = tx.fetch_page(
        "decisions/list",
        asker=asker,
        responder=asked,
        participant=concerned,
        session=session,
        is_pending=pending,
        since=since,
        after=after,
        limit=limit,
    )
    return _decisions(tx, rows)


def left_behind(tx: Reader, entity: int) -> list[str]:
    return [row[0] for row in tx.fetch_all("decisions/left_behind", entity=entity)]


def _written(options: Sequence[Option]) -> str:
    return json.dumps([[each.id, each.label, each.description] for each in options], ensure_ascii=False)


def _decisions(tx: Reader, rows: Sequence[Row]) -> list[Decision]:
    numbers = [row[0] for row in rows]
    if not numbers:
        return []
    asked = grouped(tx.fetch_all("asked/of_decisions", decisions=numbers))
    given = tx.fetch_all("answers/of_decisions", decisions=numbers)
    answers = grouped((row[0], _ANSWER.read(row[1:])) for row in given)
    return [_decision(row, asked.get(row[0], ()), answers.get(row[0], ())) for row in rows]


def _decision(row: Row, asked: tuple[str, ...], answers: tuple[Answer, ...]) -> Decision:
    ref_type, ref_id = row[12:14]
    return _DECISION.read(
        (*row[:12], *row[14:]),
        options=tuple(Option(id=id, label=label, description=words) for id, label, words in json.loads(row[5])),
        ref=Ref(ref_type, ref_id) if ref_type is not None else None,
        respondents=asked,
        answers=answers,
    )
