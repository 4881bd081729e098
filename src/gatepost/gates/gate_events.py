"""What happens to gates and decisions, for the rooms that react to it (`reactions.py`)."""

from collections.abc import Sequence
from typing import NamedTuple

from gatepost.directory.entity import Entity
from gatepost.gates.decision import Answer, Decision
from gatepost.gates.gate import Ending, Gate


class GateEnded(NamedTuple):
    gate: Gate
    ending: Ending
    #: who ended it; None if it ended by itself
    actor: Entity | None
    hops: int


class DecisionAsked(NamedTuple):
    decision: Decision
    respondents: Sequence[Entity]


class DecisionRevised(NamedTuple):
    """It is asked again, in another round."""

    decision: Decision


class DecisionEnded(NamedTuple):
    decision: Decision
    answer: Answer
