"""The table of reactions: each verb is there, and takes the event or the question that it reacts to."""

import inspect
from importlib import import_module
from typing import get_type_hints

import pytest

from gatepost.reactions import REACTIONS, RoomQuestion, find_reactions

#: the modules that declare events and questions
MODULES = [
    "gatepost.directory.entity",
    "gatepost.inbox.event",
    "gatepost.gates.gate",
    "gatepost.gates.decision",
    "gatepost.mail.ledger_delivery",
    "gatepost.channels.triggers.trigger",
]


@pytest.mark.parametrize("name", REACTIONS)
def test_a_reaction_takes_the_event_that_it_reacts_to(name: str) -> None:
    [event] = [vars(import_module(module))[name] for module in MODULES if hasattr(import_module(module), name)]
    for verb in find_reactions(name):
        _, parameter = inspect.signature(verb).parameters
        assert get_type_hints(verb)[parameter] is event
    if issubclass(event, RoomQuestion):
        assert len(find_reactions(name)) == 1


def test_every_event_and_question_is_in_the_table() -> None:
    declared = {
        name
        for module in MODULES
        for name, value in vars(import_module(module)).items()
        if isinstance(value, type) and value.__module__ == module and issubclass(value, tuple | RoomQuestion)
    }
    assert declared == set(REACTIONS)
