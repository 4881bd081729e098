"""Export and import of gates and decisions: they arrive as they were, once, and go on from there."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gatepost.actions import deadlines, decisions, directory, gates, inbox, plans, push, reopen
from gatepost.actions.directory import EntitySpec
from gatepost.actions.merge import Taken
from gatepost.core.decision import AnswerSpec, Decision, DecisionOutcome, DecisionStatus, Option, Question
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, Push, Ref
from gatepost.core.gate import AtDeadline, CheckFailed, Ending, FailMode, Gate, GateKind, GateSpec
from gatepost.core.limits import Limits
from gatepost.core.plan import PlanStatus, parse_spec
from gatepost.core.times import DAY, HOUR, MINUTE
from gatepost.errors import GatepostError, Invalid, UnknownAddress
from gatepost.ports import Store
from gatepost.tables import gates as gate_rows
from gatepost.testing import Kit
from tests.acceptance.moving import healthy, lines_of, take_all

SHIP = Question(
    question="Ship it?",
    options=(Option(id="ship", label="Ship it", description="now"), Option(id="wait", label="Wait")),
    free_text=True,
    respondents=("husam", "ben"),
    default="wait",
    within=10 * DAY,
    context="All \u2028 green",
    ref=Ref("task", "1"),
    session="s-1",
)


def furnish(kit: Kit) -> dict[str, str]:
    """Gates and decisions in every state; return the ids of some."""
    store, clock = kit.store, kit.clock
    for name in ("admin", "husam", "ana", "ben"):
        kind = EntityKind.HUMAN if name in ("admin", "husam") else EntityKind.AGENT
        store.call(directory.register, EntitySpec(name=name, kind=kind))

    asking = kit.open(limits=Limits(ci=["acme/shop"]))

    def add(name: str, **more: Any) -> str:
        return asking.call(gates.add, GateSpec(name=name, owner="ana", **more), by="admin").id

    ids = {"forgotten": add("Long ago", waiters=("ben",))}
    store.call(gates.resolve, ids["forgotten"], by="admin")
    clock.advance("3 days")
    ids["resolved"] = add("Done", awaits="husam", waiters=("ben",))
    store.call(gates.resolve, ids["resolved"], by="husam", reason='"so"\n')
    escalating = add("Held", awaits="husam", within=MINUTE, at_deadline=AtDeadline.ESCALATE, fail=FailMode.CLOSED)
    clock.advance("2 minutes")
    assert store.call(deadlines.end_due) == 1
    assert store.query(gates.show, escalating).escalated_at is not None
    troubled = add("CI", kind=GateKind.CI, awaits="run:1@acme/shop")
    store.call(gates.record_check, troubled, CheckFailed("gh is not there"), retry_in=HOUR)
    store.call(
        push.push_event, Push(to="ana", type=EventType.SERVICE, source="jira", content="before", data={"payload": 1})
    )
    clock.advance("1 second")
    ids["early"] = add("Jira", kind=GateKind.EVENT, awaits="service:jira")
    ids["came"] = add("Mail", kind=GateKind.MAIL, awaits="ben")
    clock.advance("1 second")
    store.call(push.push_event, Push(to="ana", type=EventType.MAIL, source="ben", sender="ben", content="after"))
    ids["awaited"] = add("Sign-off", awaits="husam")
    ids["plan"] = store.call(plans.set_plan, "ana", parse_spec({"name": "then", "onGate": ids["awaited"]})).id

    ids["pending"] = store.call(decisions.ask, SHIP, by="ana").id
    ids["answered"] = store.call(decisions.ask, SHIP, by="ana").id
    store.call(decisions.answer, ids["answered"], AnswerSpec(text="When?", again=True), by="ben")
    store.call(
        decisions.revise,
        ids["answered"],
        replace(SHIP, question="On Monday?", default=None, within=None, respondents=()),
        by="ana",
    )
    store.call(decisions.answer, ids["answered"], AnswerSpec(option="ship", text="go"), by="husam")
    ids["revising"] = store.call(decisions.ask, replace(SHIP, default=None, within=None), by="ana").id
    store.call(decisions.answer, ids["revising"], AnswerSpec(text="Why?", again=True), by="husam")
    ids["withdrawn"] = store.call(decisions.ask, SHIP, by="ana").id
    store.call(decisions.withdraw, ids["withdrawn"], by="ana", reason="known")
    return ids


def hung(store: Store) -> tuple[list[Gate], list[Decision]]:
    """Everything about gates and decisions, but for numbers, and for what is forgotten."""
    found = store.query(gates.page, limit=1_000), store.query(decisions.page, limit=1_000)
    kept = [replace(each, number=0) for each in found[0] if each.name != "Long ago"]
    return sorted(kept, key=lambda each: each.id), [replace(each, number=0) for each in found[1]]


@pytest.fixture(params=["from", "to"])
def stores(kit: Kit, request: pytest.FixtureRequest) -> Any:
    """A furnished store, an empty one, and the ids; one of the stores on each database in turn."""
    with Kit(clock=kit.clock) as other:
        source, target = (kit, other) if request.param == "from" else (other, kit)
        yield source.store, target, furnish(source)


def test_everything_arrives_once(stores: tuple[Store, Kit, dict[str, str]]) -> None:
    source, target, ids = stores
    lines = lines_of(source)
    taken = take_all(target.store, lines)
    assert replace(taken, events=0, items=0) == Taken(entities=4, gates=6, decisions=4, plans=1)
    assert hung(target.store) == hung(source)
    assert target.store.query(plans.show, ids["plan"]).gate == ids["awaited"]
    assert take_all(target.store, lines) == Taken(known=taken.items)
    assert hung(target.store) == hung(source)
    healthy(target.store)


def test_cut_off_anywhere_and_run_again(
    stores: tuple[Store, Kit, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it was cut, no decision is without its gate, and nothing that is due goes wrong."""
    monkeypatch.setattr("gatepost.actions.transfer.CHUNK", 2)
    source, target, _ = stores
    lines = lines_of(source)
    for cut in range(2, len(lines), 3):
        with pytest.raises(Invalid, match="the rest is missing"):
            take_all(target.store, lines[:cut])
        known = {each.gate for each in target.store.query(decisions.page)}
        assert {each.id for each in target.store.query(gates.page, kind=GateKind.DECISION)} == known
    take_all(target.store, lines)
    assert hung(target.store) == hung(source)
    healthy(target.store)


