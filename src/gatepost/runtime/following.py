"""Parcels from the store itself, where no gateway runs: it is asked again and again what came since."""

import asyncio
from typing import ClassVar, Final

from gatepost.actions import feed
from gatepost.core.event import State
from gatepost.ports import EventHandler, ResyncHandler, Store, build_unkept_event

#: seconds between two looks
_PAUSE: Final = 1.0
_PAGE: Final = 200


class StoreParcels:
    name: ClassVar[str] = "store"

    def __init__(self, store: Store, agent: str, *, pause: float = _PAUSE) -> None:
        self._store = store
        self._agent = agent
        self._pause = pause

    async def follow(self, take: EventHandler, look: ResyncHandler) -> None:
        position = await self._store.read(feed.here)
        look()
        while True:
            page = await self._store.read(feed.of_inbox, self._agent, after=position, limit=_PAGE)
            for item, _ in page.entries:
                if item.state is State.PENDING:
                    await take(build_unkept_event(item.event, look))
            position = page.position
            if len(page.entries) < _PAGE:
                await asyncio.sleep(self._pause)
