"""taskiq: a task with the text as its argument, and a receiver in one process, for any broker."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from taskiq.api import run_receiver_task


def build_program(build_broker: Callable[[dict[str, Any]], Any]) -> tuple[Any, Any]:
    """Return the sender and the worker of a broker."""

    def build(config: dict[str, Any], receive: Callable[[str], None]) -> tuple[Any, Any]:
        broker = build_broker(config)

        @broker.task(task_name="handle")
        async def handle(text: str) -> None:
            receive(text)

        return broker, handle

    @asynccontextmanager
    async def open_async_sender(config: dict[str, Any]) -> AsyncIterator[Callable[[str, str | None], Awaitable[Any]]]:
        broker, handle = build(config, lambda _: None)
        await broker.startup()
        try:
            yield lambda text, _key: handle.kiq(text)
        finally:
            await broker.shutdown()

    async def work(config: dict[str, Any], receive: Callable[[str], None]) -> None:
        broker, _ = build(config, receive)
        broker.is_worker_process = True
        await broker.startup()
        await run_receiver_task(broker)

    return open_async_sender, work
