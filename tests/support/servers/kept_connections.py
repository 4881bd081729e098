"""
Connections to PostgreSQL that outlive the stores of a test process.

A new connection costs the server a process that has read no catalog and planned no statement: more than most tests that
ask for it. While `keep_connections` is entered, a connection to that database that a store of this process closes is
kept, and the next store gets it. It comes back as new: without a transaction, settings or locks. Only the plans of its
statements stay, as they do in a gateway that runs for days. What is broken or in a transaction when it is closed is
closed really.
"""

import heapq
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import Lock
from types import TracebackType
from typing import Any, Final, Self, cast

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from gatepost.stores import postgres

Connection = psycopg.Connection[tuple[Any, ...]]

_connect_really: Final = postgres.connect


class ConnectionPool:
    """
    The idle connections to a database. The one that was opened first is used first: most tests connect in the same
    order, so who writes and who reads gets a connection that has planned the same statements before.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._numbers = count()
        self._idle_connections: list[tuple[int, Connection]] = []
        self._lock = Lock()

    def take(self) -> "LentConnection":
        while entry := self._pop():
            number, connection = entry
            try:
                connection.execute("RESET ALL")
            except psycopg.OperationalError:  # a test ended all sessions
                connection.close()
            else:
                return LentConnection(self, number, connection)
        return LentConnection(self, next(self._numbers), _connect_really(self._url))

    def _pop(self) -> tuple[int, Connection] | None:
        with self._lock:
            return heapq.heappop(self._idle_connections) if self._idle_connections else None

    def give_back(self, number: int, connection: Connection) -> None:
        if connection.closed or connection.info.transaction_status is not TransactionStatus.IDLE:
            connection.close()
        else:
            with self._lock:
                heapq.heappush(self._idle_connections, (number, connection))

    def list_sessions(self) -> list[int]:
        with self._lock:
            connections = [connection for _, connection in self._idle_connections]
        return [connection.info.backend_pid for connection in connections if not connection.closed]

    def close(self) -> None:
        while entry := self._pop():
            entry[1].close()


class LentConnection:
    """A connection as its user sees it: closed after `close`, whatever becomes of the real one."""

    def __init__(self, pool: ConnectionPool, number: int, connection: Connection) -> None:
        self._pool = pool
        self._number = number
        self._connection = connection
        self._is_closed = False

    def __getattr__(self, name: str) -> Any:
        if self._is_closed:
            raise psycopg.OperationalError("the connection is closed")
        return getattr(self._connection, name)

    @property
    def closed(self) -> bool:
        return self._is_closed or self._connection.closed

    @property
    def broken(self) -> bool:
        return not self._is_closed and self._connection.broken

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._pool.give_back(self._number, self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_pools: Final[dict[str, ConnectionPool]] = {}


@contextmanager
def keep_connections(url: str) -> Iterator[None]:
    """While entered, stores of this process use the connections to this database again."""
    _pools[url] = ConnectionPool(url)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres, "connect", _connect)
        try:
            yield
        finally:
            _pools.pop(url).close()


def list_idle_sessions(url: str) -> list[int]:
    """Return the process numbers, on the server, of the connections that nobody uses now."""
    return _pools[url].list_sessions() if url in _pools else []


def _connect(url: str) -> Connection:
    return cast(Connection, _pools[url].take()) if url in _pools else _connect_really(url)
