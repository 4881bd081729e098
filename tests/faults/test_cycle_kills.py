"""
Whoever thinks may be killed, or put to sleep and woken too late, at every point of a cycle: another goes on, and in the
end everything is as if nothing had been.
"""

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final, Self

import psutil
import pytest

from gatepost.app import open_store
from gatepost.core.ports import Reader, Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.inbox.event import EventType, ItemState
from gatepost.plans import actions as plans
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import AgentConfig
from gatepost.residents.runs import actions as runs_actions
from gatepost.residents.runs.run import RunStatus
from gatepost.spaces import actions as spaces
from gatepost.testing import Kit
from tests.faults.cycle_process import Case, encode_cases, open_worker
from tests.faults.grids import select_points
from tests.support.processes.fork_server import ForkedProcess
from tests.support.servers.private_servers import wait_until
from tests.support.waits import LAST_RESORT

#: seconds between two looks at all inboxes, which cost as much as a cycle
POLL_INTERVAL: Final = 0.1


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    store_url: str = (
        request.getfixturevalue("migrated_postgres_url")
        if request.param == "postgres"
        else f"sqlite:///{tmp_path}/it.db"
    )
    with Kit(store_url) as kit:
        kit.store.close()
    return store_url


def create_residents(store: Store, names: Sequence[str]) -> None:
    """Everybody has a space with Husam, who has said something there."""
    for name, kind in (("husam", EntityKind.HUMAN), ("clerk", EntityKind.AGENT)):
        store.run_sync(directory.register, EntitySpec(name=name, kind=kind))
    for name in names:
        store.run_sync(agents.make_resident, EntitySpec(name=name, kind=EntityKind.AGENT), AgentConfig())
        store.run_sync(spaces.create, name=f"room-{name}", members=["husam", name])
        store.run_sync(spaces.post, f"room-{name}", sender="husam", content="Where is my order?")


