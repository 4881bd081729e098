"""A process that looks at a gate is stopped in the middle of it. The deadline passes all the same, and that is said."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gatepost.app import open_store
from gatepost.core.policy import Policy
from gatepost.core.ports import Reader, Store
from gatepost.core.times import SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gates import gate_actions as gates
from gatepost.gates.gate import Ending, Gate, GateKind, GateSpec
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType
from gatepost.testing import MORNING
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker.background_tasks import WorkerOptions, run_worker
from tests.faults.cycle_process import build_deps
from tests.faults.forked_tasks import SharedClock
from tests.support.processes.fork_server import ForkedProcess
from tests.support.servers.private_servers import wait_until
from tests.support.waits import LAST_RESORT

POSTGRES_BY_NIGHT = True


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return (
        f"sqlite:///{tmp_path}/gatepost.db"
        if request.param == "sqlite"
        else request.getfixturevalue("empty_postgres_url")
    )


@pytest.fixture
def clock(tmp_path: Path) -> SharedClock:
    return SharedClock(tmp_path / "clock", MORNING)


@pytest.fixture
def store(url: str, clock: SharedClock) -> Iterator[Store]:
    with closing(open_store(url, clock=clock, policy=Policy(can_run_commands=True))) as store:
        store.migrate()
        store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
        for name in ("ana", "ben"):
            store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
        yield store


def is_overdue(tx: Reader, gate_id: str) -> bool:
    return gates.show(tx, gate_id).is_overdue(tx.now)


def list_gate_outcomes(store: Store, name: str) -> list[str]:
    return [item.event.data["outcome"] for item in store.read_sync(inbox.list_page, name, type=EventType.GATE)]


async def _run_worker_until_ended(store: Store, gate: Gate, bus: SignalBus) -> None:
    async with bus.open(), run_worker(build_deps(store), bus, WorkerOptions(recheck_interval=0.1)):
        await asyncio.to_thread(
            wait_until, lambda: not store.read_sync(gates.show, gate.id).is_pending, "the gate has ended"
        )


def test_a_stopped_look_leaves_no_gate_pending_past_its_deadline(
    url: str, store: Store, clock: SharedClock, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    spec = GateSpec(
        name="build", kind=GateKind.COMMAND, awaits=f"cat '{pipe}'", owner="ana", within=2 * SECOND, waiters=("ben",)
    )
    gate = store.run_sync(gates.add, spec, by="admin")
    checker = ForkedProcess([sys.executable, "-m", "tests.faults.gate_checker", url, str(tmp_path / "clock")])
    try:
        with pipe.open("w"):  # opens when the command reads: the look is under way
            checker.send_signal(signal.SIGSTOP)
            clock.advance(3 * SECOND)
            assert store.read_sync(is_overdue, gate.id)
            # Nobody lives who could say so. But nobody is held, and whoever reads it sees that it is overdue.
            assert store.read_sync(gates.show, gate.id).is_pending
            assert store.read_sync(gates.list_blocking, "ana") == []
            bus = SignalBus()
            with closing(open_store(url, clock=clock, signal_sink=bus.on_commit)) as other_store:
                asyncio.run(_run_worker_until_ended(other_store, gate, bus))
            ended_gate = store.read_sync(gates.show, gate.id)
            assert ended_gate.resolution is not None
            assert ended_gate.resolution.ending is Ending.EXPIRED
            assert list_gate_outcomes(store, "ana") == list_gate_outcomes(store, "ben") == [Ending.EXPIRED]
            checker.send_signal(signal.SIGCONT)
        # The pipe is closed: the command ends with 0, and what was seen comes too late.
        assert checker.wait(LAST_RESORT) == 0
        assert store.read_sync(gates.show, gate.id) == ended_gate
        assert list_gate_outcomes(store, "ana") == [Ending.EXPIRED]
    finally:
        checker.kill()
        checker.wait()
