"""
The herald: tells whoever reads a stream of a gate or a decision that concerns them.

Verbs ring `gate:ID` and `decision:ID` after their commit, and a ring says no more than that. So the herald of each
gateway reads what it is about, and gives it as a frame to those of its readers whom it concerns: in the stream of their
inbox, and thereby in every stream that their inbox is part of.

    gate.opened  gate.resolved       to its owner, who made it, who is to resolve it, who waits for it
    decision.asked  .answered        to who asked and who was asked; with each round

Frames are live only. What must not be missed is an item of an inbox as well, and resumes like every other.
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog

from gatepost.actions import decisions, gates
from gatepost.core import wire
from gatepost.core.frame import Frame, TransportMessage
from gatepost.errors import GatepostError
from gatepost.ports import Reader, Store
from gatepost.runtime.live import LiveStreams

log = structlog.get_logger("gatepost.herald")

_EVENTS: Final = ("gate.opened", "gate.resolved", "decision.asked", "decision.answered")
#: what may wait to be told; more than that is not told
_QUEUE_LIMIT: Final = 1_000


class GateFrames:
    def __init__(self, store: Store, live_streams: LiveStreams) -> None:
        self._store = store
        self._live_streams = live_streams
        self._queue: asyncio.Queue[tuple[str, str]] = asyncio.Queue(_QUEUE_LIMIT)

    def on_signal(self, signal: TransportMessage) -> None:
        """Note what a ring is about, if anybody reads a stream."""
        if isinstance(signal, Frame):
            return
        noun, _, id = signal.recipient.partition(":")
        event = f"{noun}.{signal.cause}"
        if event in _EVENTS and self._live_streams.readers and not self._queue.full():
            self._queue.put_nowait((event, id))

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """While entered, what was heard is told, in that order."""
        task = asyncio.create_task(self._send_frames(), name="herald")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _send_frames(self) -> None:
        while True:
            event, id = await self._queue.get()
            try:
                names, document = await self._store.read(
                    _read_gate if event.startswith("gate.") else _read_decision, id
                )
            except GatepostError as error:
                log.info("not told", what=event, id=id, reason=error.message)
                continue
            except Exception as error:
                log.exception("not told", what=event, id=id, error=repr(error))
                continue
            for name in names:
                self._live_streams.on_signal(Frame(f"inbox:{name}", event, document))


def _read_gate(tx: Reader, id: str) -> tuple[Collection[str], wire.Document]:
    gate = gates.show(tx, id)
    return gate.viewers, wire.write_gate(gate, tx.now, include_private=False)


def _read_decision(tx: Reader, id: str) -> tuple[Collection[str], wire.Document]:
    decision = decisions.show(tx, id)
    return decision.viewers, wire.write_decision(decision, tx.now)
