"""
For tests of channels: the suite that every channel passes.

    class MyDriver(ProviderDriver, RemoteChannelDriver):
        provider_name = "mine"

        def __init__(self) -> None:
            self.provider = MyProvider()

        async def write(self, user: str, text: str) -> None: ...      # a user writes
        def list_sent(self, user: str) -> list[str]: ...              # what the user sees
        ...                                                           # redeliver, stop, start and refuse

    class TestMine(RemoteChannelSuite):
        @pytest.fixture
        def driver(self) -> MyDriver:
            return MyDriver()

`ChannelSuite` is for a channel whose other side cannot fail, and takes a `ChannelDriver`. `RemoteChannelSuite` is for
one that can, and takes a `RemoteChannelDriver`. No test sleeps: it waits for signals of the store, and for what the
provider sends. The tests are async: run them with pytest-asyncio, and its `asyncio_mode = "auto"`.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count, takewhile
from typing import Any, ClassVar, Final, NoReturn

import pytest

from gatepost.channels import outgoing_message_actions as outgoing, pairing_actions as pairing, reply_actions as replies
from gatepost.channels.background.channel_tasks import ChannelOptions, Channels
from gatepost.channels.conversation import is_user_prompt
from gatepost.channels.outgoing_message_actions import SEND_JOB, MessageState
from gatepost.channels.provider import BoundTrigger, MessageToSend, Provider, ProviderIntake
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.api import EntryKind
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import Trigger, TriggerConfig
from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import Decision, Option, Question
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Event, Priority
from gatepost.jobs import job_actions as jobs
from gatepost.testing import FakeClock, Kit
from gatepost.transports.signal_bus import SignalBus

#: seconds after which a test stops to wait: only a hang takes as long, on a busy machine too
WAIT_TIMEOUT: Final = 300.0
AGENT: Final = "analyst"
TRIGGER: Final = "desk"
_INTERVAL: Final = 0.05


class ChannelDriver(ABC):
    """The other side of a channel, as tests drive it; one for each test. Users are named by a word: `ana`, `bob`."""

    store: Store

    def attach(self, store: Store) -> None:
        """Get to know the store; it is called once, before everything else."""
        self.store = store

    def build_trigger(self) -> TriggerSpec | None:
        """Return the trigger of the channel, with the name `TRIGGER` and the target `AGENT`; None if it needs none."""
        return None

    def build_channel_options(self) -> ChannelOptions | None:
        """Return what a worker needs to read the channel and to send on it; None if it needs no worker."""
        return None

    def get_user_id(self, user: str) -> str:
        """Return the channel's id of a user, and of the private chat; it is called once for each user."""
        return user

    @abstractmethod
    async def write(self, user: str, text: str) -> None:
        """Have a user write."""

    async def reset(self, user: str) -> None:
        """Have a user begin a new conversation."""
        await self.write(user, "/reset")

    @abstractmethod
    def list_sent(self, user: str) -> Sequence[str]:
        """Return what a user was sent, in order."""

    @abstractmethod
    async def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition on what was sent is true."""


class RemoteChannelDriver(ChannelDriver):
    """The other side of a channel that brings messages again, is away at times, and refuses messages."""

    @abstractmethod
    async def redeliver(self) -> None:
        """Have the channel bring everything again that it has brought, as after a lost confirmation."""

    @abstractmethod
    async def stop(self) -> None:
        """Begin an outage."""

    @abstractmethod
    async def start(self) -> None:
        """End an outage."""

    @abstractmethod
    async def refuse(self, user: str) -> None:
        """Have the channel refuse everything that is sent to a user, for good."""


class ProviderDriver(ChannelDriver):
    """A driver of the provider of a package. For `RemoteChannelSuite`, it is also a `RemoteChannelDriver`."""

    #: as the entry point names it
    provider_name: ClassVar[str]
    provider: Provider
    #: of the trigger
    options: Mapping[str, Json] = {}
    secret: str | None = None

    def build_trigger(self) -> TriggerSpec:
        self.provider.check_options(self.options)
        config = TriggerConfig(options=self.options, sends=self.provider.sends)
        name = self.provider_name
        return TriggerSpec(name=TRIGGER, provider=name, secret=self.secret, target=AGENT, config=config)

    def build_channel_options(self) -> ChannelOptions:
        self._sent = asyncio.Condition()
        watched = _WatchedProvider(self.provider, self._sent)
        return ChannelOptions(open_api=_open_no_api, providers={self.provider_name: watched})

    async def wait_until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT), self._sent:
            await self._sent.wait_for(lambda: bool(condition()))


class _WatchedProvider:
    """A provider whose sends can be waited for."""

    def __init__(self, provider: Provider, sent: asyncio.Condition) -> None:
        self._provider = provider
        self._sent = sent
        self.receives, self.sends = provider.receives, provider.sends
        self.check_options = provider.check_options

    async def receive(self, trigger: BoundTrigger, intake: ProviderIntake) -> None:
        await self._provider.receive(trigger, intake)

    async def send(self, trigger: BoundTrigger, message: MessageToSend) -> str:
        id = await self._provider.send(trigger, message)
        async with self._sent:
            self._sent.notify_all()
        return id


def _open_no_api(_: str) -> NoReturn:
    raise AssertionError("there is no bot here")


class WatchedStore:
    """A store that says when something was committed, or could not be."""

    def __init__(self, store: Store, on_change: Callable[[], None]) -> None:
        self._store = store
        self._on_change = on_change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def run(self, *args: Any, **options: Any) -> Any:
        try:
            return await self._store.run(*args, **options)
        finally:
            self._on_change()


class ChannelBench:
    """A store, an agent, two people who write on a channel, and the worker of the channel."""

    def __init__(self, kit: Kit, driver: ChannelDriver) -> None:
        self.bus = SignalBus()
        self.clock: FakeClock = kit.clock
        self.store = kit.open(signal_sink=self.bus.on_commit)
        self.driver = driver
        self._changed = asyncio.Event()
        self.store.migrate()
        self.store.run_sync(directory.register, EntitySpec(name=directory.ADMINISTRATOR, kind=EntityKind.HUMAN))
        self.store.run_sync(directory.register, EntitySpec(name=AGENT, kind=EntityKind.AGENT))
        driver.attach(self.store)
        spec = driver.build_trigger()
        trigger = self.store.run_sync(triggers.add, spec) if spec is not None else None
        for name in ("ana", "bob"):
            self._add_person(name, trigger)

    def _add_person(self, name: str, trigger: Trigger | None) -> None:
        """Register a person; if the channel has a trigger, it is paired with its user there."""
        id = self.driver.get_user_id(name)
        if trigger is None:
            self.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.HUMAN))
        else:
            person = self.store.run_sync(pairing.admit, trigger, chat=id, user_id=id, display=name)
            assert person == name

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """While entered, a worker reads the channel and sends on it."""
        options = self.driver.build_channel_options()
        async with self.bus.open():
            if options is None:
                yield
                return
            watched_store: Any = WatchedStore(self.store, self._changed.set)
            async with Channels(watched_store, options, "suite").run(self.bus, _INTERVAL):
                yield

    def list_events(self, name: str = AGENT) -> list[Event]:
        return [item.event for item in self.store.read_sync(inbox.list_page, name, limit=1_000)]

    def list_prompts(self) -> list[Event]:
        return [event for event in self.list_events() if is_user_prompt(event)]

    def reply(self, event: Event, text: str) -> None:
        author = self.store.read_sync(directory.find, AGENT)
        self.store.run_sync(replies.reply_on_route, event, text, author)

    def ask(self, event: Event, question: str, *labels: str) -> Decision:
        options = tuple(Option(id=label.lower(), label=label) for label in labels)
        return self.store.run_sync(
            replies.ask_decision, Question(question=question, options=options), event.id, by=AGENT
        )

    async def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition on the store is true; it is looked at after every commit of the worker."""
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not condition():
                await self._changed.wait()
                self._changed.clear()

    async def pass_time_until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition is true; after every commit of the worker, a minute has passed for the store."""
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not condition():
                await self._changed.wait()
                self._changed.clear()
                self.clock.advance("1 minute")

    async def wait_for_prompts(self, number: int) -> list[Event]:
        await self.wait_until(lambda: len(self.list_prompts()) >= number)
        return self.list_prompts()

    async def wait_for_sent(self, user: str, number: int) -> list[str]:
        await self.driver.wait_until(lambda: len(self.driver.list_sent(user)) >= number)
        return list(self.driver.list_sent(user))


class ChannelSuite:
    """The contract of a channel as tests."""

    @pytest.fixture
    def driver(self) -> ChannelDriver:
        raise NotImplementedError("give the suite a fixture `driver` that drives your channel")

    @pytest.fixture
    def bench(self, driver: ChannelDriver) -> Any:
        with Kit() as kit:
            yield ChannelBench(kit, driver)

    async def test_each_message_is_one_event_in_its_order(self, bench: ChannelBench) -> None:
        texts = [f"message {number}" for number in range(20)]
        async with bench.run():
            for text in texts:
                await bench.driver.write("ana", text)
            events = await bench.wait_for_prompts(len(texts))
        assert [event.content for event in events] == texts
        assert {event.sender.name for event in events if event.sender is not None} == {"ana"}
        assert len({event.dedup_key for event in events}) == len(texts)

    async def test_a_restart_loses_nothing_and_repeats_nothing(self, bench: ChannelBench) -> None:
        async with bench.run():
            await bench.driver.write("ana", "one")
            [event] = await bench.wait_for_prompts(1)
        bench.reply(event, "while nobody sends")
        await bench.driver.write("ana", "two")
        async with bench.run():
            await bench.driver.write("ana", "three")
            events = await bench.wait_for_prompts(3)
            assert await bench.wait_for_sent("ana", 1) == ["while nobody sends"]
        assert [event.content for event in events] == ["one", "two", "three"]

    async def test_a_reply_goes_to_whom_it_replies_and_to_nobody_else(self, bench: ChannelBench) -> None:
        async with bench.run():
            await bench.driver.write("ana", "hello")
            [from_ana] = await bench.wait_for_prompts(1)
            await bench.driver.write("bob", "hello")
            [_, from_bob] = await bench.wait_for_prompts(2)
            bench.reply(from_ana, "for Ana")
            bench.reply(from_bob, "for Bob")
            assert await bench.wait_for_sent("ana", 1) == ["for Ana"]
            assert await bench.wait_for_sent("bob", 1) == ["for Bob"]
        assert from_ana.route != from_bob.route
        entries = bench.store.read_sync(shared_inbox.list_page)
        assert from_ana.route is not None
        kinds = [(entry.kind, entry.content) for entry in entries if entry.session == from_ana.route.session]
        assert kinds == [(EntryKind.USER_PROMPT, "hello"), (EntryKind.SYSTEM_RESPONSE, "for Ana")]

    async def test_two_conversations_never_cross(self, bench: ChannelBench) -> None:
        async with bench.run():
            for number in range(10):
                await bench.driver.write("ana", f"ana {number}")
                await bench.driver.write("bob", f"bob {number}")
            events = await bench.wait_for_prompts(20)
            for event in events:
                bench.reply(event, f"to {event.content}")
            for user in ("ana", "bob"):
                assert await bench.wait_for_sent(user, 10) == [f"to {user} {number}" for number in range(10)]
        for event in events:
            assert event.sender is not None
            assert event.content.startswith(event.sender.name)

    async def test_only_the_person_who_is_asked_answers(self, bench: ChannelBench) -> None:
        async with bench.run():
            await bench.driver.write("ana", "deploy please")
            [event] = await bench.wait_for_prompts(1)
            decision = bench.ask(event, "Deploy to production?", "Yes", "No")
            [question] = await bench.wait_for_sent("ana", 1)
            assert question.startswith("Deploy to production?")

            await bench.driver.write("bob", "Yes")
            await bench.wait_for_prompts(2)
            assert bench.store.read_sync(decisions.show, decision.id).is_open
            await bench.driver.write("ana", "No")
            await bench.wait_until(lambda: not bench.store.read_sync(decisions.show, decision.id).is_open)
        answer = bench.store.read_sync(decisions.show, decision.id).last_answer
        assert answer is not None
        assert (answer.option, answer.by) == ("no", "ana")
        assert len(bench.list_prompts()) == 2
        assert not any(text.startswith("Deploy") for text in bench.driver.list_sent("bob"))

    async def test_a_reset_begins_a_new_session(self, bench: ChannelBench) -> None:
        async with bench.run():
            await bench.driver.write("ana", "one")
            [first] = await bench.wait_for_prompts(1)
            await bench.driver.reset("ana")
            await bench.driver.write("ana", "two")
            [_, second] = await bench.wait_for_prompts(2)
        assert first.route is not None
        assert second.route is not None
        assert second.route.session == f"{first.route.session}:reset-1"
        [reset] = [event for event in bench.list_events() if event not in (first, second)]
        assert (reset.route, reset.priority) == (second.route, Priority.FYI)


class RemoteChannelSuite(ChannelSuite):
    """The contract of a channel that brings messages again, is away at times, and refuses messages."""

    @pytest.fixture
    def driver(self) -> RemoteChannelDriver:
        raise NotImplementedError("give the suite a fixture `driver` that drives your channel")

    async def test_what_is_brought_again_is_not_taken_again(
        self, bench: ChannelBench, driver: RemoteChannelDriver
    ) -> None:
        async with bench.run():
            for text in ("one", "two"):
                await bench.driver.write("ana", text)
            await bench.wait_for_prompts(2)
            await driver.redeliver()
            await bench.driver.write("ana", "three")
            await bench.wait_for_prompts(3)
        await driver.redeliver()
        async with bench.run():
            await bench.driver.write("bob", "four")
            events = await bench.wait_for_prompts(4)
        assert [event.content for event in events] == ["one", "two", "three", "four"]

    async def test_an_outage_loses_nothing_and_keeps_the_order(
        self, bench: ChannelBench, driver: RemoteChannelDriver
    ) -> None:
        async with bench.run():
            await bench.driver.write("ana", "hello")
            [event] = await bench.wait_for_prompts(1)
            await driver.stop()
            replies = [f"reply {number}" for number in range(5)]
            for text in replies:
                bench.reply(event, text)
            await bench.wait_until(lambda: bench.store.read_sync(jobs.find_error, SEND_JOB))
            assert list(bench.driver.list_sent("ana")) == []
            await driver.start()
            await bench.pass_time_until(lambda: len(bench.driver.list_sent("ana")) == len(replies))
            assert list(bench.driver.list_sent("ana")) == replies
            await bench.driver.write("ana", "still there")
            await bench.wait_for_prompts(2)

    async def test_a_refusal_ends_the_attempts_and_its_owner_is_told(
        self, bench: ChannelBench, driver: RemoteChannelDriver
    ) -> None:
        async with bench.run():
            await bench.driver.write("ana", "hello")
            [from_ana] = await bench.wait_for_prompts(1)
            await bench.driver.write("bob", "hello")
            [_, from_bob] = await bench.wait_for_prompts(2)
            await driver.refuse("ana")
            bench.reply(from_ana, "for Ana")
            bench.reply(from_bob, "for Bob")
            assert await bench.wait_for_sent("bob", 1) == ["for Bob"]
            await bench.wait_until(lambda: bench.list_events(directory.ADMINISTRATOR))
            await bench.wait_until(lambda: bench.store.read_sync(jobs.find_next_due, [SEND_JOB]) is None)
        assert any(repr(TRIGGER) in event.content for event in bench.list_events(directory.ADMINISTRATOR))
        states = bench.store.read_sync(_list_states)
        assert sorted(states) == [MessageState.FAILED, MessageState.SENT]


def _list_states(tx: Reader) -> list[MessageState]:
    """Return the states of all messages that were to be sent."""
    rows = takewhile(lambda message: message is not None, (outgoing.read(tx, number) for number in count(1)))
    return [message.state for message in rows if message is not None]
