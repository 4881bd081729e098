"""How much processor time this process and everything that it has started have used."""

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")


def measure_own_time() -> float:
    """Return the seconds of processor time of this process, all its threads included."""
    return time.process_time()


def measure_child_time() -> float:
    """
    Return the seconds of processor time of all processes that this one has started, directly or not.

    A process that has ended is counted by its parent when the parent waits for it, so nothing is lost or counted twice.
    Where there is no /proc, processes that still run are not counted.
    """
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = sum(_read_time(pid) for pid in _list_descendants(os.getpid()))
    return usage.ru_utime + usage.ru_stime + running


def _list_descendants(parent: int) -> Iterator[int]:
    """Yield the numbers of the processes below one. A process that ends meanwhile is left out."""
    try:
        threads = os.listdir(f"/proc/{parent}/task")  # noqa: PTH208
    except OSError:
        return
    for thread in threads:
        try:
            children = Path(f"/proc/{parent}/task/{thread}/children").read_bytes().split()
        except OSError:
            continue
        for child in map(int, children):
            yield child
            yield from _list_descendants(child)


def _read_time(pid: int) -> float:
    """Return the processor time of a process, and of those of its children that it has waited for."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0
    fields = text.rpartition(")")[2].split()  # the name before it may have spaces and parentheses
    return sum(map(int, fields[11:15])) / _TICKS_PER_SECOND
