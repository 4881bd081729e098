"""procrastinate: a task with the text as its argument, and a worker that listens to NOTIFY."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from procrastinate import App, PsycopgConnector


def build_app(config: dict[str, Any], receive: Callable[[str], None]) -> tuple[Any, Any]:
    app = App(connector=PsycopgConnector(conninfo=config["postgres"]))

    @app.task(name="handle", queue="bench")
    async def handle(text: str) -> None:
        receive(text)

    return app, handle


def prepare(config: dict[str, Any]) -> None:
    async def apply_schema() -> None:
        app, _ = build_app(config, lambda _: None)
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    asyncio.run(apply_schema())


@asynccontextmanager
async def open_async_sender(config: dict[str, Any]) -> AsyncIterator[Callable[[str, str | None], Awaitable[Any]]]:
    app, handle = build_app(config, lambda _: None)
    async with app.open_async():
        yield lambda text, _key: handle.defer_async(text=text)


async def work(config: dict[str, Any], receive: Callable[[str], None]) -> None:
    app, _ = build_app(config, receive)
    async with app.open_async():
        await app.run_worker_async(queues=["bench"])
