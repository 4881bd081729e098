"""A gateway whose clock stands still, with clients that send mail."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from gatepost.core.ports import Reader
from gatepost.core.times import DAY
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.stores.statements import Sql
from gatepost.testing import FakeClock
from gatepost.worker import retention_actions as retention
from tests.support.gateways.local_gateways import Gateway, create_entities, open_gateway


class MailSetup:
    """A gateway whose clock stands still, and clients of those who write."""

    def __init__(self, gateway: Gateway, clock: FakeClock, clients: Mapping[str, httpx2.AsyncClient]) -> None:
        self.gateway = gateway
        self.clock = clock
        self.clients = clients

    async def call(self, caller: str, method: str, path: str, status: int, **options: Any) -> Any:
        answer = await self.clients[caller].request(method, f"/api{path}", **options)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def send(self, caller: str = "analyst", *, status: int = 201, **fields: Any) -> Any:
        return await self.call(caller, "POST", "/mail", status, json={"to": "designer", "text": "tea?"} | fields)

    async def show(self, id: str, caller: str = "analyst") -> Any:
        return await self.call(caller, "GET", f"/mail/{id}", 200)

    async def list_mail(self, caller: str = "analyst", **query: Any) -> Any:
        return await self.call(caller, "GET", "/mail", 200, params=query)

    async def list_inbox(self, name: str, **query: Any) -> Any:
        return (await self.call("admin", "GET", f"/inbox/{name}", 200, params=query))["items"]

    async def drain(self, name: str) -> None:
        """Read an inbox to its end, as a client does."""
        body = {"owner": "reader", "limit": 100}
        while (batch := await self.call("admin", "POST", f"/inbox/{name}/claim", 200, json=body))["claim"]:
            claim = {field: batch["claim"][field] for field in ("claimId", "owner", "fence")}
            await self.call("admin", "POST", f"/inbox/{name}/ack", 200, json=claim)

    async def list_notices(self, name: str = "analyst") -> list[str]:
        return [item["content"] for item in await self.list_inbox(name, type="system")]

    async def reap(self) -> None:
        self.clock.advance(2 * DAY)
        while await self.gateway.store.run(retention.reap):
            pass

    async def count_rows(self) -> dict[str, int]:
        """The rows of every table that sending writes."""

        def count(tx: Reader) -> dict[str, int]:
            tables = ("events", "items", "broadcasts", "outgoing", "outgoing_recipients", "work_items")
            rows = {table: tx.fetch_one(Sql(f"SELECT count(*) AS total FROM {table}")) for table in tables}
            return {table: row.total for table, row in rows.items() if row is not None}

        return await self.gateway.store.read(count)


@asynccontextmanager
async def open_mail_setup(url: str) -> AsyncIterator[MailSetup]:
    """The designer and the tester are the team red; the analyst, the designer and Husam have clients."""
    clock = FakeClock()
    async with open_gateway(url, clock=clock) as gateway:
        create_entities(gateway.store)
        gateway.store.run_sync(directory.register, EntitySpec(name="tester", kind=EntityKind.AGENT, team="red"))
        gateway.store.run_sync(directory.update, "designer", team="red")
        clients = {"admin": gateway.open_client()}
        for name in ("analyst", "designer", "husam"):
            clients[name] = gateway.open_client(x_secret_key=gateway.create_key("agent", name))
        try:
            yield MailSetup(gateway, clock, clients)
        finally:
            for client in clients.values():
                await client.aclose()
