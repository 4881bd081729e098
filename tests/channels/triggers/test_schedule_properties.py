"""
Which slots of a cron trigger fire, however often one looks: each at most once, and none is lost unless it was late and
a later one fires in its place.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from gatepost.channels.triggers.cron_fire_actions import list_due_slots
from gatepost.channels.triggers.trigger import Heartbeat, TriggerSchedule, check_heartbeat, check_schedule
from gatepost.core.times import DAY, HOUR, MAX_DURATION, MINUTE, SECOND, Duration, Instant, parse_instant
from gatepost.errors import Invalid
from gatepost.plans import cron
from gatepost.plans.cron import Cron
from gatepost.plans.missed_slots import GRACE

ZONES = ("UTC", "Europe/Riga", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")
#: clocks change within the days after, in Riga; and in New York and on Lord Howe Island a little later or earlier
STARTS = tuple(map(parse_instant, ("2026-03-06T05:00:00Z", "2026-03-28T20:00:00Z", "2026-10-24T20:00:00Z")))
CRONS = ("* * * * *", "*/7 * * * *", "17 * * * *", "30 2 * * *", "15 1,2,3 * * *", "0 9 * * 1-5", "0 */5 * * *")

schedules = st.one_of(
    st.builds(TriggerSchedule, cron=st.sampled_from(CRONS), zone=st.sampled_from(ZONES)),
    st.builds(TriggerSchedule, every=st.integers(10 * SECOND, 3 * HOUR), zone=st.sampled_from(ZONES)),
)
pauses = st.one_of(
    st.just(0), st.integers(1, 20 * SECOND), st.integers(1, 3 * MINUTE), st.just(GRACE), st.integers(1, 2 * DAY)
)


def list_slots(schedule: TriggerSchedule, since: Instant, after: Instant, until: Instant) -> list[Instant]:
    """Every slot, the long way."""
    if schedule.every is None:
        return Cron(schedule.cron or "", schedule.zone).list_between(after, until)
    first = (after - since) // schedule.every + 1
    return [since + n * schedule.every for n in range(first, (until - since) // schedule.every + 1)]


@given(schedules, st.sampled_from(STARTS), st.integers(0, 10 * DAY), st.lists(pauses, max_size=30))
def test_each_slot_fires_at_most_once_and_none_is_lost_beyond_catching_up(
    schedule: TriggerSchedule, start: Instant, age: Duration, waits: list[Duration]
) -> None:
    """Somebody looks when a slot is due, or some time after: each pause is how late."""
    since, now = start - age, start
    next_at = schedule.find_next(start, since=since)
    fired_slots: list[Instant] = []
    for wait in waits:
        assert next_at is not None
        assert next_at > now
        last_look, now = now, next_at + wait
        slots = list_due_slots(schedule, next_at, now, since=since)
        due_slots = list_slots(schedule, since, last_look, now)
        assert due_slots[0] == next_at
        timely_slots = [slot for slot in due_slots if now - slot <= GRACE]
        assert slots == (timely_slots or due_slots[-1:])
        fired_slots += slots
        next_at = schedule.find_next(now, since=since)
    assert fired_slots == sorted(set(fired_slots))


@given(st.sampled_from(STARTS), st.integers(1, 100 * DAY), st.integers(0, 100 * DAY))
def test_one_time_fires_once_however_late(now: Instant, ahead: Duration, late: Duration) -> None:
    schedule = TriggerSchedule(at=now + ahead)
    assert schedule.find_next(now, since=now) == now + ahead
    assert list_due_slots(schedule, now + ahead, now + ahead + late, since=now) == [now + ahead]
    assert schedule.find_next(now + ahead + late, since=now) is None


@given(schedules, st.sampled_from(STARTS), st.integers(-10 * DAY, 10 * DAY))
def test_the_next_slot_is_near_also_if_the_clock_is_before_the_beginning(
    schedule: TriggerSchedule, since: Instant, offset: Duration
) -> None:
    next_at = schedule.find_next(since + offset, since=since)
    assert next_at is not None
    assert 0 < next_at - since - offset <= (schedule.every or 4 * DAY)
    assert next_at in list_slots(schedule, since, since + offset, next_at)


@given(st.integers(0, 24), st.integers(0, 24), st.sampled_from(STARTS), st.integers(0, 5 * DAY), st.sampled_from(ZONES))
def test_active_hours_are_those_that_the_clock_of_the_zone_shows(
    first: int, last: int, start: Instant, offset: Duration, zone: str
) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=start + offset)
    hour = moment.astimezone(ZoneInfo(zone)).hour
    assert cron.read_hour(start + offset, zone) == hour
    hours = {number % 24 for number in range(first, last if last > first else last + 24)}
    if first == last or not hours:
        with pytest.raises(Invalid):
            check_heartbeat(Heartbeat(active_hours=(first, last)))
    else:
        assert check_heartbeat(Heartbeat(active_hours=(first, last))).is_active(hour) == (hour in hours)


@given(st.integers(10 * SECOND, MAX_DURATION))
def test_an_interval_is_valid_as_it_is(every: Duration) -> None:
    schedule = TriggerSchedule(every=every)
    assert check_schedule(schedule) == schedule
