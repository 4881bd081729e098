"""
What is pushed for guests of this machine is written to their spools, apart from the commit that it waits for: a lock
that another program keeps must not keep the gateway.
"""

import asyncio
from collections import deque
from typing import Final

from gatepost.core.signals import Signal, TransportMessage
from gatepost.hooks.spool_writer import SpoolWriter
from gatepost.runtime.periodic import Duty

#: rings that wait to be written; of more, the oldest are left to the store
_MOST: Final = 10_000


class Spooling:
    def __init__(self, carrier: SpoolWriter) -> None:
        """`duty` writes as soon as something was heard."""
        self._carrier = carrier
        self._rings: deque[Signal] = deque(maxlen=_MOST)
        self.duty = Duty("spooling", self._round, interval=3600.0)

    def heard(self, signal: TransportMessage) -> None:
        """For `SignalBus.subscribe`."""
        if isinstance(signal, Signal) and signal.event is not None:
            self._rings.append(signal)
            self.duty.wake()

    async def _round(self) -> None:
        while self._rings:
            rings = list(self._rings)
            self._rings.clear()
            await asyncio.to_thread(self._carrier, rings)
