"""
Send messages on Telegram (`channels/background/message_sender.py` calls it).

A long message is sent in parts. The id of a part is saved before the next part is sent, so a process that dies sends at
most one part twice: sending is at least once. Markdown is converted once for each message, and in a thread if it is
long: a few characters can take a second, and whoever may write to a person may send them.

A job that may not send yet (`channels/telegram/send_limits.py`) is put off until it may, and makes room for the jobs of
other chats. Policy are those of one process, so one process at a time sends (the lease of the duty).

    ChatMoved                     the chat has another id: again, there
    RequestRefused                once more without formatting or topic, then the message fails
"""

import asyncio
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from gatepost.channels import outgoing_message_actions as outgoing
from gatepost.channels.outgoing_message_actions import ChannelMessage
from gatepost.channels.provider import SendRefused
from gatepost.channels.telegram import update_actions as telegram
from gatepost.channels.telegram.background.bots import OpenBot, TelegramBots
from gatepost.channels.telegram.bot_port import ChatMoved, KeyboardButton, RequestRefused
from gatepost.channels.telegram.buttons import (
    Button,
    DecisionButton,
    PairingButton,
    ReplyButton,
    build_callback_data,
    build_label,
)
from gatepost.channels.telegram.markdown import convert_markdown
from gatepost.channels.telegram.message_parts import FormattedText, split_text
from gatepost.channels.telegram.send_limits import SendLimits
from gatepost.channels.triggers import rows as triggers
from gatepost.core.ports import Reader, Store, Transaction
from gatepost.core.times import SECOND, Duration, Instant
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import Decision
from gatepost.jobs.job_runner_background import RetryLater

#: a shorter wait is waited for
_SHORT_WAIT: Final = SECOND // 20
#: characters that are converted at once; longer texts are converted in a thread
_SHORT_TEXT: Final = 200
#: messages whose parts are kept
_MAX_KEPT: Final = 100


def read_monotonic_clock() -> Instant:
    """Return microseconds that never go back."""
    return time.monotonic_ns() // 1_000


