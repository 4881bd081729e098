"""What the tests of waking do: an agent in a terminal of each program, and the state of its sessions."""

import json
import os
import re
import select
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final

import psutil

from tests.programs.guest import Guest
from tests.programs.programs import ClaudeCode, Codex, OpenCode, Program
from tests.programs.protocols import Call, Message
from tests.programs.terminal import ENTER, ESCAPE, Terminal
from tests.programs.waking_table import record_cell
from tests.support.waits import LAST_RESORT

#: a command that the model runs only if the person permits it
PERMITTED: Final = "touch allowed"


def wait_until(check: Callable[[], object], what: str) -> None:
    """Wait for something that another process does and tells nobody."""
    deadline = time.monotonic() + LAST_RESORT
    while not check():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@dataclass
class WakingGuest:
    """The agent ann in one program, in terminals."""

    guest: Guest
    situation: str
    #: what ends at the end of the test
    resources: ExitStack = field(default_factory=ExitStack)

    #: the column of the table
    title: ClassVar[str]
    program_class: ClassVar[type[Program]]
    #: whether a session is known before its first prompt
    is_known_at_start: ClassVar[bool] = False
    #: whether it is woken without a gateway
    has_waiter: ClassVar[bool] = True
    #: whether something fires for an item that waits for half a minute, although the session is not idle
    fires_while_busy: ClassVar[bool] = False
    #: what it shows after an interruption
    interruption: ClassVar[str]
    #: what it asks before it runs `PERMITTED`
    question: ClassVar[str]
    #: the words of the command line that continue the last session
    resume_words: ClassVar[Sequence[str]] = ("--continue",)

    def __post_init__(self) -> None:
        self.configure()

    def configure(self) -> None:
        """Write what the program needs in a terminal."""

    def configure_permissions(self) -> None:
        """Let the program ask its person before it runs `PERMITTED`."""
        raise NotImplementedError

    def ask_permission(self) -> Message:
        """Return an answer of the model that needs a permission."""
        return Message(commands=[PERMITTED])

    def open(self, *options: str) -> Terminal:
        """Start the program in a terminal; it is killed at the end of the test."""
        raise NotImplementedError

    def start(self, *options: str) -> Terminal:
        """Start the program, and wait until a session can be woken: with a prompt, if nothing is known without one."""
        terminal = self.open(*options)
        if self.is_known_at_start:
            self.wait_until_idle()
        else:
            self.prompt(terminal)
            self.wait_until_idle()
        return terminal

    @property
    def start_requests(self) -> int:
        """The requests of the model that `start` makes."""
        return 0 if self.is_known_at_start else 1

    def prompt(self, terminal: Terminal, text: str = "Go ahead.") -> None:
        """
        Type a prompt, and press Enter until the model is asked: a program takes an Enter that comes too soon after the
        text for a part of the text, and it ignores one in an empty box.
        """
        count = self.guest.model.request_count
        self.type(terminal, text)
        press_until(terminal, ENTER, lambda: self.guest.model.request_count > count)

    def type(self, terminal: Terminal, text: str) -> None:
        """Type text into the box, and wait until something is shown of it."""
        place = terminal.mark()
        terminal.type(text)
        wait_until(lambda: terminal.mark() > place, "nothing is shown of what was typed")

    def interrupt(self, terminal: Terminal) -> None:
        """Interrupt the turn as a person does, and wait until the program says so."""
        place = terminal.mark()
        terminal.type(ESCAPE)
        terminal.wait_for(self.interruption, after=place)

    def clear(self, terminal: Terminal) -> None:
        """Begin a new session in the same terminal."""
        self.type(terminal, "/clear")
        terminal.type(ENTER)

    def wait_for_question(self, terminal: Terminal, after: int) -> None:
        """Wait until the program asks whether it may run a command."""
        terminal.wait_for(self.question, after=after)

    def quit(self, terminal: Terminal) -> None:
        """End the program as a person does, and wait until it has ended."""
        self.type(terminal, "/exit")
        terminal.type(ENTER)
        terminal.wait()

    def permit(self, terminal: Terminal) -> None:
        """Answer the open question of the program with yes."""
        terminal.type(ENTER)

    def read_agent(self) -> dict[str, Any]:
        agent: dict[str, Any] = json.loads(self.guest.run_gatepost("agent", "show", "ann", "--json"))
        return agent

    def read_sessions(self) -> Sequence[dict[str, Any]]:
        sessions: Sequence[dict[str, Any]] = self.read_agent()["sessions"]
        return sessions

    def read_state(self) -> str | None:
        reachability = self.read_agent()["reachability"]
        return reachability["state"] if reachability else None

    def wait_for_state(self, *states: str) -> None:
        wait_until(lambda: self.read_state() in states, f"it is not {states}, but {self.read_agent()}")

    def wait_for_requests(self, count: int) -> None:
        wait_until(lambda: len(self.guest.model.exchanges) >= count, f"there were no {count} requests")

    def wait_for_shown(self, text: str) -> None:
        wait_until(lambda: self.guest.model.count_shown(text), f"{text!r} was not shown")

    def wait_until_idle(self, count: int = 1) -> None:
        """Wait until so many sessions of the agent are idle, and can be woken."""

        def is_idle(session: Mapping[str, Any]) -> bool:
            return session["state"] == "idle" and session["reachability"]["state"] in ("armed", "proved")

        wait_until(lambda: sum(map(is_idle, self.read_sessions())) == count, "no session is idle")

    def check(self, *texts: str, requests: int) -> None:
        """
        Check that the model was shown each item once, that each is proved, and how many requests the model got in all;
        record that for the docs.
        """
        wait_until(lambda: self.guest.count_items()["delivered"] == len(texts), f"not all is proved: {texts}")
        model = self.guest.model
        assert not model.errors, model.errors
        shown = {text: model.count_shown(text) for text in texts}
        assert shown == dict.fromkeys(texts, 1), [exchange.shown_text[-300:] for exchange in model.exchanges]
        assert len(model.exchanges) == requests, [exchange.shown_text[-300:] for exchange in model.exchanges]
        counts = self.guest.count_items()
        assert (counts["pending"], counts["claimed"]) == (0, 0), counts
        record_cell(self.title, self.situation, items=len(texts), requests=requests)

    def list_waiters(self) -> Sequence[int]:
        """Return the processes that wait for sessions of this home."""

        return [
            process.pid
            for process, words in list_processes("GATEPOST_HOME", str(self.guest.home))
            if any(word.endswith("/guests/waiter.py") for word in words) or ("hook", "wait") in pairwise(words)
        ]

    def check_nothing_is_left(self) -> None:
        wait_until(lambda: not self.list_waiters(), f"processes are left: {self.list_waiters()}")

    def _open_terminal(self, *words: str) -> Terminal:
        program = self.guest.program
        command = [*program.build_program(), *words]
        return self.resources.enter_context(Terminal(command, cwd=program.project, environ=program.environ))


