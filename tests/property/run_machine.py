"""State machines on both stores: each example on an empty one, which costs little to have."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from gatepost.testing import Kit
from tests.database_reset import reset_database

NIGHTLY = bool(os.environ.get("GATEPOST_NIGHTLY"))


def run_on_sqlite(machine: Callable[[str], RuleBasedStateMachine], folder: Path, *, examples: int, steps: int) -> None:
    """Each example has a file of its own, copied from one that is migrated."""
    with Kit(f"sqlite:///{folder}/template.db") as kit:
        kit.store.close()

    def create_url() -> str:
        shutil.copy(folder / "template.db", folder / "gatepost.db")
        for leftover in ("gatepost.db-wal", "gatepost.db-shm"):
            (folder / leftover).unlink(missing_ok=True)
        return f"sqlite:///{folder}/gatepost.db"

    _run(lambda: machine(create_url()), examples, steps)


def run_on_postgres(machine: Callable[[str], RuleBasedStateMachine], url: str, *, examples: int, steps: int) -> None:
    """All examples share a database, which is emptied for each; what they commit need not outlive a crash."""

    def create_url() -> str:
        reset_database(url)
        return f"{url}?options=-csynchronous_commit%3Doff"

    _run(lambda: machine(create_url()), examples, steps)


def _run(create_machine: Callable[[], RuleBasedStateMachine], examples: int, steps: int) -> None:
    run_state_machine_as_test(
        create_machine,  # type: ignore[arg-type]
        settings=settings(
            max_examples=examples * (30 if NIGHTLY else 1),
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
