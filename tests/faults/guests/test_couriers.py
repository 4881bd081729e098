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

from gatepost.app import open_store
from gatepost.core.ports import Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.guests.hooks import drain
from gatepost.guests.spool_files import FileSpool
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Item, ItemState, Push
from gatepost.inbox.push import actions as push
from gatepost.transports.nats import STREAM, escape_name
from tests.guests.courier_fixtures import (
    WAIT_TIMEOUT,
    CountingSubscription,
    CourierProcess,
    CourierSetup,
    GuestSessions,
    open_courier_setup,
    run_courier,
)
from tests.support.gateways.gateway_process import run_gateway_process
from tests.support.servers.brokers import Broker, Nats

QUICK_OPTIONS = {"heartbeat_interval": 0.05, "timeout": 1.0}


@pytest.fixture(params=["nats", "redis"])
def broker(request: pytest.FixtureRequest) -> Broker:
    server: Broker = request.getfixturevalue(f"own_{request.param}")
    return server


@pytest.fixture
async def courier_setup(broker: Broker, tmp_path: Path) -> AsyncIterator[CourierSetup]:
    async with open_courier_setup(broker.kind, broker.url, tmp_path) as setup:
        yield setup


@pytest.fixture
async def sessions(courier_setup: CourierSetup, tmp_path: Path) -> GuestSessions:
    return GuestSessions(tmp_path / "spool", courier_setup.ann)


class PendingReader:
    """Asks the store for what is pending, as long as it is allowed to."""

    def __init__(self, courier_setup: CourierSetup) -> None:
        self._setup = courier_setup
        self.is_allowed = True

    async def __call__(self) -> list[Item]:
        return await self._setup.store.read(inbox.peek, self._setup.ann, limit=1_000) if self.is_allowed else []


def list_states(courier_setup: CourierSetup) -> set[ItemState]:
    return {item.state for item in courier_setup.store.read_sync(inbox.list_page, courier_setup.ann)}


@pytest.mark.parametrize("how", ["killed", "stopped"])
async def test_a_server_that_goes_and_comes_back_loses_nothing(
    courier_setup: CourierSetup, sessions: GuestSessions, broker: Broker, how: str
) -> None:
    pending_reader = PendingReader(courier_setup)
    subscription = CountingSubscription(
        courier_setup.make_subscription(courier_setup.ann, **QUICK_OPTIONS), sessions.spool.notify
    )
    async with run_courier(
        courier_setup, sessions, open_subscription=lambda: subscription, read_pending=pending_reader
    ) as courier:
        await sessions.spool.wait_until(lambda: subscription.ready_count >= 1)
        pending_reader.is_allowed = False
        first_id = courier_setup.push(courier_setup.ann, content="before")
        await sessions.spool.wait_until(lambda: subscription.event_count == 1)
        if how == "killed":
            broker.kill()
        else:
            broker.pause()
        outage_ids = [
            courier_setup.push(courier_setup.ann, content=f"while it is {how}"),
            courier_setup.push("*", content="to all"),
        ]
        pending_reader.is_allowed = True
        courier.reconcile_duty.wake()
        await sessions.spool.wait_until(lambda: set(sessions.list_line_ids()) >= {first_id, *outage_ids})
        assert list_states(courier_setup) == {ItemState.PENDING}
        assert sorted(sessions.drain(courier_setup.store)) == sorted([first_id, *outage_ids])
        pending_reader.is_allowed = False
        await sessions.spool.wait_until(lambda: subscription.lost_count >= 1)
        if how == "killed":
            await asyncio.to_thread(broker.restart)
        else:
            broker.resume()
        await sessions.spool.wait_until(lambda: subscription.ready_count >= 2)
        last_id = courier_setup.push(courier_setup.ann, content="afterwards")
        await sessions.spool.wait_until(lambda: last_id in sessions.list_line_ids())
        assert sessions.drain(courier_setup.store) == [last_id]
    assert sorted(sessions.shown_ids) == sorted([first_id, *outage_ids, last_id])
    assert list_states(courier_setup) == {ItemState.DELIVERED}
    assert sessions.drain(courier_setup.store, reconcile=True) == []


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
async def test_what_could_not_be_written_was_not_acked(courier_setup: CourierSetup, sessions: GuestSessions) -> None:
    """The store is not asked, so it must be the parcel that comes again."""
    pending_reader = PendingReader(courier_setup)
    pending_reader.is_allowed = False
    subscription = CountingSubscription(courier_setup.make_subscription(courier_setup.ann), sessions.spool.notify)
    sessions.spool.is_failing = True
    async with run_courier(
        courier_setup, sessions, open_subscription=lambda: subscription, read_pending=pending_reader
    ):
        await sessions.spool.wait_until(lambda: subscription.ready_count == 1)
        sent_ids = [courier_setup.push(courier_setup.ann, content=f"number {number}") for number in range(3)]
        await sessions.spool.wait_until(lambda: sessions.spool.failure_count >= 4)
        assert sessions.list_line_ids() == []
        sessions.spool.is_failing = False
        await sessions.spool.wait_until(lambda: set(sessions.list_line_ids()) == set(sent_ids))
    assert sorted(sessions.drain(courier_setup.store)) == sorted(sent_ids)


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
@pytest.mark.parametrize("drained", ["before it comes again", "afterwards"])
async def test_killed_between_the_line_and_the_ack_it_is_shown_once(
    courier_setup: CourierSetup, sessions: GuestSessions, broker: Broker, drained: str, tmp_path: Path
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.faults.guests.killed_courier",
        broker.url,
        courier_setup.ann,
        f"{tmp_path}/spool/<session>.jsonl",
    )
    try:
        connection = await driver.connect(broker.url)
        await wait_for_consumer(connection, courier_setup.ann)
        first_id = courier_setup.push(courier_setup.ann, content="in the spool, and not acked")
        async with asyncio.timeout(WAIT_TIMEOUT):
            assert await process.wait() == -signal.SIGKILL
        await connection.close()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert sessions.list_line_ids() == [first_id]
    if drained == "before it comes again":
        assert sessions.drain(courier_setup.store) == [first_id]
    pending_reader = PendingReader(courier_setup)
    pending_reader.is_allowed = False
    subscription = CountingSubscription(courier_setup.make_subscription(courier_setup.ann), sessions.spool.notify)
    async with run_courier(
        courier_setup, sessions, open_subscription=lambda: subscription, read_pending=pending_reader
    ):
        await sessions.spool.wait_until(lambda: subscription.event_count == 1)
        assert first_id in sessions.list_line_ids()
        last_id = courier_setup.push(courier_setup.ann, content="last")
        await sessions.spool.wait_until(lambda: last_id in sessions.list_line_ids())
    sessions.drain(courier_setup.store)
    assert sorted(sessions.shown_ids) == sorted([first_id, last_id])
    assert list_states(courier_setup) == {ItemState.DELIVERED}


