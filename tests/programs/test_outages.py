"""
A failed turn loses nothing: what a hook printed counts as delivered once a model has answered it. Until then the item
is shown again; a repeat is allowed, a loss is not.
"""

import json
import signal
import threading

import pytest

from tests.programs.guest import Guest
from tests.programs.model import DONE, Disconnect, Failure, Reply, follow
from tests.programs.protocols import Message, Request

CUT = pytest.param(Disconnect(), id="disconnect", marks=pytest.mark.nightly)
OUTAGES = pytest.mark.parametrize("outage", [pytest.param(Failure(500), id="500"), CUT])


def check_that_all_was_shown(guest: Guest, *texts: str) -> None:
    assert [text for text in texts if guest.model.count_shown(text) == 0] == []
    counts = guest.count_items()
    assert (counts["pending"], counts["claimed"], counts["delivered"]) == (0, 0, len(texts))


@OUTAGES
def test_an_item_of_a_turn_without_an_answer_is_shown_by_the_next(guest: Guest, outage: Reply) -> None:
    guest.push("before the outage")
    guest.model.script = lambda _: outage
    guest.program.run("Go ahead.")
    assert guest.model.exchanges, "the item was in a request that failed"
    assert guest.model.count_shown("before the outage") == 0
    assert guest.count_items()["delivered"] == 0
    guest.push("after the outage")
    guest.model.script = follow()
    guest.prompt("Go on.", resume=True)
    check_that_all_was_shown(guest, "before the outage", "after the outage")


def test_an_item_that_a_killed_program_was_shown_is_shown_by_a_new_session(guest: Guest) -> None:
    asked_event, resume_event = threading.Event(), threading.Event()

    def script(_: Request) -> Reply:
        asked_event.set()
        resume_event.wait()
        return Disconnect()

    guest.push("before the kill")
    guest.model.script = script
    with guest.program.start("Go ahead.") as process:
        asked_event.wait()
        process.kill()
        process.communicate()
    resume_event.set()
    guest.model.script = follow()
    guest.prompt("Go on.")
    check_that_all_was_shown(guest, "before the kill")


@pytest.mark.nightly
@OUTAGES
def test_an_item_after_a_tool_survives_an_outage(guest: Guest, outage: Reply) -> None:
    def script(_: Request) -> Reply:
        if guest.model.exchanges:
            return outage
        guest.push("after the tool")
        return Message(commands=["true"])

    guest.push("before the tool")
    guest.model.script = script
    guest.program.run("Go ahead.")
    guest.model.script = follow()
    guest.prompt("Go on.", resume=True)
    check_that_all_was_shown(guest, "before the tool", "after the tool")


@pytest.mark.nightly
def test_an_item_at_the_stop_survives_an_outage(guest: Guest) -> None:
    def script(_: Request) -> Reply:
        if guest.model.exchanges:
            return Failure(500)
        guest.push("at the stop")
        return DONE

    guest.model.script = script
    guest.program.run("Go ahead.")
    guest.model.script = follow()
    guest.prompt("Go on.", resume=True)
    check_that_all_was_shown(guest, "at the stop")


@pytest.mark.nightly
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_item_of_an_interrupted_turn_is_shown_again(guest: Guest, how: signal.Signals) -> None:
    asked_event, resume_event = threading.Event(), threading.Event()

    def script(_: Request) -> Reply:
        if not guest.model.exchanges:
            guest.push("after the tool")
            return Message(commands=["true"])
        asked_event.set()
        resume_event.wait()
        return Disconnect()

    guest.model.script = script
    with guest.program.start("Go ahead.") as process:
        asked_event.wait()
        process.send_signal(how)
        process.communicate()
    resume_event.set()
    guest.model.script = follow()
    guest.prompt("Go on.", resume=True)
    check_that_all_was_shown(guest, "after the tool")


@pytest.mark.nightly
def test_an_item_with_a_prompt_that_another_hook_blocks_is_shown_with_the_next(guest: Guest) -> None:
    is_gemini = guest.program.host == "gemini"
    veto = json.dumps({"decision": "deny" if is_gemini else "block", "reason": "not now"})
    hook = guest.program.project / "veto.sh"
    hook.write_text(f"test -e vetoed || {{ touch vetoed; echo '{veto}'; }}\n")
    settings = json.loads(guest.program.settings.read_text())
    event = "BeforeAgent" if is_gemini else "UserPromptSubmit"
    settings["hooks"][event].append({"hooks": [{"type": "command", "command": f"sh {hook}"}]})
    guest.program.settings.write_text(json.dumps(settings))
    guest.push("with the blocked prompt")
    guest.program.run("Go ahead.")
    assert guest.model.exchanges == []
    assert guest.count_items()["delivered"] == 0
    guest.prompt("Go on.", resume=True)
    check_that_all_was_shown(guest, "with the blocked prompt")
