"""What scenarios stand on: an empty database, once of each kind."""

from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store that is not made yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/office.db"
    found: str = request.getfixturevalue("postgres_url")
    return found
