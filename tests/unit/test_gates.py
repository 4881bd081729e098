"""Gates: whom they hold, who may end them, and who hears of it."""

from typing import Any

import pytest

from gatepost.actions import deadlines, directory, gates, inbox, maintenance, plans
from gatepost.core import gate as core
from gatepost.core import plan as plan_rules
from gatepost.core.entity import EntityKind
from gatepost.core.enums import ParsedEnum
from gatepost.core.event import Ended as EndedEvent
from gatepost.core.event import EventType, Item, ItemState, Priority, parse_body
from gatepost.core.gate import (
    AtDeadline,
    CheckFailed,
    CheckResult,
    ConditionGone,
    ConditionMet,
    ConditionPending,
    Ending,
    FailMode,
    Gate,
    GateKind,
    GateSpec,
)
from gatepost.core.limits import Limits
from gatepost.core.plan import Plan, PlanStatus
from gatepost.core.times import DAY, HOUR, MINUTE, SECOND
from gatepost.errors import Conflict, GatepostError, Invalid, Late, NotFound, Refused, UnknownAddress
from gatepost.ports import Store
from gatepost.testing import Kit
from tests.unit.conftest import House


def made(house: House, by: str | None = "ann", **fields: Any) -> Gate:
    return house.store.call(gates.add, GateSpec(**{"name": "review"} | fields), by=by)


def shown(house: House, gate: Gate) -> Gate:
    return house.store.query(gates.show, gate.id)


def blocking(house: House, name: str = "ann") -> list[str]:
    return [gate.name for gate in house.store.query(gates.list_blocking, name)]


def settle(store: Store) -> None:
    while store.call(deadlines.end_due):
        pass


def told(house: House, name: str) -> list[tuple[str, str]]:
    """What somebody has heard of gates: how they ended, and in which words."""
    items = house.store.query(inbox.page, name, type=EventType.GATE, limit=1_000)
    events = [parse_body(item.event) for item in items]
    return [(event.outcome, event.text) for event in events if isinstance(event, EndedEvent)]


def alerts(house: House, name: str) -> list[Item]:
    return house.store.query(inbox.page, name, type=EventType.ALERT)


