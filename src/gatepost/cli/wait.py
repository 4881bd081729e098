"""How a command waits for something to end: it reads it again and again, from the store or through a gateway."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from gatepost.actions import deadlines
from gatepost.actions.deadlines import EventScan
from gatepost.cli.parameters import option
from gatepost.core.times import SECOND, Duration, parse_duration
from gatepost.errors import GatepostError
from gatepost.ports import Reader, Store

T = TypeVar("T")

FOR: Final = option("--for", "10m", "how long to wait at most; by default until the end", parse=parse_duration)

#: seconds between two reads: few at first, since some are answered at once
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 1.0


def poll(store: Store | None, read: Callable[[], T], is_over: Callable[[T], bool], timeout: Duration | None) -> T:
    """
    Read until it is over, or until the timeout, and return what was read last. Without a gateway nobody else ends what
    is due, so it is ended here, in the `store`.
    """
    end = time.monotonic() + timeout / SECOND if timeout is not None else None
    pause, last_scan = _FIRST_PAUSE, None
    while True:
        if store is not None:
            last_scan = _end_due(store, last_scan)
        value = read()
        remaining = end - time.monotonic() if end is not None else pause
        if is_over(value) or remaining <= 0:
            return value
        time.sleep(min(pause, remaining))
        pause = min(_LONGEST_PAUSE, pause * 1.5)


def _end_due(store: Store, last_scan: EventScan | None) -> EventScan | None:
    """
    End what is due, as a gateway would, and return how far events were scanned. What cannot be ended keeps nobody from
    waiting for something else.
    """
    with suppress(GatepostError):
        while True:
            is_due, last_scan = store.read_sync(_find_due, last_scan)
            if not is_due or not store.run_sync(deadlines.end_due, last_scan=last_scan):
                break
    return last_scan


def _find_due(tx: Reader, last_scan: EventScan | None) -> tuple[bool, EventScan]:
    next_due, scan = deadlines.find_next_due(tx), deadlines.scan_events(tx, last_scan)
    return bool(scan.matches) or (next_due is not None and next_due <= tx.now), scan
