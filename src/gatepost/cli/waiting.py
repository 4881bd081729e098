"""How a command waits for something to end: it looks again and again, here or through a gateway."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from gatepost.actions import deadlines
from gatepost.actions.deadlines import EventScan
from gatepost.cli.here import Here
from gatepost.core.times import SECOND, Duration
from gatepost.errors import GatepostError
from gatepost.ports import Reader, Store

T = TypeVar("T")

#: seconds between two looks: soon at first, since some are answered at once
_FIRST: Final = 0.1
_LONGEST: Final = 1.0


def until(place: Here, look: Callable[[], T], over: Callable[[T], bool], most: Duration | None) -> T:
    """Look until it is over, or for so long, and return what was seen last."""
    end = time.monotonic() + most / SECOND if most is not None else None
    pause, looked = _FIRST, None
    while True:
        if place.store is not None:
            looked = _end_due(place.store, looked)
        seen = look()
        left = end - time.monotonic() if end is not None else pause
        if over(seen) or left <= 0:
            return seen
        time.sleep(min(pause, left))
        pause = min(_LONGEST, pause * 1.5)


def _end_due(store: Store, looked: EventScan | None) -> EventScan | None:
    """
    Let end what is over by now, as a gateway would, and return how far it was looked for events. What cannot be ended
    keeps nobody from waiting for something else.
    """
    with suppress(GatepostError):
        while True:
            over, looked = store.query(_over, looked)
            if not over or not store.call(deadlines.end_due, last_scan=looked):
                break
    return looked


def _over(tx: Reader, last: EventScan | None) -> tuple[bool, EventScan]:
    due, looked = deadlines.find_next_due(tx), deadlines.scan_events(tx, last)
    return bool(looked.matches) or (due is not None and due <= tx.now), looked
