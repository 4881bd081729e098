"""
The channels of a worker: read all triggers of providers that receive, send messages, transcribe voice messages.

Telegram and the providers of other packages go through the same readers (`channels/background/trigger_readers.py`) and
the same sender (`channels/background/message_sender.py`).
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from gatepost.channels.background.message_sender import ChannelSender, Outlet
from gatepost.channels.background.provider_channel import ProviderChannel
from gatepost.channels.background.trigger_readers import ChannelReaders, ChannelSource
from gatepost.channels.outgoing_message_actions import SEND_JOB
from gatepost.channels.provider import Provider
from gatepost.channels.speech import voice_actions as voices
from gatepost.channels.speech.transcriber import SpeechRefused, Transcriber
from gatepost.channels.speech.transcription_background import VoiceJobs
from gatepost.channels.speech.voice_actions import TRANSCRIBE_JOB
from gatepost.channels.telegram.background.bots import TelegramBots
from gatepost.channels.telegram.background.sender import TelegramSender, read_monotonic_clock
from gatepost.channels.telegram.background.typing_indicator import TelegramPresence
from gatepost.channels.telegram.background.update_reader import POLL_TIME, TelegramIntake
from gatepost.channels.telegram.bot_port import TelegramApi
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.ports import Store
from gatepost.core.times import SECOND, Instant
from gatepost.inbox.event import TELEGRAM
from gatepost.jobs.job_runner_background import build_job_duty
from gatepost.jobs.periodic_duty_background import Duty, open_task_group, run_duties
from gatepost.transports.signal_bus import SignalBus

#: seconds between two looks for voice messages that have waited long enough
_VOICE_INTERVAL: Final = 5.0
#: after this silence another process sends or transcribes what a process has begun
JOB_HOLD: Final = 15 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelOptions:
    #: returns the API for the token of a bot
    open_api: Callable[[str], TelegramApi]
    #: returns the token that a reference names (`env:VARIABLE`)
    find_token: Callable[[str], str | None] = field(default=lambda _: None)
    #: those of other packages, by name
    providers: Mapping[str, Provider] = field(default_factory=dict)
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
        self.intake = TelegramIntake(store, self.bots, poll_time=options.poll_time)
        transcriber = options.transcriber
        self._voice_jobs = VoiceJobs(store, self.download, transcriber) if transcriber is not None else None
        self._plugins = {
            name: ProviderChannel(store, name, provider, options.find_token)
            for name, provider in options.providers.items()
        }

    @asynccontextmanager
    async def run(self, bus: SignalBus, interval: float) -> AsyncIterator[None]:
        """While entered, read the bots, send and transcribe; look every `interval` seconds for lost signals."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.bots.close)
            group = await stack.enter_async_context(open_task_group())
            readers = ChannelReaders(self.store, self.holder, self._build_sources(), group)
            stack.callback(readers.stop)
            presence = TelegramPresence(self.bots, group)
            stack.callback(presence.stop)
            duties = [*self._build_duties(interval), readers.build_duty(interval)]
            stack.enter_context(bus.subscribe(presence.on_signal, "typing indicator"))
            for duty in duties:
                stack.enter_context(bus.subscribe(duty.on_signal, duty.name))
            await stack.enter_async_context(run_duties(duties))
            if self._voice_jobs is not None:
                stack.callback(self._voice_jobs.stop)
            yield

    async def download(self, trigger: Trigger, file: str) -> bytes:
        """Return a recording that the channel of a trigger keeps."""
        if not trigger.is_built_in_channel:
            raise SpeechRefused(f"the provider {trigger.provider!r} keeps no recordings")
        return await self.bots.download(trigger.name, file)

    def _build_sources(self) -> dict[str, ChannelSource]:
        providers = self.options.providers
        return {TELEGRAM: self.intake, **{name: self._plugins[name] for name in providers if providers[name].receives}}

    def _build_duties(self, interval: float) -> Iterator[Duty]:
        providers = self.options.providers
        outlets: dict[str, Outlet] = {TELEGRAM: TelegramSender(self.store, self.bots, clock=self.options.clock)}
        outlets |= {name: self._plugins[name] for name in providers if providers[name].sends}
        sender = ChannelSender(self.store, outlets.get)
        build_duty = partial(build_job_duty, store=self.store, holder=self.holder, interval=interval, hold=JOB_HOLD)
        yield build_duty("channel-sender", handlers={SEND_JOB: sender.run_job}, is_leased=True)
        if self._voice_jobs is not None:
            yield build_duty("voices", handlers={TRANSCRIBE_JOB: self._voice_jobs.run_job})
        yield Duty("voice-patience", self._end_due_voices, interval=min(interval, _VOICE_INTERVAL))

    async def _end_due_voices(self) -> None:
        while await self.store.read(voices.has_overdue):
            await self.store.run(voices.route_overdue)
