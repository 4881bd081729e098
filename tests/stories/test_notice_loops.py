"""
I13: what Gatepost itself pushes because of an event is part of its chain. Two agents that answer every event, by
whatever makes Gatepost push the next one, stop by themselves: neither is woken more than 17 times.
"""

from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any, Final

import pytest

from gatepost.core.policy import Policy
from gatepost.core.ports import Store, Transaction
from gatepost.core.times import MINUTE, SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gates import automatic_end_actions as automatic_ends, decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import AnswerSpec, Option, Question
from gatepost.gates.gate import GateKind, GateSpec
from gatepost.guests import session_actions as sessions
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType, Item, Push, Ref
from gatepost.inbox.push import actions as push
from gatepost.ledger import posting_actions as posting
from gatepost.ledger.connections import actions as connections
from gatepost.mail import mail_actions as mail, read_receipt_actions as receipts, work_actions as work
from gatepost.mail.sent_record import AckRequest, MailSpec
from gatepost.mail.work_item import WorkItemSpec, WorkType
from gatepost.plans import actions as plans
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import AgentConfig
from gatepost.residents.runs import (
    deferred_call_actions as calls,
    ending_actions as run_endings,
    resume_actions as run_resume,
)
from gatepost.residents.runs.journal_actions import RunLease
from gatepost.spaces import actions as spaces
from gatepost.testing import Kit
from tests.plans.plan_specs import parse_spec
from tests.residents.scripted_agent import build_call

POSTGRES_BY_NIGHT = True

LIMIT: Final = Policy().hops
NETWORK: Final = "testnet"
TASK: Final = Ref("task", "1")


class Office:
    """The agents ann and bob, who answer every event."""

    def __init__(self, kit: Kit, bob: str, **policy: Any) -> None:
        self.kit = kit
        self.store: Store = kit.store
        self.numbers = count()
        for name in ("admin", "husam"):
            self.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.HUMAN))
        for name in ("ann", "bob"):
            self.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, owner="admin"))
        self.store.run_sync(spaces.create, name="tea", id="tea", members=["ann", "bob"])
        self.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="1"), by="husam")
        if policy:
            self.store = kit.open(policy=Policy(**policy))
        self.residents = ["ann", *(["bob"] if bob == "resident" else [])]
        for name in self.residents:
            self.store.run_sync(agents.make_resident, name, AgentConfig())

    def is_awake(self, name: str) -> bool:
        if name in self.residents:
            return self.store.read_sync(run_resume.read_readiness, name)[1]
        return any(item.event.wakes for item in self.list_pending(name))

    def list_pending(self, name: str) -> list[Item]:
        return list(self.store.read_sync(inbox.peek, name, limit=1_000))

    def play(self, act: "Act", then: "Callable[[Office], object] | None" = None) -> int:
        """Let both answer until nobody is awake; return how often ann and bob have, the one who did more often."""
        self.store.run_sync(push.push_event, Push(to="ann", source="test", sender="husam", content="begin"))
        rounds: Counter[str] = Counter()
        while awake := [name for name in ("ann", "bob") if self.is_awake(name)]:
            self.answer(awake[0], act)
            rounds[awake[0]] += 1
            assert max(rounds.values()) <= LIMIT + 1, "they answer each other without end"
            if then is not None:
                then(self)
        return max(rounds.values())

    def answer(self, name: str, act: "Act") -> None:
        """Read what waits for an agent, in a run or as a program does, and answer it."""
        other = "bob" if name == "ann" else "ann"
        if name not in self.residents:
            batch = self.store.run_sync(inbox.claim, name, owner="program", limit=100)
            assert batch.claim is not None
            self.store.run_sync(inbox.ack, batch.claim.id, owner="program", fence=batch.claim.fence)
            act(self, name, other, None)
            return
        leased_run = self.store.run_sync(run_resume.take_run, name, "here")
        assert leased_run is not None
        act(self, name, other, leased_run.run_lease)
        self.store.run_sync(run_endings.skip_run, leased_run.run_lease)


Act = Callable[[Office, str, str, RunLease | None], object]


def ask_for_receipt(office: Office, me: str, other: str, run: RunLease | None) -> None:
    spec = MailSpec(to=other, payload={"text": "And you?"}, ack=AckRequest.REQUIRED)
    office.store.run_sync(mail.send, spec, sender=me)


def read_only(office: Office, me: str, other: str, run: RunLease | None) -> None:
    """Of the two, only ann writes; bob reads."""
    if me == "ann":
        ask_for_receipt(office, me, other, run)


