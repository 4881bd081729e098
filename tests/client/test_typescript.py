"""
The TypeScript client: its package is built as for npm, and its own tests run in Node.js against real gateways.

By day the programs of its README run, and the tests that need no gateway; the others as well if the client or its tests
have changed. The page, which is looked at by day, does everything through the client.
"""

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.programs import cache
from tests.support.gateways.gateway_process import GATEPOST_COMMAND

by_night = pytest.mark.nightly_unless_changed("clients/typescript", "tests/client/test_typescript.py")
#: those with a gateway of their own
LONG_TESTS = {"hooks.test.ts", "requests.test.ts", "spaces.test.ts", "streams.test.ts"}
TEST_FILES = [
    pytest.param(path.name, marks=by_night if path.name in LONG_TESTS else ())
    for path in sorted((cache.CLIENT / "tests").glob("*.test.ts"))
]
#: what is made here, or put there by somebody who works on the client
IGNORED = ("node_modules", "dist", "build", "examples")
#: seconds, which only what never ends takes; Node.js ends earlier, and says which test did not end
TIMEOUT = 600
NODE_TIMEOUT = 300


@pytest.fixture(scope="module")
def node() -> Path:
    node = cache.find_node(cache.CLIENT_NODE_VERSION)
    if node is None or not cache.is_installed(cache.CLIENT):
        pytest.skip("NOT CHECKED: Node.js and the packages of the client are not installed; `make test` installs them")
    return node


@pytest.fixture(scope="module")
def package(node: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The package with its tests, compiled, in a folder of its own: once for all processes that run tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "typescript-client"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            staging = tmp_path_factory.mktemp("client") / "package"
            build_package(node, staging)
            staging.rename(folder)
    return folder


def build_package(node: Path, folder: Path) -> None:
    shutil.copytree(cache.CLIENT, folder, ignore=shutil.ignore_patterns(*IGNORED))
    modules = cache.find_folder(cache.CLIENT) / "node_modules"
    (folder / "node_modules").symlink_to(modules)
    compiler = modules / "typescript" / "bin" / "tsc"
    for arguments in ([compiler], ["tests/examples.mjs"], [compiler, "--project", "tests"]):
        run_node(node, *arguments, folder=folder)


def run_node(node: Path, *arguments: Path | str, folder: Path) -> None:
    """Run a program in Node.js, and fail with what it wrote."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("GATEPOST_", "NODE_"))}
    result = subprocess.run(
        [node, *arguments],
        cwd=folder,
        env=environ | {"GATEPOST_COMMAND": json.dumps(GATEPOST_COMMAND)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("name", TEST_FILES)
def test_the_client(node: Path, package: Path, name: str) -> None:
    test_file = package / "build" / name.replace(".ts", ".js")
    options = ("--test", "--test-force-exit", f"--test-timeout={NODE_TIMEOUT * 1000}", "--test-reporter=spec")
    run_node(node, *options, test_file, folder=package)


def test_the_package_depends_on_nothing_and_brings_what_it_exports(package: Path) -> None:
    manifest = json.loads((package / "package.json").read_text())
    assert "dependencies" not in manifest
    assert manifest["files"] == ["dist"]
    assert manifest["scripts"]["prepack"] == "npm run build", "a package without `dist` would be empty"
    assert (package / "LICENSE").read_bytes() == (cache.CLIENT.parents[1] / "LICENSE").read_bytes()
    for path in manifest["exports"].values():
        assert (package / path).exists()
        assert (package / path).with_suffix(".d.ts").exists()
    sources = "".join(path.read_text() for path in (package / "dist").rglob("*.js"))
    imported = {line.rpartition(" ")[2].strip('";') for line in sources.splitlines() if line.startswith("import ")}
    assert {name for name in imported if not name.startswith(".")} == {"react", "preact/hooks"}
