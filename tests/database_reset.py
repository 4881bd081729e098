"""Emptying a PostgreSQL database of ours, which takes a tenth of the time of making a new one."""

import psycopg
from psycopg import sql

_LIST_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_version'"
_LIST_SEQUENCES = "SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL"
_END_OTHER_SESSIONS = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


def reset_database(url: str) -> None:
    """Remove every row, whoever refers to it, and begin all numbers anew; whoever is still connected is cut off."""
    with psycopg.connect(url) as connection:
        connection.execute(_END_OTHER_SESSIONS)
        connection.execute("SET session_replication_role = replica")
        for [table] in connection.execute(_LIST_TABLES).fetchall():
            if table == "counters":
                connection.execute("UPDATE counters SET value = 0")
            else:
                connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
        for [sequence] in connection.execute(_LIST_SEQUENCES).fetchall():
            connection.execute(sql.SQL("ALTER SEQUENCE {} RESTART").format(sql.Identifier(sequence)))
