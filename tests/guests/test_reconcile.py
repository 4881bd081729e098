"""A session's spool and its agent's inbox are read as one, on either database."""

import fcntl
import re
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatepost.core.times import DAY, HOUR, MINUTE
from gatepost.errors import Unavailable
from gatepost.guests import spool_line as spool_lines
from gatepost.guests.hooks.drain import DrainedBatch, drain
from gatepost.guests.spool_files import FileSpool
from gatepost.guests.spool_line import SpoolLine
from gatepost.inbox import item_actions as inbox_items
from gatepost.inbox.event import ItemState, Priority
from tests.support.store_context import StoreContext


class SpoolGuest:
    """A session of ann's."""

    def __init__(self, ctx: StoreContext, folder: Path) -> None:
        self.ctx = ctx
        self.spool = FileSpool(f"{folder}/<session>.jsonl", lock_timeout=0)
        self.file = folder / "s.jsonl"

    def write_line(self, content: str = "tea", **fields: Any) -> None:
        self.spool.append("s", [SpoolLine(id="x", source="ci", content=content, **fields)])

    def spool_event(self, event: str) -> None:
        self.spool.append("s", [spool_lines.from_event(self.ctx.show_item(event).event)])

    def drain(self, *, reconcile: bool = False, store: bool = True, **options: Any) -> DrainedBatch:
        target_store = self.ctx.store if store else None
        now = self.ctx.clock.now()
        return drain(
            target_store, self.spool, session="s", now=now, include_pending=reconcile, **({"agent": "ann"} | options)
        )

    def read_contents(self, **options: Any) -> list[str]:
        """Drain, and return what was said."""
        batch = self.drain(**options)
        batch.ack()
        return [event.content for event in batch.events]

    def list_spooled(self) -> list[str]:
        return [entry.content for entry in self.spool.peek("s")]


@pytest.fixture
def guest(ctx: StoreContext, tmp_path: Path) -> SpoolGuest:
    return SpoolGuest(ctx, tmp_path / "spool")


