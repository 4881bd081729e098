"""
The rules of gates and decisions, for any gate and any reply; and both stores against a model of them, step by step:
whoever does what in whatever order, a gate ends once, a round has one answer, and everybody has heard what they should.
"""

from contextlib import suppress
from pathlib import Path

from hypothesis import given, strategies as st
from msgspec.structs import replace

from gatepost.errors import Conflict, Invalid
from gatepost.gates import answer_rules, condition_check, decision as decisions, gate as gates, proposed_action
from gatepost.gates.decision import AnswerSpec, Decision, DecisionOutcome, Option, Question
from gatepost.gates.gate import AtDeadline, Ending, FailMode, Gate, GateKind, Resolution
from gatepost.gates.proposed_action import Action, AnswerKind
from gatepost.inbox.event import Priority, Ref
from tests.property.gate_machine import GateMachine
from tests.property.run_machine import run_on_postgres, run_on_sqlite
from tests.support.texts import texts

NOW = 1_000_000_000
MAX_DATA_BYTES = 1024 * 1024

resolutions = st.builds(
    Resolution, ending=st.sampled_from(Ending), reason=texts, by=st.sampled_from([None, "bob"]), at=st.just(NOW)
)
gate_strategy = st.builds(
    Gate,
    id=st.just("gate_" + "0" * 32),
    name=texts,
    kind=st.sampled_from(GateKind),
    owner=st.just("ann"),
    made_by=st.none(),
    awaits=st.none(),
    instruction=texts,
    waiters=st.just(()),
    deadline=st.none() | st.integers(NOW - 2, NOW + 2),
    at_deadline=st.sampled_from(AtDeadline),
    fail=st.sampled_from(FailMode),
    trouble=st.sampled_from([None, "no gh"]),
    escalated_at=st.sampled_from([None, NOW]),
    created_at=st.just(0),
    resolution=st.none() | resolutions,
)
options = st.lists(
    st.builds(Option, id=st.sampled_from("abcd"), label=texts, description=texts),
    unique_by=lambda option: option.id,
    max_size=3,
).map(tuple)
decision_strategy = st.builds(
    lambda options, iteration, free_text: Decision(
        id="dec_" + "0" * 32,
        gate="gate_" + "0" * 32,
        asker="ann",
        respondents=("husam",),
        question="Ship?",
        action=None,
        options=options,
        free_text=free_text,
        urgency=Priority.NORMAL,
        default=None,
        deadline=None,
        context=None,
        context_hash=decisions.compute_context_hash(Question(question="Ship?", options=options)),
        ref=None,
        session=None,
        is_followed=False,
        iteration=iteration,
        guidance=None,
        created_at=0,
        answers=(),
    ),
    options,
    st.integers(1, decisions.MAX_ROUNDS),
    st.booleans(),
)
replies = st.builds(
    AnswerSpec,
    option=st.sampled_from([None, "a", "b", "z"]),
    text=st.sampled_from([None, "", " ", "hm"]),
    again=st.booleans(),
    reject=st.booleans(),
    context_hash=st.none() | st.just("0" * 64),
)


@given(gate_strategy)
def test_what_has_ended_holds_nobody_and_what_has_not_says_why_it_does_not(gate: Gate) -> None:
    opens_at_deadline = gate.deadline is not None and (
        gate.at_deadline is AtDeadline.OPEN or gate.kind is GateKind.TIMER
    )
    is_excused = (opens_at_deadline and gate.is_overdue(NOW)) or (
        gate.trouble is not None and gate.fail is FailMode.OPEN
    )
    assert gate.holds(NOW) is (gate.is_pending and not is_excused)
    if not gate.is_pending:
        assert not gate.is_overdue(NOW)


@given(gate_strategy, st.integers(0, 5))
def test_a_gate_that_lets_go_in_time_does_not_hold_again_later(gate: Gate, later: int) -> None:
    if not gate.holds(NOW):
        assert not gate.holds(NOW + later)


@given(st.lists(gate_strategy, min_size=1, max_size=5))
def test_the_instruction_has_a_line_for_each_gate_whatever_is_in_it(gate_list: list[Gate]) -> None:
    lines = gates.render_blocked_stop(gate_list).splitlines()
    assert len(lines) == len(gate_list) + 1
    assert all(line.startswith("- ") and "<" not in line for line in lines[1:])


