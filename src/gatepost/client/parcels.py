"""
Parcels from a gateway: what comes to an agent's inbox, by the stream that whoever watches it reads. A connection that
is lost goes on where it was; one that is gone for longer is told as lost.
"""

from collections.abc import Callable
from contextlib import aclosing
from typing import ClassVar

from gatepost.client.client import Client
from gatepost.core.event import ItemState
from gatepost.core.transport import build_unkept_event
from gatepost.ports import EventHandler, ResyncHandler


class GatewayParcels:
    name: ClassVar[str] = "gateway"

    def __init__(self, connect: Callable[[], Client], agent: str) -> None:
        """`connect` makes a client of the gateway as it is to be reached now."""
        self._connect = connect
        self._agent = agent

    async def follow(self, take: EventHandler, look: ResyncHandler) -> None:
        async with self._connect() as client, aclosing(client.watch_inbox(self._agent, ready=look)) as items:
            async for item in items:
                if item.state is ItemState.PENDING:
                    await take(build_unkept_event(item.event, look))
