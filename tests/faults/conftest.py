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
    """The URL of an empty store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/office.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def crew_url(store_url: str) -> str:
    """The URL of a store with the crew in it."""
    create_crew(store_url)
    return store_url


@pytest.fixture
def postgres_crew_url(postgres_url: str) -> str:
    create_crew(postgres_url)
    return postgres_url


@pytest.fixture
def sqlite_crew_url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/office.db"
    create_crew(url)
    return url