class CycleProcesses:
    """The program that processes come from."""

    def __init__(self, url: str, cases: Sequence[Case]) -> None:
        self._process = ForkedProcess(
            [sys.executable, "-m", "tests.faults.cycle_process", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._cases = cases

    def start_cycles(self) -> dict[str, dict[str, Any]]:
        """Let them think, until each has come to its point."""
        assert self._process.stdin is not None
        self._process.stdin.write(encode_cases(self._cases))
        self._process.stdin.flush()
        return self._read_outcomes()

    def resume_stopped(self) -> dict[str, dict[str, Any]]:
        """Wake those that were stopped."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.close()
        return self._read_outcomes()

    def _read_outcomes(self) -> dict[str, dict[str, Any]]:
        assert self._process.stdout is not None
        outcomes: dict[str, dict[str, Any]] = {}
        for line in self._process.stdout:
            outcome = json.loads(line)
            if "settled" in outcome:
                return outcomes
            outcomes[outcome["agent"]] = outcome
        return outcomes

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(LAST_RESORT)
        self._process.stdout.close()


async def finish_all_cycles(url: str, names: Sequence[str]) -> None:
    """Think for everybody until all is done: when the leases have lapsed, what was left lying is gone on with."""

    async with open_worker(url) as (store, _):
        await asyncio.to_thread(
            wait_until, lambda: store.read_sync(are_all_delivered, names), "all is done", interval=POLL_INTERVAL
        )


class RivalProcess:
    """A process that thinks for everybody."""

    def __init__(self, url: str, stop_at: int = 0) -> None:
        self.process = ForkedProcess(
            [sys.executable, "-m", "tests.faults.cycle_process", "fight", url, str(stop_at)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def wait_until_ready(self) -> None:
        assert self.process.stdout is not None
        assert "ready" in json.loads(self.process.stdout.readline())

    def is_asleep(self) -> bool:
        assert self.process.poll() is None, f"it has ended with {self.process.returncode}"
        return psutil.Process(self.process.pid).status() == psutil.STATUS_STOPPED

    def count_refusals(self) -> int:
        """End it; return how often it was refused."""
        output, _ = self.process.communicate("", LAST_RESORT)
        return int(json.loads(output.splitlines()[-1])["refused"])


@pytest.mark.parametrize("url", ["sqlite", pytest.param("postgres", marks=pytest.mark.nightly)], indirect=True)
def test_two_processes_fight_over_a_hundred_agents(url: str) -> None:
    """One of them is asleep past its leases, in the middle of many cycles, and wakes as if nothing had been."""
    names = [f"agent-{number:03}" for number in range(100)]
    with ExitStack() as stack:
        store = stack.enter_context(closing(open_store(url)))
        create_residents(store, names)
        sleeping_rival = stack.enter_context(RivalProcess(url, stop_at=6))  # a cycle takes nine
        wait_until(sleeping_rival.is_asleep, "it is asleep")
        assert store.read_sync(runs_actions.list_page, status=RunStatus.RUNNING), "in the middle of many cycles"
        other_rival = stack.enter_context(RivalProcess(url))
        other_rival.wait_until_ready()
        wait_until(
            lambda: not store.read_sync(runs_actions.list_page, status=RunStatus.RUNNING), "the other has taken over"
        )
        sleeping_rival.process.send_signal(signal.SIGCONT)
        for round_ in range(2):
            for name in names:
                store.run_sync(spaces.post, f"room-{name}", sender="husam", content=f"And now? {round_}")
        wait_until(lambda: store.read_sync(are_all_delivered, names), "everything is done", interval=POLL_INTERVAL)
        assert sleeping_rival.count_refusals() >= 1
        other_rival.count_refusals()
        for name in names:
            runs = [
                run for run in store.read_sync(runs_actions.list_page, agent=name) if run.status is RunStatus.COMPLETED
            ]
            message_counts = Counter(
                message.content for message in store.read_sync(spaces.read, f"room-{name}") if message.sender == name
            )
            assert message_counts == {"I am on it.": len(runs), "It is done.": len(runs)}
            assert sum(run.events for run in runs) == 3
            assert len(store.read_sync(plans.list_page, name)) == len(runs)
        assert all(account.is_balanced for account in store.read_sync(account_actions.list_accounts))


def are_all_delivered(tx: Reader, names: Sequence[str]) -> bool:
    return not runs_actions.list_page(tx, status=RunStatus.RUNNING) and all(
        item.state is ItemState.DELIVERED for name in names for item in inbox.list_page(tx, name)
    )


def read_state(store: Store, name: str) -> dict[str, Any]:
    """All that came of an agent's cycle, without what differs from run to run: ids, times and its name."""
    runs = store.read_sync(runs_actions.list_page, agent=name)
    mail_events = [item.event for item in store.read_sync(inbox.list_page, "clerk", type=EventType.MAIL, limit=1_000)]
    document = {
        "runs": [(run.status, run.cycle, run.events, run.steps, run.effects, run.summary) for run in runs],
        "mind": [repr(turn) for turn in store.read_sync(runs_actions.read_mind, name).turns],
        "said": [(message.sender, message.content) for message in store.read_sync(spaces.read, f"room-{name}")],
        "mail": [(event.subject, event.content) for event in mail_events if event.sender and event.sender.name == name],
        "plans": [(plan.name, plan.instruction, plan.status) for plan in store.read_sync(plans.list_page, name)],
        "inbox": [item.state for item in store.read_sync(inbox.list_page, name)],
    }
    text = re.sub(r"\b([a-z]+_)[0-9a-f]{32}", r"\1*", json.dumps(document, default=str))
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
    return dict(json.loads(re.sub(rf"\b{name}\b", "NAME", text)))


def test_a_thinker_is_killed_or_stopped_at_every_point(url: str) -> None:
    store = open_store(url)
    verb_count = 9  # take, two replies, five calls, finish
    verbs = select_points(range(1, verb_count + 1), at_least=9)
    points = [(verb, moment) for verb in verbs for moment in ("before", "within", "after")]
    cases = [Case(agent="undisturbed")]
    cases += [Case(agent=f"killed-{verb}-{moment}", verb=verb, when=moment) for verb, moment in points]
    cases += [
        Case(agent=f"stopped-{verb}-{moment}", verb=verb, when=moment, how="stop")
        for verb, moment in points
        if moment != "within"  # it would hold the database
    ]
    create_residents(store, [case.agent for case in cases])
    processes = CycleProcesses(url, cases)
    outcomes = processes.start_cycles()
    assert outcomes.pop("undisturbed") == {"agent": "undisturbed", "outcome": "ended", "verbs": verb_count}
    assert {name: outcome["outcome"] for name, outcome in outcomes.items()} == {
        case.agent: "killed" if case.how == "kill" else "stopped" for case in cases[1:]
    }

    asyncio.run(finish_all_cycles(url, [case.agent for case in cases]))
    late_outcomes = processes.resume_stopped()
    processes.close()
    # Whoever was stopped before its last commit is refused when it wakes; after that there is nothing left to refuse.
    assert {name for name, outcome in late_outcomes.items() if outcome["outcome"] == "ended"} == {
        f"stopped-{verb_count}-after"
    }
    assert sum(outcome["outcome"] == "refused" for outcome in late_outcomes.values()) == 2 * len(verbs) - 2
    expected = read_state(store, "undisturbed")
    assert expected["said"][1:] == [["NAME", "I am on it."], ["NAME", "It is done."]]
    assert len(expected["mail"]) == len(expected["plans"]) == 1
    for case in cases:
        assert read_state(store, case.agent) == expected, case
    assert all(account.is_balanced for account in store.read_sync(account_actions.list_accounts))
    store.close()