class TestBothRoads:
    def test_the_store_wins_and_the_item_is_delivered_to_the_session(
        self, ctx: StoreContext, guest: SpoolGuest
    ) -> None:
        event = ctx.push_event("as it is", dedup_key="k", priority=Priority.HIGH)
        guest.write_line("as somebody wrote it", dedup_key="k")
        guest.spool_event(event)
        assert guest.read_contents() == ["as it is"]
        item = ctx.show_item(event)
        assert item.state is ItemState.DELIVERED
        assert item.receipt is not None
        assert item.receipt.owner == "s"
        assert guest.list_spooled() == []
        assert ctx.is_balanced()

    def test_only_what_lines_tell_of_is_taken_unless_reconciling(self, ctx: StoreContext, guest: SpoolGuest) -> None:
        guest.spool_event(ctx.push_event("told"))
        ctx.push_event("not told")
        batch = guest.drain()
        assert [event.content for event in batch.events] == ["told"]
        assert batch.deferred_count == 1
        batch.ack()
        assert guest.read_contents() == []
        assert guest.read_contents(reconcile=True) == ["not told"]

    @pytest.mark.parametrize("ending", ["delivered", "expired", "discarded", "gone"])
    def test_what_has_ended_in_the_store_is_not_shown(self, ctx: StoreContext, guest: SpoolGuest, ending: str) -> None:
        event = ctx.push_event("over", dedup_key="k", ttl=MINUTE if ending == "expired" else None)
        guest.spool_event(event)
        match ending:
            case "delivered":
                ctx.ack(ctx.take_claim())
            case "expired":
                ctx.clock.advance(MINUTE)
            case "discarded":
                ctx.store.run_sync(inbox_items.discard, event)
            case _:
                missing_event = replace(ctx.show_item(event).event, id="evt_" + "0" * 32, dedup_key="other")
                guest.spool.append("s", [spool_lines.from_event(missing_event)])
                ctx.ack(ctx.take_claim())
        assert guest.read_contents(reconcile=True) == []
        assert guest.list_spooled() == []

    def test_what_another_has_claimed_waits_until_that_has_ended(self, ctx: StoreContext, guest: SpoolGuest) -> None:
        guest.spool_event(ctx.push_event())
        claim = ctx.take_claim()
        assert guest.read_contents() == []
        assert guest.list_spooled() == ["tea"]
        ctx.release(claim)
        assert guest.read_contents() == ["tea"]

    def test_a_broadcast_is_known_though_nobody_has_taken_it(self, ctx: StoreContext, guest: SpoolGuest) -> None:
        event = ctx.store.read_sync(inbox_items.show, ctx.push_event("to all", to="*"))[0].event
        guest.spool.append("s", [spool_lines.from_event(event)])
        assert guest.read_contents() == ["to all"]
        assert guest.read_contents(reconcile=True) == []

    def test_an_agent_that_is_thinking_is_told_there(self, ctx: StoreContext, guest: SpoolGuest) -> None:
        guest.spool_event(ctx.push_event())
        ctx.take_claim(kind="run", owner="run_1")
        batch = guest.drain()
        assert not batch.text
        assert "is thinking" in batch.notes[0]
        assert guest.list_spooled() == ["tea"]

    @pytest.mark.parametrize("key", ["a\x00b", "\ud800", "k" * 5_000])
    def test_a_key_that_no_store_can_have_is_a_key_all_the_same(self, guest: SpoolGuest, key: str) -> None:
        guest.write_line(dedup_key=key)
        guest.write_line(dedup_key=key)
        assert guest.read_contents() == ["tea"]
        guest.write_line(dedup_key=key)
        assert guest.read_contents(reconcile=True) == []

    def test_whoever_is_not_known_or_not_an_agent_has_the_spool_alone(
        self, ctx: StoreContext, guest: SpoolGuest
    ) -> None:
        for name in ("nobody", "husam"):
            guest.write_line(name)
            batch = guest.drain(agent=name)
            batch.ack()
            assert name in batch.text
            assert re.match(f"only the spool was read: .*'{name}'", batch.notes[0])


class TestBatches:
    def test_all_critical_then_up_to_the_cap_and_the_rest_waits(self, ctx: StoreContext, guest: SpoolGuest) -> None:
        for number in range(3):
            guest.spool_event(ctx.push_event(f"stored {number}"))
            guest.write_line(f"line {number}", timestamp_ms=number + 1)
        guest.write_line("urgent", priority=Priority.CRITICAL)
        ctx.push_event("also urgent", priority=Priority.CRITICAL)
        batch = guest.drain(reconcile=True, limit=3)
        assert [event.content for event in batch.events] == ["also urgent", "urgent", "stored 0"]
        assert batch.text.startswith("INBOX (3 events, 5 more waiting, ")
        batch.ack()
        assert sorted(guest.list_spooled()) == ["line 0", "line 1", "line 2", "stored 1", "stored 2"]
        assert guest.read_contents(limit=20) == ["stored 1", "stored 2", "line 0", "line 1", "line 2"]

    @pytest.mark.parametrize(("spool_text", "store_text"), ["xy", "\u5bdf\u8a66", "\U0001f600\U0001f680"])
    def test_the_text_stays_within_the_budget(
        self, ctx: StoreContext, guest: SpoolGuest, spool_text: str, store_text: str
    ) -> None:
        for number in range(30):
            guest.write_line(f"{number} " + spool_text * 1_000, priority=Priority(number % 3))
            ctx.push_event(f"{number} " + store_text * 1_000)
        contents: list[str] = []
        while (batch := guest.drain(reconcile=True)).text:
            assert len(batch.text.encode()) <= 9_000
            contents += [event.content for event in batch.events]
            batch.ack()
        assert len(contents) == len(set(contents)) == 60

    def test_what_was_not_printed_is_given_to_the_next(self, ctx: StoreContext, guest: SpoolGuest) -> None:
        guest.spool_event(ctx.push_event("stored"))
        guest.write_line("line")
        batch = guest.drain()
        batch.release()
        batch.ack()
        assert ctx.list_waiting() == ["stored"]
        assert guest.read_contents() == ["stored", "line"]


