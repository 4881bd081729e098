"""Gates: whom they hold, who may end them, and who hears of it."""

from typing import Any

import pytest

from gatepost.core.policy import Policy
from gatepost.core.ports import Store
from gatepost.core.times import DAY, HOUR, MINUTE, SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import Conflict, GatepostError, Invalid, Late, NotFound, Refused, UnknownAddress
from gatepost.gates import automatic_end_actions as automatic_ends, gate as core, gate_actions as gates
from gatepost.gates.condition_check import CheckFailed, CheckResult, ConditionGone, ConditionMet, ConditionPending
from gatepost.gates.gate import AtDeadline, Ending, FailMode, Gate, GateKind, GateSpec
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType, GateEnd, Item, ItemState, Priority, parse_body
from gatepost.plans import actions as plans
from gatepost.plans.plan import Plan, PlanStatus
from gatepost.testing import Kit
from gatepost.worker import retention_actions as retention
from tests.plans.plan_specs import parse_spec
from tests.support.collected_failures import check_cases
from tests.support.store_context import StoreContext


def create_gate(ctx: StoreContext, by: str | None = "ann", **fields: Any) -> Gate:
    return ctx.store.run_sync(gates.add, GateSpec(**{"name": "review"} | fields), by=by)


def show_gate(ctx: StoreContext, gate: Gate) -> Gate:
    return ctx.store.read_sync(gates.show, gate.id)


def list_blocking(ctx: StoreContext, name: str = "ann") -> list[str]:
    return [gate.name for gate in ctx.store.read_sync(gates.list_blocking, name)]


def end_due(store: Store) -> None:
    while store.run_sync(automatic_ends.end_due):
        pass


def list_endings(ctx: StoreContext, name: str) -> list[tuple[str, str]]:
    """What somebody has heard of gates: how they ended, and in which words."""
    items = ctx.store.read_sync(inbox.list_page, name, type=EventType.GATE, limit=1_000)
    events = [parse_body(item.event) for item in items]
    return [(event.outcome, event.text) for event in events if isinstance(event, GateEnd)]


def list_alerts(ctx: StoreContext, name: str) -> list[Item]:
    return ctx.store.read_sync(inbox.list_page, name, type=EventType.ALERT)


