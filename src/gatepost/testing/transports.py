"""
For tests of transports: the suite that every adapter passes, a listener that records, and a transport that is as
unreliable as the port allows.

    class TestMine(TransportSuite):
        @pytest.fixture
        def make(self) -> TransportFactory:
            return lambda: MyTransport("mine://somewhere")

`make` returns another transport of the same kind, as another process would have it. No test sleeps: it waits for the
messages it expects.
"""

import asyncio
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Final

import pytest

from gatepost.core.ports import MessageHandler, Transport
from gatepost.core.signals import Frame, Signal, Topic, TransportMessage
from gatepost.core.transport_records import TransportStatus
from gatepost.directory.entity import EntityKind
from gatepost.inbox.event import Event, EventType, Priority, Ref, Route, Sender, Trust

#: seconds after which a test stops to wait for a message: only a hang takes as long, on a busy machine too
WAIT_TIMEOUT: Final = 300.0

TransportFactory = Callable[[], Transport]

SAMPLE_EVENT: Final = Event(
    id="evt_0199",
    type=EventType.SPACE_MESSAGE,
    source="q4",
    sender=Sender("husam", "Husam", EntityKind.HUMAN),
    subject="Zahlen für „Q4“ \u2028",
    content='say "4.2M"\n',
    data={"spaceId": "q4", "spaceName": "Q4", "messageId": "msg_1", "seq": 41, "nested": [None, {"deep": 1.5}]},
    priority=Priority.HIGH,
    dedup_key="msg:msg_1",
    created_at=1_771_427_215_000_001,
    expires_at=1_771_427_216_000_000,
    ref=Ref("task", "0.0.123"),
    route=Route("web", "chat-1:user-2"),
    hops=3,
    trust=Trust.EXTERNAL,
)


class RecordingListener:
    """A message handler that records the messages in order, and can wait for them."""

    def __init__(self) -> None:
        self.messages: list[TransportMessage] = []
        self._changed = asyncio.Event()

    def __call__(self, message: TransportMessage) -> None:
        self.messages.append(message)
        self._changed.set()

    @property
    def signals(self) -> list[tuple[str, str, bool]]:
        return [(item.topic.recipient, item.cause, item.wakes) for item in self.messages if isinstance(item, Signal)]

    @property
    def frames(self) -> list[Frame]:
        return [item for item in self.messages if isinstance(item, Frame)]

    async def wait_until(self, predicate: Callable[["RecordingListener"], bool]) -> None:
        """Return as soon as the predicate is true; raise `TimeoutError` after `WAIT_TIMEOUT`."""
        try:
            async with asyncio.timeout(WAIT_TIMEOUT):
                while not predicate(self):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise TimeoutError(f"waited {WAIT_TIMEOUT:.0f} s in vain; heard {len(self.messages)} signals") from None

    async def wait_for(self, recipient: str) -> None:
        """Return as soon as a signal for that recipient was received."""
        await self.wait_until(lambda listener: any(name == recipient for name, _, _ in listener.signals))


