"""The notice of a gateway, where several gateways share a home."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatepost.runtime import notice
from gatepost.runtime.notice import Notice

STORE = "sqlite:///office.db"
MINE = "http://127.0.0.1:1"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield found


def others(home: Path, listener: socket.socket, pid: int) -> Notice:
    """Another gateway has put up its notice."""
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    (home / notice.NAME).write_text(json.dumps({"url": url, "pid": pid, "store": STORE, "socket": None}))
    return Notice(url, pid, STORE)


def test_the_first_keeps_it_and_the_second_has_it_afterwards(tmp_path: Path, listener: socket.socket) -> None:
    first = others(tmp_path, listener, os.getppid())
    with notice.posted(tmp_path, MINE, STORE, "mine.sock") as look:
        assert notice.read(tmp_path) == first
        look()
        assert notice.read(tmp_path) == first
        (tmp_path / notice.NAME).unlink()
        look()
        assert notice.read(tmp_path) == Notice(MINE, os.getpid(), STORE, "mine.sock")
    assert list(tmp_path.iterdir()) == []


def test_the_second_goes_and_leaves_it(tmp_path: Path, listener: socket.socket) -> None:
    first = others(tmp_path, listener, os.getppid())
    with notice.posted(tmp_path, MINE, STORE):
        pass
    assert notice.read(tmp_path) == first


def test_a_process_that_lives_but_does_not_listen_is_another_program(tmp_path: Path, listener: socket.socket) -> None:
    """The gateway was killed, and its number was given away."""
    others(tmp_path, listener, os.getppid())
    listener.close()
    with notice.posted(tmp_path, MINE, STORE):
        assert notice.read(tmp_path) == Notice(MINE, os.getpid(), STORE)


def test_one_at_the_same_place_was_before_us(tmp_path: Path, listener: socket.socket) -> None:
    before = others(tmp_path, listener, os.getppid())
    with notice.posted(tmp_path, before.url, STORE):
        assert notice.read(tmp_path) == Notice(before.url, os.getpid(), STORE)
