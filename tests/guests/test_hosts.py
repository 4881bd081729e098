"""
Whole sessions of a guest in a host that behaves as Claude Code documents, through the real command, as installed by the
real command: with a gateway, and without one.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from gatepost import app, settings
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from tests.guests.claude_code import MAX_CONTINUATIONS, ClaudeCodeSession
from tests.support.command_line import CommandLine
from tests.support.gateways.gateway_process import GatewayProcess, run_gateway_process

SESSION = "7c1e6a52-0d0f-4a53-9d58-6f0b0c5d2a11"


@dataclass
class GuestWorkspace:
    """A home with the agent ann in it, who lives in Claude Code, and her person husam."""

    cli: CommandLine
    host: ClaudeCodeSession
    gateway: GatewayProcess | None

    def push(self, text: str, *words: str) -> None:
        self.cli.run_ok("inbox", "push", "--to", "ann", "--as", "husam", *words, text)

    def list_inbox(self, name: str) -> str:
        return self.cli.run_ok("inbox", "list", "--to", name, "--json").out

    def ask_decision(self, question: str = "Go on?") -> str:
        """Ann asks; husam is the one who is asked."""
        options = ("--option", "continue=Go on", "--option", "stop=Stop here")
        words = ("decision", "ask", question, *options, "--of", "husam", "--as", "ann", "--session", SESSION)
        return self.cli.run_ok(*words).out.strip()

    def answer_decision(self, decision: str, option: str) -> None:
        self.cli.run_ok("decision", "answer", decision, option, "--as", "husam")


#: A hook costs a process. Which way it takes to the store shows in few tests; the others take both by night.
ALONE_BY_NIGHT: Final = [pytest.param("alone", marks=pytest.mark.nightly), "with a gateway"]
EITHER_WAY: Final = pytest.mark.parametrize("workspace", ["alone", "with a gateway"], indirect=True)


@pytest.fixture(params=ALONE_BY_NIGHT)
def workspace(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[GuestWorkspace]:
    home, cwd = tmp_path / "home", tmp_path / "project"
    cwd.mkdir()
    monkeypatch.chdir(cwd)
    environ = {"GATEPOST_HOME": str(home), "NO_COLOR": "1"}
    with app.prepare_store(settings.load(environ)) as store:
        store.run_sync(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
        store.run_sync(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT, owner="husam"))
    cli = CommandLine(home, cwd, monkeypatch, capsys, environ)
    settings_path = cli.run_ok("hooks", "install", "--scope", "local").out.strip()
    monkeypatch.setenv("GATEPOST_HOME", str(home))
    monkeypatch.setenv("GATEPOST_AGENT", "ann")
    host = ClaudeCodeSession(Path(settings_path), cwd, session_id=SESSION)
    if request.param == "alone":
        yield GuestWorkspace(cli, host, None)
        return
    with run_gateway_process(home) as gateway:
        yield GuestWorkspace(cli, host, gateway)


def count_shown(host: ClaudeCodeSession, text: str) -> int:
    """How often the model was shown it."""
    return sum(entry.count(text) for entry in (*host.contexts, *host.feedback))


@EITHER_WAY
def test_a_guest_reads_its_inbox_once_wherever_its_host_shows_it(workspace: GuestWorkspace) -> None:
    host = workspace.host
    workspace.push("before the start")
    assert "before the start" in host.start().context
    workspace.push("before a prompt")

    def play_model(context: str) -> None:
        if "before a prompt" in context:
            workspace.push("while a tool runs")
            assert "while a tool runs" in host.use_tool().context
            workspace.push("before the end")

    host.model = play_model
    assert host.submit_prompt("Do it") == 1, "what came before the end makes it go on, once"
    workspace.push("before compaction")
    assert "before compaction" in host.compact().context
    host.notify_idle()
    workspace.push("after the end")
    host.end()
    for text in ("before the start", "before a prompt", "while a tool runs", "before the end", "before compaction"):
        assert count_shown(host, text) == 1, text
    assert count_shown(host, "after the end") == 0
    assert "after the end" in workspace.list_inbox("ann")
    assert host.feedback == []


def test_a_decision_keeps_it_until_it_is_answered_and_the_answer_is_told(workspace: GuestWorkspace) -> None:
    host = workspace.host
    decision_ids: list[str] = []

    def play_model(context: str) -> None:
        if not decision_ids:
            decision_ids.append(workspace.ask_decision())
        elif "not answered yet" in context:
            workspace.answer_decision(decision_ids[0], "continue")

    host.start()
    host.model = play_model
    assert host.submit_prompt("Do it") == 2, host.feedback
    assert len(host.feedback) == 1
    assert "Go on?" in host.feedback[0]
    assert "answered by" in host.contexts[-1]
    assert decision_ids[0] in host.contexts[-1]
    assert count_shown(host, "answered by") == 1


def test_where_it_has_to_ask_before_it_stops_it_waits_for_the_answer(workspace: GuestWorkspace) -> None:
    (workspace.cli.home / "gatepost.toml").write_text("[stop_decision]\nenabled = true\n")
    host = workspace.host
    answers = ["continue", "stop"]
    threads: list[threading.Thread] = []

    def play_model(context: str) -> None:
        if "ask for a decision" in context:
            words = (
                "decision",
                "answer",
                workspace.ask_decision(f"What {len(answers)}?"),
                answers.pop(0),
                "--as",
                "husam",
            )
            threads.append(threading.Thread(target=workspace.cli.run_process, args=words))
            threads[-1].start()

    host.start()
    host.model = play_model
    continuations = host.submit_prompt("Do it")
    for thread in threads:
        thread.join()
    assert answers == [], "it was asked for twice: after it went on, the first no longer counts"
    assert [("ask for a decision" in entry) for entry in host.feedback] == [True, True]
    assert count_shown(host, 'answered by husam: "Go on"') == 1, host.contexts
    assert count_shown(host, 'answered by husam: "Stop here"') == 0, "that lets it go, and is no reason to go on"
    assert continuations == 3, "told to ask, told to go on, told to ask"


def test_a_gate_that_does_not_open_lets_go_after_three(workspace: GuestWorkspace) -> None:
    workspace.cli.run_ok(
        "gate", "add", "Sign-off", "--owner", "ann", "--awaits", "husam", "--instruction", "Wait for it."
    )
    host = workspace.host
    host.start()
    assert host.submit_prompt("Do it") == 3
    assert len(host.feedback) == 3
    assert all("Wait for it." in entry for entry in host.feedback)
    assert sum("lets the agent stop" in entry for entry in host.person_texts) == 1
    assert '"alert"' in workspace.list_inbox("husam")
    workspace.push("more")
    host.submit_prompt("Go on")
    assert count_shown(host, "more") == 1, "it is held again, and reads its inbox as before"
    assert len(host.feedback) == 6


def test_gates_of_the_session_hold_until_they_are_marked(workspace: GuestWorkspace) -> None:
    host, run_ok = workspace.host, workspace.cli.run_ok
    run_ok("gate", "register", "tested", "--hint", "run the tests")
    run_ok("gate", "register", "careful", "--hook", "PreToolUse", "--hint", "look before you leap")
    run_ok("hooks", "install", "--scope", "local")
    host.start()
    assert "look before you leap" in host.use_tool().block_reason
    run_ok("gate", "mark", "careful", "--session", SESSION)
    assert not host.use_tool().block_reason

    def play_model(context: str) -> None:
        if "run the tests" in context:
            run_ok("gate", "mark", "tested", "--session", SESSION)

    host.model = play_model
    assert host.submit_prompt("Do it") == 1
    assert len(host.feedback) == 2
    assert host.submit_prompt("And that") == 0, "a mark stays"


def test_a_soft_gate_warns_once(workspace: GuestWorkspace) -> None:
    host = workspace.host
    workspace.cli.run_ok("gate", "register", "said", "--soft")
    host.start()
    assert (host.submit_prompt("Do it"), host.submit_prompt("And that")) == (0, 0)
    warnings = [entry for entry in host.person_texts if "said" in entry]
    assert len(warnings) == 1
    assert count_shown(host, "said") == 0, "it is for the person"
    assert not any("work-update" in entry for entry in host.person_texts), "there are no work items"


def test_a_tool_that_failed_shows_the_inbox_too(workspace: GuestWorkspace) -> None:
    host = workspace.host
    host.start()
    workspace.push("while a tool fails")
    assert "while a tool fails" in host.use_tool(fails=True).context
    assert count_shown(host, "while a tool fails") == 1


def test_an_inbox_that_is_never_empty_makes_it_go_on_five_times_at_most(workspace: GuestWorkspace) -> None:
    host = workspace.host
    count = 0

    def play_model(_: str) -> None:
        nonlocal count
        count += 1
        workspace.push(f"number {count}.")

    host.start()
    host.model = play_model
    assert host.submit_prompt("Do it") == 5 < MAX_CONTINUATIONS
    assert count == 6
    assert [count_shown(host, f"number {n}.") for n in range(1, 7)] == [1] * 5 + [0]
    host.model = lambda _: None
    host.submit_prompt("And now")
    assert count_shown(host, "number 6.") == 1


def test_a_gateway_that_goes_away_is_done_without(workspace: GuestWorkspace) -> None:
    host = workspace.host
    host.start()
    workspace.push("one")
    host.submit_prompt("Do it")
    if workspace.gateway is not None:
        workspace.gateway.kill()
    workspace.push("two")
    host.submit_prompt("Go on")
    assert [count_shown(host, text) for text in ("one", "two")] == [1, 1]
    assert '"pending"' not in workspace.list_inbox("ann")
