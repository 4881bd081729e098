"""Plans: setting and changing them, whose they are, and what they come to when they are due."""

from typing import Any

import pytest
from msgspec import to_builtins

from gatepost.core.policy import Policy
from gatepost.core.ports import Store
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import DAY, HOUR, MINUTE, SECOND, format_rfc3339, parse_duration, parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.errors import GatepostError, Invalid, NotFound, Refused, TooLarge, UnknownAddress
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType, Item, ItemState, Priority, parse_body
from gatepost.inbox.event_api import EventView
from gatepost.plans import actions as plans, plan as rules
from gatepost.plans.api import PlanView
from gatepost.plans.cron import Cron, _load_zone
from gatepost.plans.plan import AfterDelay, AtTime, CatchUp, OnGate, Plan, PlanSpec, PlanStatus
from gatepost.worker import retention_actions as retention
from tests.plans.plan_specs import parse_spec
from tests.support.collected_failures import check_cases
from tests.support.store_context import StoreContext

#: what FakeClock begins with
MORNING = parse_instant("2026-02-18T09:00:00Z")


def build_spec(**fields: str) -> PlanSpec:
    return parse_spec({"name": "Daily Report"} | fields if "id" not in fields else fields)


def set_plan(ctx: StoreContext, owner: str | None = "ann", **fields: str) -> Plan:
    return ctx.store.run_sync(plans.set_plan, owner, build_spec(**fields))


def fire_plans(store: Store) -> int:
    """Fire until nothing is due; return how many plans that were."""
    count = 0
    while fired_count := store.run_sync(plans.fire):
        count += fired_count
    return count


def list_items(ctx: StoreContext, owner: str) -> list[Item]:
    return ctx.store.read_sync(inbox.list_page, owner, limit=10_000)


def list_slots(ctx: StoreContext, plan: Plan) -> list[str]:
    """The slots that have fired, as the owner's inbox has them."""
    return [
        key.removeprefix(f"plan:{plan.id}:") for item in list_items(ctx, plan.owner) if (key := item.event.dedup_key)
    ]


def show_plan(ctx: StoreContext, plan: Plan, **options: Any) -> Plan:
    return ctx.store.read_sync(plans.show, plan.id, **options)


class TestReading:
    @pytest.mark.parametrize(
        ("fields", "schedule"),
        [
            ({"runAfter": "5 hours"}, AfterDelay(5 * HOUR)),
            ({"runAfter": "90s"}, AfterDelay(90 * SECOND)),
            ({"scheduledAt": "2026-02-20T10:00:00Z"}, AtTime(parse_instant("2026-02-20T10:00:00Z"))),
            ({"onGate": "gate_" + "0" * 32}, OnGate("gate_" + "0" * 32)),
            ({"scheduledAt": "2026-02-20T12:00:00+02:00"}, AtTime(parse_instant("2026-02-20T10:00:00Z"))),
            ({"cron": "0 9 * * 1"}, Cron("0 9 * * 1", "UTC")),
            ({"cron": " 0  9 * * 1 ", "timeZone": "Europe/Riga"}, Cron("0 9 * * 1", "Europe/Riga")),
            ({"cron": "@daily"}, Cron("@daily", "UTC")),
            ({"cron": None, "runAfter": "1 day", "timeZone": None}, AfterDelay(DAY)),
            ({}, None),
        ],
    )
    def test_one_of_three_ways(self, fields: dict[str, str], schedule: rules.Schedule | None) -> None:
        assert parse_spec(fields).schedule == schedule

    @pytest.mark.parametrize(
        "fields",
        [
            {"runAfter": "5 hours", "cron": "0 9 * * 1"},
            {"runAfter": "5 hours", "scheduledAt": "2026-02-20T10:00:00Z"},
            {"runAfter": "5 hours", "scheduledAt": "2026-02-20T10:00:00Z", "cron": "0 9 * * 1"},
            {"runAfter": "in 5 hours"},
            {"runAfter": "-5 minutes"},
            {"runAfter": "90"},
            {"runAfter": "0 hours"},
            {"runAfter": ""},
            {"scheduledAt": "2026-02-20T10:00:00"},
            {"onGate": "plan_" + "0" * 32},
            {"onGate": "gate_" + "0" * 32, "runAfter": "5 hours"},
            {"scheduledAt": "tomorrow"},
            {"scheduledAt": "0001-01-01T00:00:00+14:00"},
            {"scheduledAt": "9999-12-31T23:59:59-14:00"},
            {"cron": "every day"},
            {"cron": "0 0 31 2 *"},
            {"cron": "0 9 * * 1", "timeZone": "Mars/Olympus"},
            {"runAfter": "5 hours", "timeZone": "UTC"},
            {"timeZone": "UTC"},
            {"cron": "0 9 * * 1", "catchUp": "some"},
            {"runAfter": 5},
            {"cron": ["0 9 * * 1"]},
            {"name": 7},
            {"runafter": "5 hours"},
            {"colour": "red"},
        ],
    )
    def test_anything_else_is_refused(self, fields: dict[str, Any]) -> None:
        with pytest.raises(Invalid):
            parse_spec(fields)

    @pytest.mark.parametrize(
        ("word", "parse"),
        [
            ("pending", PlanStatus.parse),
            ("completed", PlanStatus.parse),
            ("once", CatchUp.parse),
            ("all", CatchUp.parse),
        ],
    )
    def test_words(self, word: str, parse: Any) -> None:
        assert parse(word) == word
        with pytest.raises(Invalid, match="'later'"):
            parse("later")


