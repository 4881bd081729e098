"""How the parameters of a command are made from a request or a function, and what is refused."""

from typing import Annotated, Any

import click
import pytest

from gatepost.cli import inputs
from gatepost.cli.command import Noun, Outcome, build_verb
from gatepost.cli.parameters import (
    JsonFlag,
    ParameterSpec,
    RequestParameters,
    argument,
    current_agent,
    flag,
    number,
    option,
)
from gatepost.errors import Invalid
from gatepost.gates.decision_api import AnswerDecision, ListDecisions, ReviseDecision
from gatepost.gates.gate_api import AddGate, GateView, ResolveGate
from gatepost.plans.api import ListPlans
from gatepost.residents.runs.api import ReplayRun


def list_flags(parameters: RequestParameters) -> list[str]:
    return [parameter.opts[0] for parameter in parameters.list_parameters()]


def test_required_fields_are_arguments_and_others_are_options_of_their_name() -> None:
    by_name = {parameter.name: parameter for parameter in RequestParameters(AddGate, {}).list_parameters()}
    assert isinstance(by_name["name"], click.Argument)
    assert by_name["at_deadline"].opts == ["--at-deadline"]
    assert by_name["at_deadline"].default == "open"
    assert by_name["waiters"].multiple
    assert by_name["made_by"].opts == ["--as"]


def test_arguments_come_first_and_who_acts_last() -> None:
    fields = {"reason": option("--why", "TEXT", "why"), "id": argument("GATE", "a gate"), "withdraw": True}
    parameters = RequestParameters(ResolveGate, fields)
    assert list_flags(parameters) == ["id", "--why", "--as"]
    request = parameters.build_request({"id": "gate_1", "reason": "done", "by": "husam"})
    assert request == ResolveGate(id="gate_1", reason="done", by="husam", withdraw=True)


def test_arguments_come_in_the_order_of_their_keywords_and_options_in_that_of_the_fields() -> None:
    fields = {"id": argument("DECISION"), "question": argument("TEXT"), "within": option("--within", "2h")}
    flags = list_flags(RequestParameters(ReviseDecision, fields))
    assert flags[:5] == ["id", "question", "--action", "--allow", "--options"]
    assert flags.index("--deadline") < flags.index("--within")


def test_the_help_is_the_description_of_the_field_unless_the_keyword_has_one() -> None:
    fields = {"owner": option("--for", "NAME"), "status": option("--status", "STATUS", "a state")}
    by_name = {parameter.name: parameter for parameter in RequestParameters(ListPlans, fields).list_parameters()}
    assert isinstance(owner := by_name["owner"], click.Option)
    assert (owner.opts, owner.help) == (["--for"], "Only plans of this owner.")
    assert isinstance(status := by_name["status"], click.Option)
    assert status.help == "A state."


def test_a_short_enumeration_is_the_metavar_and_a_long_one_is_in_the_help() -> None:
    by_name = {parameter.name: parameter for parameter in RequestParameters(AddGate, {}).list_parameters()}
    assert isinstance(fail := by_name["fail"], click.Option)
    assert fail.metavar == "open|closed"
    assert isinstance(kind := by_name["kind"], click.Option)
    assert kind.metavar == "KIND"
    assert kind.help is not None
    assert kind.help.endswith(": human, decision, timer, event, mail, command, ci.")


@pytest.mark.parametrize(
    "spec", [option("--model", "M", default="demo"), current_agent("--model", "it", no_agent="no")]
)
def test_a_required_field_with_a_default_may_be_left_out(spec: ParameterSpec) -> None:
    parameters = RequestParameters(ReplayRun, {"id": argument("RUN"), "model": spec})
    assert [parameter.required for parameter in parameters.list_parameters()] == [True, False]
    if spec.default is not None:
        assert parameters.build_request({"id": "run_1", "model": None}) == ReplayRun(id="run_1", model="demo")


def test_a_keyword_that_is_no_field_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError, match="ListPlans has no field 'ownr'"):
        RequestParameters(ListPlans, {"ownr": None})


