"""The settings files of the real programs: they accept our entries, and get them taken out byte for byte."""

import json
from pathlib import Path

import pytest

from tests.programs import cache
from tests.programs.guest import Guest


@pytest.mark.nightly
def test_the_program_runs_with_our_entries_and_gets_its_file_back(guest: Guest) -> None:
    program = guest.program
    installed = program.read_settings()
    assert installed != program.original_settings
    states = json.loads(guest.run_gatepost("hooks", "status", "--host", program.host, "--json"))
    assert "installed" in [state["state"] for state in states]
    guest.push("through the hooks")
    guest.prompt()
    assert guest.model.count_shown("through the hooks") == 1
    assert program.read_settings() == installed, "the program leaves the file alone"
    guest.run_gatepost("hooks", "uninstall", "--host", program.host)
    assert program.read_settings() == program.original_settings
    guest.push("without the hooks")
    guest.prompt("Go on.", resume=True)
    assert guest.model.count_shown("without the hooks") == 0


@pytest.mark.parametrize("folder", [cache.HERE, cache.LEDGER, cache.CLIENT], ids=lambda folder: folder.name)
def test_the_lock_names_no_registry(folder: Path) -> None:
    lock = json.loads((folder / "package-lock.json").read_text())
    packages = [package for path, package in lock["packages"].items() if path]
    assert all("integrity" in package and "resolved" not in package for package in packages)
    assert "://" not in (folder / "package.json").read_text()
