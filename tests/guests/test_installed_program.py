"""Which path is written into the settings of other programs: that of a command that stays."""

import os
import sys
from pathlib import Path

import pytest

from gatepost.cli.host_entries import find_program
from gatepost.errors import Unavailable

TEMPORARY = [
    "uv/archive-v0/3f-Kx",
    "uv/environments-v2/3f-Kx",
    "uv/builds-v0/.tmpX",
    ".cache/pipx/3fa",
    "pipx/.cache/3fa",
]


def create_command(folder: Path) -> Path:
    """Make the commands of an environment, and return its `gatepost`."""
    folder.mkdir(parents=True)
    for name in ("python", "gatepost"):
        (folder / name).touch(mode=0o755)
    return folder / "gatepost"


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", os.defpath)


def use(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run as this program, as uvx and pipx do: its folder comes first in the PATH."""
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    monkeypatch.setenv("PATH", os.pathsep.join([str(program.parent), os.environ["PATH"]]))


@pytest.mark.parametrize("folder", [".venv/bin", "uv/tools/gatepost/bin", "pipx/venvs/gatepost/bin"])
def test_a_command_that_stays_is_named_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    program = create_command(tmp_path / folder)
    use(program, monkeypatch)
    assert find_program() == str(program)


@pytest.mark.parametrize("folder", TEMPORARY)
def test_a_command_in_a_cache_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    use(create_command(tmp_path / folder / "bin"), monkeypatch)
    with pytest.raises(Unavailable) as caught:
        find_program()
    assert "may be removed" in caught.value.message
    assert "uv tool install gatepost" in (caught.value.hint or "")


@pytest.mark.parametrize("folder", TEMPORARY)
def test_an_installed_command_is_named_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    cached_command = create_command(tmp_path / folder / "bin")
    use(cached_command, monkeypatch)
    (tmp_path / "links").mkdir()
    (tmp_path / "links/gatepost").symlink_to(cached_command)
    monkeypatch.setenv("PATH", os.pathsep.join([os.environ["PATH"], str(tmp_path / "links")]))
    installed_command = create_command(tmp_path / "home/.local/bin")
    assert find_program() == str(installed_command)
