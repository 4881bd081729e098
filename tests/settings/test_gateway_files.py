"""The notice of a gateway, where several gateways share a home."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatepost.errors import Unavailable
from gatepost.settings import gateway_files
from gatepost.settings.gateway_files import GatewayFile

STORE_URL = "sqlite:///office.db"
OUR_URL = "http://127.0.0.1:1"


@pytest.fixture
def listener(tmp_path_factory: pytest.TempPathFactory) -> Iterator[socket.socket]:
    path = tmp_path_factory.mktemp("socket") / "gateway.sock"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
        path.chmod(0o600)
        sock.listen()
        yield sock


def write_other(home: Path, listener: socket.socket, pid: int) -> GatewayFile:
    """Another gateway has put up its notice."""
    record = GatewayFile("http://127.0.0.1:2", pid, STORE_URL, listener.getsockname())
    (home / gateway_files.FILE_NAME).write_text(json.dumps(record._asdict()))
    return record


def test_the_first_keeps_it_and_the_second_has_it_afterwards(tmp_path: Path, listener: socket.socket) -> None:
    first = write_other(tmp_path, listener, os.getppid())
    with gateway_files.publish(tmp_path, OUR_URL, STORE_URL, "mine.sock") as check:
        assert gateway_files.read_gateway_file(tmp_path) == first
        check()
        assert gateway_files.read_gateway_file(tmp_path) == first
        (tmp_path / gateway_files.FILE_NAME).unlink()
        check()
        assert gateway_files.read_gateway_file(tmp_path) == GatewayFile(OUR_URL, os.getpid(), STORE_URL, "mine.sock")
    assert list(tmp_path.iterdir()) == []


def test_the_second_goes_and_leaves_it(tmp_path: Path, listener: socket.socket) -> None:
    first = write_other(tmp_path, listener, os.getppid())
    with gateway_files.publish(tmp_path, OUR_URL, STORE_URL, "mine.sock"):
        pass
    assert gateway_files.read_gateway_file(tmp_path) == first


def test_a_process_that_lives_but_does_not_listen_is_another_program(tmp_path: Path, listener: socket.socket) -> None:
    """The gateway was killed, and its number was given away."""
    write_other(tmp_path, listener, os.getppid())
    listener.close()
    with gateway_files.publish(tmp_path, OUR_URL, STORE_URL, "mine.sock"):
        assert gateway_files.read_gateway_file(tmp_path) == GatewayFile(OUR_URL, os.getpid(), STORE_URL, "mine.sock")


def test_one_at_the_same_place_was_before_us(tmp_path: Path, listener: socket.socket) -> None:
    first = write_other(tmp_path, listener, os.getppid())
    with gateway_files.publish(tmp_path, first.url, STORE_URL):
        assert gateway_files.read_gateway_file(tmp_path) == GatewayFile(first.url, os.getpid(), STORE_URL)


def test_one_that_could_not_listen_leaves_it_to_whoever_was_first(tmp_path: Path, listener: socket.socket) -> None:
    """Commands would find neither of the two, and the file would change hands for ever."""
    first = write_other(tmp_path, listener, os.getppid())
    listener.close()
    with gateway_files.publish(tmp_path, OUR_URL, STORE_URL) as check:
        check()
        assert gateway_files.read_gateway_file(tmp_path) == first


def test_a_key_that_may_not_be_read_keeps_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, **_: str) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("gatepost.paths.read_trusted_file", refuse)
    with pytest.raises(Unavailable, match=r"the administrator's key cannot be read: .* Permission denied") as error:
        gateway_files.read_admin_key(tmp_path)
    assert error.value.hint == f"run the command as its owner, or `chmod 600 {tmp_path / 'admin.key'}`"