class TestSetting:
    def test_a_plan_that_fires_once(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, instruction="post it", runAfter="5 hours")
        assert plan == show_plan(ctx, plan)
        assert (plan.owner, plan.status, plan.next_at, plan.fired) == ("ann", PlanStatus.PENDING, MORNING + 5 * HOUR, 0)
        assert to_builtins(PlanView.of(plan)) == {
            "id": plan.id,
            "owner": "ann",
            "name": "Daily Report",
            "instruction": "post it",
            "cron": None,
            "timeZone": None,
            "catchUp": "once",
            "isRecurring": False,
            "scheduledAt": "2026-02-18T14:00:00Z",
            "onGate": None,
            "hops": 0,
            "nextRunAt": "2026-02-18T14:00:00Z",
            "lastRunAt": None,
            "status": "pending",
            "active": True,
            "fired": 0,
            "createdAt": "2026-02-18T09:00:00Z",
            "endedAt": None,
        }

    def test_a_plan_that_recurs(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, cron="0 9 * * 1", timeZone="Europe/Riga", catchUp="skip")
        assert plan == show_plan(ctx, plan)
        assert (plan.cron, plan.zone, plan.catch_up) == ("0 9 * * 1", "Europe/Riga", CatchUp.SKIP)
        assert plan.next_at == parse_instant("2026-02-23T09:00:00+02:00")
        assert (PlanView.of(plan).is_recurring, PlanView.of(plan).scheduled_at) == (True, None)

    def test_the_tickers_are_told(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, runAfter="5 hours")
        assert ctx.signal_sink.clear() == [Signal(Topic("plan", plan.id), "set", wakes=False)]
        set_plan(ctx, id=plan.id, name="another")
        assert ctx.signal_sink.clear() == [Signal(Topic("plan", plan.id), "set", wakes=False)]

    @check_cases(
        ("owner", "fields", "error"),
        [
            ("ann", {}, Invalid),
            (None, {"runAfter": "5 hours"}, Invalid),
            ("nobody", {"runAfter": "5 hours"}, UnknownAddress),
            ("team:red", {"runAfter": "5 hours"}, Invalid),
            ("ann", {"runAfter": "5 hours", "name": " "}, Invalid),
            ("ann", {"runAfter": "5 hours", "name": "two\nlines"}, Invalid),
            ("ann", {"runAfter": "5 hours", "name": "x" * 201}, Invalid),
            ("ann", {"runAfter": "5 hours", "instruction": "a\x00b"}, Invalid),
            ("ann", {"runAfter": "5 hours", "instruction": "\ud800"}, Invalid),
            ("ann", {"runAfter": "5 hours", "instruction": "x" * (256 * 1024 + 1)}, TooLarge),
            ("ann", {"runAfter": "5 hours", "catchUp": "all"}, Invalid),
            ("ann", {"runAfter": "5 hours", "id": "plan_" + "0" * 32}, NotFound),
            ("ann", {"runAfter": "5 hours", "id": "evt_" + "0" * 32}, Invalid),
        ],
    )
    def test_what_cannot_be_is_refused_and_nothing_is_stored(
        self, ctx: StoreContext, owner: str | None, fields: dict[str, str], error: type[GatepostError]
    ) -> None:
        with pytest.raises(error):
            set_plan(ctx, owner, **fields)
        assert ctx.store.read_sync(plans.list_page) == []
        assert ctx.signal_sink.signals == []

    def test_a_plan_needs_a_name_and_a_live_owner(self, ctx: StoreContext) -> None:
        with pytest.raises(Invalid, match="needs a name"):
            ctx.store.run_sync(plans.set_plan, "ann", parse_spec({"runAfter": "5 hours"}))
        ctx.store.run_sync(directory.retire, "ann")
        with pytest.raises(Refused, match="retired"):
            set_plan(ctx, runAfter="5 hours")

    def test_an_alias_names_its_owner(self, ctx: StoreContext) -> None:
        ctx.register("cleo", aliases=["bead-7"])
        plan = set_plan(ctx, "bead-7", runAfter="5 hours")
        assert (plan.owner, show_plan(ctx, plan, owner="bead-7")) == ("cleo", plan)