class TransportSuite:
    """The contract of `gatepost.core.ports.Transport` as tests."""

    #: whether signals carry their events
    carries_events: ClassVar[bool] = True

    @pytest.fixture
    def make(self) -> TransportFactory:
        raise NotImplementedError("give the suite a fixture `make` that makes your transport")

    @pytest.fixture(autouse=True)
    def _check_no_threads_left(self) -> Iterator[None]:
        yield
        for thread in threading.enumerate():
            if thread.name.startswith("gatepost-"):
                thread.join(WAIT_TIMEOUT)
                assert not thread.is_alive()

    async def test_every_listener_receives_a_signal(self, make: TransportFactory) -> None:
        first, second, third = RecordingListener(), RecordingListener(), RecordingListener()
        sender, others = make(), [make(), make()]
        async with sender.listen(third), others[0].listen(first), others[1].listen(second):
            assert not any(transport.status.is_degraded for transport in (sender, *others))
            sender.send([Signal(Topic("inbox", "ann"), "event")])
            await first.wait_for("ann")
            await second.wait_for("ann")

    async def test_a_signal_carries_its_recipient_its_cause_and_whether_it_wakes(self, make: TransportFactory) -> None:
        signals = [
            Signal(Topic("inbox", "ann"), "event"),
            Signal(Topic("inbox", "ann.of-the_team.7"), "release", None, False),
            Signal(Topic("inbox", "*"), "system"),
            Signal(Topic("space", "q4"), "space_message"),
            Signal(Topic("inbox", "x" * 63), "janitor"),
        ]
        async with make().listen(listener := RecordingListener()):
            make().send(signals)
            await listener.wait_for("x" * 63)
        assert listener.signals == [(signal.topic.recipient, signal.cause, signal.wakes) for signal in signals]

    async def test_a_signal_carries_its_event_where_that_is_promised(self, make: TransportFactory) -> None:
        async with make().listen(listener := RecordingListener()):
            make().send(
                [
                    Signal(Topic("inbox", "ann"), "space_message", SAMPLE_EVENT),
                    Signal(Topic("inbox", "bob"), "space_message", SAMPLE_EVENT),
                ]
            )
            await listener.wait_for("bob")
        for signal in listener.messages:
            assert isinstance(signal, Signal)
            if signal.event is None:
                assert not self.carries_events
            else:
                for name in ("id", "dedup_key", "created_at", "subject", "content", "sender", "ref", "route"):
                    assert getattr(signal.event, name) == getattr(SAMPLE_EVENT, name), name
                assert SAMPLE_EVENT.data.items() <= signal.event.data.items()

    async def test_a_frame_arrives_as_it_was_sent(self, make: TransportFactory) -> None:
        frames = [
            Frame(Topic("space", "q4"), "streaming", {"streamId": "s1", "phase": "delta", "text": "„\x00\ud800 <😀"}),
            Frame(Topic("agent", "ann"), "agent.active", None),
            Frame(Topic("run", "run_1"), "tool.done", [1, 2.5, True, {"": []}]),
        ]
        async with make().listen(listener := RecordingListener()):
            make().send(frames)
            await listener.wait_until(lambda listener: len(listener.frames) == 3)
        assert listener.frames == frames

    async def test_equal_frames_are_not_one_frame(self, make: TransportFactory) -> None:
        frame = Frame(
            Topic("space", "q4"), "space.message.streaming", {"streamId": "s1", "phase": "delta", "text": "ha"}
        )
        async with make().listen(listener := RecordingListener()):
            sender = make()
            sender.send([frame, frame])
            sender.send([frame])
            await listener.wait_until(lambda listener: len(listener.frames) == 3)

    async def test_messages_of_one_thread_arrive_in_order_while_the_connection_is_up(
        self, make: TransportFactory
    ) -> None:
        sender, frames = make(), [Frame(Topic("space", "q4"), "delta", number) for number in range(500)]
        async with make().listen(listener := RecordingListener()), sender.listen(RecordingListener()):
            for frame in frames:
                sender.send([frame])
            await listener.wait_until(lambda listener: len(listener.frames) == len(frames))
        assert listener.frames == frames

    async def test_many_threads_may_send_at_once(self, make: TransportFactory) -> None:
        sender, names = make(), {f"agent-{number}" for number in range(400)}
        async with make().listen(listener := RecordingListener()), sender.listen(RecordingListener()):
            with ThreadPoolExecutor(4) as pool:
                for name in names:
                    pool.submit(sender.send, [Signal(Topic("inbox", name), "event", SAMPLE_EVENT)])
            await listener.wait_until(lambda listener: names <= {signal[0] for signal in listener.signals})

    async def test_a_fan_out_to_many(self, make: TransportFactory) -> None:
        async with make().listen(listener := RecordingListener()):
            topics = [Topic("inbox", f"agent-{number}") for number in range(1_000)]
            make().send([Signal(topic, "space_message", SAMPLE_EVENT) for topic in topics])
            await listener.wait_until(lambda listener: len({signal[0] for signal in listener.signals}) == 1_000)

    async def test_the_signal_of_the_largest_event_arrives(self, make: TransportFactory) -> None:
        large = Event(id="evt_1", type=EventType.EVENT, source="test", data="ü" * 500_000, created_at=0)
        async with make().listen(listener := RecordingListener()):
            make().send([Signal(Topic("inbox", "ann"), "event", large), Signal(Topic("inbox", "bob"), "event")])
            await listener.wait_for("ann")
            await listener.wait_for("bob")

    async def test_a_message_that_cannot_be_sent_does_no_harm(self, make: TransportFactory) -> None:
        async with make().listen(listener := RecordingListener()):
            sender = make()
            sender.send([])
            sender.send(
                [
                    Frame(Topic("space", "q4"), "delta", {"not", "json"}),
                    Frame(Topic("space", "q4"), "delta", float("nan")),
                ]
            )
            sender.send([Signal(Topic("inbox", "ann"), "event")])
            await listener.wait_for("ann")

    async def test_sending_without_a_listener_does_no_harm(self, make: TransportFactory) -> None:
        sender = make()
        sender.send([Signal(Topic("inbox", "ann"), "event")])
        await asyncio.to_thread(sender.send, [Signal(Topic("inbox", "ann"), "event")])
        async with sender.listen(RecordingListener()):
            sender.send([Signal(Topic("inbox", "ann"), "event")])

    async def test_a_thread_without_an_event_loop_can_send(self, make: TransportFactory) -> None:
        async with make().listen(listener := RecordingListener()):
            thread = threading.Thread(target=lambda: make().send([Signal(Topic("inbox", "ann"), "event")]))
            thread.start()
            await listener.wait_for("ann")
            thread.join(WAIT_TIMEOUT)

    async def test_listening_can_end_and_begin_again(self, make: TransportFactory) -> None:
        listener, sender = make(), make()
        first, second, witness = RecordingListener(), RecordingListener(), RecordingListener()
        tasks = asyncio.all_tasks()
        async with make().listen(witness), sender.listen(RecordingListener()):
            async with listener.listen(first):
                sender.send([Signal(Topic("inbox", "ann"), "event")])
                await first.wait_for("ann")
            sender.send([Signal(Topic("inbox", "bob"), "event")])
            await witness.wait_for("bob")
            async with listener.listen(second):
                sender.send([Signal(Topic("inbox", "cleo"), "event")])
                await second.wait_for("cleo")
        assert [signal[0] for signal in first.signals] == ["ann"]
        assert "bob" not in {signal[0] for signal in second.signals}
        assert asyncio.all_tasks() == tasks

    async def test_an_error_in_the_block_that_listens_is_raised_unchanged(self, make: TransportFactory) -> None:
        with pytest.raises(LookupError, match=r"^mine$"):
            async with make().listen(RecordingListener()):
                raise LookupError("mine")

    async def test_the_last_messages_arrive_although_the_sender_stops_listening(self, make: TransportFactory) -> None:
        async with make().listen(listener := RecordingListener()):
            sender = make()
            async with sender.listen(RecordingListener()):
                sender.send([Signal(Topic("inbox", "ann"), "event")])
            await listener.wait_for("ann")