def mail_to_nobody(office: Office, me: str, other: str, run: RunLease | None) -> None:
    spec = MailSpec(to="husam", payload={"text": "?"}, ack=AckRequest.REQUIRED, ack_within=10 * SECOND)
    office.store.run_sync(mail.send, spec, sender=me)


def report_overdue(office: Office) -> None:
    office.kit.clock.advance(10 * SECOND)
    office.store.run_sync(receipts.report_overdue)


def mail_to_ledger(office: Office, me: str, other: str, run: RunLease | None) -> None:
    sent = office.store.run_sync(mail.send, MailSpec(to="husam", payload={"text": "?"}), sender=me)
    office.store.run_sync(posting.fail_post, NETWORK, sent.id, "the topic is gone")


def note_to_ledger(office: Office, me: str, other: str, run: RunLease | None) -> None:
    note = office.store.run_sync(work.post_note, TASK, "?", by=me)
    office.store.run_sync(posting.fail_post, NETWORK, note.id, "the topic is gone")


def close_connection(office: Office, me: str, other: str, run: RunLease | None) -> None:
    """Ask an agent outside for a connection, which ends it at once."""

    def insert_and_end(tx: Transaction) -> None:
        id = tx.new_id("con")
        tx.execute(
            "ledger/connections/insert",
            id=id,
            network=NETWORK,
            entity=directory.find(tx, me).number,
            peer_account=f"0.0.{next(office.numbers)}",
            peer_inbound=None,
            is_incoming=False,
            request=None,
            note=None,
            now=tx.now,
        )
        connections.end_connection(tx, connections.find(tx, id), "no")

    office.store.run_sync(insert_and_end)


def set_timer(office: Office, me: str, other: str, run: RunLease | None) -> None:
    spec = GateSpec(name="timer", kind=GateKind.TIMER, owner=me, within=SECOND)
    office.store.run_sync(gates.add, spec, by=me)


def end_gates(office: Office) -> None:
    office.kit.clock.advance(SECOND)
    while office.store.run_sync(automatic_ends.end_due):
        pass


def await_other(office: Office, me: str, other: str, run: RunLease | None) -> None:
    """Resolve what the other one waits for, and wait for the other one."""
    for gate in office.store.read_sync(gates.list_page):
        if gate.awaits == me and gate.is_pending:
            office.store.run_sync(gates.resolve, gate.id, by=me)
    spec = GateSpec(name="sign-off", kind=GateKind.HUMAN, owner=me, awaits=other)
    office.store.run_sync(gates.add, spec, by=me)


def ask_other(office: Office, me: str, other: str, run: RunLease | None) -> None:
    """Answer what the other one asks, and ask the other one."""
    for decision in office.store.read_sync(decisions.list_page, asked=me, pending=True):
        office.store.run_sync(decisions.answer, decision.id, AnswerSpec(option="yes"), by=me)
    question = Question(question="Tea?", options=(Option(id="yes", label="Yes"),), respondents=(other,))
    office.store.run_sync(decisions.ask, question, by=me)


def ask_nobody(office: Office, me: str, other: str, run: RunLease | None) -> None:
    """Ask what is decided by its default."""
    options = (Option(id="yes", label="Yes"),)
    question = Question(question="Tea?", options=options, respondents=("husam",), default="yes", within=SECOND)
    office.store.run_sync(decisions.ask, question, by=me)


def plan_soon(office: Office, me: str, other: str, run: RunLease | None) -> None:
    spec = parse_spec({"name": f"soon {next(office.numbers)}", "runAfter": "1 minute"})
    office.store.run_sync(plans.set_plan, me, spec, by=me)


def fire_plans(office: Office) -> None:
    office.kit.clock.advance(MINUTE)
    while office.store.run_sync(plans.fire):
        pass


def call_outside(office: Office, me: str, other: str, run: RunLease | None) -> None:
    """Call a tool of a program, which answers at once; a program itself has no such tools."""
    if run is not None:
        office.store.run_sync(calls.defer_call, run, 5, build_call("deploy"), f"{run.run.id}/5")
        [call] = office.store.read_sync(calls.list_open_calls, run.run.id)
        office.store.run_sync(calls.answer_call, run.run.id, call.id, {"ok": True})


def alert_as_resident(office: Office, me: str, other: str, run: RunLease | None) -> None:
    office.store.run_sync(agents.alert_owner, me, "it failed", topic=f"{next(office.numbers)}")


def alert_as_guest(office: Office, me: str, other: str, run: RunLease | None) -> None:
    office.store.run_sync(sessions.alert_owner, f"session-{next(office.numbers)}", me, "it looped")


