"""Both stores pass the suite as it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gatepost.testing import Kit
from gatepost.testing.conformance import Open, StoreSuite


class TestSqlite(StoreSuite):
    @pytest.fixture
    def open(self, tmp_path: Path) -> Iterator[Open]:
        with Kit(f"sqlite:///{tmp_path}/gatepost.db") as kit:
            yield kit.open


class TestPostgres(StoreSuite):
    @pytest.fixture
    def open(self, postgres_url: str) -> Iterator[Open]:
        with Kit(postgres_url) as kit:
            yield kit.open