class TestMaking:
    def test_a_gate_holds_its_owner_and_whoever_resolves_it_is_told(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(directory.update, "ann", owner="husam")
        gate = create_gate(ctx, instruction="Look at the plan", waiters=("bob",), within=HOUR)
        assert (gate.owner, gate.made_by, gate.awaits, gate.waiters) == ("ann", "ann", "husam", ("bob",))
        assert gate.deadline == ctx.clock.now() + HOUR
        assert show_gate(ctx, gate) == gate
        assert list_blocking(ctx) == ["review"]
        assert list_blocking(ctx, "bob") == []
        assert list_endings(ctx, "husam") == [("opened", "Look at the plan")]
        assert list_endings(ctx, "ann") == list_endings(ctx, "bob") == []
        assert "gate:" + gate.id in {signal.topic.recipient for signal in ctx.signal_sink.signals}
        assert ctx.is_balanced()

    @check_cases(
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
        self, ctx: StoreContext, by: str | None, fields: dict[str, Any], error: type[GatepostError]
    ) -> None:
        with pytest.raises(error):
            create_gate(ctx, by, **fields)
        assert ctx.store.read_sync(gates.list_page) == []
        assert ctx.signal_sink.signals == []

    def test_only_the_administrator_makes_gates_that_run_commands(self, kit: Kit) -> None:
        StoreContext(kit)
        store = kit.open(policy=Policy(can_run_commands=True))
        spec = GateSpec(name="build", kind=GateKind.COMMAND, awaits="make check", owner="ann")
        with pytest.raises(Refused, match="administrator"):
            store.run_sync(gates.add, spec, by="ann")
        assert store.run_sync(gates.add, spec, by="admin").awaits == "make check"

    def test_a_list_has_what_is_asked_for(self, ctx: StoreContext) -> None:
        first = create_gate(ctx, waiters=("bob",))
        second = create_gate(ctx, "bob", name="rest", kind=GateKind.TIMER, within=HOUR)
        ctx.store.run_sync(gates.resolve, first.id, by="admin")

        def list_names(**filters: Any) -> list[str]:
            return [gate.name for gate in ctx.store.read_sync(gates.list_page, **filters)]

        assert list_names() == ["review", "rest"]
        assert (
            list_names(owner="ann")
            == list_names(waiter="bob")
            == list_names(kind=GateKind.HUMAN)
            == list_names(pending=False)
        )
        assert list_names(pending=True) == list_names(owner="bob") == list_names(after=first.number) == ["rest"]
        assert (list_names(concerning="bob"), list_names(concerning="ann")) == (["review", "rest"], ["review"])
        assert (list_names(concerning="admin"), list_names(concerning="husam")) == (["review", "rest"], [])
        assert list_names(limit=1) == ["review"]
        ctx.store.run_sync(directory.update, "bob", owner="husam")
        assert list_names(concerning="husam") == ["rest"]
        assert ctx.store.read_sync(gates.show, second.id, viewer="husam").name == "rest"
        assert ctx.store.read_sync(gates.show, second.id, viewer="bob").name == "rest"
        with pytest.raises(NotFound):
            ctx.store.read_sync(gates.show, second.id, viewer="ann")


class TestEnding:
    def test_everybody_is_told_but_whoever_ended_it(self, ctx: StoreContext) -> None:
        gate = create_gate(ctx, awaits="husam", waiters=("bob", "husam"))
        ctx.clock.advance(MINUTE)
        ended_gate = ctx.store.run_sync(gates.resolve, gate.id, by="husam", reason="CI green")
        assert ended_gate.resolution is not None
        assert (ended_gate.resolution.ending, ended_gate.resolution.reason, ended_gate.resolution.by) == (
            "resolved",
            "CI green",
            "husam",
        )
        assert ended_gate.resolution.at == ctx.clock.now()
        assert list_blocking(ctx) == []
        assert list_endings(ctx, "ann") == list_endings(ctx, "bob") == [("resolved", "review: CI green")]
        [item] = ctx.store.read_sync(inbox.list_page, "husam", type=EventType.GATE)
        assert (item.state, item.receipt and item.receipt.owner) == (ItemState.DELIVERED, "husam")
        assert ctx.is_balanced()

    @pytest.mark.parametrize("second", [gates.resolve, gates.withdraw])
    def test_the_first_ending_counts_and_the_second_is_told_how(self, ctx: StoreContext, second: Any) -> None:
        gate = create_gate(ctx)
        first = ctx.store.run_sync(gates.withdraw, gate.id, by="ann", reason="not needed")
        with pytest.raises(Late, match="withdrawn already by 'ann': 'not needed'") as error:
            ctx.store.run_sync(second, gate.id, by="admin", reason="done")
        assert error.value.winner["outcome"] == "withdrawn"
        assert (error.value.winner["by"], error.value.winner["reason"]) == ("ann", "not needed")
        assert show_gate(ctx, gate) == first
        with pytest.raises(Late):
            ctx.store.run_sync(gates.add_waiter, gate.id, "bob", by="ann")

    @check_cases(
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
        self, ctx: StoreContext, fields: dict[str, Any], verb: Any, by: str | None, error: type[GatepostError] | None
    ) -> None:
        gate = create_gate(ctx, **fields)
        if error is None:
            assert not ctx.store.run_sync(verb, gate.id, by=by).is_pending
            return
        with pytest.raises(error):
            ctx.store.run_sync(verb, gate.id, by=by)
        assert show_gate(ctx, gate).is_pending

    def test_a_waiter_may_come_later_and_is_told_once(self, ctx: StoreContext) -> None:
        gate = create_gate(ctx)
        for _ in range(2):
            assert ctx.store.run_sync(gates.add_waiter, gate.id, "bob", by="ann").waiters == ("bob",)
        with pytest.raises(NotFound):
            ctx.store.run_sync(gates.add_waiter, gate.id, "husam", by="husam")
        ctx.store.run_sync(gates.resolve, gate.id, by="admin")
        assert list_endings(ctx, "bob") == [("resolved", "review")]

    @pytest.mark.parametrize("reason", ["x" * 1_001, "a\x00b", "\ud800"])
    def test_a_reason_that_cannot_be_stored_is_refused(self, ctx: StoreContext, reason: str) -> None:
        gate = create_gate(ctx)
        with pytest.raises(Invalid):
            ctx.store.run_sync(gates.resolve, gate.id, by="admin", reason=reason)
        assert show_gate(ctx, gate).is_pending


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
        self, ctx: StoreContext, fields: dict[str, Any], ending: Ending
    ) -> None:
        gate = create_gate(ctx, within=HOUR, waiters=("bob",), **fields)
        ctx.clock.advance(HOUR - 1)
        end_due(ctx.store)
        assert (list_blocking(ctx), gate.is_overdue(ctx.clock.now())) == (["review"], False)
        ctx.clock.advance(1)
        assert (list_blocking(ctx), show_gate(ctx, gate).is_overdue(ctx.clock.now())) == ([], True)
        assert ctx.store.read_sync(automatic_ends.find_next_due) == gate.deadline
        end_due(ctx.store)
        ended_gate = show_gate(ctx, gate)
        assert ended_gate.resolution is not None
        assert (ended_gate.resolution.ending, ended_gate.resolution.by, ended_gate.is_overdue(ctx.clock.now())) == (
            ending,
            None,
            False,
        )
        assert [outcome for outcome, _ in list_endings(ctx, "ann") + list_endings(ctx, "bob")] == [ending, ending]
        assert ctx.store.read_sync(automatic_ends.find_next_due) is None

    def test_one_that_escalates_stays_and_its_owners_owner_hears_of_it_once(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(directory.update, "ann", owner="husam")
        gate = create_gate(ctx, within=HOUR, at_deadline=AtDeadline.ESCALATE)
        for _ in range(3):
            ctx.clock.advance(HOUR)
            end_due(ctx.store)
        assert list_blocking(ctx) == ["review"]
        assert show_gate(ctx, gate).escalated_at == ctx.clock.now() - 2 * HOUR
        [alert] = list_alerts(ctx, "husam")
        assert ("ann" in alert.event.content, alert.event.priority) == (True, Priority.HIGH)
        ctx.store.run_sync(gates.resolve, gate.id, by="husam")
        assert list_blocking(ctx) == []


class TestWatching:
    def test_an_event_of_the_right_kind_that_comes_later_resolves_it(self, ctx: StoreContext) -> None:
        ctx.push_event("early", type=EventType.SERVICE, source="jira")
        gate = create_gate(ctx, kind=GateKind.EVENT, awaits="service:jira")
        for fields in (
            {"to": "bob", "type": EventType.SERVICE, "source": "jira"},
            {"type": EventType.SERVICE, "source": "ci"},
            {"type": EventType.NOTE, "source": "jira"},
        ):
            ctx.push_event(**fields)
        end_due(ctx.store)
        assert list_blocking(ctx) == ["review"]
        assert ctx.store.read_sync(automatic_ends.list_watches) == {("ann", "service")}
        event = ctx.push_event("at last", type=EventType.SERVICE, source="jira")
        ctx.ack(ctx.take_claim())
        assert [id for id, *_ in ctx.store.read_sync(automatic_ends.scan_events).matches] == [gate.id]
        end_due(ctx.store)
        ended_gate = show_gate(ctx, gate)
        assert ended_gate.resolution is not None
        assert (ended_gate.resolution.ending, event in ended_gate.resolution.reason) == (Ending.RESOLVED, True)
        assert ctx.store.read_sync(automatic_ends.scan_events).matches == ()
        assert ctx.store.read_sync(automatic_ends.list_watches) == frozenset()

    def test_a_broadcast_counts_before_its_owner_has_taken_it(self, ctx: StoreContext) -> None:
        gate = create_gate(ctx, kind=GateKind.EVENT, awaits="alert")
        ctx.push_event("mine", to="*", type=EventType.ALERT, sender="ann")
        end_due(ctx.store)
        assert list_blocking(ctx) == ["review"]
        event = ctx.push_event("for all", to="*", type=EventType.ALERT)
        end_due(ctx.store)
        ended_gate = show_gate(ctx, gate)
        assert ended_gate.resolution is not None
        assert event in ended_gate.resolution.reason

    def test_mail_counts_from_the_sender_it_awaits(self, ctx: StoreContext) -> None:
        create_gate(ctx, kind=GateKind.MAIL, awaits="bob")
        ctx.push_event("no", type=EventType.MAIL, sender="husam")
        ctx.push_event("no", type=EventType.NOTE, sender="bob")
        end_due(ctx.store)
        assert list_blocking(ctx) == ["review"]
        ctx.push_event("yes", type=EventType.MAIL, sender="bob")
        end_due(ctx.store)
        assert list_blocking(ctx) == []


class TestLooking:
    def create_ci_gate(self, ctx: StoreContext, fail: FailMode = FailMode.OPEN) -> Gate:
        ctx.set_policy(allowed_repositories=["me/repo"])
        return create_gate(ctx, kind=GateKind.CI, awaits="run:7@me/repo", fail=fail)

    def record_check(self, ctx: StoreContext, result: CheckResult) -> Gate:
        [gate] = ctx.store.run_sync(gates.take_due_checks, timeout=MINUTE, limit=10)
        return ctx.store.run_sync(gates.record_check, gate.id, result, retry_in=30 * SECOND)

    @pytest.mark.parametrize(
        ("result", "ending"), [(ConditionMet("green"), Ending.RESOLVED), (ConditionGone("404"), Ending.ORPHANED)]
    )
    def test_what_is_seen_ends_it(self, ctx: StoreContext, result: CheckResult, ending: Ending) -> None:
        self.create_ci_gate(ctx)
        ended_gate = self.record_check(ctx, result)
        assert ended_gate.resolution is not None
        assert ended_gate.resolution.ending is ending
        assert [outcome for outcome, _ in list_endings(ctx, "ann")] == [ending]
        assert ctx.store.run_sync(gates.record_check, ended_gate.id, ConditionPending(), retry_in=SECOND) == ended_gate

    def test_one_look_at_a_time_and_again_if_nobody_says_what_was_seen(self, ctx: StoreContext) -> None:
        self.create_ci_gate(ctx)
        assert len(ctx.store.run_sync(gates.take_due_checks, timeout=MINUTE, limit=10)) == 1
        assert ctx.store.run_sync(gates.take_due_checks, timeout=MINUTE, limit=10) == []
        ctx.clock.advance(MINUTE)
        assert self.record_check(ctx, ConditionPending()).is_pending
        assert ctx.store.read_sync(gates.find_next_check) == ctx.clock.now() + 30 * SECOND

    @pytest.mark.parametrize("fail", FailMode)
    def test_trouble_is_said_once_and_decides_as_it_was_told(self, ctx: StoreContext, fail: FailMode) -> None:
        self.create_ci_gate(ctx, fail)
        for reason in ("no gh", "no gh", "no network"):
            assert self.record_check(ctx, CheckFailed(reason)).trouble == reason
            assert list_blocking(ctx) == ([] if fail is FailMode.OPEN else ["review"])
            ctx.clock.advance(MINUTE)
        assert [item.event.content[-5:] for item in list_alerts(ctx, "ann")] == ["no gh"]
        assert self.record_check(ctx, ConditionPending()).trouble is None
        assert list_blocking(ctx) == ["review"]


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
        self, ctx: StoreContext, fields: dict[str, Any], leaver: str
    ) -> None:
        ctx.register("cleo")
        gate = create_gate(ctx, waiters=("bob", "cleo"), **fields)
        ctx.store.run_sync(directory.retire, leaver)
        ended_gate = show_gate(ctx, gate)
        assert ended_gate.resolution is not None
        assert (ended_gate.resolution.ending, ended_gate.resolution.reason) == (Ending.ORPHANED, f"{leaver} is retired")
        assert list_endings(ctx, "bob") == [("orphaned", f"review: {leaver} is retired")]
        assert bool([outcome for outcome, _ in list_endings(ctx, "ann") if outcome != "opened"]) is (leaver != "ann")
        assert ctx.is_balanced()

    def test_one_who_only_waits_may_leave(self, ctx: StoreContext) -> None:
        gate = create_gate(ctx, waiters=("bob",))
        ctx.store.run_sync(directory.retire, "bob")
        assert show_gate(ctx, gate).is_pending
        ctx.store.run_sync(gates.resolve, gate.id, by="admin")
        assert list_endings(ctx, "ann") == [("resolved", "review")]

    @pytest.mark.parametrize("fields", [{"awaits": "bob"}, {"kind": GateKind.MAIL, "awaits": "bob"}, {"owner": "bob"}])
    def test_nobody_waits_for_one_who_has_left(self, ctx: StoreContext, fields: dict[str, Any]) -> None:
        ctx.store.run_sync(directory.retire, "bob")
        with pytest.raises(Refused, match="retired"):
            create_gate(ctx, **{"by": "admin", "owner": "ann"} | fields)