def test_it_goes_on_there(stores: tuple[Store, Kit, dict[str, str]]) -> None:
    source, target, ids = stores
    take_all(target.store, lines_of(source))
    store = target.store
    while store.call(deadlines.end_due):
        pass
    came = store.query(gates.show, ids["came"]).resolution
    assert came is not None
    assert came.ending is Ending.RESOLVED
    assert store.query(gates.show, ids["early"]).is_pending

    store.call(gates.resolve, ids["awaited"], by="husam")
    assert store.call(plans.fire) == 1
    assert store.query(plans.show, ids["plan"]).status is PlanStatus.COMPLETED
    waiting = [item.event.key for item in store.query(inbox.page, "husam") if item.ended_at is None]
    assert f"decision:{ids['pending']}:1" in waiting
    store.call(decisions.answer, ids["pending"], AnswerSpec(option="ship"), by="ben")
    waiting = [item.event.key for item in store.query(inbox.page, "husam") if item.ended_at is None]
    assert f"decision:{ids['pending']}:1" not in waiting
    revised = store.call(decisions.revise, ids["revising"], replace(SHIP, respondents=()), by="ana")
    assert (revised.iteration, revised.guidance) == (2, "Why?")
    target.clock.advance("11 days")
    while store.call(deadlines.end_due):
        pass
    ended = store.query(decisions.show, ids["revising"])
    assert (ended.status, ended.answers[-1].outcome) == (DecisionStatus.ANSWERED, DecisionOutcome.DEFAULTED)
    healthy(store)


@pytest.mark.parametrize("old", [False, True])
def test_their_chains_go_on_there(kit: Kit, old: bool) -> None:
    """For as long as they would have here; an export that says nothing of them is read as well."""
    for name, kind in (
        ("admin", EntityKind.HUMAN),
        ("husam", EntityKind.HUMAN),
        ("ana", EntityKind.AGENT),
        ("ben", EntityKind.AGENT),
    ):
        kit.store.call(directory.register, EntitySpec(name=name, kind=kind))
    timer = GateSpec(name="Tea", kind=GateKind.TIMER, owner="ana", within=HOUR)
    gate = kit.store.call(gates.add, timer, by="ana", hops=4).id
    asked = kit.store.call(decisions.ask, SHIP, by="ana", hops=2)
    kit.clock.advance("2 minutes")
    kit.store.call(decisions.revise, asked.id, replace(SHIP, respondents=()), by="ana", hops=9)
    kit.clock.advance("1 minute")
    lines = lines_of(kit.store)
    with Kit(clock=kit.clock) as other:
        take_all(other.store, _without_chains(lines) if old else lines)

        def hops(id: str) -> int:
            return other.store.query(lambda tx: gate_rows.hops(tx, gates.show(tx, id).number))

        assert (hops(gate), hops(asked.gate)) == ((0, 0) if old else (4, 9))
        kit.clock.advance("3 minutes")
        assert (hops(gate), hops(asked.gate)) == ((0, 0) if old else (0, 9))
        if not old:
            assert lines_of(other.store)[1:] == lines[1:]


def _without_chains(lines: list[bytes]) -> list[bytes]:
    """As it was exported before they were."""
    documents = [json.loads(line) for line in lines]
    for document in documents:
        gate = document["gate"] if document["record"] == "decision" else document
        if gate["record" if gate is document else "kind"] in ("gate", "decision"):
            assert gate.pop("hops") >= 0
            assert gate.pop("hopsAt")
    return [json.dumps(document).encode() for document in documents]


