"""Reachability is never wrong, and every item is read, whatever happens to programs, waiters, gateways and clocks."""

from pathlib import Path

from tests.property.run_machine import run_on_sqlite
from tests.property.waking_machine import WakingMachine


def test_reachability_is_never_wrong(tmp_path: Path) -> None:
    run_on_sqlite(WakingMachine, tmp_path, examples=40, steps=40)
