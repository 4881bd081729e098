"""Reachability: what is known of a session, and what that says about it."""

import os
from pathlib import Path

import pytest

from gatepost.core.times import HOUR, MINUTE, SECOND, Instant
from gatepost.guests import reachability, session_actions as sessions, wake_actions as wakes
from gatepost.guests.codex.daemon_background import LoadedThread
from gatepost.guests.codex.waker_background import Terminal, match_terminals
from gatepost.guests.hooks import host_process
from gatepost.guests.reachability import ARMED, LOST, PROVED, UNPROVED, WAITER, Reachability
from gatepost.guests.session import ENDED, IDLE, WORKING, GuestSession
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Priority
from tests.support.store_context import StoreContext

START = 1_000 * MINUTE
NOW = START + 10 * MINUTE
#: a session of a terminal that sits at its prompt, with a waiter
ARMED_SESSION = GuestSession(
    session="s-1",
    agent="ann",
    host="claude",
    state=IDLE,
    started_at=START,
    seen_at=START + MINUTE,
    program="here 10 1",
    wake_method=WAITER,
    waker="here 11 1",
    armed_at=START + MINUTE,
    checked_at=START + MINUTE,
)


def judge(session: GuestSession, *, gone: str = "", now: Instant = NOW) -> Reachability:
    """Judge a session while the processes of `here` run, except one of them."""

    def is_running(process: str) -> bool | None:
        return process != gone if process.startswith("here") else None

    return reachability.judge(session, now=now, is_running=is_running)


@pytest.mark.parametrize(
    ("changes", "gone", "state"),
    [
        ({}, "", ARMED),
        ({"proved_at": START, "latency": SECOND}, "", PROVED),
        ({"state": WORKING}, "", ARMED),
        # its program, or what would wake it, is gone
        ({}, "here 10 1", LOST),
        ({"state": ENDED}, "", LOST),
        ({}, "here 11 1", LOST),
        # its last hook has just run, and what wakes it begins a moment later
        ({"seen_at": NOW - 10 * SECOND}, "here 11 1", UNPROVED),
        ({"seen_at": NOW + HOUR}, "here 11 1", UNPROVED),
        ({"waker": None, "armed_at": None}, "", LOST),
        ({"proved_at": START}, "here 11 1", LOST),
        # while it works, its own hooks show it what comes
        ({"state": WORKING}, "here 11 1", UNPROVED),
        # nothing has ever wanted to wake it
        ({"wake_method": None, "waker": None, "armed_at": None, "checked_at": None}, "", UNPROVED),
        # it is being woken: its waiter has ended, and the next one is not there yet
        ({"woken_at": NOW - 10 * SECOND}, "here 11 1", ARMED),
        ({"woken_at": NOW - 10 * SECOND, "proved_at": START}, "here 11 1", PROVED),
        # it was woken, and did not react
        ({"woken_at": NOW - 2 * MINUTE}, "here 11 1", UNPROVED),
        ({"woken_at": NOW - 2 * MINUTE, "proved_at": START}, "", UNPROVED),
        # it was woken before the clock was set back, and nobody knows how long ago
        ({"woken_at": NOW + HOUR}, "", UNPROVED),
        # it has reacted, and the turn takes its time, or has ended without a proof
        ({"woken_at": NOW - 5 * MINUTE, "seen_at": NOW - 4 * MINUTE, "state": WORKING}, "", ARMED),
        ({"woken_at": NOW - 5 * MINUTE, "seen_at": NOW - 4 * MINUTE, "state": IDLE}, "", UNPROVED),
        ({"woken_at": NOW - 40 * MINUTE, "seen_at": NOW - 39 * MINUTE, "state": WORKING}, "", UNPROVED),
        # on another machine the last report counts, for a while
        ({"program": "there 10 1", "waker": "there 11 1", "checked_at": NOW - MINUTE}, "", ARMED),
        ({"program": "there 10 1", "waker": "there 11 1", "checked_at": NOW - 4 * MINUTE}, "", UNPROVED),
        ({"waker": None, "checked_at": NOW - MINUTE}, "", ARMED),
        ({"waker": None, "checked_at": NOW - 4 * MINUTE}, "", UNPROVED),
    ],
)
def test_a_session_is_judged_by_what_was_seen(changes: dict[str, object], gone: str, state: str) -> None:
    assert judge(ARMED_SESSION._replace(**changes), gone=gone).state == state  # type: ignore[arg-type]


