"""
Emptying a PostgreSQL database of ours, which takes a hundredth of the time of making a new one, and putting into it
what many tests begin with.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import psycopg
from psycopg import sql

from tests.support.servers.kept_connections import list_idle_sessions

_LIST_TABLES: Final = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_version'"
_LIST_SEQUENCES: Final = "SELECT sequencename, start_value, last_value FROM pg_sequences WHERE schemaname = 'public'"
#: a function of the session: the schema of the database stays as it is
_CREATE_FUNCTION: Final = sql.SQL("""
CREATE FUNCTION pg_temp.{name}() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    {commands}
END
$$""")
_EMPTY_TABLE: Final = sql.SQL("IF EXISTS (SELECT FROM public.{table}) THEN DELETE FROM public.{table}; END IF;")
_CLEAR_COUNTERS: Final = sql.SQL("UPDATE public.counters SET value = 0 WHERE value <> 0;")
_RESTART_SEQUENCE: Final = sql.SQL(
    "IF (SELECT is_called FROM public.{sequence}) THEN PERFORM setval({name}, {start}, false); END IF;"
)
_INSERT_ROW: Final = sql.SQL("INSERT INTO public.{table} OVERRIDING SYSTEM VALUE VALUES ({values});")
_SET_SEQUENCE: Final = sql.SQL("PERFORM setval({name}, {value});")
_END_OTHER_SESSIONS: Final = (
    "SELECT pg_terminate_backend(pid, 300000) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    " AND pid <> ALL (%s)"
)

#: a connection to each database that stays: it knows the catalog, and has the plans of all it does
_sessions: Final[dict[str, psycopg.Connection[tuple[Any, ...]]]] = {}
#: the sessions that know by heart what to put into the database
_furnishers: Final[set[psycopg.Connection[tuple[Any, ...]]]] = set()


def reset_database(url: str) -> None:
    """Remove every row, whoever refers to it, and begin all numbers anew; whoever is still connected is cut off."""
    try:
        _reset(url)
    except psycopg.OperationalError:
        # A test ended all sessions, or restarted the server.
        close_session(url)
        _reset(url)


def furnish_database(url: str, furnish: Callable[[], object]) -> None:
    """
    Put into a database that was just reset what `furnish` puts there. What it did is repeated by one statement from the
    second time on, so it is the same for each database.
    """
    session = _sessions.get(url)
    if session is None:
        furnish()
    elif session in _furnishers:
        session.execute("SELECT pg_temp.fill_tables()")
    else:
        furnish()
        _create_function(session, "fill_tables", _list_fill_commands(session))
        _furnishers.add(session)


def close_session(url: str) -> None:
    """Leave a database that was reset."""
    session = _sessions.pop(url, None)
    if session is not None:
        _furnishers.discard(session)
        session.close()


def _reset(url: str) -> None:
    if url not in _sessions:
        _sessions[url] = _open_session(url)
    _sessions[url].execute(_END_OTHER_SESSIONS, [list_idle_sessions(url)])
    _sessions[url].execute("SELECT pg_temp.empty_tables()")


def _open_session(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    session = psycopg.connect(url, autocommit=True, application_name="reset", prepare_threshold=1)
    session.execute("SET session_replication_role = replica")
    _create_function(session, "empty_tables", _list_empty_commands(session))
    return session


def _create_function(
    session: psycopg.Connection[tuple[Any, ...]], name: str, commands: Iterable[sql.Composable]
) -> None:
    body = sql.SQL("\n    ").join(commands)
    session.execute(_CREATE_FUNCTION.format(name=sql.Identifier(name), commands=body))


def _list_empty_commands(session: psycopg.Connection[tuple[Any, ...]]) -> Iterator[sql.Composable]:
    for [table] in session.execute(_LIST_TABLES).fetchall():
        yield _CLEAR_COUNTERS if table == "counters" else _EMPTY_TABLE.format(table=sql.Identifier(table))
    for name, start, _ in session.execute(_LIST_SEQUENCES).fetchall():
        yield _RESTART_SEQUENCE.format(
            sequence=sql.Identifier(name), name=_quote_sequence(session, name), start=sql.Literal(start)
        )


def _list_fill_commands(session: psycopg.Connection[tuple[Any, ...]]) -> Iterator[sql.Composable]:
    """Yield what repeats the content of the database, which has no more than some rows."""
    for [table] in session.execute(_LIST_TABLES).fetchall():
        if table == "counters":
            assert session.execute("SELECT FROM counters WHERE value <> 0").fetchall() == []
            continue
        for row in session.execute(sql.SQL("SELECT * FROM public.{}").format(sql.Identifier(table))).fetchall():
            values = sql.SQL(", ").join(map(sql.Literal, row))
            yield _INSERT_ROW.format(table=sql.Identifier(table), values=values)
    for name, _, value in session.execute(_LIST_SEQUENCES).fetchall():
        if value is not None:
            yield _SET_SEQUENCE.format(name=_quote_sequence(session, name), value=sql.Literal(value))


def _quote_sequence(session: psycopg.Connection[tuple[Any, ...]], name: str) -> sql.Literal:
    return sql.Literal(sql.Identifier("public", name).as_string(session))
