"""
An agent in a terminal of Claude Code, Codex or OpenCode is woken for its inbox: each item is shown and proved once, the
model is asked for nothing without an item, and no process is left behind.

A test is a row of the table in docs/howto/waking.md, and runs in each program that has it (`waking_table.py`).
"""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs.guest import Guest
from tests.programs.model import DONE, Reply, ScriptedModel
from tests.programs.programs import OpenCode
from tests.programs.protocols import Request
from tests.programs.terminal import ENTER, Terminal
from tests.programs.waking import KINDS, PERMITTED, MovableClock, WakingClaude, WakingDaemon, WakingGuest, wait_until
from tests.programs.waking_table import MISSING
from tests.support.gateways.gateway_process import GatewayProcess, run_gateway_process

#: what every day shows that a program can be woken; the other rows are for the night
_DAILY = ("idle", "never prompted")


def row(situation: str) -> pytest.MarkDecorator:
    """Run a test in each program that has this row of the table; by day only those of `_DAILY`."""
    kinds = [kind for kind, guest in KINDS.items() if (guest.title, situation) not in MISSING]
    return pytest.mark.parametrize(
        "ann",
        [
            pytest.param((kind, situation), id=kind, marks=() if situation in _DAILY else pytest.mark.nightly)
            for kind in kinds
        ],
        indirect=True,
    )


@pytest.fixture
def ann(request: pytest.FixtureRequest, programs: Path, model: ScriptedModel, tmp_path: Path) -> Iterator[WakingGuest]:
    kind, situation = request.param
    waking_class = KINDS[kind]
    if waking_class.program_class is OpenCode and not list(
        programs.glob("node_modules/opencode-linux-x64/bin/opencode")
    ):
        pytest.skip("NOT CHECKED: there is no OpenCode for this machine")
    program = waking_class.program_class(tmp_path / "user", tmp_path / "project", model.url)
    waking = waking_class(Guest.create(program, model, tmp_path / "home"), situation)
    with waking.resources:
        yield waking
        model_requests = len(model.exchanges)
    waking.check_nothing_is_left()
    assert len(model.exchanges) == model_requests


@pytest.fixture
def gateway(ann: WakingGuest) -> Iterator[GatewayProcess]:
    with run_gateway_process(ann.guest.home) as process:
        yield process


def interrupt_turn(ann: WakingGuest, terminal: Terminal) -> None:
    """Prompt the agent, and interrupt it before its model has answered."""
    asked, resume = threading.Event(), threading.Event()

    def script(_: Request) -> Reply:
        if not asked.is_set():
            asked.set()
            resume.wait()
        return DONE

    ann.guest.model.script = script
    ann.prompt(terminal)
    assert asked.wait(60)
    ann.interrupt(terminal)
    resume.set()
    wait_until(lambda: len(ann.guest.model.exchanges) == ann.start_requests + 1, "the model has not answered")


@row("idle")
def test_an_idle_terminal_again_and_again(ann: WakingGuest, gateway: GatewayProcess) -> None:
    ann.start()
    texts = ["item one", "item two", "item three"]
    for text in texts:
        ann.wait_until_idle()
        ann.guest.push(text)
        ann.wait_for_shown(text)
    ann.check(*texts, requests=ann.start_requests + 3)
    ann.wait_for_state("proved")


@row("idle, two items at once")
def test_two_items_at_once(ann: WakingGuest, gateway: GatewayProcess) -> None:
    ann.start()
    ann.guest.push_many(["one of two", "two of two"])
    ann.check("one of two", "two of two", requests=ann.start_requests + 1)


@row("idle, without a gateway")
def test_an_idle_terminal_without_a_gateway(ann: WakingGuest) -> None:
    ann.start()
    ann.guest.push("into the store")
    ann.check("into the store", requests=ann.start_requests + 1)


@row("idle for an hour")
def test_an_hour_without_an_item(ann: WakingGuest, clock: MovableClock) -> None:
    """The model is asked for nothing, and what waits for the session is the same process as before."""
    with run_gateway_process(ann.guest.home, **clock.environ):
        ann.guest.run_gatepost("agent", "add", "bob")
        ann.guest.run_gatepost("plan", "set", "--owner", "bob", "--name", "late", "--after", "59m", "It is late.")
        ann.start()
        waiters = ann.list_waiters()
        clock.move(3_600)
        wait_until(lambda: ann.guest.count_items("bob")["pending"] == 1, "the gateway has done nothing in the hour")
        ann.wait_until_idle()
        assert ann.list_waiters() == waiters
        assert len(ann.guest.model.exchanges) == ann.start_requests
        ann.guest.push("after an hour")
        ann.check("after an hour", requests=ann.start_requests + 1)


@row("never prompted")
def test_a_terminal_that_was_never_prompted(ann: WakingGuest, gateway: GatewayProcess) -> None:
    ann.start()
    assert ann.guest.model.exchanges == []
    ann.guest.push("never prompted")
    ann.check("never prompted", requests=1)


