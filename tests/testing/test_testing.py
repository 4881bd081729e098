"""What tests stand on stands."""

import threading
from pathlib import Path

import pytest

from gatepost.core.ids import mint
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import MINUTE
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Unavailable
from gatepost.testing import FakeClock, Kit, RecordingSignalSink


def test_a_fake_clock_stands_still_until_it_is_moved() -> None:
    clock = FakeClock()
    start = clock.now()
    assert clock.now() == start
    assert clock.advance("5 minutes") == clock.now() == start + 5 * MINUTE
    assert clock.advance(1) == start + 5 * MINUTE + 1
    with pytest.raises(AssertionError):
        clock.advance(-1)


def test_its_identity_is_the_same_in_every_run_and_never_the_same_twice() -> None:
    first, same_seed, other_seed = FakeClock(), FakeClock(), FakeClock(seed=1)
    ids = [
        mint("evt", clock.now(), clock.entropy())
        for clock in (first, first, same_seed, same_seed, other_seed, other_seed)
    ]
    assert ids[:2] == ids[2:4]
    assert len(set(ids)) == 4


def test_a_recording_signal_sink_can_be_waited_for() -> None:
    signal_sink = RecordingSignalSink()
    thread = threading.Thread(
        target=signal_sink, args=([Signal(Topic("inbox", "ann"), "test"), Signal(Topic("inbox", "bob"), "test")],)
    )
    thread.start()
    assert [signal.topic.recipient for signal in signal_sink.wait(lambda signals: len(signals) == 2)] == ["ann", "bob"]
    thread.join()
    assert len(signal_sink.clear()) == 2
    assert signal_sink.signals == []


def test_a_kit_is_gone_afterwards() -> None:
    with Kit() as kit:
        kit.store.run_sync(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
        file = Path(kit.url.removeprefix("sqlite:///"))
        assert file.exists()
        other_store = kit.open()
        assert other_store.read_sync(directory.find, "ann").created_at == kit.clock.now()
    assert not file.parent.exists()
    for store in (kit.store, other_store):
        with pytest.raises(Unavailable):
            store.read_sync(directory.find, "ann")