async def wait_for_consumer(connection: Connection, agent: str) -> None:
    """Return when the consumer of an agent is there: nothing says so, so it is asked again and again."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while True:
            try:
                await connection.jetstream().consumer_info(STREAM, f"inbox-{escape_name(agent)}")
            except NotFoundError:
                continue
            return


async def test_where_there_is_no_jetstream_the_store_stands_in(tmp_path: Path) -> None:
    with Nats(jetstream=False) as server:
        async with open_courier_setup("nats", server.url, tmp_path) as courier_setup:
            sessions = GuestSessions(tmp_path / "spool", courier_setup.ann)
            subscription = CountingSubscription(
                courier_setup.make_subscription(courier_setup.ann), sessions.spool.notify
            )
            first_id = courier_setup.push(courier_setup.ann, content="nobody keeps it")
            async with run_courier(courier_setup, sessions, open_subscription=lambda: subscription):
                await sessions.spool.wait_until(
                    lambda: first_id in sessions.list_line_ids() and subscription.lost_count >= 2
                )
            assert subscription.ready_count == 0
            assert sessions.drain(courier_setup.store) == [first_id]


def test_a_gateway_that_is_killed_and_restarted_loses_nothing(tmp_path: Path) -> None:
    """While there is none the store itself is asked."""
    home = tmp_path / "home"
    with run_gateway_process(home) as gateway, closing(open_store(f"sqlite:///{home}/gatepost.db")) as store:
        store.run_sync(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
        session = home / "sessions" / "s1"
        session.mkdir(parents=True)
        (session / "state.json").write_text('{"agent": "ann", "state": "working"}')
        with CourierProcess("--as", "ann", GATEPOST_HOME=str(home), GATEPOST_COURIER__RECONCILE="1s") as courier:
            courier.wait_for_line("up", "source=gateway")
            sent_ids = [_push(store, "by the gateway")]
            courier.wait_for_line("in the spool", sent_ids[0])
            gateway.kill()
            courier.wait_for_line("degraded")
            sent_ids.append(_push(store, "without one"))
            courier.wait_for_line("in the spool", sent_ids[1])
            gateway.start()
            sent_ids.append(_push(store, "by the next"))
            courier.wait_for_line("in the spool", sent_ids[2])
            assert courier.stop() == 0
        spool = FileSpool(f"{home}/spool/<session>.jsonl")
        batch = drain.drain(store, spool, session="s1", agent="ann", now=time.time_ns() // 1_000, include_pending=True)
        assert sorted(event.id for event in batch.events) == sorted(sent_ids)
        batch.ack()
        assert {item.state for item in store.read_sync(inbox.list_page, "ann")} == {ItemState.DELIVERED}


def _push(store: Store, content: str) -> str:
    return store.run_sync(push.push_event, Push(to="ann", source="test", content=content)).event
