"""
The updates that wait for a bot.

`update_id` counts up. An offset confirms all lower ids, unless it lies more than 10 above the next id: then Telegram
takes it for an offset of an earlier numbering and confirms nothing. So a bot whose numbering began again lower gets its
updates even if it asks with its old offset, and a bot that asks with an offset a little too high loses some.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from tests.channels.telegram.bot_api.rules import UPDATE_LIFETIME

#: how far above the next id an offset may lie and still confirm
_MAX_AHEAD: Final = 10


@dataclass(eq=False)
class PendingUpdate:
    id: int
    #: what the bot gets; of an injected update, what was injected
    body: Any
    created: float
    #: how often it was posted to the webhook, and the time of the next attempt
    attempts: int = 0
    due: float = 0.0


class UpdateQueue:
    def __init__(self, first_id: int) -> None:
        self.next_id = first_id
        self.pending: list[PendingUpdate] = []
        #: everything that was ever queued, in order
        self.history: list[Any] = []

    def push(self, fields: dict[str, Any], now: float) -> None:
        self._append({"update_id": self.next_id, **fields}, self.next_id, now)

    def inject(self, body: Any, now: float) -> None:
        """Queue something as it is. If it has an id, the numbering goes on from there."""
        given = body.get("update_id") if isinstance(body, dict) else None
        self._append(body, given if type(given) is int else self.next_id, now)

    def _append(self, body: Any, id: int, now: float) -> None:
        self.pending.append(PendingUpdate(id, body, now))
        self.history.append(body)
        self.next_id = id + 1

    def restart(self, at: int) -> None:
        """
        Number the next update `at`. Telegram does so after a week without updates, when none is left: none is kept.
        """
        self.pending.clear()
        self.next_id = at

    def expire(self, now: float) -> None:
        self.pending = [update for update in self.pending if update.created + UPDATE_LIFETIME > now]

    def confirm(self, offset: int) -> None:
        """Forget the updates below an offset."""
        if offset <= self.next_id + _MAX_AHEAD:
            self.pending = [update for update in self.pending if update.id >= offset]

    def remove(self, update: PendingUpdate) -> None:
        if update in self.pending:
            self.pending.remove(update)


class Poll:
    """A request that waits for updates, in the loop of the server. It is woken from any thread."""

    def __init__(self, deadline: float) -> None:
        #: the time of the server's clock at which it ends
        self.deadline = deadline
        #: what ended it before its time
        self.error: Exception | None = None
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def wake(self) -> None:
        with suppress(RuntimeError):  # the server has stopped
            self._loop.call_soon_threadsafe(self._event.set)

    def end(self, error: Exception) -> None:
        self.error = error
        self.wake()

    async def wait_until_woken(self, seconds: float) -> None:
        """Wait until it is woken, or for so many real seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
        self._event.clear()
