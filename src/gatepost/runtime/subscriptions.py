"""The subscription of a courier where no gateway runs: it polls the store for new events."""

import asyncio
from typing import ClassVar, Final

from gatepost.actions import inbox_feed
from gatepost.core.event import ItemState
from gatepost.core.transport import build_unkept_event
from gatepost.ports import EventHandler, ResyncHandler, Store

#: seconds between two polls
_POLL_INTERVAL: Final = 1.0
_PAGE_SIZE: Final = 200


class StoreSubscription:
    name: ClassVar[str] = "store"

    def __init__(self, store: Store, agent: str, *, poll_interval: float = _POLL_INTERVAL) -> None:
        self._store = store
        self._agent = agent
        self._poll_interval = poll_interval

    async def follow(self, handle: EventHandler, resync: ResyncHandler) -> None:
        position = await self._store.read(inbox_feed.read_end)
        resync()
        while True:
            page = await self._store.read(inbox_feed.read_page, self._agent, after=position, limit=_PAGE_SIZE)
            for item, _ in page.entries:
                if item.state is ItemState.PENDING:
                    await handle(build_unkept_event(item.event, resync))
            position = page.position
            if len(page.entries) < _PAGE_SIZE:
                await asyncio.sleep(self._poll_interval)
