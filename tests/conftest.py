"""Fixtures for every test: a real PostgreSQL, and how hard hypothesis looks."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.servers import Postgres

settings.register_profile("daily", deadline=None)
settings.register_profile("nightly", deadline=None, max_examples=1000)
settings.load_profile("nightly" if os.environ.get("GATEPOST_NIGHTLY") else "daily")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The server that tests share (one for each xdist worker, started when first asked for). Do it no harm."""
    with Postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """The URL of a fresh, empty database."""
    with postgres.database() as url:
        yield url


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A server of the test's own, to kill, stop and restart."""
    with Postgres() as server:
        yield server
