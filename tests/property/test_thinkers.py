"""Residents and the processes that think for them, on both stores, against the model."""

from pathlib import Path

from tests.property.machines import run_on_postgres, run_on_sqlite
from tests.property.thinkers import ThinkingMachine


def test_thinkers_on_sqlite(tmp_path: Path) -> None:
    run_on_sqlite(ThinkingMachine, tmp_path, examples=25, steps=40)


def test_thinkers_on_postgres(swept_url: str) -> None:
    run_on_postgres(ThinkingMachine, swept_url, examples=5, steps=40)
