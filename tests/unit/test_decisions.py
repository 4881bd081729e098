"""Decisions: who is asked, whose answer counts, and what whoever asked hears of it."""

import asyncio
from typing import Any

import pytest

from gatepost.actions import deadlines, decisions, directory, gates, inbox, jobs, maintenance
from gatepost.core.decision import AnswerSpec, Decision, DecisionOutcome, DecisionStatus, Option, Question
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, Item, ItemState, Priority, Ref
from gatepost.core.gate import Ending
from gatepost.core.limits import Limits
from gatepost.core.render import render_event
from gatepost.core.times import DAY, HOUR, MINUTE
from gatepost.errors import Conflict, GatepostError, Invalid, Late, NotFound, Refused, UnknownAddress
from gatepost.testing import Kit
from tests.unit.conftest import House

YES_OR_NO = (Option(id="yes", label="Ship it"), Option(id="no", label="Wait", description="until Monday"))


def asked(house: House, by: str | None = "ann", **fields: Any) -> Decision:
    return house.store.call(decisions.ask, question(**fields), by=by)


def question(**fields: Any) -> Question:
    return Question(**{"question": "Ship?", "options": YES_OR_NO, "respondents": ("husam",)} | fields)


def answered(house: House, decision: Decision, by: str | None = "husam", **reply: Any) -> Decision:
    return house.store.call(decisions.answer, decision.id, AnswerSpec(**reply), by=by)


def shown(house: House, decision: Decision) -> Decision:
    return house.store.query(decisions.show, decision.id)


def heard(house: House, name: str) -> list[Item]:
    return house.store.query(inbox.page, name, type=EventType.DECISION, limit=1_000)


def settle(house: House) -> None:
    while house.store.call(deadlines.end_due):
        pass


def test_who_was_asked_and_waits_is_told_of_the_end_like_every_waiter(house: House) -> None:
    made = asked(house, respondents=("husam", "bob"))
    house.store.call(gates.add_waiter, made.gate, "bob", by="ann")
    answered(house, made, option="yes")
    told = [item for item in heard(house, "bob") if item.state is ItemState.PENDING]
    assert [item.event.data["outcome"] for item in told] == ["answered"]


def test_an_answer_that_is_too_long_to_be_told_is_told_cut(kit: Kit) -> None:
    house = House(kit)
    store = kit.open(limits=Limits(content=400))
    made = store.call(decisions.ask, question(free_text=True), by="ann")
    store.call(decisions.answer, made.id, AnswerSpec(text="x" * 5_000), by="husam")
    [item] = [item for item in heard(house, "ann") if item.event.data["outcome"] == "answered"]
    assert item.event.content == "x" * 100
    with pytest.raises(Late) as late:
        store.call(decisions.answer, made.id, AnswerSpec(text="y"), by="husam")
    assert len(late.value.message) < 400


