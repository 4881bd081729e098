"""What reaches the model of a real program: each item, once, wherever the program shows what a hook prints."""

import os
from pathlib import Path

import pytest

from tests.programs.guest import GATEPOST, Guest
from tests.programs.model import DONE, Reply, call_helper, follow
from tests.programs.programs import ClaudeCode, Codex, GeminiCli
from tests.programs.protocols import Message, Request
from tests.support.gateways.gateway_process import run_gateway_process

PLUGIN = Path(__file__).parents[2] / "plugins/claude-code"
#: six different commands: Gemini CLI ends a turn that repeats a call
SIX_TOOLS = [Message(commands=[f"echo {number}"]) for number in range(6)]


def check_each_item_is_shown_once(guest: Guest) -> None:
    steps = iter(
        [
            ("after a tool", Message(commands=["true"])),
            ("after a failed tool", Message(commands=["exit 3"])),
            ("at the stop", DONE),
        ]
    )

    def script(_: Request) -> Reply:
        text, reply = next(steps, ("", DONE))
        if text:
            guest.push(text)
        return reply

    guest.push("at the start")
    guest.model.script = script
    guest.prompt()
    guest.push("after a resume")
    guest.prompt("Go on.", resume=True)
    texts = ["at the start", "after a tool", "after a failed tool", "at the stop", "after a resume"]
    shown_in = [
        [index for index, exchange in enumerate(guest.model.exchanges) if text in exchange.shown_text] for text in texts
    ]
    # Gemini CLI may drop what is printed after a tool, so what comes during its turn is shown at the stop.
    is_gemini = isinstance(guest.program, GeminiCli)
    assert shown_in == ([[0], [3], [3], [3], [4]] if is_gemini else [[0], [1], [2], [3], [4]])
    assert [guest.model.count_shown(text) for text in texts] == [1] * 5
    counts = guest.count_items()
    assert (counts["delivered"], counts["pending"], counts["claimed"]) == (5, 0, 0)


def test_each_item_reaches_the_model_once(guest: Guest) -> None:
    """At the start, after a tool, after a tool that fails, at the stop, and after a resume."""
    check_each_item_is_shown_once(guest)


@pytest.mark.nightly
def test_each_item_reaches_the_model_once_through_a_gateway(guest: Guest) -> None:
    with run_gateway_process(guest.home):
        check_each_item_is_shown_once(guest)


@pytest.mark.parametrize("guest", [ClaudeCode], indirect=True)
def test_each_item_reaches_the_model_once_with_the_plugin_beside_the_hooks(guest: Guest) -> None:
    """Claude Code then runs two hooks for each event, side by side."""
    assert isinstance(guest.program, ClaudeCode)
    guest.program.plugin = PLUGIN
    guest.program.environ["PATH"] = os.pathsep.join([str(GATEPOST.parent), guest.program.environ["PATH"]])
    check_each_item_is_shown_once(guest)


@pytest.mark.nightly
@pytest.mark.parametrize("guest", [ClaudeCode], indirect=True)
def test_an_item_between_two_prompts_comes_with_the_second(guest: Guest) -> None:
    assert isinstance(guest.program, ClaudeCode)
    answers = guest.program.converse(["First.", "Second."])
    next(answers)
    guest.push("between the prompts")
    assert list(answers) == ["Done."]
    assert [exchange.shown_text.count("between the prompts") for exchange in guest.model.exchanges] == [0, 1]


@pytest.mark.nightly
def test_items_after_parallel_tools_reach_the_model_once(guest: Guest) -> None:
    def script(request: Request) -> Reply:
        if guest.model.exchanges:
            return DONE
        guest.push_many(f"item {number}." for number in range(30))
        return Message(commands=["true", "true"])

    guest.model.script = script
    guest.prompt()
    assert [guest.model.count_shown(f"item {number}.") for number in range(30)] == [1] * 30


@pytest.mark.nightly
def test_a_hundred_items_are_shown_in_six_prompts(guest: Guest) -> None:
    """More than one hook can show; the rest is announced, and comes."""
    items = [f"item {number}." for number in range(100)]
    prompts = [f"Prompt {number}." for number in range(6)]
    guest.push_many(items)
    guest.model.script = follow(*(reply for _ in prompts for reply in (Message(commands=["true"]), DONE)))
    if isinstance(guest.program, ClaudeCode):  # the others have no mode that takes several prompts without a terminal
        assert len(list(guest.program.converse(prompts))) == len(prompts)
    else:
        for number, prompt in enumerate(prompts):
            guest.prompt(prompt, resume=number > 0)
    assert {item: guest.model.count_shown(item) for item in items} == dict.fromkeys(items, 1)
    assert guest.count_items()["pending"] == 0


@pytest.mark.nightly
def test_a_hundred_items_are_shown_in_one_turn_with_six_tools(guest: Guest) -> None:
    """Every hook that can show something looks for what is left over, not only the first."""
    items = [f"item {number}." for number in range(100)]
    guest.push_many(items)
    guest.model.script = follow(*SIX_TOOLS)
    guest.prompt()
    assert {item: guest.model.count_shown(item) for item in items} == dict.fromkeys(items, 1)
    assert guest.count_items()["pending"] == 0


@pytest.mark.nightly
@pytest.mark.parametrize("letter", ["会", "🎉"], ids=["japanese", "emoji"])
def test_long_items_in_any_script_are_shown_whole(guest: Guest, letter: str) -> None:
    """No program moves what a hook prints to a file, however its limit counts."""
    items = [f"item {number}: {letter * 700}" for number in range(12)]
    guest.push_many(items)
    guest.model.script = follow(*SIX_TOOLS)
    guest.prompt()
    assert [guest.model.count_shown(item) for item in items] == [1] * 12


@pytest.mark.nightly
@pytest.mark.parametrize("guest", [ClaudeCode, Codex], indirect=True)  # Gemini's hooks do not say who runs a tool
def test_a_helper_is_not_shown_the_inbox(guest: Guest) -> None:
    """A helper that the agent starts has hooks of its own; what waits is for the agent."""
    helper_requests = []

    def script(request: Request) -> Reply:
        if "Go ahead." not in request.text:
            helper_requests.append(request)
            if len(helper_requests) > 1:
                return Message("I helped.")
            guest.push("for the agent")
            return Message(commands=["true"])
        return call_helper(request)

    guest.model.script = script
    guest.prompt()
    assert len(helper_requests) == 2
    assert not any("for the agent" in request.text for request in helper_requests)
    assert guest.model.count_shown("for the agent") == 1
