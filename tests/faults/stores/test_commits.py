"""A COMMIT whose answer is lost: it was done or it was not, and the caller is told which; or that nobody can know."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import cast

import pytest

from gatepost.app import open_store
from gatepost.core.signals import Signal
from gatepost.errors import Unavailable
from gatepost.inbox.push import actions as push
from gatepost.stores.postgres import PostgresStore
from tests.faults.commit_points import watch_store
from tests.faults.crew_store import create_crew, open_database
from tests.faults.stores.journaled_client import build_push
from tests.faults.stores.proxy import CommitCut, Proxy
from tests.support.servers.private_servers import Postgres

LIST_CONTENTS = "SELECT content FROM events ORDER BY arrival"


@contextmanager
def open_warm_store(url: str, signals: list[Signal]) -> Iterator[PostgresStore]:
    def send_signals(new_signals: Sequence[Signal]) -> None:
        signals.extend(new_signals)

    with closing(cast(PostgresStore, open_store(url, signal_sink=send_signals))) as store:
        store.run_sync(push.push_event, build_push("earlier", "ana"))  # so that there is a connection to lose
        signals.clear()
        yield store


@pytest.mark.parametrize("warmth", [0, 10])  # after a few times the driver sends COMMIT as a prepared statement
def test_a_commit_that_was_done(postgres_crew_url: str, warmth: int) -> None:
    signals: list[Signal] = []
    with Proxy(postgres_crew_url) as proxy, open_warm_store(proxy.url, signals) as store:
        for number in range(warmth):
            store.run_sync(push.push_event, build_push(f"warm-{number}", "ben"))
        signals.clear()
        proxy.decide_cut = cut_once(CommitCut.AFTER)
        result = store.run_sync(push.push_event, build_push("done", "ana"))
        assert proxy.cut_counts[CommitCut.AFTER] == 1
        assert [signal.topic.recipient for signal in signals] == ["ana"]
        assert store.run_sync(push.push_event, build_push("done", "ana")).deliveries[0].duplicate
    with open_database(postgres_crew_url) as query:
        assert query("SELECT content FROM events WHERE id = '" + result.event + "'") == [("done",)]


@pytest.mark.parametrize("warmth", [0, 10])
def test_a_commit_that_never_arrived(postgres_crew_url: str, warmth: int) -> None:
    signals: list[Signal] = []
    with Proxy(postgres_crew_url) as proxy, open_warm_store(proxy.url, signals) as store:
        for number in range(warmth):
            store.run_sync(push.push_event, build_push(f"warm-{number}", "ben"))
        signals.clear()
        proxy.decide_cut = cut_once(CommitCut.BEFORE)
        with pytest.raises(Unavailable, match="lost") as caught:
            store.run_sync(push.push_event, build_push("undone", "ana"))
        assert caught.value.hint == "nothing was stored; try again"
        assert proxy.cut_counts[CommitCut.BEFORE] == 1
        assert signals == []
        assert not store.run_sync(push.push_event, build_push("undone", "ana")).deliveries[0].duplicate


def test_a_backend_that_is_ended_as_commit_is_sent(postgres_crew_url: str) -> None:
    """The server's last words lie in the wire already when COMMIT goes out."""
    signals: list[Signal] = []
    with open_warm_store(postgres_crew_url, signals) as store, open_database(postgres_crew_url) as query:
        ended_event = threading.Event()

        def on_point(point: str) -> None:
            if point == "before commit" and not ended_event.is_set():
                ended_event.set()
                query(
                    "SELECT pg_terminate_backend(pid, 300000) FROM pg_stat_activity WHERE application_name = 'gatepost'"
                )

        watch_store(store, on_point)
        for name in ("first", "second"):
            store._local = threading.local()  # a watched connection
            ended_event.clear()
            with pytest.raises(Unavailable) as caught:
                store.run_sync(push.push_event, build_push(name, "ana"))
            assert caught.value.hint == "nothing was stored; try again"
            assert query(LIST_CONTENTS) == [("earlier",)]
            assert signals == []
        assert not store.run_sync(push.push_event, build_push("first", "ana")).deliveries[0].duplicate
        assert [signal.topic.recipient for signal in signals] == ["ana"]


def test_a_crash_that_makes_the_server_forget_our_number() -> None:
    """
    A server that crashes forgets the numbers of transactions it had not written down. What was given to us may then be
    given to somebody else, and that one's commit must not pass for ours.
    """
    signals: list[Signal] = []
    with Postgres(wal_writer_delay="10s", bgwriter_delay="10s", autovacuum="off") as server:
        create_crew(server.url)
        with Proxy(server.url) as proxy, open_warm_store(proxy.url, signals) as store:
            for is_reused in (False, True):
                proxy.decide_cut = cut_once(CommitCut.BEFORE, partial(crash_and_forget, server, is_reused))
                with pytest.raises(Unavailable) as caught:
                    store.run_sync(push.push_event, build_push(f"doubtful-{is_reused}", "ana"))
                hint = "try again with the same dedup key" if is_reused else "nothing was stored; try again"
                assert (caught.value.hint or "").startswith(hint)
                assert signals == []
                assert (
                    not store.run_sync(push.push_event, build_push(f"doubtful-{is_reused}", "ana"))
                    .deliveries[0]
                    .duplicate
                )
                signals.clear()
            assert proxy.cut_counts[CommitCut.BEFORE] == 2


def crash_and_forget(server: Postgres, is_reused: bool) -> None:
    """Crash the server while a transaction is under way, and see that its number is forgotten, or given again."""
    with open_database(server.url) as query:
        [[our_number]] = query("SELECT backend_xid::text::bigint FROM pg_stat_activity WHERE backend_xid IS NOT NULL")
    server.restart()
    with open_database(server.url) as query:
        [[newest_number]] = query("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        assert newest_number <= our_number, "the server has not forgotten"
        while is_reused and newest_number <= our_number:
            [[newest_number]] = query("SELECT pg_current_xact_id()::text::bigint")


def cut_once(cut: CommitCut, before_cut: Callable[[], None] = lambda: None) -> Callable[[], CommitCut]:
    """Cut the next COMMIT only, and do something first."""
    cuts = iter([cut])

    def decide_cut() -> CommitCut:
        next_cut = next(cuts, CommitCut.NONE)
        if next_cut is not CommitCut.NONE:
            before_cut()
        return next_cut

    return decide_cut
