"""
Servers die, stop and come back under a courier, and it is killed itself: each item reaches the agent and is shown once,
and what was not shown is not marked.
"""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import nats as driver
import pytest
from nats.aio.client import Client as Connection
from nats.js.errors import NotFoundError

from gatepost.actions import directory, inbox, push
from gatepost.actions.directory import EntitySpec
from gatepost.adapters.spool import FileSpool
from gatepost.adapters.transports.natslink import STREAM, escape_name
from gatepost.app import open_store
from gatepost.core.entity import EntityKind
from gatepost.core.event import Item, ItemState, Push
from gatepost.hooks import drain
from gatepost.ports import Store
from tests.brokers import Broker, Nats
from tests.couriers import PATIENCE, Carrying, Road, Room, Signed, courier, road
from tests.uplinks import running

QUICK = {"beat": 0.05, "patience": 1.0}


@pytest.fixture(params=["nats", "redis"])
def broker(request: pytest.FixtureRequest) -> Broker:
    made: Broker = request.getfixturevalue(f"own_{request.param}")
    return made


@pytest.fixture
async def place(broker: Broker, tmp_path: Path) -> AsyncIterator[Road]:
    async with road(broker.kind, broker.url, tmp_path) as made:
        yield made


@pytest.fixture
async def room(place: Road, tmp_path: Path) -> Room:
    return Room(tmp_path / "spool", place.ann)


class Ledger:
    """Asks the store for what is pending, as long as it is allowed to."""

    def __init__(self, place: Road) -> None:
        self._place = place
        self.allowed = True

    async def __call__(self) -> list[Item]:
        return await self._place.store.read(inbox.peek, self._place.ann, limit=1_000) if self.allowed else []


def states(place: Road) -> set[ItemState]:
    return {item.state for item in place.store.query(inbox.page, place.ann)}


@pytest.mark.parametrize("how", ["killed", "stopped"])
async def test_a_server_that_goes_and_comes_back_loses_nothing(
    place: Road, room: Room, broker: Broker, how: str
) -> None:
    ledger = Ledger(place)
    signed = Signed(place.parcels(place.ann, **QUICK), room.spool.changed)
    async with courier(place, room, open_subscription=lambda: signed, read_pending=ledger) as carrying:
        await room.spool.until(lambda: signed.stands == 1)
        ledger.allowed = False
        first = place.push(place.ann, content="before")
        await room.spool.until(lambda: signed.came == 1)
        if how == "killed":
            broker.kill()
        else:
            broker.stop()
        during = [place.push(place.ann, content=f"while it is {how}"), place.push("*", content="to all")]
        ledger.allowed = True
        carrying.reconcile_duty.wake()
        await room.spool.until(lambda: set(room.lines()) >= {first, *during})
        assert states(place) == {ItemState.PENDING}
        assert sorted(room.drain(place.store)) == sorted([first, *during])
        ledger.allowed = False
        await room.spool.until(lambda: signed.lost >= 1)
        if how == "killed":
            await asyncio.to_thread(broker.restart)
        else:
            broker.cont()
        await room.spool.until(lambda: signed.stands >= 2)
        last = place.push(place.ann, content="afterwards")
        await room.spool.until(lambda: last in room.lines())
        assert room.drain(place.store) == [last]
    assert sorted(room.shown) == sorted([first, *during, last])
    assert states(place) == {ItemState.DELIVERED}
    assert room.drain(place.store, reconcile=True) == []


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
async def test_what_could_not_be_written_was_not_acked(place: Road, room: Room) -> None:
    """The store is not asked, so it must be the parcel that comes again."""
    ledger = Ledger(place)
    ledger.allowed = False
    signed = Signed(place.parcels(place.ann), room.spool.changed)
    room.spool.fails = True
    async with courier(place, room, open_subscription=lambda: signed, read_pending=ledger):
        await room.spool.until(lambda: signed.stands == 1)
        sent = [place.push(place.ann, content=f"number {number}") for number in range(3)]
        await room.spool.until(lambda: room.spool.failed >= 4)
        assert room.lines() == []
        room.spool.fails = False
        await room.spool.until(lambda: set(room.lines()) == set(sent))
    assert sorted(room.drain(place.store)) == sorted(sent)


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
@pytest.mark.parametrize("drained", ["before it comes again", "afterwards"])
async def test_killed_between_the_line_and_the_ack_it_is_shown_once(
    place: Road, room: Room, broker: Broker, drained: str, tmp_path: Path
) -> None:
    doomed = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.faults.carrier", broker.url, place.ann, f"{tmp_path}/spool/<session>.jsonl"
    )
    try:
        connection = await driver.connect(broker.url)
        await exists(connection, place.ann)
        first = place.push(place.ann, content="in the spool, and not acked")
        async with asyncio.timeout(PATIENCE):
            assert await doomed.wait() == -signal.SIGKILL
        await connection.close()
    finally:
        if doomed.returncode is None:
            doomed.kill()
            await doomed.wait()
    assert room.lines() == [first]
    if drained == "before it comes again":
        assert room.drain(place.store) == [first]
    ledger = Ledger(place)
    ledger.allowed = False
    signed = Signed(place.parcels(place.ann), room.spool.changed)
    async with courier(place, room, open_subscription=lambda: signed, read_pending=ledger):
        await room.spool.until(lambda: signed.came == 1)
        assert first in room.lines()
        last = place.push(place.ann, content="last")
        await room.spool.until(lambda: last in room.lines())
    room.drain(place.store)
    assert sorted(room.shown) == sorted([first, last])
    assert states(place) == {ItemState.DELIVERED}


