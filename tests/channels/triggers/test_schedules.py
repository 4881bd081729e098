"""Cron triggers: when they fire, what the event says, and what happens to one that cannot fire."""

from typing import Any

import pytest

from gatepost.channels import intake_actions as intake
from gatepost.channels.routing import rule_actions as routing_rules, unrouted_message_actions as unrouted_messages
from gatepost.channels.routing.rule import RouteSpec
from gatepost.channels.triggers import (
    actions as triggers,
    cron_fire_actions as schedules,
    preview_actions as trigger_preview,
)
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import Heartbeat, Trigger, TriggerConfig, TriggerSchedule
from gatepost.core.dry_run import dry_run_sync
from gatepost.core.times import DAY, HOUR, MINUTE, SECOND, format_rfc3339, parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Invalid
from gatepost.inbox import claim_actions as inbox, event_rendering as render
from gatepost.inbox.event import Event, EventType, Priority, Push, Ref, Route
from gatepost.inbox.push import actions as push
from gatepost.mail import work_actions as work
from gatepost.mail.work_item import WorkItemSpec, WorkType
from gatepost.residents import goal_and_memory_actions as memories
from gatepost.residents.goal_and_memory import GoalSpec, GoalStatus
from gatepost.testing import Kit
from gatepost.worker import background_tasks, janitor

HOURLY = TriggerSchedule(cron="0 * * * *")
HALF_HOUR = TriggerSchedule(every=30 * MINUTE)


@pytest.fixture
def office(kit: Kit) -> Kit:
    for name, kind in (("admin", EntityKind.HUMAN), ("ana", EntityKind.AGENT), ("ben", EntityKind.AGENT)):
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=kind, team="web"))
    return kit


def add_trigger(office: Kit, name: str = "daily", schedule: TriggerSchedule = HOURLY, **fields: Any) -> Trigger:
    config = {key: fields.pop(key) for key in ("session", "heartbeat", "requires") if key in fields}
    values: dict[str, Any] = {"target": "ana", "config": TriggerConfig(schedule=schedule, **config)} | fields
    return office.store.run_sync(triggers.add, TriggerSpec(name=name, provider="cron", **values))


def list_events(office: Kit, recipient: str = "ana") -> list[Event]:
    return [item.event for item in office.store.read_sync(inbox.list_page, recipient, limit=1_000)]


def list_slots(office: Kit, recipient: str = "ana") -> list[str]:
    return [event.data["payload"]["dueAt"] for event in list_events(office, recipient) if event.route is not None]


def show(office: Kit, name: str = "daily") -> Trigger:
    return office.store.read_sync(triggers.show, name)


async def test_a_trigger_that_is_due_makes_one_event(office: Kit) -> None:
    trigger = add_trigger(office, prompt="Write the report")
    assert trigger.next_at is not None
    office.clock.advance(trigger.next_at - office.clock.now() - SECOND)
    assert await background_tasks.fire_due_triggers(office.store) == 1.0
    assert list_events(office) == []
    office.signal_sink.clear()

    office.clock.advance(SECOND)
    assert await background_tasks.fire_due_triggers(office.store) == background_tasks.MAX_WAIT

    [event] = list_events(office)
    assert (event.type, event.source, event.content) == (EventType.SERVICE, "daily", "Write the report")
    assert event.route == Route("cron", "daily")
    assert event.data["payload"] == {"dueAt": format_rfc3339(trigger.next_at)}
    assert event.dedup_key == f"cron:{trigger.id}:{format_rfc3339(trigger.next_at)}"
    assert event.priority is Priority.NORMAL
    assert render.render_event(event) == '[Service: daily] "Write the report"'
    assert show(office).next_at == trigger.next_at + HOUR
    signals = [(signal.topic.recipient, str(signal.cause), signal.wakes) for signal in office.signal_sink.signals]
    assert signals == [("ana", "service", True), ("trigger:daily", "fired", False)]


async def test_the_session_is_a_template_and_without_a_prompt_the_content_is_a_line(office: Kit) -> None:
    trigger = add_trigger(office, session="day-{{dueAt|date}}")
    assert trigger.next_at is not None
    office.clock.advance(HOUR)
    await background_tasks.fire_due_triggers(office.store)
    [event] = list_events(office)
    assert event.route == Route("cron", f"day-{format_rfc3339(trigger.next_at)[:10]}")
    assert event.content == "daily is due"


