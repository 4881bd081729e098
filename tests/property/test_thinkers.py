"""Residents and the processes that think for them, on both stores, against the model."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from gatepost.testing import Kit
from tests.property.thinkers import ThinkingMachine
from tests.sweeping import sweep

NIGHTLY = bool(os.environ.get("GATEPOST_NIGHTLY"))


def run(fresh: Callable[[], str], examples: int) -> None:
    run_state_machine_as_test(
        lambda: ThinkingMachine(fresh()),  # type: ignore[arg-type]
        settings=settings(
            max_examples=examples * (20 if NIGHTLY else 1),
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_thinkers_on_sqlite(tmp_path: Path) -> None:
    with Kit(f"sqlite:///{tmp_path}/template.db") as kit:
        kit.store.close()

    def fresh() -> str:
        shutil.copy(tmp_path / "template.db", tmp_path / "gatepost.db")
        for left in ("gatepost.db-wal", "gatepost.db-shm"):
            (tmp_path / left).unlink(missing_ok=True)
        return f"sqlite:///{tmp_path}/gatepost.db"

    run(fresh, 25)


def test_thinkers_on_postgres(swept_url: str) -> None:
    def fresh() -> str:
        sweep(swept_url)
        return f"{swept_url}?options=-csynchronous_commit%3Doff"

    run(fresh, 5)
