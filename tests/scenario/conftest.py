"""What scenarios stand on: an empty database, once of each kind, and logs that are written as plainly as in earnest."""

from pathlib import Path

import pytest
import structlog


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store; a file is not made yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/office.db"
    swept: str = request.getfixturevalue("empty_postgres_url")
    return swept


@pytest.fixture(autouse=True)
def _plain_logs() -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ]
    )