class TestMaking:
    def test_a_gate_holds_its_owner_and_whoever_resolves_it_is_told(self, house: House) -> None:
        house.store.call(directory.update, "ann", owner="husam")
        gate = made(house, instruction="Look at the plan", waiters=("bob",), within=HOUR)
        assert (gate.owner, gate.made_by, gate.awaits, gate.waiters) == ("ann", "ann", "husam", ("bob",))
        assert gate.deadline == house.clock.now() + HOUR
        assert shown(house, gate) == gate
        assert blocking(house) == ["review"]
        assert blocking(house, "bob") == []
        assert told(house, "husam") == [("opened", "Look at the plan")]
        assert told(house, "ann") == told(house, "bob") == []
        assert "gate:" + gate.id in {ring.recipient for ring in house.bell.signals}
        assert house.balanced()

    @pytest.mark.parametrize(
        ("by", "fields", "error"),
        [
            (None, {}, Invalid),
            ("ann", {"name": " "}, Invalid),
            ("ann", {"name": "two\nlines"}, Invalid),
            ("ann", {"name": "x" * 201}, Invalid),
            ("ann", {"instruction": "x" * 4_001}, Invalid),
            ("ann", {"instruction": "a\x00b"}, Invalid),
            ("ann", {"owner": "nobody"}, UnknownAddress),
            ("ann", {"owner": "team:red"}, Invalid),
            ("ann", {"owner": "bob"}, Refused),
            ("ann", {"kind": GateKind.MAIL, "awaits": "ann"}, Invalid),
            ("ann", {"awaits": "nobody"}, UnknownAddress),
            ("ann", {"waiters": ("nobody",)}, UnknownAddress),
            ("ann", {"kind": GateKind.DECISION, "awaits": "dec_1"}, Invalid),
            ("ann", {"kind": GateKind.TIMER}, Invalid),
            ("ann", {"kind": GateKind.TIMER, "within": HOUR, "awaits": "tea"}, Invalid),
            ("ann", {"kind": GateKind.TIMER, "deadline": 0}, Invalid),
            ("ann", {"kind": GateKind.TIMER, "deadline": 2**62}, Invalid),
            ("ann", {"kind": GateKind.TIMER, "within": -HOUR}, Invalid),
            ("ann", {"kind": GateKind.TIMER, "within": HOUR, "deadline": 2**50}, Invalid),
            ("ann", {"kind": GateKind.EVENT}, Invalid),
            ("ann", {"kind": GateKind.EVENT, "awaits": "tea"}, Invalid),
            ("ann", {"kind": GateKind.EVENT, "awaits": "service:"}, Invalid),
            ("ann", {"kind": GateKind.MAIL}, Invalid),
            ("ann", {"kind": GateKind.MAIL, "awaits": "nobody"}, UnknownAddress),
            ("ann", {"kind": GateKind.CI, "awaits": "run:latest"}, Invalid),
            ("ann", {"kind": GateKind.CI, "awaits": "run:1@../../etc"}, Invalid),
            ("ann", {"kind": GateKind.COMMAND, "awaits": "true"}, Refused),
            ("admin", {"kind": GateKind.COMMAND, "awaits": "true", "owner": "ann"}, Refused),
        ],
    )
    def test_what_cannot_be_is_refused_and_nothing_is_stored(
        self, house: House, by: str | None, fields: dict[str, Any], error: type[GatepostError]
    ) -> None:
        with pytest.raises(error):
            made(house, by, **fields)
        assert house.store.query(gates.page) == []
        assert house.bell.signals == []

    def test_only_the_administrator_makes_gates_that_run_commands(self, kit: Kit) -> None:
        House(kit)
        store = kit.open(limits=Limits(commands=True))
        wish = GateSpec(name="build", kind=GateKind.COMMAND, awaits="make check", owner="ann")
        with pytest.raises(Refused, match="administrator"):
            store.call(gates.add, wish, by="ann")
        assert store.call(gates.add, wish, by="admin").awaits == "make check"

    def test_a_list_has_what_is_asked_for(self, house: House) -> None:
        one = made(house, waiters=("bob",))
        two = made(house, "bob", name="rest", kind=GateKind.TIMER, within=HOUR)
        house.store.call(gates.resolve, one.id, by="admin")

        def names(**wanted: Any) -> list[str]:
            return [gate.name for gate in house.store.query(gates.page, **wanted)]

        assert names() == ["review", "rest"]
        assert names(owner="ann") == names(waiter="bob") == names(kind=GateKind.HUMAN) == names(pending=False)
        assert names(pending=True) == names(owner="bob") == names(after=one.number) == ["rest"]
        assert (names(concerning="bob"), names(concerning="ann")) == (["review", "rest"], ["review"])
        assert (names(concerning="admin"), names(concerning="husam")) == (["review", "rest"], [])
        assert names(limit=1) == ["review"]
        house.store.call(directory.update, "bob", owner="husam")
        assert names(concerning="husam") == ["rest"]
        assert house.store.query(gates.show, two.id, viewer="husam").name == "rest"
        assert house.store.query(gates.show, two.id, viewer="bob").name == "rest"
        with pytest.raises(NotFound):
            house.store.query(gates.show, two.id, viewer="ann")


