"""Offices with a ledger: the local one, or Hedera on a network of the test; on SQLite and PostgreSQL."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gatepost.testing import Kit
from tests.hedera.node import HederaNetwork
from tests.hedera.office import LedgerOffice, open_office


@pytest.fixture(params=["local", "hedera"])
def office(request: pytest.FixtureRequest) -> LedgerOffice:
    """An office on each ledger."""
    office: LedgerOffice = request.getfixturevalue(request.param)
    return office


@pytest.fixture(params=["local", "hedera", "postgres"])
def any_office(request: pytest.FixtureRequest) -> LedgerOffice:
    """An office on each ledger, and on Hedera with PostgreSQL; `tests/unit/test_local_ledger.py` has the fourth."""
    is_postgres = request.param == "postgres"
    office: LedgerOffice = request.getfixturevalue("postgres_office" if is_postgres else request.param)
    return office


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[LedgerOffice]:
    """An office on the local ledger."""
    with Kit() as kit:
        async with open_office(kit, tmp_path) as office:
            yield office


@pytest.fixture
async def hedera(tmp_path: Path) -> AsyncIterator[LedgerOffice]:
    """An office on Hedera."""
    with Kit() as kit, HederaNetwork(lambda: kit.clock.now() * 1_000) as network:
        async with open_office(kit, tmp_path, network=network) as office:
            yield office


@pytest.fixture
async def ledger(hedera: LedgerOffice) -> LedgerOffice:
    """An office on Hedera, where ann, bob and husam are on the ledger, and the task."""
    await hedera.make_topics("ann", "bob", "husam")
    return hedera


@pytest.fixture
async def postgres_office(empty_postgres_url: str, tmp_path: Path) -> AsyncIterator[LedgerOffice]:
    """An office on Hedera, with PostgreSQL."""
    with Kit(empty_postgres_url) as kit, HederaNetwork(lambda: kit.clock.now() * 1_000) as network:
        async with open_office(kit, tmp_path, network=network) as office:
            yield office


@pytest.fixture
async def public_office(kit: Kit, tmp_path: Path) -> AsyncIterator[LedgerOffice]:
    """An office on Hedera, on each database."""
    with HederaNetwork(lambda: kit.clock.now() * 1_000) as network:
        async with open_office(kit, tmp_path, network=network) as office:
            yield office


@pytest.fixture
async def public_ledger(public_office: LedgerOffice) -> LedgerOffice:
    """The same on each database."""
    await public_office.make_topics("ann", "bob", "husam")
    return public_office