class TestAsking:
    def test_those_asked_are_told_and_whoever_asks_is_held(self, house: House) -> None:
        made = asked(
            house,
            respondents=("husam", "team:red"),
            context="all tests pass",
            ref=Ref("task", "7"),
            urgency=Priority.HIGH,
            default="no",
            within=2 * HOUR,
            session="s-1",
        )
        assert (made.asker, made.respondents, made.status, made.iteration) == ("ann", ("husam", "bob"), "pending", 1)
        assert shown(house, made) == made
        [gate] = house.store.query(gates.list_blocking, "ann")
        assert (gate.id, gate.awaits, gate.deadline) == (made.gate, made.id, made.deadline)
        [item] = heard(house, "husam")
        assert item.event.key == f"decision:{made.id}:1"
        assert (item.event.priority, item.event.data["contextHash"]) == (Priority.HIGH, made.context_hash)
        assert [option["id"] for option in item.event.data["options"]] == ["yes", "no"]
        assert render_event(item.event) == (
            f'[Decision {made.id}] asked by ann: "Ship? Options: yes (Ship it); no (Wait), until Monday.'
            ' Without an answer until 2026-02-18T11:00:00Z no counts." (the asker adds "all tests pass")'
        )
        assert (len(heard(house, "bob")), heard(house, "ann")) == (1, [])
        assert {"decision:" + made.id, "gate:" + made.gate} <= {ring.recipient for ring in house.bell.signals}
        assert house.balanced()

    @pytest.mark.parametrize("label", ["\u200bü", "\U0001fae8", "?", "e\u0301", "\u202eno\u202c"])
    def test_whatever_can_be_seen_is_a_label(self, house: House, label: str) -> None:
        assert asked(house, question=label, options=(Option(id="a", label=label),)).options[0].label == label

    def test_without_an_address_whoever_owns_the_asker_is_asked(self, house: House) -> None:
        house.store.call(directory.update, "ann", owner="bob")
        assert asked(house, respondents=()).respondents == ("bob",)

    @pytest.mark.parametrize(
        ("by", "fields", "error"),
        [
            (None, {}, Invalid),
            ("nobody", {}, UnknownAddress),
            ("ann", {"question": " \n"}, Invalid),
            ("ann", {"question": "\u200b\u202e\u3000\u2800\ufe0f"}, Invalid),
            ("ann", {"question": "x" * 10_001}, Invalid),
            ("ann", {"question": "a\x00b"}, Invalid),
            ("ann", {"context": "\ud800"}, Invalid),
            ("ann", {"options": ()}, Invalid),
            ("ann", {"options": (Option(id="a b", label="x"),)}, Invalid),
            ("ann", {"options": (Option(id="a", label=" "),)}, Invalid),
            ("ann", {"options": (Option(id="a", label="\u2066\u3164\u2069"),)}, Invalid),
            ("ann", {"options": (*YES_OR_NO, Option(id="yes", label="x"))}, Invalid),
            ("ann", {"options": tuple(Option(id=str(number), label="x") for number in range(21))}, Invalid),
            ("ann", {"default": "maybe", "within": HOUR}, Invalid),
            ("ann", {"default": "yes"}, Invalid),
            ("ann", {"within": 0}, Invalid),
            ("ann", {"deadline": 1}, Invalid),
            ("ann", {"respondents": ("nobody",)}, UnknownAddress),
            ("ann", {"respondents": ("team:blue",)}, UnknownAddress),
            ("ann", {"respondents": ("*",)}, Invalid),
            ("ann", {"respondents": ("ann",)}, Invalid),
        ],
    )
    def test_what_nobody_could_answer_is_refused_and_nothing_is_stored(
        self, house: House, by: str | None, fields: dict[str, Any], error: type[GatepostError]
    ) -> None:
        with pytest.raises(error):
            asked(house, by, **fields)
        assert (house.store.query(decisions.page), house.store.query(gates.page)) == ([], [])
        assert house.bell.signals == []

    def test_a_list_has_what_is_asked_for(self, house: House) -> None:
        one = asked(house, session="s-1")
        house.clock.advance(HOUR)
        two = asked(house, "bob", respondents=("admin", "husam"))
        answered(house, one, option="yes")

        def ids(**wanted: Any) -> list[str]:
            return [made.id for made in house.store.query(decisions.page, **wanted)]

        assert ids() == ids(asked="husam") == ids(concerning="husam") == [one.id, two.id]
        assert ids(asker="ann") == ids(session="s-1") == ids(pending=False) == ids(concerning="ann") == [one.id]
        assert ids(pending=True) == ids(asked="admin") == ids(after=one.number) == [two.id]
        assert ids(since=house.clock.now()) == [one.id]
        house.clock.advance(1)
        assert ids(since=house.clock.now()) == []
        with pytest.raises(NotFound):
            house.store.query(decisions.show, two.id, viewer="ann")
        assert house.store.query(decisions.show, two.id, viewer="admin").id == two.id