@pytest.mark.parametrize(("is_given", "pending"), [(False, True), (True, None)])
def test_a_switch_has_a_value_for_on_and_off(is_given: bool, pending: bool | None) -> None:
    fields = dict.fromkeys(("asker", "asked", "session", "since", "after", "limit"))
    parameters = RequestParameters(ListDecisions, {**fields, "pending": flag("--all", "all", on=None, off=True)})
    assert parameters.build_request({"pending": is_given}) == ListDecisions(pending=pending)


def test_an_error_names_the_option() -> None:
    parameters = RequestParameters(ListPlans, {"status": option("--state", "STATE", "a state")})
    with pytest.raises(Invalid, match=r"^--state: 'late' is not one of pending, completed, cancelled$"):
        parameters.build_request({"status": "late"})


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (Invalid("within: '2' is not a duration"), "--within: '2' is not a duration", None),
        (Invalid("waiters.0: 5 is not text"), "--waiters.0: 5 is not text", None),
        (Invalid("give one of `within` and `deadline`"), "give one of --within and --deadline", None),
        (
            Invalid("it has no end", hint="give `within` or `atDeadline`"),
            "it has no end",
            "give --within 2h or --end T",
        ),
        (Invalid("'within: x' is odd", hint="see `gatepost up`"), "'within: x' is odd", "see `gatepost up`"),
        (Invalid("the name: within: x", hint="`other`"), "the name: within: x", "`other`"),
    ],
)
def test_fields_in_the_error_of_a_verb_become_options(error: Invalid, message: str, hint: str | None) -> None:
    fields = {"within": option("--within", "2h", "a time"), "at_deadline": option("--end", "T", "an end")}
    RequestParameters(AddGate, fields).relabel(error)
    assert (error.message, error.hint) == (message, hint)


def run_command(command: click.Command, *words: str) -> Any:
    with command.make_context("test", list(words)) as context:
        return command.invoke(context)


def show_parameters(
    text: Annotated[str | None, argument("TEXT|-", "a text", parse=inputs.read_text)] = None,
    data: Annotated[Any, option("--data", "JSON", "data", parse=inputs.read_json)] = None,
    names: Annotated[list[str] | None, option("--name", "NAME", "names")] = None,
    subject: Annotated[str | None, option("--subject", "TEXT", "a subject")] = None,
    limit: Annotated[int, number("--limit", "how many", maximum=9, short="-n")] = 5,
    json: JsonFlag = False,
) -> list[Any]:
    """Return what was parsed."""
    return [text, data, list(names or ()), subject, limit, json]


VERB = build_verb("show", show_parameters)  # type: ignore[arg-type]


def test_parameters_of_a_function() -> None:
    assert run_command(VERB) == [None, None, [], None, 5, False]
    words = ["hello", "--data", '{"n": 1}', "--name", "a", "--name", "b", "--subject", "", "-n", "9", "--json"]
    assert run_command(VERB, *words) == ["hello", {"n": 1}, ["a", "b"], "", 9, True]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--limit", "10"], "--limit: '10' is not a number from 1 to 9"),
        (["--limit", "0x1"], "--limit: '0x1' is not a number from 1 to 9"),
        (["--name", " "], "--name is empty"),
        (["--subject", "a", "--subject", "b"], "--subject is given 2 times"),
        (["--data", "{"], "--data: '{' is not JSON"),
        (["-", "--data", "-"], "stdin can be read only once"),
    ],
)
def test_what_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(Invalid) as caught:
        run_command(VERB, *words)
    assert caught.value.message == message


def test_a_verb_is_built_when_it_is_used() -> None:
    answers = Noun("answer", "Answers.")

    @answers.send("give", AnswerDecision, optoin=None)
    def describe(gate: GateView) -> Outcome:
        return Outcome(gate.id, "done")

    assert answers.list_commands(click.Context(answers)) == ["give"]
    with pytest.raises(TypeError, match="AnswerDecision has no field 'optoin'"):
        answers.get_command(click.Context(answers), "give")


def test_every_verb_can_be_built() -> None:
    from tools.reference import list_commands

    assert len(list(list_commands())) > 60