class TestChanging:
    def test_what_is_not_named_stays(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, instruction="post it", cron="0 9 * * 1", timeZone="Europe/Riga", catchUp="all")
        changed_plan = set_plan(ctx, id=plan.id, name="Weekly Report")
        assert (changed_plan.name, changed_plan.instruction, changed_plan.next_at) == (
            "Weekly Report",
            "post it",
            plan.next_at,
        )
        assert (changed_plan.cron, changed_plan.zone, changed_plan.catch_up) == (
            "0 9 * * 1",
            "Europe/Riga",
            CatchUp.ALL,
        )
        assert show_plan(ctx, plan) == changed_plan
        assert set_plan(ctx, id=plan.id, instruction="", catchUp="skip").catch_up is CatchUp.SKIP
        assert show_plan(ctx, plan).instruction == ""

    def test_a_new_schedule_counts_from_now(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, cron="0 12 * * *", catchUp="all")
        ctx.clock.advance("1 hour")
        once_plan = set_plan(ctx, id=plan.id, runAfter="30 minutes")
        assert (once_plan.cron, once_plan.zone, once_plan.catch_up) == (None, None, CatchUp.ONCE)
        assert once_plan.next_at == MORNING + 90 * MINUTE
        cron_plan = set_plan(ctx, id=plan.id, cron="0 * * * *")
        assert (cron_plan.cron, cron_plan.zone, cron_plan.next_at) == ("0 * * * *", "UTC", MORNING + 2 * HOUR)

    def test_the_same_schedule_again_loses_no_slot(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, cron="0 12 * * *")
        ctx.clock.advance(3 * HOUR + SECOND)
        assert set_plan(ctx, id=plan.id, cron="0 12 * * *", name="renamed").next_at == plan.next_at
        assert fire_plans(ctx.store) == 1
        assert list_slots(ctx, plan) == ["2026-02-18T12:00:00Z"]

    def test_the_same_time_again_does_not_fire_again(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, scheduledAt="2026-02-18T10:00:00Z")
        ctx.clock.advance("2 hours")
        assert fire_plans(ctx.store) == 1
        changed_plan = set_plan(ctx, id=plan.id, scheduledAt="2026-02-18T10:00:00Z", name="renamed")
        assert (changed_plan.status, changed_plan.next_at, changed_plan.name) == (PlanStatus.COMPLETED, None, "renamed")
        assert fire_plans(ctx.store) == 0

    def test_a_completed_plan_can_be_set_again_and_a_slot_that_has_fired_is_a_repeat(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, scheduledAt="2026-02-18T10:00:00Z")
        ctx.clock.advance("2 hours")
        fire_plans(ctx.store)
        assert set_plan(ctx, id=plan.id, runAfter="1 hour").status is PlanStatus.PENDING
        set_plan(ctx, id=plan.id, scheduledAt="2026-02-18T10:00:00Z")
        assert fire_plans(ctx.store) == 1
        assert list_slots(ctx, plan) == ["2026-02-18T10:00:00Z"]
        assert show_plan(ctx, plan).fired == 1

    def test_a_refused_change_changes_nothing(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, runAfter="5 hours")
        for fields in ({"catchUp": "all"}, {"instruction": "a\x00b"}, {"name": ""}):
            with pytest.raises(Invalid):
                set_plan(ctx, id=plan.id, **fields)
        assert show_plan(ctx, plan) == plan


