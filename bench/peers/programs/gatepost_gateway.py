"""Gatepost with a gateway: `Client.send(PushEvent)` over HTTP, and `Client.work` in another process."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gatepost.api import ClaimBatch, PushEvent, RegisterAgent
from gatepost.client import Client, SyncClient
from gatepost.settings.gateway_files import read_admin_key

READER = "reader"


def open_client(config: dict[str, Any]) -> Client:
    return Client(f"http://127.0.0.1:{config['port']}", key=read_admin_key(Path(config["home"])))


def open_sync_client(config: dict[str, Any]) -> SyncClient:
    return SyncClient(f"http://127.0.0.1:{config['port']}", key=read_admin_key(Path(config["home"])))


def prepare(config: dict[str, Any]) -> None:
    with open_sync_client(config) as client:
        client.send(RegisterAgent(name=READER))


@asynccontextmanager
async def open_async_sender(config: dict[str, Any]) -> AsyncIterator[Callable[[str, str | None], Awaitable[Any]]]:
    async with open_client(config) as client:
        yield lambda text, key: client.send(PushEvent(to=READER, content=text, dedup_key=key))


async def work(config: dict[str, Any], receive: Callable[[str], None]) -> None:
    async with open_client(config) as client:
        async for item in client.work(READER):
            receive(item.content)


def drain(config: dict[str, Any]) -> int:
    """Return the bytes that a model gets."""
    with open_sync_client(config) as client:
        return len(client.send(ClaimBatch(name=READER, owner="bench", budget=1_000_000)).text.encode())
