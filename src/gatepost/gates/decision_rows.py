"""Decisions, their respondents and their answers."""

import json
from collections.abc import Sequence
from typing import Any, Final

from gatepost.core.ports import Reader, Row, Transaction
from gatepost.core.times import Instant
from gatepost.gates.decision import Answer, Decision, Option
from gatepost.gates.proposed_action import Action, Arguments
from gatepost.inbox.event import Ref
from gatepost.stores.row_mapping import Mapper, fetch_number, get_columns, group_rows, load_json

_DECISION: Final = Mapper(Decision, without="action options default ref respondents answers")
_ANSWER: Final = Mapper(Answer, args=load_json)
#: after every number
_END: Final = 2**62


def insert(tx: Transaction, decision: Decision, *, gate: int, asker: int) -> int:
    return fetch_number(
        tx,
        "gates/decisions/insert",
        **get_columns(decision, "id context_hash session"),
        **_get_question_columns(decision),
        gate=gate,
        asker=asker,
        now=decision.created_at,
    )


def insert_respondent(tx: Transaction, decision: int, entity: int) -> None:
    """Allow an entity to answer."""
    tx.execute("gates/respondents/insert", decision=decision, entity=entity)


def revise(tx: Transaction, decision: Decision) -> None:
    """Replace the question of the last round by that of the next."""
    tx.execute(
        "gates/decisions/revise",
        number=decision.number,
        context_hash=decision.context_hash,
        **_get_question_columns(decision),
    )


def insert_answer(tx: Transaction, decision: int, answer: Answer, by: int | None) -> bool:
    """Save how a round ended; return False if it has ended already."""
    row_count = tx.execute(
        "gates/answers/insert",
        **get_columns(answer, "iteration outcome option text"),
        args=_encode_args(answer.args),
        decision=decision,
        answered_by=by,
        now=answer.at,
    )
    return row_count == 1


def read(tx: Reader, id: str) -> Decision | None:
    row = tx.fetch_one("gates/decisions/read", id=id)
    return build_decisions(tx, [row])[0] if row else None


def read_by_gate(tx: Reader, gate: str) -> Decision | None:
    row = tx.fetch_one("gates/decisions/read_by_gate", gate=gate)
    return build_decisions(tx, [row])[0] if row else None


def list_page(
    tx: Reader,
    *,
    asker: int | None,
    respondent: int | None,
    participant: int | None,
    session: str | None,
    is_pending: bool | None,
    since: Instant | None,
    newest_first: bool,
    after: int,
    limit: int,
) -> list[Decision]:
    """Return decisions in the order of creation, or backwards; `after` is the last one seen, 0 at the beginning."""
    filters = {
        "asker": asker,
        "respondent": respondent,
        "participant": participant,
        "session": session,
        "is_pending": is_pending,
        "since": since,
        "limit": limit,
    }
    if newest_first:
        return build_decisions(tx, tx.fetch_page("gates/decisions/list_newest", before=after or _END, **filters))
    return build_decisions(tx, tx.fetch_page("gates/decisions/list_page", after=after, **filters))


def list_orphaned(tx: Reader, entity: int) -> list[str]:
    return [row.id for row in tx.fetch_all("gates/decisions/list_orphaned", entity=entity)]


def _get_question_columns(decision: Decision) -> dict[str, Any]:
    """Return the columns that each round sets anew."""
    options = [[option.id, option.label, option.description] for option in decision.options]
    return {
        **get_columns(decision, "question free_text context iteration guidance"),
        "action": decision.action.name if decision.action else None,
        "args": _encode_args(decision.action.args) if decision.action else None,
        "options": json.dumps(options, ensure_ascii=False),
        "urgency": decision.urgency.value,
        "default_option": decision.default,
        "ref_type": decision.ref.type if decision.ref else None,
        "ref_id": decision.ref.id if decision.ref else None,
    }


def _encode_args(args: Arguments | None) -> str | None:
    return json.dumps(args, ensure_ascii=False) if args is not None else None


def build_decisions(tx: Reader, rows: Sequence[Row]) -> list[Decision]:
    numbers = [row.number for row in rows]
    if not numbers:
        return []
    respondents = group_rows(tx.fetch_all("gates/respondents/list_by_decisions", decisions=numbers))
    answer_rows = tx.fetch_all("gates/answers/list_by_decisions", decisions=numbers)
    answers = group_rows((row.decision, _ANSWER.read(row)) for row in answer_rows)
    return [_build_decision(row, respondents.get(row.number, ()), answers.get(row.number, ())) for row in rows]


def _build_decision(row: Row, respondents: tuple[str, ...], answers: tuple[Answer, ...]) -> Decision:
    return _DECISION.read(
        row,
        action=Action(name=row.action, args=json.loads(row.args)) if row.action is not None else None,
        options=tuple(
            Option(id=id, label=label, description=description) for id, label, description in json.loads(row.options)
        ),
        default=row.default_option,
        ref=Ref(row.ref_type, row.ref_id) if row.ref_type is not None else None,
        respondents=respondents,
        answers=answers,
    )
