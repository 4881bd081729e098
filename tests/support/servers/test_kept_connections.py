"""A connection that a test process keeps is as good as a new one."""

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from gatepost.stores import postgres
from tests.support.servers.kept_connections import keep_connections, list_idle_sessions


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    with keep_connections(postgres_url):
        yield postgres_url


def read_session(connection: psycopg.Connection) -> int:
    [number] = connection.execute("SELECT pg_backend_pid()").fetchone() or [0]
    return int(number)


def test_what_is_closed_is_used_again_with_the_settings_of_a_new_one(url: str) -> None:
    with postgres.connect(url) as connection:
        session = read_session(connection)
        connection.execute("SET synchronous_commit = off")
    assert list_idle_sessions(url) == [session]
    with postgres.connect(url) as connection, postgres.connect(url) as second_connection:
        assert read_session(connection) == session
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
        assert list_idle_sessions(url) == []
        assert read_session(second_connection) != session
    assert len(list_idle_sessions(url)) == 2


def test_who_has_closed_a_connection_can_not_use_it(url: str) -> None:
    connection = postgres.connect(url)
    connection.close()
    connection.close()
    with closing(postgres.connect(url)) as next_connection:
        assert connection.closed
        assert not connection.broken
        with pytest.raises(psycopg.OperationalError, match="closed"):
            connection.execute("SELECT 1")
        assert read_session(next_connection)


def test_a_transaction_ends_with_the_connection(url: str) -> None:
    with postgres.connect(url) as connection:
        connection.execute("BEGIN; CREATE TABLE tea (leaves int)")
    assert list_idle_sessions(url) == []
    with postgres.connect(url) as connection:
        assert connection.execute("SELECT to_regclass('tea')").fetchone() == (None,)


def test_one_that_the_server_has_ended_is_replaced(url: str) -> None:
    with postgres.connect(url) as first, postgres.connect(url) as second:
        sessions = [read_session(first), read_session(second)]
    with psycopg.connect(url, autocommit=True) as witness:
        witness.execute("SELECT pg_terminate_backend(number, 300000) FROM unnest(%s::int[]) AS number", [sessions])
    with postgres.connect(url) as connection:
        assert read_session(connection) not in sessions


def test_other_databases_are_connected_to_anew(url: str) -> None:
    with postgres.connect(f"{url}?options=-c%20work_mem%3D64kB") as connection:
        session = read_session(connection)
    with postgres.connect(f"{url}?options=-c%20work_mem%3D64kB") as connection:
        assert read_session(connection) != session
    assert list_idle_sessions(url) == []
