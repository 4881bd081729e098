"""Decisions, their respondents and their answers."""

import json
from collections.abc import Sequence
from typing import Any, Final

from gatepost.core.ports import Reader, Row
from gatepost.gates.decision import Answer, Decision, Option
from gatepost.gates.proposed_action import Action, Arguments
from gatepost.inbox.event import Ref
from gatepost.stores.row_mapping import Mapper, get_columns, group_rows, load_json

_DECISION: Final = Mapper(Decision, without="action options default ref respondents answers")
_ANSWER: Final = Mapper(Answer, args=load_json)
#: after every number
END: Final = 2**62


def read(tx: Reader, id: str) -> Decision | None:
    row = tx.fetch_one("gates/decisions/read", id=id)
    return build_decisions(tx, [row])[0] if row else None


def get_question_columns(decision: Decision) -> dict[str, Any]:
    """Return the columns that each round sets anew."""
    options = [[option.id, option.label, option.description] for option in decision.options]
    return {
        **get_columns(decision, "question free_text context iteration guidance"),
        "action": decision.action.name if decision.action else None,
        "args": encode_args(decision.action.args) if decision.action else None,
        "options": json.dumps(options, ensure_ascii=False),
        "urgency": decision.urgency.value,
        "default_option": decision.default,
        "ref_type": decision.ref.type if decision.ref else None,
        "ref_id": decision.ref.id if decision.ref else None,
    }


def encode_args(args: Arguments | None) -> str | None:
    return json.dumps(args, ensure_ascii=False) if args is not None else None


def build_decisions(tx: Reader, rows: Sequence[Row]) -> list[Decision]:
    numbers = [row.number for row in rows]
    if not numbers:
        return []
    respondents = group_rows(tx.fetch_all("gates/respondents/list_by_decisions", decisions=numbers))
    answer_rows = tx.fetch_all("gates/answers/list_by_decisions", decisions=numbers)
    answers = group_rows((row.decision, _ANSWER.read(row)) for row in answer_rows)
    return [
        _DECISION.read(
            row,
            action=Action(name=row.action, args=json.loads(row.args)) if row.action is not None else None,
            options=tuple(
                Option(id=id, label=label, description=description)
                for id, label, description in json.loads(row.options)
            ),
            default=row.default_option,
            ref=Ref(row.ref_type, row.ref_id) if row.ref_type is not None else None,
            respondents=respondents.get(row.number, ()),
            answers=answers.get(row.number, ()),
        )
        for row in rows
    ]