class TestOwnership:
    def test_to_others_it_is_not_there(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, runAfter="5 hours")
        with pytest.raises(NotFound):
            show_plan(ctx, plan, owner="bob")
        with pytest.raises(NotFound):
            set_plan(ctx, "bob", id=plan.id, name="mine")
        with pytest.raises(NotFound):
            ctx.store.run_sync(plans.delete, plan.id, owner="bob")
        assert ctx.store.read_sync(plans.list_page, "bob") == []
        assert show_plan(ctx, plan, owner="ann") == plan

    def test_an_administrator_may_everything(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, runAfter="5 hours")
        assert show_plan(ctx, plan) == plan
        assert set_plan(ctx, None, id=plan.id, name="theirs").owner == "ann"
        ctx.store.run_sync(plans.delete, plan.id)
        with pytest.raises(NotFound):
            show_plan(ctx, plan)

    def test_what_is_deleted_is_gone_and_does_not_fire(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, runAfter="5 hours")
        ctx.store.run_sync(plans.delete, plan.id, owner="ann")
        for verb in (plans.delete, plans.show):
            with pytest.raises(NotFound):
                ctx.store.run_sync(verb, plan.id, owner="ann")
        ctx.clock.advance("5 hours")
        assert fire_plans(ctx.store) == 0

    def test_a_page_at_a_time(self, ctx: StoreContext) -> None:
        ann_plans = [set_plan(ctx, runAfter=f"{hours} hours") for hours in range(1, 6)]
        bob_plan = set_plan(ctx, "bob", runAfter="1 day")
        assert ctx.store.read_sync(plans.list_page, "ann") == ann_plans
        assert ctx.store.read_sync(plans.list_page) == [*ann_plans, bob_plan]
        first = ctx.store.read_sync(plans.list_page, "ann", limit=2)
        assert first + ctx.store.read_sync(plans.list_page, "ann", after=first[-1].number) == ann_plans
        ctx.clock.advance("2 hours")
        fire_plans(ctx.store)
        assert [plan.id for plan in ctx.store.read_sync(plans.list_page, status=PlanStatus.COMPLETED)] == [
            plan.id for plan in ann_plans[:2]
        ]
        assert ctx.store.read_sync(plans.list_page, status=PlanStatus.PENDING) == [*ann_plans[2:], bob_plan]