def test_an_agent_is_as_reachable_as_the_best_of_its_sessions() -> None:
    each = [Reachability(state, None, START) for state in (LOST, ARMED, UNPROVED)]
    assert reachability.choose_best(each) == each[1]
    assert reachability.choose_best([*each, newer := Reachability(ARMED, WAITER, NOW)]) == newer
    assert reachability.choose_best([]) is None


def test_a_process_is_named_so_that_no_other_is_taken_for_it() -> None:
    name = host_process.name_process(os.getpid())
    assert name is not None
    machine, pid, start = name.split()
    assert host_process.is_running(name) is True
    assert host_process.is_running(f"{machine} {pid} {int(start) + 1}") is False
    assert host_process.is_running(f"elsewhere/pid:[1] {pid} {start}") is None


class TestUnseenItems:
    """The owner of an agent is told if an urgent item waits for too long."""

    def test_its_owner_is_told_once(self, ctx: StoreContext) -> None:
        ctx.register("dora", owner="husam")
        ctx.store.run_sync(sessions.begin, "s-1", agent="dora", host="claude")
        event = ctx.push_event("the site is down", "dora", priority=Priority.CRITICAL)
        ctx.push("the weekly report", to="dora")
        assert ctx.store.run_sync(wakes.report_unseen) == 0, "it may be shown any moment"
        ctx.clock.advance("3 minutes")
        assert ctx.store.run_sync(wakes.report_unseen) == 1
        [alert] = ctx.store.read_sync(inbox.peek, "husam")
        assert alert.event.content == (
            f"an urgent item for 'dora' has waited for 2m, and no session of it has shown it: {event}"
        )
        assert ctx.store.run_sync(wakes.report_unseen) == 0

    def test_an_item_that_is_claimed_or_for_an_agent_without_sessions_is_no_reason(self, ctx: StoreContext) -> None:
        ctx.push("for one that was never seen", priority=Priority.CRITICAL)
        ctx.clock.advance("3 minutes")
        assert ctx.store.run_sync(wakes.report_unseen) == 0
        ctx.store.run_sync(sessions.begin, "s-1", agent="ann", host="claude")
        ctx.take_claim()
        assert ctx.store.run_sync(wakes.report_unseen) == 0


class TestWhichSessionIsWoken:
    def wake(self, ctx: StoreContext, id: str) -> Instant | None:
        return ctx.store.run_sync(wakes.take_wake, id, is_running=lambda process: "gone" not in process)

    def begin(self, ctx: StoreContext, *ids: str, state: str = IDLE) -> None:
        for id in ids:
            ctx.clock.advance("1 minute")
            ctx.store.run_sync(sessions.begin, id, agent="ann", host="claude", doing=state, program=f"p-{id}")
            ctx.store.run_sync(sessions.arm, id, method=WAITER, waker=f"w-{id}")

    def test_the_idle_one_that_was_active_last(self, ctx: StoreContext) -> None:
        self.begin(ctx, "s-1", "s-2")
        self.begin(ctx, "s-3", state=WORKING)
        assert self.wake(ctx, "s-2") is None, "there is nothing to read"
        ctx.push()
        assert [self.wake(ctx, id) for id in ("s-1", "s-3")] == [None, None]
        assert self.wake(ctx, "s-2") == ctx.clock.now()
        assert self.wake(ctx, "s-2") is None, "it is being woken"
        assert self.wake(ctx, "s-1") is None

    def test_another_one_if_that_does_not_react(self, ctx: StoreContext) -> None:
        self.begin(ctx, "s-1", "s-2")
        ctx.push()
        assert self.wake(ctx, "s-2") is not None
        ctx.clock.advance("2 minutes")
        assert self.wake(ctx, "s-2") is None
        assert self.wake(ctx, "s-1") is not None

    def test_one_whose_wake_was_before_the_clock_was_set_back(self, ctx: StoreContext) -> None:
        self.begin(ctx, "s-1")
        ctx.push()
        assert self.wake(ctx, "s-1") is not None
        ctx.clock.set_back("1 hour")
        assert self.wake(ctx, "s-1") is not None
        self.begin(ctx, "s-2", state=WORKING)
        ctx.clock.set_back("1 hour")
        ctx.store.run_sync(sessions.note_activity, "s-1", ENDED)
        assert self.wake(ctx, "s-2") is not None, "nobody knows how long its item has waited"

    def test_one_that_works_is_woken_after_a_while_only(self, ctx: StoreContext) -> None:
        """It may have been interrupted, which no hook tells."""
        self.begin(ctx, "s-1", state=WORKING)
        ctx.push()
        pushed_at = ctx.clock.now()
        assert self.wake(ctx, "s-1") is None
        ctx.clock.advance("31 seconds")
        assert self.wake(ctx, "s-1") == pushed_at

    def test_none_whose_program_or_waiter_is_gone(self, ctx: StoreContext) -> None:
        self.begin(ctx, "s-1")
        self.begin(ctx, "gone")
        ctx.push()
        assert self.wake(ctx, "gone") is None
        assert self.wake(ctx, "s-1") is not None

    def test_what_wakes_nobody_is_no_reason(self, ctx: StoreContext) -> None:
        self.begin(ctx, "s-1")
        ctx.push(priority=Priority.FYI)
        assert self.wake(ctx, "s-1") is None
        ctx.push(to="*")
        assert self.wake(ctx, "s-1") is not None, "a broadcast that it has not taken yet"


