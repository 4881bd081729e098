"""What reaches the model in OpenCode, through our plugin: each item once, and delivered when the model has replied."""

from pathlib import Path

import pytest

from tests.programs.guest import Guest
from tests.programs.model import DONE, Failure, Reply, ScriptedModel, follow
from tests.programs.programs import OpenCode
from tests.programs.protocols import Message, Request


@pytest.fixture
def guest(programs: Path, model: ScriptedModel, tmp_path: Path) -> Guest:
    if not list(programs.glob("node_modules/opencode-linux-x64/bin/opencode")):
        pytest.skip("NOT CHECKED: there is no OpenCode for this machine")
    return Guest.create(OpenCode(tmp_path / "user", tmp_path / "project", model.url), model, tmp_path / "home")


def test_each_item_reaches_the_model_once(guest: Guest) -> None:
    """At the start and after a tool; what comes at the stop of `opencode run` is shown after a resume."""
    steps = iter([("after a tool", Message(commands=["true"])), ("at the stop", DONE)])

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
    texts = ["at the start", "after a tool", "at the stop", "after a resume"]
    shown_in = [
        [index for index, exchange in enumerate(guest.model.exchanges) if text in exchange.shown_text] for text in texts
    ]
    assert shown_in == [[0], [1], [2], [2]]
    assert [guest.model.count_shown(text) for text in texts] == [1] * 4
    counts = guest.count_items()
    assert (counts["delivered"], counts["pending"], counts["claimed"]) == (4, 0, 0)


def test_an_item_is_not_delivered_if_the_model_fails(guest: Guest) -> None:
    guest.push("kept")
    guest.model.script = follow(Failure(400))
    guest.program.run("Go ahead.")
    counts = guest.count_items()
    assert (counts["delivered"], counts["pending"], counts["claimed"]) == (0, 1, 0)
    guest.prompt("Go on.", resume=True)
    # OpenCode keeps the prompt that failed, with the text that came with it
    assert guest.model.exchanges[-1].request.new_text.count('husam (human): "kept"') == 2
    assert guest.count_items()["delivered"] == 1


def test_a_gate_refuses_a_tool(guest: Guest) -> None:
    guest.run_gatepost("gate", "register", "review", "--hook", "PreToolUse", "--hint", "Ask for a review first.")
    guest.run_gatepost("hooks", "install", "--host", "opencode")
    guest.model.script = follow(Message(commands=["touch forbidden"]))
    guest.prompt()
    assert guest.model.count_shown("Ask for a review first.") == 1
    assert not (guest.program.project / "forbidden").exists()
