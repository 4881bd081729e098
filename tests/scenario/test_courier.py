"""A courier at work, on each of the roads: what is pushed reaches the agent by its spool, once, and is marked then."""

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from gatepost.actions import inbox, push
from gatepost.app import open_store
from gatepost.core import spool_line
from gatepost.core.event import EventType, ItemState, Priority, Push
from gatepost.core.guest import Guest
from tests.couriers import ROADS, Nothing, Road, Room, courier, road, server


@pytest.fixture(params=ROADS)
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Road]:
    async with road(request.param, server(request.param, request), tmp_path) as made:
        yield made


@pytest.fixture
async def room(place: Road, tmp_path: Path) -> Room:
    return Room(tmp_path / "spool", place.ann)


def states(place: Road) -> dict[str, ItemState]:
    return {item.event.id: item.state for item in place.store.query(inbox.page, place.ann)}


async def test_what_is_pushed_is_in_the_spool_then_shown_once_and_only_then_delivered(place: Road, room: Room) -> None:
    before = place.push(place.ann, content="before the courier came")
    async with courier(place, room):
        await room.spool.until(lambda: before in room.lines())
        sent = [place.push(place.ann, content=f"number {number}", key=f"k{number}") for number in range(20)]
        sent += [place.push("*", sender=place.bob, type=EventType.SYSTEM, content="to all")]
        place.push(place.bob, content="for somebody else")
        await room.spool.until(lambda: set(room.lines()) >= {before, *sent})
        assert set(states(place).values()) == {ItemState.PENDING}
        assert sorted(room.drain(place.store)) == sorted([before, *sent])
        assert set(states(place).values()) == {ItemState.DELIVERED}
        last = place.push(place.ann, content="last")
        await room.spool.until(lambda: last in room.lines())
        assert room.drain(place.store) == [last]
    assert sorted(room.shown) == sorted([before, *sent, last])
    assert room.drain(place.store, reconcile=True) == []


async def test_what_the_transport_lost_is_found_by_asking_the_store(place: Road, room: Room, tmp_path: Path) -> None:
    with closing(open_store(f"sqlite:///{tmp_path}/road.db")) as silent:  # whoever uses it rings nobody
        async with courier(place, room, open_subscription=Nothing) as carrying:
            carried = place.push(place.ann, content="by whatever road")
            lost = [
                silent.call(push.push_event, Push(to=to, source="test", content="unheard of")).event
                for to in (place.ann, "*")
            ]
            carrying.reconcile_duty.wake()
            await room.spool.until(lambda: set(room.lines()) == {carried, *lost})
            carrying.reconcile_duty.wake()
            later = silent.call(push.push_event, Push(to=place.ann, source="test", content="later")).event
            carrying.reconcile_duty.wake()
            await room.spool.until(lambda: later in room.lines())
            assert sorted(room.lines()) == sorted([carried, *lost, later])
    assert set(states(place).values()) == {ItemState.PENDING}
    assert sorted(room.drain(place.store)) == sorted([carried, *lost, later])


async def test_what_was_shown_while_the_store_was_out_of_reach_is_not_written_again(place: Road, room: Room) -> None:
    async with courier(place, room) as carrying:
        first = place.push(place.ann, content="first", key="k")
        await room.spool.until(lambda: first in room.lines())
        assert room.drain(None) == [first]
        assert states(place) == {first: ItemState.PENDING}
        carrying.reconcile_duty.wake()
        second = place.push(place.ann, content="second")
        carrying.reconcile_duty.wake()
        await room.spool.until(lambda: second in room.lines())
        assert set(room.lines()) == {second}
    assert room.drain(place.store) == [second]
    assert set(states(place).values()) == {ItemState.DELIVERED}


async def test_two_couriers_by_mistake_do_no_harm(place: Road, room: Room) -> None:
    async with courier(place, room), courier(place, room):
        sent = [place.push(place.ann, content=f"number {number}") for number in range(30)]
        await room.spool.until(lambda: set(room.lines()) >= set(sent))
        assert sorted(room.drain(place.store)) == sorted(sent)
    assert room.drain(place.store, reconcile=True) == []
    assert set(states(place).values()) == {ItemState.DELIVERED}


async def test_where_the_spool_cannot_be_written_nothing_is_lost(place: Road, room: Room) -> None:
    room.spool.fails = True
    async with courier(place, room):
        sent = [place.push(place.ann, content=f"number {number}") for number in range(5)]
        await room.spool.until(lambda: room.spool.failed >= 3)
        assert room.lines() == []
        room.spool.fails = False
        await room.spool.until(lambda: set(room.lines()) >= set(sent))
    assert sorted(room.drain(place.store)) == sorted(sent)
    assert room.drain(place.store, reconcile=True) == []


