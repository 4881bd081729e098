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
from typing import Any, Self

import psutil
import pytest

from gatepost.actions import agents, directory, inbox, maintenance, plans, spaces
from gatepost.actions import runs as runs_actions
from gatepost.actions.directory import EntitySpec
from gatepost.app import open_store
from gatepost.core.agent import AgentConfig
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, ItemState
from gatepost.core.run import RunStatus
from gatepost.ports import Reader, Store
from gatepost.testing import Kit
from tests.faults.thinker import Case, household, told
from tests.forking import ForkedProcess
from tests.servers import until


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    where: str = (
        request.getfixturevalue("postgres_url") if request.param == "postgres" else f"sqlite:///{tmp_path}/it.db"
    )
    with Kit(where) as kit:
        kit.store.close()
    return where


def furnish(store: Store, names: Sequence[str]) -> None:
    """Everybody has a space with Husam, who has said something there."""
    for name, kind in (("husam", EntityKind.HUMAN), ("clerk", EntityKind.AGENT)):
        store.call(directory.register, EntitySpec(name=name, kind=kind))
    for name in names:
        store.call(agents.make_resident, EntitySpec(name=name, kind=EntityKind.AGENT), AgentConfig())
        store.call(spaces.create, name=f"room-{name}", members=["husam", name])
        store.call(spaces.post, f"room-{name}", sender="husam", content="Where is my order?")