class TestEnding:
    def test_everybody_is_told_but_whoever_ended_it(self, house: House) -> None:
        gate = made(house, awaits="husam", waiters=("bob", "husam"))
        house.clock.advance(MINUTE)
        ended = house.store.call(gates.resolve, gate.id, by="husam", reason="CI green")
        assert ended.resolution is not None
        assert (ended.resolution.ending, ended.resolution.reason, ended.resolution.by) == (
            "resolved",
            "CI green",
            "husam",
        )
        assert ended.resolution.at == house.clock.now()
        assert blocking(house) == []
        assert told(house, "ann") == told(house, "bob") == [("resolved", "review: CI green")]
        [notice] = house.store.query(inbox.page, "husam", type=EventType.GATE)
        assert (notice.state, notice.receipt and notice.receipt.owner) == (ItemState.DELIVERED, "husam")
        assert house.balanced()

    @pytest.mark.parametrize("second", [gates.resolve, gates.withdraw])
    def test_the_first_ending_counts_and_the_second_is_told_how(self, house: House, second: Any) -> None:
        gate = made(house)
        first = house.store.call(gates.withdraw, gate.id, by="ann", reason="not needed")
        with pytest.raises(Late, match="withdrawn already by 'ann': 'not needed'") as late:
            house.store.call(second, gate.id, by="admin", reason="done")
        assert late.value.winner["outcome"] == "withdrawn"
        assert (late.value.winner["by"], late.value.winner["reason"]) == ("ann", "not needed")
        assert shown(house, gate) == first
        with pytest.raises(Late):
            house.store.call(gates.add_waiter, gate.id, "bob", by="ann")

    @pytest.mark.parametrize(
        ("fields", "verb", "by", "error"),
        [
            ({}, gates.resolve, "ann", Refused),  # it would open its own gate
            ({}, gates.resolve, "bob", NotFound),
            ({}, gates.resolve, "admin", None),
            ({}, gates.resolve, None, None),
            ({}, gates.withdraw, "ann", None),
            ({"awaits": "bob"}, gates.resolve, "bob", None),
            ({"awaits": "bob"}, gates.withdraw, "bob", Refused),
            ({"awaits": "bob"}, gates.resolve, "husam", NotFound),
            ({"by": "admin", "owner": "ann"}, gates.withdraw, "ann", Refused),
            ({"by": "admin", "owner": "ann", "kind": GateKind.EVENT, "awaits": "mail"}, gates.resolve, "ann", Refused),
            ({"kind": GateKind.EVENT, "awaits": "mail"}, gates.resolve, "ann", None),
            ({"kind": GateKind.EVENT, "awaits": "mail", "waiters": ("bob",)}, gates.resolve, "bob", Refused),
        ],
    )
    def test_who_may_end_a_gate(
        self, house: House, fields: dict[str, Any], verb: Any, by: str | None, error: type[GatepostError] | None
    ) -> None:
        gate = made(house, **fields)
        if error is None:
            assert not house.store.call(verb, gate.id, by=by).is_pending
            return
        with pytest.raises(error):
            house.store.call(verb, gate.id, by=by)
        assert shown(house, gate).is_pending

    def test_a_waiter_may_come_later_and_is_told_once(self, house: House) -> None:
        gate = made(house)
        for _ in range(2):
            assert house.store.call(gates.add_waiter, gate.id, "bob", by="ann").waiters == ("bob",)
        with pytest.raises(NotFound):
            house.store.call(gates.add_waiter, gate.id, "husam", by="husam")
        house.store.call(gates.resolve, gate.id, by="admin")
        assert told(house, "bob") == [("resolved", "review")]

    @pytest.mark.parametrize("reason", ["x" * 1_001, "a\x00b", "\ud800"])
    def test_a_reason_that_cannot_be_stored_is_refused(self, house: House, reason: str) -> None:
        gate = made(house)
        with pytest.raises(Invalid):
            house.store.call(gates.resolve, gate.id, by="admin", reason=reason)
        assert shown(house, gate).is_pending


class TestDeadlines:
    @pytest.mark.parametrize(
        ("fields", "ending"),
        [
            ({"kind": GateKind.TIMER}, Ending.RESOLVED),
            ({"kind": GateKind.TIMER, "at_deadline": AtDeadline.ESCALATE}, Ending.RESOLVED),
            ({}, Ending.EXPIRED),
            ({"kind": GateKind.MAIL, "awaits": "bob", "fail": FailMode.CLOSED}, Ending.EXPIRED),
        ],
    )
    def test_it_counts_at_once_and_is_written_down_later(
        self, house: House, fields: dict[str, Any], ending: Ending
    ) -> None:
        gate = made(house, within=HOUR, waiters=("bob",), **fields)
        house.clock.advance(HOUR - 1)
        settle(house.store)
        assert (blocking(house), gate.is_overdue(house.clock.now())) == (["review"], False)
        house.clock.advance(1)
        assert (blocking(house), shown(house, gate).is_overdue(house.clock.now())) == ([], True)
        assert house.store.query(deadlines.find_next_due) == gate.deadline
        settle(house.store)
        found = shown(house, gate)
        assert found.resolution is not None
        assert (found.resolution.ending, found.resolution.by, found.is_overdue(house.clock.now())) == (
            ending,
            None,
            False,
        )
        assert [outcome for outcome, _ in told(house, "ann") + told(house, "bob")] == [ending, ending]
        assert house.store.query(deadlines.find_next_due) is None

    def test_one_that_escalates_stays_and_its_owners_owner_hears_of_it_once(self, house: House) -> None:
        house.store.call(directory.update, "ann", owner="husam")
        gate = made(house, within=HOUR, at_deadline=AtDeadline.ESCALATE)
        for _ in range(3):
            house.clock.advance(HOUR)
            settle(house.store)
        assert blocking(house) == ["review"]
        assert shown(house, gate).escalated_at == house.clock.now() - 2 * HOUR
        [alert] = alerts(house, "husam")
        assert ("ann" in alert.event.content, alert.event.priority) == (True, Priority.HIGH)
        house.store.call(gates.resolve, gate.id, by="husam")
        assert blocking(house) == []


