"""Both stores pass the suite as it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gatepost.testing import Kit
from gatepost.testing.conformance import StoreFactory, StoreSuite


class TestSqlite(StoreSuite):
    @pytest.fixture
    def open(self, tmp_path: Path) -> Iterator[StoreFactory]:
        with Kit(f"sqlite:///{tmp_path}/gatepost.db") as kit:
            yield kit.open


class TestPostgres(StoreSuite):
    @pytest.fixture
    def open(self, request: pytest.FixtureRequest) -> Iterator[StoreFactory]:
        """Tests of the schema have a database of their own; the others share one that is emptied for each."""
        needs_own_database = "store" not in request.fixturenames or "next_release" in request.fixturenames
        with Kit(request.getfixturevalue("postgres_url" if needs_own_database else "empty_postgres_url")) as kit:
            yield kit.open
