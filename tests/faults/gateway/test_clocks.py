"""
A gateway whose machine's clock is set while it runs (X7): two hours ahead and back, or two hours back. Whatever is made
after the step happens at its time; what was taken in the future holds nobody up, also across a restart.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.faults.gateway.callers import Caller, Watcher
from tests.faults.gateway.guarded_gateway import GuardedGateway, create_crew_and_space
from tests.support.gateways.local_gateways import StreamFrame
from tests.support.processes.compiler import compile_c
from tests.support.servers.private_servers import wait_until_async
from tests.support.waits import LAST_RESORT

TWO_HOURS: Final = 2 * 3600


@pytest.fixture(scope="session")
def clock_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clock that can be set, as a shared library."""
    return compile_c(
        Path(__file__).with_name("clock.c"), tmp_path_factory.mktemp("clock") / "clock.so", is_library=True
    )


class Clock:
    """The wall clock of one gateway."""

    def __init__(self, library: Path, folder: Path) -> None:
        self._offset = folder / "offset"
        self.set(0)
        self.environ = {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(self._offset)}

    def set(self, seconds: int) -> None:
        """Set the clock to so many seconds from the real time."""
        new_file = self._offset.with_suffix(".new")
        new_file.write_text(str(seconds))
        new_file.rename(self._offset)


@pytest.fixture
def clock(clock_library: Path, tmp_path: Path) -> Clock:
    return Clock(clock_library, tmp_path)


@pytest.fixture
def gateway(clock: Clock, tmp_path: Path) -> GuardedGateway:
    url = f"sqlite:///{tmp_path}/office.db"
    create_crew_and_space(url)
    return GuardedGateway(tmp_path / "home", url, interval="100ms", environ=clock.environ)


@asynccontextmanager
async def run_gateway(gateway: GuardedGateway) -> AsyncIterator[Caller]:
    gateway.start()
    try:
        async with Caller(gateway.port, gateway.admin_key) as caller:
            yield caller
    finally:
        gateway.close()


async def post(caller: Caller, path: str, body: Any) -> Any:
    status, document = await caller.post(path, body)
    assert status < 300, document
    return document


async def wait_for_document(caller: Caller, path: str, is_expected: Callable[[Any], bool]) -> None:
    """Ask again until the answer is as expected: what the janitor does in its rounds sends no signal."""

    async def check_document() -> bool:
        status, document = await caller.get(path)
        assert status == 200, document
        return is_expected(document)

    await wait_until_async(check_document, f"{path} is as expected")


async def read_stream(gateway: GuardedGateway, wanted_types: set[str], write: Callable[[], Any]) -> list[StreamFrame]:
    """Watch ana's inbox, do something, and return what came when every wanted type did."""
    frames: list[StreamFrame] = []
    async with (
        asyncio.timeout(LAST_RESORT),
        Watcher(gateway.port, gateway.admin_key, "/api/inbox/ana/stream") as watcher,
    ):
        async for frame in watcher.read():
            if frame.event == "connected":
                await write()
            frames.append(frame)
            if wanted_types <= {
                seen_frame.data.get("type") for seen_frame in frames if seen_frame.event == "inbox.item"
            }:
                return frames
    raise AssertionError(frames)


async def step_ahead_and_back(clock: Clock, caller: Caller) -> None:
    """Let the gateway work for a while in a future that is then taken back."""
    clock.set(TWO_HOURS)
    await post(caller, "/api/plans", {"owner": "ana", "name": "ahead", "instruction": "x", "runAfter": "100 ms"})
    await wait_for_document(caller, "/api/inbox/ana/peek", lambda page: page["items"])
    batch = await post(caller, "/api/inbox/ana/claim", {"owner": "ahead", "hold": "1h"})
    assert batch["items"]
    clock.set(0)


async def step_back(clock: Clock, caller: Caller) -> None:
    await post(caller, "/api/inbox", {"to": "ana", "content": "before the step"})
    assert (await post(caller, "/api/inbox/ana/claim", {"owner": "before", "hold": "1h"}))["items"]
    clock.set(-TWO_HOURS)


STEPS: Final = {"ahead and back": step_ahead_and_back, "back": step_back}


@pytest.mark.parametrize("step", STEPS)
async def test_what_is_made_after_the_step_happens_at_its_time(
    step: str, clock: Clock, gateway: GuardedGateway
) -> None:
    async with run_gateway(gateway) as caller:
        await STEPS[step](clock, caller)
        # What was claimed before the step was claimed in what is now the future.
        batch = await post(caller, "/api/inbox/ana/claim", {"owner": "after", "hold": "100 ms"})
        assert batch["items"]

        async def write() -> None:
            deadline = {"within": "200 ms"}
            await post(caller, "/api/plans", {"owner": "ana", "name": "soon", "instruction": "x", "runAfter": "200 ms"})
            await post(caller, "/api/gates", {"owner": "ana", "name": "soon", "kind": "timer", **deadline})
            await post(
                caller,
                "/api/decisions",
                {"asker": "ana", "of": ["husam"], "question": "?", "freeText": True, **deadline},
            )
            await post(caller, "/api/inbox", {"to": "ben", "content": "short-lived", "ttl": "200 ms"})

        await read_stream(gateway, {"plan", "gate", "decision"}, write)
        await wait_for_document(caller, "/api/inbox/ben/account", lambda account: account["expired"] == 1)
        # the janitor gives back what was claimed after the step
        await wait_for_document(caller, "/api/inbox/ana/peek", lambda page: len(page["items"]) == 4)


@pytest.mark.parametrize("step", STEPS)
async def test_nothing_is_stuck_after_a_restart(step: str, clock: Clock, gateway: GuardedGateway) -> None:
    async with run_gateway(gateway) as caller:
        await STEPS[step](clock, caller)
        gateway.kill()
        await caller.close()
        gateway.start()
        await post(caller, "/api/inbox", {"to": "ben", "content": "short-lived", "ttl": "100 ms"})
        await wait_for_document(caller, "/api/inbox/ben/account", lambda account: account["expired"] == 1)
