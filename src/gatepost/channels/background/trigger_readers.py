"""
Read all channels: a task for each active trigger of a provider that receives.

A task begins, ends and begins anew with its trigger: signals `trigger:NAME` say when to look, and it is looked at
intervals, too, because signals may be lost. One process at a time reads a trigger, under a lease; a process that loses
the lease stops to read. The lease only saves work: the store takes everything once.

A reader that fails is started again after a growing pause, and the row of the trigger says why until it works again.
The owner of the trigger is told of what only people can change; an outage is no such thing.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, Protocol

import structlog

from gatepost.channels import conversation_actions as conversations, outgoing_message_actions as outgoing
from gatepost.channels.triggers import actions as trigger_actions, rows as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.backoff import Backoff
from gatepost.core.ports import Reader, Store, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import DAY, SECOND
from gatepost.errors import GatepostError, NotFound, Unauthorized, Unavailable
from gatepost.jobs import lease_actions as leases
from gatepost.jobs.lease_actions import Lease
from gatepost.jobs.periodic_duty_background import Duty, open_task_group, take_lease
from gatepost.telemetry import hide_secrets

log = structlog.get_logger("gatepost.channel")

#: how long another process leaves a trigger alone whose reader is silent
_LEASE_LENGTH: Final = 10 * SECOND
#: seconds between two renewals of a lease
_RENEWAL_INTERVAL: Final = 3.0
#: seconds between two looks whether another process still reads
_LEASE_INTERVAL: Final = 2.0
#: seconds after which a reader that fails is thought to have worked before
_STEADY_TIME: Final = 60.0
_BACKOFF: Final = Backoff(1.0, cap=60.0, jitter=(0.8, 1.2))
_RANDOM: Final = random.SystemRandom()


class ChannelSource(Protocol):
    """How the triggers of one provider are read."""

    async def read(self, name: str) -> float:
        """Read once, or until cancelled; return the seconds until the next time."""

    async def recover(self, name: str, error: GatepostError, failures: int, pause: float) -> float | None:
        """
        Return the seconds until the next try after an error that is not an outage; None if only people can change it.
        `pause` is the usual one after that many failures.
        """


class _LeaseLost(Exception):
    """Another process reads the trigger by now."""


class ChannelReaders:
    def __init__(
        self, store: Store, holder: str, sources: Mapping[str, ChannelSource], group: asyncio.TaskGroup
    ) -> None:
        """`sources` are by provider."""
        self._store = store
        self._holder = holder
        self._sources = sources
        self._group = group
        #: by name: what the task depends on, and the task
        self._tasks: dict[str, tuple[object, asyncio.Task[None]]] = {}
        #: by name: why a trigger does not work, as its row says; None if it works
        self._errors: dict[str, str | None] = {}

    def build_duty(self, interval: float) -> Duty:
        return Duty("channels", self._follow_triggers, interval=interval)

    def stop(self) -> None:
        for _, task in self._tasks.values():
            task.cancel()

    async def _follow_triggers(self) -> None:
        triggers = await self._store.read(_list_triggers, list(self._sources))
        ended_tasks: list[asyncio.Task[None]] = []
        for name, (state, task) in list(self._tasks.items()):
            if triggers.get(name, (None, None))[1] != state or task.done():
                task.cancel()
                del self._tasks[name]
                ended_tasks.append(task)
        if ended_tasks:
            await asyncio.wait(ended_tasks)
        for name, (provider, state) in triggers.items():
            if name not in self._tasks:
                task = self._group.create_task(self._run(name, self._sources[provider]), name=f"channel-{name}")
                self._tasks[name] = (state, task)

    async def _run(self, name: str, source: ChannelSource) -> None:
        """Read a trigger until cancelled."""
        failures = 0
        lease: Lease | None = None
        clock = asyncio.get_running_loop().time
        try:
            while True:
                begin = clock()
                try:
                    lease = await self._take_lease(name)
                    if lease is None:  # another process writes into the row
                        self._errors.pop(name, None)
                    pause = _LEASE_INTERVAL if lease is None else await self._read_and_renew(name, source)
                    failures = 0
                except Exception as error:  # noqa: BLE001 (whatever it was, the other readers go on)
                    failures = 1 if clock() - begin > _STEADY_TIME else failures + 1
                    pause = await self._handle_failure(name, source, error, failures)
                await asyncio.sleep(pause)
        finally:
            if lease is not None:
                with suppress(GatepostError):
                    await self._store.run(leases.release, lease)

    async def _take_lease(self, name: str) -> Lease | None:
        return await take_lease(self._store, f"channel:{name}", self._holder, _LEASE_LENGTH)

    async def _read_and_renew(self, name: str, source: ChannelSource) -> float:
        """Read, and renew the lease meanwhile."""

        clock = asyncio.get_running_loop().time
        begin = clock()

        async def renew_lease() -> None:
            while True:
                await asyncio.sleep(_RENEWAL_INTERVAL)
                with suppress(GatepostError):
                    if await self._take_lease(name) is None:
                        raise _LeaseLost
                if clock() - begin > _STEADY_TIME:  # some read until they are cancelled
                    await self._note_error(name, None)

        pause = _LEASE_INTERVAL
        try:
            async with open_task_group() as group:
                renewal = group.create_task(renew_lease(), name=f"lease-{name}")
                try:
                    pause = await source.read(name)
                    await self._note_error(name, None)
                finally:
                    renewal.cancel()
        except* _LeaseLost:
            log.info("another process reads the channel", trigger=name)
        return pause

    async def _handle_failure(self, name: str, source: ChannelSource, error: Exception, failures: int) -> float:
        """Return the seconds until the next try; tell the owner of the trigger what only people can change."""
        pause = _BACKOFF.delay(failures - 1, _RANDOM.random())
        if not isinstance(error, GatepostError):
            log.error("the reader of a channel broke", trigger=name, times=failures, exc_info=error)
            return pause
        log.warning("the channel cannot be read", trigger=name, reason=error.message, times=failures)
        await self._note_error(name, hide_secrets(error.message))
        if isinstance(error, Unavailable):
            return max(pause, error.retry_after or 0.0)
        with suppress(GatepostError):
            retry_in = await source.recover(name, error, failures, pause)
            if retry_in is not None:
                return retry_in
            await self._store.run(_tell_owners, name, error.message_with_hint, isinstance(error, Unauthorized))
        return pause

    async def _note_error(self, name: str, error: str | None) -> None:
        """Write into the row of a trigger why it does not work, or that it does; once, until that changes."""
        if name in self._errors and self._errors[name] == error:
            return
        with suppress(GatepostError):
            await self._store.run(_set_error, name, error)
            self._errors[name] = error


async def open_trigger(
    store: Store, name: str, provider: str, find_token: Callable[[str], str | None]
) -> tuple[Trigger, str | None]:
    """
    Return an active trigger of a provider, as it is now, and its token if it has one. Raise NotFound if there is no
    such trigger, Unavailable if its token is missing.
    """
    trigger, secret = await store.read(_read_trigger, name, provider)
    return trigger, find_trigger_token(trigger, secret, find_token)


def find_trigger_token(trigger: Trigger, secret: str | None, find_token: Callable[[str], str | None]) -> str | None:
    """
    Return the token of a trigger: the `secret` of its row, or what `find_token` returns for a reference; None if it
    needs none. Raise Unavailable if it is missing.
    """
    reference = trigger.config.token
    token = find_token(reference) if not secret and reference is not None else secret
    if not token and (reference is not None or trigger.is_built_in_channel):
        where = f" ({reference})" if reference is not None else ""
        raise Unavailable(f"the token of {trigger.label} is not here{where}", hint="set it where the gateway runs")
    return token


def _read_trigger(tx: Reader, name: str, provider: str) -> tuple[Trigger, str | None]:
    trigger = trigger_actions.show(tx, name)
    if trigger.provider != provider or not trigger.active:
        raise NotFound(f"there is no active trigger {name!r} of {provider!r}")
    return trigger, trigger_actions.read_secret(tx, trigger)


def _list_triggers(tx: Reader, providers: list[str]) -> dict[str, tuple[str, object]]:
    """Return the active triggers, each with its provider and what its reader depends on: compared, never shown."""
    return {
        trigger.name: (trigger.provider, (trigger.id, config.mode, config.public_url, config.token, options, secret))
        for provider in providers
        for trigger in triggers.list_active(tx, provider)
        for config in [trigger.config]
        for options in [dict(config.options)]
        for secret in [triggers.read_secret(tx, trigger.number)]
    }


def _set_error(tx: Transaction, name: str, error: str | None) -> None:
    trigger = triggers.find(tx, name)
    if trigger is not None and conversations.set_error(tx, trigger.number, error):
        tx.after_commit(Signal(Topic("trigger", name), "working" if error is None else "failing", wakes=False))


def _tell_owners(tx: Transaction, name: str, text: str, is_token: bool) -> None:
    if (trigger := triggers.find(tx, name)) is not None:
        topic = f"{'token' if is_token else 'bot'}:{name}:{tx.now // DAY}"
        outgoing.tell_owners(tx, trigger, f"{trigger.label} does not work: {text}", topic)