class TestPlans:
    def set_plan(self, ctx: StoreContext, gate: Gate, owner: str = "ann") -> Plan:
        spec = parse_spec({"name": "go on", "instruction": "deploy", "onGate": gate.id})
        return ctx.store.run_sync(plans.set_plan, owner, spec)

    def fire_plans(self, ctx: StoreContext) -> list[str]:
        while ctx.store.run_sync(plans.fire):
            pass
        return ctx.list_inbox("ann", type=EventType.PLAN)

    def test_it_fires_when_the_gate_is_resolved_and_once(self, ctx: StoreContext) -> None:
        gate = create_gate(ctx)
        plan = self.set_plan(ctx, gate)
        assert (plan.gate, plan.next_at, plan.status) == (gate.id, None, PlanStatus.PENDING)
        ctx.clock.advance(DAY)
        assert (self.fire_plans(ctx), ctx.store.read_sync(plans.find_next_due)) == ([], None)
        ctx.store.run_sync(gates.resolve, gate.id, by="admin")
        assert ctx.store.read_sync(plans.find_next_due) == ctx.clock.now()
        assert self.fire_plans(ctx) == self.fire_plans(ctx) == ["deploy"]
        completed_plan = ctx.store.read_sync(plans.show, plan.id)
        assert (completed_plan.status, completed_plan.fired, completed_plan.gate) == (PlanStatus.COMPLETED, 1, gate.id)

    def test_one_that_is_resolved_already_fires_at_once(self, ctx: StoreContext) -> None:
        gate = create_gate(ctx)
        ctx.store.run_sync(gates.resolve, gate.id, by="admin")
        self.set_plan(ctx, gate)
        assert self.fire_plans(ctx) == ["deploy"]

    def test_a_gate_that_ends_otherwise_takes_the_plan_with_it_and_that_is_said(self, ctx: StoreContext) -> None:
        gate = create_gate(ctx)
        plan = self.set_plan(ctx, gate)
        ctx.store.run_sync(gates.withdraw, gate.id, by="admin")
        assert ctx.store.read_sync(plans.show, plan.id).status is PlanStatus.CANCELLED
        assert (self.fire_plans(ctx), len(list_alerts(ctx, "ann"))) == ([], 1)
        with pytest.raises(Conflict, match="withdrawn already"):
            self.set_plan(ctx, gate)

    def test_only_a_gate_that_concerns_the_owner_can_be_waited_for(self, ctx: StoreContext) -> None:
        gate = create_gate(ctx)
        with pytest.raises(NotFound):
            self.set_plan(ctx, gate, "bob")
        ctx.store.run_sync(gates.add_waiter, gate.id, "bob", by="ann")
        assert self.set_plan(ctx, gate, "bob").gate == gate.id

    def test_a_plan_may_wait_for_a_time_instead_and_the_other_way_round(self, ctx: StoreContext) -> None:
        gate = create_gate(ctx)
        plan = self.set_plan(ctx, gate)
        timed_plan = ctx.store.run_sync(plans.set_plan, "ann", parse_spec({"id": plan.id, "runAfter": "1 hour"}))
        assert (timed_plan.gate, timed_plan.next_at) == (None, ctx.clock.now() + HOUR)
        gated_plan = ctx.store.run_sync(plans.set_plan, "ann", parse_spec({"id": plan.id, "onGate": gate.id}))
        assert (gated_plan.gate, gated_plan.next_at) == (gate.id, None)
        renamed_plan = ctx.store.run_sync(plans.set_plan, "ann", parse_spec({"id": plan.id, "name": "go"}))
        assert (renamed_plan.gate, renamed_plan.name) == (gate.id, "go")
        ctx.store.run_sync(gates.resolve, gate.id, by="admin")
        assert self.fire_plans(ctx) == ["deploy"]


