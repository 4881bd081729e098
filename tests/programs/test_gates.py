"""Gates in the real programs: they hold until they are opened, and a gate that nobody opens does not hold for ever."""

import re

import pytest

from tests.programs.guest import GATEPOST, Guest
from tests.programs.model import DONE, Reply, call_helper, follow
from tests.programs.programs import ClaudeCode, Codex
from tests.programs.protocols import Message, Request


def add_gate(guest: Guest) -> str:
    """Add a gate that holds ann until husam opens it, and return its id."""
    options = ("--owner", "ann", "--awaits", "husam", "--instruction", "Wait for the sign-off.")
    return guest.run_gatepost("gate", "add", "Sign-off", *options)


def test_a_gate_that_nobody_opens_lets_go_after_three_stops(guest: Guest) -> None:
    add_gate(guest)
    guest.prompt()
    is_shown = [("Wait for the sign-off." in exchange.shown_text) for exchange in guest.model.exchanges]
    assert is_shown == [False, True, True, True]
    assert len(guest.read_alerts()) == 1


@pytest.mark.nightly
def test_a_gate_in_the_store_holds_until_a_person_opens_it(guest: Guest) -> None:
    gate = add_gate(guest)

    def script(request: Request) -> Reply:
        if "Wait for the sign-off." in request.new_text:
            guest.run_gatepost("gate", "resolve", gate, "--as", "husam")
        return DONE

    guest.model.script = script
    guest.prompt()
    blocked_exchange, *rest = guest.model.exchanges[1:]
    assert "Wait for the sign-off." in blocked_exchange.shown_text
    assert not any("Wait for the sign-off." in exchange.shown_text for exchange in rest)
    assert guest.read_alerts() == []


@pytest.mark.nightly
def test_a_session_gate_holds_until_the_agent_runs_the_command_it_was_told(guest: Guest) -> None:
    """The reason names the whole command: no program tells every command in which session it runs."""
    guest.run_gatepost("gate", "register", "tested", "--hint", "run the tests")
    commands: list[str] = []

    def script(request: Request) -> Reply:
        match = re.search(r"\S*gatepost gate mark tested --session [\w-]+", request.new_text)
        if match is None:
            return DONE
        commands.append(match[0])
        return Message(commands=[match[0]])

    guest.model.script = script
    guest.prompt()
    assert len(commands) == 1
    assert commands[0].startswith("/")
    assert len(guest.model.exchanges) == 3, "asked, told what to do, done"
    guest.prompt("And now this.", resume=True)
    assert len(guest.model.exchanges) == 4, "the mark stays"


@pytest.mark.nightly
def test_a_gate_before_tools_keeps_a_tool_from_running(guest: Guest) -> None:
    guest.run_gatepost("gate", "register", "careful", "--hook", "PreToolUse", "--hint", "look before you leap")
    guest.run_gatepost("hooks", "install", "--host", guest.program.host)
    guest.model.script = follow(Message(commands=["touch leapt"]))
    guest.prompt()
    assert not (guest.program.project / "leapt").exists()
    assert "look before you leap" in guest.model.exchanges[1].shown_text


@pytest.mark.nightly
@pytest.mark.parametrize("guest", [ClaudeCode, Codex], indirect=True)
def test_a_gate_that_nobody_opens_lets_a_helper_go_too(guest: Guest) -> None:
    guest.run_gatepost("gate", "register", "checked", "--hook", "SubagentStop", "--hint", "check it")
    guest.run_gatepost("hooks", "install", "--host", guest.program.host)

    def script(request: Request) -> Reply:
        return call_helper(request) if "Go ahead." in request.text else Message("I helped.")

    guest.model.script = script
    guest.prompt()
    helper_exchanges = [exchange for exchange in guest.model.exchanges if "Go ahead." not in exchange.request.text]
    assert [("check it" in exchange.shown_text) for exchange in helper_exchanges] == [False, True, True, True]


@pytest.mark.nightly
def test_an_inbox_that_is_never_empty_does_not_keep_it_for_ever(guest: Guest) -> None:
    def script(_: Request) -> Reply:
        guest.push(f"item {len(guest.model.exchanges)}.")
        return DONE

    guest.model.script = script
    guest.prompt()
    assert len(guest.model.exchanges) == 6, "the answer to the prompt, and five continuations"
    assert [guest.model.count_shown(f"item {number}.") for number in range(6)] == [1] * 5 + [0]
    guest.model.script = follow()
    guest.prompt("And now this.", resume=True)
    assert guest.model.count_shown("item 5.") == 1


@pytest.mark.nightly
def test_a_decision_holds_until_it_is_answered_and_the_answer_is_told_once(guest: Guest) -> None:
    ask = f"{GATEPOST} decision ask 'Ship it?' --option ship=Ship --option wait=Wait --of husam --as ann"
    steps = iter([Message(commands=[ask])])

    def script(request: Request) -> Reply:
        if "not answered yet" in request.new_text:
            decision = re.search(r"dec_[0-9a-f]+", request.text)
            assert decision is not None
            guest.run_gatepost("decision", "answer", decision[0], "ship", "--as", "husam")
        return next(steps, DONE)

    guest.model.script = script
    guest.prompt()
    blocked_numbers = [
        number for number, exchange in enumerate(guest.model.exchanges) if "not answered yet" in exchange.shown_text
    ]
    answered_numbers = [
        number for number, exchange in enumerate(guest.model.exchanges) if "answered by" in exchange.shown_text
    ]
    assert (blocked_numbers, answered_numbers) == ([2], [3])
    assert (
        guest.model.count_shown('answered by husam: \\"Ship\\"') + guest.model.count_shown('answered by husam: "Ship"')
        == 1
    )
