"""Emptying a PostgreSQL database of ours, which takes a hundredth of the time of making a new one."""

from typing import Any, Final

import psycopg
from psycopg import sql

from tests.kept_connections import list_idle_sessions

_LIST_TABLES: Final = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_version'"
_LIST_SEQUENCES: Final = "SELECT sequencename, start_value FROM pg_sequences WHERE schemaname = 'public'"
#: a function of the session: the schema of the database stays as it is
_CREATE_FUNCTION: Final = sql.SQL("""
CREATE FUNCTION pg_temp.empty_tables() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    {commands}
END
$$""")
_EMPTY_TABLE: Final = sql.SQL("IF EXISTS (SELECT FROM public.{table}) THEN DELETE FROM public.{table}; END IF;")
_CLEAR_COUNTERS: Final = sql.SQL("UPDATE public.counters SET value = 0 WHERE value <> 0;")
_RESTART_SEQUENCE: Final = sql.SQL(
    "IF (SELECT is_called FROM public.{sequence}) THEN PERFORM setval({name}, {start}, false); END IF;"
)
_END_OTHER_SESSIONS: Final = (
    "SELECT pg_terminate_backend(pid, 300000) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    " AND pid <> ALL (%s)"
)

#: a connection to each database that stays: it knows the catalog, and has the plans of all it does
_sessions: Final[dict[str, psycopg.Connection[tuple[Any, ...]]]] = {}


def reset_database(url: str) -> None:
    """Remove every row, whoever refers to it, and begin all numbers anew; whoever is still connected is cut off."""
    try:
        _reset(url)
    except psycopg.OperationalError:
        # A test ended all sessions, or restarted the server.
        close_session(url)
        _reset(url)


def close_session(url: str) -> None:
    """Leave a database that was reset."""
    session = _sessions.pop(url, None)
    if session is not None:
        session.close()


def _reset(url: str) -> None:
    if url not in _sessions:
        _sessions[url] = _open_session(url)
    _sessions[url].execute(_END_OTHER_SESSIONS, [list_idle_sessions(url)])
    _sessions[url].execute("SELECT pg_temp.empty_tables()")


def _open_session(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    session = psycopg.connect(url, autocommit=True, application_name="reset", prepare_threshold=1)
    session.execute("SET session_replication_role = replica")
    commands = [
        _CLEAR_COUNTERS if table == "counters" else _EMPTY_TABLE.format(table=sql.Identifier(table))
        for [table] in session.execute(_LIST_TABLES)
    ]
    commands += [
        _RESTART_SEQUENCE.format(
            sequence=sql.Identifier(name),
            name=sql.Literal(sql.Identifier("public", name).as_string(session)),
            start=sql.Literal(start),
        )
        for name, start in session.execute(_LIST_SEQUENCES)
    ]
    session.execute(_CREATE_FUNCTION.format(commands=sql.SQL("\n    ").join(commands)))
    return session