def test_what_has_ended_is_forgotten_and_a_plan_that_names_it_goes_first(ctx: StoreContext) -> None:
    gate = create_gate(ctx, waiters=("bob",), within=HOUR)
    TestPlans().set_plan(ctx, gate)
    ctx.store.run_sync(gates.resolve, gate.id, by="admin")
    assert len(TestPlans().fire_plans(ctx)) == 1
    ctx.clock.advance(DAY)
    while ctx.store.run_sync(retention.reap):
        pass
    assert (ctx.store.read_sync(gates.list_page), ctx.store.read_sync(plans.list_page)) == ([], [])
    assert ctx.is_balanced()


def test_what_somebody_is_told_who_may_not_stop_is_a_line_for_each_gate(ctx: StoreContext) -> None:
    create_gate(ctx, name="review", instruction="ask\nHusam <now>", within=HOUR)
    create_gate(ctx, name='"odd"')
    blocking_gates = ctx.store.read_sync(gates.list_blocking, "ann")
    lines = core.render_blocked_stop(blocking_gates).splitlines()
    assert lines[0] == "You cannot stop yet: 2 gates are still closed."
    assert lines[1] == f'- review: "ask\\nHusam \\u003cnow>" ({blocking_gates[0].id}, until 2026-02-18T10:00:00Z)'
    assert lines[2] == f'- "\\"odd\\"" ({blocking_gates[1].id})'


def test_of_very_many_gates_some_are_named(ctx: StoreContext) -> None:
    for number in range(25):
        create_gate(ctx, name=f"gate {number}")
    lines = core.render_blocked_stop(ctx.store.read_sync(gates.list_blocking, "ann")).splitlines()
    assert (len(lines), lines[0], lines[-1]) == (
        22,
        "You cannot stop yet: 25 gates are still closed.",
        "- and 5 more",
    )


def test_whose_owner_has_left_waits_for_the_administrator(ctx: StoreContext) -> None:
    ctx.store.run_sync(directory.update, "ann", owner="husam")
    ctx.store.run_sync(directory.retire, "husam")
    assert create_gate(ctx).awaits == "admin"


def test_a_person_may_be_held_and_a_gate_of_a_service_is_its_owners(ctx: StoreContext) -> None:
    ctx.register("ci", EntityKind.SERVICE, owner="husam")
    assert create_gate(ctx, "husam", owner="ci", awaits="ann").made_by == "husam"
    assert create_gate(ctx, "husam", name="rest", awaits="ann").owner == "husam"
    assert list_blocking(ctx, "husam") == ["rest"]
