"""Decisions, who was asked, and what was answered."""

import json
from collections.abc import Sequence
from typing import Final

from gatepost.core.decision import Answer, Decision, Option
from gatepost.core.event import Priority, Ref
from gatepost.core.instants import Instant
from gatepost.ports.store import Reader, Row, Work
from gatepost.tables.rows import Columns, columns

_ANSWER: Final = Columns(Answer, "iteration outcome option text by at")


def insert(work: Work, decision: Decision, *, gate: int, asker: int) -> int:
    row = work.one(
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


def ask(work: Work, decision: int, entity: int) -> None:
    """Let somebody answer."""
    work.run("asked/insert", decision=decision, entity=entity)


def revise(work: Work, decision: Decision) -> None:
    """Write the question of the next round over that of the last."""
    work.run(
        "decisions/revise",
        **columns(decision, "number question free_text context context_hash iteration guidance"),
        options=_written(decision.options),
        urgency=decision.urgency.value,
        default_option=decision.default,
        ref_type=decision.ref.type if decision.ref else None,
        ref_id=decision.ref.id if decision.ref else None,
    )


def answer(work: Work, decision: int, given: Answer, by: int | None) -> bool:
    """Write down how a round ended; say whether that is how."""
    changed = work.run(
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


def read(reader: Reader, id: str) -> Decision | None:
    row = reader.one("decisions/read", id=id)
    return _decisions(reader, [row])[0] if row else None


def of_gate(reader: Reader, gate: str) -> Decision | None:
    row = reader.one("decisions/of_gate", gate=gate)
    return _decisions(reader, [row])[0] if row else None


def page(
    reader: Reader,
    *,
    asker: int | None,
    asked: int | None,
    concerned: int | None,
    session: str | None,
    pending: bool | None,
    since: Instant | None,
    after: int,
    most: int,
) -> list[Decision]:
    """Decisions in the order they were asked."""
    rows = reader.all(
        "decisions/list",
        asker=asker,
        asked=asked,
        concerned=concerned,
        session=session,
        pending=pending,
        since=since,
        after=after,
        most=most,
    )
    return _decisions(reader, rows)


def left_behind(reader: Reader, entity: int) -> list[str]:
    return [row[0] for row in reader.all("decisions/left_behind", entity=entity)]


def _written(options: Sequence[Option]) -> str:
    return json.dumps([[each.id, each.label, each.description] for each in options], ensure_ascii=False)


def _decisions(reader: Reader, rows: Sequence[Row]) -> list[Decision]:
    numbers = [row[0] for row in rows]
    asked: dict[int, tuple[str, ...]] = {}
    answers: dict[int, tuple[Answer, ...]] = {}
    if numbers:
        for decision, name in reader.all("asked/of_decisions", decisions=numbers):
            asked[decision] = (*asked.get(decision, ()), name)
        for row in reader.all("answers/of_decisions", decisions=numbers):
            answers[row[0]] = (*answers.get(row[0], ()), _ANSWER.read(row[1:]))
    return [_decision(row, asked.get(row[0], ()), answers.get(row[0], ())) for row in rows]


def _decision(row: Row, asked: tuple[str, ...], answers: tuple[Answer, ...]) -> Decision:
    number, id, gate, asker, question, options, free_text, urgency, default = row[:9]
    deadline, context, context_hash, ref_type, ref_id, session, iteration, guidance, created_at = row[9:]
    return Decision(
        id=id,
        gate=gate,
        asker=asker,
        asked=asked,
        question=question,
        options=tuple(Option(id=id, label=label, description=words) for id, label, words in json.loads(options)),
        free_text=bool(free_text),
        urgency=Priority(urgency),
        default=default,
        deadline=deadline,
        context=context,
        context_hash=context_hash,
        ref=Ref(ref_type, ref_id) if ref_type is not None else None,
        session=session,
        iteration=iteration,
        guidance=guidance,
        created_at=created_at,
        answers=answers,
        number=number,
    )
