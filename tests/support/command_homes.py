"""Fixtures for every test: a person at a terminal, with nothing set but what the test sets."""

import asyncio
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog

from gatepost import app, paths, settings
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gateway.hook_socket import HookSocket
from gatepost.settings import gateway_files
from tests.support.command_line import ACCESS_MODES, CommandLine
from tests.support.gateways.local_gateways import WAIT_TIMEOUT, GatewayThread, serve_gateway

ENTITIES = [
    EntitySpec(name="analyst", kind=EntityKind.AGENT, display="Analyst"),
    EntitySpec(name="quinn", kind=EntityKind.AGENT, team="web", role="reviewer", aliases=["bead-42"]),
    EntitySpec(name="husam", kind=EntityKind.HUMAN, display="Husam"),
]


@pytest.fixture
def empty_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command, with an empty home and an empty working directory."""
    for name in [name for name in os.environ if name.startswith(("GATEPOST_", "CLAUDE", "CODEX_", "GEMINI_"))]:
        monkeypatch.delenv(name)
    cwd = tmp_path / "here"
    cwd.mkdir()
    monkeypatch.chdir(cwd)
    home = tmp_path / "home"
    return CommandLine(home, cwd, monkeypatch, capsys, {"GATEPOST_HOME": str(home), "NO_COLOR": "1"})


@pytest.fixture(scope="session")
def seeded_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two agents and a person in it."""
    home = tmp_path_factory.mktemp("staffed")
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(home)})) as store:
        for entity in ENTITIES:
            store.run_sync(directory.register, entity)
    return home / "gatepost.db"


@pytest.fixture
def cli(request: pytest.FixtureRequest, empty_cli: CommandLine, seeded_database: Path) -> Iterator[CommandLine]:
    """The same command in a home of its own with that store in it; if the test says so, with a gateway running."""
    empty_cli.home.mkdir(mode=0o700)
    shutil.copy2(seeded_database, empty_cli.database)
    if getattr(request, "param", ACCESS_MODES[0]) == ACCESS_MODES[0]:
        yield empty_cli
    else:
        with start_local_gateway(empty_cli):
            yield empty_cli


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """
    In a module that says `EITHER_WAY` all tests are run twice by night, but for those that say how they are to be run.
    By day `test_same_with_a_gateway.py` compares the two ways, with a few uses of every command.
    """
    is_parametrized = any(mark.args[0] == "cli" for mark in metafunc.definition.iter_markers("parametrize"))
    if getattr(metafunc.module, "EITHER_WAY", False) and "cli" in metafunc.fixturenames and not is_parametrized:
        alone, served = ACCESS_MODES
        metafunc.parametrize("cli", [alone, pytest.param(served, marks=pytest.mark.nightly)], indirect=True)


@contextmanager
def open_hook_socket(cli: CommandLine, gateway: GatewayThread) -> Iterator[str | None]:
    """While entered, the gateway answers on a socket in the home."""
    hook_socket = HookSocket(cli.home, gateway.gateway.store, f"sqlite:///{cli.database}", url=gateway.base_url)
    socket_context = hook_socket.open()
    yield asyncio.run_coroutine_threadsafe(socket_context.__aenter__(), gateway.loop).result(WAIT_TIMEOUT)
    asyncio.run_coroutine_threadsafe(socket_context.__aexit__(None, None, None), gateway.loop).result(WAIT_TIMEOUT)


@contextmanager
def start_local_gateway(cli: CommandLine, **options: Any) -> Iterator[GatewayThread]:
    """While entered, a gateway runs in the home; options as for `open_gateway`."""
    url = f"sqlite:///{cli.database}"
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with (
        serve_gateway(url, **options) as gateway,
        open_hook_socket(cli, gateway) as path,
        gateway_files.publish(cli.home, gateway.base_url, url, path),
    ):
        paths.write_atomically(str(cli.home / gateway_files.ADMIN_KEY), gateway.gateway.admin_key + "\n")
        try:
            yield gateway
        finally:
            structlog.reset_defaults()