@row("after Esc")
def test_after_escape(ann: WakingGuest, gateway: GatewayProcess) -> None:
    """Where no hook says that the agent is idle, it takes half a minute."""
    terminal = ann.start()
    interrupt_turn(ann, terminal)
    ann.guest.push("after escape")
    ann.check("after escape", requests=ann.start_requests + 2)


@pytest.mark.nightly
@pytest.mark.parametrize("ann", [("nodaemon", "after Esc")], ids=["nodaemon"], indirect=True)
def test_after_escape_codex_takes_nothing_from_its_queue(ann: WakingGuest, gateway: GatewayProcess) -> None:
    """The next prompt shows the item. What was queued comes after it, and the model is not asked for that."""
    terminal = ann.start()
    interrupt_turn(ann, terminal)
    ann.guest.push("after escape")
    ann.wait_for_state("unproved")
    assert len(ann.guest.model.exchanges) == ann.start_requests + 1
    ann.prompt(terminal, "Go on.")
    ann.check("after escape", requests=ann.start_requests + 2)
    ann.wait_until_idle()


@row("after /clear")
def test_after_clear(ann: WakingGuest, gateway: GatewayProcess) -> None:
    """The new session is woken, never the old one, which nobody sees."""
    terminal = ann.start()
    [old_session] = ann.read_sessions()
    ann.clear(terminal)
    requests = ann.start_requests
    if not ann.is_known_at_start:
        if isinstance(ann, WakingDaemon):
            ann.wait_for_state("lost")
        ann.prompt(terminal, "Something else.")
        requests += 1

    def has_new_session() -> bool:
        sessions = [session for session in ann.read_sessions() if session["id"] != old_session["id"]]
        return [(session["state"], session["reachability"]["state"]) for session in sessions] == [("idle", "armed")]

    wait_until(has_new_session, "no new session can be woken")
    ann.guest.push("after clear")
    ann.check("after clear", requests=requests + 1)
    shown = ann.guest.model.exchanges[-1].request
    assert "Go ahead." not in shown.text


@row("a draft in the box")
def test_a_draft_stays(ann: WakingGuest, gateway: GatewayProcess) -> None:
    terminal = ann.start()
    ann.type(terminal, "an unsent draft")
    ann.guest.push("beside a draft")
    ann.check("beside a draft", requests=ann.start_requests + 1)
    ann.wait_until_idle()
    terminal.type(ENTER)
    ann.wait_for_requests(ann.start_requests + 2)
    assert "an unsent draft" in ann.guest.model.exchanges[-1].request.new_text


@row("an open permission prompt")
def test_an_open_permission_prompt_stays(ann: WakingGuest, gateway: GatewayProcess) -> None:
    """A wake waits behind the prompt. The hook of the tool shows the item first, so the model is not asked again."""
    ann.configure_permissions()
    terminal = ann.start()
    is_prompted = threading.Event()

    def script(request: Request) -> Reply:
        is_prompted.wait()  # no Enter of the prompt is left, which would answer the question
        return DONE if PERMITTED in request.text else ann.ask_permission()

    ann.guest.model.script = script
    place = terminal.mark()
    ann.prompt(terminal)
    is_prompted.set()
    ann.wait_for_question(terminal, place)
    ann.guest.push("behind a question")
    if ann.fires_while_busy:
        wait_until(lambda: not ann.list_waiters(), "the waiter did not fire")
    assert not (ann.guest.program.project / "allowed").exists()
    ann.permit(terminal)
    ann.check("behind a question", requests=ann.start_requests + 2)
    assert (ann.guest.program.project / "allowed").exists()
    ann.wait_until_idle()


@row("in the middle of a turn")
def test_in_the_middle_of_a_turn(ann: WakingGuest, gateway: GatewayProcess) -> None:
    """The hook of the stop shows the item; there is no turn besides."""
    terminal = ann.start()
    start_requests = ann.start_requests

    def script(_: Request) -> Reply:
        if len(ann.guest.model.exchanges) == start_requests:
            ann.guest.push("in the middle")
        return DONE

    ann.guest.model.script = script
    ann.prompt(terminal)
    ann.check("in the middle", requests=start_requests + 2)
    ann.wait_until_idle()
    assert len(ann.guest.model.exchanges) == start_requests + 2


@row("in the background (--bg)")
def test_in_the_background(ann: WakingGuest, gateway: GatewayProcess) -> None:
    assert isinstance(ann, WakingClaude)
    session = ann.run_in_background("Go ahead.")
    ann.wait_for_requests(1)
    ann.wait_until_idle()
    ann.guest.push("in the background")
    ann.check("in the background", requests=2)
    ann.stop_background(session)


