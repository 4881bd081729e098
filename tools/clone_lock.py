"""
Let one tool at a time install and build in this clone.

The lock is on the folder of the clone, so no file remains if its holder is killed. The programs that install and build
inherit it: if only the tool is killed, the next one waits until its npm or pip has ended, and does not work beside it.
"""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]


@contextmanager
def hold_lock(folder: Path = ROOT) -> Iterator[None]:
    """Hold the lock of a folder. If another process holds it, say so on stderr and wait."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another `make` installs or builds in this folder; waiting for it", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            pass
        os.set_inheritable(lock, True)  # by those that are started with close_fds=False
        yield
    finally:
        os.close(lock)
