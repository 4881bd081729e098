"""`gatepost up` in a process of its own: to be killed, told to stop, and started again where it was."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from gatepost.app import open_store, register_administrator
from gatepost.directory import entity_actions as directory, key_actions as keys
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.directory.key_handlers import generate_secret
from gatepost.settings.gateway_files import read_admin_key
from gatepost.spaces import actions as spaces
from tests.faults.crew_store import CREW
from tests.support.processes.fork_server import ForkedProcess
from tests.support.servers.private_servers import find_free_port
from tests.support.waits import LAST_RESORT

SPACE: Final = "deck"

#: Waits until its stdin closes, then kills the gateway: also when the test process was killed.
_GUARD_SCRIPT: Final = 'read _; kill -KILL "$1"'


def create_crew_and_space(url: str) -> dict[str, str]:
    """The crew, a person, and a space with all of them; returns a key for triggering each of the crew."""
    secrets = {name: generate_secret() for name in CREW}
    with closing(open_store(url)) as store:
        store.migrate()
        register_administrator(store)
        for name in CREW:
            store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, team="crew"))
            store.run_sync(keys.create, kind="trigger", secret=secrets[name], entity=name)
        store.run_sync(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
        store.run_sync(spaces.create, name="Deck", id=SPACE, members=["husam", *CREW])
    return secrets


class GuardedGateway:
    """A gateway's process. It keeps its port and its home over `kill()` and `start()`."""

    def __init__(
        self,
        home: Path,
        store: str,
        *,
        transport: str = "memory:",
        interval: str = "5s",
        max_files: int | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """`max_files` is how many files it may have open at most."""
        home.mkdir(mode=0o700)
        self._max_files = max_files
        self.home = home
        self.store = store
        self.port = find_free_port()
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")} | {
            "GATEPOST_HOME": str(home),
            "GATEPOST_DEBUG": "1",
            "GATEPOST_STORE": store,
            "GATEPOST_TRANSPORT": transport,
            "GATEPOST_JANITOR__INTERVAL": interval,
            **(environ or {}),
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def admin_key(self) -> str:
        """The administrator's."""
        return read_admin_key(self.home)

    @property
    def stderr(self) -> str:
        """Its stderr."""
        return (self.home / "stderr").read_text()

    def launch(self, *options: str) -> None:
        """Start it without waiting until it listens."""
        limit_command = (
            ["sh", "-c", 'ulimit -n "$0" && exec "$@"', str(self._max_files)] if self._max_files is not None else []
        )
        with (self.home / "stderr").open("ab") as stderr:
            self._process = ForkedProcess(
                [*limit_command, sys.executable, "-m", "gatepost.cli.main", "up", "--port", str(self.port), *options],
                env=self._environ,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
        self._guard = subprocess.Popen(
            ["sh", "-c", _GUARD_SCRIPT, "guard", str(self._process.pid)], stdin=subprocess.PIPE, start_new_session=True
        )

    def wait_until_ready(self) -> None:
        """Return when it says where it listens."""
        assert self._process is not None
        assert self._process.stdout is not None
        line = b""
        while b"\n" not in line:
            readable, _, _ = select.select([self._process.stdout], [], [], LAST_RESORT)
            chunk = os.read(self._process.stdout.fileno(), 4096) if readable else b""
            if not chunk:
                raise AssertionError(f"the gateway did not start: {self.stderr}")
            line += chunk
        assert line.splitlines()[0] == f"http://127.0.0.1:{self.port}".encode()  # a link to the page follows

    def start(self) -> None:
        self.launch()
        self.wait_until_ready()

    def kill(self) -> None:
        """SIGKILL, and return when it is dead."""
        self.send_signal(signal.SIGKILL)
        self.wait_for_exit()

    def send_signal(self, signal_number: signal.Signals) -> None:
        assert self._process is not None
        assert self._process.poll() is None, f"the gateway is gone: {self.stderr}"
        self._process.send_signal(signal_number)

    def wait_for_exit(self) -> int:
        """Wait until it has ended; return its exit code, or minus the signal."""
        assert self._process is not None
        assert self._guard is not None
        code = self._process.wait(LAST_RESORT)
        self._guard.kill()
        self._guard.communicate()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None
        return code

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self.wait_for_exit()


@contextmanager
def run_gateways(*gateways: GuardedGateway) -> Iterator[None]:
    """Start the houses together; none of them is left."""
    try:
        for gateway in gateways:
            gateway.launch()
        for gateway in gateways:
            gateway.wait_until_ready()
        yield
    finally:
        for gateway in gateways:
            gateway.close()
