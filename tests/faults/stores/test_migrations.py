"""Any number of processes may migrate at once, and any of them may be killed: the schema is the old or the new one."""

import signal
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any, Final, cast

import psycopg
import pytest

from gatepost.app import open_store, parse_sqlite_path
from gatepost.directory import entity_actions as directory
from gatepost.errors import Unavailable
from gatepost.stores import statements
from gatepost.stores.threaded_store import ThreadedStore
from tests.faults.conftest import NIGHTLY
from tests.faults.crew_store import CREW, create_crew, open_database_alone
from tests.faults.grids import select_points
from tests.faults.stores.audit import audit
from tests.faults.stores.journaled_client import JournaledClient, build_push
from tests.faults.stores.statements import observe_statements
from tests.faults.stores.worker_process import WorkerProcess, start_workers

pytestmark = pytest.mark.usefixtures("real_migrations")

#: how many statements the first migration has at least
STATEMENT_COUNTS: Final = {"sqlite": 200, "postgres": 30}


def test_a_process_is_killed_at_every_statement_of_the_first_migration(store_url: str, tmp_path: Path) -> None:
    """Whatever it had done, nothing of it is there; the next one does it all."""
    with WorkerProcess(store_url, tmp_path) as worker:
        statement_count = migrate(worker)
        delete_store(store_url)
        for nth in select_points(range(1, statement_count + 1), at_least=STATEMENT_COUNTS[get_dialect(store_url)]):
            worker.start(life="migrating", kind="migrate", nth=nth)
            worker.wait_until_killed()
            assert list_tables(store_url) == set(), nth
        migrate(worker)
    assert read_version(store_url) == find_newest_version(store_url)
    create_crew(store_url)


def test_a_process_is_killed_at_every_statement_of_a_later_migration(crew_url: str, tmp_path: Path) -> None:
    """The old version stays, with what is in it, and can be used as before."""
    old_tables, old_version = list_tables(crew_url), find_newest_version(crew_url)
    with WorkerProcess(crew_url, tmp_path) as worker:
        for nth in count(1):
            with closing(cast(ThreadedStore, open_store(crew_url))) as store:
                JournaledClient(store, tmp_path, f"life-{nth}").push(build_push(f"kept-{nth}", "team:crew"))
            worker.start(life="migrating", kind="migrate", extra=True, nth=nth)
            if worker.wait_for_exit() != -signal.SIGKILL:
                break
            assert (list_tables(crew_url), read_version(crew_url)) == (old_tables, old_version), nth
    assert nth > 5
    assert (list_tables(crew_url) - old_tables, read_version(crew_url)) == ({"later", "leases_later"}, old_version + 1)
    audit(crew_url, tmp_path)


def test_processes_that_migrate_at_once(store_url: str, tmp_path: Path) -> None:
    with start_workers(4, store_url, tmp_path) as workers:
        for turn in range(5 if NIGHTLY else 2):
            delete_store(store_url)
            for number, worker in enumerate(workers):
                worker.start(life=f"life-{turn}-{number}", kind="migrate")
            for worker in workers:
                worker.wait_for_message("visited")
                worker.wait_until_finished()
            assert read_version(store_url) == find_newest_version(store_url)
    create_crew(store_url)


def test_another_migrates_between_any_two_statements_of_ours(store_url: str) -> None:
    """Or tries to: where we have the lock it has to wait, and here it does not."""
    dialect = get_dialect(store_url)
    impatient_url = f"{store_url}?options=-c%20lock_timeout%3D5ms" if dialect == "postgres" else store_url
    options: dict[str, Any] = {"busy_timeout": 0.0} if dialect == "sqlite" else {}
    migrated_at: list[int] = []
    remaining = nth = 0

    def on_statement(statement: str) -> None:
        nonlocal remaining
        remaining -= 1
        if remaining == 0:
            with suppress(Unavailable), closing(open_store(impatient_url, **options)) as other_store:
                other_store.migrate()
                migrated_at.append(nth)

    def migrate_disturbed(statement: int) -> int:
        """Have another migrate before that statement of ours; return how many statements were left then."""
        nonlocal remaining, nth
        delete_store(store_url)
        remaining = nth = statement
        with closing(open_store(store_url)) as store, observe_statements(on_statement):
            old_version, new_version = store.migrate()
        assert new_version == find_newest_version(store_url), nth
        assert old_version in (0, new_version)
        return -remaining

    statement_count = migrate_disturbed(0)
    first_statements = range(1, 12 if dialect == "sqlite" else 5)  # up to the lock, and the first that it covers
    points = select_points(
        range(1, statement_count + 1), at_least=STATEMENT_COUNTS[dialect], by_day=[*first_statements]
    )
    for statement in points:
        assert migrate_disturbed(statement) >= 0, "it came to that statement"
    assert len(migrated_at) > 2
    assert statement_count not in migrated_at, "where we have the lock"
    create_crew(store_url)
    with closing(open_store(store_url)) as store:
        assert store.read_sync(directory.find, CREW[0]).is_live


def get_dialect(url: str) -> str:
    return "sqlite" if url.startswith("sqlite") else "postgres"


def migrate(worker: WorkerProcess) -> int:
    """Migrate to the end; return how many statements that took."""
    worker.start(life="migrating", kind="migrate")
    statement_count: int = worker.wait_for_message("visited")
    worker.wait_until_finished()
    return statement_count


def find_newest_version(url: str) -> int:
    return statements.find_newest_version(get_dialect(url))


def read_version(url: str) -> int:
    with open_database_alone(url) as query:
        [[number]] = query("SELECT version FROM schema_version")
    return int(number)


def list_tables(url: str) -> set[str]:
    with open_database_alone(url) as query:
        if url.startswith("sqlite"):
            return {name for [name] in query("SELECT name FROM sqlite_schema")}
        return {
            name for [name] in query("SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace")
        }


def delete_store(url: str) -> None:
    """Make the store as empty as it was."""
    if url.startswith("sqlite"):
        for suffix in ("", "-wal", "-shm"):
            Path(f"{parse_sqlite_path(url)}{suffix}").unlink(missing_ok=True)
    else:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
