"""
Write events for guests of this machine to their spools, apart from the commit that they wait for: a lock that another
program holds must not stop the gateway.
"""

import asyncio
from collections import deque
from typing import Final

from gatepost.core.signals import Signal, TransportMessage
from gatepost.hooks.spool_writer import SpoolWriter
from gatepost.runtime.periodic import Duty

#: signals that wait to be written; of more, the oldest are left to the store
_QUEUE_LIMIT: Final = 10_000


class SpoolRelay:
    def __init__(self, writer: SpoolWriter) -> None:
        """`duty` writes as soon as there is a signal."""
        self._writer = writer
        self._signals: deque[Signal] = deque(maxlen=_QUEUE_LIMIT)
        self.duty = Duty("spool relay", self._write_signals, interval=3600.0)

    def on_signal(self, signal: TransportMessage) -> None:
        """Note a signal to write; for `SignalBus.subscribe`."""
        if isinstance(signal, Signal) and signal.event is not None:
            self._signals.append(signal)
            self.duty.wake()

    async def _write_signals(self) -> None:
        while self._signals:
            signals = list(self._signals)
            self._signals.clear()
            await asyncio.to_thread(self._writer, signals)
