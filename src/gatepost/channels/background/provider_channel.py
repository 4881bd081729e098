"""
Read and send through the provider of another package: a `ChannelSource` and an `Outlet` for its triggers.

A message that the store cannot take for another reason than an outage is left out for good, and the owner of the
trigger is told: it never stops later ones.

`call_provider` calls the code of another package so that it cannot stop this process, nor what else runs in it:

    SystemExit and the like, or a           it is an error of the provider; asyncio itself would end the whole loop.
    CancelledError that nobody asked for    KeyboardInterrupt goes through
    no end after it is cancelled            the call is abandoned after some seconds: it is closed, and never resumed
    no end within its time limit            it is cancelled, and the other side counts as unavailable

A call runs in a task of its own, so that being cancelled and cancelling can be told apart. What a provider starts in
further tasks is out of reach.
"""

import asyncio
import secrets
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, TypeVar

import structlog

from gatepost.channels import outgoing_message_actions as outgoing, user_message_actions as user_messages
from gatepost.channels.background.trigger_readers import open_trigger
from gatepost.channels.outgoing_message_actions import ChannelMessage
from gatepost.channels.provider import BoundTrigger, MessageToSend, Provider, ServiceEvent, UserMessage
from gatepost.core.ports import Reader, Store
from gatepost.errors import GatepostError, Unavailable
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import Decision

log = structlog.get_logger("gatepost.channel")

#: seconds until a provider is called again that has returned
_END_INTERVAL: Final = 1.0
#: seconds for one message; what other channels send may wait for it
_MAX_SEND_TIME: Final = 30.0
#: seconds that a call has for its end after it is cancelled
_PATIENCE: Final = 5.0

T = TypeVar("T")


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
            options=message.options if decision is not None or message.has_reply_buttons else (),
            takes_words=message.has_reply_buttons or (decision is not None and decision.free_text),
            replaces=replaced,
        )
        sent_id = await call_provider(
            self._name, partial(self._provider.send, trigger, to_send), time_limit=_MAX_SEND_TIME
        )
        await self._store.run(outgoing.save_part, message, [str(sent_id)])

    async def _bind(self, name: str) -> BoundTrigger:
        trigger, secret = await open_trigger(self._store, name, self._name, self._find_token)
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
            outcome = await run(user_messages.take, self._name, message, random_bits=secrets.randbits(128))
        except Unavailable:
            raise
        except Exception as error:
            reason = error.message if isinstance(error, GatepostError) else type(error).__name__
            log.exception("a message cannot be taken", trigger=self._name, reason=reason)
            await run(user_messages.skip, self._name, message, reason)
        else:
            log.debug("message", trigger=self._name, outcome=outcome)


def _read_context(tx: Reader, message: ChannelMessage) -> tuple[Decision | None, str | None]:
    """Return the open decision that a message asks, and the channel's id of the message that it changes."""
    original = outgoing.read(tx, message.replaces) if message.replaces is not None else None
    decision = decisions.show(tx, message.decision) if message.decision is not None and original is None else None
    sent_ids = original.sent_ids if original is not None else ()
    return decision if decision is not None and decision.is_open else None, sent_ids[-1] if sent_ids else None


async def call_provider(name: str, call: Callable[[], Coroutine[Any, Any, T]], *, time_limit: float | None = None) -> T:
    """Return what a call of the provider `name` returns; `time_limit` is in seconds."""
    provider_call = _AbandonableCall(call)
    task = asyncio.create_task(_run(name, provider_call), name=f"provider-{name}")
    try:
        done, _ = await asyncio.wait([task], timeout=time_limit)
    except asyncio.CancelledError:
        await _cancel(name, provider_call, task)
        raise
    if not done:
        await _cancel(name, provider_call, task)
        raise Unavailable(f"the provider {name!r} has not ended after {time_limit:.0f} seconds")
    if task.cancelled():
        raise GatepostError(f"the provider {name!r} raised CancelledError, and nobody had cancelled it")
    return task.result()


class _AbandonableCall(Generic[T]):
    """Passes everything on between a call and the task that runs it, until the call is abandoned."""

    def __init__(self, call: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._call = call
        self.is_abandoned = False

    @types.coroutine
    def run(self) -> Generator[Any, Any, T]:
        coroutine = self._call()
        error: BaseException | None = None
        while True:
            try:
                waiter = coroutine.send(None) if error is None else coroutine.throw(error)
            except StopIteration as end:
                result: T = end.value
                return result
            try:
                yield waiter
                error = None
            except BaseException as raised:
                if self.is_abandoned or isinstance(raised, GeneratorExit):
                    with suppress(Exception, SystemExit):  # it may ignore that it is closed, too
                        coroutine.close()
                    raise
                error = raised


async def _run(name: str, provider_call: _AbandonableCall[T]) -> T:
    try:
        return await provider_call.run()
    except (Exception, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        detail = f": {error}" if str(error) else ""
        raise GatepostError(f"the provider {name!r} raised {type(error).__name__}{detail}") from error


async def _cancel(name: str, provider_call: _AbandonableCall[T], task: asyncio.Task[T]) -> None:
    """Cancel a call, and wait for its end a while."""
    task.add_done_callback(lambda task: task.cancelled() or task.exception())  # nobody asks for it any more
    task.cancel()
    try:
        await asyncio.wait([task], timeout=_PATIENCE)
    finally:
        if not task.done():
            log.error("a call of a provider goes on after it was cancelled, and is abandoned", provider=name)
            provider_call.is_abandoned = True
            task.cancel()
