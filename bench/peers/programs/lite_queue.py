"""litequeue: a connection for each thread, as SQLite wants it. Nothing wakes a reader."""

import threading
import time
from collections.abc import Callable
from typing import Any

from litequeue import LiteQueue


def open_queue(config: dict[str, Any]) -> Any:
    queue = LiteQueue(f"{config['folder']}/queue.db")
    queue.conn.execute("PRAGMA synchronous = FULL")
    queue.conn.execute("PRAGMA busy_timeout = 30000")
    return queue


def prepare(config: dict[str, Any]) -> None:
    open_queue(config)


def open_sender(config: dict[str, Any]) -> Callable[[str, str | None], Any]:
    local = threading.local()

    def send(text: str, _key: str | None) -> None:
        if not hasattr(local, "queue"):
            local.queue = open_queue(config)
        local.queue.put(text)

    return send


def work(config: dict[str, Any], receive: Callable[[str], None]) -> None:
    queue = open_queue(config)
    while True:
        message = queue.pop()
        if message is None:
            time.sleep(0.1)
        else:
            receive(message.data)
            queue.done(message.message_id)
