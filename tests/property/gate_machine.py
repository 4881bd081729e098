"""A state machine that does to gates and decisions what can be done to them, to a store and to a model alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gatepost.core.ports import Reader
from gatepost.core.times import HOUR, MINUTE
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, GatepostError, Invalid, Late
from gatepost.gates import automatic_end_actions as automatic_ends, decision_actions as decisions, gate_actions as gates
from gatepost.gates.automatic_end_actions import EventScan
from gatepost.gates.decision import AnswerSpec, Option, Question
from gatepost.gates.gate import AtDeadline, GateKind, GateSpec
from gatepost.gates.proposed_action import Action
from gatepost.inbox import account_actions, claim_actions as inbox, expiry_actions as expiry
from gatepost.inbox.event import EventType, Item, ItemState, Push
from gatepost.inbox.push import actions as push
from gatepost.testing import FakeClock, Kit

#: the items of an inbox, by its owner and the type of their events
ListItems = Callable[[str, EventType], Sequence[Item]]

AGENTS = ("ann", "bob", "cem")
PEOPLE = ("husam", "ines")
ANSWER_OPTIONS = (Option(id="yes", label="Yes"), Option(id="no", label="No"))

agents = st.sampled_from(AGENTS)
people = st.sampled_from(PEOPLE)
picks = st.integers(0, 7)
durations = st.sampled_from([None, MINUTE, HOUR])


def build_action(iteration: int) -> Action:
    return Action(name="send", args={"amount": 100 * iteration})


def get_positive_option(is_about_action: bool) -> str:
    return "accept" if is_about_action else "yes"


@dataclass
class GateModel:
    """What the model knows of a gate, or of a decision and its gate."""

    id: str
    owner: str
    #: who is told when it ends
    waiters: frozenset[str]
    #: whose loss orphans it; of a decision, only of all of them
    needed_names: frozenset[str]
    deadline: int | None
    kind: GateKind
    escalates: bool = False
    #: of a decision
    decision: str | None = None
    rounds: int = 1
    is_sent_back: bool = False
    default: str | None = None
    is_about_action: bool = False
    #: the hashes of its questions, by round; each round of an action has arguments of its own
    hashes: list[str] = field(default_factory=list)
    outcome: str | None = None
    #: what its owner has heard of it, but for who ended it itself
    owner_outcomes: list[str] = field(default_factory=list)


class GateMachine(RuleBasedStateMachine):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.kit = Kit(url, clock=self.clock)
        self.store = self.kit.store
        self.retired_names: set[str] = set()
        self.gate_models: list[GateModel] = []
        #: how far the last look went, as one knows who looks again and again
        self.event_scan: EventScan | None = None

    def teardown(self) -> None:
        self.kit.__exit__(None, None, None)

    @initialize()
    def open_the_house(self) -> None:
        for name in ("admin", *PEOPLE):
            self.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.HUMAN))
        for name in AGENTS:
            self.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))

    def now(self) -> int:
        return self.clock.now()

    @rule(owner=agents, awaits=people, waiter=agents, within=durations, escalates=st.booleans(), kind=st.integers(0, 2))
    def add(self, owner: str, awaits: str, waiter: str, within: int | None, escalates: bool, kind: int) -> None:
        gate_kind = (GateKind.HUMAN, GateKind.TIMER, GateKind.MAIL)[kind]
        spec = GateSpec(
            name="gate",
            kind=gate_kind,
            awaits=None if gate_kind is GateKind.TIMER else awaits,
            within=within,
            waiters=(waiter,),
            at_deadline=AtDeadline.ESCALATE if escalates else AtDeadline.OPEN,
        )
        needed_names = {owner} | ({awaits} if gate_kind is not GateKind.TIMER else set())
        gate = self._call_or_error(gates.add, spec, by=owner)
        is_valid = not (needed_names | {waiter}) & self.retired_names and (
            gate_kind is not GateKind.TIMER or within is not None
        )
        assert isinstance(gate, GatepostError) is not is_valid
        if not isinstance(gate, GatepostError):
            self.gate_models.append(
                GateModel(
                    id=gate.id,
                    owner=owner,
                    waiters=frozenset({waiter, owner}),
                    needed_names=frozenset(needed_names),
                    deadline=gate.deadline,
                    kind=gate_kind,
                    escalates=escalates and gate_kind is not GateKind.TIMER,
                )
            )

    @rule(
        asker=agents,
        recipients=st.sets(people, min_size=1),
        within=durations,
        has_default=st.booleans(),
        is_about_action=st.booleans(),
    )
    def ask(
        self, asker: str, recipients: set[str], within: int | None, has_default: bool, is_about_action: bool
    ) -> None:
        default = get_positive_option(is_about_action) if has_default else None
        question = self._build_question(within, default, is_about_action, recipients=tuple(recipients))
        decision = self._call_or_error(decisions.ask, question, by=asker)
        is_valid = not (recipients | {asker}) & self.retired_names and (default is None or within is not None)
        assert isinstance(decision, GatepostError) is not is_valid
        if not isinstance(decision, GatepostError):
            self.gate_models.append(
                GateModel(
                    id=decision.gate,
                    owner=asker,
                    waiters=frozenset({asker}),
                    needed_names=frozenset(recipients),
                    deadline=decision.deadline,
                    kind=GateKind.DECISION,
                    decision=decision.id,
                    default=default,
                    is_about_action=is_about_action,
                    hashes=[decision.context_hash],
                )
            )

    def _build_question(
        self,
        within: int | None,
        default: str | None,
        is_about_action: bool,
        recipients: tuple[str, ...] = (),
        iteration: int = 1,
    ) -> Question:
        return Question(
            question="So?",
            action=build_action(iteration) if is_about_action else None,
            options=() if is_about_action else ANSWER_OPTIONS,
            free_text=not is_about_action,
            respondents=recipients,
            within=within,
            default=default,
        )

    @rule(pick=picks, by=st.sampled_from([*PEOPLE, *AGENTS, "admin"]), withdraw=st.booleans())
    def end(self, pick: int, by: str, withdraw: bool) -> None:
        if (model := self._pick_model(pick, decision=False)) is None:
            return
        result = self._call_or_error(gates.withdraw if withdraw else gates.resolve, model.id, by=by)
        if isinstance(result, Late):
            assert model.outcome == result.winner["outcome"]
        elif not isinstance(result, GatepostError):
            self._end_model(model, "withdrawn" if withdraw else "resolved", by)

    @rule(
        pick=picks,
        by=st.sampled_from([*PEOPLE, "admin"]),
        what=st.sampled_from(["yes", "again", "reject"]),
        read=st.sampled_from(["last", "last", "first", None]),
    )
    def answer(self, pick: int, by: str, what: str, read: str | None) -> None:
        """By somebody who has read the last question, or the first one, or does not say which."""
        if (model := self._pick_model(pick, decision=True)) is None or model.decision is None:
            return
        reply = AnswerSpec(
            option=get_positive_option(model.is_about_action) if what == "yes" else None,
            text=None if what == "yes" else "hm",
            again=what == "again",
            reject=what == "reject",
            context_hash=model.hashes[0 if read == "first" else -1] if read else None,
        )
        result = self._call_or_error(decisions.answer, model.decision, reply, by=by)
        is_late = model.outcome is not None or model.is_sent_back or self._is_overdue(model)
        if isinstance(result, GatepostError):
            is_last_round = what == "again" and model.rounds == 3
            assert (
                is_late
                or by in self.retired_names
                or by not in {*model.needed_names, "admin"}
                or (is_last_round and isinstance(result, Conflict))
                or (reply.context_hash not in (None, model.hashes[-1]) and isinstance(result, Conflict))
                or (reply.context_hash is None and model.is_about_action and isinstance(result, Invalid))
            )
        else:
            assert not is_late
            assert reply.context_hash == model.hashes[-1] or (reply.context_hash is None and not model.is_about_action)
            if what == "again":
                model.is_sent_back = True
                self._tell_owner(model, "again", by)
            else:
                self._end_model(model, "answered" if what == "yes" else "rejected", by)

    @rule(pick=picks, within=durations)
    def revise(self, pick: int, within: int | None) -> None:
        if (model := self._pick_model(pick, decision=True)) is None or model.decision is None:
            return
        result = self._call_or_error(
            decisions.revise,
            model.decision,
            self._build_question(within, None, model.is_about_action, iteration=model.rounds + 1),
            by=model.owner,
        )
        is_valid = (
            model.outcome is None
            and not self._is_overdue(model)
            and model.rounds < 3
            and model.owner not in self.retired_names
        )
        assert isinstance(result, GatepostError) is not is_valid
        if not isinstance(result, GatepostError):
            model.rounds, model.is_sent_back, model.default, model.deadline = (
                model.rounds + 1,
                False,
                None,
                result.deadline,
            )
            model.hashes.append(result.context_hash)

    @rule(pick=picks)
    def withdraw(self, pick: int) -> None:
        if (model := self._pick_model(pick, decision=True)) is None or model.decision is None:
            return
        result = self._call_or_error(decisions.withdraw, model.decision, by=model.owner)
        assert isinstance(result, GatepostError) is (model.outcome is not None or model.owner in self.retired_names)
        if not isinstance(result, GatepostError):
            self._end_model(model, "withdrawn", model.owner)

    @rule(sender=people, to=agents)
    def mail(self, sender: str, to: str) -> None:
        result = self._call_or_error(
            push.push_event, Push(to=to, type=EventType.MAIL, source="mail", sender=sender, content="hello")
        )
        if not isinstance(result, GatepostError):
            self.settle()
            for model in self.gate_models:
                if (
                    model.kind is GateKind.MAIL
                    and model.owner == to
                    and sender in model.needed_names
                    and model.outcome is None
                ):
                    self._end_model(model, "resolved", None)

    @rule(length=st.sampled_from([1, MINUTE, HOUR]))
    def wait(self, length: int) -> None:
        self.clock.advance(length)

    @rule()
    def settle(self) -> None:
        while True:
            self.event_scan = self.store.read_sync(automatic_ends.scan_events, self.event_scan)
            if not self.store.run_sync(automatic_ends.end_due, last_scan=self.event_scan):
                break
        for model in self.gate_models:
            if model.outcome is None and self._is_overdue(model) and not model.escalates:
                self._end_model(model, self._find_deadline_outcome(model), None)

    def _find_deadline_outcome(self, model: GateModel) -> str:
        if model.kind is GateKind.TIMER:
            return "resolved"
        return "defaulted" if model.default is not None and not model.is_sent_back else "expired"

    @rule(name=st.sampled_from([*PEOPLE, *AGENTS]), sure=st.integers(0, 3))
    def retire(self, name: str, sure: int) -> None:
        if sure or name in self.retired_names:
            return
        self.store.run_sync(directory.retire, name)
        self.retired_names.add(name)
        for model in self.gate_models:
            is_orphaned = model.needed_names <= self.retired_names if model.decision else name in model.needed_names
            if model.outcome is None and (is_orphaned or model.owner == name):
                self._end_model(model, "orphaned", None)

    @rule()
    def tidy(self) -> None:
        while self.store.run_sync(expiry.expire_items) or self.store.run_sync(expiry.lapse_claims):
            pass

    @invariant()
    def everything_is_as_the_model_has_it(self) -> None:
        self.store.read_sync(self._compare_with_model)

    def _compare_with_model(self, tx: Reader) -> None:
        """In one transaction, because it is done after every step, and nobody writes meanwhile."""
        list_items = cache(lambda name, event_type: inbox.list_page(tx, name, type=event_type, limit=1_000))
        assert all(account.is_balanced for account in account_actions.list_accounts(tx))
        for model in self.gate_models:
            gate = gates.show(tx, model.id)
            assert gate.is_pending is (model.outcome is None)
            if model.decision is not None:
                decision = decisions.show(tx, model.decision)
                status = model.outcome or ("revising" if model.is_sent_back else "pending")
                assert decision.status == {"defaulted": "answered"}.get(status, status)
                assert len({answer.iteration for answer in decision.answers}) == len(decision.answers)
                runs_action = model.is_about_action and model.outcome in ("answered", "defaulted")
                assert [answer.args for answer in decision.answers if answer.args is not None] == (
                    [build_action(model.rounds).args] if runs_action else []
                )
                self._check_questions_delivered(model, decision.id, list_items)
            elif gate.resolution is not None:
                assert gate.resolution.ending == model.outcome
            assert self._read_owner_outcomes(model, list_items) == model.owner_outcomes
        for name in AGENTS:
            blocking_ids = {gate.id for gate in gates.list_blocking(tx, name)}
            assert blocking_ids == {
                model.id for model in self.gate_models if model.owner == name and self._is_blocking(model)
            }

    def _check_questions_delivered(self, model: GateModel, decision_id: str, list_items: ListItems) -> None:
        """Those asked have one item a round, and none of them waits for an answer that is not waited for any more."""
        for name in model.needed_names - self.retired_names:
            items = list_items(name, EventType.DECISION)
            question_items = [
                item
                for item in items
                if item.event.dedup_key and item.event.dedup_key.startswith(f"decision:{decision_id}:")
            ]
            assert len(question_items) == model.rounds
            pending_keys = [item.event.dedup_key for item in question_items if item.state is ItemState.PENDING]
            assert pending_keys == (
                [f"decision:{decision_id}:{model.rounds}"] if model.outcome is None and not model.is_sent_back else []
            )

    def _is_blocking(self, model: GateModel) -> bool:
        return model.outcome is None and (not self._is_overdue(model) or model.escalates)

    def _is_overdue(self, model: GateModel) -> bool:
        return model.outcome is None and model.deadline is not None and model.deadline <= self.now()

    def _end_model(self, model: GateModel, outcome: str, by: str | None) -> None:
        model.outcome = outcome
        self._tell_owner(model, outcome, by)

    def _tell_owner(self, model: GateModel, outcome: str, by: str | None) -> None:
        if model.owner != by and model.owner not in self.retired_names:
            model.owner_outcomes.append(outcome)

    def _read_owner_outcomes(self, model: GateModel, list_items: ListItems) -> list[str]:
        """What its owner has been told of how it went."""
        event_type = EventType.DECISION if model.decision else EventType.GATE
        items = list_items(model.owner, event_type)
        documents = [item.event.data for item in items]
        gate_documents = [
            data for data in documents if data["gateId"] == model.id and data["outcome"] not in ("opened", "asked")
        ]
        return [str(data["outcome"]) for data in gate_documents]

    def _pick_model(self, index: int, *, decision: bool) -> GateModel | None:
        models = [model for model in self.gate_models if (model.decision is not None) is decision]
        return models[index % len(models)] if models else None

    def _call_or_error(self, verb: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.store.run_sync(verb, *args, **kwargs)
        except GatepostError as error:
            return error
