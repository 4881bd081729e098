"""What runs have used: by agent, model, cause and time; the most expensive runs; and budgets."""

from typing import Any

import pytest

from gatepost.core.times import DAY, HOUR
from gatepost.errors import Invalid
from gatepost.inbox.event import EventType
from gatepost.residents import usage_actions as usage
from gatepost.residents.budget_actions import list_budgets
from gatepost.residents.runs import actions as runs
from gatepost.residents.runs.run import RunStatus
from gatepost.residents.usage_api import UsageDimension, UsageGroup, add_up
from gatepost.stores.statements import Sql
from tests.residents import resident_runs
from tests.support.store_context import StoreContext

#: tokens of a run of `resident_runs`
TOKENS = 287


def think(ctx: StoreContext, name: str) -> str:
    """Let a resident do a run, and return its id."""
    waiting_run = resident_runs.begin_run(ctx.store, name)
    resident_runs.finish_run(ctx.store, waiting_run)
    return waiting_run.run_id


@pytest.fixture
def office(ctx: StoreContext) -> StoreContext:
    """Two residents: one thought twice yesterday and once today, the other once today and has a small budget."""
    resident_runs.create_resident(ctx.store, "thinker")
    resident_runs.create_resident(ctx.store, "spender", budget={"tokens": 100, "per": "day"})
    think(ctx, "thinker")
    think(ctx, "thinker")
    ctx.clock.advance(DAY)
    think(ctx, "thinker")
    think(ctx, "spender")
    return ctx


def list_groups(
    ctx: StoreContext, *by: UsageDimension, since: int = 0, agent: str | None = None, after: int = 0, limit: int = 100
) -> list[UsageGroup]:
    until = ctx.clock.now() + 1
    return ctx.store.read_sync(usage.list_page, agent=agent, since=since, until=until, by=by, after=after, limit=limit)


def test_groups_with_the_most_tokens_come_first(office: StoreContext) -> None:
    groups = list_groups(office, UsageDimension.AGENT)
    assert [(group.agent, group.runs) for group in groups] == [("thinker", 3), ("spender", 1)]
    assert [group.prompt_tokens + group.completion_tokens for group in groups] == [3 * TOKENS, TOKENS]
    assert {(group.model, group.cause, group.starts_at) for group in groups} == {(None, None, None)}


def test_days_come_in_their_order(office: StoreContext) -> None:
    today = office.clock.now() - office.clock.now() % DAY
    groups = list_groups(office, UsageDimension.DAY)
    assert [(group.starts_at, group.runs) for group in groups] == [(today - DAY, 2), (today, 2)]
    groups = list_groups(office, UsageDimension.DAY, UsageDimension.AGENT, UsageDimension.MODEL, UsageDimension.CAUSE)
    assert [(group.starts_at, group.agent, group.model, group.cause) for group in groups] == [
        (today - DAY, "thinker", "demo", "event"),
        (today, "thinker", "demo", "event"),
        (today, "spender", "demo", "event"),
    ]


def test_only_runs_that_started_in_the_time_count(office: StoreContext) -> None:
    [group] = list_groups(office, since=office.clock.now())
    assert group.runs == 2
    assert list_groups(office, since=office.clock.now() + 1) == []
    [group] = list_groups(office, UsageDimension.AGENT, agent="spender")
    assert (group.agent, group.runs) == ("spender", 1)


def test_groups_are_paged(office: StoreContext) -> None:
    groups = list_groups(office, UsageDimension.AGENT, UsageDimension.DAY)
    pages = [
        list_groups(office, UsageDimension.AGENT, UsageDimension.DAY, after=number, limit=1) for number in range(4)
    ]
    assert [group for page in pages for group in page] == groups
    assert add_up(groups) == office.store.read_sync(usage.sum_all, since=0, until=office.clock.now() + 1)


def test_a_day_and_an_hour_exclude_each_other(office: StoreContext) -> None:
    with pytest.raises(Invalid, match="both times"):
        list_groups(office, UsageDimension.DAY, UsageDimension.HOUR)


def test_nothing_was_used(ctx: StoreContext) -> None:
    assert list_groups(ctx, UsageDimension.AGENT) == []
    assert ctx.store.read_sync(usage.sum_all, since=0, until=ctx.clock.now()) == UsageGroup()


def test_the_most_expensive_run_is_first(office: StoreContext) -> None:
    open_run = resident_runs.begin_run(office.store)  # one reply so far
    until = office.clock.now() + 1
    listed_runs = office.store.read_sync(usage.list_most_expensive, since=0, until=until)
    assert [run.prompt_tokens + run.completion_tokens for run in listed_runs] == [TOKENS] * 4 + [128]
    assert listed_runs[-1].id == open_run.run_id
    first = listed_runs[0]
    after = (TOKENS, first.number)
    assert office.store.read_sync(usage.list_most_expensive, since=0, until=until, after=after) == listed_runs[1:]


def test_the_most_expensive_runs_are_found_by_what_they_were(office: StoreContext) -> None:
    sql = "UPDATE runs SET limit_reached = 'budget', status = 'failed', ended_at = started_at WHERE number = 2"
    office.store.run_sync(lambda tx: tx.execute(Sql(sql)))
    until = office.clock.now() + 1

    def list_numbers(**filters: Any) -> list[int]:
        return [
            run.number for run in office.store.read_sync(usage.list_most_expensive, since=0, until=until, **filters)
        ]

    assert list_numbers(model="demo", cause=EventType.EVENT) == [4, 3, 2, 1]
    assert list_numbers(model="other") == list_numbers(cause=EventType.MAIL) == []
    assert list_numbers(status=RunStatus.FAILED) == list_numbers(is_stopped=True) == [2]


def test_a_budget_shows_what_it_stops(office: StoreContext) -> None:
    office.push_event("more", "spender")
    [status] = office.store.read_sync(list_budgets)
    assert (status.agent, status.spending.tokens, status.spending.cycles) == ("spender", TOKENS, 1)
    assert (status.is_exhausted, status.waiting_items, status.stopped_runs) == (True, 1, 0)
    assert status.period_end - status.period_start == DAY
    office.clock.advance(DAY)
    [status] = office.store.read_sync(list_budgets, agent="spender")
    assert (status.spending.tokens, status.is_exhausted) == (0, False)
    assert office.store.read_sync(list_budgets, agent="thinker") == []


def test_runs_are_found_by_time_cause_and_model(office: StoreContext) -> None:
    now = office.clock.now()

    def count(**filters: Any) -> int:
        return len(office.store.read_sync(runs.list_page, **filters))

    assert (count(), count(since=now), count(until=now)) == (4, 2, 2)
    assert (count(since=now - DAY, until=now - HOUR), count(since=now + 1)) == (2, 0)
    assert (count(cause=EventType.EVENT), count(cause=EventType.MAIL)) == (4, 0)
    assert (count(model="demo"), count(model="other")) == (4, 0)
