"""
The question of a decision as an item of an inbox: it may be put away like any other, but not the last one of which
somebody waits for the answer, and for nothing else.
"""

from collections.abc import Sequence
from typing import Final

from gatepost.core import decision as rules
from gatepost.core.event import Item, ItemState
from gatepost.errors import Conflict
from gatepost.ports import Transaction
from gatepost.tables import decisions, entities, gates, items

#: the states of what was not read, and is not to be
_CLOSED_STATES: Final = (ItemState.EXPIRED, ItemState.DEAD, ItemState.DISCARDED)


def check_discard(tx: Transaction, items_to_discard: Sequence[Item]) -> None:
    """Refuse to discard a question without which whoever asked it would wait for ever, and not hear of it."""
    question = items_to_discard[0].event
    id = rules.parse_event_key(question.key or "")
    decision = decisions.read(tx, id) if id is not None else None
    if decision is None or decision.deadline is not None:
        return
    gates.lock(tx, decision.gate)  # so that two who discard it at once do not each leave it to the other
    decision = decisions.read(tx, decision.id)
    assert decision is not None
    if decision.last_answer is not None or question.key != rules.build_event_key(decision, decision.iteration):
        return
    respondents = {entity.name for entity in entities.by_names(tx, decision.respondents).values() if entity.is_live}
    losing_recipients = {
        item.recipient for item in items_to_discard if item.state in (ItemState.PENDING, ItemState.DEAD)
    } & respondents
    current_recipients = {
        item.recipient for _, item in items.of_event(tx, question.id) if item.state not in _CLOSED_STATES
    }
    if losing_recipients and not (current_recipients & respondents) - losing_recipients:
        raise Conflict(
            f"without {question.id!r} nobody would be asked any more for the decision {decision.id!r}",
            hint=f"answer it, or turn it down: gatepost decision answer {decision.id} --reject",
        )
