"""Residents and the processes that think for them, on both stores, against the model."""

from pathlib import Path

from tests.property.cycle_machine import CycleMachine
from tests.property.run_machine import run_on_postgres, run_on_sqlite


def test_thinkers_on_sqlite(tmp_path: Path) -> None:
    run_on_sqlite(CycleMachine, tmp_path, examples=10, steps=40)


def test_thinkers_on_postgres(empty_postgres_url: str) -> None:
    run_on_postgres(CycleMachine, empty_postgres_url, examples=3, steps=40)
