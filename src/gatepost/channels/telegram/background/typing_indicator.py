"""
Show on Telegram that an agent thinks about what somebody wrote: a reaction on the message, and the typing indicator.

It follows what processes signal: an event from Telegram in the inbox of an agent, and the beginning and the end of the
agent's cycles. It is only for the eye. So a lost signal is not made up for, and a failure is ignored.
"""

import asyncio
from collections import defaultdict
from contextlib import suppress
from typing import Any, Final, NamedTuple

from gatepost.channels.telegram.background.bots import TelegramBots
from gatepost.core.signals import Frame, Signal, Topic, TransportMessage
from gatepost.errors import GatepostError
from gatepost.inbox.event import TELEGRAM, Event, EventType

#: the reaction on a message that an agent has seen
SEEN: Final = "👀"
#: seconds: Telegram shows that somebody types for five
_TYPING_INTERVAL: Final = 4.0
#: seconds after which a cycle is thought to have ended without a word
_MAX_TIME: Final = 600.0
#: seconds to remove reactions
_CLEAR_TIME: Final = 3.0
#: messages of one agent that are shown as seen
_MAX_MESSAGES: Final = 20


class _ChatPlace(NamedTuple):
    bot: str
    chat: int
    message: int
    thread: int | None


class TelegramPresence:
    def __init__(self, bots: TelegramBots, group: asyncio.TaskGroup) -> None:
        self._bots = bots
        self._group = group
        #: what came for an agent that has not begun to think about it
        self._waiting: defaultdict[str, list[_ChatPlace]] = defaultdict(list)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def on_signal(self, signal: TransportMessage) -> None:
        """Follow events and cycles; for `SignalBus.subscribe`."""
        match signal:
            case Signal(topic=Topic(kind="inbox", name=agent), event=event) if event is not None:
                is_prompt = event.type is EventType.CHANNEL
                if is_prompt and event.route is not None and event.route.channel == TELEGRAM:
                    self._note(agent, event)
            case Frame(topic=Topic(kind="agent", name=agent), event="agent.active"):
                self._begin(agent)
            case Frame(topic=Topic(kind="agent", name=agent), event="agent.inactive"):
                if (task := self._tasks.pop(agent, None)) is not None:
                    task.cancel()
            case _:
                pass

    def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    def _note(self, agent: str, event: Event) -> None:
        metadata: Any = event.data.get("metadata") if isinstance(event.data, dict) else None
        if not isinstance(metadata, dict):
            return
        with suppress(KeyError, ValueError):
            thread = metadata.get("telegram_thread_id")
            place = _ChatPlace(
                event.source,
                int(metadata["telegram_chat_id"]),
                int(metadata["telegram_message_id"]),
                int(thread) if thread is not None else None,
            )
            if place not in self._waiting[agent]:
                self._waiting[agent] = [*self._waiting[agent], place][-_MAX_MESSAGES:]

    def _begin(self, agent: str) -> None:
        task = self._tasks.get(agent)
        if task is not None and not task.done():
            return
        if places := self._waiting.pop(agent, []):
            self._tasks[agent] = self._group.create_task(self._show(places), name=f"typing-{agent}")

    async def _show(self, places: list[_ChatPlace]) -> None:
        """Show that somebody thinks, until cancelled."""
        try:
            for place in places:
                await self._react(place, SEEN)
            async with asyncio.timeout(_MAX_TIME):
                while True:
                    for name, chat, thread in dict.fromkeys((place.bot, place.chat, place.thread) for place in places):
                        await self._type(name, chat, thread)
                    await asyncio.sleep(_TYPING_INTERVAL)
        except (TimeoutError, asyncio.CancelledError):
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLEAR_TIME):
                    for place in places:
                        await self._react(place, None)

    async def _react(self, place: _ChatPlace, emoji: str | None) -> None:
        with suppress(GatepostError):
            bot = await self._bots.find(place.bot)
            await bot.api.set_reaction(place.chat, place.message, emoji)

    async def _type(self, name: str, chat: int, thread: int | None) -> None:
        with suppress(GatepostError):
            bot = await self._bots.find(name)
            await bot.api.show_typing(chat, thread=thread)