class WakingClaude(WakingGuest):
    title = "Claude Code"
    program_class = ClaudeCode
    is_known_at_start = True
    fires_while_busy = True
    interruption = "Go ahead."  # it puts the prompt back into the box
    question = "Do you want to proceed?"

    def configure(self) -> None:
        program = self.guest.program
        settings: dict[str, Any] = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [program.environ["ANTHROPIC_API_KEY"]], "rejected": []},
            "projects": {str(program.project): {"hasTrustDialogAccepted": True}},
        }
        (program.home / ".claude.json").write_text(json.dumps(settings))

    def configure_permissions(self) -> None:
        """It asks by itself."""

    def open(self, *options: str) -> Terminal:
        return self._open_terminal("--permission-mode", "default", *options)

    def run_in_background(self, prompt: str) -> str:
        """Start a session in the background, and return the id by which it is stopped."""
        self.resources.callback(kill_processes, "HOME", str(self.guest.program.home))
        text = self.guest.program.run_command("--permission-mode", "default", "--bg", prompt)
        match = re.search(r"claude stop (\w+)", text)
        assert match is not None, text
        return match[1]

    def stop_background(self, session: str) -> None:
        self.guest.program.run_command("stop", session)


class WakingCodex(WakingGuest):
    """Its thread runs in the terminal itself."""

    title = "Codex, without a daemon"
    program_class = Codex
    has_waiter = False
    resume_words = ("resume", "--last")
    interruption = "Conversation interrupted"
    question = "Would you like to run"
    options: ClassVar[Sequence[str]] = ("--dangerously-bypass-hook-trust",)

    def configure(self) -> None:
        self._write_config("never", "danger-full-access")

    def configure_permissions(self) -> None:
        self._write_config("on-request", "read-only")

    def ask_permission(self) -> Message:
        options = {"sandbox_permissions": "require_escalated", "justification": "It is needed."}
        return Message(calls=[Call("exec_command", {"cmd": PERMITTED, **options})])

    def _write_config(self, approval_policy: str, sandbox_mode: str) -> None:
        program = self.guest.program
        config = program.settings.with_name("config.toml")
        lines = config.read_text().splitlines()
        body = [line for line in lines if not line.startswith(("approval_policy", "sandbox_mode"))]
        trust = f'[projects."{program.project}"]'
        end = [] if trust in body else ["", trust, 'trust_level = "trusted"']
        head = [f'approval_policy = "{approval_policy}"', f'sandbox_mode = "{sandbox_mode}"']
        config.write_text("\n".join([*head, *body, *end, ""]))

    def open(self, *options: str) -> Terminal:
        terminal = self._open_terminal(*options, *self.options)
        terminal.wait_for("for shortcuts", "Resumed session")
        return terminal


