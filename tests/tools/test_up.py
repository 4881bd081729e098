"""`make up`: packages are installed and the page is built side by side, and a gateway starts without its page."""

import os
import re
import subprocess
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Final, NoReturn

import pytest

from tests.support.waits import LAST_RESORT
from tools import install, node, page, up
from tools.pypi import Installer, InstallError
from tools.steps import Steps

INSTALLER: Final = Installer([], None, print)


class FakeWork:
    """Stands for the installation and the build: which of them are necessary, and what they do."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.has_packages = self.has_page = self.has_old_page = False
        self.has_node = True
        self.prepare: Callable[[], Installer] = lambda: INSTALLER
        self.install: Callable[[Installer], None] = lambda _: None
        self.build: Callable[[], None] = lambda: None
        #: what Node.js was installed with
        self.node_installers: list[Installer] = []
        monkeypatch.setattr(install, "can_run", lambda: self.has_packages)
        monkeypatch.setattr(page, "is_built", lambda: self.has_page)
        monkeypatch.setattr(page, "exists", lambda: self.has_old_page)
        monkeypatch.setattr(node, "find_node", lambda: Path("node") if self.has_node else None)
        monkeypatch.setattr(install, "prepare", self._prepare)
        monkeypatch.setattr(install, "install", self._install)
        monkeypatch.setattr(node, "ensure_node", self._ensure_node)
        monkeypatch.setattr(page, "build", lambda _: self.build())

    def _prepare(self, steps: Steps, stack: ExitStack) -> Installer:
        with steps.show("preparing .venv"):
            return self.prepare()

    def _install(self, packages: install.PackageSet, steps: Steps, installer: Installer) -> None:
        assert packages is install.RUN
        with steps.show("installing 62 packages"):
            self.install(installer)

    def _ensure_node(self, open_installer: Callable[[], AbstractContextManager[Installer]]) -> Path:
        if not self.has_node:
            with open_installer() as installer:
                self.node_installers.append(installer)
        return Path("node")


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> FakeWork:
    return FakeWork(monkeypatch)


def read_steps(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what is shown, with a hash for each time."""
    return re.sub(r"\d+\.\d s", "# s", capsys.readouterr().err).splitlines()


def test_both_are_done_at_the_same_time(work: FakeWork, capsys: pytest.CaptureFixture[str]) -> None:
    installing, building = threading.Event(), threading.Event()

    def do_install(installer: Installer) -> None:
        installing.set()
        assert building.wait(LAST_RESORT)

    def build() -> None:
        building.set()
        assert installing.wait(LAST_RESORT)

    work.install, work.build = do_install, build
    up.prepare()
    assert read_steps(capsys) == [
        "[1/4] preparing .venv ... # s",
        "[2/4] installing 62 packages ... # s",
        "[3/4] building the page ... # s",
        "[4/4] starting the gateway",
    ]


def test_what_is_done_is_not_done_again(work: FakeWork, capsys: pytest.CaptureFixture[str]) -> None:
    work.has_packages = True
    up.prepare()
    assert read_steps(capsys) == ["[1/2] building the page ... # s", "[2/2] starting the gateway"]
    work.has_page, work.has_packages = True, False
    up.prepare()
    assert [line[:5] for line in read_steps(capsys)] == ["[1/3]", "[2/3]", "[3/3]"]
    work.has_packages = True
    up.prepare()
    assert read_steps(capsys) == []


def test_node_comes_with_the_installer_of_the_packages(work: FakeWork, capsys: pytest.CaptureFixture[str]) -> None:
    work.has_node = False
    up.prepare()
    assert work.node_installers == [INSTALLER]
    assert read_steps(capsys)[2] == "[3/4] getting Node.js and building the page ... # s"


@pytest.mark.parametrize(("has_old_page", "words"), [(False, "without its page"), (True, "with the page as it was")])
def test_without_npm_the_gateway_starts_without_its_page(
    work: FakeWork, capsys: pytest.CaptureFixture[str], has_old_page: bool, words: str
) -> None:
    def build() -> NoReturn:
        raise node.BuildError("npm could not install the packages of web (its registry cannot be reached)")

    work.build, work.has_old_page = build, has_old_page
    up.prepare()
    assert read_steps(capsys)[2:] == [
        "[3/4] building the page ... failed",
        f"the gateway starts {words}, `make page` builds it later:"
        " npm could not install the packages of web (its registry cannot be reached)",
        "[4/4] starting the gateway",
    ]


def test_if_there_is_no_installer_nothing_waits_for_it(work: FakeWork, capsys: pytest.CaptureFixture[str]) -> None:
    def prepare() -> NoReturn:
        raise InstallError("no pip")

    work.has_node, work.prepare = False, prepare
    with pytest.raises(InstallError):
        up.prepare()
    assert read_steps(capsys) == ["[1/4] preparing .venv ... failed"]


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Replace the program gatepost, and return what it was called with."""
    program = tmp_path / "gatepost"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n')
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GATEPOST_HOME", raising=False)
    monkeypatch.setattr(install, "GATEPOST", program)
    monkeypatch.setattr(os, "execv", lambda path, command: subprocess.run([path, *command[1:]], check=True))

    def read_calls() -> list[str]:
        calls = (tmp_path / "calls").read_text().splitlines()
        (tmp_path / "calls").unlink()
        return calls

    return read_calls


@pytest.mark.parametrize("home", [".gatepost", "office"])
def test_a_home_is_made_once(
    commands: Callable[[], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    if home != ".gatepost":
        monkeypatch.setenv("GATEPOST_HOME", str(tmp_path / home))
    up.start()
    assert commands() == ["init --json", "up"]
    (tmp_path / home).mkdir()
    (tmp_path / home / "admin.key").touch()
    up.start()
    assert commands() == ["up"]
