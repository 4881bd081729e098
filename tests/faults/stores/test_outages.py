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

from gatepost.app import open_store
from gatepost.errors import Unavailable
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.stores.threaded_store import ThreadedStore
from tests.faults.commit_points import watch_store
from tests.faults.crew_store import CREW, create_crew, open_database
from tests.faults.stores.audit import drain_and_audit
from tests.faults.stores.journaled_client import JournaledClient, build_push
from tests.faults.stores.worker_process import WorkerProcess
from tests.support.servers.private_servers import Postgres, wait_until

LIST_WAITING_SESSIONS = (
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'gatepost' AND wait_event_type = 'Lock'"
)


@contextmanager
def open_client(url: str, folder: Path) -> Iterator[tuple[ThreadedStore, JournaledClient]]:
    with closing(cast(ThreadedStore, open_store(url))) as store:
        client = JournaledClient(store, folder, "here")
        yield store, client


def test_a_server_that_is_killed_under_load(own_postgres: Postgres, tmp_path: Path) -> None:
    """Three times; whoever was told that nothing was stored finds nothing there when trying again."""
    create_crew(own_postgres.url)
    with (
        WorkerProcess(own_postgres.url, tmp_path) as first_worker,
        WorkerProcess(own_postgres.url, tmp_path) as second_worker,
    ):
        first_worker.start(life="left", kind="besieged", callers=10)
        second_worker.start(life="right", kind="besieged", callers=10)
        for is_restarting in (True, True, True, False):
            for worker in (first_worker, second_worker):
                worker.send_signal(signal.SIGUSR1)
            for worker in (first_worker, second_worker):
                worker.wait_for_message("warm")
            if is_restarting:
                own_postgres.restart()
        for worker in (first_worker, second_worker):
            worker.send_signal(signal.SIGTERM)
        for worker in (first_worker, second_worker):
            worker.wait_until_finished()
    drain_and_audit(own_postgres.url, tmp_path)


async def test_a_server_that_is_stopped_for_a_while(own_postgres: Postgres, tmp_path: Path) -> None:
    """Calls wait, and are answered when it goes on."""
    create_crew(own_postgres.url)
    loop, asking_event = asyncio.get_running_loop(), asyncio.Event()
    is_paused = False

    def on_point(point: str) -> None:
        if is_paused and point == "before begin":
            loop.call_soon_threadsafe(asking_event.set)

    with open_client(own_postgres.url, tmp_path) as (store, client):
        watch_store(store, on_point)
        await client.push_async(build_push("before", "ana"))
        own_postgres.pause()
        is_paused = True
        try:
            pushes = [build_push(f"during-{number}", CREW[number % 3]) for number in range(20)]
            push_tasks = [asyncio.ensure_future(client.push_async(push)) for push in pushes]
            read_task = asyncio.ensure_future(store.read(inbox.peek, "ana"))
            await asking_event.wait()
            assert not any(task.done() for task in (*push_tasks, read_task))
        finally:
            own_postgres.resume()
        await asyncio.gather(*push_tasks)
        assert (await read_task)[0].event.content == "before"
    drain_and_audit(own_postgres.url, tmp_path)


def test_a_server_that_is_down_and_comes_back(own_postgres: Postgres, tmp_path: Path) -> None:
    """While it is down every call says so; then the same store works, with connections from before and without."""
    create_crew(own_postgres.url)
    with open_client(own_postgres.url, tmp_path) as (store, client):
        for name in ("first", "second"):
            own_postgres.kill()
            with pytest.raises(Unavailable, match="cannot connect"):
                client.push(build_push(name, "ana"))
            with pytest.raises(Unavailable, match="cannot connect"):
                store.read_sync(account_actions.list_accounts)
            own_postgres.restart()
            client.push(build_push(name, "ana"))
            assert all(account.is_balanced for account in store.read_sync(account_actions.list_accounts))
        own_postgres.restart()  # unnoticed
        assert len(store.read_sync(inbox.peek, "ana")) == 2
        client.push(build_push("third", "ana"))
    drain_and_audit(own_postgres.url, tmp_path)


@pytest.mark.parametrize("ended_by", ["transaction_timeout", "statement_timeout", "pg_terminate_backend"])
def test_a_transaction_that_the_server_ends(postgres_crew_url: str, tmp_path: Path, ended_by: str) -> None:
    """In the middle of a verb, while it waits for what somebody else has locked; when that is free, it can be done."""
    errors: list[Unavailable] = []

    def push_until_stored() -> None:
        with open_client(url, tmp_path) as (_, client):
            for _ in range(20):
                try:
                    client.push(build_push("waiting", "ana"))
                    return
                except Unavailable as error:
                    errors.append(error)
                    lock_connection.rollback()

    url = postgres_crew_url
    if ended_by != "pg_terminate_backend":
        url += f"?options=-c%20{ended_by}%3D500ms"
    with psycopg.connect(postgres_crew_url) as lock_connection, open_database(postgres_crew_url) as query:
        lock_connection.execute("LOCK TABLE items")
        thread = threading.Thread(target=push_until_stored)
        thread.start()
        if ended_by == "pg_terminate_backend":
            wait_until(lambda: bool(query(LIST_WAITING_SESSIONS)), "the push waits for the lock")
            query(f"SELECT pg_terminate_backend(pid) FROM ({LIST_WAITING_SESSIONS})")
        thread.join()
    assert errors
    assert errors[0].hint == "nothing was stored; try again"
    drain_and_audit(postgres_crew_url, tmp_path)
