"""
Gemini CLI in a terminal is woken as `gatepost hooks install --host gemini --wake` says: with two experimental settings,
and a command that the model keeps running in the background.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs.guest import Guest
from tests.programs.model import DONE, Reply, ScriptedModel
from tests.programs.programs import GeminiCli
from tests.programs.protocols import Call, Message, Request
from tests.programs.terminal import Terminal
from tests.programs.waking import WakingGuest
from tests.support.gateways.gateway_process import run_gateway_process


class WakingGemini(WakingGuest):
    title = "Gemini CLI"
    program_class = GeminiCli

    def open(self, *options: str) -> Terminal:
        terminal = self._open_terminal("--approval-mode", "yolo", *options)
        terminal.wait_for("Type your message")
        return terminal


@pytest.fixture
def ann(programs: Path, model: ScriptedModel, tmp_path: Path) -> Iterator[WakingGuest]:
    program = GeminiCli(tmp_path / "user", tmp_path / "project", model.url)
    waking = WakingGemini(Guest.create(program, model, tmp_path / "home"), "idle")
    with waking.resources:
        yield waking
    waking.check_nothing_is_left()


@pytest.mark.nightly
def test_it_is_woken_by_a_command_that_its_model_runs(ann: WakingGuest) -> None:
    guest = ann.guest
    note = json.loads(guest.run_gatepost("hooks", "install", "--host", "gemini", "--wake", "--json"))["note"]
    settings = json.loads(guest.program.settings.read_text())
    for text in re.findall(r'"\w+": \{+.*?\}+(?= )', note):  # what the note says is put in, as it says it
        settings = merge(settings, json.loads(f"{{{text}}}"))
    guest.program.settings.write_text(json.dumps(settings))
    match = re.search(r"when it has ended: (.+?)\"", note)
    assert match is not None, note
    call = Call("run_shell_command", {"command": match[1], "is_background": True})

    def script(request: Request) -> Reply:
        is_wanted = "Go ahead." in request.new_text or "items are pending" in request.new_text
        return Message(calls=[call]) if is_wanted else DONE

    guest.model.script = script
    with run_gateway_process(guest.home):
        ann.prompt(ann.open())
        for count, text in enumerate(("item one", "item two"), start=1):
            ann.wait_until_idle()
            guest.push(text)
            ann.wait_for_requests(2 + 2 * count)
        ann.check("item one", "item two", requests=6)
        ann.wait_for_state("proved")


def merge(settings: dict[str, object], addition: dict[str, object]) -> dict[str, object]:
    merged = dict(settings)
    for name, value in addition.items():
        old = merged.get(name)
        merged[name] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged
