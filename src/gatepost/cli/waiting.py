"""How a command waits for something to end: it looks again and again, here or through a gateway."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from gatepost.cli.here import Here
from gatepost.core.instants import SECOND, Duration

T = TypeVar("T")

#: seconds between two looks: soon at first, since some are answered at once
_FIRST: Final = 0.1
_LONGEST: Final = 1.0


def until(place: Here, look: Callable[[], T], over: Callable[[T], bool], most: Duration | None) -> T:
    """Look until it is over, or for so long, and return what was seen last."""
    end = time.monotonic() + most / SECOND if most is not None else None
    pause = _FIRST
    while True:
        place.verbs.end_due()
        seen = look()
        left = end - time.monotonic() if end is not None else pause
        if over(seen) or left <= 0:
            return seen
        time.sleep(min(pause, left))
        pause = min(_LONGEST, pause * 1.5)
