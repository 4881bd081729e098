"""Setups with a ledger: the local one, or Hedera on a network of the test; on SQLite and PostgreSQL."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gatepost.testing import Kit
from tests.ledger.hedera.ledger_setup import LedgerSetup, open_ledger_setup
from tests.ledger.hedera.network.node import HederaNetwork


@pytest.fixture(params=["local", "hedera"])
def setup(request: pytest.FixtureRequest) -> LedgerSetup:
    """A setup on each ledger."""
    setup: LedgerSetup = request.getfixturevalue(request.param)
    return setup


@pytest.fixture(params=["local", "hedera", "postgres"])
def any_setup(request: pytest.FixtureRequest) -> LedgerSetup:
    """A setup on each ledger, and on Hedera with PostgreSQL; `tests/ledger/test_local_ledger.py` has the fourth."""
    is_postgres = request.param == "postgres"
    setup: LedgerSetup = request.getfixturevalue("postgres_setup" if is_postgres else request.param)
    return setup


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[LedgerSetup]:
    """A setup on the local ledger."""
    with Kit() as kit:
        async with open_ledger_setup(kit, tmp_path) as setup:
            yield setup


@pytest.fixture
async def hedera(tmp_path: Path) -> AsyncIterator[LedgerSetup]:
    """A setup on Hedera."""
    with Kit() as kit, HederaNetwork(lambda: kit.clock.now() * 1_000) as network:
        async with open_ledger_setup(kit, tmp_path, network=network) as setup:
            yield setup


@pytest.fixture
async def ledger(hedera: LedgerSetup) -> LedgerSetup:
    """A setup on Hedera, where ann, bob and husam are on the ledger, and the task."""
    await hedera.make_topics("ann", "bob", "husam")
    return hedera


@pytest.fixture
async def postgres_setup(empty_postgres_url: str, tmp_path: Path) -> AsyncIterator[LedgerSetup]:
    """A setup on Hedera, with PostgreSQL."""
    with Kit(empty_postgres_url) as kit, HederaNetwork(lambda: kit.clock.now() * 1_000) as network:
        async with open_ledger_setup(kit, tmp_path, network=network) as setup:
            yield setup


@pytest.fixture
async def public_setup(kit: Kit, tmp_path: Path) -> AsyncIterator[LedgerSetup]:
    """A setup on Hedera, on each database."""
    with HederaNetwork(lambda: kit.clock.now() * 1_000) as network:
        async with open_ledger_setup(kit, tmp_path, network=network) as setup:
            yield setup


@pytest.fixture
async def public_ledger(public_setup: LedgerSetup) -> LedgerSetup:
    """The same on each database."""
    await public_setup.make_topics("ann", "bob", "husam")
    return public_setup
