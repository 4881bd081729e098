"""Plans that are disabled: they never fire, and what happens when they are enabled again."""

from typing import Any

import pytest

from gatepost.core.signals import Signal, Topic
from gatepost.core.times import DAY, HOUR, parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.errors import Conflict, NotFound, Refused
from gatepost.gates import gate_actions as gates
from gatepost.gates.gate import Gate, GateKind, GateSpec
from gatepost.inbox import claim_actions as inbox
from gatepost.plans import actions as plans
from gatepost.plans.api import PlanView
from gatepost.plans.plan import Plan, PlanStatus
from gatepost.reports import fire_list_handlers as fires
from tests.plans.plan_specs import parse_spec
from tests.residents.tools.tool_caller import continue_chain
from tests.support.store_context import StoreContext

#: what FakeClock begins with
MORNING = parse_instant("2026-02-18T09:00:00Z")
SCHEDULES = ({"cron": "0 12 * * *"}, {"runAfter": "3 hours"}, {"scheduledAt": "2026-02-18T12:00:00Z"})


def set_plan(ctx: StoreContext, owner: str | None = "ann", hops: int = 0, **fields: Any) -> Plan:
    spec = parse_spec({"name": "Report", "instruction": "Post it"} | fields if "id" not in fields else fields)
    with continue_chain(ctx.store, owner or "", hops):
        return ctx.store.run_sync(plans.set_plan, owner, spec, by=owner if hops else None)


def disable(ctx: StoreContext, plan: Plan) -> Plan:
    return set_plan(ctx, id=plan.id, active=False)


def enable(ctx: StoreContext, plan: Plan) -> Plan:
    return set_plan(ctx, id=plan.id, active=True)


def fire_until(ctx: StoreContext, time: str) -> list[str]:
    """Move the clock, fire what is due, and return the slots of all events of ann."""
    ctx.clock.advance(parse_instant(time) - ctx.clock.now())
    while ctx.store.run_sync(plans.fire):
        pass
    items = ctx.store.read_sync(inbox.list_page, "ann", limit=1_000)
    return [(item.event.dedup_key or "").partition(":2026-")[2].removesuffix(":00Z") for item in items]


def show(ctx: StoreContext, plan: Plan) -> Plan:
    return ctx.store.read_sync(plans.show, plan.id)


class TestDisabling:
    @pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: next(iter(schedule)))
    def test_a_disabled_plan_never_fires(self, ctx: StoreContext, schedule: dict[str, Any]) -> None:
        plan = set_plan(ctx, **schedule)
        disabled_plan = disable(ctx, plan)
        assert (disabled_plan.active, disabled_plan.status) == (False, PlanStatus.PENDING)
        assert disabled_plan == show(ctx, plan)
        assert PlanView.of(disabled_plan).next_run_at is None
        assert ctx.store.read_sync(plans.find_next_due) is None, "no gateway looks at it again and again"
        assert fire_until(ctx, "2026-02-20T09:00:00Z") == []
        assert show(ctx, plan) == disabled_plan

    def test_the_others_fire(self, ctx: StoreContext) -> None:
        for minute in range(0, 60, 10):
            plan = set_plan(ctx, cron=f"{minute} 12 * * *")
            if minute % 20 == 0:
                disable(ctx, plan)
        assert fire_until(ctx, "2026-02-18T13:00:00Z") == ["02-18T12:10", "02-18T12:30", "02-18T12:50"]

    def test_the_next_fires_leave_it_out(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, cron="0 12 * * *")
        disable(ctx, plan)
        assert ctx.store.read_sync(fires.list_next, until=MORNING + DAY) == []
        enable(ctx, plan)
        assert [fire.at for fire in ctx.store.read_sync(fires.list_next, until=MORNING + DAY)] == [MORNING + 3 * HOUR]

    def test_a_plan_can_be_made_disabled(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, runAfter="1 hour", active=False)
        assert not show(ctx, plan).active
        assert fire_until(ctx, "2026-02-18T11:00:00Z") == []

    def test_the_tickers_and_the_page_are_told(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, runAfter="1 hour")
        for change in (disable, enable):
            ctx.signal_sink.clear()
            change(ctx, plan)
            assert ctx.signal_sink.clear() == [Signal(Topic("plan", plan.id), "set", wakes=False)]

    def test_only_its_owner_and_the_administrator_can(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, runAfter="1 hour")
        with pytest.raises(NotFound):
            set_plan(ctx, "bob", id=plan.id, active=False)
        assert show(ctx, plan).active


