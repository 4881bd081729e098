"""A gateway that is gone leaves a file behind, and its port and process number to others: they get nothing."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from gatepost import settings
from gatepost.cli.courier import _House
from gatepost.client import Client
from gatepost.errors import Unavailable
from gatepost.runtime import admin_key, gateway_file
from tests.acceptance.conftest import attended
from tests.acceptance.office import Office


class Stranger(threading.Thread):
    """Has the port of a gateway that is gone, answers as one would that does not know the caller, and listens."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._ears = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._ears.getsockname()[1]}"
        self.heard: list[bytes] = []
        self.start()

    def run(self) -> None:
        while True:
            try:
                line, _ = self._ears.accept()
            except OSError:
                return
            with line:
                self.heard.append(line.recv(65_536))
                line.sendall(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

    def close(self) -> None:
        self._ears.shutdown(socket.SHUT_RDWR)
        self._ears.close()
        self.join()


@pytest.fixture
def stranger(office: Office) -> Iterator[Stranger]:
    """In a home whose gateway was killed: its notice is there, with a process number that is in use again."""
    (office.home / admin_key.ADMIN_KEY).write_text("sk_" + "x" * 43 + "\n")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(office.home / "gateway.sock"))
    (office.home / "gateway.sock").chmod(0o600)
    made = Stranger()
    document = {
        "url": made.url,
        "pid": os.getppid(),
        "store": f"sqlite:///{office.database}",
        "socket": str(office.home / "gateway.sock"),
    }
    (office.home / gateway_file.FILE_NAME).write_text(json.dumps(document))
    yield made
    made.close()


def test_a_command_does_without_it(office: Office, stranger: Stranger) -> None:
    assert "analyst" in office.done("agent", "list").out
    assert stranger.heard == []
    assert not (office.home / gateway_file.FILE_NAME).exists(), "it is taken down"


def test_without_a_socket_it_counts_as_gone(office: Office, stranger: Stranger) -> None:
    document = json.loads((office.home / gateway_file.FILE_NAME).read_text())
    for path in (None, 1, str(office.home / "nowhere.sock"), str(office.database)):
        (office.home / gateway_file.FILE_NAME).write_text(json.dumps(document | {"socket": path}))
        assert "analyst" in office.done("agent", "list").out
    assert stranger.heard == []


async def test_a_courier_does_without_it(office: Office, stranger: Stranger) -> None:
    configuration = settings.load({"GATEPOST_HOME": str(office.home)})
    with ExitStack() as stack:
        house = _House(configuration, stack)
        entity = await house.entity("analyst")
        assert entity is not None
        assert entity.name == "analyst"
        assert await house.pending("analyst") == []
        with pytest.raises(Unavailable, match="no gateway runs here any more"):
            house._client()
    assert stranger.heard == []


async def test_a_request_is_tried_again_only_at_a_gateway_that_is_still_there(stranger: Stranger) -> None:
    """The gateway is killed while a command runs: the next try would bring the key to whoever is there now."""

    async def is_there() -> bool:
        return False

    async with Client(stranger.url, key="sk_" + "x" * 43, patience=0.1, is_there=is_there) as client:
        with pytest.raises(Unavailable, match="no gateway is at"):
            await client.entity("analyst")
        with pytest.raises(Unavailable, match="no gateway is at"):
            await anext(client.watch_inbox("analyst"))
    assert stranger.heard == []


def test_a_socket_that_others_can_reach_is_not_asked(office: Office) -> None:
    with attended(office):
        assert gateway_file.find_gateway(office.home) is not None
        (office.home / "gateway.sock").chmod(0o666)
        assert gateway_file.find_gateway(office.home) is None
        assert (office.home / gateway_file.FILE_NAME).exists(), "somebody listens there"


def test_its_word_counts_and_not_that_of_the_file(office: Office, stranger: Stranger) -> None:
    (office.home / "gateway.sock").unlink()
    with attended(office) as gateway:
        document = json.loads((office.home / gateway_file.FILE_NAME).read_text())
        (office.home / gateway_file.FILE_NAME).write_text(json.dumps(document | {"url": stranger.url, "pid": 1}))
        found = gateway_file.find_gateway(office.home)
        assert found is not None
        assert (found.url, found.pid) == (gateway.base, os.getpid())
        office.done("agent", "list")
    assert stranger.heard == []
