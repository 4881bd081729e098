"""A bell for tests: it keeps what was rung, and can be waited for."""

import threading
from collections.abc import Callable, Sequence

from gatepost.core.ring import Ring

#: Seconds after which a ring that was waited for is missing.
PATIENCE = 10.0


class RecordingBell:
    def __init__(self) -> None:
        self.rings: list[Ring] = []
        self._changed = threading.Condition()

    def __call__(self, rings: Sequence[Ring]) -> None:
        with self._changed:
            self.rings.extend(rings)
            self._changed.notify_all()

    def wait(self, heard: Callable[[Sequence[Ring]], bool]) -> list[Ring]:
        """Return all rings as soon as they are what was waited for."""
        with self._changed:
            if not self._changed.wait_for(lambda: heard(self.rings), PATIENCE):
                raise TimeoutError(f"waited {PATIENCE:.0f} s in vain; heard {self.rings}")
            return list(self.rings)

    def clear(self) -> list[Ring]:
        """Forget the rings so far, and return them."""
        with self._changed:
            rings, self.rings = self.rings, []
            return rings