class TestAnswering:
    def test_the_gate_is_resolved_and_whoever_asked_is_told(self, house: House) -> None:
        made = asked(house)
        house.clock.advance(MINUTE)
        over = answered(house, made, option="yes", text="go", context_hash=made.context_hash)
        assert (over.status, over.is_open) == (DecisionStatus.ANSWERED, False)
        [answer] = over.answers
        assert (answer.outcome, answer.option, answer.text, answer.by) == (
            DecisionOutcome.ANSWERED,
            "yes",
            "go",
            "husam",
        )
        assert house.store.query(gates.list_blocking, "ann") == []
        resolution = house.store.query(gates.show, made.gate).resolution
        assert resolution is not None
        assert (resolution.ending, resolution.by) == (Ending.RESOLVED, "husam")
        assert resolution.reason == "answered: yes (Ship it) - go"
        [item] = heard(house, "ann")
        assert (item.event.key, item.event.priority) == (f"decision:{made.id}:1", Priority.HIGH)
        assert render_event(item.event) == f'[Decision {made.id}] answered by husam: "Ship it - go"'
        assert house.store.query(inbox.page, "ann", type=EventType.GATE) == []
        assert house.balanced()

    @pytest.mark.parametrize(
        ("fields", "reply", "error"),
        [
            ({}, {}, Invalid),
            ({}, {"option": "maybe"}, Invalid),
            ({}, {"text": "hm"}, Invalid),
            ({}, {"text": "hm", "again": True}, Invalid),
            ({"free_text": True}, {"text": " "}, Invalid),
            ({"free_text": True}, {"text": "\ufeff\xad"}, Invalid),
            ({"free_text": True}, {"again": True}, Invalid),
            ({"free_text": True}, {"text": "a\x00b"}, Invalid),
            ({"free_text": True}, {"text": "x" * 10_001}, Invalid),
            ({}, {"option": "yes", "reject": True}, Invalid),
            ({"free_text": True}, {"option": "yes", "text": "x", "again": True}, Invalid),
            ({"free_text": True}, {"text": "x", "again": True, "reject": True}, Invalid),
            ({}, {"option": "yes", "context_hash": "0" * 64}, Conflict),
        ],
    )
    def test_what_is_no_answer_changes_nothing(
        self, house: House, fields: dict[str, Any], reply: dict[str, Any], error: type[GatepostError]
    ) -> None:
        made = asked(house, **fields)
        with pytest.raises(error):
            answered(house, made, **reply)
        assert shown(house, made) == made
        assert heard(house, "ann") == []

    @pytest.mark.parametrize(
        ("by", "error"),
        [("bob", NotFound), ("ann", Refused), ("nobody", UnknownAddress), ("admin", None), (None, None)],
    )
    def test_only_who_was_asked_may_answer_and_the_administrator(
        self, house: House, by: str | None, error: type[GatepostError] | None
    ) -> None:
        made = asked(house)
        if error is None:
            assert answered(house, made, by, option="yes").status is DecisionStatus.ANSWERED
            return
        with pytest.raises(error):
            answered(house, made, by, option="yes")
        assert shown(house, made).is_open

    def test_of_fifty_at_once_one_wins_and_the_others_are_told_which(self, house: House) -> None:
        people = [f"person-{number}" for number in range(50)]
        for name in people:
            house.register(name, EntityKind.HUMAN)
        made = asked(house, respondents=tuple(people), free_text=True)

        async def answer(name: str) -> Decision | Late:
            reply = AnswerSpec(option="yes" if name.endswith("1") else "no", text=f"says {name}")
            try:
                return await house.store.run(decisions.answer, made.id, reply, by=name, lane=name)
            except Late as late:
                return late

        async def everybody() -> list[Decision | Late]:
            return await asyncio.gather(*map(answer, people))

        outcomes = asyncio.run(everybody())
        [winner] = [outcome for outcome in outcomes if isinstance(outcome, Decision)]
        losers = [outcome for outcome in outcomes if isinstance(outcome, Late)]
        assert (winner.last_answer, len(losers)) == (shown(house, made).last_answer, 49)
        assert winner.last_answer is not None
        assert people[outcomes.index(winner)] == winner.last_answer.by
        for late in losers:
            assert (late.winner["by"], late.winner["option"]) == (winner.last_answer.by, winner.last_answer.option)
            assert f"answered already by {winner.last_answer.by!r}" in late.message
            assert f"says {winner.last_answer.by}" in late.message
        [item] = heard(house, "ann")
        assert item.event.data["by"] == winner.last_answer.by
        assert house.balanced()

    def test_what_was_asked_is_put_away_for_everybody(self, house: House) -> None:
        made = asked(house, respondents=("husam", "admin", "bob"))
        house.register("cleo")
        other = asked(house, respondents=("cleo",))
        taken = house.take("cleo")
        answered(house, made, option="yes")
        answered(house, other, "admin", option="no")
        [husam], [admin], [bob], [cleo] = (heard(house, name) for name in ("husam", "admin", "bob", "cleo"))
        assert (husam.state, admin.state, bob.state) == (ItemState.DELIVERED, ItemState.DELIVERED, ItemState.DISCARDED)
        assert (admin.receipt and admin.receipt.owner, cleo.state) == ("husam", ItemState.CLAIMED)
        assert (house.ack(taken), house.balanced()) == (1, True)

    @pytest.mark.parametrize("later", [0, 30 * DAY])
    def test_a_question_that_was_replayed_is_put_away_too(self, house: House, later: int) -> None:
        made, other = asked(house, respondents=("husam", "bob")), asked(house, "bob")
        item, _ = heard(house, "husam")
        house.store.call(inbox.mark_done, "husam", item.event.id)
        assert house.ack(house.take("bob")) == 1
        house.store.call(inbox.replay, item.event.id)
        for data in (None, [made.id], {"decisionId": made.id, "options": []}):
            house.push(to="husam", sender="ann", data=data)
        house.clock.advance(later)
        while house.store.call(maintenance.reap):
            pass
        waits = [item.event.data["decisionId"] for item in heard(house, "husam") if item.state is ItemState.PENDING]
        assert waits == [other.id, made.id]
        answered(house, made, option="yes")
        [husam] = [item for item in heard(house, "husam") if item.state is ItemState.PENDING]
        assert husam.event.data["decisionId"] == other.id
        assert [item for item in heard(house, "bob") if item.state is ItemState.PENDING] == []
        assert house.waiting("husam")[1:] == ["tea"] * 3
        assert house.balanced()

    def test_a_waiter_hears_what_was_decided(self, house: House) -> None:
        made = asked(house)
        house.store.call(gates.add_waiter, made.gate, "bob", by="ann")
        answered(house, made, option="no")
        assert [item.event.content for item in heard(house, "bob")] == ["Wait"]

    def test_its_gate_ends_with_it_and_not_by_itself(self, house: House) -> None:
        made = asked(house)
        for verb in (gates.resolve, gates.withdraw):
            with pytest.raises(Conflict, match="decision"):
                house.store.call(verb, made.gate, by="admin")
        assert shown(house, made).is_open


