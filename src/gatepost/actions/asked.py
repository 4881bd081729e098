"""
The question of a decision as an item of an inbox: it may be put away like any other, but not the last one of which
somebody waits for the answer, and for nothing else.
"""

from collections.abc import Sequence
from typing import Final

from gatepost.core import decision as rules
from gatepost.core.event import Item, State
from gatepost.errors import Conflict
from gatepost.ports import Transaction
from gatepost.tables import decisions, entities, gates, items

#: the states of what was not read, and is not to be
_PUT_AWAY: Final = (State.EXPIRED, State.DEAD, State.DISCARDED)


def keep(tx: Transaction, going: Sequence[Item]) -> None:
    """Refuse to discard a question without which whoever asked it would wait for ever, and not hear of it."""
    question = going[0].event
    id = rules.of_key(question.key or "")
    decision = decisions.read(tx, id) if id is not None else None
    if decision is None or decision.deadline is not None:
        return
    gates.lock(tx, decision.gate)  # so that two who discard it at once do not each leave it to the other
    decision = decisions.read(tx, decision.id)
    assert decision is not None
    if decision.last is not None or question.key != rules.key(decision, decision.iteration):
        return
    asked = {one.name for one in entities.by_names(tx, decision.asked).values() if one.live}
    gone = {item.recipient for item in going if item.state in (State.PENDING, State.DEAD)} & asked
    had = {item.recipient for _, item in items.of_event(tx, question.id) if item.state not in _PUT_AWAY}
    if gone and not (had & asked) - gone:
        raise Conflict(
            f"without {question.id!r} nobody would be asked any more for the decision {decision.id!r}",
            hint=f"answer it, or turn it down: gatepost decision answer {decision.id} --reject",
        )