class WakingDaemon(WakingCodex):
    """Its thread runs in the daemon of its user."""

    title = "Codex"
    is_trusted = False

    def configure(self) -> None:
        super().configure()
        self.resources.callback(kill_processes, "CODEX_HOME", str(self.guest.program.home / ".codex"))

    def open(self, *options: str) -> Terminal:
        terminal = self._open_terminal(*options)
        if self.is_trusted:
            terminal.wait_for("for shortcuts", "Resumed session")
        else:  # it asks once, a while after its box is shown
            self.is_trusted = True
            terminal.wait_for("Trust all and continue")
            place = terminal.mark()
            press_until(terminal, "2", lambda: "\u203a2.Trustall" in "".join(terminal.read_text(place).split()))
            place = terminal.mark()
            press_until(terminal, ENTER, lambda: terminal.mark() > place)
        return terminal


class WakingOpenCode(WakingGuest):
    title = "OpenCode"
    program_class = OpenCode
    interruption = "interrupted"
    question = "Permission required"

    def configure_permissions(self) -> None:
        file = self.guest.program.home / ".config/opencode/opencode.json"
        file.write_text(file.read_text().replace('"bash": "allow"', '"bash": "ask"'))

    def open(self, *options: str) -> Terminal:
        terminal = self._open_terminal(*options)
        terminal.wait_for("Ask anything", "ctrl+p")
        return terminal

    def interrupt(self, terminal: Terminal) -> None:
        """The first Esc asks for a second one."""
        place = terminal.mark()
        terminal.type(ESCAPE)
        terminal.wait_for("again to interrupt", after=place)
        place = terminal.mark()
        terminal.type(ESCAPE)
        terminal.wait_for(self.interruption, after=place)


KINDS: Final[Mapping[str, type[WakingGuest]]] = {
    "claude": WakingClaude,
    "codex": WakingDaemon,
    "nodaemon": WakingCodex,
    "opencode": WakingOpenCode,
}


def press_until(terminal: Terminal, key: str, check: Callable[[], bool]) -> None:
    """Press a key, again and again, until it has had its effect: one that comes too soon is lost."""

    def press_and_check() -> bool:
        terminal.type(key)
        select.select([], [], [], 0.5)
        return check()

    wait_until(press_and_check, f"{key!r} had no effect: {terminal.read_tail()}")


def list_processes(name: str, value: str) -> list[tuple[psutil.Process, list[str]]]:
    """Return the processes that have a variable with this value, with their command lines."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(name) == value and process.status() != psutil.STATUS_ZOMBIE:
                found.append((process, process.cmdline()))
        except psutil.Error:  # it has ended meanwhile, or is not ours
            continue
    return found


def kill_processes(name: str, value: str) -> None:
    """Kill the processes that have a variable with this value."""
    for process, _ in list_processes(name, value):
        with suppress(psutil.NoSuchProcess):
            process.kill()


class MovableClock:
    """The clock of the processes of Gatepost that a test starts: that of the machine, moved by the test."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._file = folder / "seconds"
        self._file.write_text("0")
        (folder / "sitecustomize.py").write_text(_SITE.format(file=str(self._file)))
        #: what moves the clock of a process
        self.environ: Final = {"PYTHONPATH": str(folder)}

    def move(self, seconds: int) -> None:
        moved = int(self._file.read_text()) + seconds
        temporary = self._file.with_suffix(".new")
        temporary.write_text(str(moved))
        os.replace(temporary, self._file)  # noqa: PTH105 (it replaces in one step)


_SITE: Final = """\
import time

def _move(read, unit):
    def read_moved():
        with open({file!r}) as file:
            return read() + int(file.read()) * unit
    return read_moved

time.time, time.time_ns = _move(time.time, 1), _move(time.time_ns, 10**9)
"""
