"""
Install locked packages from PyPI: with uv, which is fast, else with pip.

    python -m tools.pypi requirements/compiler.txt    install what a lock names into this Python

uv itself comes from PyPI, for as long as it is needed (requirements/uv.txt). It does not read pip's configuration, so
it gets the index, the certificates and the proxy that pip is configured for. If uv cannot be installed, or fails, pip
does the work. Nothing here needs a package: this code installs the first one.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tools.clone_lock import hold_lock

ROOT: Final = Path(__file__).parents[1]

PIP_OPTIONS: Final = ("--quiet", "--disable-pip-version-check", "--no-input", "--no-compile")
#: A machine without a network learns it in a minute, not in several.
UV_RETRIES: Final = ("--retries", "1")
PIP_RETRIES: Final = ("--retries", "2")
PIP_ENVIRON: Final = {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_ROOT_USER_ACTION": "ignore"}
#: the variables of uv for pip's options of one value
UV_VALUES: Final = {
    "index-url": "UV_DEFAULT_INDEX",
    "no-index": "UV_NO_INDEX",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
}
#: ... and of several values, with what separates them
UV_LISTS: Final = {
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
}


class InstallError(Exception):
    """Something could not be installed. The message says why."""


def print_report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Installer:
    """Installs packages with uv, until it fails once, and then with pip."""

    def __init__(self, pip: list[str], uv: Path | None, report: Callable[[str], None]) -> None:
        self._pip = pip
        self._uv = uv
        self._uv_environ = build_uv_environ(read_pip_options(pip)) if uv else {}
        self._report = report

    def install_lock(self, lock: Path, *options: str, python: Path) -> None:
        """Install what a lock names. A package that is there in this version is not installed again."""
        self.install("--require-hashes", "--requirement", str(lock), *options, python=python)

    def install(self, *arguments: str, python: Path) -> None:
        """Install for a Python. The arguments are those of `pip install` that uv knows, too."""
        if self._uv is not None:
            result = _run([str(self._uv), "pip", "install", "--python", str(python), *arguments], self._uv_environ)
            if result.returncode == 0:
                return
            self._uv = None
            self._report(f"uv failed ({extract_errors(result.stderr)[0]}), so pip does it")
        result = _run(
            [*self._pip, "--python", str(python), "install", *PIP_OPTIONS, *PIP_RETRIES, *arguments], PIP_ENVIRON
        )
        if result.returncode:
            errors = "\n".join(extract_errors(result.stderr))
            raise InstallError(f"pip install {' '.join(arguments)} failed:\n{errors}")


@contextmanager
def open_installer(report: Callable[[str], None] = print_report) -> Iterator[Installer]:
    """Find pip, and install uv for as long as the context is entered. What it reports is one line for a person."""
    (ROOT / "build").mkdir(exist_ok=True)
    for folder in (ROOT / "build").glob("installer-*"):  # of one that was killed
        shutil.rmtree(folder, ignore_errors=True)
    with TemporaryDirectory(prefix="installer-", dir=ROOT / "build") as name:
        pip, target = _find_pip(Path(name, "pip")), Path(name, "uv")
        options = (*UV_RETRIES, "--target", str(target), "--require-hashes", "--requirement")
        result = _run([*pip, "install", *PIP_OPTIONS, *options, str(ROOT / "requirements" / "uv.txt")], PIP_ENVIRON)
        if result.returncode:
            report(f"uv could not be installed ({extract_errors(result.stderr)[0]}), so pip does it")
        yield Installer(pip, None if result.returncode else target / "bin" / "uv", report)


def _find_pip(folder: Path) -> list[str]:
    """Return the command that runs pip: that of this Python, else one in a new environment in a folder."""
    if _run([sys.executable, "-c", "import pip"]).returncode == 0:
        return [sys.executable, "-m", "pip"]
    make_environment(sys.executable, folder)
    return [str(folder / "bin" / "python"), "-m", "pip"]


def make_environment(python: str, folder: Path, *options: str) -> None:
    """Make a virtual environment in a folder."""
    result = _run([python, "-I", "-m", "venv", *options, str(folder)])
    if result.returncode:
        output = f"{result.stdout}{result.stderr}".strip()
        is_incomplete = re.search("ensurepip|No module named '?venv", output)  # Debian has them in another package
        hint = "; on Debian and Ubuntu: apt install python3-venv" if is_incomplete else ""
        raise InstallError(f"{python} cannot make an environment{hint}\n{output}")


def read_pip_options(pip: list[str]) -> dict[str, str]:
    """Return what pip is configured with, by its files and by the environment."""
    lines = _run([*pip, "config", "list"], PIP_ENVIRON).stdout.splitlines()
    matches = [match for line in lines if (match := re.fullmatch(r"(.+)\.([\w-]+)=(['\"].*)", line))]
    return {
        match[2]: ast.literal_eval(match[3])
        for section in ("global", "install", ":env:")  # a later one takes precedence
        for match in matches
        if match[1] == section
    }


def build_uv_environ(options: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that tell uv what these options tell pip."""
    environ = {
        "UV_INDEX_STRATEGY": "unsafe-best-match",  # pip asks all indexes, too; the hashes make it safe
        "UV_PYTHON_DOWNLOADS": "never",
    }
    environ |= {variable: options[name] for name, variable in UV_VALUES.items() if options.get(name)}
    for name, (variable, separator) in UV_LISTS.items():
        if values := options.get(name, "").split():
            environ[variable] = separator.join(values)
    return environ


def extract_errors(output: str) -> list[str]:
    """Return what went wrong from what pip or uv wrote: why there is no connection, then the errors it names."""
    lines = [re.sub(r"<[^>]*>: ", "", line.strip()) for line in output.splitlines() if line.strip()]
    connections = [match[0] for line in lines if (match := re.search("connection broken by .*", line))]
    errors = [match[1] for line in lines if (match := re.match("error: (.*)", line, re.IGNORECASE))]
    if errors[:1] == ["Exception:"]:  # a traceback of pip, whose last line says most
        errors = lines[-1:]
    return [*connections[-1:], *(errors or lines[-5:])] or ["it gave no reason"]


def _run(command: list[str], environ: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | environ,
            capture_output=True,
            text=True,
            check=False,
            close_fds=False,  # it holds the lock of the clone, too
        )
    except OSError as error:  # a disk that runs no programs
        return subprocess.CompletedProcess(command, 126, "", f"error: {error}")


def main(locks: list[str]) -> None:
    with open_installer() as installer:
        for lock in locks:
            installer.install_lock(Path(lock).resolve(), python=Path(sys.executable))


if __name__ == "__main__":
    try:
        with hold_lock():
            main(sys.argv[1:])
    except (InstallError, OSError) as error:
        sys.exit(f"error: {error}")
