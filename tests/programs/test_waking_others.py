"""
Codex and OpenCode in a terminal are woken for their inbox: each item is shown and proved once, the model is asked for
nothing without an item, and no process is left behind.
"""

import os
import select
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.programs.guest import Guest
from tests.programs.model import ScriptedModel
from tests.programs.programs import Codex, OpenCode
from tests.programs.terminal import ENTER, Terminal
from tests.programs.waking import WakingGuest, wait_until, write_table
from tests.support.gateways.gateway_process import GatewayProcess, run_gateway_process


@dataclass
class WakingCodex(WakingGuest):
    """The agent ann in Codex, in a terminal whose thread runs in the terminal itself."""

    title: str = "Codex, without a daemon"
    options: tuple[str, ...] = ("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")

    def configure(self) -> None:
        program = self.guest.program
        config = program.settings.with_name("config.toml")
        text = f'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n{config.read_text()}'
        config.write_text(f'{text}\n[projects."{program.project}"]\ntrust_level = "trusted"\n')

    def open(self, *options: str) -> Terminal:
        program = self.guest.program
        command = [*program.build_program(), *options, *self.options]
        terminal = Terminal(command, cwd=program.project, environ=program.environ)
        terminal.wait_for("for shortcuts")
        return terminal

    def prompt(self, terminal: Terminal, text: str = "Go ahead.") -> None:
        send_prompt(self, terminal, text)

    def list_processes(self) -> list[psutil.Process]:
        """Return the processes of Codex in this home."""
        return _list_processes("CODEX_HOME", str(self.guest.program.home / ".codex"))


@dataclass
class WakingDaemon(WakingCodex):
    """The same in a terminal whose thread runs in the daemon of its user."""

    title: str = "Codex"
    options: tuple[str, ...] = ()

    def open(self, *options: str) -> Terminal:
        program = self.guest.program
        terminal = Terminal([*program.build_program(), *options], cwd=program.project, environ=program.environ)
        if terminal.wait_for("Trust all and continue", "Resumed session") == "Trust all and continue":
            place = terminal.mark()
            press_until(terminal, "2", lambda: "\u203a2.Trustall" in "".join(terminal.read_text(place).split()))
            place = terminal.mark()
            press_until(terminal, ENTER, lambda: terminal.mark() > place)
        return terminal

    def stop_daemon(self) -> None:
        for process in self.list_processes():
            process.kill()


@dataclass
class WakingOpenCode(WakingGuest):
    """The agent ann in OpenCode, in a terminal."""

    title: str = "OpenCode"

    def configure(self) -> None:
        """Nothing but what `opencode run` needs."""

    def open(self, *options: str) -> Terminal:
        program = self.guest.program
        terminal = Terminal([*program.build_program(), *options], cwd=program.project, environ=program.environ)
        terminal.wait_for("Ask anything", "ctrl+p")
        return terminal

    def prompt(self, terminal: Terminal, text: str = "Go ahead.") -> None:
        send_prompt(self, terminal, text)


def send_prompt(ann: WakingGuest, terminal: Terminal, text: str) -> None:
    """
    Type a prompt, and press Enter until the model is asked: a program takes an Enter that comes too soon after the text
    for a part of the text, and it ignores one in an empty box.
    """
    count, place = len(ann.guest.model.exchanges), terminal.mark()
    terminal.type(text)
    wait_until(lambda: terminal.mark() > place, "nothing is shown of what was typed")

    press_until(terminal, ENTER, lambda: len(ann.guest.model.exchanges) > count)


def press_until(terminal: Terminal, key: str, check: Callable[[], bool]) -> None:
    """Press a key, again and again, until it has had its effect: one that comes too soon is lost."""

    def press_and_check() -> bool:
        terminal.type(key)
        select.select([], [], [], 0.5)
        return check()

    wait_until(press_and_check, f"{key!r} had no effect: {terminal.read_tail()}")


def _list_processes(name: str, value: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(name) == value and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


KINDS = {"codex": (Codex, WakingCodex), "daemon": (Codex, WakingDaemon), "opencode": (OpenCode, WakingOpenCode)}


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    yield
    write_table()


@pytest.fixture(params=KINDS)
def ann(request: pytest.FixtureRequest, programs: Path, model: ScriptedModel, tmp_path: Path) -> Iterator[WakingGuest]:
    program_class, waking_class = KINDS[request.param]
    if program_class is OpenCode and not list(programs.glob("node_modules/opencode-linux-x64/bin/opencode")):
        pytest.skip("NOT CHECKED: there is no OpenCode for this machine")
    program = program_class(tmp_path / "user", tmp_path / "project", model.url)
    waking = waking_class(Guest.create(program, model, tmp_path / "home"), mode="gateway")
    try:
        yield waking
        waking.check_nothing_is_left()
    finally:
        if isinstance(waking, WakingDaemon):
            waking.stop_daemon()


@pytest.fixture
def gateway(ann: WakingGuest) -> Iterator[GatewayProcess]:
    with run_gateway_process(ann.guest.home) as process:
        yield process


def test_an_idle_terminal_again_and_again(ann: WakingGuest, gateway: GatewayProcess) -> None:
    with ann.open() as terminal:
        ann.prompt(terminal)
        ann.wait_for_requests(1)
        for count, text in enumerate(("item one", "item two")):
            ann.wait_until_idle()
            ann.guest.push(text)
            ann.wait_for_requests(count + 2)
        ann.check("idle", "item one", "item two", requests=3)
        ann.wait_for_state("proved")
        ann.wait_until_idle()
        ann.guest.push_many(["one of two", "two of two"])
        ann.wait_for_requests(4)
        wait_until(lambda: ann.guest.count_items()["delivered"] == 4, "the two are not proved")
        assert len(ann.guest.model.exchanges) == 4
        os.kill(terminal.pid, signal.SIGKILL)
        ann.wait_for_state("lost")
