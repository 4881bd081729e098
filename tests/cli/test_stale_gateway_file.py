"""A gateway that is gone leaves a file behind, and its port and process number to others: they get nothing."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from gatepost import settings
from gatepost.cli.gateway_or_store import find_agent
from gatepost.client import Client
from gatepost.directory.entity_api import ShowEntity
from gatepost.errors import Unavailable
from gatepost.guests.courier_commands import CourierSource
from gatepost.inbox.item_api import WatchInbox
from gatepost.settings import gateway_files
from tests.support.command_homes import start_local_gateway
from tests.support.command_line import CommandLine


class ForeignServer(threading.Thread):
    """Has the port of a gateway that is gone, answers as one would that does not know the caller, and listens."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[bytes] = []
        self.start()

    def run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.requests.append(connection.recv(65_536))
                connection.sendall(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.join()


@pytest.fixture
def foreign_server(cli: CommandLine) -> Iterator[ForeignServer]:
    """In a home whose gateway was killed: its notice is there, with a process number that is in use again."""
    (cli.home / gateway_files.ADMIN_KEY).write_text("sk_" + "x" * 43 + "\n")
    with socket.socket(socket.AF_UNIX) as dead_socket:
        dead_socket.bind(str(cli.home / "gateway.sock"))
    (cli.home / "gateway.sock").chmod(0o600)
    foreign_server = ForeignServer()
    document = {
        "url": foreign_server.url,
        "pid": os.getppid(),
        "store": f"sqlite:///{cli.database}",
        "socket": str(cli.home / "gateway.sock"),
    }
    (cli.home / gateway_files.FILE_NAME).write_text(json.dumps(document))
    yield foreign_server
    foreign_server.close()


def test_a_command_does_without_it(cli: CommandLine, foreign_server: ForeignServer) -> None:
    assert "analyst" in cli.run_ok("agent", "list").out
    assert foreign_server.requests == []
    assert not (cli.home / gateway_files.FILE_NAME).exists(), "it is taken down"


def test_without_a_socket_it_counts_as_gone(cli: CommandLine, foreign_server: ForeignServer) -> None:
    document = json.loads((cli.home / gateway_files.FILE_NAME).read_text())
    for path in (None, 1, str(cli.home / "nowhere.sock"), str(cli.database)):
        (cli.home / gateway_files.FILE_NAME).write_text(json.dumps(document | {"socket": path}))
        assert "analyst" in cli.run_ok("agent", "list").out
    assert foreign_server.requests == []


async def test_a_courier_does_without_it(cli: CommandLine, foreign_server: ForeignServer) -> None:
    configuration = settings.load({"GATEPOST_HOME": str(cli.home)})
    entity = find_agent(configuration, "analyst")
    assert entity is not None
    assert entity.name == "analyst"
    with ExitStack() as stack:
        source = CourierSource(configuration, "analyst", stack)
        assert await source.read_pending() == []
        with pytest.raises(Unavailable, match="no gateway runs here any more"):
            source.open_client()
    assert foreign_server.requests == []


async def test_a_request_is_tried_again_only_at_a_gateway_that_is_still_there(foreign_server: ForeignServer) -> None:
    """The gateway is killed while a command runs: the next try would bring the key to whoever is there now."""

    async def refuse() -> None:
        raise Unavailable("no gateway is at that address any more")

    async with Client(foreign_server.url, key="sk_" + "x" * 43, retry_time=0.1, check=refuse) as client:
        with pytest.raises(Unavailable, match="no gateway is at"):
            await client.send(ShowEntity(name="analyst"))
        with pytest.raises(Unavailable, match="no gateway is at"):
            await anext(client.stream(WatchInbox(name="analyst")))
    assert foreign_server.requests == []


def test_a_socket_that_others_can_reach_is_not_asked(cli: CommandLine) -> None:
    with start_local_gateway(cli):
        assert gateway_files.find_gateway(cli.home) is not None
        (cli.home / "gateway.sock").chmod(0o666)
        assert gateway_files.find_gateway(cli.home) is None
        assert (cli.home / gateway_files.FILE_NAME).exists(), "somebody listens there"


def test_its_word_counts_and_not_that_of_the_file(cli: CommandLine, foreign_server: ForeignServer) -> None:
    (cli.home / "gateway.sock").unlink()
    with start_local_gateway(cli) as gateway:
        document = json.loads((cli.home / gateway_files.FILE_NAME).read_text())
        (cli.home / gateway_files.FILE_NAME).write_text(json.dumps(document | {"url": foreign_server.url, "pid": 1}))
        gateway_info = gateway_files.find_gateway(cli.home)
        assert gateway_info is not None
        assert (gateway_info.url, gateway_info.pid) == (gateway.base_url, os.getpid())
        cli.run_ok("agent", "list")
    assert foreign_server.requests == []
