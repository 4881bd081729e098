"""persist-queue: its FIFO queue on SQLite, which several threads may use. Nothing wakes a reader in another process."""

import time
from collections.abc import Callable
from typing import Any

from persistqueue import Empty, FIFOSQLiteQueue


def open_queue(config: dict[str, Any]) -> Any:
    return FIFOSQLiteQueue(f"{config['folder']}/queue", multithreading=True)


def open_sender(config: dict[str, Any]) -> Callable[[str, str | None], Any]:
    queue = open_queue(config)
    return lambda text, _key: queue.put(text)


def work(config: dict[str, Any], receive: Callable[[str], None]) -> None:
    queue = open_queue(config)
    while True:
        try:
            receive(queue.get(block=False))
        except Empty:
            time.sleep(0.1)
