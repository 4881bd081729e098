"""
Show the steps of a long command as they are done, on stderr, a line each:

    [2/4] installing 62 packages ... 3.1 s

Only the present step is written, so the lines are the same on a terminal and in a log.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Step:
    #: what the step took, if that is not the time during which it was shown
    seconds: float | None = None


class Steps:
    def __init__(self, total: int) -> None:
        self._total = total
        self._number = 0

    @contextmanager
    def show(self, words: str) -> Iterator[Step]:
        """Show what the body does, then the time that it took, or that it failed."""
        self._number += 1
        _write(f"[{self._number}/{self._total}] {words} ...")
        step, started = Step(), time.monotonic()
        try:
            yield step
        except BaseException:
            _write(" failed\n")
            raise
        seconds = time.monotonic() - started if step.seconds is None else step.seconds
        _write(f" {seconds:.1f} s\n")

    def announce(self, words: str) -> None:
        """Show what is done from now on, until somebody stops it."""
        self._number += 1
        _write(f"[{self._number}/{self._total}] {words}\n")

    def report(self, text: str) -> None:
        """Add a remark to the line of the present step."""
        _write(f" {text} ...")


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
