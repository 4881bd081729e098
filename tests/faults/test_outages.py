"""PostgreSQL goes away, is stopped, or throws us out: callers are told, and the store comes back by itself."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

import psycopg
import pytest

from gatepost.actions import inbox, maintenance
from gatepost.adapters.stores.threaded import ThreadedStore
from gatepost.app import open_store
from gatepost.errors import Unavailable
from tests.faults.audit import settle
from tests.faults.clerk import Clerk, wish
from tests.faults.hands import Hand
from tests.faults.office import CREW, furnish, witness
from tests.servers import Postgres, until

WAITING = "SELECT pid FROM pg_stat_activity WHERE application_name = 'gatepost' AND wait_event_type = 'Lock'"


@contextmanager
def opened(url: str, folder: Path) -> Iterator[tuple[ThreadedStore, Clerk]]:
    with closing(cast(ThreadedStore, open_store(url))) as store:
        clerk = Clerk(store, folder, "here")
        yield store, clerk


def test_a_server_that_is_killed_under_load(own_postgres: Postgres, tmp_path: Path) -> None:
    """Three times; whoever was told that nothing was stored finds nothing there when trying again."""
    furnish(own_postgres.url)
    with Hand(own_postgres.url, tmp_path) as left, Hand(own_postgres.url, tmp_path) as right:
        left.start(life="left", kind="besieged", callers=10)
        right.start(life="right", kind="besieged", callers=10)
        for again in (True, True, True, False):
            for hand in (left, right):
                hand.signal(signal.SIGUSR1)
            for hand in (left, right):
                hand.heard("warm")
            if again:
                own_postgres.restart()
        for hand in (left, right):
            hand.signal(signal.SIGTERM)
        for hand in (left, right):
            hand.finished()
    settle(own_postgres.url, tmp_path)


async def test_a_server_that_is_stopped_for_a_while(own_postgres: Postgres, tmp_path: Path) -> None:
    """Calls wait, and are answered when it goes on."""
    furnish(own_postgres.url)
    with opened(own_postgres.url, tmp_path) as (store, clerk):
        await clerk.push_soon(wish("before", "ana"))
        own_postgres.stop()
        try:
            wishes = [wish(f"during-{number}", CREW[number % 3]) for number in range(20)]
            pushing = [asyncio.ensure_future(clerk.push_soon(one)) for one in wishes]
            looking = asyncio.ensure_future(store.read(inbox.peek, "ana"))
            done, _ = await asyncio.wait([*pushing, looking], timeout=1)
            assert not done
        finally:
            own_postgres.cont()
        await asyncio.gather(*pushing)
        assert (await looking)[0].event.content == "before"
    settle(own_postgres.url, tmp_path)


def test_a_server_that_is_down_and_comes_back(own_postgres: Postgres, tmp_path: Path) -> None:
    """While it is down every call says so; then the same store works, with connections from before and without."""
    furnish(own_postgres.url)
    with opened(own_postgres.url, tmp_path) as (store, clerk):
        for name in ("first", "second"):
            own_postgres.kill()
            with pytest.raises(Unavailable, match="cannot connect"):
                clerk.push(wish(name, "ana"))
            with pytest.raises(Unavailable, match="cannot connect"):
                store.query(maintenance.list_accounts)
            own_postgres.restart()
            clerk.push(wish(name, "ana"))
            assert all(account.is_balanced for account in store.query(maintenance.list_accounts))
        own_postgres.restart()  # unnoticed
        assert len(store.query(inbox.peek, "ana")) == 2
        clerk.push(wish("third", "ana"))
    settle(own_postgres.url, tmp_path)


@pytest.mark.parametrize("ended_by", ["transaction_timeout", "statement_timeout", "pg_terminate_backend"])
def test_a_transaction_that_the_server_ends(postgres_office: str, tmp_path: Path, ended_by: str) -> None:
    """In the middle of a verb, while it waits for what somebody else has locked; when that is free, it can be done."""
    failed: list[Unavailable] = []

    def push() -> None:
        with opened(url, tmp_path) as (_, clerk):
            for _ in range(20):
                try:
                    clerk.push(wish("waiting", "ana"))
                    return
                except Unavailable as error:
                    failed.append(error)
                    holder.rollback()

    url = postgres_office
    if ended_by != "pg_terminate_backend":
        url += f"?options=-c%20{ended_by}%3D500ms"
    with psycopg.connect(postgres_office) as holder, witness(postgres_office) as ask:
        holder.execute("LOCK TABLE items")
        thread = threading.Thread(target=push)
        thread.start()
        if ended_by == "pg_terminate_backend":
            until(lambda: bool(ask(WAITING)), "the push waits for the lock")
            ask(f"SELECT pg_terminate_backend(pid) FROM ({WAITING})")
        thread.join()
    assert failed
    assert failed[0].hint == "nothing was stored; try again"
    settle(postgres_office, tmp_path)