@pytest.mark.parametrize(
    ("threads", "last_terminals", "shown"),
    [
        # `/clear` has begun the second, and nobody sees the first any more
        ({"first": 1, "second": 2}, {"first": "t-1"}, {"second": "t-1"}),
        # the terminal of the second was closed
        ({"first": 1, "second": 2}, {"first": "t-1", "second": "gone"}, {"first": "t-1"}),
        # ... and it was resumed in another one
        ({"first": 1, "second": 2}, {"second": "gone"}, {"second": "t-1"}),
        # both are in a terminal, and one is prompted
        ({"first": 3, "second": 2}, {"first": "t-2", "second": "t-1"}, {"first": "t-2", "second": "t-1"}),
        ({"first": 1, "second": 2}, {}, {"first": "t-2", "second": "t-1"}),
        ({"elsewhere": 1}, {}, {}),
    ],
)
def test_a_terminal_of_codex_shows_one_thread(
    threads: dict[str, float], last_terminals: dict[str, str], shown: dict[str, str]
) -> None:
    loaded = [
        LoadedThread(name, "/doc" if name == "elsewhere" else "/src", is_idle=True, used_at=used_at)
        for name, used_at in threads.items()
    ]
    names = ["t-1", *({"t-2"} & set(shown.values()))]
    terminals = [Terminal(name, 10, "/src", Path("/home/ann/.codex"), {}) for name in names]
    matched = match_terminals(loaded, terminals, last_terminals)
    assert {id: terminal.name for id, terminal in matched.items()} == shown


