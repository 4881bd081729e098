"""A courier at work, on each of the roads: what is pushed reaches the agent by its spool, once, and is marked then."""

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from gatepost.app import open_store
from gatepost.guests import spool_line
from gatepost.guests.session import Guest
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType, ItemState, Priority, Push
from gatepost.inbox.push import actions as push
from tests.guests.courier_fixtures import (
    SOURCE_KINDS,
    CourierSetup,
    GuestSessions,
    SilentSubscription,
    get_server_url,
    open_courier_setup,
    run_courier,
)


@pytest.fixture(params=SOURCE_KINDS)
async def courier_setup(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[CourierSetup]:
    async with open_courier_setup(request.param, get_server_url(request.param, request), tmp_path) as courier_setup:
        yield courier_setup


@pytest.fixture
async def sessions(courier_setup: CourierSetup, tmp_path: Path) -> GuestSessions:
    return GuestSessions(tmp_path / "spool", courier_setup.ann)


def read_states(courier_setup: CourierSetup) -> dict[str, ItemState]:
    return {item.event.id: item.state for item in courier_setup.store.read_sync(inbox.list_page, courier_setup.ann)}


async def test_what_is_pushed_is_in_the_spool_then_shown_once_and_only_then_delivered(
    courier_setup: CourierSetup, sessions: GuestSessions
) -> None:
    early_event = courier_setup.push(courier_setup.ann, content="before the courier came")
    async with run_courier(courier_setup, sessions):
        await sessions.spool.wait_until(lambda: early_event in sessions.list_line_ids())
        sent_events = [
            courier_setup.push(courier_setup.ann, content=f"number {number}", dedup_key=f"k{number}")
            for number in range(20)
        ]
        sent_events += [courier_setup.push("*", sender=courier_setup.bob, type=EventType.SYSTEM, content="to all")]
        courier_setup.push(courier_setup.bob, content="for somebody else")
        await sessions.spool.wait_until(lambda: set(sessions.list_line_ids()) >= {early_event, *sent_events})
        assert set(read_states(courier_setup).values()) == {ItemState.PENDING}
        assert sorted(sessions.drain(courier_setup.store)) == sorted([early_event, *sent_events])
        assert set(read_states(courier_setup).values()) == {ItemState.DELIVERED}
        last = courier_setup.push(courier_setup.ann, content="last")
        await sessions.spool.wait_until(lambda: last in sessions.list_line_ids())
        assert sessions.drain(courier_setup.store) == [last]
    assert sorted(sessions.shown_ids) == sorted([early_event, *sent_events, last])
    assert sessions.drain(courier_setup.store, reconcile=True) == []


async def test_what_the_transport_lost_is_found_by_asking_the_store(
    courier_setup: CourierSetup, sessions: GuestSessions, tmp_path: Path
) -> None:
    with closing(open_store(f"sqlite:///{tmp_path}/road.db")) as silent_store:  # whoever uses it signals nobody
        async with run_courier(courier_setup, sessions, open_subscription=SilentSubscription) as courier_run:
            carried_event = courier_setup.push(courier_setup.ann, content="by whatever road")
            lost_events = [
                silent_store.run_sync(push.push_event, Push(to=recipient, source="test", content="unheard of")).event
                for recipient in (courier_setup.ann, "*")
            ]
            courier_run.reconcile_duty.wake()
            await sessions.spool.wait_until(lambda: set(sessions.list_line_ids()) == {carried_event, *lost_events})
            courier_run.reconcile_duty.wake()
            later_event = silent_store.run_sync(
                push.push_event, Push(to=courier_setup.ann, source="test", content="later")
            ).event
            courier_run.reconcile_duty.wake()
            await sessions.spool.wait_until(lambda: later_event in sessions.list_line_ids())
            assert sorted(sessions.list_line_ids()) == sorted([carried_event, *lost_events, later_event])
    assert set(read_states(courier_setup).values()) == {ItemState.PENDING}
    assert sorted(sessions.drain(courier_setup.store)) == sorted([carried_event, *lost_events, later_event])


async def test_what_was_shown_while_the_store_was_out_of_reach_is_not_written_again(
    courier_setup: CourierSetup, sessions: GuestSessions
) -> None:
    async with run_courier(courier_setup, sessions) as courier_run:
        first = courier_setup.push(courier_setup.ann, content="first", dedup_key="k")
        await sessions.spool.wait_until(lambda: first in sessions.list_line_ids())
        assert sessions.drain(None) == [first]
        assert read_states(courier_setup) == {first: ItemState.PENDING}
        courier_run.reconcile_duty.wake()
        second = courier_setup.push(courier_setup.ann, content="second")
        courier_run.reconcile_duty.wake()
        await sessions.spool.wait_until(lambda: second in sessions.list_line_ids())
        assert set(sessions.list_line_ids()) == {second}
    assert sessions.drain(courier_setup.store) == [second]
    assert set(read_states(courier_setup).values()) == {ItemState.DELIVERED}


async def test_two_couriers_by_mistake_do_no_harm(courier_setup: CourierSetup, sessions: GuestSessions) -> None:
    async with run_courier(courier_setup, sessions), run_courier(courier_setup, sessions):
        sent_events = [courier_setup.push(courier_setup.ann, content=f"number {number}") for number in range(30)]
        await sessions.spool.wait_until(lambda: set(sessions.list_line_ids()) >= set(sent_events))
        assert sorted(sessions.drain(courier_setup.store)) == sorted(sent_events)
    assert sessions.drain(courier_setup.store, reconcile=True) == []
    assert set(read_states(courier_setup).values()) == {ItemState.DELIVERED}


async def test_where_the_spool_cannot_be_written_nothing_is_lost(
    courier_setup: CourierSetup, sessions: GuestSessions
) -> None:
    sessions.spool.is_failing = True
    async with run_courier(courier_setup, sessions):
        sent_events = [courier_setup.push(courier_setup.ann, content=f"number {number}") for number in range(5)]
        await sessions.spool.wait_until(lambda: sessions.spool.failure_count >= 3)
        assert sessions.list_line_ids() == []
        sessions.spool.is_failing = False
        await sessions.spool.wait_until(lambda: set(sessions.list_line_ids()) >= set(sent_events))
    assert sorted(sessions.drain(courier_setup.store)) == sorted(sent_events)
    assert sessions.drain(courier_setup.store, reconcile=True) == []


async def test_every_session_is_told_and_the_agent_reads_it_once(
    courier_setup: CourierSetup, sessions: GuestSessions
) -> None:
    sessions.guests += [Guest(session="s2", agent=courier_setup.ann)]
    async with run_courier(courier_setup, sessions):
        sent_events = [courier_setup.push(courier_setup.ann, content=f"number {number}") for number in range(3)]
        for session in ("s1", "s2"):
            await sessions.spool.wait_until(
                lambda session_id=session: set(sessions.list_line_ids(session_id)) >= set(sent_events)  # type: ignore[misc]
            )
    assert sorted(sessions.drain(courier_setup.store, "s2")) == sorted(sent_events)
    assert sessions.drain(courier_setup.store, "s1") == []


@pytest.mark.parametrize("courier_setup", ["nats"], indirect=True)
async def test_a_session_that_cannot_be_told_keeps_nothing_from_the_others(
    courier_setup: CourierSetup, sessions: GuestSessions
) -> None:
    sessions.guests = [Guest(session=name, agent=courier_setup.ann) for name in ("broken", "s1")]
    sessions.spool.failing_session = "broken"
    async with run_courier(courier_setup, sessions):
        sent_event = courier_setup.push(courier_setup.ann, content="main is red")
        await sessions.spool.wait_until(
            lambda: sessions.list_line_ids() == [sent_event] and sessions.spool.failure_count >= 5
        )
        assert sessions.list_line_ids() == [sent_event]
        sessions.spool.failing_session = None
        await sessions.spool.wait_until(lambda: sessions.list_line_ids("broken") == [sent_event])
    assert sessions.drain(courier_setup.store) == [sent_event]
    assert sessions.drain(courier_setup.store, "broken") == []


async def test_a_session_that_begins_later_is_told_what_waits(
    courier_setup: CourierSetup, sessions: GuestSessions
) -> None:
    guests, sessions.guests = sessions.guests, []
    async with run_courier(courier_setup, sessions):
        early_event = courier_setup.push(courier_setup.ann, content="nobody there")
        await sessions.wait_for_full_round()
        assert sessions.list_line_ids() == []
        sessions.guests = guests
        await sessions.spool.wait_until(lambda: sessions.list_line_ids() == [early_event])
    assert read_states(courier_setup) == {early_event: ItemState.PENDING}


async def test_only_an_idle_agent_is_nudged_and_only_for_what_is_in_its_spool(
    courier_setup: CourierSetup, sessions: GuestSessions
) -> None:
    async with run_courier(courier_setup, sessions):
        first = courier_setup.push(courier_setup.ann, content='<b>"first"</b>\n', dedup_key="first")
        await sessions.spool.wait_until(lambda: first in sessions.list_line_ids())
        await sessions.wait_for_full_round()
        assert sessions.nudges == []
        sessions.note_activity("s1", idle=True)
        await sessions.spool.wait_until(lambda: len(sessions.nudges) == 1)
        [(session, text, lines)] = sessions.nudges
        assert session == "s1"
        assert lines >= 1
        assert text == 'Inbox: 1 event waits: [Event: test] "\\u003cb>\\"first\\"\\u003c/b>\\n"'
        sessions.note_activity("s1", idle=False)
        sessions.drain(courier_setup.store)
        sessions.note_activity("s1", idle=True)
        quiet_event = courier_setup.push(courier_setup.ann, content="whenever you like", priority=Priority.FYI)
        await sessions.spool.wait_until(lambda: quiet_event in sessions.list_line_ids())
        urgent_events = [
            courier_setup.push(courier_setup.ann, content=text, priority=priority) for text, priority in URGENT_CONTENTS
        ]
        await sessions.spool.wait_until(
            lambda: len(sessions.nudges) == 2 and set(sessions.list_line_ids()) >= set(urgent_events)
        )
        await sessions.wait_for_full_round()
        assert len(sessions.nudges) == 2
        assert "whenever" not in sessions.nudges[1][1]
    assert sessions.drain(courier_setup.store)


@pytest.mark.parametrize("courier_setup", ["store"], indirect=True)
async def test_a_nudge_names_nothing_that_was_read_by_another_way(
    courier_setup: CourierSetup, sessions: GuestSessions
) -> None:
    async with run_courier(courier_setup, sessions):
        sent_events = [
            courier_setup.push(courier_setup.ann, content=content, priority=priority)
            for content, priority in reversed(URGENT_CONTENTS)
        ]
        await sessions.spool.wait_until(lambda: sessions.list_line_ids() == sent_events)
        batch = courier_setup.store.run_sync(inbox.claim, courier_setup.ann, owner="another door", limit=1)
        assert batch.claim is not None
        courier_setup.store.run_sync(inbox.ack, batch.claim.id, owner="another door", fence=batch.claim.fence)
        sessions.note_activity("s1", idle=True)
        await sessions.spool.wait_until(lambda: len(sessions.nudges) == 1)
    assert sessions.nudges[0][1] == 'Inbox: 1 event waits: [Event: test] "soon"'


async def test_what_others_wrote_to_the_spool_of_an_idle_agent_is_a_reason_too(
    courier_setup: CourierSetup, sessions: GuestSessions
) -> None:
    """Whoever pushes on this machine writes the spool himself, and nudges nobody."""
    first = courier_setup.push(courier_setup.ann, content="main is red")
    [item] = courier_setup.list_pending(courier_setup.ann)
    sessions.spool.append("s1", [spool_line.from_event(item.event)])
    sessions.note_activity("s1", idle=True)
    async with run_courier(courier_setup, sessions) as courier_run:
        await sessions.spool.wait_until(lambda: len(sessions.nudges) == 1)
        sessions.note_activity("s1", idle=True)
        courier_run.reconcile_duty.wake()
        await sessions.wait_for_full_round()
    assert len(sessions.nudges) == 1
    assert sessions.list_line_ids() == [first]


URGENT_CONTENTS = [("soon", Priority.NORMAL), ("now", Priority.CRITICAL)]


@pytest.mark.parametrize("courier_setup", ["nats", "redis"], indirect=True)
async def test_an_agents_own_word_to_all_does_not_come_back(
    courier_setup: CourierSetup, sessions: GuestSessions
) -> None:
    async with run_courier(courier_setup, sessions):
        own_event = courier_setup.push("*", sender=courier_setup.ann, content="mine")
        note_event = courier_setup.push(courier_setup.ann, sender=courier_setup.ann, content="a note to myself")
        await sessions.spool.wait_until(lambda: note_event in sessions.list_line_ids())
        assert own_event not in sessions.list_line_ids()
