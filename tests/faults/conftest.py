"""Both stores for every fault test, furnished."""

import os
from pathlib import Path
from typing import Final

import pytest

from tests.faults.crew_store import create_crew

#: whether there is time for more
NIGHTLY: Final = bool(os.environ.get("GATEPOST_NIGHTLY"))


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store that is not migrated yet."""
    return _build_url(request, tmp_path, "postgres_url")


@pytest.fixture(params=["sqlite", "postgres"])
def migrated_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store. On SQLite, whoever migrates it first gets a copy of one that is migrated."""
    return _build_url(request, tmp_path, "migrated_postgres_url")


def _build_url(request: pytest.FixtureRequest, folder: Path, postgres_fixture: str) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{folder}/office.db"
    url: str = request.getfixturevalue(postgres_fixture)
    return url


@pytest.fixture
def crew_url(migrated_url: str) -> str:
    """The URL of a store with the crew in it."""
    create_crew(migrated_url)
    return migrated_url


@pytest.fixture
def postgres_crew_url(migrated_postgres_url: str) -> str:
    create_crew(migrated_postgres_url)
    return migrated_postgres_url


@pytest.fixture
def sqlite_crew_url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/office.db"
    create_crew(url)
    return url
