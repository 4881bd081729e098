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

from tests.compiler import compile_c
from tests.faults.callers import Caller, Watcher
from tests.faults.houses import PATIENCE, House, furnish
from tests.gateways import Told

TWO_HOURS: Final = 2 * 3600


@pytest.fixture(scope="session")
def clock_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clock that can be set, as a shared library."""
    return compile_c(Path(__file__).with_name("clock.c"), tmp_path_factory.mktemp("clock") / "clock.so", shared=True)


class Clock:
    """The wall clock of one gateway."""

    def __init__(self, library: Path, folder: Path) -> None:
        self._offset = folder / "offset"
        self.set(0)
        self.environ = {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(self._offset)}

    def set(self, seconds: int) -> None:
        """Set the clock to so many seconds from the real time."""
        fresh = self._offset.with_suffix(".new")
        fresh.write_text(str(seconds))
        fresh.rename(self._offset)


@pytest.fixture
def clock(clock_library: Path, tmp_path: Path) -> Clock:
    return Clock(clock_library, tmp_path)


@pytest.fixture
def house(clock: Clock, tmp_path: Path) -> House:
    url = f"sqlite:///{tmp_path}/office.db"
    furnish(url)
    return House(tmp_path / "home", url, interval="100ms", environ=clock.environ)


@asynccontextmanager
async def running(house: House) -> AsyncIterator[Caller]:
    house.start()
    try:
        async with Caller(house.port, house.key) as caller:
            yield caller
    finally:
        house.close()


async def post(caller: Caller, path: str, body: Any) -> Any:
    status, document = await caller.post(path, body)
    assert status < 300, document
    return document


async def wait_until(caller: Caller, path: str, is_true: Callable[[Any], bool]) -> Any:
    """Ask again until the answer is as expected: what the janitor does in its rounds sends no signal."""
    async with asyncio.timeout(PATIENCE):
        while True:
            status, document = await caller.get(path)
            assert status == 200, document
            if is_true(document):
                return document
            await asyncio.sleep(0.05)


async def read_stream(house: House, wanted: set[str], make: Callable[[], Any]) -> list[Told]:
    """Watch ana's inbox, do something, and return what came when every wanted type did."""
    seen: list[Told] = []
    async with asyncio.timeout(PATIENCE), Watcher(house.port, house.key, "/api/inbox/ana/stream") as watcher:
        async for told in watcher.read():
            if told.event == "connected":
                await make()
            seen.append(told)
            if wanted <= {one.data.get("type") for one in seen if one.event == "inbox.item"}:
                return seen
    raise AssertionError(seen)


async def step_ahead_and_back(clock: Clock, caller: Caller) -> None:
    """Let the gateway work for a while in a future that is then taken back."""
    clock.set(TWO_HOURS)
    await post(caller, "/api/plans", {"owner": "ana", "name": "ahead", "instruction": "x", "runAfter": "100 ms"})
    await wait_until(caller, "/api/inbox/ana/peek", lambda page: page["items"])
    claimed = await post(caller, "/api/inbox/ana/claim", {"owner": "ahead", "hold": "1h"})
    assert claimed["items"]
    clock.set(0)


async def step_back(clock: Clock, caller: Caller) -> None:
    await post(caller, "/api/inbox", {"to": "ana", "content": "before the step"})
    assert (await post(caller, "/api/inbox/ana/claim", {"owner": "before", "hold": "1h"}))["items"]
    clock.set(-TWO_HOURS)


STEPS: Final = {"ahead and back": step_ahead_and_back, "back": step_back}


@pytest.mark.parametrize("step", STEPS)
async def test_what_is_made_after_the_step_happens_at_its_time(step: str, clock: Clock, house: House) -> None:
    async with running(house) as caller:
        await STEPS[step](clock, caller)
        # What was claimed before the step was claimed in what is now the future.
        again = await post(caller, "/api/inbox/ana/claim", {"owner": "after", "hold": "100 ms"})
        assert again["items"]

        async def make() -> None:
            soon = {"within": "200 ms"}
            await post(caller, "/api/plans", {"owner": "ana", "name": "soon", "instruction": "x", "runAfter": "200 ms"})
            await post(caller, "/api/gates", {"owner": "ana", "name": "soon", "kind": "timer", **soon})
            await post(
                caller, "/api/decisions", {"asker": "ana", "of": ["husam"], "question": "?", "freeText": True, **soon}
            )
            await post(caller, "/api/inbox", {"to": "ben", "content": "short-lived", "ttl": "200 ms"})

        await read_stream(house, {"plan", "gate", "decision"}, make)
        await wait_until(caller, "/api/inbox/ben/account", lambda account: account["expired"] == 1)
        # the janitor gives back what was claimed after the step
        await wait_until(caller, "/api/inbox/ana/peek", lambda page: len(page["items"]) == 4)


@pytest.mark.parametrize("step", STEPS)
async def test_nothing_is_stuck_after_a_restart(step: str, clock: Clock, house: House) -> None:
    async with running(house) as caller:
        await STEPS[step](clock, caller)
        house.kill()
        await caller.leave()
        house.start()
        await post(caller, "/api/inbox", {"to": "ben", "content": "short-lived", "ttl": "100 ms"})
        await wait_until(caller, "/api/inbox/ben/account", lambda account: account["expired"] == 1)