def post_note(office: Office, me: str, other: str, run: RunLease | None) -> None:
    office.store.run_sync(work.post_note, TASK, "And you?", by=me, notify=[other])


def post_work_event(office: Office, me: str, other: str, run: RunLease | None) -> None:
    office.store.run_sync(work.post_event, TASK, "blocked", by=me)


def post_in_space(office: Office, me: str, other: str, run: RunLease | None) -> None:
    office.store.run_sync(spaces.post, "tea", sender=me, content="And you?")


#: how an agent answers, what happens then, and the settings
KINDS: Final[dict[str, tuple[Act, Callable[[Office], object] | None, dict[str, Any]]]] = {
    "mail that was read, and is answered": (ask_for_receipt, None, {}),
    "mail that was read": (read_only, None, {}),
    "mail that was not read in time": (mail_to_nobody, report_overdue, {}),
    "mail that waits for a ledger": (mail_to_nobody, report_overdue, {"ledger": f"hedera:{NETWORK}"}),
    "mail that a ledger refuses": (mail_to_ledger, None, {"ledger": f"hedera:{NETWORK}"}),
    "a note that a ledger refuses": (note_to_ledger, None, {"ledger": f"hedera:{NETWORK}"}),
    "a connection that ends": (close_connection, None, {}),
    "a timer": (set_timer, end_gates, {}),
    "a gate that the other one resolves": (await_other, None, {}),
    "an answer of the other one": (ask_other, None, {}),
    "a default": (ask_nobody, end_gates, {}),
    "a plan": (plan_soon, fire_plans, {}),
    "the result of a tool": (call_outside, None, {}),
    "a note": (post_note, None, {}),
    "an event of a work item": (post_work_event, None, {"work_notify": [("task.blocked", ("ann", "bob"), 2)]}),
    "a message in a space": (post_in_space, None, {}),
}
#: alerts about an agent, which its owner gets
ALERTS: Final[dict[str, Act]] = {"of a resident": alert_as_resident, "of a guest": alert_as_guest}


@pytest.mark.parametrize("bob", ["resident", "program"])
class TestTwoAgents:
    @pytest.mark.parametrize("kind", KINDS)
    def test_stop(self, kit: Kit, bob: str, kind: str) -> None:
        act, then, policy = KINDS[kind]
        office = Office(kit, bob, **policy)
        assert office.play(act, then) >= LIMIT // 2, "the chain did not get going"
        alerts = [item.event for item in office.list_pending("admin") if item.event.type is EventType.ALERT]
        assert any(f"a chain of {LIMIT + 1} events" in alert.content for alert in alerts)

    @pytest.mark.parametrize("kind", ALERTS)
    def test_that_own_each_other_stop_at_alerts(self, kit: Kit, bob: str, kind: str) -> None:
        office = Office(kit, bob)
        for name, owner in (("ann", "bob"), ("bob", "ann")):
            office.store.run_sync(directory.update, name, owner=owner)
        assert office.play(ALERTS[kind]) >= LIMIT // 2

    def test_are_not_woken_again_by_the_alert_of_their_chain(self, kit: Kit, bob: str) -> None:
        """Their owner is an agent, who answers each alert by a message to both."""
        office = Office(kit, bob)
        office.store.run_sync(directory.register, EntitySpec(name="owner", kind=EntityKind.AGENT))
        for name in ("ann", "bob"):
            office.store.run_sync(directory.update, name, owner="owner")
        office.play(post_in_space)
        assert office.is_awake("owner"), "the owner hears of it"
        office.answer("owner", lambda office, *_: [
            office.store.run_sync(push.push_event, Push(to=name, source="test", sender="owner", content="Go on"))
            for name in ("ann", "bob")
        ])  # fmt: skip
        assert not [name for name in ("ann", "bob") if office.is_awake(name)]


class TestPauses:
    def test_a_receipt_that_comes_later_begins_a_new_chain(self, kit: Kit) -> None:
        office = Office(kit, "program")
        office.store.run_sync(push.push_event, Push(to="ann", source="test", content="on and on", hops=9))
        ask_for_receipt(office, "ann", "bob", None)
        kit.clock.advance("5 minutes")
        office.answer("bob", lambda *_: None)
        assert [item.event.hops for item in office.list_pending("ann")] == [9, 0]

    def test_a_receipt_has_the_hops_of_its_mail(self, kit: Kit) -> None:
        office = Office(kit, "program")
        office.store.run_sync(push.push_event, Push(to="ann", source="test", content="on and on", hops=9))
        ask_for_receipt(office, "ann", "bob", None)
        office.answer("bob", lambda *_: None)
        assert [item.event.hops for item in office.list_pending("ann")] == [9, 10]
