"""The tests in this folder use an office with clients from npm."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.office import Office, open_office


@pytest.fixture
def office(programs: Path, tmp_path: Path) -> Iterator[Office]:
    with open_office(tmp_path) as office:
        yield office
