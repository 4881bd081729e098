"""A provider of another package cannot stop the process, whatever it raises and however it is cancelled."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
import structlog

from gatepost.channels import reply_actions as replies
from gatepost.channels.background import provider_channel
from gatepost.channels.background.channel_tasks import ChannelOptions, Channels
from gatepost.channels.background.provider_channel import call_provider
from gatepost.channels.provider import BoundTrigger, MessageToSend, ProviderIntake, UserMessage
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import TriggerConfig
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import GatepostError, Unavailable
from gatepost.inbox import claim_actions as inbox
from gatepost.testing import Kit
from gatepost.testing.channels import WatchedStore
from gatepost.transports.signal_bus import SignalBus
from tests.support.waits import LAST_RESORT


class Mule:
    """A call that does not end when it is cancelled."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.cancellations = 0

    async def run(self) -> str:
        while True:
            self.started.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancellations += 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_channel, "_PATIENCE", 0.01)


async def _raise(error: BaseException) -> str:
    await asyncio.sleep(0)
    raise error


def _raise_at_once(error: BaseException) -> Any:
    raise error


class TestCall:
    async def test_returns_what_the_provider_returns(self) -> None:
        async def answer() -> str:
            with pytest.raises(TimeoutError):  # it may cancel itself, and go on
                async with asyncio.timeout(0.001):
                    await asyncio.Event().wait()
            return await asyncio.to_thread(lambda: "done")

        assert await call_provider("pigeon", answer) == "done"

    @pytest.mark.parametrize("error", [Unavailable("it rains"), ZeroDivisionError("a mistake")])
    async def test_passes_errors_on(self, error: Exception) -> None:
        with pytest.raises(type(error), match=str(error)):
            await call_provider("pigeon", lambda: _raise(error))

    @pytest.mark.parametrize("call", [_raise, _raise_at_once])
    @pytest.mark.parametrize(
        ("error", "text"),
        [
            (SystemExit("bye"), "raised SystemExit: bye"),
            (BaseException(), "raised BaseException"),
            (asyncio.CancelledError(), "raised CancelledError"),
        ],
    )
    async def test_makes_an_error_of_what_would_end_the_process(
        self, call: Any, error: BaseException, text: str
    ) -> None:
        with pytest.raises(GatepostError, match=f"the provider 'pigeon' {text}"):
            await call_provider("pigeon", lambda: call(error))

    async def test_is_cancelled_with_its_caller(self) -> None:
        started, ended = asyncio.Event(), asyncio.Event()

        async def clean_up() -> None:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                ended.set()

        task = asyncio.create_task(call_provider("pigeon", clean_up))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    async def test_is_abandoned_if_it_goes_on_after_it_is_cancelled(self, impatient: None) -> None:
        mule = Mule()
        task = asyncio.create_task(call_provider("mule", mule.run))
        await mule.started.wait()
        task.cancel()
        with structlog.testing.capture_logs() as logs, pytest.raises(asyncio.CancelledError):
            await task
        assert [(entry["log_level"], entry["provider"]) for entry in logs] == [("error", "mule")]
        await asyncio.gather(
            *(task for task in asyncio.all_tasks() if task.get_name() == "provider-mule"), return_exceptions=True
        )
        assert mule.cancellations == 1, "it is never resumed"

    async def test_has_a_time_limit(self, impatient: None) -> None:
        with pytest.raises(Unavailable, match="'mule' has not ended after 0 seconds"):
            await call_provider("mule", Mule().run, time_limit=0.01)


class Fiend:
    """A provider whose calls end as a test tells it."""

    receives = sends = True

    def __init__(self) -> None:
        self.exits = 0
        self.sent: list[str] = []
        self.mule = Mule()

    def check_options(self, options: Mapping[str, Any]) -> None:
        pass

    async def receive(self, trigger: BoundTrigger, intake: ProviderIntake) -> None:
        if trigger.name == "mule":
            await self.mule.run()
        self.exits += 1
        if self.exits == 1:
            raise SystemExit("bye")
        await intake.take(UserMessage(id="1", user="7", text="hello"))
        await asyncio.Event().wait()

    async def send(self, trigger: BoundTrigger, message: MessageToSend) -> str:
        self.exits += 1
        if self.exits == 3:
            raise SystemExit("bye")
        self.sent.append(message.text)
        return "1"


def _open_no_api(_: str) -> Any:
    raise AssertionError("there is no bot here")


async def test_a_worker_goes_on_and_stops_whatever_a_provider_does(impatient: None) -> None:
    fiend, bus = Fiend(), SignalBus()
    with Kit() as kit:
        kit.store.migrate()
        store = kit.open(signal_sink=bus.on_commit)
        for name, kind in (("admin", EntityKind.HUMAN), ("husam", EntityKind.HUMAN), ("analyst", EntityKind.AGENT)):
            store.run_sync(directory.register, EntitySpec(name=name, kind=kind))
        config = TriggerConfig(sends=True, allow=(7,))
        for trigger in ("desk", "mule"):
            store.run_sync(triggers.add, TriggerSpec(name=trigger, provider="fiend", target="analyst", config=config))
        options = ChannelOptions(open_api=_open_no_api, providers={"fiend": fiend})
        changed = asyncio.Event()
        watched_store: Any = WatchedStore(store, changed.set)
        async with (
            asyncio.timeout(LAST_RESORT),
            bus.open(),
            Channels(watched_store, options, "tests").run(bus, 0.02),
        ):
            await fiend.mule.started.wait()
            while not (items := store.read_sync(inbox.list_page, "analyst")):
                await changed.wait()
                changed.clear()
            author = store.read_sync(directory.find, "analyst")
            store.run_sync(replies.reply_on_route, items[0].event, "hi", author)
            while not fiend.sent:
                await changed.wait()
                changed.clear()
                kit.clock.advance("1 minute")  # the next attempt is due
        [alert] = store.read_sync(inbox.list_page, "admin")
        text = "the trigger 'desk' does not work: the provider 'fiend' raised SystemExit: bye"
        assert (alert.event.content, fiend.sent) == (text, ["hi"])