class TestFiring:
    def test_the_event_is_the_source_documents(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, instruction="Generate and post the daily metrics summary", runAfter="5 hours")
        ctx.clock.advance(5 * HOUR + 3 * SECOND)
        assert fire_plans(ctx.store) == 1
        [item] = list_items(ctx, "ann")
        event = to_builtins(EventView.of(item))
        assert (event["type"], event["source"], event["priority"], event["sender"]) == ("plan", "plan", 2, None)
        assert event["data"] == {
            "planId": plan.id,
            "planName": "Daily Report",
            "instruction": "Generate and post the daily metrics summary",
        }
        assert (event["extra"], event["timestamp"]) == ({"dueAt": "2026-02-18T14:00:00Z"}, "2026-02-18T14:00:03Z")
        assert event["dedupKey"] == f"plan:{plan.id}:2026-02-18T14:00:00Z"
        assert str(ctx.claim()).splitlines()[1:] == [
            '[Plan: Daily Report] "Generate and post the daily metrics summary"' + f" (plan {plan.id}, due 14:00Z)"
        ]

    def test_nothing_fires_before_its_time(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, runAfter="5 hours")
        ctx.clock.advance(5 * HOUR - 1)
        assert (fire_plans(ctx.store), ctx.store.read_sync(plans.find_next_due)) == (0, plan.next_at)
        ctx.clock.advance(1)
        assert (fire_plans(ctx.store), ctx.store.read_sync(plans.find_next_due)) == (1, None)

    def test_one_that_fires_once_is_then_completed(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, scheduledAt="2026-02-18T10:00:00Z")
        ctx.clock.advance("1 week")
        assert fire_plans(ctx.store) == 1
        after = show_plan(ctx, plan)
        assert (after.status, after.next_at, after.fired) == (PlanStatus.COMPLETED, None, 1)
        assert (after.last_at, after.scheduled_at) == (plan.next_at, plan.next_at)
        assert (after.ended_at, fire_plans(ctx.store)) == (ctx.clock.now(), 0)
        assert ctx.is_balanced()

    def test_a_time_in_the_past_fires_at_once_and_once(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, scheduledAt="2025-01-01T00:00:00Z")
        assert ctx.store.read_sync(plans.find_next_due) == parse_instant("2025-01-01T00:00:00Z")
        assert (fire_plans(ctx.store), fire_plans(ctx.store)) == (1, 0)
        assert list_slots(ctx, plan) == ["2025-01-01T00:00:00Z"]
        [item] = list_items(ctx, "ann")
        assert str(parse_body(item.event)).endswith(f"due_at={parse_instant('2025-01-01T00:00:00Z')})")

    def test_one_that_recurs_goes_on(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, cron="0 12 * * *", timeZone="Europe/Riga")
        for _ in range(3):
            ctx.clock.advance("1 day")
            ctx.clock.advance(-(ctx.clock.now() - parse_instant("2026-02-18T10:00:00Z")) % DAY)
            assert fire_plans(ctx.store) == 1
        assert list_slots(ctx, plan) == ["2026-02-19T10:00:00Z", "2026-02-20T10:00:00Z", "2026-02-21T10:00:00Z"]

    @pytest.mark.parametrize(
        ("catch_up", "expected"),
        [
            ("once", ["2026-02-18T15:00:00Z"]),
            ("skip", []),
            ("all", [f"2026-02-18T{hour}:00:00Z" for hour in (10, 11, 12, 13, 14, 15)]),
        ],
    )
    def test_what_was_missed(self, ctx: StoreContext, catch_up: str, expected: list[str]) -> None:
        plan = set_plan(ctx, cron="0 * * * *", catchUp=catch_up)
        ctx.clock.advance(6 * HOUR + 10 * MINUTE)
        assert fire_plans(ctx.store) == 1
        assert list_slots(ctx, plan) == expected
        after = show_plan(ctx, plan)
        assert (after.fired, after.next_at) == (len(expected), parse_instant("2026-02-18T16:00:00Z"))
        assert after.last_at == (parse_instant(expected[-1]) if expected else None)
        ctx.clock.advance(50 * MINUTE + 20 * SECOND)
        assert fire_plans(ctx.store) == 1
        assert list_slots(ctx, plan) == [*expected, "2026-02-18T16:00:00Z"]

    def test_catching_up_goes_back_a_hundred_slots_at_most(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, cron="* * * * *", catchUp="all")
        ctx.clock.advance("90 days")
        assert fire_plans(ctx.store) == 1
        now = ctx.clock.now()
        assert list_slots(ctx, plan) == [format_rfc3339(now - minutes * MINUTE) for minutes in reversed(range(100))]

    def test_owners_are_told_in_order_of_slots(self, ctx: StoreContext) -> None:
        for minutes in (10, 15, 20):
            set_plan(ctx, cron=f"*/{minutes} * * * *", catchUp="all")
        set_plan(ctx, scheduledAt="2026-02-18T10:05:00Z")
        ctx.clock.advance("8 hours")
        assert fire_plans(ctx.store) == 4
        due = [item.event.data["dueAt"] for item in list_items(ctx, "ann")]
        assert due == sorted(due)
        assert len(due) == 48 + 32 + 24 + 1

    def test_however_much_is_due_all_of_it_fires(self, ctx: StoreContext) -> None:
        recurring_plans = [set_plan(ctx, cron="* * * * *", catchUp="all") for _ in range(15)]
        ctx.clock.advance("8 hours")
        assert ctx.store.run_sync(plans.fire) < 15
        fire_plans(ctx.store)
        assert [show_plan(ctx, plan).fired for plan in recurring_plans] == [100] * 15
        assert len(list_items(ctx, "ann")) == 1_500
        assert ctx.is_balanced()

    def test_for_a_retired_owner_the_administrator_is_told_and_the_plan_ends(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, cron="0 * * * *")
        bob_plan = set_plan(ctx, "bob", cron="0 * * * *")
        ctx.store.run_sync(directory.retire, "ann")
        with pytest.raises(Refused):
            set_plan(ctx, None, id=plan.id, name="another")
        ctx.clock.advance("1 hour")
        assert fire_plans(ctx.store) == 2
        assert (list_items(ctx, "ann"), len(list_items(ctx, "bob"))) == ([], 1)
        after = show_plan(ctx, plan)
        assert (after.status, after.next_at, after.fired) == (PlanStatus.CANCELLED, None, 0)
        assert show_plan(ctx, bob_plan).status is PlanStatus.PENDING
        [alert] = list_items(ctx, "admin")
        assert f"({plan.id}) was due and could not fire: 'ann' is retired" in alert.event.content
        ctx.clock.advance("1 hour")
        assert fire_plans(ctx.store) == 1

    def test_one_whose_event_is_refused_ends_with_an_alert_and_holds_up_nobody(self, ctx: StoreContext) -> None:
        large_plan = set_plan(ctx, instruction="x" * 400, cron="0 * * * *", catchUp="all")
        small_plan = set_plan(ctx, "bob", cron="0 * * * *", catchUp="all")
        ctx.clock.advance("2 hours")
        store = ctx.kit.open(policy=Policy(content=300))
        assert fire_plans(store) == 2
        [alert] = list_items(ctx, "ann")
        assert (alert.event.type, alert.event.priority) == (EventType.ALERT, Priority.HIGH)
        assert "the plan 'Daily Report'" in alert.event.content
        assert "over the limit of 300" in alert.event.content
        assert show_plan(ctx, large_plan).status is PlanStatus.CANCELLED
        assert len(list_slots(ctx, small_plan)) == 2
        assert fire_plans(store) == 0
        assert set_plan(ctx, id=large_plan.id, instruction="y", cron="0 * * * *").status is PlanStatus.PENDING

    def test_one_whose_zone_is_not_known_here_ends_with_an_alert(
        self, ctx: StoreContext, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = set_plan(ctx, cron="0 * * * *", timeZone="Europe/Riga")
        ctx.clock.advance("1 hour")
        with monkeypatch.context() as patch:
            patch.setattr("gatepost.plans.cron._load_zone_names", lambda: {"utc": "UTC"})
            _load_zone.cache_clear()
            assert fire_plans(ctx.store) == 1
        assert "'Europe/Riga' is not a time zone" in list_items(ctx, "ann")[0].event.content
        assert show_plan(ctx, plan).status is PlanStatus.CANCELLED

    def test_what_is_over_is_forgotten_in_time(self, ctx: StoreContext) -> None:
        ended_plan = set_plan(ctx, runAfter="1 hour")
        recurring_plan = set_plan(ctx, cron="0 * * * *")
        ctx.clock.advance("1 hour")
        fire_plans(ctx.store)
        ctx.clock.advance(parse_duration("1 day") - 1)
        ctx.store.run_sync(retention.reap)
        assert show_plan(ctx, ended_plan).status is PlanStatus.COMPLETED
        ctx.clock.advance(1)
        ctx.store.run_sync(retention.reap)
        with pytest.raises(NotFound):
            show_plan(ctx, ended_plan)
        assert show_plan(ctx, recurring_plan).status is PlanStatus.PENDING

    @pytest.mark.parametrize("due", [-1, 10**18, 10**30, "today", 1.5])
    def test_a_made_up_event_cannot_say_that_it_was_due_at_no_time(self, ctx: StoreContext, due: Any) -> None:
        with pytest.raises(Invalid, match=r"data\.dueAt"):
            ctx.push(type=EventType.PLAN, data={"planName": "mine", "dueAt": due})

    def test_people_have_plans_too(self, ctx: StoreContext) -> None:
        set_plan(ctx, "husam", instruction="call home", runAfter="1 hour")
        ctx.clock.advance("1 hour")
        fire_plans(ctx.store)
        [item] = list_items(ctx, "husam")
        assert (item.event.content, item.state) == ("call home", ItemState.PENDING)
