"""Both stores pass the suite as it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gatepost.testing import Kit
from gatepost.testing.conformance import StoreFactory, StoreSuite


def is_about_schema(request: pytest.FixtureRequest) -> bool:
    return "store" not in request.fixturenames or "next_release" in request.fixturenames


class TestSqlite(StoreSuite):
    @pytest.fixture
    def open(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreFactory]:
        """Tests of the schema migrate; the others have a copy of a file that is migrated."""
        if is_about_schema(request):
            request.getfixturevalue("real_migrations")
        with Kit(f"sqlite:///{tmp_path}/gatepost.db") as kit:
            yield kit.open


class TestPostgres(StoreSuite):
    @pytest.fixture
    def open(self, request: pytest.FixtureRequest) -> Iterator[StoreFactory]:
        """Tests of the schema have a database of their own; the others share one that is emptied for each."""
        with Kit(request.getfixturevalue("postgres_url" if is_about_schema(request) else "empty_postgres_url")) as kit:
            yield kit.open
