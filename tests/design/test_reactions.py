"""The table of reactions: what the code reports or asks is there, and each verb takes the event that it reacts to."""

import ast
import inspect
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import pytest

import gatepost
from gatepost.reactions import REACTIONS, RoomQuestion, find_reactions

SOURCE = Path(gatepost.__file__).parent


@cache
def find_reported() -> dict[str, type]:
    """Return the classes that the code gives to `tx.react` and `tx.ask`, by their names."""
    classes = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(attr="react" | "ask"), args=[ast.Call(func=made)]):
                    module = import_module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts))
                    reported = eval(ast.unparse(made), vars(module))  # noqa: S307 (`Retired`, `rules.DecisionAsked`)
                    classes[reported.__name__] = reported
                case _:
                    pass
    return classes


@pytest.mark.parametrize("name", REACTIONS)
def test_a_reaction_takes_the_event_that_it_reacts_to(name: str) -> None:
    event = find_reported()[name]
    for verb in find_reactions(name):
        _, parameter = inspect.signature(verb).parameters
        assert get_type_hints(verb)[parameter] is event
    if issubclass(event, RoomQuestion):
        assert len(find_reactions(name)) == 1


def test_whatever_is_reported_or_asked_is_in_the_table_and_nothing_else() -> None:
    assert set(find_reported()) == set(REACTIONS)
