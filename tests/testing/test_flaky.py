"""A transport that is as bad as one may be, and equally bad every time."""

from collections import Counter

from gatepost.core.signals import Signal, Topic
from gatepost.testing.transports import FlakyTransport, RecordingListener
from gatepost.transports.memory import MemoryBus, MemoryTransport


async def collect_received(seed: int, count: int = 1_000) -> list[int]:
    bus = MemoryBus()
    async with MemoryTransport(bus).listen(listener := RecordingListener()):
        flaky = FlakyTransport(MemoryTransport(bus), seed)
        for number in range(count):
            flaky.send([Signal(Topic("inbox", str(number)), "event")])
        FlakyTransport(MemoryTransport(bus), seed, loss_rate=0, repeat_rate=0, delay_rate=0).send(
            [Signal(Topic("inbox", "-1"), "end")]
        )
        await listener.wait_for("-1")
    return [int(signal[0]) for signal in listener.signals[:-1]]


async def test_the_same_seed_gives_the_same_trouble() -> None:
    assert await collect_received(7) == await collect_received(7)
    assert await collect_received(7) != await collect_received(8)


async def test_it_loses_repeats_and_reorders_and_passes_the_rest_on() -> None:
    numbers = await collect_received(1)
    times = Counter(numbers)
    assert 100 < 1_000 - len(times) < 300
    assert set(times.values()) == {1, 2}
    assert 100 < sum(count == 2 for count in times.values()) < 300
    assert numbers != sorted(numbers)
    assert set(numbers) <= set(range(1_000))


async def test_it_is_as_good_as_what_it_wraps_when_told_to() -> None:
    transport = MemoryTransport()
    flaky = FlakyTransport(transport, 0, loss_rate=0, repeat_rate=0, delay_rate=0)
    assert (flaky.name, flaky.status) == (transport.name, transport.status)
