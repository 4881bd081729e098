"""A COMMIT whose answer is lost: it was done or it was not, and the caller is told which; or that nobody can know."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import cast

import pytest

from gatepost.actions import push
from gatepost.adapters.stores.postgres import PostgresStore
from gatepost.app import open_store
from gatepost.core.signals import Signal
from gatepost.errors import Unavailable
from tests.faults.clerk import wish
from tests.faults.office import furnish, witness
from tests.faults.points import watch
from tests.faults.proxy import Cut, Proxy
from tests.servers import Postgres

STORED = "SELECT content FROM events ORDER BY arrival"


@contextmanager
def opened(url: str, rings: list[Signal]) -> Iterator[PostgresStore]:
    def bell(rung: Sequence[Signal]) -> None:
        rings.extend(rung)

    with closing(cast(PostgresStore, open_store(url, signal_sink=bell))) as store:
        store.call(push.push_event, wish("earlier", "ana"))  # so that there is a connection to lose
        rings.clear()
        yield store


@pytest.mark.parametrize("warmth", [0, 10])  # after a few times the driver sends COMMIT as a prepared statement
def test_a_commit_that_was_done(postgres_office: str, warmth: int) -> None:
    rings: list[Signal] = []
    with Proxy(postgres_office) as proxy, opened(proxy.url, rings) as store:
        for number in range(warmth):
            store.call(push.push_event, wish(f"warm-{number}", "ben"))
        rings.clear()
        proxy.at_commit = once(Cut.AFTER)
        pushed = store.call(push.push_event, wish("done", "ana"))
        assert proxy.cuts[Cut.AFTER] == 1
        assert [ring.recipient for ring in rings] == ["ana"]
        assert store.call(push.push_event, wish("done", "ana")).deliveries[0].duplicate
    with witness(postgres_office) as ask:
        assert ask("SELECT content FROM events WHERE id = '" + pushed.event + "'") == [("done",)]


@pytest.mark.parametrize("warmth", [0, 10])
def test_a_commit_that_never_arrived(postgres_office: str, warmth: int) -> None:
    rings: list[Signal] = []
    with Proxy(postgres_office) as proxy, opened(proxy.url, rings) as store:
        for number in range(warmth):
            store.call(push.push_event, wish(f"warm-{number}", "ben"))
        rings.clear()
        proxy.at_commit = once(Cut.BEFORE)
        with pytest.raises(Unavailable, match="lost") as caught:
            store.call(push.push_event, wish("undone", "ana"))
        assert caught.value.hint == "nothing was stored; try again"
        assert proxy.cuts[Cut.BEFORE] == 1
        assert rings == []
        assert not store.call(push.push_event, wish("undone", "ana")).deliveries[0].duplicate


def test_a_backend_that_is_ended_as_commit_is_sent(postgres_office: str) -> None:
    """The server's last words lie in the wire already when COMMIT goes out."""
    rings: list[Signal] = []
    with opened(postgres_office, rings) as store, witness(postgres_office) as ask:
        doomed = threading.Event()

        def visit(point: str) -> None:
            if point == "before commit" and not doomed.is_set():
                doomed.set()
                ask("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'gatepost'")

        watch(store, visit)
        for name in ("first", "second"):
            store._local = threading.local()  # a watched connection
            doomed.clear()
            with pytest.raises(Unavailable) as caught:
                store.call(push.push_event, wish(name, "ana"))
            assert caught.value.hint == "nothing was stored; try again"
            assert ask(STORED) == [("earlier",)]
            assert rings == []
        assert not store.call(push.push_event, wish("first", "ana")).deliveries[0].duplicate
        assert [ring.recipient for ring in rings] == ["ana"]


def test_a_crash_that_makes_the_server_forget_our_number() -> None:
    """
    A server that crashes forgets the numbers of transactions it had not written down. What was given to us may then be
    given to somebody else, and that one's commit must not pass for ours.
    """
    rings: list[Signal] = []
    with Postgres(wal_writer_delay="10s", bgwriter_delay="10s", autovacuum="off") as server:
        furnish(server.url)
        with Proxy(server.url) as proxy, opened(proxy.url, rings) as store:
            for given_again in (False, True):
                proxy.at_commit = once(Cut.BEFORE, partial(forget, server, given_again))
                with pytest.raises(Unavailable) as caught:
                    store.call(push.push_event, wish(f"doubtful-{given_again}", "ana"))
                hint = "try again with the same dedup key" if given_again else "nothing was stored; try again"
                assert (caught.value.hint or "").startswith(hint)
                assert rings == []
                assert not store.call(push.push_event, wish(f"doubtful-{given_again}", "ana")).deliveries[0].duplicate
                rings.clear()
            assert proxy.cuts[Cut.BEFORE] == 2


def forget(server: Postgres, given_again: bool) -> None:
    """Crash the server while a transaction is under way, and see that its number is forgotten, or given again."""
    with witness(server.url) as ask:
        [[ours]] = ask("SELECT backend_xid::text::bigint FROM pg_stat_activity WHERE backend_xid IS NOT NULL")
    server.restart()
    with witness(server.url) as ask:
        [[newest]] = ask("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        assert newest <= ours, "the server has not forgotten"
        while given_again and newest <= ours:
            [[newest]] = ask("SELECT pg_current_xact_id()::text::bigint")


def once(cut: Cut, first: Callable[[], None] = lambda: None) -> Callable[[], Cut]:
    """Cut the next COMMIT only, and do something first."""
    fates = iter([cut])

    def fate() -> Cut:
        decided = next(fates, Cut.NOT)
        if decided is not Cut.NOT:
            first()
        return decided

    return fate
