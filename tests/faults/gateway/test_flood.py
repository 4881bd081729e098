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

from gatepost.app import open_store
from gatepost.inbox import account_actions
from tests.faults.conftest import NIGHTLY
from tests.faults.crew_store import open_database_alone
from tests.faults.gateway.callers import Caller, ConnectionLost
from tests.faults.gateway.guarded_gateway import GuardedGateway, create_crew_and_space, run_gateways

TRIGGER_COUNT: Final = 100_000 if NIGHTLY else 5_000
DISTINCT_TRIGGERS: Final = TRIGGER_COUNT * 7 // 10
CONNECTION_COUNT: Final = 64
KILL_COUNT: Final = 4 if NIGHTLY else 1

#: what a trigger is called: its idempotency key, and its payload
TriggerNumber = int


@dataclass
class Flood:
    gateway: GuardedGateway
    key: str
    #: of each trigger, what was said: the id of the event, and whether it was a repeat
    answers: dict[TriggerNumber, list[tuple[str, bool]]] = field(default_factory=lambda: defaultdict(list))
    #: how often each was sent without an answer
    lost_counts: Counter[TriggerNumber] = field(default_factory=Counter)
    answer_count: int = 0

    def __post_init__(self) -> None:
        rng = random.Random(1)
        numbers = [
            *range(DISTINCT_TRIGGERS),
            *(rng.randrange(DISTINCT_TRIGGERS) for _ in range(TRIGGER_COUNT - DISTINCT_TRIGGERS)),
        ]
        rng.shuffle(numbers)
        self._remaining_numbers = iter(numbers)
        self._target_count = 0
        self._reached_event = asyncio.Event()
        self._up_event = asyncio.Event()
        self._up_event.set()

    async def wait_for_answers(self, count: int) -> None:
        """Return when so many triggers were answered."""
        self._target_count = count
        self._reached_event.clear()
        await self._reached_event.wait()

    async def restart_gateway(self) -> dict[TriggerNumber, str]:
        """Kill the gateway and start it again; return what was stored when it was dead."""
        self._up_event.clear()
        self.gateway.kill()
        stored_ids = read_stored_ids(self.gateway)
        for number, answers in self.answers.items():
            assert all(stored_ids.get(number) == event for event, _ in answers), (
                f"{number} was answered and is not there"
            )
        await asyncio.to_thread(self.gateway.start)
        self._up_event.set()
        return stored_ids

    async def send_all(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(CONNECTION_COUNT):
                group.create_task(self._run_connection())

    async def _run_connection(self) -> None:
        async with Caller(self.gateway.port, self.key) as caller:
            for number in self._remaining_numbers:
                self.answers[number].append(await self._send_trigger(caller, number))
                self.answer_count += 1
                if self.answer_count == self._target_count:
                    self._reached_event.set()

    async def _send_trigger(self, caller: Caller, number: TriggerNumber) -> tuple[str, bool]:
        body = {"serviceName": "flood", "payload": {"number": number}}
        while True:
            try:
                status, answer = await caller.post("/api/agents/ana/trigger", body, key=str(number))
            except ConnectionLost:
                self.lost_counts[number] += 1
                await self._up_event.wait()
                continue
            assert status == 202, answer
            return answer["eventId"], answer["duplicate"]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.nightly)])
def flood(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flood]:
    url = (
        f"sqlite:///{tmp_path}/office.db"
        if request.param == "sqlite"
        else request.getfixturevalue("migrated_postgres_url")
    )
    keys = create_crew_and_space(url)
    with run_gateways(gateway := GuardedGateway(tmp_path / "home", url)):
        yield Flood(gateway, keys["ana"])


def read_stored_ids(gateway: GuardedGateway) -> dict[TriggerNumber, str]:
    """The id of each trigger's event, once nobody writes any more."""
    with open_database_alone(gateway.store) as query:
        rows = query("SELECT e.dedup_key, e.id FROM items i JOIN events e ON e.arrival = i.arrival")
    ids = {int(key.removeprefix("by:ana/trigger:flood:")): event for key, event in rows}
    assert len(ids) == len(rows), "a trigger is there twice"
    return ids


async def test_a_flood_that_a_kill_interrupts(flood: Flood) -> None:
    earlier_ids: list[dict[TriggerNumber, str]] = []
    async with asyncio.TaskGroup() as group:
        group.create_task(flood.send_all())
        for kill in range(1, KILL_COUNT + 1):
            await flood.wait_for_answers(TRIGGER_COUNT * kill // (KILL_COUNT + 1))
            earlier_ids.append(await flood.restart_gateway())
    assert flood.answer_count == TRIGGER_COUNT
    assert flood.lost_counts, "nobody was waiting for an answer when the gateway was killed"
    flood.gateway.kill()
    stored_ids = read_stored_ids(flood.gateway)
    assert stored_ids.keys() == set(range(DISTINCT_TRIGGERS))
    for number, answers in flood.answers.items():
        assert {event for event, _ in answers} == {stored_ids[number]}, number
        new_count = sum(not is_repeat for _, is_repeat in answers)
        if new_count == 0:
            assert flood.lost_counts[number], f"{number} was new to nobody"
            assert any(number in ids for ids in earlier_ids), f"{number} was said to be a repeat, and was not there"
        else:
            assert new_count == 1, f"{number} was new to {new_count} callers"
    with closing(open_store(flood.gateway.store)) as store:
        assert store.check() == []
        [account] = store.read_sync(account_actions.list_accounts, "ana")
    assert account.is_balanced
    assert account.accepted == account.pending == DISTINCT_TRIGGERS
