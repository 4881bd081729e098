"""Any number of processes may migrate at once, and any of them may be killed: the schema is the old or the new one."""

import signal
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any, cast

import psycopg

from gatepost.actions import directory
from gatepost.adapters.stores.threaded import ThreadedStore
from gatepost.app import open_store, parse_sqlite_path
from gatepost.errors import Unavailable
from gatepost.tables import statements
from tests.faults.audit import audit
from tests.faults.clerk import Clerk, wish
from tests.faults.conftest import NIGHTLY
from tests.faults.hands import Hand, hands
from tests.faults.office import CREW, furnish, lone_witness
from tests.faults.statements import told


def test_a_process_is_killed_at_every_statement_of_the_first_migration(store_url: str, tmp_path: Path) -> None:
    """Whatever it had done, nothing of it is there; the next one does it all."""
    with Hand(store_url, tmp_path) as hand:
        for nth in count(1):
            hand.start(life="migrating", kind="migrate", nth=nth)
            if hand.outcome() != -signal.SIGKILL:
                break
            assert tables(store_url) == set(), nth
    assert nth > 5
    assert version(store_url) == newest(store_url)
    furnish(store_url)


def test_a_process_is_killed_at_every_statement_of_a_later_migration(office: str, tmp_path: Path) -> None:
    """The old version stays, with what is in it, and can be used as before."""
    before, had = tables(office), newest(office)
    with Hand(office, tmp_path) as hand:
        for nth in count(1):
            with closing(cast(ThreadedStore, open_store(office))) as store:
                Clerk(store, tmp_path, f"life-{nth}").push(wish(f"kept-{nth}", "team:crew"))
            hand.start(life="migrating", kind="migrate", extra=True, nth=nth)
            if hand.outcome() != -signal.SIGKILL:
                break
            assert (tables(office), version(office)) == (before, had), nth
    assert nth > 5
    assert (tables(office) - before, version(office)) == ({"later", "leases_later"}, had + 1)
    audit(office, tmp_path)


def test_processes_that_migrate_at_once(store_url: str, tmp_path: Path) -> None:
    with hands(4, store_url, tmp_path) as four:
        for turn in range(5 if NIGHTLY else 2):
            clear(store_url)
            for number, hand in enumerate(four):
                hand.start(life=f"life-{turn}-{number}", kind="migrate")
            for hand in four:
                hand.heard("visited")
                hand.finished()
            assert version(store_url) == newest(store_url)
    furnish(store_url)


def test_another_migrates_between_any_two_statements_of_ours(store_url: str) -> None:
    """Or tries to: where we have the lock it has to wait, and here it does not."""
    hasty = f"{store_url}?options=-c%20lock_timeout%3D5ms" if store_url.startswith("postgres") else store_url
    options: dict[str, Any] = {"busy": 0.0} if store_url.startswith("sqlite") else {}
    migrated: list[int] = []
    left = 0

    def visit(statement: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            with suppress(Unavailable), closing(open_store(hasty, **options)) as other:
                other.migrate()
                migrated.append(nth)

    for nth in count(1):
        clear(store_url)
        left = nth
        with closing(open_store(store_url)) as store, told(visit):
            had, has = store.migrate()
        assert has == newest(store_url), nth
        assert had in (0, has)
        if left > 0:
            break
    assert nth > 5
    assert len(migrated) > 2
    furnish(store_url)
    with closing(open_store(store_url)) as store:
        assert store.query(directory.find, CREW[0]).is_live


def newest(url: str) -> int:
    return statements.newest("sqlite" if url.startswith("sqlite") else "postgres")


def version(url: str) -> int:
    with lone_witness(url) as ask:
        [[found]] = ask("SELECT version FROM schema_version")
    return int(found)


def tables(url: str) -> set[str]:
    with lone_witness(url) as ask:
        if url.startswith("sqlite"):
            return {name for [name] in ask("SELECT name FROM sqlite_schema")}
        return {
            name for [name] in ask("SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace")
        }


def clear(url: str) -> None:
    """Make the store as empty as it was."""
    if url.startswith("sqlite"):
        for ending in ("", "-wal", "-shm"):
            Path(f"{parse_sqlite_path(url)}{ending}").unlink(missing_ok=True)
    else:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
