"""How long, and how often, something is tried again: with pauses that grow, and differ, until a time is over."""

import asyncio
import random
import time
from typing import Final

_FIRST: Final = 0.05
_LONGEST: Final = 2.0


class Patience:
    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._pause = _FIRST

    async def again(self, asked: float = 0.0) -> bool:
        """Wait before the next try, at least as long as was `asked` for; False if that would be too late."""
        pause = max(asked, self._pause * random.uniform(0.5, 1.0))  # noqa: S311 (not for secrecy)
        if time.monotonic() + pause > self._end:
            return False
        self._pause = min(_LONGEST, 2 * self._pause)
        await asyncio.sleep(pause)
        return True
