"""
The channels of a worker: read the bots, send messages, transcribe voice messages.

A task reads each active bot (`runtime/telegram_intake.py`). It begins, ends and begins anew with its trigger: signals
`trigger:NAME` say when to look, and it is looked at intervals, too, because signals may be lost.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from gatepost.actions import voices
from gatepost.actions.channel_messages import SEND_JOB
from gatepost.actions.voices import TRANSCRIBE_JOB
from gatepost.core.envelope import TELEGRAM
from gatepost.core.speech import Transcriber
from gatepost.core.telegram_api import TelegramApi
from gatepost.core.times import Instant
from gatepost.ports import Reader, Store
from gatepost.runtime import jobs
from gatepost.runtime.periodic import Duty, is_about, open_task_group, run_duties
from gatepost.runtime.signal_bus import SignalBus
from gatepost.runtime.telegram_bots import TelegramBots
from gatepost.runtime.telegram_intake import POLL_TIME, TelegramIntake
from gatepost.runtime.telegram_presence import TelegramPresence
from gatepost.runtime.telegram_sender import TelegramSender, read_monotonic_clock
from gatepost.runtime.voice_jobs import VoiceJobs
from gatepost.tables import triggers

#: seconds between two looks for voice messages that have waited long enough
_VOICE_INTERVAL: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelOptions:
    #: returns the API for the token of a bot
    open_api: Callable[[str], TelegramApi]
    #: returns the token that a reference names (`env:VARIABLE`)
    find_token: Callable[[str], str | None] = field(default=lambda _: None)
    #: None: voice messages are not transcribed
    transcriber: Transcriber | None = None
    #: seconds that a request waits for updates
    poll_time: float = POLL_TIME
    #: microseconds, for the limits of sending
    clock: Callable[[], Instant] = read_monotonic_clock


class Channels:
    """What a worker and the webhooks of a gateway share."""

    def __init__(self, store: Store, options: ChannelOptions, holder: str) -> None:
        self.store = store
        self.options = options
        self.holder = holder
        self.bots = TelegramBots(store, options.open_api, options.find_token)
        self.intake = TelegramIntake(store, self.bots, holder, poll_time=options.poll_time)

    @asynccontextmanager
    async def run(self, bus: SignalBus, interval: float) -> AsyncIterator[None]:
        """While entered, read the bots, send and transcribe; look every `interval` seconds for lost signals."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.bots.close)
            group = await stack.enter_async_context(open_task_group())
            readers = BotReaders(self.store, self.intake, group)
            stack.callback(readers.stop)
            presence = TelegramPresence(self.bots, group)
            stack.callback(presence.stop)
            duties = [*self._build_duties(interval), readers.build_duty(interval)]
            for subscriber in (presence.on_signal, *(duty.on_signal for duty in duties)):
                stack.enter_context(bus.subscribe(subscriber))
            await stack.enter_async_context(run_duties(duties))
            yield

    def _build_duties(self, interval: float) -> Iterator[Duty]:
        sender = TelegramSender(self.store, self.bots, clock=self.options.clock)
        send = partial(jobs.run_due_jobs, self.store, {SEND_JOB: sender.run_job}, self.holder)
        yield Duty(
            "channel-sender",
            send,
            interval=interval,
            should_wake=partial(is_about, "job"),
            store=self.store,
            holder=self.holder,
        )
        if self.options.transcriber is not None:
            voice_jobs = VoiceJobs(self.store, self.bots, self.options.transcriber)
            transcribe = partial(jobs.run_due_jobs, self.store, {TRANSCRIBE_JOB: voice_jobs.run_job}, self.holder)
            yield Duty("voices", transcribe, interval=interval, should_wake=partial(is_about, "job"))
        yield Duty("voice-patience", self._end_due_voices, interval=min(interval, _VOICE_INTERVAL))

    async def _end_due_voices(self) -> None:
        while await self.store.read(voices.has_due):
            await self.store.run(voices.end_due)


class BotReaders:
    """A task for each bot, as long as its trigger is active and stays as it is."""

    def __init__(self, store: Store, intake: TelegramIntake, group: asyncio.TaskGroup) -> None:
        self._store = store
        self._intake = intake
        self._group = group
        #: by name: what the task depends on, and the task
        self._tasks: dict[str, tuple[object, asyncio.Task[None]]] = {}

    def build_duty(self, interval: float) -> Duty:
        return Duty("bots", self._follow_triggers, interval=interval, should_wake=partial(is_about, "trigger"))

    def stop(self) -> None:
        for _, task in self._tasks.values():
            task.cancel()

    async def _follow_triggers(self) -> None:
        wanted = await self._store.read(_list_bots)
        for name, (state, task) in list(self._tasks.items()):
            if wanted.get(name) != state or task.done():
                task.cancel()
                del self._tasks[name]
                await asyncio.wait([task])
        for name, state in wanted.items():
            if name not in self._tasks:
                task = self._group.create_task(self._intake.run_bot(name), name=f"telegram-{name}")
                self._tasks[name] = (state, task)


def _list_bots(tx: Reader) -> dict[str, object]:
    """Return the active bots, each with what its reader depends on. It is compared, and never shown."""
    return {
        trigger.name: (trigger.id, trigger.config.mode, trigger.config.public_url, trigger.config.token, secret)
        for trigger in triggers.list_active(tx, TELEGRAM)
        for secret in [triggers.read_secret(tx, trigger.number)]
    }
