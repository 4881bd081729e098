"""
Both stores against the model, step by step: whatever the order of pushes, broadcasts, claims, acks, releases, lapses,
expiries, retirements, replays and reapings, every inbox holds exactly what it should, and the accounts agree.
"""

from pathlib import Path

from tests.property.inbox_machine import InboxMachine
from tests.property.run_machine import run_on_postgres, run_on_sqlite


def test_inboxes_on_sqlite(tmp_path: Path) -> None:
    run_on_sqlite(InboxMachine, tmp_path, examples=25, steps=50)


def test_inboxes_on_postgres(empty_postgres_url: str) -> None:
    run_on_postgres(InboxMachine, empty_postgres_url, examples=4, steps=50)
