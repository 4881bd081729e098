"""
Install the peers into a cache outside of the repository: two environments of Python, and packages from npm.

    requirements/peers.txt           the queues
    requirements/peers-mail.txt      mcp-agent-mail, whose dependencies are many
    bench/peers/package-lock.json    OpenClaw

A folder is named after the digest of its lock, so it is never changed. Nothing goes into `.venv`.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final

from tools import node as node_tool
from tools.pypi import InstallError, make_environment, open_installer

ROOT: Final = Path(__file__).parents[2]
HERE: Final = Path(__file__).parent
#: names another cache folder
VARIABLE: Final = "GATEPOST_BENCH_PEERS"
#: the oldest Node.js that OpenClaw runs on
NODE_VERSION: Final = (24, 16)

#: the file that says that a folder is whole
_FINISHED: Final = ".finished"

_LIST_VERSIONS: Final = (
    "import importlib.metadata as m, json;"
    "print(json.dumps({d.metadata['Name'].lower().replace('_', '-'): d.version for d in m.distributions()}))"
)


class Environment(Enum):
    GATEPOST = "gatepost"
    QUEUES = "peers"
    MAIL = "peers-mail"
    NODE = "node"


class NotInstalled(Exception):
    """A peer cannot be used here. The message says why."""


def find_folder(environment: Environment) -> Path:
    """Return where an environment is, whether it is installed or not."""
    lock = (
        HERE / "package-lock.json"
        if environment is Environment.NODE
        else ROOT / "requirements" / f"{environment.value}.txt"
    )
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get(VARIABLE) or Path(base) / "gatepost-bench-peers")
    return folder / f"{environment.value}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"


def require_folder(environment: Environment) -> Path:
    folder = find_folder(environment)
    if not (folder / _FINISHED).exists():
        raise NotInstalled("not installed; run `make bench-peers`")
    return folder


def find_python(environment: Environment) -> Path:
    """Return the Python that runs the programs of an environment."""
    if environment in (Environment.GATEPOST, Environment.NODE):
        return Path(sys.executable)
    return require_folder(environment) / "bin" / "python"


def find_node() -> Path:
    try:
        return node_tool.require_node(NODE_VERSION)
    except node_tool.BuildError as error:
        raise NotInstalled(str(error)) from None


@cache
def list_versions(environment: Environment) -> dict[str, str]:
    """Return the versions of what is installed, by name."""
    if environment is Environment.NODE:
        require_folder(environment)
        lock = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))
        packages = lock["packages"].items()
        return {path.removeprefix("node_modules/"): package["version"] for path, package in packages if path}
    result = subprocess.run(
        [find_python(environment), "-c", _LIST_VERSIONS], check=True, capture_output=True, text=True
    )
    return dict(json.loads(result.stdout))


def install_all() -> None:
    """Install what is missing. What fails is reported, and the others are installed all the same."""
    for environment in (Environment.QUEUES, Environment.MAIL, Environment.NODE):
        folder = find_folder(environment)
        if (folder / _FINISHED).exists():
            continue
        shutil.rmtree(folder, ignore_errors=True)  # what an interrupted installation left
        folder.parent.mkdir(parents=True, exist_ok=True)
        print(f"installing {environment.value} into {folder} ...", file=sys.stderr, flush=True)
        try:
            if environment is Environment.NODE:
                _install_packages(folder)
            else:
                _install_environment(folder)
        except (InstallError, node_tool.BuildError) as error:
            print(f"{environment.value} could not be installed: {error}", file=sys.stderr, flush=True)


def _install_environment(folder: Path) -> None:
    """Make an environment in its place, because it knows its own path; what fails leaves nothing."""
    lock = ROOT / "requirements" / f"{folder.name.rpartition('-')[0]}.txt"
    make_environment(getattr(sys, "_base_executable", sys.executable), folder, "--without-pip")
    try:
        with open_installer() as installer:
            installer.install_lock(lock, python=folder / "bin" / "python")
        (folder / _FINISHED).touch()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _install_packages(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    node_tool.install_packages(folder, node_tool.ensure_node(NODE_VERSION), name="the peers")
    (folder / _FINISHED).touch()


if __name__ == "__main__":
    install_all()
