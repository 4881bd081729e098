"""A session's spool and its agent's inbox are read as one, on either database."""

import fcntl
import re
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gatepost.actions import inbox
from gatepost.adapters.spool import FileSpool
from gatepost.core import spool_line as spool_lines
from gatepost.core.event import ItemState, Priority
from gatepost.core.spool_line import SpoolLine
from gatepost.core.times import DAY, HOUR, MINUTE
from gatepost.errors import Unavailable
from gatepost.hooks.drain import DrainedBatch, drain
from tests.unit.conftest import House


class Guest:
    """A session of ann's."""

    def __init__(self, house: House, folder: Path) -> None:
        self.house = house
        self.spool = FileSpool(f"{folder}/<session>.jsonl", lock_timeout=0)
        self.file = folder / "s.jsonl"

    def write(self, content: str = "tea", **fields: Any) -> None:
        self.spool.append("s", [SpoolLine(id="x", source="ci", content=content, **fields)])

    def carry(self, event: str) -> None:
        self.spool.append("s", [spool_lines.from_event(self.house.show(event).event)])

    def drain(self, *, reconcile: bool = False, store: bool = True, **more: Any) -> DrainedBatch:
        where = self.house.store if store else None
        now = self.house.clock.now()
        return drain(where, self.spool, session="s", now=now, include_pending=reconcile, **({"agent": "ann"} | more))

    def read(self, **more: Any) -> list[str]:
        """Drain, and return what was said."""
        drained = self.drain(**more)
        drained.ack()
        return [event.content for event in drained.events]

    def left(self) -> list[str]:
        return [entry.content for entry in self.spool.peek("s")]


@pytest.fixture
def guest(house: House, tmp_path: Path) -> Guest:
    return Guest(house, tmp_path / "spool")


class TestBothRoads:
    def test_the_store_wins_and_the_item_is_delivered_to_the_session(self, house: House, guest: Guest) -> None:
        event = house.tell("as it is", key="k", priority=Priority.HIGH)
        guest.write("as somebody wrote it", dedup_key="k")
        guest.carry(event)
        assert guest.read() == ["as it is"]
        item = house.show(event)
        assert item.state is ItemState.DELIVERED
        assert item.receipt is not None
        assert item.receipt.owner == "s"
        assert guest.left() == []
        assert house.balanced()

    def test_only_what_lines_tell_of_is_taken_unless_reconciling(self, house: House, guest: Guest) -> None:
        guest.carry(house.tell("told"))
        house.tell("not told")
        drained = guest.drain()
        assert [event.content for event in drained.events] == ["told"]
        assert drained.deferred_count == 1
        drained.ack()
        assert guest.read() == []
        assert guest.read(reconcile=True) == ["not told"]

    @pytest.mark.parametrize("ending", ["delivered", "expired", "discarded", "gone"])
    def test_what_has_ended_in_the_store_is_not_shown(self, house: House, guest: Guest, ending: str) -> None:
        event = house.tell("over", key="k", ttl=MINUTE if ending == "expired" else None)
        guest.carry(event)
        match ending:
            case "delivered":
                house.ack(house.take())
            case "expired":
                house.clock.advance(MINUTE)
            case "discarded":
                house.store.call(inbox.discard, event)
            case _:
                missing = replace(house.show(event).event, id="evt_" + "0" * 32, key="other")
                guest.spool.append("s", [spool_lines.from_event(missing)])
                house.ack(house.take())
        assert guest.read(reconcile=True) == []
        assert guest.left() == []

    def test_what_another_has_claimed_waits_until_that_has_ended(self, house: House, guest: Guest) -> None:
        guest.carry(house.tell())
        claim = house.take()
        assert guest.read() == []
        assert guest.left() == ["tea"]
        house.release(claim)
        assert guest.read() == ["tea"]

    def test_a_broadcast_is_known_though_nobody_has_taken_it(self, house: House, guest: Guest) -> None:
        event = house.store.query(inbox.show, house.tell("to all", to="*"))[0].event
        guest.spool.append("s", [spool_lines.from_event(event)])
        assert guest.read() == ["to all"]
        assert guest.read(reconcile=True) == []

    def test_an_agent_that_is_thinking_is_told_there(self, house: House, guest: Guest) -> None:
        guest.carry(house.tell())
        house.take(kind="run", owner="run_1")
        drained = guest.drain()
        assert not drained.text
        assert "is thinking" in drained.notes[0]
        assert guest.left() == ["tea"]

    @pytest.mark.parametrize("key", ["a\x00b", "\ud800", "k" * 5_000])
    def test_a_key_that_no_store_can_have_is_a_key_all_the_same(self, guest: Guest, key: str) -> None:
        guest.write(dedup_key=key)
        guest.write(dedup_key=key)
        assert guest.read() == ["tea"]
        guest.write(dedup_key=key)
        assert guest.read(reconcile=True) == []

    def test_whoever_is_not_known_or_not_an_agent_has_the_spool_alone(self, house: House, guest: Guest) -> None:
        for name in ("nobody", "husam"):
            guest.write(name)
            drained = guest.drain(agent=name)
            drained.ack()
            assert name in drained.text
            assert re.match(f"only the spool was read: .*'{name}'", drained.notes[0])


