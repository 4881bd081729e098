"""Run a verb, and roll it back: it returns what would happen, and nothing is stored or signalled."""

from collections.abc import Mapping
from typing import Any, NoReturn, ParamSpec, TypeVar

from gatepost.core.ports import Store, Transaction, Verb

P = ParamSpec("P")
T = TypeVar("T")


class _RolledBack(Exception):
    """Raised to roll back a verb that has returned."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome


def _roll_back(tx: Transaction, verb: Verb[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> NoReturn:
    raise _RolledBack(verb(tx, *args, **kwargs))


async def dry_run(store: Store, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a verb returns, or raise its error."""
    try:
        await store.run(_roll_back, verb, args, kwargs)
    except _RolledBack as end:
        outcome: T = end.outcome
        return outcome
    raise AssertionError("a verb is rolled back by an exception")


def dry_run_sync(store: Store, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a verb returns, or raise its error."""
    try:
        store.run_sync(_roll_back, verb, args, kwargs)
    except _RolledBack as end:
        outcome: T = end.outcome
        return outcome
