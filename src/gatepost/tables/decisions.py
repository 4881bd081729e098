"""Decisions, who was asked, and what was answered."""

import json
from collections.abc import Sequence
from typing import Final

from gatepost.core.decision import Answer, Decision, Option
from gatepost.core.event import Ref
from gatepost.core.times import Instant
from gatepost.ports import Reader, Row, Transaction
from gatepost.tables.rows import Mapper, get_columns, group_rows

_DECISION: Final = Mapper(Decision, apart="options default ref respondents answers")
_ANSWER: Final = Mapper(Answer, apart="text by at")


def insert(tx: Transaction, decision: Decision, *, gate: int, asker: int) -> int:
    row = tx.fetch_one(
        "decisions/insert",
        **get_columns(decision, "id question free_text context context_hash session iteration guidance"),
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
    return int(row.number)


def ask(tx: Transaction, decision: int, entity: int) -> None:
    """Let somebody answer."""
    tx.execute("asked/insert", decision=decision, entity=entity)


def revise(tx: Transaction, decision: Decision) -> None:
    """Write the question of the next round over that of the last."""
    tx.execute(
        "decisions/revise",
        **get_columns(decision, "number question free_text context context_hash iteration guidance"),
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
    return [row.id for row in tx.fetch_all("decisions/left_behind", entity=entity)]


def _written(options: Sequence[Option]) -> str:
    return json.dumps([[each.id, each.label, each.description] for each in options], ensure_ascii=False)


def _decisions(tx: Reader, rows: Sequence[Row]) -> list[Decision]:
    numbers = [row.number for row in rows]
    if not numbers:
        return []
    asked = group_rows(tx.fetch_all("asked/of_decisions", decisions=numbers))
    answer_rows = tx.fetch_all("answers/of_decisions", decisions=numbers)
    answers = group_rows((row.decision, _answer(row)) for row in answer_rows)
    return [_decision(row, asked.get(row.number, ()), answers.get(row.number, ())) for row in rows]


def _answer(row: Row) -> Answer:
    return _ANSWER.read(row, text=row.words, by=row.answered_by, at=row.answered_at)


def _decision(row: Row, asked: tuple[str, ...], answers: tuple[Answer, ...]) -> Decision:
    return _DECISION.read(
        row,
        options=tuple(Option(id=id, label=label, description=words) for id, label, words in json.loads(row.options)),
        default=row.default_option,
        ref=Ref(row.ref_type, row.ref_id) if row.ref_type is not None else None,
        respondents=asked,
        answers=answers,
    )
