"""
Install Gatepost, as an editable install, and the packages that a lock names into .venv.

    python -m tools.install    install what tests and checks need (requirements/dev.txt)

`make up` installs less (requirements/run.txt, with the same versions). What is in .venv stays there, so `make test`
completes what `make up` has installed. During an installation .venv/.unfinished exists. If it remains, the installation
was killed, and the next one makes .venv anew; so does one that finds a .venv which came from another folder with a copy
of the clone, or whose Python or command is gone.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.clone_lock import hold_lock
from tools.pypi import Installer, InstallError, make_environment, open_installer
from tools.steps import Steps

ROOT: Final = Path(__file__).parents[1]
ENVIRONMENT: Final = ROOT / ".venv"
PYTHON: Final = ENVIRONMENT / "bin" / "python"
GATEPOST: Final = ENVIRONMENT / "bin" / "gatepost"
UNFINISHED: Final = ENVIRONMENT / ".unfinished"
PROJECT: Final = ROOT / "pyproject.toml"

#: succeeds in a Python that is new enough, and imports the package from the file that is its argument
CHECK: Final = """
import importlib.util, os, sys
spec = importlib.util.find_spec("gatepost")
sys.exit(sys.version_info < (3, 11) or spec is None or os.path.realpath(spec.origin) != os.path.realpath(sys.argv[1]))
"""


@dataclass(frozen=True)
class PackageSet:
    lock: Path
    #: a file that is written after the packages were installed, with the digest of what named them
    stamp: Path

    def is_installed(self) -> bool:
        return self.stamp.exists() and self.stamp.read_text() == self.compute_digest()

    def compute_digest(self) -> str:
        return hashlib.sha256(self.lock.read_bytes() + PROJECT.read_bytes()).hexdigest()

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
    return (RUN.is_installed() or DEV.is_installed()) and is_whole()


def is_whole() -> bool:
    """Return True if an installation into .venv has ended, and .venv belongs to this folder and works."""
    if UNFINISHED.exists() or not GATEPOST.exists():
        return False
    package = ROOT / "src" / "gatepost" / "__init__.py"
    try:
        return subprocess.run([PYTHON, "-I", "-c", CHECK, package], capture_output=True, check=False).returncode == 0
    except OSError:  # its Python is gone
        return False


def prepare(steps: Steps, stack: ExitStack) -> Installer:
    """Make .venv, unless it is whole, and open an installer."""
    with steps.show("preparing .venv"):
        if not is_whole():
            if unusable := re.search(r'[$`"\\]', str(ROOT)):
                raise InstallError(f"{ROOT}: commands do not start in a folder with {unusable[0]} in its path; move it")
            # The Python of this environment cannot outlive it.
            is_inside = Path(sys.prefix).resolve() == ENVIRONMENT.resolve()
            python = str(getattr(sys, "_base_executable", sys.executable)) if is_inside else sys.executable
            if ENVIRONMENT.is_symlink() or ENVIRONMENT.is_file():
                ENVIRONMENT.unlink()
            elif ENVIRONMENT.exists():
                shutil.rmtree(ENVIRONMENT)
            # Without pip: to copy it takes longer than all packages, of which it is one.
            make_environment(python, ENVIRONMENT, "--without-pip")
            UNFINISHED.touch()
        return stack.enter_context(open_installer(steps.report))


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
        for installed in (RUN, packages):
            installed.stamp.write_text(installed.compute_digest())
        UNFINISHED.unlink()


def main() -> None:
    if DEV.is_installed() and is_whole():
        return
    steps = Steps(2)
    with ExitStack() as stack:
        install(DEV, steps, prepare(steps, stack))


if __name__ == "__main__":
    try:
        with hold_lock():
            main()
    except (InstallError, OSError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
