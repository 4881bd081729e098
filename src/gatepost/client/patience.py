"""How long, and how often, something is tried again: with pauses that grow, and differ, until a time is over."""

import asyncio
import random
import time
from typing import Final

from gatepost.retry import Backoff

#: the numbers of a program that seeds the global generator stay its own
_RANDOM: Final = random.SystemRandom()
#: seconds
_BACKOFF: Final = Backoff(0.05, cap=2.0, jitter=(0.5, 1.0))


class Patience:
    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._retries = 0

    async def again(self, asked: float = 0.0) -> bool:
        """Wait before the next try, at least as long as was `asked` for; False if that would be too late."""
        pause = max(asked, _BACKOFF.delay(self._retries, _RANDOM.random()))
        if time.monotonic() + pause > self._end:
            return False
        self._retries += 1
        await asyncio.sleep(pause)
        return True
