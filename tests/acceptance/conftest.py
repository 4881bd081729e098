"""A person at a terminal, with nothing set but what the test sets."""

import asyncio
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import structlog

from gatepost import app, settings
from gatepost.actions import directory
from gatepost.actions.directory import EntitySpec
from gatepost.core.entity import EntityKind
from gatepost.gateway.doorstep import Doorstep
from gatepost.runtime import admin_key, gateway_file
from tests.acceptance.office import ROADS, Office
from tests.gateways import PATIENCE, Served, served

STAFF = [
    EntitySpec(name="analyst", kind=EntityKind.AGENT, display="Analyst"),
    EntitySpec(name="quinn", kind=EntityKind.AGENT, team="web", role="reviewer", aliases=["bead-42"]),
    EntitySpec(name="husam", kind=EntityKind.HUMAN, display="Husam"),
]


@pytest.fixture
def gatepost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Office:
    """The command, with an empty home and an empty working directory."""
    for name in [name for name in os.environ if name.startswith(("GATEPOST_", "CLAUDE", "CODEX_", "GEMINI_"))]:
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
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(home)})) as store:
        for newcomer in STAFF:
            store.call(directory.register, newcomer)
    return home / "gatepost.db"


@pytest.fixture
def office(request: pytest.FixtureRequest, gatepost: Office, staffed: Path) -> Iterator[Office]:
    """The same command in a home of its own with that store in it; if the test says so, with a gateway running."""
    gatepost.home.mkdir(mode=0o700)
    shutil.copy2(staffed, gatepost.database)
    if getattr(request, "param", ROADS[0]) == ROADS[0]:
        yield gatepost
    else:
        with attended(gatepost):
            yield gatepost


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """In a module that says `EITHER_WAY` all tests are run twice, but for those that say how they are to be run."""
    said = any(mark.args[0] == "office" for mark in metafunc.definition.iter_markers("parametrize"))
    if getattr(metafunc.module, "EITHER_WAY", False) and "office" in metafunc.fixturenames and not said:
        metafunc.parametrize("office", ROADS, indirect=True)


@contextmanager
def answering(office: Office, gateway: Served) -> Iterator[str | None]:
    """While entered, the gateway answers on a socket in the home."""
    doorstep = Doorstep(office.home, gateway.gateway.store, f"sqlite:///{office.database}", url=gateway.base)
    opened = doorstep.open()
    yield asyncio.run_coroutine_threadsafe(opened.__aenter__(), gateway.loop).result(PATIENCE)
    asyncio.run_coroutine_threadsafe(opened.__aexit__(None, None, None), gateway.loop).result(PATIENCE)


@contextmanager
def attended(office: Office) -> Iterator[Served]:
    """While entered, a gateway runs in the home."""
    url = f"sqlite:///{office.database}"
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with (
        served(url) as gateway,
        answering(office, gateway) as path,
        gateway_file.publish(office.home, gateway.base, url, path),
    ):
        (office.home / admin_key.ADMIN_KEY).write_text(gateway.gateway.admin + "\n")
        try:
            yield gateway
        finally:
            structlog.reset_defaults()
