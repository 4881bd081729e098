"""Two stores on one PostgreSQL database, and a way to stop a verb of one of them halfway."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from gatepost.core.ports import Store, Transaction
from gatepost.inbox import account_actions
from gatepost.reactions import RoomQuestion, find_reactions
from gatepost.stores.statements import Sql
from gatepost.testing import Kit
from tests.support.store_context import StoreContext
from tests.support.waits import LAST_RESORT

#: the methods of a transaction whose first argument is a statement
STATEMENT_METHODS: Final = (
    *("fetch_one", "fetch_all", "fetch_page", "fetch_later"),
    *("execute", "execute_many", "execute_later", "execute_many_later"),
)


def lift_idle_limit(tx: Transaction) -> None:
    """Let a transaction be held on a busy machine, too. Otherwise the server ends one that is idle for ten seconds."""
    tx.execute(Sql("SET LOCAL idle_in_transaction_session_timeout = 0"))


class WatchedTransaction:
    """A transaction that stops once before a statement."""

    def __init__(self, tx: Transaction, before: str | None, stop: Callable[[], None]) -> None:
        self._tx = tx
        self._statement = before
        self._pause = stop

    def react(self, event: tuple[Any, ...]) -> None:
        for reaction in find_reactions(type(event).__name__):
            reaction(self, event)

    def ask(self, question: RoomQuestion[Any]) -> Any:
        [find_answer] = find_reactions(type(question).__name__)
        return find_answer(self, question)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._tx, name)
        if name not in STATEMENT_METHODS:
            return method

        def call_method(statement: str, *args: Any, **kwargs: Any) -> Any:
            if statement == self._statement:
                self._pause()
            return method(statement, *args, **kwargs)

        return call_method


class Race(StoreContext):
    """Two stores on one database, and a way to stop one of them halfway."""

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self.other_store: Store = kit.open()
        self.pool = ThreadPoolExecutor(4)

    @contextmanager
    def pause_midway(
        self, verb: Callable[..., Any], *args: Any, before: str | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Run a verb up to a statement (or its commit) and hold it there; it goes on at the end of the block."""
        reached, may_continue = threading.Event(), threading.Event()

        def pause() -> None:
            reached.set()
            assert may_continue.wait(LAST_RESORT), "never let go"

        def run_and_pause(tx: Transaction) -> Any:
            lift_idle_limit(tx)
            value = verb(WatchedTransaction(tx, before, pause), *args, **kwargs)
            if before is None:
                pause()
            return value

        future: Future[Any] = self.pool.submit(self.other_store.run_sync, run_and_pause)
        assert reached.wait(LAST_RESORT), "never got there"
        try:
            yield future
        finally:
            may_continue.set()
            wait([future], LAST_RESORT)

    def start_blocked(self, verb: Callable[..., Any], *args: Any, **kwargs: Any) -> "Future[Any]":
        """Run a verb that will have to wait for the other one, and return when it does."""
        future: Future[Any] = self.pool.submit(self.store.run_sync, verb, *args, **kwargs)
        with psycopg.connect(self.kit.url, autocommit=True) as connection:
            while not future.done():
                query = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
                if connection.execute(query).fetchone():
                    break
        return future

    def is_consistent(self) -> bool:
        """Whether nothing is stuck, lost or unaccounted for."""
        return self.is_balanced() and not self.store.read_sync(account_actions.find_orphans)
