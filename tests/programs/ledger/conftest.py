"""The tests in this folder compare what we write on a ledger with the SDK of the HCS standards, from npm."""

from collections.abc import Iterator

import pytest

from tests.programs import cache
from tests.programs.ledger.standards import StandardsSdk, open_sdk


@pytest.fixture(scope="module")
def sdk() -> Iterator[StandardsSdk]:
    if not cache.is_installed(cache.LEDGER) or cache.find_node() is None:
        pytest.skip("NOT CHECKED: the SDK of the HCS standards is not installed; `make nightly` installs it")
    with open_sdk() as sdk:
        yield sdk
