"""
The agent programs, MCP clients and SDKs from npm, in a cache outside the repository.

`python -m tests.programs.cache` installs what package-lock.json names, unless it is there already, and prints the
folder; with `ledger`, it installs what the lock in that folder names, and with `client`, what the tests of the
TypeScript client need. The folder is named after the digest of the lock, so another lock never finds the programs of
this one. No install script runs, because the tests start the native programs themselves.

After a change of a package.json, write its lock in that folder:
`npm install --package-lock-only --omit-lockfile-registry-resolved`.
"""

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from tools import node as node_tool

HERE: Final = Path(__file__).parent
#: the lock of what `make nightly` needs, and `make test-hosts` does not
LEDGER: Final = HERE / "ledger"
#: the lock of what the tests of the TypeScript client need
CLIENT: Final = HERE.parents[1] / "clients" / "typescript"
#: names another cache folder
VARIABLE: Final = "GATEPOST_TEST_PROGRAMS"
#: the oldest Node.js that all programs accept
NODE_VERSION: Final = (22, 19)
#: the oldest Node.js that the TypeScript client supports
CLIENT_NODE_VERSION: Final = node_tool.MINIMUM


def find_folder(source: Path = HERE) -> Path:
    """Return the folder of the programs that the lock in `source` names, whether they are installed or not."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get(VARIABLE) or Path(base) / "gatepost-test-programs")
    return folder / hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()[:16]


def is_installed(source: Path = HERE) -> bool:
    return find_folder(source).is_dir()


def find_node(minimum: tuple[int, int] = NODE_VERSION) -> Path | None:
    """Return a Node.js that is new enough for the programs: the one on the PATH, else the one from PyPI."""
    return node_tool.find_node(minimum)


def install(source: Path = HERE) -> Path:
    """Install the programs if they are missing, and return their folder. An interrupted install leaves nothing."""
    folder = find_folder(source)
    if folder.is_dir():
        return folder
    node = node_tool.require_node(CLIENT_NODE_VERSION if source == CLIENT else NODE_VERSION)
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, staging)
        node_tool.install_packages(staging, node, name=source.name)
        if not folder.exists():  # else another process was faster
            staging.rename(folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return folder


if __name__ == "__main__":
    sources = {"ledger": LEDGER, "client": CLIENT}
    try:
        sys.stdout.write(f"{install(sources[sys.argv[1]] if sys.argv[1:] else HERE)}\n")
    except node_tool.BuildError as error:
        sys.exit(f"error: {error}")