class TestChanging:
    """What changes other things of a plan, as a tool of its agent does, does not enable it."""

    @pytest.mark.parametrize("fields", [{"name": "Other"}, {"instruction": "Else"}, {"catchUp": "all"}])
    def test_a_change_leaves_it_disabled(self, ctx: StoreContext, fields: dict[str, Any]) -> None:
        plan = set_plan(ctx, cron="0 12 * * *")
        disable(ctx, plan)
        assert not set_plan(ctx, id=plan.id, **fields).active
        assert fire_until(ctx, "2026-02-20T09:00:00Z") == []

    @pytest.mark.parametrize("schedule", [*SCHEDULES, {"cron": "*/5 * * * *"}])
    def test_another_schedule_leaves_it_disabled(self, ctx: StoreContext, schedule: dict[str, Any]) -> None:
        plan = set_plan(ctx, cron="0 10 * * *")
        disable(ctx, plan)
        changed_plan = set_plan(ctx, id=plan.id, **schedule)
        assert (changed_plan.active, PlanView.of(changed_plan).next_run_at) == (False, None)
        assert fire_until(ctx, "2026-02-20T09:00:00Z") == []

    def test_a_schedule_and_the_state_can_change_at_once(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, scheduledAt="2026-02-18T10:00:00Z")
        disable(ctx, plan)
        ctx.clock.advance("5 hours")
        set_plan(ctx, id=plan.id, active=True, runAfter="1 hour")
        assert fire_until(ctx, "2026-02-18T16:00:00Z") == ["02-18T15:00"]


class TestEnabling:
    @pytest.mark.parametrize("catch_up", ["once", "skip", "all"])
    def test_slots_that_passed_are_not_caught_up(self, ctx: StoreContext, catch_up: str) -> None:
        plan = set_plan(ctx, cron="0 * * * *", catchUp=catch_up)
        disable(ctx, plan)
        ctx.clock.advance("4 hours")
        ctx.clock.advance("30s")  # a slot of half a minute ago would be on time
        assert enable(ctx, plan).next_at == MORNING + 5 * HOUR
        assert fire_until(ctx, "2026-02-18T13:59:00Z") == []
        assert fire_until(ctx, "2026-02-18T14:00:00Z") == ["02-18T14:00"]

    def test_a_time_that_is_still_to_come_stays(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, runAfter="3 hours")
        disable(ctx, plan)
        ctx.clock.advance("1 hour")
        assert enable(ctx, plan) == plan
        assert fire_until(ctx, "2026-02-18T12:00:00Z") == ["02-18T12:00"]

    def test_one_whose_time_has_passed_fires_once_late(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, runAfter="3 hours")
        disable(ctx, plan)
        assert fire_until(ctx, "2026-02-19T09:00:00Z") == []
        enable(ctx, plan)
        assert fire_until(ctx, "2026-02-19T09:00:00Z") == ["02-18T12:00"]
        assert (show(ctx, plan).status, show(ctx, plan).fired) == (PlanStatus.COMPLETED, 1)
        [item] = ctx.store.read_sync(inbox.list_page, "ann")
        assert (item.event.data["dueAt"], item.event.created_at) == (MORNING + 3 * HOUR, MORNING + DAY)

    def test_what_is_enabled_already_loses_no_slot(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, cron="0 12 * * *")
        ctx.clock.advance("4 hours")
        assert enable(ctx, plan) == plan
        assert fire_until(ctx, "2026-02-18T13:00:00Z") == ["02-18T12:00"]

    def test_what_has_ended_needs_a_new_time(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, runAfter="1 hour")
        fire_until(ctx, "2026-02-18T10:00:00Z")
        for change in (enable, disable):
            with pytest.raises(Conflict, match="is completed") as error:
                change(ctx, plan)
            assert error.value.hint == "give it a new time"
        assert set_plan(ctx, id=plan.id, active=False, runAfter="1 hour").status is PlanStatus.PENDING
        assert fire_until(ctx, "2026-02-19T10:00:00Z") == ["02-18T10:00"]

    def test_of_a_retired_owner_it_is_refused(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, runAfter="1 hour")
        disable(ctx, plan)
        ctx.store.run_sync(directory.retire, "ann")
        with pytest.raises(Refused, match="retired"):
            set_plan(ctx, None, id=plan.id, active=True)

    def test_it_continues_the_chain_of_who_enables_it(self, ctx: StoreContext) -> None:
        """A person who enables it begins a new chain, so that it wakes its owner; an agent continues its own."""
        plan = set_plan(ctx, hops=16, runAfter="1 minute")
        assert (plan.hops, disable(ctx, plan).hops, enable(ctx, plan).hops) == (16, 16, 0)
        disable(ctx, plan)
        assert set_plan(ctx, id=plan.id, active=True, hops=3).hops == 3
        assert set_plan(ctx, id=plan.id, active=True).hops == 3, "it was enabled already"