class TestEnding:
    @pytest.mark.parametrize(
        ("outcome", "ending", "words", "sent_back"),
        [
            (DecisionOutcome.REJECTED, Ending.WITHDRAWN, 'rejected by husam: "not mine"', False),
            (DecisionOutcome.EXPIRED, Ending.EXPIRED, "expired", False),
            (DecisionOutcome.EXPIRED, Ending.EXPIRED, "expired", True),
            (DecisionOutcome.WITHDRAWN, Ending.WITHDRAWN, 'withdrawn by admin: "not mine"', False),
            (DecisionOutcome.WITHDRAWN, Ending.WITHDRAWN, 'withdrawn by admin: "not mine"', True),
            (DecisionOutcome.ORPHANED, Ending.ORPHANED, 'orphaned: "husam is retired"', False),
            (DecisionOutcome.ORPHANED, Ending.ORPHANED, 'orphaned: "husam is retired"', True),
        ],
    )
    def test_every_end_wakes_whoever_asked(
        self, house: House, outcome: DecisionOutcome, ending: Ending, words: str, sent_back: bool
    ) -> None:
        made = asked(house, free_text=True, within=HOUR)
        if sent_back:
            answered(house, made, text="which?", again=True)
        match outcome:
            case DecisionOutcome.REJECTED:
                answered(house, made, reject=True, text="not mine")
            case DecisionOutcome.WITHDRAWN:
                house.store.call(decisions.withdraw, made.id, by="admin", reason="not mine")
            case DecisionOutcome.ORPHANED:
                house.store.call(directory.retire, "husam")
            case _:
                house.clock.advance(HOUR)
                settle(house)
        over = shown(house, made)
        assert (over.status.value, over.is_open) == (outcome.value, False)
        resolution = house.store.query(gates.show, made.gate).resolution
        assert resolution is not None
        assert resolution.ending is ending
        item = heard(house, "ann")[-1]
        assert render_event(item.event) == f"[Decision {made.id}] {words}"
        assert (item.event.wakes, item.event.priority) == (True, Priority.HIGH)
        assert [item.state for item in heard(house, "husam")] in ([ItemState.DELIVERED], [ItemState.DELIVERED] * 2)
        with pytest.raises((Late, Refused)):
            answered(house, made, "admin", option="yes")
        with pytest.raises(Late, match=f"was {outcome} already"):
            house.store.call(decisions.withdraw, made.id, by="ann")
        assert house.balanced()

    def test_the_default_counts_at_the_deadline(self, house: House) -> None:
        made = asked(house, default="no", within=HOUR)
        house.clock.advance(HOUR)
        assert shown(house, made).is_overdue(house.clock.now())
        with pytest.raises(Late, match="ran out at 2026-02-18T10:00:00Z: 'no' counts"):
            answered(house, made, option="yes")
        settle(house)
        over = shown(house, made)
        assert over.last_answer is not None
        assert (over.status, over.last_answer.outcome, over.last_answer.option, over.last_answer.by) == (
            "answered",
            "defaulted",
            "no",
            None,
        )
        assert [render_event(item.event) for item in heard(house, "ann")] == [f'[Decision {made.id}] defaulted: "Wait"']

    def test_a_question_that_was_sent_back_has_no_default(self, house: House) -> None:
        made = asked(house, default="no", within=HOUR, free_text=True)
        answered(house, made, text="why?", again=True)
        house.clock.advance(HOUR)
        settle(house)
        assert shown(house, made).status is DecisionStatus.EXPIRED

    def test_it_goes_on_while_one_of_those_asked_is_there(self, house: House) -> None:
        made = asked(house, respondents=("husam", "bob"))
        house.store.call(directory.retire, "husam")
        assert shown(house, made).is_open
        house.store.call(directory.retire, "bob")
        assert shown(house, made).status is DecisionStatus.ORPHANED

    def test_its_last_question_is_not_discarded_unsaid(self, house: House) -> None:
        made = asked(house, respondents=("husam", "bob"))
        [item] = heard(house, "husam")
        with pytest.raises(Conflict, match="nobody would be asked any more") as refused:
            house.store.call(inbox.discard, item.event.id)
        assert refused.value.hint == f"answer it, or turn it down: gatepost decision answer {made.id} --reject"
        house.store.call(inbox.discard, item.event.id, "bob")
        with pytest.raises(Conflict, match="it is discarded for 'bob'"):
            house.store.call(inbox.discard, item.event.id, "bob")
        with pytest.raises(Conflict, match="nobody would be asked any more"):
            house.store.call(inbox.discard, item.event.id, "husam")
        house.store.call(inbox.replay, item.event.id, "bob")
        house.store.call(directory.retire, "bob")
        with pytest.raises(Conflict, match="nobody would be asked any more"):
            house.store.call(inbox.discard, item.event.id, "husam")
        answered(house, made, reject=True)
        assert (heard(house, "husam")[0].state, len(heard(house, "ann"))) == (ItemState.DELIVERED, 1)

    def test_a_question_may_be_discarded_that_another_has_read_or_that_ends_by_itself(self, house: House) -> None:
        house.register("cleo")
        asked(house, respondents=("bob", "cleo"))
        house.ack(house.take("bob"))
        [read] = heard(house, "cleo")
        asked(house, within=HOUR)
        [timed] = heard(house, "husam")
        back = asked(house, respondents=("admin",), free_text=True)
        [over] = heard(house, "admin")
        answered(house, back, "admin", text="why?", again=True)
        [sent_back] = heard(house, "ann")
        house.store.call(inbox.discard, sent_back.event.id)
        house.store.call(decisions.revise, back.id, question(), by="ann")
        house.store.call(inbox.replay, over.event.id)
        for event, name in ((read, "cleo"), (timed, "husam"), (heard(house, "admin")[-1], "admin")):
            [gone] = house.store.call(inbox.discard, event.event.id, name)
            assert gone.state is ItemState.DISCARDED

    def test_one_whose_asker_has_left_is_over(self, house: House) -> None:
        made = asked(house)
        house.store.call(directory.retire, "ann")
        assert shown(house, made).status is DecisionStatus.ORPHANED
        assert [item.state for item in heard(house, "husam")] == [ItemState.DELIVERED]
        assert (heard(house, "ann"), house.balanced()) == ([], True)

    def test_only_who_asked_withdraws(self, house: House) -> None:
        made = asked(house)
        with pytest.raises(Refused):
            house.store.call(decisions.withdraw, made.id, by="husam")
        assert house.store.call(decisions.withdraw, made.id, by="ann").status is DecisionStatus.WITHDRAWN
        assert heard(house, "ann") == []  # it knows

    def test_a_decision_is_kept_when_other_gates_are_forgotten(self, house: House) -> None:
        made = asked(house)
        over = answered(house, made, option="yes")
        house.clock.advance(30 * DAY)
        while house.store.call(maintenance.reap):
            pass
        assert shown(house, made) == over


