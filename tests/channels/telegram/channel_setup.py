"""A Telegram bot: a store, agents and people, and the channels of a worker."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

from gatepost.app import open_store
from gatepost.channels import (
    conversation_actions as conversations,
    outgoing_message_actions as outgoing,
    pairing_actions as pairing,
    reply_actions as replies,
)
from gatepost.channels.background.channel_tasks import ChannelOptions, Channels
from gatepost.channels.conversation import ChannelSession, Pairing
from gatepost.channels.outgoing_message_actions import ChannelMessage
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.api import SharedEntry
from gatepost.channels.speech.transcriber import Transcriber
from gatepost.channels.telegram import update_actions as telegram
from gatepost.channels.telegram.bot_port import derive_keys
from gatepost.channels.telegram.client import TelegramClient
from gatepost.channels.telegram.update import BotIdentity
from gatepost.channels.telegram.update_actions import BotProfile, TakenUpdate
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import Trigger, TriggerConfig
from gatepost.core.policy import Policy
from gatepost.core.ports import Reader, Store
from gatepost.core.signals import TransportMessage
from gatepost.core.times import MINUTE, Instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gates.decision import Decision, Option, Question
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Event
from gatepost.testing import FakeClock
from gatepost.transports.signal_bus import SignalBus
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import User
from tests.support.waits import LAST_RESORT

AGENT = "analyst"


def build_free_clock() -> Callable[[], Instant]:
    """A clock that is a minute later each time, so that no limit is ever reached."""
    ticks = count(1)
    return lambda: next(ticks) * MINUTE


def set_up_store(store: Store, token: str, **config: Any) -> Trigger:
    """Register the administrator, Husam and the analyst, and the bot `helper` of the analyst."""
    for name in (directory.ADMINISTRATOR, "husam"):
        store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.HUMAN, display=name.title()))
    store.run_sync(directory.register, EntitySpec(name=AGENT, kind=EntityKind.AGENT))
    spec = TriggerSpec(name="helper", provider="telegram", secret=token, target=AGENT, config=TriggerConfig(**config))
    return store.run_sync(triggers.add, spec)


def pair(store: Store, trigger: Trigger, user: int, person: str, chat: int | None = None) -> Pairing:
    """Pair a user of a bot with a person, as the administrator does on the command line."""
    code = store.run_sync(
        pairing.request,
        trigger,
        chat=str(chat or user),
        user_id=str(user),
        display=f"user {user}",
        random_bits=hash((user, person)) & 2**64 - 1,
    )
    assert code is not None
    return store.run_sync(pairing.approve, code, by=None, person=person)


@dataclass(kw_only=True)
class VerbSetup:
    """A setup without a Telegram: updates are given to the verbs."""

    store: Store
    trigger: Trigger
    bot: BotProfile
    numbers: Any = field(default_factory=partial(count, 1))

    def take(self, *updates: Any) -> list[TakenUpdate]:
        return self.store.run_sync(telegram.take_updates, "helper", updates, self.bot, random_bits=next(self.numbers))

    def list_events(self, agent: str = AGENT) -> list[Event]:
        items = self.store.read_sync(inbox.list_page, agent, limit=1_000)
        return [item.event for item in items]

    def list_sent(self) -> list[str]:
        """What is to be sent, in order."""
        return [message.content for message in self.list_messages()]

    def list_messages(self) -> list[ChannelMessage]:
        return self.store.read_sync(_list_messages)


def _list_messages(tx: Reader) -> list[ChannelMessage]:
    messages: list[ChannelMessage] = []
    while (message := outgoing.read(tx, len(messages) + 1)) is not None:
        messages.append(message)
    return messages


TOKEN = "700000001:AAFgatepost_botxxxxxxxxxxxxxxxxxxxx"


def build_profile(token: str = TOKEN) -> BotProfile:
    return BotProfile(BotIdentity(99, "gate_bot"), derive_keys(token))


@dataclass(kw_only=True)
class ChannelSetup:
    store: Store
    bus: SignalBus
    channels: Channels
    telegram: TelegramServer

    @property
    def trigger(self) -> Trigger:
        return self.store.read_sync(triggers.show, "helper")

    def pair(self, user: User, person: str) -> Pairing:
        return pair(self.store, self.trigger, user.id, person)

    def list_events(self, agent: str = AGENT) -> list[Event]:
        return [item.event for item in self.store.read_sync(inbox.list_page, agent, limit=1_000)]

    def list_sessions(self) -> list[ChannelSession]:
        return self.store.read_sync(conversations.list_sessions)

    def list_entries(self) -> list[SharedEntry]:
        return self.store.read_sync(shared_inbox.list_page)

    def send(self, user: User | int, text: str, **options: Any) -> str:
        """Send a text to a chat, whoever is there."""
        chat = user if isinstance(user, int) else user.id
        options = {"is_for_anybody": True, **options}
        return self.store.run_sync(outgoing.send, self.trigger.number, str(chat), text, **options)

    def reply(self, event: Event, text: str, author: str = AGENT) -> None:
        self.store.run_sync(replies.reply_on_route, event, text, self.store.read_sync(directory.find, author))

    def ask(self, event: Event, question: str, *labels: str, free_text: bool = False) -> Decision:
        options = tuple(Option(id=label.lower(), label=label) for label in labels)
        return self.store.run_sync(
            replies.ask_decision,
            Question(question=question, options=options, free_text=free_text),
            event.id,
            by=AGENT,
        )

    async def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition on the store is true; it is looked at after every signal."""
        changed = asyncio.Event()

        def on_signal(_: TransportMessage) -> None:
            changed.set()

        with self.bus.subscribe(on_signal):
            async with asyncio.timeout(LAST_RESORT):
                while not condition():
                    await changed.wait()
                    changed.clear()

    async def wait_for_events(self, number: int, agent: str = AGENT) -> list[Event]:
        await self.wait_until(lambda: len(self.list_events(agent)) >= number)
        return self.list_events(agent)

    async def wait_for_sent(self, user: Any, number: int) -> Sequence[Any]:
        await self.telegram.wait_until(lambda: len(self.telegram.sent(user)) >= number)
        return self.telegram.sent(user)


@asynccontextmanager
async def open_channel_setup(
    server: TelegramServer,
    url: str,
    *,
    clock: FakeClock | None = None,
    send_clock: Callable[[], Instant] | None = None,
    transcriber: Transcriber | None = None,
    policy: Policy | None = None,
    is_running: bool = True,
    token: str | None = None,
    api: str | None = None,
    **config: Any,
) -> AsyncIterator[ChannelSetup]:
    """While entered, a worker reads the bot of a server and sends on it; `api` is the URL of another Bot API."""
    bus = SignalBus()
    store = open_store(url, clock=clock, signal_sink=bus.on_commit, policy=policy or Policy())
    try:
        store.migrate()
        set_up_store(store, token or server.token, **config)
        options = ChannelOptions(
            open_api=partial(TelegramClient, url=api or server.url, timeout=LAST_RESORT),
            transcriber=transcriber,
            poll_time=5.0,
            clock=send_clock or build_free_clock(),
        )
        channels = Channels(store, options, "tests")
        setup = ChannelSetup(store=store, bus=bus, channels=channels, telegram=server)
        async with bus.open():
            if is_running:
                async with channels.run(bus, 0.2):
                    yield setup
            else:
                try:
                    yield setup
                finally:
                    await channels.bots.close()
    finally:
        store.close()
