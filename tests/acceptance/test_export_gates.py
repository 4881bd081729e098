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
from tests.acceptance.transfer_helpers import assert_healthy, export_lines, import_lines

SHIP_QUESTION = Question(
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


def create_gates_and_decisions(kit: Kit) -> dict[str, str]:
    """Gates and decisions in every state; return the ids of some."""
    store, clock = kit.store, kit.clock
    for name in ("admin", "husam", "ana", "ben"):
        kind = EntityKind.HUMAN if name in ("admin", "husam") else EntityKind.AGENT
        store.call(directory.register, EntitySpec(name=name, kind=kind))

    ci_store = kit.open(limits=Limits(ci=["acme/shop"]))

    def add_gate(name: str, **fields: Any) -> str:
        return ci_store.call(gates.add, GateSpec(name=name, owner="ana", **fields), by="admin").id

    ids = {"forgotten": add_gate("Long ago", waiters=("ben",))}
    store.call(gates.resolve, ids["forgotten"], by="admin")
    clock.advance("3 days")
    ids["resolved"] = add_gate("Done", awaits="husam", waiters=("ben",))
    store.call(gates.resolve, ids["resolved"], by="husam", reason='"so"\n')
    escalating_gate = add_gate(
        "Held", awaits="husam", within=MINUTE, at_deadline=AtDeadline.ESCALATE, fail=FailMode.CLOSED
    )
    clock.advance("2 minutes")
    assert store.call(deadlines.end_due) == 1
    assert store.query(gates.show, escalating_gate).escalated_at is not None
    ci_gate = add_gate("CI", kind=GateKind.CI, awaits="run:1@acme/shop")
    store.call(gates.record_check, ci_gate, CheckFailed("gh is not there"), retry_in=HOUR)
    store.call(
        push.push_event, Push(to="ana", type=EventType.SERVICE, source="jira", content="before", data={"payload": 1})
    )
    clock.advance("1 second")
    ids["early"] = add_gate("Jira", kind=GateKind.EVENT, awaits="service:jira")
    ids["came"] = add_gate("Mail", kind=GateKind.MAIL, awaits="ben")
    clock.advance("1 second")
    store.call(push.push_event, Push(to="ana", type=EventType.MAIL, source="ben", sender="ben", content="after"))
    ids["awaited"] = add_gate("Sign-off", awaits="husam")
    ids["plan"] = store.call(plans.set_plan, "ana", parse_spec({"name": "then", "onGate": ids["awaited"]})).id

    ids["pending"] = store.call(decisions.ask, SHIP_QUESTION, by="ana").id
    ids["answered"] = store.call(decisions.ask, SHIP_QUESTION, by="ana").id
    store.call(decisions.answer, ids["answered"], AnswerSpec(text="When?", again=True), by="ben")
    store.call(
        decisions.revise,
        ids["answered"],
        replace(SHIP_QUESTION, question="On Monday?", default=None, within=None, respondents=()),
        by="ana",
    )
    store.call(decisions.answer, ids["answered"], AnswerSpec(option="ship", text="go"), by="husam")
    ids["revising"] = store.call(decisions.ask, replace(SHIP_QUESTION, default=None, within=None), by="ana").id
    store.call(decisions.answer, ids["revising"], AnswerSpec(text="Why?", again=True), by="husam")
    ids["withdrawn"] = store.call(decisions.ask, SHIP_QUESTION, by="ana").id
    store.call(decisions.withdraw, ids["withdrawn"], by="ana", reason="known")
    return ids


def list_gates_and_decisions(store: Store) -> tuple[list[Gate], list[Decision]]:
    """Everything about gates and decisions, but for numbers, and for what is forgotten."""
    pages = store.query(gates.page, limit=1_000), store.query(decisions.page, limit=1_000)
    gate_rows = [replace(row, number=0) for row in pages[0] if row.name != "Long ago"]
    return sorted(gate_rows, key=lambda row: row.id), [replace(row, number=0) for row in pages[1]]


@pytest.fixture(params=["from", "to"])
def stores(kit: Kit, request: pytest.FixtureRequest) -> Any:
    """A furnished store, an empty one, and the ids; one of the stores on each database in turn."""
    with Kit(clock=kit.clock) as other_kit:
        source, target = (kit, other_kit) if request.param == "from" else (other_kit, kit)
        yield source.store, target, create_gates_and_decisions(source)


def test_everything_arrives_once(stores: tuple[Store, Kit, dict[str, str]]) -> None:
    source, target, ids = stores
    lines = export_lines(source)
    totals = import_lines(target.store, lines)
    assert replace(totals, events=0, items=0) == Taken(entities=4, gates=6, decisions=4, plans=1)
    assert list_gates_and_decisions(target.store) == list_gates_and_decisions(source)
    assert target.store.query(plans.show, ids["plan"]).gate == ids["awaited"]
    assert import_lines(target.store, lines) == Taken(known=totals.items)
    assert list_gates_and_decisions(target.store) == list_gates_and_decisions(source)
    assert_healthy(target.store)


def test_cut_off_anywhere_and_run_again(
    stores: tuple[Store, Kit, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it was cut, no decision is without its gate, and nothing that is due goes wrong."""
    monkeypatch.setattr("gatepost.actions.transfer.CHUNK", 2)
    source, target, _ = stores
    lines = export_lines(source)
    for cut in range(2, len(lines), 3):
        with pytest.raises(Invalid, match="the rest is missing"):
            import_lines(target.store, lines[:cut])
        gate_ids = {row.gate for row in target.store.query(decisions.page)}
        assert {row.id for row in target.store.query(gates.page, kind=GateKind.DECISION)} == gate_ids
    import_lines(target.store, lines)
    assert list_gates_and_decisions(target.store) == list_gates_and_decisions(source)
    assert_healthy(target.store)


def test_it_goes_on_there(stores: tuple[Store, Kit, dict[str, str]]) -> None:
    source, target, ids = stores
    import_lines(target.store, export_lines(source))
    store = target.store
    while store.call(deadlines.end_due):
        pass
    mail_resolution = store.query(gates.show, ids["came"]).resolution
    assert mail_resolution is not None
    assert mail_resolution.ending is Ending.RESOLVED
    assert store.query(gates.show, ids["early"]).is_pending

    store.call(gates.resolve, ids["awaited"], by="husam")
    assert store.call(plans.fire) == 1
    assert store.query(plans.show, ids["plan"]).status is PlanStatus.COMPLETED
    pending_keys = [item.event.key for item in store.query(inbox.page, "husam") if item.ended_at is None]
    assert f"decision:{ids['pending']}:1" in pending_keys
    store.call(decisions.answer, ids["pending"], AnswerSpec(option="ship"), by="ben")
    pending_keys = [item.event.key for item in store.query(inbox.page, "husam") if item.ended_at is None]
    assert f"decision:{ids['pending']}:1" not in pending_keys
    revision = store.call(decisions.revise, ids["revising"], replace(SHIP_QUESTION, respondents=()), by="ana")
    assert (revision.iteration, revision.guidance) == (2, "Why?")
    target.clock.advance("11 days")
    while store.call(deadlines.end_due):
        pass
    decision = store.query(decisions.show, ids["revising"])
    assert (decision.status, decision.answers[-1].outcome) == (DecisionStatus.ANSWERED, DecisionOutcome.DEFAULTED)
    assert_healthy(store)


@pytest.mark.parametrize("is_old_format", [False, True])
def test_their_chains_go_on_there(kit: Kit, is_old_format: bool) -> None:
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
    decision = kit.store.call(decisions.ask, SHIP_QUESTION, by="ana", hops=2)
    kit.clock.advance("2 minutes")
    kit.store.call(decisions.revise, decision.id, replace(SHIP_QUESTION, respondents=()), by="ana", hops=9)
    kit.clock.advance("1 minute")
    lines = export_lines(kit.store)
    with Kit(clock=kit.clock) as other_kit:
        import_lines(other_kit.store, _remove_hops(lines) if is_old_format else lines)

        def read_hops(id: str) -> int:
            return other_kit.store.query(lambda tx: gate_rows.hops(tx, gates.show(tx, id).number))

        assert (read_hops(gate), read_hops(decision.gate)) == ((0, 0) if is_old_format else (4, 9))
        kit.clock.advance("3 minutes")
        assert (read_hops(gate), read_hops(decision.gate)) == ((0, 0) if is_old_format else (0, 9))
        if not is_old_format:
            assert export_lines(other_kit.store)[1:] == lines[1:]


def _remove_hops(lines: list[bytes]) -> list[bytes]:
    """As it was exported before they were."""
    documents = [json.loads(line) for line in lines]
    for document in documents:
        gate = document["gate"] if document["record"] == "decision" else document
        if gate["record" if gate is document else "kind"] in ("gate", "decision"):
            assert gate.pop("hops") >= 0
            assert gate.pop("hopsAt")
    return [json.dumps(document).encode() for document in documents]


def test_a_chain_that_is_too_long_is_not_imported(kit: Kit) -> None:
    create_gates_and_decisions(kit)
    [gate, *_] = kit.store.query(gates.page, pending=True)
    with pytest.raises(Invalid, match="not a number of hops"):
        kit.store.call(reopen.take_gate, replace(gate, id=f"gate_{'0' * 32}", hops=10_001))


def test_who_has_left_there_orphans_what_needs_them(stores: tuple[Store, Kit, dict[str, str]]) -> None:
    source, target, ids = stores
    store = target.store
    store.call(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
    store.call(directory.retire, "husam")
    import_lines(store, export_lines(source))
    gate = store.query(gates.show, ids["awaited"])
    assert gate.resolution is not None
    assert (gate.resolution.ending, gate.resolution.reason) == (Ending.ORPHANED, "husam is retired")
    assert store.query(plans.show, ids["plan"]).status is PlanStatus.CANCELLED
    assert store.query(decisions.show, ids["pending"]).is_open  # ben was asked, too
    assert_healthy(store)


ChangeDocument = Callable[[dict[str, Any]], dict[str, Any]]

ANSWER: dict[str, Any] = {
    "outcome": "answered",
    "option": "ship",
    "text": None,
    "by": None,
    "at": "2026-01-01T00:00:00Z",
    "iteration": 1,
}
SEND_BACK_ANSWER = ANSWER | {"outcome": "again"}
BROKEN_RECORDS: list[tuple[str, ChangeDocument, str]] = [
    ("gate", lambda row: row | {"kind": "cat"}, "'cat' is not a kind of gate"),
    ("gate", lambda row: row | {"kind": "decision"}, "the gate of a decision stands with the decision"),
    ("gate", lambda row: row | {"owner": "nobody"}, "nobody is called 'nobody'"),
    ("gate", lambda row: row | {"waiters": ["nobody"]}, "nobody is called 'nobody'"),
    ("gate", lambda row: row | {"name": " "}, "' ' is not a name of a gate"),
    ("gate", lambda row: row | {"kind": "ci", "awaits": "x"}, "'x' is nothing on GitHub to wait for"),
    ("gate", lambda row: row | {"resolution": 1}, "'resolution' must be an object, not 1"),
    ("gate", lambda row: row | {"instruction": "x" * 4_001}, "the instruction has 4001 characters"),
    ("gate", lambda row: {name: row[name] for name in row if name != "fail"}, "'fail' is missing"),
    ("decision", lambda row: row | {"gate": None}, "'gate' is missing"),
    ("decision", lambda row: row | {"gate": row["gate"] | {"kind": "human"}}, "the gate 'gate_"),
    ("decision", lambda row: row | {"gate": row["gate"] | {"owner": "ben"}}, "the gate 'gate_"),
    ("decision", lambda row: row | {"question": "Other?"}, "'"),
    ("decision", lambda row: row | {"options": [1]}, "'options' must be a list of objects, not of 1"),
    ("decision", lambda row: row | {"default": "no"}, "the default 'no' is not among the options"),
    ("decision", lambda row: row | {"iteration": 4}, "a decision has at most 3 rounds"),
    ("decision", lambda row: row | {"asked": ["nobody"]}, "nobody is called 'nobody'"),
    ("decision", lambda row: row | {"answers": [ANSWER]}, "the decision 'dec_"),
    (
        "decision",
        lambda row: row | {"answers": [SEND_BACK_ANSWER, SEND_BACK_ANSWER]},
        "the answers of the decision 'dec_",
    ),
]


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    """Who there is, a pending gate and a pending decision."""
    with Kit() as kit:
        create_gates_and_decisions(kit)
        documents = [json.loads(line) for line in export_lines(kit.store)]
    selection = [document for document in documents if document["record"] in ("export", "entity")]
    selection += [
        next(document for document in documents if document["record"] == "gate" and document["name"] == "Held")
    ]
    selection += [
        next(document for document in documents if document["record"] == "decision" and not document["answers"])
    ]
    selection += [{"record": "end", "lines": len(selection)}]
    return [json.dumps(document).encode() for document in selection]


@pytest.mark.parametrize(
    ("record", "change", "message"), BROKEN_RECORDS, ids=[f"{row[0]}-{n}" for n, row in enumerate(BROKEN_RECORDS)]
)
def test_a_broken_line_is_named_and_nothing_of_its_chunk_is_stored(
    lines: list[bytes], record: str, change: ChangeDocument, message: str
) -> None:
    broken_lines = [
        json.dumps(change(document) if document["record"] == record else document).encode()
        for document in map(json.loads, lines)
    ]
    with Kit() as kit:
        with pytest.raises(GatepostError) as error_info:
            import_lines(kit.store, broken_lines)
        assert isinstance(error_info.value, Invalid | UnknownAddress)
        assert message in error_info.value.message
        assert kit.store.query(directory.page) == []
    with Kit() as kit:
        assert import_lines(kit.store, lines) == Taken(entities=4, gates=1, decisions=1)
