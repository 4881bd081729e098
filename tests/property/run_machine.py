"""
State machines on both stores: each example on an empty one, which costs little to have.

By day there are as many examples as take a second or two, other ones each day (`daily_seed.py`), and by night a
hundred times as many. An example that fails is shrunk by night only, which takes up to five minutes: by day it is
reported as it was found, with what repeats it.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from gatepost.testing import Kit
from tests.support.servers.database_reset import reset_database

NIGHTLY: Final = bool(os.environ.get("GATEPOST_NIGHTLY"))
_DAILY_PHASES: Final = (Phase.explicit, Phase.reuse, Phase.generate)


def scale_examples(count: int) -> int:
    """Return how many examples to try, if by day these are enough."""
    return count * (100 if NIGHTLY else 1)


def run_on_sqlite(machine: Callable[[str], RuleBasedStateMachine], folder: Path, *, examples: int, steps: int) -> None:
    """Each example has a file of its own, copied from one that is migrated."""
    with Kit(f"sqlite:///{folder}/template.db") as kit:
        kit.store.close()

    def create_url() -> str:
        shutil.copy(folder / "template.db", folder / "gatepost.db")
        for leftover in ("gatepost.db-wal", "gatepost.db-shm"):
            (folder / leftover).unlink(missing_ok=True)
        return f"sqlite:///{folder}/gatepost.db"

    run_machine(lambda: machine(create_url()), examples=examples, steps=steps)


def run_on_postgres(machine: Callable[[str], RuleBasedStateMachine], url: str, *, examples: int, steps: int) -> None:
    """All examples share a database, which is emptied for each; what they commit need not outlive a crash."""

    def create_url() -> str:
        reset_database(url)
        return f"{url}?options=-csynchronous_commit%3Doff"

    run_machine(lambda: machine(create_url()), examples=examples, steps=steps)


def run_machine(create_machine: Callable[[], RuleBasedStateMachine], *, examples: int, steps: int) -> None:
    run_state_machine_as_test(
        create_machine,  # type: ignore[arg-type]
        settings=settings(
            max_examples=scale_examples(examples),
            stateful_step_count=steps,
            phases=tuple(Phase) if NIGHTLY else _DAILY_PHASES,
            suppress_health_check=list(HealthCheck),
        ),
    )
