"""
What tests of transports stand on: the suite that every adapter passes, ears to listen with, and a transport that is as
bad as one may be.

    class TestMine(TransportSuite):
        @pytest.fixture
        def make(self) -> Make:
            return lambda: MyTransport("mine://somewhere")

`make` makes another transport of the same kind, as another process would have it. Nothing here sleeps: a test waits for
what it is to hear.
"""

import asyncio
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Final

import pytest

from gatepost.core.entity import Kind
from gatepost.core.event import Event, Priority, Ref, Route, Sender, Trust, Type
from gatepost.core.frame import Frame, TransportMessage
from gatepost.core.ring import Ring
from gatepost.ports import MessageHandler, Transport, TransportStatus

#: Seconds after which a signal that was waited for is missing.
PATIENCE: Final = 20.0

Make = Callable[[], Transport]

EVENT: Final = Event(
    id="evt_0199",
    type=Type.SPACE_MESSAGE,
    source="q4",
    sender=Sender("husam", "Husam", Kind.HUMAN),
    subject="Zahlen für „Q4“ \u2028",
    content='say "4.2M"\n',
    data={"spaceId": "q4", "spaceName": "Q4", "messageId": "msg_1", "seq": 41, "nested": [None, {"deep": 1.5}]},
    priority=Priority.HIGH,
    key="msg:msg_1",
    created_at=1_771_427_215_000_001,
    expires_at=1_771_427_216_000_000,
    ref=Ref("task", "0.0.123"),
    route=Route("telegram", "chat-1:user-2"),
    hops=3,
    trust=Trust.EXTERNAL,
)


