"""A decision that Claude Code follows as a task: its model is shown the answer once, and its reply proves it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs.guest import Guest
from tests.programs.model import DONE, ScriptedModel, follow
from tests.programs.programs import ClaudeCode
from tests.programs.protocols import Call, Message
from tests.programs.waking import WakingClaude, wait_until
from tests.support.gateways.gateway_process import run_gateway_process

pytestmark = pytest.mark.nightly

_ARGUMENTS = {"question": "Ship it?", "of": ["husam"], "free_text": True}


@pytest.fixture
def ann(programs: Path, model: ScriptedModel, tmp_path: Path) -> Iterator[WakingClaude]:
    program = ClaudeCode(tmp_path / "user", tmp_path / "project", model.url)
    guest = Guest.create(program, model, tmp_path / "home")
    waking = WakingClaude(guest, "")
    guest.run_gatepost("mcp", "install", "--host", "claude", "--as", "ann")
    with waking.resources, run_gateway_process(guest.home):
        yield waking
    waking.check_nothing_is_left()


def test_the_answer_is_shown_once(ann: WakingClaude) -> None:
    model = ann.guest.model
    asking = Message(calls=[Call("mcp__gatepost__ask_decision", _ARGUMENTS)])
    model.script = follow(DONE, asking)
    terminal = ann.open("--allowedTools", "mcp__gatepost__ask_decision")
    ann.wait_until_idle()
    ann.prompt(terminal)  # the server is connected meanwhile
    ann.wait_until_idle()
    ann.prompt(terminal)
    ann.wait_for_requests(3)
    ann.wait_until_idle()
    [decision] = json.loads(ann.guest.run_gatepost("decision", "list", "--json"))
    ann.guest.run_gatepost("decision", "answer", decision["id"], "--text", "with the new logo", "--as", "husam")
    ann.wait_for_shown("with the new logo")
    wait_until(lambda: ann.guest.count_items()["delivered"] == 1, f"it is not proved: {ann.guest.count_items()}")
    ann.wait_until_idle()
    assert not model.errors, model.errors
    assert model.count_shown("with the new logo") == 1, [exchange.shown_text[-600:] for exchange in model.exchanges]
    assert len(model.exchanges) == 4