class TestGates:
    @pytest.fixture
    def gate(self, ctx: StoreContext) -> Gate:
        return ctx.store.run_sync(gates.add, GateSpec(kind=GateKind.HUMAN, name="sign-off", owner="ann"), by=None)

    @pytest.fixture
    def plan(self, ctx: StoreContext, gate: Gate) -> Plan:
        return disable(ctx, set_plan(ctx, onGate=gate.id))

    def list_plan_events(self, ctx: StoreContext) -> list[str]:
        return [
            str(item.event.type) for item in ctx.store.read_sync(inbox.list_page, "ann") if item.event.source == "plan"
        ]

    def test_the_end_of_the_gate_does_not_fire_it(self, ctx: StoreContext, gate: Gate, plan: Plan) -> None:
        ctx.store.run_sync(gates.resolve, gate.id, by=None)
        ctx.clock.advance("1 day")
        assert ctx.store.run_sync(plans.fire) == 0
        assert (show(ctx, plan).status, PlanView.of(show(ctx, plan)).next_run_at) == (PlanStatus.PENDING, None)

    def test_enabled_before_the_end_it_fires_with_it(self, ctx: StoreContext, gate: Gate, plan: Plan) -> None:
        assert enable(ctx, plan).next_at is None
        ctx.store.run_sync(gates.resolve, gate.id, by=None)
        assert ctx.store.run_sync(plans.fire) == 1
        assert self.list_plan_events(ctx) == ["plan"]

    def test_enabled_after_the_end_it_fires_at_once_and_says_when_it_was_due(
        self, ctx: StoreContext, gate: Gate, plan: Plan
    ) -> None:
        ctx.store.run_sync(gates.resolve, gate.id, by=None)
        ctx.clock.advance("10 minutes")
        enable(ctx, plan)
        assert ctx.store.run_sync(plans.fire) == 1
        assert self.list_plan_events(ctx) == ["plan"]
        assert show(ctx, plan).last_at == MORNING

    def test_a_gate_that_ends_otherwise_cancels_it_without_an_alert(
        self, ctx: StoreContext, gate: Gate, plan: Plan
    ) -> None:
        ctx.store.run_sync(gates.withdraw, gate.id, by=None)
        assert show(ctx, plan).status is PlanStatus.CANCELLED
        assert self.list_plan_events(ctx) == []
        with pytest.raises(Conflict, match="is cancelled"):
            enable(ctx, plan)

    def test_one_that_is_enabled_gets_the_alert(self, ctx: StoreContext, gate: Gate, plan: Plan) -> None:
        other_plan = set_plan(ctx, onGate=gate.id)
        ctx.store.run_sync(gates.withdraw, gate.id, by=None)
        assert show(ctx, other_plan).status is PlanStatus.CANCELLED
        assert self.list_plan_events(ctx) == ["alert"]
