"""When plans and cron triggers fire next, and when they have fired."""

import pytest

from gatepost.channels.triggers import actions as triggers, cron_fire_actions as schedules
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import TriggerConfig, TriggerSchedule
from gatepost.channels.webhooks import delivery_actions as deliveries
from gatepost.channels.webhooks.verification import Occurrence, Scheme
from gatepost.core.times import DAY, HOUR, MINUTE, parse_instant
from gatepost.errors import NotFound, Refused
from gatepost.inbox.event import ItemState
from gatepost.plans import actions as plans
from gatepost.plans.cron import Cron
from gatepost.reports import fire_list_handlers as fires
from gatepost.reports.fire_list_api import START, Fire, FireKind, FirePosition, Recurrence
from gatepost.reports.fire_list_handlers import iter_fires
from tests.plans.plan_specs import parse_spec
from tests.support.store_context import StoreContext

#: what FakeClock begins with
MORNING = parse_instant("2026-02-18T09:00:00Z")


def build_recurrence(id: str, at: int, schedule: Cron | TriggerSchedule | None = None) -> Recurrence:
    fire = Fire(at=at, kind=FireKind.PLAN, id=id, name=id, owner="ann", is_recurring=schedule is not None)
    return Recurrence(first=fire, schedule=schedule)


def list_fires(ctx: StoreContext, owner: str | None = None, until: int = MORNING + HOUR) -> list[tuple[int, str]]:
    """Return the minutes from the morning on, and the names."""
    listed_fires = ctx.store.read_sync(fires.list_next, owner=owner, until=until, limit=1_000)
    return [((fire.at - MORNING) // MINUTE, fire.name) for fire in listed_fires]


def fire_all(ctx: StoreContext) -> None:
    ctx.store.run_sync(plans.fire)
    for number in ctx.store.read_sync(schedules.list_due):
        ctx.store.run_sync(schedules.fire, number)


@pytest.fixture
def office(ctx: StoreContext) -> StoreContext:
    """Ann has a plan for every 20 minutes and one for once; bob owns a trigger for every 25 minutes."""
    for spec in ({"name": "often", "cron": "*/20 * * * *"}, {"name": "once", "runAfter": "30m"}):
        ctx.store.run_sync(plans.set_plan, "ann", parse_spec({"instruction": "Report"} | spec))
    config = TriggerConfig(schedule=TriggerSchedule(every=25 * MINUTE))
    trigger = TriggerSpec(name="beat", provider="cron", target="team:red", owner="bob", config=config)
    ctx.store.run_sync(triggers.add, trigger)
    return ctx


class TestOrder:
    def test_fires_are_merged_by_time(self) -> None:
        every_hour, every_half = Cron("0 * * * *"), Cron("*/30 * * * *")
        recurrences = [
            build_recurrence("a", 1 * HOUR, every_hour),
            build_recurrence("b", HOUR // 2, every_half),
            build_recurrence("c", 90 * MINUTE),
        ]
        listed = [(fire.at // MINUTE, fire.id) for fire in iter_fires(recurrences, 2 * HOUR + 1)]
        assert listed == [(30, "b"), (60, "a"), (60, "b"), (90, "b"), (90, "c"), (120, "a"), (120, "b")]

    def test_a_list_goes_on_after_any_of_them(self) -> None:
        recurrences = [build_recurrence(name, HOUR, Cron("*/15 * * * *")) for name in "abc"]
        all_fires = list(iter_fires(recurrences, 3 * HOUR))
        position: FirePosition = START
        for number in range(len(all_fires)):
            assert list(iter_fires(recurrences, 3 * HOUR, position)) == all_fires[number:]
            position = all_fires[number].position

    def test_an_unknown_zone_fires_once(self) -> None:
        recurrences = [build_recurrence("a", HOUR, Cron("0 * * * *", "Mars/Olympus"))]
        assert [fire.at for fire in iter_fires(recurrences, DAY)] == [HOUR]


class TestNext:
    def test_plans_and_triggers_are_in_one_list(self, office: StoreContext) -> None:
        assert list_fires(office) == [(20, "often"), (25, "beat"), (30, "once"), (40, "often"), (50, "beat")]

    def test_an_owner_sees_its_own(self, office: StoreContext) -> None:
        assert list_fires(office, "ann") == [(20, "often"), (30, "once"), (40, "often")]
        assert list_fires(office, "bob") == [(25, "beat"), (50, "beat")]
        assert list_fires(office, "husam") == []

    def test_what_is_late_is_shown(self, office: StoreContext) -> None:
        office.clock.advance("35 minutes")
        assert list_fires(office)[:3] == [(20, "often"), (25, "beat"), (30, "once")]


class TestPast:
    def test_a_plan_tells_when_it_fired(self, office: StoreContext) -> None:
        for _ in range(3):
            office.clock.advance("21 minutes")
            fire_all(office)
        [plan, _] = office.store.read_sync(plans.list_page, "ann")
        listed = office.store.read_sync(fires.list_of_plan, plan.id, viewer="ann")
        assert [(fire.due_at - MORNING) // MINUTE for fire in listed if fire.due_at is not None] == [60, 40, 20]
        assert [(fire.fired_at - MORNING) // MINUTE for fire in listed] == [63, 42, 21]
        assert {fire.recipient for fire in listed} == {"ann"}
        rest = office.store.read_sync(fires.list_of_plan, plan.id, after=listed[0].position)
        assert rest == listed[1:]
        with pytest.raises(NotFound):
            office.store.read_sync(fires.list_of_plan, plan.id, viewer="bob")

    def test_a_trigger_tells_when_it_fired_and_for_whom(self, office: StoreContext) -> None:
        for _ in range(2):
            office.clock.advance("25 minutes")
            fire_all(office)
        listed = office.store.read_sync(fires.list_of_trigger, "beat", viewer="bob")
        assert [((fire.fired_at - MORNING) // MINUTE, fire.recipient) for fire in listed] == [
            (50, "ann"),
            (50, "bob"),
            (25, "ann"),
            (25, "bob"),
        ]
        for number in range(4):
            rest = office.store.read_sync(fires.list_of_trigger, "beat", after=listed[number].position)
            assert rest == listed[number + 1 :]
        with pytest.raises(Refused):
            office.store.read_sync(fires.list_of_trigger, "beat", viewer="ann")

    def test_a_webhook_tells_what_came_and_for_whom(self, office: StoreContext) -> None:
        for name in ("shop", "sho_", "shop2"):
            spec = TriggerSpec(name=name, scheme=Scheme.HEADER, secret="s" * 32, target="ann", owner="bob")
            office.store.run_sync(triggers.add, spec)
            trigger = office.store.read_sync(triggers.show, name)
            order = Occurrence(id="2026-02-18T09:00:00Z", payload={"order": name}, kind="")
            office.store.run_sync(deliveries.receive, trigger, [order])
        [delivery] = office.store.read_sync(fires.list_of_trigger, "shop", viewer="bob")
        assert (delivery.recipient, delivery.due_at, delivery.state) == ("ann", None, ItemState.PENDING)
        assert delivery.content.replace(" ", "") == '{"order":"shop"}'
        [other] = office.store.read_sync(fires.list_of_trigger, "sho_")
        assert other.event != delivery.event