class TestWithoutTheStore:
    def test_the_store_is_told_when_it_is_back(self, ctx: StoreContext, guest: SpoolGuest) -> None:
        event = ctx.push_event("shown")
        ctx.push_event("not shown")
        guest.spool_event(event)
        assert guest.read_contents(store=False) == ["shown"]
        guest.spool_event(event)
        assert guest.read_contents(store=False) == []
        ctx.clock.advance(3 * DAY)
        assert guest.read_contents(reconcile=True) == ["not shown"]
        assert ctx.show_item(event).state is ItemState.DELIVERED
        assert ctx.is_balanced()

    def test_a_copy_that_is_late_is_recognised(self, ctx: StoreContext, guest: SpoolGuest) -> None:
        event = ctx.show_item(ctx.push_event()).event
        assert guest.read_contents(reconcile=True) == ["tea"]
        guest.spool.append("s", [spool_lines.from_event(event)])
        assert guest.read_contents(store=False) == []

    def test_a_key_is_forgotten_in_time(self, ctx: StoreContext, guest: SpoolGuest) -> None:
        guest.write_line(dedup_key="daily")
        assert guest.read_contents() == ["tea"]
        ctx.clock.advance(DAY + HOUR)
        guest.write_line(dedup_key="daily")
        assert guest.read_contents() == ["tea"]

    def test_what_is_past_its_time_is_not_shown(self, ctx: StoreContext, guest: SpoolGuest) -> None:
        guest.spool_event(ctx.push_event(ttl=MINUTE))
        guest.write_line("no end", timestamp_ms=1)
        ctx.clock.advance(2 * MINUTE)
        assert guest.read_contents(store=False) == ["no end"]


class TestFiles:
    def test_one_drain_at_a_time(self, guest: SpoolGuest) -> None:
        guest.write_line()
        batch = guest.drain()
        other = guest.drain()
        assert (other.text, other.notes) == ("", (f"'{guest.file}.lock' is locked by another process",))
        batch.ack()
        assert guest.read_contents() == []

    def test_a_writer_that_keeps_the_lock_is_not_waited_for(self, ctx: StoreContext, guest: SpoolGuest) -> None:
        guest.write_line("line")
        ctx.push_event("stored")
        with hold_lock(guest.file):
            with pytest.raises(Unavailable, match="is locked by another process"):
                guest.write_line()
            assert guest.read_contents() == []
            assert guest.read_contents(reconcile=True) == ["stored"]
        assert guest.read_contents() == ["line"]

    def test_a_line_for_which_there_is_no_room_is_not_begun(self, guest: SpoolGuest) -> None:
        guest.write_line("first")
        with limit_file_size(guest.file.stat().st_size + 20), pytest.raises(Unavailable, match="cannot be used"):
            guest.write_line("second")
        guest.write_line("third")
        assert guest.read_contents() == ["first", "third"]

    def test_of_very_many_keys_the_newest_are_known(self, guest: SpoolGuest) -> None:
        guest.spool.record_shown_keys("s", ["00000 untold"], is_known=False, at=1)
        for start in range(1, 6_000, 100):
            keys = [f"{number:05} " + "k" * 40 for number in range(start, start + 100)]
            guest.spool.record_shown_keys("s", keys, is_known=True, at=1)
        assert 1_000 <= len(shown_keys := list(guest.spool.read_shown_keys("s"))) < 6_000
        assert shown_keys == sorted(shown_keys)
        assert (shown_keys[0], shown_keys[-1][:5]) == ("00000 untold", "06000")


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def limit_file_size(size: int) -> Iterator[None]:
    """Files cannot grow beyond this: what is written is cut short there, as on a full disk."""
    old_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    old_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old_limit[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old_limit)
        signal.signal(signal.SIGXFSZ, old_handler)
