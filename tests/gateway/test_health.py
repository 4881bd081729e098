"""/health tells the truth about writing (X7): a lock that is held, a file that is gone, a clock that is off."""

import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog

from gatepost.app import open_store
from gatepost.core.signals import TransportMessage
from gatepost.gateway import health_checks as health
from gatepost.gateway.streams.live_readers import LiveStreams
from gatepost.gateway.web_app import GatewayApp
from gatepost.testing import FakeClock
from gatepost.transports.memory import MemoryTransport
from gatepost.transports.signal_bus import SignalBus
from tests.support.gateways.local_gateways import TOKEN_RULES, Gateway, build_app_state, open_gateway


@pytest.fixture(autouse=True)
def _probe_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_WRITE_INTERVAL", 0.0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "office.db"


@asynccontextmanager
async def open_http_client(server: Gateway) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=server.app)
    headers = {"x-secret-key": server.admin_key}
    async with httpx2.AsyncClient(transport=transport, base_url="http://gateway", headers=headers) as client:
        yield client


async def push_event(client: httpx2.AsyncClient) -> int:
    return (await client.post("/api/inbox", json={"to": "admin", "content": "hello"})).status_code


async def read_health(client: httpx2.AsyncClient) -> tuple[int, dict[str, Any]]:
    answer = await client.get("/health")
    return answer.status_code, answer.json()


@contextmanager
def hold_write_lock(file: Path) -> Iterator[None]:
    """Hold the write lock, as another process may."""
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")


async def test_it_is_not_ready_while_the_file_is_gone_and_nothing_is_answered(file: Path) -> None:
    async with open_gateway(f"sqlite:///{file}") as server, open_http_client(server) as client:
        assert await push_event(client) == 201
        aside_file = file.with_suffix(".aside")
        shutil.move(file, aside_file)
        assert await push_event(client) == 503, "an answer would be a promise that nobody keeps"
        status, document = await read_health(client)
        assert (status, document["ready"]) == (503, False)
        shutil.move(aside_file, file)
        assert await push_event(client) == 201
        assert (await read_health(client))[0] == 200


async def test_it_is_not_ready_while_another_file_is_at_the_path(file: Path) -> None:
    async with open_gateway(f"sqlite:///{file}") as server, open_http_client(server) as client:
        assert await push_event(client) == 201
        copy = file.with_suffix(".copy")
        shutil.copy(file, copy)
        shutil.move(copy, file)
        assert await push_event(client) == 503
        assert (await read_health(client))[0] == 503


async def test_it_is_not_ready_after_a_commit_failed_until_a_write_succeeds(file: Path) -> None:
    async with open_gateway(f"sqlite:///{file}", busy_timeout=0.01) as server, open_http_client(server) as client:
        with hold_write_lock(file), structlog.testing.capture_logs() as logs:
            assert await push_event(client) == 503
            for _ in range(3):
                status, document = await read_health(client)
                assert (status, document["reason"]) == (503, "the store cannot write")
        assert len([log for log in logs if log["event"] == "store is not ready"]) == 1, "once is enough"
        assert (await read_health(client))[0] == 200, "nobody has to push first"


async def test_below_the_reserve_only_what_is_new_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading, draining, answering and deleting go on; health, the log and the metric say it; then all goes on."""
    async with open_gateway(f"sqlite:///{file}") as server, open_http_client(server) as client:
        await client.post("/api/agents", json={"name": "ana"})
        assert (await client.post("/api/inbox", json={"to": "ana", "content": "hello"})).status_code == 201
        created = await client.post("/api/spaces", json={"name": "Office", "members": ["admin"]})
        decision = {"question": "Ship it?", "asker": "ana", "of": ["admin"], "options": [{"id": "yes", "label": "Yes"}]}
        decision_id = (await client.post("/api/decisions", json=decision)).json()["id"]
        monkeypatch.setattr(server.store, "measure_free_space", lambda: 10 * 1024 * 1024)
        with structlog.testing.capture_logs() as logs:
            status, document = await read_health(client)
            assert (status, document["reason"]) == (503, "the disk of the store is nearly full")
            for path, body in (
                ("/api/inbox", {"to": "ana", "content": "hello"}),
                ("/api/inbox/batch", {"pushes": [{"to": "ana", "content": "hello"}]}),
                ("/api/spaces/office/messages", {"sender": "admin", "content": "hello"}),
                ("/api/mail", {"sender": "admin", "to": "ana", "text": "hello"}),
                ("/api/agents", {"name": "analyst"}),
            ):
                answer = await client.post(path, json=body)
                assert answer.status_code == 503, path
                assert "10 MiB are free, less than 64 MiB (store.reserve)" in answer.json()["detail"]
        assert any("nearly full" in log.get("reason", "") for log in logs)
        assert created.status_code == 201
        assert (await client.get("/api/inbox/ana")).status_code == 200
        answered = await client.put(f"/api/decisions/{decision_id}/answer", json={"option": "yes"})
        assert answered.status_code == 200, "what ends something goes on, and the event of its end with it"
        drained = await client.post("/api/inbox/ana/drain", json={})
        assert (drained.status_code, len(drained.json()["items"])) == (200, 2)
        assert (await client.delete("/api/spaces/office")).status_code == 200
        assert "gatepost_store_free_bytes 1.048576e+07" in (await client.get("/metrics")).text
        monkeypatch.undo()
        assert await push_event(client) == 201
        assert (await read_health(client))[0] == 200


async def test_it_names_no_file_and_no_host(file: Path) -> None:
    async with open_gateway(f"sqlite:///{file}", busy_timeout=0.01) as server, open_http_client(server) as client:
        with hold_write_lock(file):
            await push_event(client)
            _, document = await read_health(client)
        assert str(file) not in str(document)
        shutil.move(file, file.with_suffix(".gone"))
        _, document = await read_health(client)
        assert str(file) not in str(document)


async def test_it_reports_a_database_whose_clock_is_off(url: str) -> None:
    bus = SignalBus(None)
    with closing(open_store(url, clock=FakeClock())) as store:
        store.migrate()
        server = GatewayApp(build_app_state(store, bus, LiveStreams(), TOKEN_RULES))
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=server), base_url="http://gateway") as client:
            status, document = await read_health(client)
    assert (status, document["status"]) == (200, "degraded")
    assert abs(document["clockSkewSeconds"]) > 5


async def test_a_transport_that_fails_is_counted(file: Path) -> None:
    class BrokenTransport(MemoryTransport):
        def send(self, signals: Sequence[TransportMessage]) -> None:
            raise RuntimeError(f"{len(signals)} signals are lost")

    async with (
        open_gateway(f"sqlite:///{file}", transport=BrokenTransport()) as server,
        open_http_client(server) as client,
    ):
        before = server.store.signal_failures
        assert await push_event(client) == 201
        assert server.store.signal_failures == before + 1
        assert f"gatepost_ring_failures {before + 1:.1f}" in (await client.get("/metrics")).text
