"""Fixtures for every test: an empty store, once on each database, and gateways."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support.gateways.local_gateways import Gateway, GatewayThread, create_entities, open_gateway, serve_gateway


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store; a file is not made yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/office.db"
    empty_url: str = request.getfixturevalue("empty_postgres_url")
    return empty_url


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    """A gateway in this loop, with Husam and three agents."""
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway:
        create_entities(gateway.store)
        yield gateway


@pytest.fixture
def gateway_thread(tmp_path: Path) -> Iterator[GatewayThread]:
    """The same on a real socket, in a thread of its own."""
    with serve_gateway(f"sqlite:///{tmp_path}/office.db") as gateway_thread:
        create_entities(gateway_thread.gateway.store)
        yield gateway_thread
