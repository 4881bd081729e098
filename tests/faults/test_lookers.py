"""A process that looks at a gate is stopped in the middle of it. The deadline passes all the same, and that is said."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gatepost.actions import directory, gates, inbox
from gatepost.actions.directory import Newcomer
from gatepost.app import open_store
from gatepost.core.entity import Kind
from gatepost.core.event import Type
from gatepost.core.gate import Ending, Gate, GateKind, GateWish
from gatepost.core.instants import SECOND
from gatepost.core.limits import Limits
from gatepost.ports import Reader, Store
from gatepost.runtime.exchange import Exchange
from gatepost.runtime.household import Habits, living
from tests.faults.thinker import means
from tests.servers import until


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/gatepost.db" if request.param == "sqlite" else request.getfixturevalue("swept_url")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url, limits=Limits(commands=True))) as store:
        store.migrate()
        store.call(directory.register, Newcomer(name="admin", kind=Kind.HUMAN))
        for name in ("ana", "ben"):
            store.call(directory.register, Newcomer(name=name, kind=Kind.AGENT))
        yield store


def overdue(tx: Reader, id: str) -> bool:
    return gates.show(tx, id).overdue(tx.now)


def heard(store: Store, name: str) -> list[str]:
    return [item.event.data["outcome"] for item in store.query(inbox.page, name, type=Type.GATE)]


async def _until_ended(store: Store, gate: Gate, exchange: Exchange) -> None:
    async with exchange.open(), living(means(store), exchange, Habits(interval=0.1)):
        await asyncio.to_thread(until, lambda: not store.query(gates.show, gate.id).pending, "the gate has ended")


def test_a_stopped_look_leaves_no_gate_pending_past_its_deadline(url: str, store: Store, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    wish = GateWish(
        name="build", kind=GateKind.COMMAND, awaits=f"cat '{pipe}'", owner="ana", within=2 * SECOND, waiters=("ben",)
    )
    gate = store.call(gates.add, wish, by="admin")
    looker = subprocess.Popen([sys.executable, "-m", "tests.faults.looker", url])
    try:
        with pipe.open("w"):  # opens when the command reads: the look is under way
            looker.send_signal(signal.SIGSTOP)
            until(lambda: store.query(overdue, gate.id), "the deadline has passed")
            # Nobody lives who could say so. But nobody is held, and whoever reads it sees that it is overdue.
            assert store.query(gates.show, gate.id).pending
            assert store.query(gates.blocking, "ana") == []
            exchange = Exchange()
            with closing(open_store(url, bell=exchange.bell)) as other:
                asyncio.run(_until_ended(other, gate, exchange))
            ended = store.query(gates.show, gate.id)
            assert ended.resolution is not None
            assert ended.resolution.ending is Ending.EXPIRED
            assert heard(store, "ana") == heard(store, "ben") == [Ending.EXPIRED]
            looker.send_signal(signal.SIGCONT)
        # The pipe is closed: the command ends with 0, and what was seen comes too late.
        assert looker.wait(60) == 0
        assert store.query(gates.show, gate.id) == ended
        assert heard(store, "ana") == [Ending.EXPIRED]
    finally:
        looker.kill()
        looker.wait()
