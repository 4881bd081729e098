"""A state machine that does to gates and decisions what can be done to them, to a store and to a model alike."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gatepost.actions import deadlines, decisions, directory, gates, inbox, maintenance, push
from gatepost.actions.deadlines import EventScan
from gatepost.actions.directory import EntitySpec
from gatepost.core.decision import AnswerSpec, Option, Question
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, ItemState, Push
from gatepost.core.gate import AtDeadline, GateKind, GateSpec
from gatepost.core.times import HOUR, MINUTE
from gatepost.errors import Conflict, GatepostError, Late
from gatepost.testing import FakeClock, Kit

AGENTS = ("ann", "bob", "cem")
PEOPLE = ("husam", "ines")
OPTIONS = (Option(id="yes", label="Yes"), Option(id="no", label="No"))

agents = st.sampled_from(AGENTS)
people = st.sampled_from(PEOPLE)
picks = st.integers(0, 7)
waits = st.sampled_from([None, MINUTE, HOUR])


@dataclass
class Known:
    """What the model knows of a gate, or of a decision and its gate."""

    id: str
    owner: str
    #: who is told when it ends
    waiters: frozenset[str]
    #: whose loss orphans it; of a decision, only of all of them
    needs: frozenset[str]
    deadline: int | None
    kind: GateKind
    escalates: bool = False
    #: of a decision
    decision: str | None = None
    rounds: int = 1
    sent_back: bool = False
    default: str | None = None
    ended: str | None = None
    #: what its owner has heard of it, but for who ended it itself
    heard: list[str] = field(default_factory=list)


class GateMachine(RuleBasedStateMachine):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.kit = Kit(url, clock=self.clock)
        self.store = self.kit.store
        self.gone: set[str] = set()
        self.known: list[Known] = []
        #: how far the last look went, as one knows who looks again and again
        self.looked: EventScan | None = None

    def teardown(self) -> None:
        self.kit.__exit__(None, None, None)

    @initialize()
    def open_the_house(self) -> None:
        for name in ("admin", *PEOPLE):
            self.store.call(directory.register, EntitySpec(name=name, kind=EntityKind.HUMAN))
        for name in AGENTS:
            self.store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))

    def now(self) -> int:
        return self.clock.now()

    @rule(owner=agents, awaits=people, waiter=agents, within=waits, escalates=st.booleans(), kind=st.integers(0, 2))
    def add(self, owner: str, awaits: str, waiter: str, within: int | None, escalates: bool, kind: int) -> None:
        which = (GateKind.HUMAN, GateKind.TIMER, GateKind.MAIL)[kind]
        wish = GateSpec(
            name="gate",
            kind=which,
            awaits=None if which is GateKind.TIMER else awaits,
            within=within,
            waiters=(waiter,),
            at_deadline=AtDeadline.ESCALATE if escalates else AtDeadline.OPEN,
        )
        needs = {owner} | ({awaits} if which is not GateKind.TIMER else set())
        gate = self._try(gates.add, wish, by=owner)
        good = not (needs | {waiter}) & self.gone and (which is not GateKind.TIMER or within is not None)
        assert isinstance(gate, GatepostError) is not good
        if not isinstance(gate, GatepostError):
            self.known.append(
                Known(
                    id=gate.id,
                    owner=owner,
                    waiters=frozenset({waiter, owner}),
                    needs=frozenset(needs),
                    deadline=gate.deadline,
                    kind=which,
                    escalates=escalates and which is not GateKind.TIMER,
                )
            )

    @rule(asker=agents, asked=st.sets(people, min_size=1), within=waits, default=st.sampled_from([None, "yes"]))
    def ask(self, asker: str, asked: set[str], within: int | None, default: str | None) -> None:
        wish = self._question(within, default, of=tuple(asked))
        made = self._try(decisions.ask, wish, by=asker)
        good = not (asked | {asker}) & self.gone and (default is None or within is not None)
        assert isinstance(made, GatepostError) is not good
        if not isinstance(made, GatepostError):
            self.known.append(
                Known(
                    id=made.gate,
                    owner=asker,
                    waiters=frozenset({asker}),
                    needs=frozenset(asked),
                    deadline=made.deadline,
                    kind=GateKind.DECISION,
                    decision=made.id,
                    default=default,
                )
            )

    def _question(self, within: int | None, default: str | None, of: tuple[str, ...] = ()) -> Question:
        return Question(question="So?", options=OPTIONS, free_text=True, respondents=of, within=within, default=default)

    @rule(pick=picks, by=st.sampled_from([*PEOPLE, *AGENTS, "admin"]), withdraw=st.booleans())
    def end(self, pick: int, by: str, withdraw: bool) -> None:
        if (one := self._pick(pick, decision=False)) is None:
            return
        ended = self._try(gates.withdraw if withdraw else gates.resolve, one.id, by=by)
        if isinstance(ended, Late):
            assert one.ended == ended.winner["outcome"]
        elif not isinstance(ended, GatepostError):
            self._over(one, "withdrawn" if withdraw else "resolved", by)

    @rule(pick=picks, by=st.sampled_from([*PEOPLE, "admin"]), what=st.sampled_from(["yes", "again", "reject"]))
    def answer(self, pick: int, by: str, what: str) -> None:
        if (one := self._pick(pick, decision=True)) is None or one.decision is None:
            return
        reply = AnswerSpec(
            option="yes" if what == "yes" else None, text="hm", again=what == "again", reject=what == "reject"
        )
        answered = self._try(decisions.answer, one.decision, reply, by=by)
        late = one.ended is not None or one.sent_back or self._overdue(one)
        if isinstance(answered, GatepostError):
            full = what == "again" and one.rounds == 3
            assert (
                late or by in self.gone or by not in {*one.needs, "admin"} or (full and isinstance(answered, Conflict))
            )
        else:
            assert not late
            if what == "again":
                one.sent_back = True
                self._tell(one, "again", by)
            else:
                self._over(one, "answered" if what == "yes" else "rejected", by)

    @rule(pick=picks, within=waits)
    def revise(self, pick: int, within: int | None) -> None:
        if (one := self._pick(pick, decision=True)) is None or one.decision is None:
            return
        revised = self._try(decisions.revise, one.decision, self._question(within, None), by=one.owner)
        good = one.ended is None and not self._overdue(one) and one.rounds < 3 and one.owner not in self.gone
        assert isinstance(revised, GatepostError) is not good
        if not isinstance(revised, GatepostError):
            one.rounds, one.sent_back, one.default, one.deadline = one.rounds + 1, False, None, revised.deadline

    @rule(pick=picks)
    def withdraw(self, pick: int) -> None:
        if (one := self._pick(pick, decision=True)) is None or one.decision is None:
            return
        gone = self._try(decisions.withdraw, one.decision, by=one.owner)
        assert isinstance(gone, GatepostError) is (one.ended is not None or one.owner in self.gone)
        if not isinstance(gone, GatepostError):
            self._over(one, "withdrawn", one.owner)

    @rule(sender=people, to=agents)
    def mail(self, sender: str, to: str) -> None:
        sent = self._try(
            push.push_event, Push(to=to, type=EventType.MAIL, source="mail", sender=sender, content="hello")
        )
        if not isinstance(sent, GatepostError):
            self.settle()
            for one in self.known:
                if one.kind is GateKind.MAIL and one.owner == to and sender in one.needs and one.ended is None:
                    self._over(one, "resolved", None)

    @rule(length=st.sampled_from([1, MINUTE, HOUR]))
    def wait(self, length: int) -> None:
        self.clock.advance(length)

    @rule()
    def settle(self) -> None:
        while True:
            self.looked = self.store.query(deadlines.scan_events, self.looked)
            if not self.store.call(deadlines.end_due, last_scan=self.looked):
                break
        for one in self.known:
            if one.ended is None and self._overdue(one) and not one.escalates:
                self._over(one, self._at_deadline(one), None)

    def _at_deadline(self, one: Known) -> str:
        if one.kind is GateKind.TIMER:
            return "resolved"
        return "defaulted" if one.default is not None and not one.sent_back else "expired"

    @rule(name=st.sampled_from([*PEOPLE, *AGENTS]), sure=st.integers(0, 3))
    def retire(self, name: str, sure: int) -> None:
        if sure or name in self.gone:
            return
        self.store.call(directory.retire, name)
        self.gone.add(name)
        for one in self.known:
            alone = one.needs <= self.gone if one.decision else name in one.needs
            if one.ended is None and (alone or one.owner == name):
                self._over(one, "orphaned", None)

    @rule()
    def tidy(self) -> None:
        while self.store.call(maintenance.expire_items) or self.store.call(maintenance.lapse_claims):
            pass

    @invariant()
    def everything_is_as_the_model_has_it(self) -> None:
        assert all(account.is_balanced for account in self.store.query(maintenance.list_accounts))
        for one in self.known:
            gate = self.store.query(gates.show, one.id)
            assert gate.is_pending is (one.ended is None)
            if one.decision is not None:
                decision = self.store.query(decisions.show, one.decision)
                status = one.ended or ("revising" if one.sent_back else "pending")
                assert decision.status == {"defaulted": "answered"}.get(status, status)
                assert len({answer.iteration for answer in decision.answers}) == len(decision.answers)
                self._asked_are_told(one, decision.id)
            elif gate.resolution is not None:
                assert gate.resolution.ending == one.ended
            assert self._heard(one) == one.heard
        for name in AGENTS:
            held = {gate.id for gate in self.store.query(gates.list_blocking, name)}
            assert held == {one.id for one in self.known if one.owner == name and self._holds(one)}

    def _asked_are_told(self, one: Known, id: str) -> None:
        """Those asked have one item a round, and none of them waits for an answer that is not waited for any more."""
        for name in one.needs - self.gone:
            items = self.store.query(inbox.page, name, type=EventType.DECISION, limit=1_000)
            mine = [item for item in items if item.event.key and item.event.key.startswith(f"decision:{id}:")]
            assert len(mine) == one.rounds
            waiting = [item.event.key for item in mine if item.state is ItemState.PENDING]
            assert waiting == ([f"decision:{id}:{one.rounds}"] if one.ended is None and not one.sent_back else [])

    def _holds(self, one: Known) -> bool:
        return one.ended is None and (not self._overdue(one) or one.escalates)

    def _overdue(self, one: Known) -> bool:
        return one.ended is None and one.deadline is not None and one.deadline <= self.now()

    def _over(self, one: Known, outcome: str, by: str | None) -> None:
        one.ended = outcome
        self._tell(one, outcome, by)

    def _tell(self, one: Known, outcome: str, by: str | None) -> None:
        if one.owner != by and one.owner not in self.gone:
            one.heard.append(outcome)

    def _heard(self, one: Known) -> list[str]:
        """What its owner has been told of how it went."""
        kind = EventType.DECISION if one.decision else EventType.GATE
        items = self.store.query(inbox.page, one.owner, type=kind, limit=1_000)
        told = [item.event.data for item in items]
        mine = [data for data in told if data["gateId"] == one.id and data["outcome"] not in ("opened", "asked")]
        return [str(data["outcome"]) for data in mine]

    def _pick(self, pick: int, *, decision: bool) -> Known | None:
        mine = [one for one in self.known if (one.decision is not None) is decision]
        return mine[pick % len(mine)] if mine else None

    def _try(self, verb: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.store.call(verb, *args, **kwargs)
        except GatepostError as error:
            return error
