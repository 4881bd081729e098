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

from tests.forking import ForkedProcess

ROOT = Path(__file__).parent.parent.parent
#: seconds that a worker may be silent
LONGEST = 90.0


class Hand:
    """A worker process: it lives one life after the other."""

    def __init__(self, url: str, folder: Path) -> None:
        self._trouble = folder / f"trouble-{id(self)}"
        with self._trouble.open("wb") as trouble:
            self._process = ForkedProcess(
                [sys.executable, "-m", "tests.faults.worker", url, str(folder)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=trouble,
            )
        self._child: int | None = None
        self._said = b""

    def start(self, **job: Any) -> None:
        """Begin a life."""
        assert self._process.stdin is not None
        self._process.stdin.write((json.dumps(job) + "\n").encode())
        self._process.stdin.flush()
        self._child = self.heard("started")

    def heard(self, word: str) -> Any:
        """Wait until the worker says this; anything else is a failure."""
        said = json.loads(self._line() or "{}")
        if "ended" in said:
            self._child = None
        if word not in said:
            raise AssertionError(f"the worker said {said}, not {word!r}: {self._trouble.read_text()}")
        return said[word]

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._said:
            ready, _, _ = select.select([self._process.stdout], [], [], LONGEST)
            if not ready:
                raise AssertionError(f"the worker said nothing for {LONGEST:.0f} s")
            more = os.read(self._process.stdout.fileno(), 65_536)
            if not more:
                return b""
            self._said += more
        line, _, self._said = self._said.partition(b"\n")
        return line

    def signal(self, number: signal.Signals) -> None:
        assert self._child is not None
        try:
            os.kill(self._child, number)
        except ProcessLookupError:
            raise AssertionError(f"the worker is gone: {self._trouble.read_text()}") from None

    def kill(self) -> None:
        self.signal(signal.SIGKILL)

    def died(self) -> None:
        """Wait until its life has ended by SIGKILL, its own or ours."""
        ended = self.heard("ended")
        assert ended == -signal.SIGKILL, self._trouble.read_text()

    def finished(self) -> None:
        """Wait until its life has ended well."""
        ended = self.heard("ended")
        assert ended == 0, self._trouble.read_text()

    def outcome(self) -> int:
        """Wait until its life has ended, whatever it said; return its exit code, or minus the signal."""
        while "ended" not in (said := json.loads(self._line())):
            pass
        self._child = None
        return int(said["ended"])

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
def hands(count: int, url: str, folder: Path) -> Iterator[list[Hand]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Hand(url, folder)) for _ in range(count)]