async def test_what_was_missed_fires_once_and_it_goes_on_from_now(office: Kit) -> None:
    trigger = add_trigger(office)
    add_trigger(office, "often", HALF_HOUR)
    start = trigger.created_at
    office.clock.advance(50 * HOUR + 10 * MINUTE)
    await background_tasks.fire_due_triggers(office.store)
    slots = list_slots(office)
    latest = parse_instant(slots[0])
    assert 0 <= office.clock.now() - latest < HOUR
    assert len(slots) == 2
    assert parse_instant(slots[1]) == start + 50 * HOUR
    assert show(office).next_at == latest + HOUR
    assert show(office, "often").next_at == start + 50 * HOUR + 30 * MINUTE
    assert await background_tasks.fire_due_triggers(office.store) == background_tasks.MAX_WAIT
    assert list_slots(office) == slots


async def test_one_that_fires_at_a_time_fires_once_however_late(office: Kit) -> None:
    at = office.clock.now() + HOUR
    add_trigger(office, schedule=TriggerSchedule(at=at))
    office.clock.advance(30 * DAY)
    await background_tasks.fire_due_triggers(office.store)
    assert list_slots(office) == [format_rfc3339(at)]
    assert show(office).next_at is None
    office.clock.advance(30 * DAY)
    assert await background_tasks.fire_due_triggers(office.store) == background_tasks.MAX_WAIT
    assert list_slots(office) == [format_rfc3339(at)]


def test_a_time_that_has_passed_is_refused(office: Kit) -> None:
    with pytest.raises(Invalid, match="has passed"):
        add_trigger(office, schedule=TriggerSchedule(at=office.clock.now()))
    add_trigger(office)
    config = TriggerConfig(schedule=TriggerSchedule(at=office.clock.now() - HOUR))
    with pytest.raises(Invalid, match="has passed"):
        office.store.run_sync(triggers.change, "daily", {"config": config})


async def test_a_trigger_that_was_disabled_does_not_fire_for_what_it_missed(office: Kit) -> None:
    trigger = add_trigger(office, schedule=HALF_HOUR)
    assert office.store.run_sync(triggers.change, "daily", {"active": False}).next_at is None
    office.clock.advance(DAY + 5 * MINUTE)
    assert await background_tasks.fire_due_triggers(office.store) == background_tasks.MAX_WAIT
    enabled = office.store.run_sync(triggers.change, "daily", {"active": True})
    assert enabled.next_at == trigger.created_at + DAY + 30 * MINUTE
    await background_tasks.fire_due_triggers(office.store)
    assert list_events(office) == []
    office.clock.advance(25 * MINUTE)
    await background_tasks.fire_due_triggers(office.store)
    assert list_slots(office) == [format_rfc3339(enabled.next_at)]


