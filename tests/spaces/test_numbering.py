"""Messages are numbered 1, 2, 3... without a gap, whoever posts at the same time, and everybody hears each once."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from gatepost.core.ports import Store, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import GatepostError, Refused
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.spaces import actions as spaces
from gatepost.testing import Kit
from tests.property.run_machine import NIGHTLY
from tests.spaces.poster import post_messages
from tests.support.processes.fork_server import ForkedProcess
from tests.support.races import STATEMENT_METHODS
from tests.support.waits import LAST_RESORT

AGENTS = ("designer", "developer", "analyst")
ROUNDS = 4


@pytest.fixture
def store(kit: Kit) -> Store:
    create_space_members(kit.store)
    kit.signal_sink.clear()
    return kit.store


def create_space_members(store: Store) -> None:
    for name in ("husam", "ana"):
        store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.HUMAN))
    for name in AGENTS:
        store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    store.run_sync(spaces.create, name="q4", members=["husam", "ana", *AGENTS])


def check_messages(store: Store, seqs: list[int]) -> None:
    """The numbers that were answered are the numbers there are, and each agent has each message of the others once."""
    assert sorted(seqs) == list(range(1, len(seqs) + 1))
    messages = store.read_sync(spaces.read, "q4", after_seq=0, limit=10_000)
    assert [message.seq for message in messages] == list(range(1, len(seqs) + 1))
    for agent in AGENTS:
        items = store.read_sync(inbox.list_page, agent, limit=10_000)
        assert [item.event.data["seq"] for item in items] == [
            space_message.seq for space_message in messages if space_message.sender != agent
        ]
    for person in ("husam", "ana"):
        assert store.read_sync(inbox.list_page, person) == []
    assert all(account.is_balanced for account in store.read_sync(account_actions.list_accounts))


async def test_fifty_at_once_leave_no_gap(kit: Kit, store: Store) -> None:
    senders = ["husam", *AGENTS, "ana"] * 10
    seqs = await post_messages(store, "q4", senders, ROUNDS)
    assert len(seqs) == 50 * ROUNDS
    check_messages(store, seqs)
    signal_counts = Counter(signal.topic.recipient for signal in kit.signal_sink.clear())
    assert signal_counts["space:q4"] == 50 * ROUNDS
    assert {signal_counts[agent] for agent in AGENTS} == {40 * ROUNDS}


async def test_one_who_fails_takes_no_number(store: Store) -> None:
    """Refused posts share commits with those that are not."""

    async def attempt(number: int) -> int | None:
        sender = "husam" if number % 3 else "stranger"
        try:
            return (await store.run(spaces.post, "q4", sender=sender, content="x", lane="q4")).seq
        except GatepostError:
            return None

    store.run_sync(directory.register, EntitySpec(name="stranger", kind=EntityKind.AGENT))
    answers = await asyncio.gather(*(attempt(number) for number in range(150)))
    assert sum(answer is None for answer in answers) == 50
    check_messages(store, [answer for answer in answers if answer is not None])


def test_two_processes_leave_no_gap(postgres_url: str) -> None:
    with Kit(postgres_url) as kit:
        create_space_members(kit.store)
        command = [sys.executable, "-m", "tests.spaces.poster", postgres_url, "q4"]
        processes = [
            ForkedProcess(
                [*command, ",".join([sender] * 25), str(ROUNDS)],
                cwd=Path(__file__).parents[2],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for sender in ("husam", "analyst")
        ]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        seqs = [seq for process in processes for seq in json.loads(process.communicate(timeout=LAST_RESORT)[0])]
        assert len(seqs) == 50 * ROUNDS
        check_messages(kit.store, seqs)


async def test_who_is_removed_midway_hears_and_reads_nothing_more(store: Store) -> None:
    """Leaving and posting race, and for every message it is settled which came first."""
    post_task = asyncio.create_task(post_messages(store, "q4", ["husam"] * 20, ROUNDS))
    await store.run(spaces.leave, "q4", "analyst")
    last_seq = (await store.read(spaces.show, "q4")).last_seq
    with pytest.raises(Refused):
        await store.read(spaces.read, "q4", viewer="analyst")
    await post_task
    seqs = [item.event.data["seq"] for item in store.read_sync(inbox.list_page, "analyst", limit=1_000)]
    assert seqs == list(range(1, len(seqs) + 1))
    assert len(seqs) <= last_seq
    assert len(store.read_sync(inbox.list_page, "designer", limit=1_000)) == 20 * ROUNDS


step_lists = st.lists(
    st.tuples(st.sampled_from(("post", "join", "leave", "read")), st.sampled_from(("husam", *AGENTS))), max_size=30
)


@settings(max_examples=50 if NIGHTLY else 8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=step_lists)
def test_membership_decides_who_hears_what(store: Store, steps: list[tuple[str, str]]) -> None:
    """Against the plainest model there is: lists."""
    space = store.run_sync(
        spaces.create, name=f"room {len(store.read_sync(spaces.list_page, limit=10_000))}", members=AGENTS
    ).id
    members, last = set(AGENTS), 0
    expected_seqs: dict[str, list[int]] = {agent: [] for agent in AGENTS}
    read_seqs = dict.fromkeys(AGENTS, 0)
    for step, name in steps:
        match step:
            case "join":
                store.run_sync(spaces.join, space, name)
                if name not in members:
                    read_seqs[name] = last
                members.add(name)
            case _ if name not in members:
                with pytest.raises(GatepostError):
                    _run_step(store, step, space, name, last)
            case "leave":
                _run_step(store, step, space, name, last)
                members.remove(name)
            case "read":
                _run_step(store, step, space, name, last)
                read_seqs[name] = last
            case _:
                _run_step(store, step, space, name, last)
                last += 1
                read_seqs[name] += read_seqs[name] == last - 1
                for agent in members.intersection(AGENTS) - {name}:
                    expected_seqs[agent].append(last)
    for agent in AGENTS:
        events = [item.event for item in store.read_sync(inbox.list_page, agent, limit=10_000)]
        assert [event.data["seq"] for event in events if event.source == space] == expected_seqs[agent]
    for name in members:
        assert store.read_sync(spaces.count_unread, name)[space] == last - read_seqs[name]


def _run_step(store: Store, step: str, space: str, name: str, last: int) -> None:
    match step:
        case "post":
            store.run_sync(spaces.post, space, sender=name, content="hello")
        case "leave":
            store.run_sync(spaces.leave, space, name)
        case _:
            store.run_sync(spaces.mark_read, space, name, last)


def test_a_thousand_agents_cost_a_few_statements(kit: Kit) -> None:
    store = kit.store
    names = [f"agent-{number}" for number in range(1_000)]

    def populate(tx: Transaction) -> None:
        for name in names:
            directory.register(tx, EntitySpec(name=name, kind=EntityKind.AGENT))
        spaces.create(tx, name="town", members=names)

    store.run_sync(populate)
    statement_counts: Counter[str] = Counter()

    def post_and_count(tx: Transaction) -> int:
        counting_tx = cast("Transaction", _CountingTransaction(tx, statement_counts))
        return spaces.post(counting_tx, "town", sender="agent-7", content="hear, hear").seq

    assert store.run_sync(post_and_count) == 1
    assert statement_counts.total() <= 12, statement_counts
    item_counts = [len(store.read_sync(inbox.peek, name)) for name in ("agent-0", "agent-7", "agent-999")]
    assert item_counts == [1, 0, 1]
    assert sum(account.accepted for account in store.read_sync(account_actions.list_accounts)) == 999


class _CountingTransaction:
    """A transaction that counts the statements it is asked for."""

    def __init__(self, tx: Transaction, statement_counts: Counter[str]) -> None:
        self._tx = tx
        self._statement_counts = statement_counts

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._tx, name)
        if name not in STATEMENT_METHODS:
            return method

        def count_and_call(statement: str, /, *args: Any, **parameters: Any) -> Any:
            self._statement_counts[statement] += 1
            return method(statement, *args, **parameters)

        return count_and_call
