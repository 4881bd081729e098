"""What a peer runs on: a folder, servers of its own, and the processes of its program."""

import json
import os
import select
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Final, Self

import psutil

from bench.peers.installation import find_python
from bench.peers.peer import Peer
from tests.support.servers.brokers import Broker, Nats, Redis
from tests.support.servers.private_servers import Postgres, PrivateServer, find_free_port

_HARNESS: Final = Path(__file__).parent / "programs" / "harness.py"
#: seconds after which a program that says nothing has gone wrong
REPLY_TIMEOUT: Final = 60.0


class Failed(Exception):
    """A peer did not do what it was asked to."""


class DurableNats(Nats):
    """What JetStream acknowledges is on disk: a stock server flushes every two minutes."""

    def build_command(self, data: Path) -> list[str]:
        settings = data.parent / "nats.conf"
        settings.write_text(f'jetstream {{ store_dir: "{data}", sync_interval: always }}\n', encoding="utf-8")
        return [*super().build_command(data)[:1], "-c", str(settings), "-a", "127.0.0.1", "-p", str(self.port)]


_SERVICES: Final[dict[str, type[PrivateServer]]] = {"postgres": Postgres, "redis": Redis, "nats": DurableNats}


class ProgramProcess:
    """A process of a program: commands are sent, and what it reports is read, a JSON document a line."""

    def __init__(self, command: list[str], environ: dict[str, str], log: Path) -> None:
        self._buffer = b""
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environ, cwd=log.parent
            )
        self._log = log
        self.pid = self._process.pid

    def send(self, **command: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        self._process.stdin.flush()

    def receive(self, timeout: float = REPLY_TIMEOUT) -> dict[str, Any] | None:
        """Return what it reports next, or None after some seconds."""
        assert self._process.stdout is not None
        end = time.monotonic() + timeout
        while b"\n" not in self._buffer:
            readable, _, _ = select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))
            if not readable:
                return None
            data = os.read(self._process.stdout.fileno(), 1 << 20)
            if not data:
                raise Failed(self._read_last_error())
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        report = dict(json.loads(line))
        if "failed" in report:
            raise Failed(_shorten(report["failed"]))
        return report

    def require(self, field: str) -> Any:
        """Return a field of what it reports next; skip reports without it."""
        while report := self.receive():
            if field in report:
                return report[field]
        raise Failed("it says nothing")

    def wait(self) -> None:
        """Wait until it ends, which it must do without an error."""
        if self._process.wait(REPLY_TIMEOUT):
            raise Failed(self._read_last_error())

    def kill(self) -> None:
        """SIGKILL; what it reported before can still be read."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _read_last_error(self) -> str:
        lines = [line.strip() for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return _shorten(lines[-1] if lines else "it ended")


class Setup:
    def __init__(self, peer: Peer, folder: Path, stack: ExitStack) -> None:
        self.peer = peer
        self._folder = folder
        self.config: dict[str, Any] = {"folder": str(folder), "home": str(folder / "home")}
        self.config["store"] = f"sqlite:///{folder}/gatepost.db"
        self.config["dbos"] = f"sqlite:///{folder}/dbos.db"
        self._services: list[PrivateServer] = []
        for name in peer.services:
            service = stack.enter_context(_SERVICES[name]())
            self._services.append(service)
            if isinstance(service, Postgres):
                self.config["postgres"] = self.config["dbos"] = stack.enter_context(service.create_database())
            elif isinstance(service, Broker):
                self.config[name] = service.url
        self._server: subprocess.Popen[bytes] | None = None
        if peer.server is not None:
            self.config["port"] = find_free_port()
            stack.callback(self._kill_server)
            self._start_server()
        with self.run("prepare") as process:
            process.wait()

    @contextmanager
    def run(self, role: str) -> Iterator[ProgramProcess]:
        """Run the program of the peer in one of the roles of the harness; return when it is ready."""
        python = str(find_python(self.peer.environment))
        command = [python, str(_HARNESS), self.peer.program, role, json.dumps(self.config)]
        with ProgramProcess(command, self._build_environ(), self._folder / f"{role}.log") as process:
            if role != "prepare":
                process.require("ready")
            yield process

    def list_processes(self) -> list[psutil.Process]:
        """The servers of the peer and what they have started."""
        servers = [*(service._server for service in self._services), self._server]
        pids = [server.pid for server in servers if server is not None]
        return [process for pid in pids for process in list_tree(pid)]

    def kill_servers(self) -> None:
        self._kill_server()
        for service in self._services:
            service.kill()

    def restart_servers(self) -> None:
        for service in self._services:
            service.restart()
        if self.peer.server is not None:
            self._start_server()

    def _start_server(self) -> None:
        assert self.peer.server is not None
        command, environ = self.peer.server(self.config)
        path = self._folder / "server.log"
        with path.open("ab") as log:
            self._server = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self._folder,
                env=self._build_environ() | environ,
                start_new_session=True,
            )
        end = time.monotonic() + REPLY_TIMEOUT * 2
        while not (is_listening(self.config["port"]) and path.stat().st_size):  # it says so when it is ready
            if self._server.poll() is not None or time.monotonic() > end:
                raise Failed("its server does not start")
            time.sleep(0.1)

    def _kill_server(self) -> None:
        if self._server is not None:
            for process in list_tree(self._server.pid):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            self._server.wait()
            self._server = None

    def _build_environ(self) -> dict[str, str]:
        names = ("PATH", "LANG", "LC_ALL", "TMPDIR")
        return {name: os.environ[name] for name in names if name in os.environ} | {"HOME": str(self._folder)}


def _shorten(text: str) -> str:
    """The beginning of an error, as it fits into a cell of a table."""
    return " ".join(text.replace("|", "/").split())[:120]


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def list_tree(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


@contextmanager
def open_setup(peer: Peer) -> Iterator[Setup]:
    with TemporaryDirectory(prefix="gatepost-bench-", ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        yield Setup(peer, Path(folder), stack)
