"""
Connections to PostgreSQL that outlive the stores of a test process.

A new connection costs the server a process that has read no catalog and planned no statement: more than most tests that
ask for it. While `keep_connections` is entered, a connection to that database that a store of this process closes is
kept, and the next store gets it. It comes back as new: without a transaction, settings or locks. Only the plans of its
statements stay, as they do in a gateway that runs for days. What is broken or in a transaction when it is closed is
closed really.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Final, Self, cast

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from gatepost.adapters.stores import postgres

Connection = psycopg.Connection[tuple[Any, ...]]

_connect_really: Final = postgres.connect
#: the idle connections to each database that is kept; the one that was closed first is used first, so that those who
#: write and those who read, who connect in the same order in most tests, get what they had
_idle_connections: Final[dict[str, deque[Connection]]] = {}


class LentConnection:
    """A connection as its user sees it: closed after `close`, whatever becomes of the real one."""

    def __init__(self, connection: Connection, idle_connections: deque[Connection]) -> None:
        self._connection = connection
        self._idle_connections = idle_connections
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
        if self._is_closed:
            return
        self._is_closed = True
        if not self._connection.closed and self._connection.info.transaction_status is TransactionStatus.IDLE:
            self._idle_connections.append(self._connection)
        else:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def keep_connections(url: str) -> Iterator[None]:
    """While entered, stores of this process use the connections to this database again."""
    _idle_connections[url] = deque()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres, "connect", _connect)
        try:
            yield
        finally:
            for connection in _idle_connections.pop(url):
                connection.close()


def list_idle_sessions(url: str) -> list[int]:
    """Return the process numbers, on the server, of the connections that nobody uses now."""
    return [connection.info.backend_pid for connection in _idle_connections.get(url, ()) if not connection.closed]


def _connect(url: str) -> Connection:
    idle_connections = _idle_connections.get(url)
    if idle_connections is None:
        return _connect_really(url)
    return cast(Connection, LentConnection(_take_connection(url, idle_connections), idle_connections))


def _take_connection(url: str, idle_connections: deque[Connection]) -> Connection:
    with suppress(IndexError):
        while True:
            connection = idle_connections.popleft()
            try:
                connection.execute("RESET ALL")
            except psycopg.OperationalError:  # a test ended all sessions
                connection.close()
            else:
                return connection
    return _connect_really(url)
