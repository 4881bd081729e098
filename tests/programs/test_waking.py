"""
Claude Code in a terminal is woken for its inbox: each item is shown and proved once, the model is asked for nothing
without an item, and no process is left behind.
"""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from tests.programs.guest import Guest
from tests.programs.model import DONE, Reply
from tests.programs.programs import ClaudeCode
from tests.programs.protocols import Message, Request
from tests.programs.terminal import ENTER, ESCAPE, Terminal
from tests.programs.waking import WakingGuest, wait_until, write_table
from tests.support.gateways.gateway_process import GatewayProcess, run_gateway_process

pytestmark = pytest.mark.parametrize("guest", [ClaudeCode], indirect=True)


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    yield
    write_table()


@pytest.fixture
def ann(guest: Guest) -> Iterator[WakingGuest]:
    waking = WakingGuest(guest)
    yield waking
    waking.check_nothing_is_left()


@pytest.fixture
def gateway(ann: WakingGuest) -> Iterator[GatewayProcess]:
    ann.mode = "gateway"
    with run_gateway_process(ann.guest.home) as process:
        yield process


def check_never_prompted(ann: WakingGuest) -> None:
    with ann.open():
        ann.wait_for_state("armed")
        assert ann.guest.model.exchanges == []
        ann.guest.push("never prompted")
        ann.check("never prompted", "never prompted", requests=1)
        ann.wait_for_state("proved")
        assert len(ann.list_waiters()) == 1
    ann.wait_for_state("lost")


def test_a_terminal_that_was_never_prompted(ann: WakingGuest) -> None:
    check_never_prompted(ann)


def test_a_terminal_that_was_never_prompted_with_a_gateway(ann: WakingGuest, gateway: GatewayProcess) -> None:
    check_never_prompted(ann)


def test_an_idle_terminal_again_and_again(ann: WakingGuest, gateway: GatewayProcess) -> None:
    with ann.open() as terminal:
        ann.wait_for_state("armed")
        ann.prompt(terminal)
        ann.wait_for_requests(1)
        texts = ["item one", "item two", "item three"]
        for count, text in enumerate(texts):
            ann.wait_until_idle()
            ann.guest.push(text)
            ann.wait_for_requests(count + 2)
        ann.check("idle", *texts, requests=4)


def test_two_items_at_once(ann: WakingGuest) -> None:
    with ann.open():
        ann.wait_for_state("armed")
        ann.guest.push_many(["one of two", "two of two"])
        ann.check("idle, two items at once", "one of two", "two of two", requests=1)


@pytest.mark.nightly
def test_after_escape(ann: WakingGuest, gateway: GatewayProcess) -> None:
    """No hook says that the agent is idle, so it takes half a minute."""
    asked, resume = threading.Event(), threading.Event()

    def script(_: Request) -> Reply:
        if not asked.is_set():
            asked.set()
            resume.wait()
        return DONE

    ann.guest.model.script = script
    with ann.open() as terminal:
        ann.wait_for_state("armed")
        ann.prompt(terminal)
        assert asked.wait(60)
        place = terminal.mark()
        terminal.type(ESCAPE)
        terminal.wait_for("Go ahead.", after=place)  # it puts the prompt back into the box
        resume.set()
        ann.guest.push("after escape")
        ann.check("after Esc", "after escape", requests=2)


def test_after_clear(ann: WakingGuest, gateway: GatewayProcess) -> None:
    with ann.open() as terminal:
        ann.wait_for_state("armed")
        [session] = ann.read_agent()["sessions"]
        ann.prompt(terminal, "/clear ")
        wait_until(
            lambda: [one["id"] != session["id"] for one in ann.read_agent()["sessions"]] == [True], "no new session"
        )
        ann.wait_until_idle()
        ann.guest.push("after clear")
        ann.check("after /clear", "after clear", requests=1)
        wait_until(lambda: len(ann.list_waiters()) == 1, "the waiter of the old session is left")


def test_a_draft_stays(ann: WakingGuest, gateway: GatewayProcess) -> None:
    with ann.open() as terminal:
        ann.wait_for_state("armed")
        place = terminal.mark()
        terminal.type("an unsent draft")
        terminal.wait_for("an unsent draft", after=place)
        ann.guest.push("beside a draft")
        ann.check("a draft in the box", "beside a draft", requests=1)
        ann.wait_until_idle()
        terminal.type(ENTER)
        ann.wait_for_requests(2)
        assert "an unsent draft" in ann.guest.model.exchanges[1].request.new_text