class FlakyTransport:
    """
    Wraps a transport, and loses, repeats and reorders messages at random. The same seed and the same messages give the
    same result. A delayed message goes with a later one, or never.
    """

    def __init__(
        self,
        transport: Transport,
        seed: int,
        *,
        loss_rate: float = 0.2,
        repeat_rate: float = 0.2,
        delay_rate: float = 0.2,
    ) -> None:
        self._transport = transport
        self._random = random.Random(seed)  # noqa: S311 (no security purpose)
        self._loss_rate, self._repeat_rate, self._delay_rate = loss_rate, repeat_rate, delay_rate
        self._delayed_messages: list[TransportMessage] = []
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._transport.name

    @property
    def status(self) -> TransportStatus:
        return self._transport.status

    def send(self, messages: Sequence[TransportMessage]) -> None:
        with self._lock:
            outgoing = [output for message in messages for output in self._apply_faults(message)]
        self._transport.send(outgoing)

    def listen(self, handle: MessageHandler) -> AbstractAsyncContextManager[None]:
        return self._transport.listen(handle)

    def _apply_faults(self, message: TransportMessage) -> list[TransportMessage]:
        dice = self._random.random()
        if dice < self._loss_rate:
            return []
        if dice < self._loss_rate + self._repeat_rate:
            return [message, message]
        if dice < self._loss_rate + self._repeat_rate + self._delay_rate:
            self._delayed_messages.append(message)
            return []
        delayed_messages, self._delayed_messages = self._delayed_messages, []
        self._random.shuffle(delayed_messages)
        return [message, *delayed_messages]
