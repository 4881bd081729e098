"""
Both stores against the model, step by step: whatever the order of pushes, broadcasts, claims, acks, releases, lapses,
expiries, retirements, replays and reapings, every inbox holds exactly what it should, and the accounts agree.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from gatepost.testing import Kit
from tests.property.machine import InboxMachine
from tests.sweeping import sweep

NIGHTLY = bool(os.environ.get("GATEPOST_NIGHTLY"))


def run(fresh: Callable[[], str], examples: int) -> None:
    run_state_machine_as_test(
        lambda: InboxMachine(fresh()),  # type: ignore[arg-type]
        settings=settings(
            max_examples=examples * (30 if NIGHTLY else 1),
            stateful_step_count=50,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_inboxes_on_sqlite(tmp_path: Path) -> None:
    """Each example has a file of its own, copied from one that is migrated."""
    with Kit(f"sqlite:///{tmp_path}/template.db") as kit:
        kit.store.close()

    def fresh() -> str:
        shutil.copy(tmp_path / "template.db", tmp_path / "gatepost.db")
        for left in ("gatepost.db-wal", "gatepost.db-shm"):
            (tmp_path / left).unlink(missing_ok=True)
        return f"sqlite:///{tmp_path}/gatepost.db"

    run(fresh, 65)


def test_inboxes_on_postgres(swept_url: str) -> None:
    """All examples share a database, which is emptied for each; what they commit need not outlive a crash."""

    def fresh() -> str:
        sweep(swept_url)
        return f"{swept_url}?options=-csynchronous_commit%3Doff"

    run(fresh, 13)