class Ears:
    """What was heard, in order; it can be waited for."""

    def __init__(self) -> None:
        self.signals: list[TransportMessage] = []
        self._more = asyncio.Event()

    def __call__(self, signal: TransportMessage) -> None:
        self.signals.append(signal)
        self._more.set()

    @property
    def rings(self) -> list[tuple[str, str, bool]]:
        return [(one.recipient, one.cause, one.wakes) for one in self.signals if isinstance(one, Ring)]

    @property
    def frames(self) -> list[Frame]:
        return [one for one in self.signals if isinstance(one, Frame)]

    async def until(self, enough: Callable[["Ears"], bool]) -> None:
        """Return as soon as enough was heard."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not enough(self):
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            raise TimeoutError(f"waited {PATIENCE:.0f} s in vain; heard {len(self.signals)} signals") from None

    async def hear(self, recipient: str) -> None:
        """Return as soon as a ring for that recipient was heard."""
        await self.until(lambda ears: any(name == recipient for name, _, _ in ears.rings))


class TransportSuite:
    """The port of `gatepost.ports.Transport`, test by test."""

    #: whether rings come with their events
    carries_events: ClassVar[bool] = True

    @pytest.fixture
    def make(self) -> Make:
        raise NotImplementedError("give the suite a fixture `make` that makes your transport")

    @pytest.fixture(autouse=True)
    def _nothing_is_left(self) -> Iterator[None]:
        yield
        for thread in threading.enumerate():
            if thread.name.startswith("gatepost-"):
                thread.join(PATIENCE)
                assert not thread.is_alive()

    async def test_every_listener_hears_a_ring(self, make: Make) -> None:
        first, second, third = Ears(), Ears(), Ears()
        speaker, others = make(), [make(), make()]
        async with (
            speaker.listen(third),
            others[0].listen(first),
            others[1].listen(second),
        ):
            assert not any(one.status.is_degraded for one in (speaker, *others))
            speaker.send([Ring("ann", "event")])
            await first.hear("ann")
            await second.hear("ann")

    async def test_a_ring_says_who_and_why_and_whether_to_wake(self, make: Make) -> None:
        rings = [
            Ring("ann", "event"),
            Ring("ann.of-the_team.7", "release", None, False),
            Ring("*", "system"),
            Ring("space:q4", "space_message"),
            Ring("x" * 63, "janitor"),
        ]
        async with make().listen(ears := Ears()):
            make().send(rings)
            await ears.hear("x" * 63)
        assert ears.rings == [(ring.recipient, ring.cause, ring.wakes) for ring in rings]

    async def test_a_ring_comes_with_its_event_where_that_is_promised(self, make: Make) -> None:
        async with make().listen(ears := Ears()):
            make().send([Ring("ann", "space_message", EVENT), Ring("bob", "space_message", EVENT)])
            await ears.hear("bob")
        for ring in ears.signals:
            assert isinstance(ring, Ring)
            if ring.event is None:
                assert not self.carries_events
            else:
                assert (ring.event.id, ring.event.key, ring.event.created_at) == (EVENT.id, EVENT.key, EVENT.created_at)
                assert (ring.event.subject, ring.event.content) == (EVENT.subject, EVENT.content)
                assert (ring.event.sender, ring.event.ref, ring.event.route) == (EVENT.sender, EVENT.ref, EVENT.route)
                assert EVENT.data.items() <= ring.event.data.items()

    async def test_a_frame_arrives_as_it_was_sent(self, make: Make) -> None:
        frames = [
            Frame(
                "space:q4", "space.message.streaming", {"streamId": "s1", "phase": "delta", "text": "„\x00\ud800 <😀"}
            ),
            Frame("agent:ann", "agent.active", None),
            Frame("run:run_1", "tool.done", [1, 2.5, True, {"": []}]),
        ]
        async with make().listen(ears := Ears()):
            make().send(frames)
            await ears.until(lambda ears: len(ears.frames) == 3)
        assert ears.frames == frames

    async def test_equal_frames_are_not_one_frame(self, make: Make) -> None:
        frame = Frame("space:q4", "space.message.streaming", {"streamId": "s1", "phase": "delta", "text": "ha"})
        async with make().listen(ears := Ears()):
            speaker = make()
            speaker.send([frame, frame])
            speaker.send([frame])
            await ears.until(lambda ears: len(ears.frames) == 3)

    async def test_what_one_thread_sends_while_all_is_well_arrives_in_order(self, make: Make) -> None:
        speaker, sent = make(), [Frame("space:q4", "delta", number) for number in range(500)]
        async with make().listen(ears := Ears()), speaker.listen(Ears()):
            for frame in sent:
                speaker.send([frame])
            await ears.until(lambda ears: len(ears.frames) == len(sent))
        assert ears.frames == sent

    async def test_many_threads_may_send_at_once(self, make: Make) -> None:
        speaker = make()
        async with make().listen(ears := Ears()), speaker.listen(Ears()):
            with ThreadPoolExecutor(4) as pool:
                for number in range(400):
                    pool.submit(speaker.send, [Ring(f"agent-{number}", "event", EVENT)])
            await ears.until(
                lambda ears: {f"agent-{number}" for number in range(400)} <= {ring[0] for ring in ears.rings}
            )

    async def test_a_fan_out_to_many(self, make: Make) -> None:
        async with make().listen(ears := Ears()):
            make().send([Ring(f"agent-{number}", "space_message", EVENT) for number in range(1_000)])
            await ears.until(lambda ears: len({ring[0] for ring in ears.rings}) == 1_000)

    async def test_the_largest_event_rings_all_the_same(self, make: Make) -> None:
        large = Event(id="evt_1", type=Type.EVENT, source="test", data="ü" * 500_000, created_at=0)
        async with make().listen(ears := Ears()):
            make().send([Ring("ann", "event", large), Ring("bob", "event")])
            await ears.hear("ann")
            await ears.hear("bob")

    async def test_what_cannot_be_sent_is_nobodys_trouble(self, make: Make) -> None:
        async with make().listen(ears := Ears()):
            speaker = make()
            speaker.send([])
            speaker.send([Frame("space:q4", "delta", {"not", "json"}), Frame("space:q4", "delta", float("nan"))])
            speaker.send([Ring("ann", "event")])
            await ears.hear("ann")

    async def test_sending_without_anybody_to_hear_is_nobodys_trouble(self, make: Make) -> None:
        speaker = make()
        speaker.send([Ring("ann", "event")])
        await asyncio.to_thread(speaker.send, [Ring("ann", "event")])
        async with speaker.listen(Ears()):
            speaker.send([Ring("ann", "event")])

    async def test_a_thread_without_an_event_loop_rings(self, make: Make) -> None:
        async with make().listen(ears := Ears()):
            thread = threading.Thread(target=lambda: make().send([Ring("ann", "event")]))
            thread.start()
            await ears.hear("ann")
            thread.join(PATIENCE)

    async def test_listening_ends_and_may_begin_again(self, make: Make) -> None:
        listener, speaker, first, second, witness = make(), make(), Ears(), Ears(), Ears()
        tasks = asyncio.all_tasks()
        async with make().listen(witness), speaker.listen(Ears()):
            async with listener.listen(first):
                speaker.send([Ring("ann", "event")])
                await first.hear("ann")
            speaker.send([Ring("bob", "event")])
            await witness.hear("bob")
            async with listener.listen(second):
                speaker.send([Ring("cleo", "event")])
                await second.hear("cleo")
        assert [ring[0] for ring in first.rings] == ["ann"]
        assert "bob" not in {ring[0] for ring in second.rings}
        assert asyncio.all_tasks() == tasks

    async def test_an_error_of_the_listener_comes_through_as_it_is(self, make: Make) -> None:
        with pytest.raises(LookupError, match=r"^mine$"):
            async with make().listen(Ears()):
                raise LookupError("mine")

    async def test_what_was_sent_last_is_heard_although_the_speaker_leaves(self, make: Make) -> None:
        async with make().listen(ears := Ears()):
            speaker = make()
            async with speaker.listen(Ears()):
                speaker.send([Ring("ann", "event")])
            await ears.hear("ann")


class FlakyTransport:
    """
    Wraps a transport, and loses, repeats and reorders what is sent, at random. The same seed and the same signals give
    the same result. What is held back goes with a later signal, or never.
    """

    def __init__(
        self, transport: Transport, seed: int, *, lose: float = 0.2, repeat: float = 0.2, hold: float = 0.2
    ) -> None:
        self._transport = transport
        self._random = random.Random(seed)  # noqa: S311 (not for secrecy)
        self._lose, self._repeat, self._hold = lose, repeat, hold
        self._held: list[TransportMessage] = []
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._transport.name

    @property
    def status(self) -> TransportStatus:
        return self._transport.status

    def send(self, signals: Sequence[TransportMessage]) -> None:
        with self._lock:
            passed = [one for signal in signals for one in self._fate(signal)]
        self._transport.send(passed)

    def listen(self, handle: MessageHandler) -> AbstractAsyncContextManager[None]:
        return self._transport.listen(handle)

    def _fate(self, signal: TransportMessage) -> list[TransportMessage]:
        dice = self._random.random()
        if dice < self._lose:
            return []
        if dice < self._lose + self._repeat:
            return [signal, signal]
        if dice < self._lose + self._repeat + self._hold:
            self._held.append(signal)
            return []
        late, self._held = self._held, []
        self._random.shuffle(late)
        return [signal, *late]
