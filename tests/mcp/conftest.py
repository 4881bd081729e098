from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.office import Office, open_office


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with open_office(tmp_path) as office:
        yield office