@pytest.mark.nightly
def test_an_open_permission_prompt_stays(ann: WakingGuest, gateway: GatewayProcess) -> None:
    """The wake waits behind the prompt. The hook of the tool shows the item first, so the model is not asked again."""
    ann.guest.model.script = lambda _: DONE if len(ann.guest.model.exchanges) else Message(commands=["touch allowed"])
    with ann.open() as terminal:
        ann.wait_for_state("armed")
        ann.prompt(terminal)
        terminal.wait_for("Do you want to proceed?")
        ann.guest.push("behind a question")
        # The waiter fires after half a minute, although the session is not idle.
        wait_until(lambda: not ann.list_waiters(), "the waiter did not fire")
        assert not (ann.guest.program.project / "allowed").exists()
        terminal.type(ENTER)
        ann.check("an open permission prompt", "behind a question", requests=2)
        ann.wait_until_idle()


def test_in_the_middle_of_a_turn(ann: WakingGuest, gateway: GatewayProcess) -> None:
    """The hook of the stop shows the item; there is no turn besides."""

    def script(_: Request) -> Reply:
        if not ann.guest.model.exchanges:
            ann.guest.push("in the middle")
        return DONE

    ann.guest.model.script = script
    with ann.open() as terminal:
        ann.wait_for_state("armed")
        ann.prompt(terminal)
        ann.check("in the middle of a turn", "in the middle", requests=2)
        ann.wait_until_idle()
        assert len(ann.guest.model.exchanges) == 2


def test_without_a_terminal_nothing_waits(ann: WakingGuest) -> None:
    """`claude -p` runs such hooks in the foreground: it would never end."""
    ann.guest.push("for one prompt")
    ann.guest.prompt()
    ann.check("`claude -p`", "for one prompt", requests=1)
    ann.wait_for_state("lost")


def test_a_session_that_is_continued(ann: WakingGuest, gateway: GatewayProcess) -> None:
    with ann.open() as terminal:
        ann.wait_for_state("armed")
        ann.prompt(terminal)
        ann.wait_for_requests(1)
        ann.wait_until_idle()
        ann.prompt(terminal, "/exit ")
        terminal.wait()
    ann.wait_for_state("lost")
    with ann.open("--continue"):
        ann.wait_until_idle()
        ann.guest.push("after a resume")
        ann.check("continued with --continue", "after a resume", requests=2)


def test_a_gateway_that_is_killed_and_started_again(ann: WakingGuest, gateway: GatewayProcess) -> None:
    with ann.open():
        ann.wait_for_state("armed")
        gateway.kill()
        ann.guest.push("without a gateway")
        ann.wait_for_requests(1)
        ann.wait_until_idle()
        gateway.start()
        ann.guest.push("with it again")
        ann.check("the gateway is killed, is away, and is back", "without a gateway", "with it again", requests=2)


def test_a_program_that_is_killed_leaves_no_process_and_is_lost(ann: WakingGuest, gateway: GatewayProcess) -> None:
    with ann.open() as terminal:
        ann.wait_for_state("armed")
        os.kill(terminal.pid, signal.SIGKILL)
        ann.wait_for_state("lost")
        ann.check_nothing_is_left()
        ann.guest.push("for the next session")
    with ann.open() as terminal:
        ann.wait_until_idle()
        ann.prompt(terminal)  # the start of the session has shown it, and the first prompt brings it to the model
        ann.check("the program is killed, and started anew", "for the next session", requests=1)


def test_a_waiter_that_is_killed_is_not_taken_for_one(ann: WakingGuest) -> None:
    with ann.open() as terminal:
        ann.wait_for_state("armed")
        for pid in ann.list_waiters():
            os.kill(pid, signal.SIGKILL)
        ann.wait_for_state("lost")
        check_next_prompt_arms(ann, terminal)


def check_next_prompt_arms(ann: WakingGuest, terminal: Terminal) -> None:
    ann.prompt(terminal)
    ann.wait_for_state("armed")
