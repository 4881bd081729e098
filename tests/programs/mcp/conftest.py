"""The tests in this folder use a home with clients from npm."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.mcp_setup import McpSetup, open_mcp_setup


@pytest.fixture
def setup(programs: Path, tmp_path: Path) -> Iterator[McpSetup]:
    with open_mcp_setup(tmp_path) as setup:
        yield setup