async def exists(connection: Connection, agent: str) -> None:
    """Return when the consumer of an agent is there: nothing says so, so it is asked again and again."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await connection.jetstream().consumer_info(STREAM, f"inbox-{escape_name(agent)}")
            except NotFoundError:
                continue
            return


async def test_where_there_is_no_jetstream_the_store_stands_in(tmp_path: Path) -> None:
    with Nats(jetstream=False) as server:
        async with road("nats", server.url, tmp_path) as place:
            room = Room(tmp_path / "spool", place.ann)
            signed = Signed(place.parcels(place.ann), room.spool.changed)
            first = place.push(place.ann, content="nobody keeps it")
            async with courier(place, room, open_subscription=lambda: signed):
                await room.spool.until(lambda: first in room.lines() and signed.lost >= 2)
            assert signed.stands == 0
            assert room.drain(place.store) == [first]


def test_a_gateway_that_is_killed_and_restarted_loses_nothing(tmp_path: Path) -> None:
    """While there is none the store itself is asked."""
    home = tmp_path / "home"
    with running(home) as gateway, closing(open_store(f"sqlite:///{home}/gatepost.db")) as store:
        store.call(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
        session = home / "sessions" / "s1"
        session.mkdir(parents=True)
        (session / "state.json").write_text('{"agent": "ann", "state": "working"}')
        with Carrying("--as", "ann", GATEPOST_HOME=str(home), GATEPOST_COURIER__RECONCILE="1s") as carrying:
            carrying.until("up", "source=gateway")
            sent = [_pushed(store, "by the gateway")]
            carrying.until("in the spool", sent[0])
            gateway.kill()
            carrying.until("degraded")
            sent.append(_pushed(store, "without one"))
            carrying.until("in the spool", sent[1])
            gateway.start()
            sent.append(_pushed(store, "by the next"))
            carrying.until("in the spool", sent[2])
            assert carrying.stop() == 0
        spool = FileSpool(f"{home}/spool/<session>.jsonl")
        drained = drain.drain(
            store, spool, session="s1", agent="ann", now=time.time_ns() // 1_000, include_pending=True
        )
        assert sorted(event.id for event in drained.events) == sorted(sent)
        drained.ack()
        assert {item.state for item in store.query(inbox.page, "ann")} == {ItemState.DELIVERED}


def _pushed(store: Store, content: str) -> str:
    return store.call(push.push_event, Push(to="ann", source="test", content=content)).event