async def test_one_that_cannot_fire_does_not_stop_the_others_and_its_owner_is_alerted(
    office: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive = intake.receive

    def refuse_some(tx: Any, trigger: Any, *args: Any, **options: Any) -> Any:
        if trigger.name in ("bad", "worse"):
            raise Invalid("the content is too long")
        return receive(tx, trigger, *args, **options)

    monkeypatch.setattr(intake, "receive", refuse_some)
    broken = [add_trigger(office, name, owner="ben", schedule=HALF_HOUR) for name in ("bad", "worse")]
    add_trigger(office)
    office.clock.advance(HOUR)
    await background_tasks.fire_due_triggers(office.store)

    assert len(list_slots(office)) == 1
    alerts = [event.content for event in list_events(office, "ben")]
    assert len(alerts) == 2
    assert all("could not fire: the content is too long" in text for text in alerts)
    assert show(office, "bad").next_at == broken[0].created_at + 90 * MINUTE
    office.clock.advance(30 * MINUTE)
    await background_tasks.fire_due_triggers(office.store)
    assert len(list_events(office, "ben")) == 2, "one alert an hour for each"
    office.clock.advance(30 * MINUTE)
    await background_tasks.fire_due_triggers(office.store)
    assert len(list_events(office, "ben")) == 4


async def test_a_failure_that_nobody_expected_does_not_stop_the_others(
    office: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = add_trigger(office, "bad")
    add_trigger(office)
    fire = schedules.fire

    def fail_for_one(tx: Any, number: int) -> bool:
        if number == bad.number:
            raise ZeroDivisionError
        return fire(tx, number)

    monkeypatch.setattr(schedules, "fire", fail_for_one)
    office.clock.advance(HOUR)
    assert await background_tasks.fire_due_triggers(office.store) == background_tasks.MAX_WAIT
    assert len(list_slots(office)) == 1
    [alert] = list_events(office, "admin")
    assert alert.content == "the trigger 'bad' was due and could not fire: ZeroDivisionError"


async def test_what_reaches_nobody_is_kept_and_its_owner_is_alerted(office: Kit) -> None:
    add_trigger(office, target=None)
    office.clock.advance(HOUR)
    await background_tasks.fire_due_triggers(office.store)
    [letter] = office.store.read_sync(unrouted_messages.list_page, by=None)
    assert (letter.trigger, letter.envelope.content) == ("daily", "daily is due")
    assert len(list_events(office, "admin")) == 1


async def test_a_schedule_that_reaches_nobody_keeps_one_message_and_alerts_each_hour(office: Kit) -> None:
    add_trigger(office, target=None)
    add_trigger(office, "weekly", target=None)
    for _ in range(3):
        office.clock.advance(HOUR)
        await background_tasks.fire_due_triggers(office.store)

    letters = office.store.read_sync(unrouted_messages.list_page, by=None)
    assert [letter.trigger for letter in letters] == ["daily", "weekly"]
    assert len(list_events(office, "admin")) == 6

    office.store.run_sync(unrouted_messages.discard, letters[0].id, by=None)
    office.clock.advance(HOUR)
    await background_tasks.fire_due_triggers(office.store)
    assert [letter.trigger for letter in office.store.read_sync(unrouted_messages.list_page, by=None)] == [
        "weekly",
        "daily",
    ]


async def test_a_rule_decides_who_gets_it(office: Kit) -> None:
    spec = RouteSpec(name="all", channel="cron", filters={"trigger": "daily"}, targets=("ben",), rank=1)
    office.store.run_sync(routing_rules.create_rule, spec, by=None)
    add_trigger(office)
    office.clock.advance(HOUR)
    await background_tasks.fire_due_triggers(office.store)
    assert (len(list_slots(office)), len(list_slots(office, "ben"))) == (0, 1)


async def test_a_clock_that_is_set_back_does_not_silence_it_and_no_slot_fires_twice(office: Kit) -> None:
    trigger = add_trigger(office, schedule=HALF_HOUR)
    for _ in range(4):
        office.clock.advance(30 * MINUTE)
        await background_tasks.fire_due_triggers(office.store)
    await janitor.follow_clock(office.store)
    slots = list_slots(office)
    assert len(slots) == 4
    office.clock.set_back(DAY)
    await janitor.follow_clock(office.store)
    next_at = show(office).next_at
    assert next_at is not None
    assert next_at - office.clock.now() == 30 * MINUTE
    office.clock.advance(DAY - 2 * HOUR)
    for _ in range(4):
        office.clock.advance(30 * MINUTE)
        await background_tasks.fire_due_triggers(office.store)
    assert list_slots(office).count(slots[0]) == 1
    assert show(office).next_at == trigger.created_at + 2 * HOUR + 30 * MINUTE


def test_hours_may_be_a_night() -> None:
    assert [hour for hour in range(24) if Heartbeat(active_hours=(22, 6)).is_active(hour)] == [*range(6), 22, 23]
    assert [hour for hour in range(24) if Heartbeat(active_hours=(8, 22)).is_active(hour)] == [*range(8, 22)]
    assert all(Heartbeat(active_hours=(0, 24)).is_active(hour) for hour in range(24))
    assert all(Heartbeat().is_active(hour) for hour in range(24))


def test_a_preview_shows_what_would_happen_if_it_were_due_now_and_changes_nothing(office: Kit) -> None:
    def preview(name: str) -> tuple[list[tuple[str, tuple[str, ...]]], str | None]:
        found = dry_run_sync(office.store, trigger_preview.preview, show(office, name), {}, {})
        return [(event.envelope.content, event.decision.targets) for event in found.events], found.skipped

    add_trigger(office, prompt="Write the report")
    add_trigger(office, "pulse", HALF_HOUR, heartbeat=Heartbeat(active_hours=(8, 22)), target="team:web")
    before = office.store.read_sync(triggers.list_page)
    assert preview("daily") == ([("Write the report", ("ana",))], None)
    assert preview("pulse") == ([], "nobody has anything new to do")
    office.store.run_sync(memories.set_goals, "ben", [GoalSpec(description="Ship it")])
    assert preview("pulse") == ([("there is something to do: 1 active goal", ("ben",))], None)
    office.clock.advance(13 * HOUR)
    assert preview("pulse") == ([], "the heartbeat is not in its hours")
    assert office.store.read_sync(triggers.list_page) == before
    assert list_events(office) == list_events(office, "ben") == []


class TestHeartbeats:
    async def pass_time(self, office: Kit, by: int = 30 * MINUTE) -> None:
        office.clock.advance(by)
        await background_tasks.fire_due_triggers(office.store)

    async def test_a_slot_passes_silently_if_there_is_nothing_to_do(self, office: Kit) -> None:
        trigger = add_trigger(office, "pulse", HALF_HOUR, heartbeat=Heartbeat(), prompt="Look")
        office.signal_sink.clear()
        await self.pass_time(office)
        assert list_events(office) == []
        assert not any(signal.wakes for signal in office.signal_sink.signals)
        assert show(office, "pulse").next_at == trigger.created_at + HOUR

    async def test_it_says_what_there_is(self, office: Kit) -> None:
        add_trigger(office, "pulse", HALF_HOUR, heartbeat=Heartbeat(), prompt="Look after it")
        store = office.store
        for number in range(2):
            store.run_sync(push.push_event, Push(to="ana", source="x", content=str(number), priority=Priority.FYI))
        store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="7"), by="ana")
        store.run_sync(memories.set_goals, "ana", [GoalSpec(description="Ship it")])
        await self.pass_time(office)
        event = list_events(office)[-1]
        assert event.content == "there is something to do: 2 unread fyi items, 1 open work item and 1 active goal"
        payload = event.data["payload"]
        assert (payload["fyiItems"], payload["workItems"], payload["goals"]) == (2, 1, 1)
        assert event.wakes
        assert '(context "Look after it")' in render.render_event(event)

    async def test_each_reason_counts_alone_and_ends(self, office: Kit) -> None:
        add_trigger(office, "pulse", HALF_HOUR, heartbeat=Heartbeat())
        store = office.store
        [goal] = store.run_sync(memories.set_goals, "ana", [GoalSpec(description="Ship it")])
        await self.pass_time(office)
        assert len(list_slots(office)) == 1
        done = GoalSpec(id=goal.id, status=GoalStatus.COMPLETED)
        store.run_sync(memories.set_goals, "ana", [done])
        self.read_all(office)
        await self.pass_time(office)
        assert len(list_slots(office)) == 1

        store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="7"), by="ben")
        await self.pass_time(office)
        assert len(list_slots(office)) == 1, "it is ben's"
        store.run_sync(work.post_event, Ref("task", "7"), "started", by="ana")
        await self.pass_time(office)
        assert list_events(office)[-1].content == "there is something to do: 1 open work item"
        self.read_all(office)
        store.run_sync(work.post_event, Ref("task", "7"), "complete", by="ana")
        await self.pass_time(office)
        assert len(list_slots(office)) == 2

    def read_all(self, office: Kit, recipient: str = "ana") -> None:
        claim = office.store.run_sync(inbox.claim, recipient, owner="test", limit=100).claim
        if claim is not None:
            office.store.run_sync(inbox.ack, claim.id, owner="test", fence=claim.fence)

    async def test_a_broadcast_that_was_not_taken_counts(self, office: Kit) -> None:
        add_trigger(office, "pulse", HALF_HOUR, heartbeat=Heartbeat())
        office.store.run_sync(push.push_event, Push(to="*", source="x", content="hello", priority=Priority.FYI))
        await self.pass_time(office)
        assert list_events(office)[-1].content == "there is something to do: 1 unread fyi item"

    async def test_one_that_was_not_read_yet_is_enough(self, office: Kit) -> None:
        add_trigger(office, "pulse", HALF_HOUR, heartbeat=Heartbeat())
        office.store.run_sync(memories.set_goals, "ana", [GoalSpec(description="Ship it")])
        for _ in range(5):
            await self.pass_time(office)
        assert len(list_slots(office)) == 1
        self.read_all(office)
        await self.pass_time(office)
        assert len(list_slots(office)) == 2

    async def test_the_members_of_a_team_are_judged_one_by_one(self, office: Kit) -> None:
        add_trigger(office, "pulse", HALF_HOUR, heartbeat=Heartbeat(), target="team:web")
        office.store.run_sync(memories.set_goals, "ben", [GoalSpec(description="Ship it")])
        await self.pass_time(office)
        assert (len(list_slots(office)), len(list_slots(office, "ben")), len(list_events(office, "admin"))) == (0, 1, 0)

    async def test_without_a_target_the_rules_decide_who_is_judged(self, office: Kit) -> None:
        add_trigger(office, "pulse", HALF_HOUR, heartbeat=Heartbeat(), target=None)
        office.store.run_sync(memories.set_goals, "ben", [GoalSpec(description="Ship it")])
        office.store.run_sync(memories.set_goals, "ana", [GoalSpec(description="Ship it")])
        spec = RouteSpec(name="all", channel="cron", filters={}, targets=("ben",), rank=1)
        office.store.run_sync(routing_rules.create_rule, spec, by=None)
        await self.pass_time(office)
        assert (len(list_slots(office)), len(list_slots(office, "ben"))) == (0, 1)

    async def test_behind_user_agent_the_fourth_system_is_judged(self, office: Kit) -> None:
        store = office.store
        store.run_sync(directory.register, EntitySpec(name="user-agent", kind=EntityKind.AGENT))
        store.run_sync(directory.register, EntitySpec(name="four", kind=EntityKind.AGENT, team="root", role="system4"))
        add_trigger(office, "pulse", HALF_HOUR, heartbeat=Heartbeat(), target=None)
        store.run_sync(memories.set_goals, "four", [GoalSpec(description="Ship it")])
        await self.pass_time(office)
        assert (len(list_slots(office, "four")), list_events(office, "user-agent")) == (1, [])

    async def test_one_that_reaches_nobody_is_said(self, office: Kit) -> None:
        add_trigger(office, "pulse", HALF_HOUR, heartbeat=Heartbeat(), target=None)
        await self.pass_time(office)
        assert len(list_events(office, "admin")) == 1

    def test_it_cannot_go_to_every_agent(self, office: Kit) -> None:
        with pytest.raises(Invalid, match="every agent"):
            add_trigger(office, heartbeat=Heartbeat(), target="*")
        add_trigger(office, heartbeat=Heartbeat())
        with pytest.raises(Invalid, match="every agent"):
            office.store.run_sync(triggers.change, "daily", {"target": "*"})

    @pytest.mark.parametrize(
        ("hours", "fired_hours"), [((8, 22), range(8, 22)), ((22, 6), [*range(6), 22, 23]), (None, range(24))]
    )
    async def test_it_fires_in_its_hours_in_the_zone_of_its_schedule(
        self, office: Kit, hours: tuple[int, int] | None, fired_hours: Any
    ) -> None:
        midnight = parse_instant("2026-07-02T00:00:00+03:00")
        office.clock.advance(midnight - office.clock.now() - MINUTE)
        schedule = TriggerSchedule(cron="0 * * * *", zone="Europe/Riga")
        add_trigger(office, "pulse", schedule, heartbeat=Heartbeat(active_hours=hours))
        office.store.run_sync(memories.set_goals, "ana", [GoalSpec(description="Ship it")])
        office.clock.advance(MINUTE)
        for _ in range(24):
            await background_tasks.fire_due_triggers(office.store)
            self.read_all(office)
            office.clock.advance(HOUR)
        slots = [(parse_instant(slot) - midnight) // HOUR for slot in list_slots(office)]
        assert slots == list(fired_hours)

    async def test_one_that_is_late_wakes_nobody_at_night(self, office: Kit) -> None:
        evening = parse_instant("2026-07-01T20:00:00Z")
        office.clock.advance(evening - office.clock.now())
        add_trigger(office, "pulse", TriggerSchedule(every=2 * HOUR), heartbeat=Heartbeat(active_hours=(8, 23)))
        office.store.run_sync(memories.set_goals, "ana", [GoalSpec(description="Ship it")])
        await self.pass_time(office, 3 * HOUR + 5 * MINUTE)
        assert list_events(office) == []
        await self.pass_time(office, 10 * HOUR)
        assert list_slots(office) == ["2026-07-02T08:00:00Z"]

    @pytest.mark.parametrize("hours", [(8, 8), (8, 25), (-1, 7)])
    def test_hours_that_are_none_are_refused(self, office: Kit, hours: tuple[int, int]) -> None:
        with pytest.raises(Invalid):
            add_trigger(office, heartbeat=Heartbeat(active_hours=hours))
