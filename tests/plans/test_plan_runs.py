"""Plans that are run by hand: they fire once, now, and their schedule stays."""

from typing import Any

import pytest

from gatepost.core.times import HOUR, parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.errors import NotFound, Refused
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Item
from gatepost.plans import actions as plans
from gatepost.plans.plan import Plan, PlanFire, PlanStatus
from gatepost.reports import fire_list_handlers as fires
from tests.plans.plan_specs import parse_spec
from tests.residents.tools.tool_caller import continue_chain
from tests.support.store_context import StoreContext

#: what FakeClock begins with
MORNING = parse_instant("2026-02-18T09:00:00Z")


def set_plan(ctx: StoreContext, **fields: Any) -> Plan:
    spec = parse_spec({"name": "Report", "instruction": "Post it"} | fields)
    return ctx.store.run_sync(plans.set_plan, "ann", spec)


def run_now(ctx: StoreContext, plan: Plan, *, owner: str | None = None, by: str | None = None) -> PlanFire:
    return ctx.store.run_sync(plans.run_now, plan.id, owner=owner, by=by)


def list_items(ctx: StoreContext) -> list[Item]:
    return ctx.store.read_sync(inbox.list_page, "ann", limit=100)


def test_a_plan_that_is_run_fires_now_and_at_its_slot(ctx: StoreContext) -> None:
    plan = set_plan(ctx, cron="0 12 * * *")
    fire = run_now(ctx, plan, owner="ann")
    [item] = list_items(ctx)
    assert (item.event.id, item.event.content, fire.recipient) == (fire.event, "Post it", "ann")
    assert item.event.data == {
        "planId": plan.id,
        "planName": "Report",
        "instruction": "Post it",
        "dueAt": MORNING,
    }
    stored = ctx.store.read_sync(plans.show, plan.id)
    assert (stored.next_at, stored.last_at, stored.fired) == (plan.next_at, None, 1)
    ctx.clock.advance(3 * HOUR)
    assert ctx.store.run_sync(plans.fire) == 1
    assert [fire.due_at for fire in ctx.store.read_sync(fires.list_of_plan, plan.id)] == [MORNING + 3 * HOUR, MORNING]
    assert ctx.store.read_sync(plans.show, plan.id).fired == 2


def test_two_runs_at_one_instant_are_one(ctx: StoreContext) -> None:
    plan = set_plan(ctx, cron="0 12 * * *")
    assert run_now(ctx, plan).event == run_now(ctx, plan).event
    ctx.clock.advance(1)
    run_now(ctx, plan)
    assert (len(list_items(ctx)), ctx.store.read_sync(plans.show, plan.id).fired) == (2, 2)


def test_a_plan_that_is_disabled_or_has_ended_can_be_run(ctx: StoreContext) -> None:
    disabled_plan = set_plan(ctx, cron="0 12 * * *", active=False)
    ended_plan = set_plan(ctx, runAfter="1 hour")
    ctx.clock.advance(HOUR)
    ctx.store.run_sync(plans.fire)
    ctx.clock.advance(1)  # a slot of this instant would be the same fire
    for plan in (disabled_plan, ended_plan):
        run_now(ctx, plan)
    assert len(list_items(ctx)) == 2 + 1
    assert not ctx.store.read_sync(plans.show, disabled_plan.id).active
    stored = ctx.store.read_sync(plans.show, ended_plan.id)
    assert (stored.status, stored.scheduled_at) == (PlanStatus.COMPLETED, MORNING + HOUR)


@pytest.mark.parametrize(("by", "hops"), [("ann", 3), (None, 0)])
def test_what_an_agent_runs_continues_its_chain(ctx: StoreContext, by: str | None, hops: int) -> None:
    plan = set_plan(ctx, cron="0 12 * * *")
    with continue_chain(ctx.store, "ann", 3 if by else 0):
        fire = run_now(ctx, plan, by=by)
    [event] = [item.event for item in list_items(ctx) if item.event.id == fire.event]
    assert event.hops == hops


def test_only_its_owner_runs_a_plan_and_it_needs_a_recipient(ctx: StoreContext) -> None:
    plan = set_plan(ctx, cron="0 12 * * *")
    with pytest.raises(NotFound, match="there is no plan"):
        run_now(ctx, plan, owner="bob")
    ctx.store.run_sync(directory.retire, "ann")
    with pytest.raises(Refused, match="ann"):
        run_now(ctx, plan)
    assert ctx.store.read_sync(plans.show, plan.id).fired == 0
