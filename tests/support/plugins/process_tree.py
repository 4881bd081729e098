"""How much processor time this process and everything that it has started have used."""

import os
import resource
import time
from collections.abc import Iterator
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
            children = _read_file(f"/proc/{parent}/task/{thread}/children").split()
        except OSError:
            continue
        for child in map(int, children):
            yield child
            yield from _list_descendants(child)


def _read_time(pid: int) -> float:
    """Return the processor time of a process, and of those of its children that it has waited for."""
    try:
        text = _read_file(f"/proc/{pid}/stat")
    except OSError:
        return 0.0
    fields = text.rpartition(b")")[2].split()  # the name before it may have spaces and parentheses
    return sum(map(int, fields[11:15])) / _TICKS_PER_SECOND


def _read_file(path: str) -> bytes:
    """Return what a file of /proc has: it is asked for after every test, and pathlib takes twice as long."""
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 1 << 16)
    finally:
        os.close(file)
