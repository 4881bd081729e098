"""A transport that is as bad as one may be, and equally bad every time."""

from collections import Counter

from gatepost.adapters.transports.memory import MemoryTransport, Room
from gatepost.core.ring import Ring
from gatepost.testing.transports import Ears, FlakyTransport


async def heard(seed: int, count: int = 1_000) -> list[int]:
    room = Room()
    async with MemoryTransport(room).listen(ears := Ears()):
        flaky = FlakyTransport(MemoryTransport(room), seed)
        for number in range(count):
            flaky.send([Ring(str(number), "event")])
        FlakyTransport(MemoryTransport(room), seed, lose=0, repeat=0, hold=0).send([Ring("-1", "end")])
        await ears.hear("-1")
    return [int(ring[0]) for ring in ears.rings[:-1]]


async def test_the_same_seed_gives_the_same_trouble() -> None:
    assert await heard(7) == await heard(7)
    assert await heard(7) != await heard(8)


async def test_it_loses_repeats_and_reorders_and_passes_the_rest_on() -> None:
    numbers = await heard(1)
    times = Counter(numbers)
    assert 100 < 1_000 - len(times) < 300
    assert set(times.values()) == {1, 2}
    assert 100 < sum(count == 2 for count in times.values()) < 300
    assert numbers != sorted(numbers)
    assert set(numbers) <= set(range(1_000))


async def test_it_is_as_good_as_what_it_wraps_when_told_to() -> None:
    transport = MemoryTransport()
    flaky = FlakyTransport(transport, 0, lose=0, repeat=0, hold=0)
    assert (flaky.name, flaky.status) == (transport.name, transport.status)
