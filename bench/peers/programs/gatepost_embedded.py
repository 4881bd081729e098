"""Gatepost inside a program: `Gatepost.send(PushEvent)`, and an agent that is a function of the program."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from gatepost import Gatepost
from gatepost.api import ClaimBatch, PushEvent, RegisterAgent
from gatepost.app import open_store
from gatepost.client import LocalClient

READER = "reader"


def prepare(config: dict[str, Any]) -> None:
    store = open_store(config["store"])
    store.migrate()
    LocalClient(store).send(RegisterAgent(name=READER))
    store.close()


@asynccontextmanager
async def open_async_sender(config: dict[str, Any]) -> AsyncIterator[Callable[[str, str | None], Awaitable[Any]]]:
    """With `receive` in the configuration, the agent of this process hands over what was sent."""
    post = Gatepost(config["store"])
    receive = config.get("receive")
    if receive is not None:

        @post.agent(READER)
        async def read_batch(batch: Any, _me: Any) -> None:
            for event in batch:
                receive(event.content)

    async with post:
        yield lambda text, key: post.send(PushEvent(to=READER, content=text, dedup_key=key))


def work(config: dict[str, Any], receive: Callable[[str], None]) -> None:
    store = open_store(config["store"])
    for item in LocalClient(store).work(READER):
        receive(item.content)


def drain(config: dict[str, Any]) -> int:
    """Return the bytes that a model gets."""
    store = open_store(config["store"])
    batch = LocalClient(store).send(ClaimBatch(name=READER, owner="bench", budget=1_000_000))
    return len(batch.text.encode())
