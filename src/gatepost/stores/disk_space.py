"""
Decide whether the disk has room: what is new is refused while the disk is nearly full or, for health, after a failure.

A transaction that adds something new needs the reserve (`store.reserve`) to be free; reading and acking go on without
it. A transaction that failed is remembered until one as large is stored: where a push finds no room, the small writes
of the background still do.
"""

import threading
from collections.abc import Callable
from typing import Final

from gatepost.errors import Unavailable

#: bytes that a trial writes: as many as failed, with their rows and indexes, between these
_MIN_TRIAL_SIZE: Final = 1024 * 1024
_MAX_TRIAL_SIZE: Final = 64 * 1024 * 1024


class DiskSpace:
    """The reserve on the disk of a store, and why its last large transaction failed."""

    def __init__(self, reserve: int) -> None:
        self._reserve = reserve
        self._lock = threading.Lock()
        self.failure: str | None = None
        #: roughly the bytes of the largest transaction that failed since one as large was stored
        self._failed_size = 0

    def require_reserve(self, free: int | None) -> None:
        """Raise Unavailable if the free bytes are fewer than the reserve; None is not known, which is enough."""
        if free is not None and free < self._reserve:
            raise Unavailable(
                f"the disk of the store is nearly full: {free >> 20} MiB are free, less than {self._reserve >> 20} MiB"
                " (store.reserve)",
                hint="make room; nothing was stored, and reading and acking go on",
            )

    def try_to_write(self, free: int | None, write_and_undo: Callable[[int], None]) -> None:
        """Write as much as failed, and forget the failure if that succeeds."""
        try:
            self.require_reserve(free)
            write_and_undo(min(max(2 * self._failed_size, _MIN_TRIAL_SIZE), _MAX_TRIAL_SIZE))
        except Unavailable as error:
            self.failure = error.message
            raise
        self.failure, self._failed_size = None, 0

    def record_outcome(self, failure: str | None, measure_size: Callable[[], int]) -> None:
        """Remember why a transaction failed, or forget the failure if one as large is stored; sizes are in bytes."""
        if failure is None and self.failure is None:
            return
        size = measure_size()
        with self._lock:
            if failure is not None:
                self.failure, self._failed_size = failure, max(size, self._failed_size)
            elif size >= self._failed_size:
                self.failure, self._failed_size = None, 0