class TestWatching:
    def test_an_event_of_the_right_kind_that_comes_later_resolves_it(self, house: House) -> None:
        house.tell("early", type=EventType.SERVICE, source="jira")
        gate = made(house, kind=GateKind.EVENT, awaits="service:jira")
        for push in (
            {"to": "bob", "type": EventType.SERVICE, "source": "jira"},
            {"type": EventType.SERVICE, "source": "ci"},
            {"type": EventType.NOTE, "source": "jira"},
        ):
            house.tell(**push)
        settle(house.store)
        assert blocking(house) == ["review"]
        assert house.store.query(deadlines.list_watches) == {("ann", "service")}
        event = house.tell("at last", type=EventType.SERVICE, source="jira")
        house.ack(house.take())
        assert [id for id, *_ in house.store.query(deadlines.scan_events).matches] == [gate.id]
        settle(house.store)
        found = shown(house, gate)
        assert found.resolution is not None
        assert (found.resolution.ending, event in found.resolution.reason) == (Ending.RESOLVED, True)
        assert (house.store.query(deadlines.scan_events).matches, house.store.query(deadlines.list_watches)) == (
            (),
            frozenset(),
        )

    def test_a_broadcast_counts_before_its_owner_has_taken_it(self, house: House) -> None:
        gate = made(house, kind=GateKind.EVENT, awaits="alert")
        house.tell("mine", to="*", type=EventType.ALERT, sender="ann")
        settle(house.store)
        assert blocking(house) == ["review"]
        event = house.tell("for all", to="*", type=EventType.ALERT)
        settle(house.store)
        found = shown(house, gate)
        assert found.resolution is not None
        assert event in found.resolution.reason

    def test_mail_counts_from_the_sender_it_awaits(self, house: House) -> None:
        made(house, kind=GateKind.MAIL, awaits="bob")
        house.tell("no", type=EventType.MAIL, sender="husam")
        house.tell("no", type=EventType.NOTE, sender="bob")
        settle(house.store)
        assert blocking(house) == ["review"]
        house.tell("yes", type=EventType.MAIL, sender="bob")
        settle(house.store)
        assert blocking(house) == []


class TestLooking:
    def gate(self, house: House, fail: FailMode = FailMode.OPEN) -> Gate:
        house.rule(ci=["me/repo"])
        return made(house, kind=GateKind.CI, awaits="run:7@me/repo", fail=fail)

    def looked(self, house: House, sight: CheckResult) -> Gate:
        [gate] = house.store.call(gates.take_due_checks, hold=MINUTE, limit=10)
        return house.store.call(gates.record_check, gate.id, sight, retry_in=30 * SECOND)

    @pytest.mark.parametrize(
        ("sight", "ending"), [(ConditionMet("green"), Ending.RESOLVED), (ConditionGone("404"), Ending.ORPHANED)]
    )
    def test_what_is_seen_ends_it(self, house: House, sight: CheckResult, ending: Ending) -> None:
        self.gate(house)
        found = self.looked(house, sight)
        assert found.resolution is not None
        assert found.resolution.ending is ending
        assert [outcome for outcome, _ in told(house, "ann")] == [ending]
        assert house.store.call(gates.record_check, found.id, ConditionPending(), retry_in=SECOND) == found

    def test_one_look_at_a_time_and_again_if_nobody_says_what_was_seen(self, house: House) -> None:
        self.gate(house)
        assert len(house.store.call(gates.take_due_checks, hold=MINUTE, limit=10)) == 1
        assert house.store.call(gates.take_due_checks, hold=MINUTE, limit=10) == []
        house.clock.advance(MINUTE)
        assert self.looked(house, ConditionPending()).is_pending
        assert house.store.query(gates.find_next_check) == house.clock.now() + 30 * SECOND

    @pytest.mark.parametrize("fail", FailMode)
    def test_trouble_is_said_once_and_decides_as_it_was_told(self, house: House, fail: FailMode) -> None:
        self.gate(house, fail)
        for reason in ("no gh", "no gh", "no network"):
            assert self.looked(house, CheckFailed(reason)).trouble == reason
            assert blocking(house) == ([] if fail is FailMode.OPEN else ["review"])
            house.clock.advance(MINUTE)
        assert [item.event.content[-5:] for item in alerts(house, "ann")] == ["no gh"]
        assert self.looked(house, ConditionPending()).trouble is None
        assert blocking(house) == ["review"]


