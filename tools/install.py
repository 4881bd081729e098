"""
Install Gatepost, as an editable install, and the packages that a lock names into .venv.

    python -m tools.install    install what tests and checks need (requirements/dev.txt)

`make up` installs less (requirements/run.txt, with the same versions). What is in .venv stays there, so `make test`
completes what `make up` has installed. During an installation .venv/.unfinished exists. If it remains, the installation
was killed, and the Makefile lets the next one make .venv anew.
"""

import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.pypi import Installer, InstallError, open_installer
from tools.steps import Steps

ROOT: Final = Path(__file__).parents[1]
ENVIRONMENT: Final = ROOT / ".venv"
PYTHON: Final = ENVIRONMENT / "bin" / "python"
UNFINISHED: Final = ENVIRONMENT / ".unfinished"
PROJECT: Final = ROOT / "pyproject.toml"


@dataclass(frozen=True)
class PackageSet:
    lock: Path
    #: a file that is written after the packages were installed
    stamp: Path

    def is_installed(self) -> bool:
        if not self.stamp.exists():
            return False
        return self.stamp.stat().st_mtime >= max(path.stat().st_mtime for path in (self.lock, PROJECT))

    def list_packages(self) -> set[str]:
        """Return the names of the packages for this platform."""
        lines = re.findall(r"^([\w.-]+)==(.+)$", self.lock.read_text(), re.MULTILINE)
        platforms = {name: re.findall(r"sys_platform == '(\w+)'", marker) for name, marker in lines}
        return {name for name, required in platforms.items() if not required or sys.platform in required}


RUN: Final = PackageSet(ROOT / "requirements" / "run.txt", ENVIRONMENT / ".run")
#: contains RUN
DEV: Final = PackageSet(ROOT / "requirements" / "dev.txt", ENVIRONMENT / ".installed")


def can_run() -> bool:
    """Return True if .venv has what a gateway needs."""
    return RUN.is_installed() or DEV.is_installed()


def prepare(steps: Steps, stack: ExitStack) -> Installer:
    """Make .venv, unless this Python is in it, and open an installer."""
    with steps.show("preparing .venv"):
        if Path(sys.prefix).resolve() != ENVIRONMENT.resolve():
            shutil.rmtree(ENVIRONMENT, ignore_errors=True)
            _make_environment()
            UNFINISHED.touch()
        return stack.enter_context(open_installer(steps.report))


def _make_environment() -> None:
    # Without pip: to copy it takes longer than all packages, of which it is one.
    command = [sys.executable, "-I", "-m", "venv", "--without-pip", str(ENVIRONMENT)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise InstallError(
            f"{sys.executable} cannot make an environment; on Debian and Ubuntu: apt install python3-venv\n"
            f"{result.stdout}{result.stderr}".rstrip()
        )


def install(packages: PackageSet, steps: Steps, installer: Installer) -> None:
    """Install packages and the project into .venv."""
    names = packages.list_packages() - (RUN.list_packages() if packages is DEV and RUN.is_installed() else set())
    with steps.show(f"installing {len(names)} packages"):
        was_finished = not UNFINISHED.exists()
        UNFINISHED.touch()
        try:
            installer.install_lock(packages.lock, python=PYTHON)
            installer.install("--no-deps", "--no-build-isolation", "--editable", str(ROOT), python=PYTHON)
        except InstallError:
            if was_finished:  # uv and pip change nothing before they have everything
                UNFINISHED.unlink()
            raise
        # A gateway compiles the libraries that it imports when it first does: most of them it never imports.
        folders = [ROOT / "src", *([ENVIRONMENT / "lib"] if packages is DEV else [])]
        subprocess.run([PYTHON, "-m", "compileall", "-qq", "-j", "0", *folders], check=False)
        for stamp in {RUN.stamp, packages.stamp}:
            stamp.touch()
        UNFINISHED.unlink()


def main() -> None:
    steps = Steps(2)
    with ExitStack() as stack:
        install(DEV, steps, prepare(steps, stack))


if __name__ == "__main__":
    try:
        main()
    except InstallError as error:
        sys.exit(f"error: {error}")
