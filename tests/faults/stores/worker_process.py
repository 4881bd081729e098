"""The test's side of `worker.py`."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.processes.fork_server import ForkedProcess
from tests.support.waits import LAST_RESORT

ROOT = Path(__file__).parents[3]


class WorkerProcess:
    """A worker process: it lives one life after the other."""

    def __init__(self, url: str, folder: Path) -> None:
        self._stderr_path = folder / f"trouble-{id(self)}"
        with self._stderr_path.open("wb") as stderr:
            self._process = ForkedProcess(
                [sys.executable, "-m", "tests.faults.stores.worker", url, str(folder)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
        self._child: int | None = None
        self._buffer = b""

    def start(self, **job: Any) -> None:
        """Begin a life."""
        assert self._process.stdin is not None
        self._process.stdin.write((json.dumps(job) + "\n").encode())
        self._process.stdin.flush()
        self._child = self.wait_for_message("started")

    def wait_for_message(self, key: str) -> Any:
        """Wait until the worker says this; anything else is a failure."""
        message = json.loads(self._read_line() or "{}")
        if "ended" in message:
            self._child = None
        if key not in message:
            raise AssertionError(f"the worker said {message}, not {key!r}: {self._stderr_path.read_text()}")
        return message[key]

    def _read_line(self) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._process.stdout], [], [], LAST_RESORT)
            if not ready:
                raise AssertionError(f"the worker said nothing for {LAST_RESORT:.0f} s")
            chunk = os.read(self._process.stdout.fileno(), 65_536)
            if not chunk:
                return b""
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def send_signal(self, signal_number: signal.Signals) -> None:
        assert self._child is not None
        try:
            os.kill(self._child, signal_number)
        except ProcessLookupError:
            raise AssertionError(f"the worker is gone: {self._stderr_path.read_text()}") from None

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait_until_killed(self) -> None:
        """Wait until its life has ended by SIGKILL, its own or ours."""
        exit_code = self.wait_for_message("ended")
        assert exit_code == -signal.SIGKILL, self._stderr_path.read_text()

    def wait_until_finished(self) -> None:
        """Wait until its life has ended well."""
        exit_code = self.wait_for_message("ended")
        assert exit_code == 0, self._stderr_path.read_text()

    def wait_for_exit(self) -> int:
        """Wait until its life has ended, whatever it said; return its exit code, or minus the signal."""
        while "ended" not in (message := json.loads(self._read_line())):
            pass
        self._child = None
        return int(message["ended"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child is not None:
            with suppress(AssertionError):
                self.kill()
        self._process.communicate()


@contextmanager
def start_workers(count: int, url: str, folder: Path) -> Iterator[list[WorkerProcess]]:
    with ExitStack() as stack:
        yield [stack.enter_context(WorkerProcess(url, folder)) for _ in range(count)]