def test_a_chain_that_is_too_long_is_not_imported(kit: Kit) -> None:
    furnish(kit)
    [gate, *_] = kit.store.query(gates.page, pending=True)
    with pytest.raises(Invalid, match="not a number of hops"):
        kit.store.call(reopen.take_gate, replace(gate, id=f"gate_{'0' * 32}", hops=10_001))


def test_who_has_left_there_orphans_what_needs_them(stores: tuple[Store, Kit, dict[str, str]]) -> None:
    source, target, ids = stores
    store = target.store
    store.call(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
    store.call(directory.retire, "husam")
    take_all(store, lines_of(source))
    gate = store.query(gates.show, ids["awaited"])
    assert gate.resolution is not None
    assert (gate.resolution.ending, gate.resolution.reason) == (Ending.ORPHANED, "husam is retired")
    assert store.query(plans.show, ids["plan"]).status is PlanStatus.CANCELLED
    assert store.query(decisions.show, ids["pending"]).is_open  # ben was asked, too
    healthy(store)


Change = Callable[[dict[str, Any]], dict[str, Any]]

ANSWERED: dict[str, Any] = {
    "outcome": "answered",
    "option": "ship",
    "text": None,
    "by": None,
    "at": "2026-01-01T00:00:00Z",
    "iteration": 1,
}
AGAIN = ANSWERED | {"outcome": "again"}
BROKEN: list[tuple[str, Change, str]] = [
    ("gate", lambda one: one | {"kind": "cat"}, "'cat' is not a kind of gate"),
    ("gate", lambda one: one | {"kind": "decision"}, "the gate of a decision stands with the decision"),
    ("gate", lambda one: one | {"owner": "nobody"}, "nobody is called 'nobody'"),
    ("gate", lambda one: one | {"waiters": ["nobody"]}, "nobody is called 'nobody'"),
    ("gate", lambda one: one | {"name": " "}, "' ' is not a name of a gate"),
    ("gate", lambda one: one | {"kind": "ci", "awaits": "x"}, "'x' is nothing on GitHub to wait for"),
    ("gate", lambda one: one | {"resolution": 1}, "'resolution' must be an object, not 1"),
    ("gate", lambda one: one | {"instruction": "x" * 4_001}, "the instruction has 4001 characters"),
    ("gate", lambda one: {name: one[name] for name in one if name != "fail"}, "'fail' is missing"),
    ("decision", lambda one: one | {"gate": None}, "'gate' is missing"),
    ("decision", lambda one: one | {"gate": one["gate"] | {"kind": "human"}}, "the gate 'gate_"),
    ("decision", lambda one: one | {"gate": one["gate"] | {"owner": "ben"}}, "the gate 'gate_"),
    ("decision", lambda one: one | {"question": "Other?"}, "'"),
    ("decision", lambda one: one | {"options": [1]}, "'options' must be a list of objects, not of 1"),
    ("decision", lambda one: one | {"default": "no"}, "the default 'no' is not among the options"),
    ("decision", lambda one: one | {"iteration": 4}, "a decision has at most 3 rounds"),
    ("decision", lambda one: one | {"asked": ["nobody"]}, "nobody is called 'nobody'"),
    ("decision", lambda one: one | {"answers": [ANSWERED]}, "the decision 'dec_"),
    ("decision", lambda one: one | {"answers": [AGAIN, AGAIN]}, "the answers of the decision 'dec_"),
]


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    """Who there is, a pending gate and a pending decision."""
    with Kit() as kit:
        furnish(kit)
        found = [json.loads(line) for line in lines_of(kit.store)]
    chosen = [one for one in found if one["record"] in ("export", "entity")]
    chosen += [next(one for one in found if one["record"] == "gate" and one["name"] == "Held")]
    chosen += [next(one for one in found if one["record"] == "decision" and not one["answers"])]
    chosen += [{"record": "end", "lines": len(chosen)}]
    return [json.dumps(one).encode() for one in chosen]


@pytest.mark.parametrize(("record", "change", "message"), BROKEN, ids=[f"{one[0]}-{n}" for n, one in enumerate(BROKEN)])
def test_a_broken_line_is_named_and_nothing_of_its_chunk_is_stored(
    lines: list[bytes], record: str, change: Change, message: str
) -> None:
    broken = [json.dumps(change(one) if one["record"] == record else one).encode() for one in map(json.loads, lines)]
    with Kit() as kit:
        with pytest.raises(GatepostError) as raised:
            take_all(kit.store, broken)
        assert isinstance(raised.value, Invalid | UnknownAddress)
        assert message in raised.value.message
        assert kit.store.query(directory.page) == []
    with Kit() as kit:
        assert take_all(kit.store, lines) == Taken(entities=4, gates=1, decisions=1)
