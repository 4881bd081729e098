"""A terminal in which a test runs an agent program: it types, and reads what is on the screen."""

import os
import pty
import re
import select
import signal
import struct
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from fcntl import ioctl
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.support.waits import LAST_RESORT

ESCAPE: Final = "\x1b"
ENTER: Final = "\r"
DOWN: Final = "\x1b[B"
#: lines and columns, so that no text of a test is broken into lines
SIZE: Final = (50, 200)
_CONTROLS: Final = re.compile(
    rb"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9]|[=>78cDEHM])|[\r\x0f]"
)
#: programs move the cursor over a space instead of writing it
_MOVES: Final = re.compile(rb"\x1b\[(\d*)C")


class Terminal:
    """A program in a terminal of its own. What it writes is read by a thread, so that it never has to wait for us."""

    def __init__(self, command: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> None:
        self._output = bytearray()
        self._has_output = threading.Condition()
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:  # the program
            os.chdir(cwd)
            os.execvpe(command[0], list(command), {**environ, "TERM": "xterm-256color"})  # noqa: S606 (a program of the test)
        ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        self._reader = threading.Thread(target=self._read, name="terminal")
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Kill the program, unless it has ended, and wait until it is gone."""
        try:
            if os.waitpid(self.pid, os.WNOHANG) == (0, 0):
                os.kill(self.pid, number)
                os.waitpid(self.pid, 0)
        except ChildProcessError:
            pass
        self._reader.join()

    def wait(self) -> None:
        """Wait until the program has ended by itself."""
        deadline = time.monotonic() + LAST_RESORT
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            assert time.monotonic() < deadline, f"it did not end:\n{self.read_tail()}"
            select.select([], [], [], 0.05)
        self._reader.join()

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def mark(self) -> int:
        """Return a place in the output: what is written later comes after it."""
        return len(self._output)

    def read_bytes(self, after: int) -> bytes:
        """Return what was written, with the controls of the terminal."""
        return bytes(self._output[after:])

    def wait_for(self, *texts: str, after: int = 0) -> str:
        """Wait until one of these texts was written; spaces do not count. Return it."""
        deadline = time.monotonic() + LAST_RESORT
        with self._has_output:
            while True:
                written = re.sub(r"\s", "", self.read_text(after))
                for text in texts:
                    if re.sub(r"\s", "", text) in written:
                        return text
                remaining = deadline - time.monotonic()
                assert remaining > 0, f"{texts} did not appear:\n{self.read_tail()}"
                self._has_output.wait(remaining)

    def read_text(self, after: int = 0) -> str:
        """Return what was written, without the controls of the terminal."""
        moved = _MOVES.sub(lambda match: b" " * int(match[1] or 1), bytes(self._output[after:]))
        return _CONTROLS.sub(b"", moved).decode(errors="replace")

    def read_tail(self) -> str:
        return self.read_text()[-3_000:]

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._terminal, 65_536)
            except OSError:  # the program has ended
                chunk = b""
            with self._has_output:
                self._output += chunk
                self._has_output.notify_all()
            if not chunk:
                os.close(self._terminal)
                return