async def test_every_session_is_told_and_the_agent_reads_it_once(place: Road, room: Room) -> None:
    room.guests += [Guest(session="s2", agent=place.ann)]
    async with courier(place, room):
        sent = [place.push(place.ann, content=f"number {number}") for number in range(3)]
        for session in ("s1", "s2"):
            await room.spool.until(lambda which=session: set(room.lines(which)) >= set(sent))  # type: ignore[misc]
    assert sorted(room.drain(place.store, "s2")) == sorted(sent)
    assert room.drain(place.store, "s1") == []


@pytest.mark.parametrize("place", ["nats"], indirect=True)
async def test_a_session_that_cannot_be_told_keeps_nothing_from_the_others(place: Road, room: Room) -> None:
    room.guests = [Guest(session=name, agent=place.ann) for name in ("broken", "s1")]
    room.spool.broken = "broken"
    async with courier(place, room):
        sent = place.push(place.ann, content="main is red")
        await room.spool.until(lambda: room.lines() == [sent] and room.spool.failed >= 5)
        assert room.lines() == [sent]
        room.spool.broken = None
        await room.spool.until(lambda: room.lines("broken") == [sent])
    assert room.drain(place.store) == [sent]
    assert room.drain(place.store, "broken") == []


async def test_a_session_that_begins_later_is_told_what_waits(place: Road, room: Room) -> None:
    guests, room.guests = room.guests, []
    async with courier(place, room):
        early = place.push(place.ann, content="nobody there")
        await room.looked()
        assert room.lines() == []
        room.guests = guests
        await room.spool.until(lambda: room.lines() == [early])
    assert states(place) == {early: ItemState.PENDING}


async def test_only_an_idle_agent_is_nudged_and_only_for_what_is_in_its_spool(place: Road, room: Room) -> None:
    async with courier(place, room):
        first = place.push(place.ann, content='<b>"first"</b>\n', key="first")
        await room.spool.until(lambda: first in room.lines())
        await room.looked()
        assert room.nudges == []
        room.noted("s1", idle=True)
        await room.spool.until(lambda: len(room.nudges) == 1)
        [(session, text, lines)] = room.nudges
        assert session == "s1"
        assert lines >= 1
        assert text == 'Inbox: 1 event waits: [Event: test] "\\u003cb>\\"first\\"\\u003c/b>\\n"'
        room.noted("s1", idle=False)
        room.drain(place.store)
        room.noted("s1", idle=True)
        quiet = place.push(place.ann, content="whenever you like", priority=Priority.FYI)
        await room.spool.until(lambda: quiet in room.lines())
        loud = [place.push(place.ann, content=text, priority=priority) for text, priority in LOUD]
        await room.spool.until(lambda: len(room.nudges) == 2 and set(room.lines()) >= set(loud))
        await room.looked()
        assert len(room.nudges) == 2
        assert "whenever" not in room.nudges[1][1]
    assert room.drain(place.store)


@pytest.mark.parametrize("place", ["store"], indirect=True)
async def test_a_nudge_names_nothing_that_was_read_by_another_way(place: Road, room: Room) -> None:
    async with courier(place, room):
        sent = [place.push(place.ann, content=content, priority=priority) for content, priority in reversed(LOUD)]
        await room.spool.until(lambda: room.lines() == sent)
        taken = place.store.call(inbox.claim, place.ann, owner="another door", limit=1)
        assert taken.claim is not None
        place.store.call(inbox.ack, taken.claim.id, owner="another door", fence=taken.claim.fence)
        room.noted("s1", idle=True)
        await room.spool.until(lambda: len(room.nudges) == 1)
    assert room.nudges[0][1] == 'Inbox: 1 event waits: [Event: test] "soon"'


async def test_what_others_wrote_to_the_spool_of_an_idle_agent_is_a_reason_too(place: Road, room: Room) -> None:
    """Whoever pushes on this machine writes the spool himself, and nudges nobody."""
    first = place.push(place.ann, content="main is red")
    [item] = place.pending(place.ann)
    room.spool.append("s1", [spool_line.from_event(item.event)])
    room.noted("s1", idle=True)
    async with courier(place, room) as carrying:
        await room.spool.until(lambda: len(room.nudges) == 1)
        room.noted("s1", idle=True)
        carrying.reconcile_duty.wake()
        await room.looked()
    assert len(room.nudges) == 1
    assert room.lines() == [first]


LOUD = [("soon", Priority.NORMAL), ("now", Priority.CRITICAL)]


@pytest.mark.parametrize("place", ["nats", "redis"], indirect=True)
async def test_an_agents_own_word_to_all_does_not_come_back(place: Road, room: Room) -> None:
    async with courier(place, room):
        own = place.push("*", sender=place.ann, content="mine")
        other = place.push(place.ann, sender=place.ann, content="a note to myself")
        await room.spool.until(lambda: other in room.lines())
        assert own not in room.lines()