class TestBatches:
    def test_all_critical_then_up_to_the_cap_and_the_rest_waits(self, house: House, guest: Guest) -> None:
        for number in range(3):
            guest.carry(house.tell(f"stored {number}"))
            guest.write(f"line {number}", timestamp_ms=number + 1)
        guest.write("urgent", priority=Priority.CRITICAL)
        house.tell("also urgent", priority=Priority.CRITICAL)
        drained = guest.drain(reconcile=True, limit=3)
        assert [event.content for event in drained.events] == ["also urgent", "urgent", "stored 0"]
        assert drained.text.startswith("INBOX (3 events, 5 more waiting, ")
        drained.ack()
        assert sorted(guest.left()) == ["line 0", "line 1", "line 2", "stored 1", "stored 2"]
        assert guest.read(limit=20) == ["stored 1", "stored 2", "line 0", "line 1", "line 2"]

    @pytest.mark.parametrize(("spooled", "stored"), ["xy", "\u5bdf\u8a66", "\U0001f600\U0001f680"])
    def test_the_text_stays_within_the_budget(self, house: House, guest: Guest, spooled: str, stored: str) -> None:
        for number in range(30):
            guest.write(f"{number} " + spooled * 1_000, priority=Priority(number % 3))
            house.tell(f"{number} " + stored * 1_000)
        seen: list[str] = []
        while (drained := guest.drain(reconcile=True)).text:
            assert len(drained.text.encode()) <= 9_000
            seen += [event.content for event in drained.events]
            drained.ack()
        assert len(seen) == len(set(seen)) == 60

    def test_what_was_not_printed_is_given_to_the_next(self, house: House, guest: Guest) -> None:
        guest.carry(house.tell("stored"))
        guest.write("line")
        drained = guest.drain()
        drained.release()
        drained.ack()
        assert house.waiting() == ["stored"]
        assert guest.read() == ["stored", "line"]


class TestWithoutTheStore:
    def test_the_store_is_told_when_it_is_back(self, house: House, guest: Guest) -> None:
        event = house.tell("shown")
        house.tell("not shown")
        guest.carry(event)
        assert guest.read(store=False) == ["shown"]
        guest.carry(event)
        assert guest.read(store=False) == []
        house.clock.advance(3 * DAY)
        assert guest.read(reconcile=True) == ["not shown"]
        assert house.show(event).state is ItemState.DELIVERED
        assert house.balanced()

    def test_a_copy_that_is_late_is_recognised(self, house: House, guest: Guest) -> None:
        event = house.show(house.tell()).event
        assert guest.read(reconcile=True) == ["tea"]
        guest.spool.append("s", [spool_lines.from_event(event)])
        assert guest.read(store=False) == []

    def test_a_key_is_forgotten_in_time(self, house: House, guest: Guest) -> None:
        guest.write(dedup_key="daily")
        assert guest.read() == ["tea"]
        house.clock.advance(DAY + HOUR)
        guest.write(dedup_key="daily")
        assert guest.read() == ["tea"]

    def test_what_is_past_its_time_is_not_shown(self, house: House, guest: Guest) -> None:
        guest.carry(house.tell(ttl=MINUTE))
        guest.write("no end", timestamp_ms=1)
        house.clock.advance(2 * MINUTE)
        assert guest.read(store=False) == ["no end"]


class TestFiles:
    def test_one_drain_at_a_time(self, guest: Guest) -> None:
        guest.write()
        drained = guest.drain()
        other = guest.drain()
        assert (other.text, other.notes) == ("", (f"'{guest.file}.lock' is locked by another process",))
        drained.ack()
        assert guest.read() == []

    def test_a_writer_that_keeps_the_lock_is_not_waited_for(self, house: House, guest: Guest) -> None:
        guest.write("line")
        house.tell("stored")
        with held(guest.file):
            with pytest.raises(Unavailable, match="is locked by another process"):
                guest.write()
            assert guest.read() == []
            assert guest.read(reconcile=True) == ["stored"]
        assert guest.read() == ["line"]

    def test_a_line_for_which_there_is_no_room_is_not_begun(self, guest: Guest) -> None:
        guest.write("first")
        with full(guest.file.stat().st_size + 20), pytest.raises(Unavailable, match="cannot be used"):
            guest.write("second")
        guest.write("third")
        assert guest.read() == ["first", "third"]

    def test_of_very_many_keys_the_newest_are_known(self, guest: Guest) -> None:
        guest.spool.record_shown_keys("s", ["00000 untold"], is_known=False, at=1)
        for start in range(1, 6_000, 100):
            keys = [f"{number:05} " + "k" * 40 for number in range(start, start + 100)]
            guest.spool.record_shown_keys("s", keys, is_known=True, at=1)
        assert 1_000 <= len(shown := list(guest.spool.read_shown_keys("s"))) < 6_000
        assert shown == sorted(shown)
        assert (shown[0], shown[-1][:5]) == ("00000 untold", "06000")


@contextmanager
def held(path: Path) -> Iterator[None]:
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def full(size: int) -> Iterator[None]:
    """Files cannot grow beyond this: what is written is cut short there, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
