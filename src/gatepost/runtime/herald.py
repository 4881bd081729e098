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
from gatepost.runtime.hub import Hub

log = structlog.get_logger("gatepost.herald")

_EVENTS: Final = ("gate.opened", "gate.resolved", "decision.asked", "decision.answered")
#: what may wait to be told; more than that is not told
_MOST: Final = 1_000


class Herald:
    def __init__(self, store: Store, hub: Hub) -> None:
        self._store = store
        self._hub = hub
        self._waiting: asyncio.Queue[tuple[str, str]] = asyncio.Queue(_MOST)

    def heard(self, signal: TransportMessage) -> None:
        """Note what a ring is about, if anybody reads a stream."""
        if isinstance(signal, Frame):
            return
        noun, _, id = signal.recipient.partition(":")
        event = f"{noun}.{signal.cause}"
        if event in _EVENTS and self._hub.readers and not self._waiting.full():
            self._waiting.put_nowait((event, id))

    @asynccontextmanager
    async def telling(self) -> AsyncIterator[None]:
        """While entered, what was heard is told, in that order."""
        task = asyncio.create_task(self._tell(), name="herald")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _tell(self) -> None:
        while True:
            event, id = await self._waiting.get()
            try:
                names, document = await self._store.read(_gate if event.startswith("gate.") else _decision, id)
            except GatepostError as error:
                log.info("not told", what=event, id=id, reason=error.message)
                continue
            except Exception as error:
                log.exception("not told", what=event, id=id, error=repr(error))
                continue
            for name in names:
                self._hub.heard(Frame(f"inbox:{name}", event, document))


def _gate(tx: Reader, id: str) -> tuple[Collection[str], wire.Document]:
    gate = gates.show(tx, id)
    return gate.concerned, wire.gate(gate, tx.now, whole=False)


def _decision(tx: Reader, id: str) -> tuple[Collection[str], wire.Document]:
    decision = decisions.show(tx, id)
    return decision.concerned, wire.decision(decision, tx.now)
