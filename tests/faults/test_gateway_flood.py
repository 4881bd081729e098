"""
A flood of triggers on many connections, three in ten of them repeats, while the gateway is killed and started again.

Whoever gets no answer tries again with the same key, as a service would. What was answered is there, under the id that
was answered; nothing is there twice; and each trigger was new to exactly one caller, or to one who was not told.
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from gatepost.actions import maintenance
from gatepost.app import open_store
from tests.faults.callers import Caller, Lost
from tests.faults.conftest import NIGHTLY
from tests.faults.houses import House, furnish, housed
from tests.faults.office import lone_witness

TRIGGERS: Final = 100_000 if NIGHTLY else 20_000
DISTINCT: Final = TRIGGERS * 7 // 10
CONNECTIONS: Final = 64
KILLS: Final = 4 if NIGHTLY else 1

#: what a trigger is called: its idempotency key, and its payload
Number = int


@dataclass
class Flood:
    house: House
    key: str
    #: of each trigger, what was said: the id of the event, and whether it was a repeat
    answers: dict[Number, list[tuple[str, bool]]] = field(default_factory=lambda: defaultdict(list))
    #: how often each was sent without an answer
    lost: Counter[Number] = field(default_factory=Counter)
    count: int = 0

    def __post_init__(self) -> None:
        dice = random.Random(1)
        numbers = [*range(DISTINCT), *(dice.randrange(DISTINCT) for _ in range(TRIGGERS - DISTINCT))]
        dice.shuffle(numbers)
        self._todo = iter(numbers)
        self._wanted = 0
        self._reached = asyncio.Event()
        self._up = asyncio.Event()
        self._up.set()

    async def reach(self, count: int) -> None:
        """Return when so many triggers were answered."""
        self._wanted = count
        self._reached.clear()
        await self._reached.wait()

    async def restart(self) -> dict[Number, str]:
        """Kill the gateway and start it again; return what was stored when it was dead."""
        self._up.clear()
        self.house.kill()
        found = stored(self.house)
        for number, answers in self.answers.items():
            assert all(found.get(number) == event for event, _ in answers), f"{number} was answered and is not there"
        await asyncio.to_thread(self.house.start)
        self._up.set()
        return found

    async def pour(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(CONNECTIONS):
                group.create_task(self._connection())

    async def _connection(self) -> None:
        async with Caller(self.house.port, self.key) as caller:
            for number in self._todo:
                self.answers[number].append(await self._trigger(caller, number))
                self.count += 1
                if self.count == self._wanted:
                    self._reached.set()

    async def _trigger(self, caller: Caller, number: Number) -> tuple[str, bool]:
        body = {"serviceName": "flood", "payload": {"number": number}}
        while True:
            try:
                status, answer = await caller.post("/api/agents/ana/trigger", body, key=str(number))
            except Lost:
                self.lost[number] += 1
                await self._up.wait()
                continue
            assert status == 202, answer
            return answer["eventId"], answer["duplicate"]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.nightly)])
def flood(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flood]:
    url = f"sqlite:///{tmp_path}/office.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    keys = furnish(url)
    with housed(house := House(tmp_path / "home", url)):
        yield Flood(house, keys["ana"])


def stored(house: House) -> dict[Number, str]:
    """The id of each trigger's event, once nobody writes any more."""
    with lone_witness(house.store) as ask:
        rows = ask("SELECT i.dedup_key, e.id FROM items i JOIN events e ON e.arrival = i.arrival")
    found = {int(key.removeprefix("by:ana/trigger:flood:")): event for key, event in rows}
    assert len(found) == len(rows), "a trigger is there twice"
    return found


async def test_a_flood_that_a_kill_interrupts(flood: Flood) -> None:
    before: list[dict[Number, str]] = []
    async with asyncio.TaskGroup() as group:
        group.create_task(flood.pour())
        for kill in range(1, KILLS + 1):
            await flood.reach(TRIGGERS * kill // (KILLS + 1))
            before.append(await flood.restart())
    assert flood.count == TRIGGERS
    assert flood.lost, "nobody was waiting for an answer when the gateway was killed"
    flood.house.kill()
    found = stored(flood.house)
    assert found.keys() == set(range(DISTINCT))
    for number, answers in flood.answers.items():
        assert {event for event, _ in answers} == {found[number]}, number
        new = sum(not repeated for _, repeated in answers)
        if new == 0:
            assert flood.lost[number], f"{number} was new to nobody"
            assert any(number in those for those in before), f"{number} was said to be a repeat, and was not there"
        else:
            assert new == 1, f"{number} was new to {new} callers"
    with closing(open_store(flood.house.store)) as store:
        assert store.check() == []
        [account] = store.query(maintenance.list_accounts, "ana")
    assert account.is_balanced
    assert account.accepted == account.pending == DISTINCT
