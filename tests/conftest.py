"""Fixtures for every test: real servers, how logs are written, and how hard hypothesis looks."""

import gc
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
import structlog
from hypothesis import settings

from tests.support.servers.brokers import Nats, Redis
from tests.support.servers.database_reset import close_session, reset_database
from tests.support.servers.kept_connections import keep_connections
from tests.support.servers.migrated_files import copy_migrated_files, migrate_really
from tests.support.servers.private_servers import Postgres

if TYPE_CHECKING:
    from gatepost.testing import Kit

pytest.register_assert_rewrite("gatepost.testing")

pytest_plugins = [
    *(f"tests.support.plugins.{name}" for name in ("daily_seed", "day_and_night", "durations", "hang_guard")),
    *(f"tests.support.{name}" for name in ("store_context", "command_homes", "gateways.fixtures")),
]

settings.register_profile("daily", deadline=None, max_examples=20, print_blob=True)
settings.register_profile("nightly", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("nightly" if os.environ.get("GATEPOST_NIGHTLY") else "daily")


def _use_memory_for_files() -> None:
    """
    Put temporary files on a file system in memory, if there is a large one that runs programs.

    A killed process loses nothing of what it wrote to either kind, so these tests show the same on both; but a commit
    waits for the disk on one of them. Set TMPDIR to choose another folder.
    """
    memory_folder = "/dev/shm"  # noqa: S108
    with suppress(OSError):
        stats = os.statvfs(memory_folder)
        is_large = stats.f_bavail * stats.f_frsize >= 6 * 1024**3
        if is_large and not stats.f_flag & os.ST_NOEXEC and "TMPDIR" not in os.environ:
            os.environ["TMPDIR"] = memory_folder
            tempfile.tempdir = None


_use_memory_for_files()

# Nothing that is imported and collected becomes garbage soon; `pytest_collection_finish` enables the search for it.
gc.disable()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So a shell starts what is to run in the background, and the commands that tests interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


# As plain as in production. A traceback that is drawn in colours takes a hundred times as long to write.
structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(),
    ]
)


def pytest_collection_finish() -> None:
    """
    Leave what was collected out of every later search for garbage: it is much, and it stays. So does what is garbage
    already: a search for it takes half a second.
    """
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    """A command that was run here may have set how logs are written, and to whom."""
    config = structlog.get_config()
    yield
    structlog.configure(**config)


@pytest.fixture(scope="session", autouse=True)
def _copy_migrated_files() -> Iterator[None]:
    """A new SQLite store of this process is a copy of one that was migrated."""
    with copy_migrated_files():
        yield


@pytest.fixture
def real_migrations() -> Iterator[None]:
    """While a test runs that is about migrations, every store is migrated as in production."""
    with migrate_really():
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """
    The server that tests share. Do it no harm: as nobody does, it need not wait for the disk.

    Each xdist worker has one, and starts it when it is first asked for, in a third of a second. If there were one for
    all of them, a test could hold up another: a feed shows an event when no older transaction is open on the whole
    server, and a test may end, count or wait for the sessions of its server. So could the transactions of autovacuum.
    """
    with Postgres(fsync="off", autovacuum="off") as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """The URL of a fresh, empty database."""
    with postgres.create_database() as url:
        yield url


@pytest.fixture
def migrated_postgres_url(postgres: Postgres) -> Iterator[str]:
    """The URL of a fresh database with the schema in place."""
    with postgres.create_migrated_database() as url:
        yield url


@pytest.fixture(scope="session")
def _shared_url(postgres: Postgres) -> Iterator[str]:
    with postgres.create_migrated_database() as url, keep_connections(url):
        yield url
        close_session(url)


@pytest.fixture
def empty_postgres_url(_shared_url: str) -> str:
    """
    The URL of a database with the schema in place and nothing in it. Leave the schema as it is. Stores of this process
    use each other's connections to it, one after the other.
    """
    reset_database(_shared_url)
    return _shared_url


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A server of the test's own, to kill, stop and restart."""
    with Postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def kit(request: pytest.FixtureRequest) -> Iterator["Kit"]:
    """An empty store with a clock that stands still, once on each database."""
    from gatepost.testing import Kit  # after its asserts are to be rewritten

    with Kit(request.getfixturevalue("empty_postgres_url") if request.param == "postgres" else None) as kit:
        if request.param == "postgres":
            kit.store = kit.open()  # the schema is in place
        yield kit


@pytest.fixture(scope="session")
def redis() -> Iterator[Redis]:
    """The server that tests share. Do it no harm; names in it are everybody's."""
    with Redis() as server:
        yield server


@pytest.fixture
def own_redis() -> Iterator[Redis]:
    """A server of the test's own, to kill, stop and restart."""
    with Redis() as server:
        yield server


@pytest.fixture(scope="session")
def nats() -> Iterator[Nats]:
    """The server that tests share. Do it no harm; names in it are everybody's."""
    with Nats() as server:
        yield server


@pytest.fixture
def own_nats() -> Iterator[Nats]:
    """A server of the test's own, to kill, stop and restart."""
    with Nats() as server:
        yield server
