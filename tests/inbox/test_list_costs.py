"""What a list of one inbox reads does not grow with what other inboxes have."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.stores.statements import PARAMETER, get_statement
from gatepost.testing import Kit

ARGUMENTS = {"after": 0, "before": 2**60, "limit": 100, "now": 0, "newest_first": 0, "class_priority": 2}


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    with Kit(f"sqlite:///{tmp_path}/gatepost.db") as kit:
        for name in ("ana", "ben"):
            kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
        yield kit


@pytest.mark.parametrize("noun", ["list_past", "list_pending", "list_inbox_broadcasts", "list_all_broadcasts"])
def test_a_list_of_an_inbox_reads_no_events_of_others(kit: Kit, tmp_path: Path, noun: str) -> None:
    name = f"inbox/item_lists/{noun}"
    steps_before = count_steps(tmp_path, name)
    kit.store.run_sync(push.push_all, [Push(to="ben", source="test", content="Hello") for _ in range(1_000)])

    assert count_steps(tmp_path, name) <= steps_before + 100


def count_steps(folder: Path, name: str) -> int:
    """Return about how many steps SQLite needs for a statement about the inbox of ana."""
    statement, steps = get_statement("sqlite", name), count()
    with closing(sqlite3.connect(folder / "gatepost.db")) as db:
        [[number]] = db.execute("SELECT number FROM entities WHERE name = 'ana'")
        names = set(re.findall(PARAMETER, statement))
        arguments = dict.fromkeys(names) | {key: ARGUMENTS[key] for key in names & set(ARGUMENTS)}
        db.set_progress_handler(lambda: next(steps) < 0, 1)
        db.execute(re.sub(r"\s+", " ", statement), arguments | {"recipient": number}).fetchall()
    return next(steps)
