"""
Send the messages of all channels.

The messages of one chat are sent in their order, each in full before the next; but replies and questions are sent
before notices, also if they were written while notices are sent. Chats do not wait for each other. How a message is
sent depends on the provider of its trigger (`Outlet`). Sending is at least once.

    not let in      the message fails, and nobody is told: its user was let go, or a list blocks it
    Unavailable     again later, as long as it takes; after `retry_after` if the channel says so
    SendRefused     the message fails, and the owner of the trigger is told
    ChatClosed      all messages that wait for the chat fail, and the owner is told
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol
from weakref import WeakValueDictionary

import structlog

from gatepost.channels import outgoing_message_actions as outgoing
from gatepost.channels.outgoing_message_actions import ChannelMessage
from gatepost.channels.provider import ChatClosed, SendRefused
from gatepost.channels.triggers import rows as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.ports import Reader, Store, Transaction
from gatepost.core.times import DAY, MINUTE, SECOND, Duration
from gatepost.errors import GatepostError, NotFound, Unauthorized, Unavailable
from gatepost.jobs.job import Job, compute_job_delay
from gatepost.jobs.job_runner_background import RetryLater

log = structlog.get_logger("gatepost.channel")

#: how long a channel that is down, or has no valid token, is left alone at most
_MAX_DELAY: Final = MINUTE


class Outlet(Protocol):
    """How the messages of one provider are sent."""

    async def deliver(self, message: ChannelMessage, *, later: int) -> None:
        """Send what is not sent of a message, and save what is; `later` messages of its chat wait behind it."""

    def pause(self, message: ChannelMessage, length: Duration) -> None:
        """Note that the channel takes nothing for a chat for so long."""


class ChannelSender:
    def __init__(self, store: Store, find_outlet: Callable[[str], Outlet | None]) -> None:
        """`find_outlet` returns the outlet of a provider; None if it is not here."""
        self._store = store
        self._find_outlet = find_outlet
        #: one for each chat that a job sends to
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def run_job(self, job: Job) -> None:
        """Send the message of a job, and those of its chat that came before it."""
        messages = await self._store.read(outgoing.list_pending, job.payload)
        if not messages:
            return
        lock = self._locks.setdefault((messages[0].trigger, messages[0].chat), asyncio.Lock())
        async with lock:
            await self._send_all(job)

    async def _send_all(self, job: Job) -> None:
        while messages := await self._store.read(outgoing.list_pending, job.payload):
            message = messages[0]
            trigger, may_send = await self._store.read(_find_way, message)
            if not may_send:
                await self._store.run(outgoing.fail, message, "its user is not let in any more")
                continue
            outlet = self._find_outlet(trigger.provider)
            try:
                if outlet is None:
                    raise NotFound(f"the provider {trigger.provider!r} is not here, or does not send")
                await outlet.deliver(message, later=len(messages) - 1)
            except ChatClosed as closing:
                log.warning("a chat is closed", trigger=trigger.name, reason=closing.message)
                await self._store.run(outgoing.close_chat, trigger, message.chat, closing.message)
                return
            except SendRefused as refusal:
                log.warning("a message is refused", trigger=trigger.name, message=message.id, reason=refusal.message)
                await self._store.run(_fail, trigger, message, refusal.message)
            except Unavailable as error:
                retry_after = int((error.retry_after or 0.0) * SECOND)
                if outlet is not None:
                    outlet.pause(message, retry_after)
                delay = max(min(compute_job_delay(job.attempts), _MAX_DELAY), retry_after)
                raise RetryLater(error.message, delay, is_outage=True) from None
            except (Unauthorized, NotFound) as error:  # its owner is told by the reader, or has disabled it
                raise RetryLater(error.message, _MAX_DELAY, is_outage=True) from None
            except RetryLater:
                raise
            except Exception as error:
                log.exception("a message cannot be sent", trigger=trigger.name, message=message.id)
                delay = min(compute_job_delay(job.attempts), _MAX_DELAY)
                reason = error.message if isinstance(error, GatepostError) else type(error).__name__
                raise RetryLater(reason, delay, is_outage=True) from None
            else:
                await self._store.run(outgoing.finish, message)


def _find_way(tx: Reader, message: ChannelMessage) -> tuple[Trigger, bool]:
    """Return the trigger of a message, and whether whoever it is for is still let in."""
    trigger = triggers.find(tx, message.trigger)
    assert trigger is not None, "a trigger with messages cannot be deleted"
    return trigger, outgoing.may_send(tx, trigger, message)


def _fail(tx: Transaction, trigger: Trigger, message: ChannelMessage, reason: str) -> None:
    """Save that a message cannot be sent, and tell the owners of the trigger once a day for each chat."""
    outgoing.fail(tx, message, reason)
    text = f"{trigger.label} could not send a message to the chat {message.chat}: {reason}"
    outgoing.tell_owners(tx, trigger, text, f"refused:{trigger.name}:{message.chat}:{tx.now // DAY}")