class TestVerbs:
    def test_a_wake_is_outstanding_until_it_is_proved(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(sessions.begin, "s-1", agent="ann", host="claude", program="there 10 1")
        assert ctx.store.run_sync(sessions.arm, "s-1", method=WAITER, waker="there 11 1")
        assert self._judge(ctx).state == ARMED
        ctx.clock.advance("1 minute")
        ctx.store.run_sync(sessions.begin_wake, "s-1", method=WAITER)
        ctx.clock.advance("2 minutes")
        assert self._judge(ctx).state == UNPROVED
        ctx.store.run_sync(sessions.prove_wake, "s-1", latency=SECOND)
        ctx.store.run_sync(sessions.confirm, ["s-1"])
        assert self._judge(ctx) == Reachability(
            PROVED, WAITER, ctx.clock.now() - 3 * MINUTE, proved_at=ctx.clock.now(), latency=SECOND
        )

    def test_one_that_found_nothing_to_read_proves_nothing(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(sessions.begin, "s-1", agent="ann", host="claude")
        ctx.store.run_sync(sessions.arm, "s-1", method=WAITER, waker=None)
        ctx.store.run_sync(sessions.begin_wake, "s-1", method=WAITER)
        ctx.store.run_sync(sessions.forget_wake, "s-1")
        assert self._judge(ctx).state == ARMED

    def test_a_waiter_that_ends_does_not_disarm_the_next_one(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(sessions.begin, "s-1", agent="ann", host="claude")
        ctx.store.run_sync(sessions.arm, "s-1", method=WAITER, waker="there 12 1")
        ctx.store.run_sync(sessions.disarm, "s-1", waker="there 11 1")
        assert self._judge(ctx).state == ARMED
        ctx.clock.advance("1 minute")
        ctx.store.run_sync(sessions.disarm, "s-1", waker="there 12 1")
        assert self._judge(ctx).state == LOST

    def test_a_session_that_is_not_known_cannot_be_armed(self, ctx: StoreContext) -> None:
        assert not ctx.store.run_sync(sessions.arm, "s-1", method=WAITER, waker=None)

    def test_a_session_whose_program_is_gone_ends_unless_another_goes_on_with_it(self, ctx: StoreContext) -> None:
        for id in ("s-1", "s-2"):
            ctx.store.run_sync(sessions.begin, id, agent="ann", host="claude", program="there 10 1")
        programs = ctx.store.read_sync(sessions.list_programs)
        assert programs == [("s-1", "there 10 1"), ("s-2", "there 10 1")]
        ctx.store.run_sync(sessions.begin, "s-2", agent="ann", host="claude", program="there 20 2")
        ctx.store.run_sync(sessions.end_gone, programs)
        assert [session.state for session in self._list(ctx)] == [IDLE, ENDED]
        ctx.clock.advance("1 minute")
        ctx.store.run_sync(sessions.begin, "s-2", agent="ann", host="claude")
        assert ctx.store.read_sync(sessions.find, "s-2").program == "there 20 2", "a hook that does not know it"

    def test_nothing_of_the_last_program_counts_for_a_session_that_another_continues(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(sessions.begin, "s-1", agent="ann", host="claude", program="there 10 1")
        ctx.store.run_sync(sessions.arm, "s-1", method=WAITER, waker="there 11 1")
        ctx.store.run_sync(sessions.disarm, "s-1", waker="there 11 1")
        for is_ended in (True, False):
            if is_ended:
                ctx.store.run_sync(sessions.note_activity, "s-1", ENDED)
            ctx.clock.advance("2 minutes")
            ctx.store.run_sync(sessions.begin, "s-1", agent="ann", host="claude", program=f"there 20 {is_ended}")
            assert self._judge(ctx).state == UNPROVED
            assert all(delivery.reachable for delivery in ctx.push("now").deliveries)
            ctx.store.run_sync(sessions.arm, "s-1", method=WAITER, waker="there 21 2")
            ctx.store.run_sync(sessions.disarm, "s-1")

    def test_what_waits_for_the_next_program_may_come_first(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(sessions.begin, "s-1", agent="ann", host="claude", program="there 10 1")
        assert ctx.store.run_sync(sessions.arm, "s-1", method=WAITER, waker="there 21 2", program="there 20 2")
        ctx.store.run_sync(sessions.begin, "s-1", agent="ann", host="claude", program="there 20 2")
        assert self._judge(ctx).state == ARMED

    def test_a_session_that_has_ended_is_armed_when_it_begins_again(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(sessions.begin, "s-1", agent="ann", host="claude", program="there 10 1")
        ctx.store.run_sync(sessions.note_activity, "s-1", ENDED)
        assert not ctx.store.run_sync(sessions.arm, "s-1", method=WAITER, waker="there 11 1")
        ctx.store.run_sync(sessions.begin, "s-1", agent="ann", host="claude", program="there 10 1")
        assert ctx.store.run_sync(sessions.arm, "s-1", method=WAITER, waker="there 11 1")

    def test_sessions_that_have_ended_are_listed_if_asked_for(self, ctx: StoreContext) -> None:
        for id in ("s-1", "s-2", "s-3"):
            ctx.clock.advance("1 minute")
            ctx.store.run_sync(sessions.begin, id, agent="bob" if id == "s-3" else "ann", host="claude")
        ctx.store.run_sync(sessions.note_activity, "s-1", ENDED)
        read = ctx.store.read_sync
        assert [one.session for one in read(sessions.list_recent)] == ["s-3", "s-2"]
        assert [one.session for one in read(sessions.list_recent, include_ended=True)] == ["s-1", "s-3", "s-2"]
        assert [one.session for one in read(sessions.list_recent, agent="ann", include_ended=True, limit=1)] == ["s-1"]

    def _judge(self, ctx: StoreContext) -> Reachability:
        session = ctx.store.read_sync(sessions.find, "s-1")
        return reachability.judge(session, now=ctx.clock.now(), is_running=lambda _: None)

    def _list(self, ctx: StoreContext) -> list[GuestSession]:
        return sorted(
            ctx.store.read_sync(sessions.list_recent, include_ended=True), key=lambda one: one.session, reverse=True
        )
