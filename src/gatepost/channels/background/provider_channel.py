"""
Read and send through the provider of another package: a `ChannelSource` and an `Outlet` for its triggers.

A message that the store cannot take for another reason than an outage is left out for good, and the owner of the
trigger is told: it never stops later ones. What the provider itself does wrong stays its own
(`channels/background/provider_calls.py`).
"""

import secrets
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog

from gatepost.channels import (
    message_actions as channel_messages,
    message_rows,
    provider_intake_actions as provider_intake,
)
from gatepost.channels.background.provider_calls import call_provider
from gatepost.channels.conversation import ChannelMessage
from gatepost.channels.provider import BoundTrigger, MessageToSend, Provider, ServiceEvent, UserMessage
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.ports import Reader, Store
from gatepost.errors import GatepostError, NotFound, Unavailable
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import Decision

log = structlog.get_logger("gatepost.channel")

#: seconds until a provider is called again that has returned
_END_INTERVAL: Final = 1.0
#: seconds for one message; what other channels send may wait for it
_MAX_SEND_TIME: Final = 30.0


class ProviderChannel:
    def __init__(self, store: Store, name: str, provider: Provider, find_token: Callable[[str], str | None]) -> None:
        """`name` is that of the provider; `find_token` returns the token that a reference names."""
        self._store = store
        self._name = name
        self._provider = provider
        self._find_token = find_token

    async def read(self, name: str) -> float:
        """Have the provider receive until it returns, or this is cancelled."""
        trigger = await self._bind(name)
        await call_provider(self._name, partial(self._provider.receive, trigger, TriggerIntake(self._store, name)))
        return _END_INTERVAL

    async def recover(self, *_: object) -> float | None:
        """Leave it to people."""
        return None

    def pause(self, *_: object) -> None:
        """Do nothing: the job of the message waits."""

    async def deliver(self, message: ChannelMessage, *, later: int) -> None:  # noqa: ARG002 (only limits need it)
        """Send a message, and save the id that the channel gives to it."""
        trigger = await self._bind(message.trigger)
        decision, replaced = await self._store.read(_read_context, message)
        if message.replaces is not None and replaced is None:
            return  # what it would change was never sent
        to_send = MessageToSend(
            id=message.id,
            chat=message.chat,
            thread=message.thread,
            text=message.content,
            options=message.options if decision is not None else (),
            takes_words=decision is not None and decision.free_text,
            replaces=replaced,
        )
        sent_id = await call_provider(
            self._name, partial(self._provider.send, trigger, to_send), time_limit=_MAX_SEND_TIME
        )
        await self._store.run(channel_messages.save_part, message, [str(sent_id)])

    async def _bind(self, name: str) -> BoundTrigger:
        trigger, secret = await self._store.read(_read_trigger, name, self._name)
        reference = trigger.config.token
        if secret is None and reference is not None:
            secret = self._find_token(reference)
            if secret is None:
                raise Unavailable(f"the token of {trigger.label} is not here ({reference})")
        return BoundTrigger(name=name, options=trigger.config.options, secret=secret)


class TriggerIntake:
    """The intake of one trigger."""

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._name = name

    async def take(self, message: UserMessage | ServiceEvent, /) -> None:
        """Store a message; when this returns, it is stored or left out for good."""
        run = partial(self._store.run, lane=f"channel:{self._name}")
        try:
            outcome = await run(provider_intake.take, self._name, message, random_bits=secrets.randbits(128))
        except Unavailable:
            raise
        except Exception as error:
            reason = error.message if isinstance(error, GatepostError) else type(error).__name__
            log.exception("a message cannot be taken", trigger=self._name, reason=reason)
            await run(provider_intake.skip, self._name, message, reason)
        else:
            log.debug("message", trigger=self._name, outcome=outcome)


def _read_trigger(tx: Reader, name: str, provider: str) -> tuple[Trigger, str | None]:
    trigger = triggers.show(tx, name)
    if trigger.provider != provider or not trigger.active:
        raise NotFound(f"there is no active trigger {name!r} of {provider!r}")
    return trigger, triggers.read_secret(tx, trigger)


def _read_context(tx: Reader, message: ChannelMessage) -> tuple[Decision | None, str | None]:
    """Return the open decision that a message asks, and the channel's id of the message that it changes."""
    original = message_rows.read(tx, message.replaces) if message.replaces is not None else None
    decision = decisions.show(tx, message.decision) if message.decision is not None and original is None else None
    sent_ids = original.sent_ids if original is not None else ()
    return decision if decision is not None and decision.is_open else None, sent_ids[-1] if sent_ids else None
