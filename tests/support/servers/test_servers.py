"""The fault tests trust these servers; so the servers are tested too."""

import psycopg
import pytest

from tests.support.servers.private_servers import Postgres


def test_a_killed_server_comes_back_on_its_port_with_what_was_committed(own_postgres: Postgres) -> None:
    with psycopg.connect(own_postgres.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    with psycopg.connect(own_postgres.url) as witness:
        port = own_postgres.port
        own_postgres.kill()
        with pytest.raises(psycopg.OperationalError):
            witness.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(own_postgres.url)

    own_postgres.restart()

    assert own_postgres.port == port
    with psycopg.connect(own_postgres.url) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)
        assert connection.execute("SHOW fsync").fetchone() == ("on",)


def test_a_stopped_server_answers_nobody_until_it_continues(own_postgres: Postgres) -> None:
    with psycopg.connect(own_postgres.url, autocommit=True) as connection:
        own_postgres.pause()
        connection.pgconn.send_query(b"SELECT 1")
        with pytest.raises(psycopg.errors.ConnectionTimeout):
            psycopg.connect(own_postgres.url, connect_timeout=2)
        connection.pgconn.consume_input()
        assert connection.pgconn.is_busy()

        own_postgres.resume()

        answer = connection.pgconn.get_result()
        assert answer is not None
        assert answer.get_value(0, 0) == b"1"
        assert connection.pgconn.get_result() is None


@pytest.mark.parametrize("_repeat", [1, 2])
def test_each_test_has_an_empty_database(postgres_url: str, _repeat: int) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE mine (number int)")
