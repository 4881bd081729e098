from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateways import create_entities, serve_gateway
from tests.mcp.office import Office


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """Husam and three agents, with a gateway over HTTP; commands in this home find none, and use the same store."""
    with serve_gateway(f"sqlite:///{tmp_path}/gatepost.db") as gateway_thread:
        create_entities(gateway_thread.gateway.store)
        yield Office(tmp_path, gateway_thread)
