"""
Tests with `guest` run in each of the three agent programs, in a home of its own; those in `mcp` use MCP clients. Those
in `ledger` need neither: `make nightly` installs what they need, and `make test-hosts` leaves them out.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import cache
from tests.programs.guest import Guest
from tests.programs.model import ScriptedModel
from tests.programs.programs import PROGRAMS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if cache.HERE in item.path.parents and cache.LEDGER not in item.path.parents:
            item.add_marker(pytest.mark.hosts)


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of the installed programs."""
    if not cache.is_installed() or cache.find_node() is None:
        pytest.skip("NOT CHECKED: the programs of npm are not installed; `make test-hosts` installs them")
    return cache.find_folder()


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.host)
def guest(request: pytest.FixtureRequest, programs: Path, model: ScriptedModel, tmp_path: Path) -> Guest:
    """The agent ann in a program, with the hooks installed and an empty inbox."""
    program = request.param(tmp_path / "user", tmp_path / "project", model.url)
    return Guest.create(program, model, tmp_path / "home")
