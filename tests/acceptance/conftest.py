"""A person at a terminal, with nothing set but what the test sets."""

import os
import shutil
from pathlib import Path

import pytest

from gatepost import app, settings
from gatepost.actions import directory
from gatepost.actions.directory import Newcomer
from gatepost.core.entity import Kind
from tests.acceptance.office import Office

STAFF = [
    Newcomer(name="analyst", kind=Kind.AGENT, display="Analyst"),
    Newcomer(name="quinn", kind=Kind.AGENT, team="web", role="reviewer", aliases=["bead-42"]),
    Newcomer(name="husam", kind=Kind.HUMAN, display="Husam"),
]


@pytest.fixture
def gatepost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Office:
    """The command, with an empty home and an empty working directory."""
    for name in [name for name in os.environ if name.startswith("GATEPOST_")]:
        monkeypatch.delenv(name)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    home = tmp_path / "home"
    return Office(home, here, monkeypatch, capsys, {"GATEPOST_HOME": str(home), "NO_COLOR": "1"})


@pytest.fixture(scope="session")
def staffed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two agents and a person in it."""
    home = tmp_path_factory.mktemp("staffed")
    with app.opened(settings.load({"GATEPOST_HOME": str(home)})) as store:
        for newcomer in STAFF:
            store.call(directory.register, newcomer)
    return home / "gatepost.db"


@pytest.fixture
def office(gatepost: Office, staffed: Path) -> Office:
    """The same command in a home of its own with that store in it."""
    gatepost.home.mkdir(mode=0o700)
    shutil.copy2(staffed, gatepost.database)
    return gatepost