class TestRevising:
    def test_words_send_it_back_and_it_is_asked_anew(self, house: House) -> None:
        made = asked(house, free_text=True)
        back = answered(house, made, text="what does it cost?", again=True)
        assert (back.status, back.is_open) == (DecisionStatus.REVISING, True)
        assert [gate.id for gate in house.store.query(gates.list_blocking, "ann")] == [made.gate]
        [item] = heard(house, "ann")
        assert render_event(item.event) == f'[Decision {made.id}] again by husam: "what does it cost?"'
        with pytest.raises(Late, match="was sent back by 'husam'"):
            answered(house, made, option="yes")
        anew = house.store.call(decisions.revise, made.id, question(question="Ship for 5?"), by="ann")
        assert (anew.iteration, anew.guidance, anew.status) == (2, "what does it cost?", DecisionStatus.PENDING)
        assert (anew.respondents, anew.context_hash == made.context_hash) == (("husam",), False)
        assert [item.state for item in heard(house, "husam")] == [ItemState.DELIVERED, ItemState.PENDING]
        with pytest.raises(Conflict, match="has changed"):
            answered(house, made, option="yes", context_hash=made.context_hash)
        over = answered(house, made, option="yes", context_hash=anew.context_hash)
        assert [answer.outcome for answer in over.answers] == ["again", "answered"]
        assert [item.event.key for item in heard(house, "ann")] == [f"decision:{made.id}:{each}" for each in (1, 2)]
        assert house.balanced()

    def test_a_question_may_be_put_right_before_anybody_answers(self, house: House) -> None:
        made = asked(house, within=HOUR)
        anew = house.store.call(decisions.revise, made.id, question(question="Ship now?", within=2 * HOUR), by="ann")
        assert (anew.iteration, anew.guidance, anew.deadline) == (2, None, house.clock.now() + 2 * HOUR)
        with pytest.raises(Conflict):
            answered(house, made, option="yes", context_hash=made.context_hash)
        house.clock.advance(HOUR)
        settle(house)
        assert answered(house, made, option="yes").status is DecisionStatus.ANSWERED

    def test_a_default_counts_at_the_deadline_that_stays(self, house: House) -> None:
        made = asked(house, within=HOUR)
        house.store.call(decisions.revise, made.id, question(question="Ship now?", default="yes"), by="ann")
        house.clock.advance(HOUR)
        settle(house)
        assert shown(house, made).answers[-1].outcome is DecisionOutcome.DEFAULTED

    def test_three_rounds_are_the_most(self, house: House) -> None:
        made = asked(house, free_text=True)
        for _ in range(2):
            answered(house, made, text="hm", again=True)
            house.store.call(decisions.revise, made.id, question(free_text=True), by="ann")
        with pytest.raises(Conflict, match="3 times"):
            answered(house, made, text="hm", again=True)
        with pytest.raises(Conflict, match="3 times"):
            house.store.call(decisions.revise, made.id, question(), by="ann")
        assert answered(house, made, text="yes").status is DecisionStatus.ANSWERED

    @pytest.mark.parametrize(("by", "error"), [("husam", Refused), ("bob", NotFound)])
    def test_only_who_asked_revises(self, house: House, by: str, error: type[GatepostError]) -> None:
        made = asked(house)
        with pytest.raises(error):
            house.store.call(decisions.revise, made.id, question(), by=by)
        assert shown(house, made) == made


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [({"option": "yes"}, "answered"), ({"reject": True}, "rejected"), ({"text": "hm", "again": True}, "again")],
)
def test_an_answer_leaves_an_errand_where_a_command_waits_for_it(kit: Kit, reply: dict[str, Any], outcome: str) -> None:
    house = House(kit)
    store = kit.open(limits=Limits(on_answer=True))
    made = store.call(decisions.ask, question(free_text=True), by="ann")
    store.call(decisions.answer, made.id, AnswerSpec(**reply), by="husam")
    [errand] = store.call(jobs.take, [decisions.ANSWER_JOB], "me")
    assert (errand.payload["decisionId"], errand.payload["outcome"], errand.payload["by"]) == (
        made.id,
        outcome,
        "husam",
    )
    other = asked(house)
    answered(house, other, option="yes")
    assert store.call(jobs.take, [decisions.ANSWER_JOB], "me") == []
