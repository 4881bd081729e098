"""pgmq by its SQL functions, installed by the SQL of the package: a connection for each thread."""

import threading
from collections.abc import Callable
from typing import Any

import psycopg
from pgmq.install import get_embedded_install_sql
from psycopg.types.json import Jsonb


def prepare(config: dict[str, Any]) -> None:
    with psycopg.connect(config["postgres"], autocommit=True) as connection:
        connection.execute(get_embedded_install_sql())
        connection.execute("SELECT pgmq.create('bench')")


def open_sender(config: dict[str, Any]) -> Callable[[str, str | None], Any]:
    local = threading.local()

    def send(text: str, _key: str | None) -> None:
        if not hasattr(local, "connection"):
            local.connection = psycopg.connect(config["postgres"], autocommit=True)
        local.connection.execute("SELECT pgmq.send('bench', %s)", (Jsonb(text),))

    return send


def work(config: dict[str, Any], receive: Callable[[str], None]) -> None:
    with psycopg.connect(config["postgres"], autocommit=True) as connection:
        while True:
            query = "SELECT msg_id, message FROM pgmq.read_with_poll('bench', 30, 20)"
            for number, text in connection.execute(query).fetchall():
                receive(text)
                connection.execute("SELECT pgmq.delete('bench', %s::bigint)", (number,))
