"""Messages are numbered 1, 2, 3... without a gap, whoever posts at the same time, and everybody hears each once."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatepost.actions import directory, inbox, maintenance, spaces
from gatepost.actions.directory import EntitySpec
from gatepost.core.entity import EntityKind
from gatepost.errors import GatepostError, Refused
from gatepost.ports import Store, Transaction
from gatepost.testing import Kit
from tests.property.poster import post

AGENTS = ("designer", "developer", "analyst")
ROUNDS = 4


@pytest.fixture
def store(kit: Kit) -> Store:
    furnish(kit.store)
    kit.signal_sink.clear()
    return kit.store


def furnish(store: Store) -> None:
    for name in ("husam", "ana"):
        store.call(directory.register, EntitySpec(name=name, kind=EntityKind.HUMAN))
    for name in AGENTS:
        store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    store.call(spaces.create, name="q4", members=["husam", "ana", *AGENTS])


def check(store: Store, seqs: list[int]) -> None:
    """The numbers that were answered are the numbers there are, and each agent has each message of the others once."""
    assert sorted(seqs) == list(range(1, len(seqs) + 1))
    said = store.query(spaces.read, "q4", after_seq=0, limit=10_000)
    assert [message.seq for message in said] == list(range(1, len(seqs) + 1))
    for agent in AGENTS:
        items = store.query(inbox.page, agent, limit=10_000)
        assert [item.event.data["seq"] for item in items] == [one.seq for one in said if one.sender != agent]
    for person in ("husam", "ana"):
        assert store.query(inbox.page, person) == []
    assert all(account.is_balanced for account in store.query(maintenance.list_accounts))


async def test_fifty_at_once_leave_no_gap(kit: Kit, store: Store) -> None:
    senders = ["husam", *AGENTS, "ana"] * 10
    seqs = await post(store, "q4", senders, ROUNDS)
    assert len(seqs) == 50 * ROUNDS
    check(store, seqs)
    rings = Counter(ring.recipient for ring in kit.signal_sink.clear())
    assert rings["space:q4"] == 50 * ROUNDS
    assert {rings[agent] for agent in AGENTS} == {40 * ROUNDS}


async def test_one_who_fails_takes_no_number(store: Store) -> None:
    """Refused posts share commits with those that are not."""

    async def attempt(number: int) -> int | None:
        sender = "husam" if number % 3 else "stranger"
        try:
            return (await store.run(spaces.post, "q4", sender=sender, content="x", lane="q4")).seq
        except GatepostError:
            return None

    store.call(directory.register, EntitySpec(name="stranger", kind=EntityKind.AGENT))
    answers = await asyncio.gather(*(attempt(number) for number in range(150)))
    assert sum(answer is None for answer in answers) == 50
    check(store, [answer for answer in answers if answer is not None])


def test_two_processes_leave_no_gap(postgres_url: str) -> None:
    with Kit(postgres_url) as kit:
        furnish(kit.store)
        command = [sys.executable, "-m", "tests.property.poster", postgres_url, "q4"]
        lives = [
            subprocess.Popen(
                [*command, ",".join([sender] * 25), str(ROUNDS)],
                cwd=Path(__file__).parents[2],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for sender in ("husam", "analyst")
        ]
        for life in lives:
            assert life.stdout is not None
            assert life.stdout.readline() == "ready\n"
        for life in lives:
            assert life.stdin is not None
            life.stdin.write("go\n")
            life.stdin.flush()
        seqs = [seq for life in lives for seq in json.loads(life.communicate(timeout=120)[0])]
        assert len(seqs) == 50 * ROUNDS
        check(kit.store, seqs)


async def test_who_is_removed_midway_hears_and_reads_nothing_more(store: Store) -> None:
    """Leaving and posting race, and for every message it is settled which came first."""
    posting = asyncio.create_task(post(store, "q4", ["husam"] * 20, ROUNDS))
    await store.run(spaces.leave, "q4", "analyst")
    left_at = (await store.read(spaces.show, "q4")).last_seq
    with pytest.raises(Refused):
        await store.read(spaces.read, "q4", viewer="analyst")
    await posting
    heard = [item.event.data["seq"] for item in store.query(inbox.page, "analyst", limit=1_000)]
    assert heard == list(range(1, len(heard) + 1))
    assert len(heard) <= left_at
    assert len(store.query(inbox.page, "designer", limit=1_000)) == 20 * ROUNDS


STEPS = st.lists(
    st.tuples(st.sampled_from(("post", "join", "leave", "read")), st.sampled_from(("husam", *AGENTS))), max_size=30
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_membership_decides_who_hears_what(store: Store, steps: list[tuple[str, str]]) -> None:
    """Against the plainest model there is: lists."""
    space = store.call(spaces.create, name=f"room {len(store.query(spaces.page, limit=10_000))}", members=AGENTS).id
    members, last = set(AGENTS), 0
    heard: dict[str, list[int]] = {agent: [] for agent in AGENTS}
    read = dict.fromkeys(AGENTS, 0)
    for step, who in steps:
        match step:
            case "join":
                store.call(spaces.join, space, who)
                if who not in members:
                    read[who] = last
                members.add(who)
            case _ if who not in members:
                with pytest.raises(GatepostError):
                    _do(store, step, space, who, last)
            case "leave":
                _do(store, step, space, who, last)
                members.remove(who)
            case "read":
                _do(store, step, space, who, last)
                read[who] = last
            case _:
                _do(store, step, space, who, last)
                last += 1
                read[who] += read[who] == last - 1
                for agent in members.intersection(AGENTS) - {who}:
                    heard[agent].append(last)
    for agent in AGENTS:
        found = [item.event for item in store.query(inbox.page, agent, limit=10_000)]
        assert [event.data["seq"] for event in found if event.source == space] == heard[agent]
    for who in members:
        assert store.query(spaces.count_unread, who)[space] == last - read[who]


def _do(store: Store, step: str, space: str, who: str, last: int) -> None:
    match step:
        case "post":
            store.call(spaces.post, space, sender=who, content="hello")
        case "leave":
            store.call(spaces.leave, space, who)
        case _:
            store.call(spaces.mark_read, space, who, last)


def test_a_thousand_agents_cost_a_few_statements(kit: Kit) -> None:
    store = kit.store
    names = [f"agent-{number}" for number in range(1_000)]

    def populate(tx: Transaction) -> None:
        for name in names:
            directory.register(tx, EntitySpec(name=name, kind=EntityKind.AGENT))
        spaces.create(tx, name="town", members=names)

    store.call(populate)
    counted: Counter[str] = Counter()

    def counting(tx: Transaction) -> int:
        watched = cast("Transaction", _Counting(tx, counted))
        return spaces.post(watched, "town", sender="agent-7", content="hear, hear").seq

    assert store.call(counting) == 1
    assert counted.total() <= 12, counted
    heard = [len(store.query(inbox.peek, name)) for name in ("agent-0", "agent-7", "agent-999")]
    assert heard == [1, 0, 1]
    assert sum(account.accepted for account in store.query(maintenance.list_accounts)) == 999


class _Counting:
    """A transaction that counts the statements it is asked for."""

    def __init__(self, tx: Transaction, counted: Counter[str]) -> None:
        self._tx = tx
        self._counted = counted

    def __getattr__(self, name: str) -> Any:
        asked = getattr(self._tx, name)
        if name not in ("fetch_one", "fetch_all", "execute", "execute_many"):
            return asked

        def count(statement: str, /, *args: Any, **parameters: Any) -> Any:
            self._counted[statement] += 1
            return asked(statement, *args, **parameters)

        return count