class Fates:
    """The program that processes come from."""

    def __init__(self, url: str, cases: Sequence[Case]) -> None:
        self._program = ForkedProcess(
            [sys.executable, "-m", "tests.faults.thinker", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._cases = cases

    def settled(self) -> dict[str, dict[str, Any]]:
        """Let them think, until each has come to its point."""
        assert self._program.stdin is not None
        self._program.stdin.write(told(self._cases))
        self._program.stdin.flush()
        return self._heard()

    def go_on(self) -> dict[str, dict[str, Any]]:
        """Wake those that were stopped."""
        assert self._program.stdin is not None
        self._program.stdin.write("\n")
        self._program.stdin.close()
        return self._heard()

    def _heard(self) -> dict[str, dict[str, Any]]:
        assert self._program.stdout is not None
        found: dict[str, dict[str, Any]] = {}
        for line in self._program.stdout:
            said = json.loads(line)
            if "settled" in said:
                return found
            found[said["agent"]] = said
        return found

    def end(self) -> None:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.close()
        self._program.wait(30)
        self._program.stdout.close()


async def taken_over(url: str, names: Sequence[str]) -> None:
    """Think for everybody until all is done: when the leases have lapsed, what was left lying is gone on with."""

    async with household(url) as (store, _):
        await asyncio.to_thread(until, lambda: store.query(all_delivered, names), "all is done")


class Fighter:
    """A process that thinks for everybody."""

    def __init__(self, url: str, stop_at: int = 0) -> None:
        self.process = ForkedProcess(
            [sys.executable, "-m", "tests.faults.thinker", "fight", url, str(stop_at)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def ready(self) -> None:
        assert self.process.stdout is not None
        assert "ready" in json.loads(self.process.stdout.readline())

    def refusals(self) -> int:
        """End it; return how often it was refused."""
        said, _ = self.process.communicate("", 60)
        return int(json.loads(said.splitlines()[-1])["refused"])


@pytest.mark.parametrize("url", ["sqlite", pytest.param("postgres", marks=pytest.mark.nightly)], indirect=True)
def test_two_processes_fight_over_a_hundred_agents(url: str) -> None:
    """One of them is asleep past its leases, in the middle of many cycles, and wakes as if nothing had been."""
    names = [f"agent-{number:03}" for number in range(100)]
    with ExitStack() as stack:
        store = stack.enter_context(closing(open_store(url)))
        furnish(store, names)
        left = stack.enter_context(Fighter(url, stop_at=6))  # a cycle takes nine
        until(lambda: psutil.Process(left.process.pid).status() == psutil.STATUS_STOPPED, "it is asleep")
        assert store.query(runs_actions.page, status=RunStatus.RUNNING), "in the middle of many cycles"
        right = stack.enter_context(Fighter(url))
        right.ready()
        until(lambda: not store.query(runs_actions.page, status=RunStatus.RUNNING), "the other has taken over")
        left.process.send_signal(signal.SIGCONT)
        for round_ in range(2):
            for name in names:
                store.call(spaces.post, f"room-{name}", sender="husam", content=f"And now? {round_}")
        until(lambda: store.query(all_delivered, names), "everything is done")
        assert left.refusals() >= 1
        right.refusals()
        for name in names:
            runs = [run for run in store.query(runs_actions.page, agent=name) if run.status is RunStatus.COMPLETED]
            said = Counter(one.content for one in store.query(spaces.read, f"room-{name}") if one.sender == name)
            assert said == {"I am on it.": len(runs), "It is done.": len(runs)}
            assert sum(run.events for run in runs) == 3
            assert len(store.query(plans.page, name)) == len(runs)
        assert all(account.is_balanced for account in store.query(maintenance.list_accounts))


def all_delivered(tx: Reader, names: Sequence[str]) -> bool:
    return not runs_actions.page(tx, status=RunStatus.RUNNING) and all(
        item.state is ItemState.DELIVERED for name in names for item in inbox.page(tx, name)
    )


def state(store: Store, name: str) -> dict[str, Any]:
    """All that came of an agent's cycle, without what differs from run to run: ids, times and its name."""
    runs = store.query(runs_actions.page, agent=name)
    clerk = [item.event for item in store.query(inbox.page, "clerk", type=EventType.MAIL, limit=1_000)]
    found = {
        "runs": [(run.status, run.cycle, run.events, run.steps, run.effects, run.summary) for run in runs],
        "mind": [repr(turn) for turn in store.query(runs_actions.read_mind, name).turns],
        "said": [(one.sender, one.content) for one in store.query(spaces.read, f"room-{name}")],
        "mail": [(event.subject, event.content) for event in clerk if event.sender and event.sender.name == name],
        "plans": [(plan.name, plan.instruction, plan.status) for plan in store.query(plans.page, name)],
        "inbox": [item.state for item in store.query(inbox.page, name)],
    }
    text = re.sub(r"\b([a-z]+_)[0-9a-f]{32}", r"\1*", json.dumps(found, default=str))
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
    return dict(json.loads(re.sub(rf"\b{name}\b", "NAME", text)))


def test_a_thinker_is_killed_or_stopped_at_every_point(url: str) -> None:
    store = open_store(url)
    verbs = 9  # take, two replies, five calls, finish
    points = [(verb, when) for verb in range(1, verbs + 1) for when in ("before", "within", "after")]
    cases = [Case(agent="undisturbed")]
    cases += [Case(agent=f"killed-{verb}-{when}", verb=verb, when=when) for verb, when in points]
    cases += [
        Case(agent=f"stopped-{verb}-{when}", verb=verb, when=when, how="stop")
        for verb, when in points
        if when != "within"  # it would hold the database
    ]
    furnish(store, [case.agent for case in cases])
    fates = Fates(url, cases)
    outcomes = fates.settled()
    assert outcomes.pop("undisturbed") == {"agent": "undisturbed", "outcome": "ended", "verbs": verbs}
    assert {name: said["outcome"] for name, said in outcomes.items()} == {
        case.agent: "killed" if case.how == "kill" else "stopped" for case in cases[1:]
    }

    asyncio.run(taken_over(url, [case.agent for case in cases]))
    late = fates.go_on()
    fates.end()
    # Whoever was stopped before its last commit is refused when it wakes; after that there is nothing left to refuse.
    assert {name for name, said in late.items() if said["outcome"] == "ended"} == {f"stopped-{verbs}-after"}
    assert sum(said["outcome"] == "refused" for said in late.values()) == 2 * verbs - 2
    expected = state(store, "undisturbed")
    assert expected["said"][1:] == [["NAME", "I am on it."], ["NAME", "It is done."]]
    assert len(expected["mail"]) == len(expected["plans"]) == 1
    for case in cases:
        assert state(store, case.agent) == expected, case
    assert all(account.is_balanced for account in store.query(maintenance.list_accounts))
    store.close()