class TestLeaving:
    @pytest.mark.parametrize(
        ("fields", "leaver"),
        [
            ({"awaits": "husam"}, "husam"),
            ({"awaits": "husam"}, "ann"),
            ({"kind": GateKind.MAIL, "awaits": "cleo"}, "cleo"),
            ({"kind": GateKind.TIMER, "within": HOUR}, "ann"),
        ],
    )
    def test_a_gate_that_makes_no_sense_any_more_is_orphaned_and_its_waiters_are_told(
        self, house: House, fields: dict[str, Any], leaver: str
    ) -> None:
        house.register("cleo")
        gate = made(house, waiters=("bob", "cleo"), **fields)
        house.store.call(directory.retire, leaver)
        found = shown(house, gate)
        assert found.resolution is not None
        assert (found.resolution.ending, found.resolution.reason) == (Ending.ORPHANED, f"{leaver} is retired")
        assert told(house, "bob") == [("orphaned", f"review: {leaver} is retired")]
        assert bool([outcome for outcome, _ in told(house, "ann") if outcome != "opened"]) is (leaver != "ann")
        assert house.balanced()

    def test_one_who_only_waits_may_leave(self, house: House) -> None:
        gate = made(house, waiters=("bob",))
        house.store.call(directory.retire, "bob")
        assert shown(house, gate).is_pending
        house.store.call(gates.resolve, gate.id, by="admin")
        assert told(house, "ann") == [("resolved", "review")]

    @pytest.mark.parametrize("fields", [{"awaits": "bob"}, {"kind": GateKind.MAIL, "awaits": "bob"}, {"owner": "bob"}])
    def test_nobody_waits_for_one_who_has_left(self, house: House, fields: dict[str, Any]) -> None:
        house.store.call(directory.retire, "bob")
        with pytest.raises(Refused, match="retired"):
            made(house, **{"by": "admin", "owner": "ann"} | fields)