@row("without a terminal (-p)")
def test_without_a_terminal_nothing_waits(ann: WakingGuest, gateway: GatewayProcess) -> None:
    """It ends with its prompt, and would never end if it was kept waiting."""
    ann.guest.push("for one prompt")
    ann.guest.prompt()
    ann.check("for one prompt", requests=1)
    ann.check_nothing_is_left()
    ann.wait_for_state("lost", "unproved")


@row("resumed")
def test_a_session_that_is_resumed(ann: WakingGuest, gateway: GatewayProcess) -> None:
    terminal = ann.start()
    requests = ann.start_requests
    if ann.is_known_at_start:  # a session without a conversation is not resumed
        ann.prompt(terminal)
        requests += 1
        ann.wait_until_idle()
    [session] = ann.read_sessions()
    ann.quit(terminal)
    ann.wait_for_state("lost")
    terminal = ann.open(*ann.resume_words)
    if not ann.is_known_at_start:
        ann.prompt(terminal, "Go on.")
        requests += 1
    ann.wait_until_idle()
    assert [each["id"] for each in ann.read_sessions()] == [session["id"]]
    ann.guest.push("after a resume")
    ann.check("after a resume", requests=requests + 1)


@row("two terminals of one agent")
def test_one_of_two_terminals_is_woken(ann: WakingGuest, gateway: GatewayProcess) -> None:
    """They share an inbox. The one that was active last is woken, and the other one if that has ended."""
    first = ann.start()
    ann.prompt(first, "I am the first.")
    ann.wait_until_idle()
    second = ann.open()
    ann.prompt(second, "I am the second.")
    ann.wait_until_idle(2)
    requests = ann.start_requests + 2
    ann.guest.push("for the second")
    ann.wait_for_shown("for the second")
    ann.wait_until_idle(2)
    second.kill()
    ann.wait_until_idle(1)
    ann.guest.push("for the first")
    ann.check("for the second", "for the first", requests=requests + 2)
    texts = [exchange.request.text for exchange in ann.guest.model.exchanges]
    assert ["I am the first." in text for text in texts[-2:]] == [False, True]


@row("the gateway is killed, and started again")
def test_a_gateway_that_is_killed_and_started_again(ann: WakingGuest, gateway: GatewayProcess) -> None:
    ann.start()
    gateway.kill()
    ann.guest.push("without a gateway")
    if ann.has_waiter:
        ann.wait_for_shown("without a gateway")
        ann.wait_until_idle()
    gateway.start()
    ann.wait_for_shown("without a gateway")
    ann.wait_until_idle()
    ann.guest.push("with it again")
    ann.check("without a gateway", "with it again", requests=ann.start_requests + 2)


@row("the gateway is away for two minutes")
def test_a_gateway_that_is_away_for_two_minutes(ann: WakingGuest, clock: MovableClock) -> None:
    with run_gateway_process(ann.guest.home, **clock.environ) as gateway:
        ann.start()
        gateway.kill()
        ann.guest.push("while it is away")
        if ann.has_waiter:
            ann.wait_for_shown("while it is away")
        clock.move(120)
        gateway.start()
        ann.wait_for_shown("while it is away")
        ann.wait_until_idle()
        ann.guest.push("when it is back")
        ann.check("while it is away", "when it is back", requests=ann.start_requests + 2)


@row("the program is killed, and started again")
def test_a_program_that_is_killed(ann: WakingGuest, gateway: GatewayProcess) -> None:
    """It is lost, its waiter ends, and what comes meanwhile is shown in the next session."""
    terminal = ann.start()
    terminal.kill()
    ann.wait_for_state("lost")
    ann.check_nothing_is_left()
    ann.guest.push("for the next session")
    terminal = ann.open()
    ann.prompt(terminal)
    ann.check("for the next session", requests=ann.start_requests + 1)


@row("the clock is set back by an hour")
def test_a_clock_that_is_set_back(ann: WakingGuest, clock: MovableClock) -> None:
    with run_gateway_process(ann.guest.home, **clock.environ):
        ann.start()
        ann.guest.push("item before the change")
        ann.wait_for_shown("item before the change")
        ann.wait_until_idle()
        clock.move(-3_600)
        ann.guest.push("item after the change")
        ann.check("item before the change", "item after the change", requests=ann.start_requests + 2)


@pytest.fixture
def clock(ann: WakingGuest, tmp_path: Path) -> MovableClock:
    """A clock of all processes of Gatepost that are started from now on."""
    clock = MovableClock(tmp_path / "clock")
    ann.guest.program.environ |= clock.environ
    return clock


@row("idle, without a gateway")
def test_a_waiter_that_is_killed_is_not_taken_for_one(ann: WakingGuest) -> None:
    terminal = ann.start()
    for pid in ann.list_waiters():
        os.kill(pid, signal.SIGKILL)
    ann.wait_for_state("lost")
    ann.prompt(terminal)
    ann.wait_for_state("armed")
