"""
Which instants are slots, and which of them fire, against the rules written out the long way: a walk through every
minute of a few days around a change of clocks.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim
from hypothesis import example, given, strategies as st

from gatepost.core.times import DAY, HOUR, MINUTE, SECOND, Instant, parse_instant
from gatepost.plans import missed_slots
from gatepost.plans.cron import Cron
from gatepost.plans.missed_slots import GRACE, MAX_SLOTS
from gatepost.plans.plan import CatchUp, Plan, PlanStatus

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STEP = timedelta(minutes=1)
WINDOW = 30 * HOUR

#: when clocks change: not at all, by an hour, by two, by half of one, at midnight, by a whole day
CLOCK_CHANGES = {
    "UTC": ("2026-03-29T01:00:00Z",),
    "Asia/Kathmandu": ("2026-03-29T01:00:00Z",),
    "Europe/Riga": ("2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"),
    "America/New_York": ("2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z"),
    "Antarctica/Troll": ("2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"),
    "Australia/Lord_Howe": ("2026-10-03T15:30:00Z", "2026-04-04T15:00:00Z"),
    "Africa/Cairo": ("2026-04-23T22:00:00Z", "2026-10-29T21:00:00Z"),
    "America/Sao_Paulo": ("2018-11-04T03:00:00Z", "2018-02-18T02:00:00Z"),
    "Pacific/Apia": ("2011-12-30T10:00:00Z",),
}
clock_changes = st.sampled_from(
    [(zone, parse_instant(when)) for zone, times in CLOCK_CHANGES.items() for when in times]
)
plain_clock_changes = clock_changes.filter(lambda change: change[0] in ("UTC", "Europe/Riga", "America/New_York"))


@st.composite
def cron_fields(draw: st.DrawFn, low: int, high: int, likely: int) -> str:
    """One field; the numbers in it mostly among the first few, where clocks change."""
    number = st.integers(low, likely) | st.integers(low, high)
    match draw(st.sampled_from(("star", "step", "one", "list", "range", "from"))):
        case "star":
            return "*"
        case "step":
            return f"*/{draw(st.sampled_from((2, 3, 5, 7, 15, 30)))}"
        case "one":
            return str(draw(number))
        case "list":
            return ",".join(map(str, draw(st.lists(number, min_size=1, max_size=4))))
        case "range":
            return "-".join(map(str, sorted((draw(number), draw(number)))))
        case _:
            return f"{draw(number)}/{draw(st.sampled_from((2, 3, 15)))}"


@st.composite
def cron_expressions(draw: st.DrawFn) -> str:
    day = draw(st.sampled_from(("*", "*", "*", "1", "4", "24,29,30", "*/2", "25-31")))
    weekday = draw(st.sampled_from(("*", "*", "*", "0", "7", "6-7", "1-5", "*/2")))
    return f"{draw(cron_fields(0, 59, 59))} {draw(cron_fields(0, 23, 4))} {day} * {weekday}"


cron_cases = st.tuples(cron_expressions(), clock_changes).map(lambda pair: (Cron(pair[0], pair[1][0]), pair[1][1]))
offsets = st.integers(-5 * 60, 5 * 60).map(lambda minutes: minutes * MINUTE) | st.integers(-5 * HOUR, 5 * HOUR)

delays = st.sampled_from((0, GRACE - 1, GRACE, GRACE + 1)) | st.integers(0, 3 * MINUTE) | st.integers(0, 4 * DAY)


@given(cron_cases, offsets)
def test_slots_are_those_of_a_walk_through_every_minute(cron_case: tuple[Cron, Instant], start: int) -> None:
    cron, change = cron_case
    after, until = change + start, change + WINDOW
    assert cron.list_between(after, until) == list(walk_slots(cron, after, until))


@given(cron_expressions(), plain_clock_changes, st.integers(1, 30))
def test_where_clocks_change_by_an_hour_at_night_slots_are_cronsims(
    expression: str, change: tuple[str, Instant], hours: int
) -> None:
    zone, when = change
    after = when - (3 + hours) * HOUR
    cronsim_slots = []
    for moment in CronSim(expression, (EPOCH + timedelta(microseconds=after)).astimezone(ZoneInfo(zone))):
        slot = (moment - EPOCH) // timedelta(microseconds=1)
        if slot > when + WINDOW:
            break
        cronsim_slots.append(slot)
    assert Cron(expression, zone).list_between(after, when + WINDOW) == cronsim_slots


@given(cron_cases, offsets, offsets)
def test_slots_do_not_depend_on_when_one_asks(cron_case: tuple[Cron, Instant], start: int, half: int) -> None:
    cron, change = cron_case
    after, middle = change + min(start, half), change + max(start, half)
    all_slots = cron.list_between(after, change + WINDOW)
    assert cron.list_between(after, middle) + cron.list_between(middle, change + WINDOW) == all_slots
    assert all(earlier < later for earlier, later in pairwise(all_slots))
    next_slot = cron.find_next(after)
    assert next_slot is not None
    assert next_slot > after


@given(cron_cases, offsets, st.integers(1, 120), st.integers(0, 40))
def test_the_latest_slots_are_the_end_of_all(
    cron_case: tuple[Cron, Instant], start: int, limit: int, days: int
) -> None:
    cron, change = cron_case
    after, until = change + start - days * DAY // 10, change + WINDOW
    assert cron.list_latest(after, until, limit) == cron.list_between(after, until)[-limit:]


@given(cron_cases, st.sampled_from(CatchUp), offsets, delays)
@example((Cron("* * * * *"), 0), CatchUp.ONCE, 0, GRACE)
@example((Cron("* * * * *"), 0), CatchUp.ONCE, 0, GRACE + 1)
@example((Cron("* * * * *"), 0), CatchUp.SKIP, 0, GRACE)
@example((Cron("0 * * * *"), 0), CatchUp.SKIP, 0, GRACE + 1)
def test_what_fires_is_what_the_rule_says(
    cron_case: tuple[Cron, Instant], catch_up: CatchUp, start: int, delay: int
) -> None:
    cron, change = cron_case
    plan = build_plan(cron, catch_up, change + start)
    assert plan.next_at is not None
    now = plan.next_at + delay
    firing = missed_slots.compute_firing(plan, now)
    due = [plan.next_at, *cron.list_between(plan.next_at, now)]
    on_time = [slot for slot in due if now - slot <= GRACE]
    expected: dict[CatchUp, list[Instant]] = {
        CatchUp.ALL: due[-MAX_SLOTS:],
        CatchUp.SKIP: on_time,
        CatchUp.ONCE: on_time or due[-1:],
    }
    assert list(firing.slots) == expected[catch_up]
    assert firing.next_at == cron.find_next(now)


@given(cron_cases, st.sampled_from(CatchUp), st.lists(st.integers(0, 30 * SECOND), max_size=200))
def test_whatever_the_rule_what_is_never_late_fires_slot_by_slot(
    cron_case: tuple[Cron, Instant], catch_up: CatchUp, delay_list: list[int]
) -> None:
    cron, change = cron_case
    plan = build_plan(cron, catch_up, change - 3 * HOUR)
    first, fired_slots = plan.next_at, list[Instant]()
    for delay in delay_list:
        assert plan.next_at is not None
        firing = missed_slots.compute_firing(plan, plan.next_at + delay)
        fired_slots += firing.slots
        plan = build_plan(cron, catch_up, next_at=firing.next_at)
    assert first is not None
    assert fired_slots == ([first, *cron.list_between(first, fired_slots[-1])] if fired_slots else [])


@given(cron_cases, st.lists(st.integers(1, 5 * HOUR), max_size=40))
def test_catching_up_on_all_fires_each_slot_once_whenever_one_looks(
    cron_case: tuple[Cron, Instant], steps: list[int]
) -> None:
    """A look at least every hour and a half misses fewer slots than are caught up on."""
    cron, change = cron_case
    plan = build_plan(cron, CatchUp.ALL, change - 3 * HOUR)
    now, fired_slots = change - 3 * HOUR, list[Instant]()
    for step in steps:
        now += min(step, 90 * MINUTE)
        if plan.next_at is not None and plan.next_at <= now:
            firing = missed_slots.compute_firing(plan, now)
            fired_slots += firing.slots
            plan = build_plan(cron, CatchUp.ALL, next_at=firing.next_at)
    assert fired_slots == cron.list_between(change - 3 * HOUR, now)


@given(st.integers(0, 10**18), st.integers(0, 10**17))
def test_what_is_due_once_fires_once_however_late(due: Instant, delay: int) -> None:
    plan = build_plan(None, CatchUp.ONCE, next_at=due)
    assert missed_slots.compute_firing(plan, due + delay) == missed_slots.Firing(slots=(due,), next_at=None)


def build_plan(
    cron: Cron | None, catch_up: CatchUp, after: Instant | None = None, next_at: Instant | None = None
) -> Plan:
    return Plan(
        id="plan_" + "0" * 32,
        owner="ann",
        name="report",
        instruction="",
        cron=cron.expression if cron else None,
        zone=cron.zone if cron else None,
        catch_up=catch_up,
        status=PlanStatus.PENDING,
        next_at=cron.find_next(after) if cron and after is not None else next_at,
        last_at=None,
        fired=0,
        created_at=0,
    )


def walk_slots(cron: Cron, after: Instant, until: Instant) -> Iterator[Instant]:
    """Every slot, by looking at the clock each minute and at what it jumped over."""
    is_match, at_fixed_times = build_matcher(cron.expression)
    zone = ZoneInfo(cron.zone)
    minute = after // MINUTE * MINUTE
    last_local_time = (EPOCH + timedelta(microseconds=minute)).astimezone(zone)
    while (minute := minute + MINUTE) <= until:
        local_time = (EPOCH + timedelta(microseconds=minute)).astimezone(zone)
        skipped_time = last_local_time.replace(tzinfo=None) + STEP
        skipped_times = []
        while skipped_time < local_time.replace(tzinfo=None):
            skipped_times.append(skipped_time)
            skipped_time += STEP
        if (is_match(local_time) and not (at_fixed_times and local_time.fold)) or (
            at_fixed_times and any(map(is_match, skipped_times))
        ):
            yield minute
        last_local_time = local_time


def build_matcher(expression: str) -> tuple[Callable[[datetime], bool], bool]:
    """Whether a time is meant, and whether by fixed times."""
    minute, hour, day, _, weekday = expression.split()
    minutes, hours, days = parse_field(minute, 0, 59), parse_field(hour, 0, 23), parse_field(day, 1, 31)
    weekdays = {number % 7 for number in parse_field(weekday, 0, 7)}
    needs_both = day.startswith("*") or weekday.startswith("*")

    def is_match(local_time: datetime) -> bool:
        on_day, on_weekday = local_time.day in days, local_time.isoweekday() % 7 in weekdays
        is_right_day = (on_day and on_weekday) if needs_both else (on_day or on_weekday)
        return local_time.minute in minutes and local_time.hour in hours and is_right_day

    return is_match, not (minute.startswith("*") or hour.startswith("*"))


def parse_field(field: str, low: int, high: int) -> set[int]:
    numbers: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        if span == "*":
            values = range(low, high + 1)
        else:
            values = range(int(first), (int(last) if dash else high if step else int(first)) + 1)
        numbers.update(values[:: int(step or 1)])
    return numbers
