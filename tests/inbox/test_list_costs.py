"""
What a list of one inbox reads does not grow with what other inboxes have, and what a peek reads does not grow with what
its own has.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.stores.statements import PARAMETER, get_statement
from gatepost.testing import Kit

ARGUMENTS = {"after": 0, "before": 2**60, "limit": 100, "now": 0, "newest_first": 0, "class_priority": 2} | {
    "priority": -1,
    "arrival": 0,
    "session": "'x'",
    "seen_sources": "ARRAY['seen']",
    "max_steps": 3,
    "max_sources": 3,
    "per_source": 4,
    "since": 0,
    "until": 2**60,
}


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    with Kit(f"sqlite:///{tmp_path}/gatepost.db") as kit:
        register_agents(kit)
        yield kit


@pytest.fixture
def postgres_kit(postgres_url: str) -> Iterator[Kit]:
    with Kit(postgres_url) as kit:
        register_agents(kit)
        yield kit


def register_agents(kit: Kit) -> None:
    for name in ("ana", "ben"):
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))


def push_many(kit: Kit, to: str) -> None:
    kit.store.run_sync(push.push_all, [Push(to=to, source="test", content="Hello") for _ in range(1_000)])


@pytest.mark.parametrize(
    "name",
    [
        "inbox/item_lists/list_past",
        "inbox/item_lists/list_pending",
        "inbox/item_lists/list_inbox_broadcasts",
        "inbox/item_lists/list_all_broadcasts",
        "inbox/items/peek",
    ],
)
def test_a_list_of_an_inbox_reads_no_events_of_others(kit: Kit, tmp_path: Path, name: str) -> None:
    steps_before = count_steps(tmp_path, name)
    push_many(kit, "ben")

    assert count_steps(tmp_path, name) <= steps_before + 100


def test_a_peek_reads_no_more_of_a_deeper_inbox_on_sqlite(kit: Kit, tmp_path: Path) -> None:
    push_many(kit, "ana")
    steps_before = count_steps(tmp_path, "inbox/items/peek")
    push_many(kit, "ana")

    assert count_steps(tmp_path, "inbox/items/peek") <= steps_before + 100


@pytest.mark.parametrize("plan_mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize(
    "statement",
    ["find_longest_chains", "list_candidates", "list_classes", "list_last_prompts", "list_source_heads", "peek"],
)
def test_what_postgres_reads_of_a_deep_inbox_is_bounded(
    postgres_kit: Kit, postgres_url: str, statement: str, plan_mode: str
) -> None:
    """Also in classes that have no items, which an index of arrivals would show only at its end."""
    for _ in range(3):
        push_many(postgres_kit, "ana")
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("ANALYZE")
        db.execute(f"SET plan_cache_mode = {plan_mode}")
        rows_read = count_pending_rows(db, f"inbox/items/{statement}", limit=10)

    assert 0 < rows_read <= 50


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


def count_pending_rows(db: psycopg.Connection[Any], name: str, limit: int) -> int:
    """Return how many pending items PostgreSQL reads for a statement about the inbox of ana."""
    number = db.execute("SELECT number FROM entities WHERE name = 'ana'").fetchone()
    assert number is not None
    statement = get_statement("postgres", name)
    names = list(dict.fromkeys(re.findall(PARAMETER, statement)))
    values = ARGUMENTS | {"entities": f"ARRAY[{number[0]}]", "limit": limit, "type": None}
    values |= {"recipient": None, "name": "'ana'"} if "name" in names else {"recipient": number[0]}
    numbered = re.sub(PARAMETER, lambda match: f"${names.index(match[1]) + 1}", statement)
    arguments = ", ".join("NULL" if values[name] is None else str(values[name]) for name in names)
    db.execute(f"PREPARE counted AS {numbered}")
    row = db.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE counted ({arguments})").fetchone()
    assert row is not None
    return _sum_pending_rows(row[0][0]["Plan"])


def _sum_pending_rows(node: dict[str, Any]) -> int:
    own_rows = (
        node["Actual Rows"] + node.get("Rows Removed by Filter", 0) if node.get("Relation Name") == "pending" else 0
    )
    return int(own_rows * node["Actual Loops"]) + sum(_sum_pending_rows(child) for child in node.get("Plans", ()))