class TestPlans:
    def plan(self, house: House, gate: Gate, owner: str = "ann") -> Plan:
        wish = plan_rules.parse_spec({"name": "go on", "instruction": "deploy", "onGate": gate.id})
        return house.store.call(plans.set_plan, owner, wish)

    def fired(self, house: House) -> list[str]:
        while house.store.call(plans.fire):
            pass
        return house.listed("ann", type=EventType.PLAN)

    def test_it_fires_when_the_gate_is_resolved_and_once(self, house: House) -> None:
        gate = made(house)
        plan = self.plan(house, gate)
        assert (plan.gate, plan.next_at, plan.status) == (gate.id, None, PlanStatus.PENDING)
        house.clock.advance(DAY)
        assert (self.fired(house), house.store.query(plans.find_next_due)) == ([], None)
        house.store.call(gates.resolve, gate.id, by="admin")
        assert house.store.query(plans.find_next_due) == house.clock.now()
        assert self.fired(house) == self.fired(house) == ["deploy"]
        found = house.store.query(plans.show, plan.id)
        assert (found.status, found.fired, found.gate) == (PlanStatus.COMPLETED, 1, gate.id)

    def test_one_that_is_resolved_already_fires_at_once(self, house: House) -> None:
        gate = made(house)
        house.store.call(gates.resolve, gate.id, by="admin")
        self.plan(house, gate)
        assert self.fired(house) == ["deploy"]

    def test_a_gate_that_ends_otherwise_takes_the_plan_with_it_and_that_is_said(self, house: House) -> None:
        gate = made(house)
        plan = self.plan(house, gate)
        house.store.call(gates.withdraw, gate.id, by="admin")
        assert house.store.query(plans.show, plan.id).status is PlanStatus.CANCELLED
        assert (self.fired(house), len(alerts(house, "ann"))) == ([], 1)
        with pytest.raises(Conflict, match="withdrawn already"):
            self.plan(house, gate)

    def test_only_a_gate_that_concerns_the_owner_can_be_waited_for(self, house: House) -> None:
        gate = made(house)
        with pytest.raises(NotFound):
            self.plan(house, gate, "bob")
        house.store.call(gates.add_waiter, gate.id, "bob", by="ann")
        assert self.plan(house, gate, "bob").gate == gate.id

    def test_a_plan_may_wait_for_a_time_instead_and_the_other_way_round(self, house: House) -> None:
        gate = made(house)
        plan = self.plan(house, gate)
        later = house.store.call(plans.set_plan, "ann", plan_rules.parse_spec({"id": plan.id, "runAfter": "1 hour"}))
        assert (later.gate, later.next_at) == (None, house.clock.now() + HOUR)
        again = house.store.call(plans.set_plan, "ann", plan_rules.parse_spec({"id": plan.id, "onGate": gate.id}))
        assert (again.gate, again.next_at) == (gate.id, None)
        same = house.store.call(plans.set_plan, "ann", plan_rules.parse_spec({"id": plan.id, "name": "go"}))
        assert (same.gate, same.name) == (gate.id, "go")
        house.store.call(gates.resolve, gate.id, by="admin")
        assert self.fired(house) == ["deploy"]


def test_what_has_ended_is_forgotten_and_a_plan_that_names_it_goes_first(house: House) -> None:
    gate = made(house, waiters=("bob",), within=HOUR)
    TestPlans().plan(house, gate)
    house.store.call(gates.resolve, gate.id, by="admin")
    assert len(TestPlans().fired(house)) == 1
    house.clock.advance(DAY)
    while house.store.call(maintenance.reap):
        pass
    assert (house.store.query(gates.page), house.store.query(plans.page)) == ([], [])
    assert house.balanced()


def test_what_somebody_is_told_who_may_not_stop_is_a_line_for_each_gate(house: House) -> None:
    made(house, name="review", instruction="ask\nHusam <now>", within=HOUR)
    made(house, name='"odd"')
    found = house.store.query(gates.list_blocking, "ann")
    lines = core.render_blocked_stop(found).splitlines()
    assert lines[0] == "You cannot stop yet: 2 gates are still closed."
    assert lines[1] == f'- review: "ask\\nHusam \\u003cnow>" ({found[0].id}, until 2026-02-18T10:00:00Z)'
    assert lines[2] == f'- "\\"odd\\"" ({found[1].id})'


def test_of_very_many_gates_some_are_named(house: House) -> None:
    for number in range(25):
        made(house, name=f"gate {number}")
    lines = core.render_blocked_stop(house.store.query(gates.list_blocking, "ann")).splitlines()
    assert (len(lines), lines[0], lines[-1]) == (
        22,
        "You cannot stop yet: 25 gates are still closed.",
        "- and 5 more",
    )


def test_whose_owner_has_left_waits_for_the_administrator(house: House) -> None:
    house.store.call(directory.update, "ann", owner="husam")
    house.store.call(directory.retire, "husam")
    assert made(house).awaits == "admin"


def test_a_person_may_be_held_and_a_gate_of_a_service_is_its_owners(house: House) -> None:
    house.register("ci", EntityKind.SERVICE, owner="husam")
    assert made(house, "husam", owner="ci", awaits="ann").made_by == "husam"
    assert made(house, "husam", name="rest", awaits="ann").owner == "husam"
    assert blocking(house, "husam") == ["rest"]


@pytest.mark.parametrize("word", ParsedEnum.__subclasses__())
def test_what_a_word_is_not_makes_a_sentence(word: type[ParsedEnum]) -> None:
    with pytest.raises(Invalid, match=r"^'zzz' is not (a|something) [a-z ]+$"):
        word.parse("zzz")