@given(decision_strategy, replies)
def test_a_reply_is_an_answer_to_the_question_as_it_stands_or_an_error(decision: Decision, reply: AnswerSpec) -> None:
    has_text = bool(reply.text and reply.text.strip())
    choices = [reply.again, reply.reject, reply.option is not None]
    try:
        outcome = answer_rules.decide_outcome(decision, reply, max_data_bytes=MAX_DATA_BYTES)
    except Conflict:
        assert reply.context_hash == "0" * 64 or (reply.again and decision.iteration == decisions.MAX_ROUNDS)
    except Invalid:
        is_known_option = reply.option in {None, *(option.id for option in decision.options)}
        has_no_choice = reply.option is None and not reply.reject
        assert not is_known_option or sum(choices) > 1 or (has_no_choice and not (has_text and decision.free_text))
    else:
        assert reply.context_hash is None
        assert sum(choices) <= 1
        assert (outcome is DecisionOutcome.REJECTED) is reply.reject
        assert (outcome is DecisionOutcome.AGAIN) is reply.again
        assert (
            reply.reject
            or reply.option in {option.id for option in decision.options}
            or (has_text and decision.free_text)
        )


short_texts = st.sampled_from(["a", "b", "a:b", ":", "\ud800", '"', "[]"])
option_tuples = st.lists(st.builds(Option, id=short_texts, label=short_texts, description=short_texts), max_size=2).map(
    tuple
)
json_objects = st.dictionaries(short_texts, st.none() | st.booleans() | st.integers(2, 4) | short_texts, max_size=2)
questions = st.builds(
    Question,
    question=short_texts,
    options=option_tuples,
    ref=st.none() | st.builds(Ref, short_texts, short_texts),
    context=st.none() | short_texts,
    action=st.none() | st.builds(Action, name=short_texts, args=json_objects),
)


@given(questions, questions)
def test_two_questions_have_one_hash_only_if_they_are_one(first: Question, second: Question) -> None:
    assert (decisions.compute_context_hash(first) == decisions.compute_context_hash(second)) is (first == second)
    changed = replace(first, options=(*first.options, Option(id="x", label="y")))
    assert decisions.compute_context_hash(first) != decisions.compute_context_hash(changed)


action_decisions = st.builds(
    lambda decision, kinds: replace(
        decision,
        action=Action(name="send_invoice", args={"amount": 100}),
        options=tuple(Option(id=kind, label=kind.label) for kind in kinds),
        free_text=AnswerKind.RESPOND in kinds,
    ),
    decision_strategy,
    st.sets(st.sampled_from(AnswerKind), min_size=1),
)
action_replies = st.builds(
    AnswerSpec,
    option=st.sampled_from([None, "odd", *AnswerKind]),
    text=st.sampled_from([None, " ", "why?"]),
    args=st.sampled_from([None, {}, {"amount": 90}]),
    again=st.booleans(),
    reject=st.booleans(),
)


@given(action_decisions, action_replies)
def test_a_reply_about_an_action_is_complete_or_refused(decision: Decision, reply: AnswerSpec) -> None:
    has_text, has_args = reply.text == "why?", reply.args is not None
    can_respond = decision.free_text and has_text and not has_args
    match reply:
        case AnswerSpec(option=None, again=False, reject=False):
            is_valid = can_respond
        case AnswerSpec(option=None, again=True, reject=False):
            is_valid = can_respond and decision.iteration < decisions.MAX_ROUNDS
        case AnswerSpec(option=None, again=False, reject=True):
            is_valid = not has_args
        case AnswerSpec(option=str(kind), again=False, reject=False) if kind in (decision.allow or ()):
            is_valid = (has_args, has_text) == (kind == AnswerKind.EDIT, kind == AnswerKind.RESPOND)
        case _:
            is_valid = False
    completed = answer_rules.complete_answer(decision, reply)
    try:
        outcome = answer_rules.decide_outcome(decision, completed, max_data_bytes=MAX_DATA_BYTES)
    except (Conflict, Invalid):
        assert not is_valid
    else:
        assert is_valid
        is_answer = outcome is DecisionOutcome.ANSWERED
        assert is_answer is not (reply.again or reply.reject)
        assert (completed.option is not None) is is_answer
        args = proposed_action.choose_args(decision.action, completed.option, completed.args)
        match completed.option:
            case AnswerKind.ACCEPT:
                assert args == {"amount": 100}
            case AnswerKind.EDIT:
                assert args == reply.args
            case _:
                assert args is None


@given(st.text(max_size=30))
def test_what_is_awaited_is_read_or_refused(text: str) -> None:
    for read in (gates.parse_awaited_event, condition_check.parse_ci_target):
        with suppress(Invalid):
            read(text)


def test_gates_and_decisions_on_sqlite(tmp_path: Path) -> None:
    run_on_sqlite(GateMachine, tmp_path, examples=15, steps=40)


def test_gates_and_decisions_on_postgres(empty_postgres_url: str) -> None:
    run_on_postgres(GateMachine, empty_postgres_url, examples=4, steps=40)