class TelegramSender:
    def __init__(
        self, store: Store, bots: TelegramBots, *, clock: Callable[[], Instant] = read_monotonic_clock
    ) -> None:
        self._store = store
        self._bots = bots
        self._clock = clock
        self._limits: defaultdict[str, SendLimits] = defaultdict(SendLimits)
        #: of long messages that are being sent, by id; the one that was sent last is at the end
        self._parts: OrderedDict[str, list[FormattedText]] = OrderedDict()
        self._conversion_lock = asyncio.Lock()

    def pause(self, message: ChannelMessage, length: Duration) -> None:
        """Send nothing to a chat for so long."""
        self._limits[message.trigger].pause(int(message.chat), length, self._clock())

    async def deliver(self, message: ChannelMessage, *, later: int) -> None:
        """Send the parts of a message that are not sent yet, or change an earlier one."""
        bot = await self._bots.find(message.trigger)
        try:
            send = self._edit if message.replaces is not None else self._send
            await send(bot, message, later=later)
        except ChatMoved as move:
            if not await self._store.run(_move_chat, message.trigger, int(message.chat), move.new_chat):
                raise SendRefused(f"{move.message}: {telegram.NO_GROUP}") from None
            raise RetryLater(move.message, 0, is_outage=True) from None
        except RequestRefused as refusal:
            raise SendRefused(refusal.message) from None

    async def _send(self, bot: OpenBot, message: ChannelMessage, *, later: int) -> None:
        """Send the parts of a message that are not sent yet; `later` messages wait behind it."""
        parts = await self._convert(message) or [FormattedText("…")]
        sent_ids = list(message.sent_ids)
        for place, part in list(enumerate(parts))[len(sent_ids) :]:
            is_last = place == len(parts) - 1
            buttons = await self._build_buttons(bot, message) if is_last else []
            await self._wait_for_turn(bot, message, later=later + len(parts) - place - 1)
            sent_ids.append(str(await self._send_part(bot, message, part, buttons)))
            await self._store.run(outgoing.save_part, message, sent_ids)
        self._parts.pop(message.id, None)

    async def _convert(self, message: ChannelMessage) -> list[FormattedText]:
        """Return the parts of a message. They are kept, because a message with several parts is put off after each."""
        if len(message.content) <= _SHORT_TEXT:
            return _build_parts(message.content)
        async with self._conversion_lock:  # threads share the time of one
            parts = self._parts.pop(message.id, None)
            if parts is None:
                parts = await asyncio.to_thread(_build_parts, message.content)
            self._parts[message.id] = parts
            if len(self._parts) > _MAX_KEPT:
                self._parts.popitem(last=False)
            return parts

    async def _send_part(
        self, bot: OpenBot, message: ChannelMessage, part: FormattedText, buttons: Sequence[KeyboardButton]
    ) -> int:
        """Send a part; if it is refused, once more as plain text and outside of its topic, which may be gone."""
        chat, thread = int(message.chat), int(message.thread) if message.thread is not None else None
        limits = self._limits[message.trigger]
        limits.record(chat, self._clock())
        try:
            return await bot.api.send_message(chat, part, thread=thread, buttons=buttons)
        except RequestRefused as refusal:
            is_topic_gone = thread is not None and "thread" in refusal.message
            if not part.entities and not is_topic_gone:
                raise
            content = part if is_topic_gone else FormattedText(part.text)
            return await bot.api.send_message(chat, content, thread=None if is_topic_gone else thread, buttons=buttons)
        finally:
            # Telegram counts from when the message arrives there.
            limits.pause(chat, SECOND, self._clock())

    async def _edit(self, bot: OpenBot, message: ChannelMessage, *, later: int) -> None:
        """Change the last part of an earlier message, which has its buttons."""
        original = await self._store.read(outgoing.read, message.replaces)
        parts = await self._convert(message)
        if original is None or not original.sent_ids or not parts:
            return
        await self._wait_for_turn(bot, message, later=later)
        chat = int(message.chat)
        self._limits[message.trigger].record(chat, self._clock())
        content = parts[-1] if len(original.sent_ids) > 1 else parts[0]
        await bot.api.edit_message(chat, int(original.sent_ids[-1]), content)
        self._parts.pop(message.id, None)

    async def _wait_for_turn(self, bot: OpenBot, message: ChannelMessage, *, later: int) -> None:
        """Wait a moment if that is enough; else put the job off, behind those that are sent before it."""
        chat, limits = int(message.chat), self._limits[bot.trigger.name]
        while (wait := limits.next_at(chat, chat < 0, now := self._clock()) - now) > 0:
            if wait > _SHORT_WAIT:
                raise RetryLater("the limits of Telegram", wait + later * SECOND, is_outage=True)
            await asyncio.sleep(wait / SECOND)

    async def _build_buttons(self, bot: OpenBot, message: ChannelMessage) -> list[KeyboardButton]:
        if not message.options:
            return []
        sign = partial(build_callback_data, key=bot.profile.keys.button_key, chat=int(message.chat))
        buttons: list[tuple[str, Button]] = []
        if message.has_reply_buttons:
            buttons = [
                (option.label, ReplyButton(message=message.id, option=place))
                for place, option in enumerate(message.options)
            ]
        elif message.decision is None:
            for option in message.options:
                verb, _, id = option.id.partition(":")
                code = id.removeprefix("pair_")
                buttons.append((option.label, PairingButton(code=code, is_approval=verb == "approve")))
        else:
            decision = await self._store.read(_find_open_decision, message)
            if decision is None:
                return []
            buttons = [
                (option.label, DecisionButton(decision=decision.id, option=place, iteration=decision.iteration))
                for place, option in enumerate(message.options)
            ]
        return [
            KeyboardButton(build_label(label, str(place + 1)), sign(button))
            for place, (label, button) in enumerate(buttons)
        ]


def _build_parts(text: str) -> list[FormattedText]:
    return split_text(*convert_markdown(text))


def _find_open_decision(tx: Reader, message: ChannelMessage) -> Decision | None:
    """Return the decision of a message; None if it has ended, or asks something else by now."""
    assert message.decision is not None
    decision = decisions.show(tx, message.decision)
    is_same = [option.id for option in decision.options] == [option.id for option in message.options]
    return decision if decision.is_open and is_same else None


def _move_chat(tx: Transaction, name: str, old_chat: int, new_chat: int) -> bool:
    """Return False if the chat keeps its id."""
    trigger = triggers.find(tx, name)
    return trigger is not None and telegram.move_chat(tx, trigger, old_chat, new_chat)
