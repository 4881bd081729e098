"""A gateway on a full disk: the commit that fails says so everywhere, and all goes on when there is room."""

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

import gatepost
from tests.support.gateways.gateway_process import GATEPOST_COMMAND, GatewayProcess, run_gateway_process
from tests.support.servers.private_servers import wait_until_async

LARGE = "x" * 200_000
SOURCE = str(Path(gatepost.__file__).parent.parent)


@asynccontextmanager
async def open_caller(gateway: GatewayProcess) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"x-secret-key": gateway.admin_key}
    async with httpx2.AsyncClient(base_url=gateway.url, headers=headers, timeout=60) as caller:
        yield caller


def limit_files(gateway: GatewayProcess, size: int) -> None:
    """Let no file of the process grow over a size; -1 ends the limit."""
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


async def push(caller: httpx2.AsyncClient, content: str) -> httpx2.Response:
    return await caller.post("/api/inbox", json={"to": "ana", "content": content})


async def test_a_commit_without_room_is_told_by_health_and_log_until_there_is_room(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with run_gateway_process(tmp_path / "home", log) as gateway:
        async with open_caller(gateway) as caller:
            await caller.post("/api/agents", json={"name": "ana"})
            assert (await push(caller, "before")).status_code == 201
            wal = tmp_path / "home" / "gatepost.db-wal"
            limit_files(gateway, wal.stat().st_size + 100_000)
            refusal = await push(caller, LARGE)
            assert refusal.status_code == 503
            assert "the disk is full" in refusal.json()["detail"]
            assert (await caller.get("/api/inbox/ana")).status_code == 200
            assert "the disk is full" in log.read_text(), "nobody has asked for the health yet"

            for content in ("small", "smaller"):
                health = await caller.get("/health")
                assert (health.status_code, health.json()["ready"]) == (503, False)
                assert (await push(caller, content)).status_code == 201, "it fits, and proves nothing"
            drained = await caller.post("/api/inbox/ana/drain", json={})
            assert [item["content"] for item in drained.json()["items"]] == ["before", "small", "smaller"]

            limit_files(gateway, -1)

            async def is_ready() -> bool:
                return (await caller.get("/health")).status_code == 200

            await wait_until_async(is_ready, "the gateway is ready again")
            assert (await push(caller, LARGE)).status_code == 201
            accounts = (await caller.get("/api/health/accounts")).json()["items"]
            assert all(account["balanced"] for account in accounts)


def run_command(home: Path, *arguments: str, file_limit: int | None = None) -> subprocess.CompletedProcess[str]:
    def limit_own_files() -> None:
        if file_limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, resource.RLIM_INFINITY))

    return subprocess.run(
        [*GATEPOST_COMMAND, *arguments],
        env={"GATEPOST_HOME": str(home), "PYTHONPATH": SOURCE, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=limit_own_files,
        capture_output=True,
        text=True,
        check=False,
    )


async def test_doctor_says_that_the_store_cannot_grow(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert (await asyncio.to_thread(run_command, home, "agent", "add", "ana")).returncode == 0
    limit = (home / "gatepost.db").stat().st_size
    doctor = await asyncio.to_thread(run_command, home, "doctor", "--json", file_limit=limit)
    [room] = [finding for finding in json.loads(doctor.stdout) if finding["check"] == "room"]
    assert (doctor.returncode, room["ok"]) == (1, False)
    assert "the disk is full" in room["detail"]
    findings: list[dict[str, Any]] = json.loads((await asyncio.to_thread(run_command, home, "doctor", "--json")).stdout)
    [room] = [finding for finding in findings if finding["check"] == "room"]
    assert room["ok"]
    assert "MiB are free; nothing new is stored below 64 MiB (store.reserve)" in room["detail"]


WRITER = """
import resource, sys
from gatepost import paths
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
try:
    paths.write_atomically(sys.argv[1], "a line")
except OSError as error:
    print(error.filename)
"""


def test_a_file_that_finds_no_room_is_named(tmp_path: Path) -> None:
    """An error without the name of a file is taken for one of the output."""
    file = str(tmp_path / "gateway.json")
    options = {"PYTHONPATH": SOURCE, "PYTHONDONTWRITEBYTECODE": "1"}
    output = subprocess.run(
        [sys.executable, "-c", WRITER, file], env=options, capture_output=True, text=True, check=True
    )
    assert (output.stdout.strip(), list(tmp_path.iterdir())) == (file, [])
