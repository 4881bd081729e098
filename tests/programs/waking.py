"""What the tests of waking do: an agent in a terminal, the state of its sessions, and the table in the docs."""

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.programs.guest import Guest
from tests.programs.programs import ClaudeCode
from tests.programs.terminal import ENTER, Terminal
from tests.support.waits import LAST_RESORT

DOCS: Final = Path(__file__).parents[2] / "docs/howto/waking.md"
#: set it to write the table of the docs anew
WRITE_VARIABLE: Final = "GATEPOST_WRITE_TABLES"
_BEGIN: Final = "<!-- The tests of waking write this table. -->\n"
_HEAD: Final = "| program | while | what it works with | items proved | model requests |\n|---|---|---|---|---|\n"
_MODE_OPTIONS: Final = ("--permission-mode", "default")


@dataclass(frozen=True, order=True)
class Cell:
    """What came of one test, as a row of the table."""

    program: str
    name: str
    mode: str
    items: int
    requests: int

    def __str__(self) -> str:
        return f"| {self.program} | {self.name} | {self.mode} | {self.items} | {self.requests} |"


_cells: list[Cell] = []


def write_table() -> None:
    """Write what was recorded into the docs, in the place of older rows about the same."""
    if not _cells or not os.environ.get(WRITE_VARIABLE):
        return
    text = DOCS.read_text()
    before, _, after = text.partition(_BEGIN)
    rows = re.match(r"(\|.*\n)*", after)
    old = rows[0].splitlines()[2:] if rows else []
    by_cell = {tuple(row.split(" | ")[:3]): row for row in old}
    by_cell |= {tuple(str(cell).split(" | ")[:3]): str(cell) for cell in sorted(_cells)}
    table = "".join(f"{row}\n" for row in by_cell.values())
    DOCS.write_text(f"{before}{_BEGIN}{_HEAD}{table}{after[rows.end() if rows else 0 :]}")


def wait_until(check: Callable[[], object], what: str) -> None:
    """Wait for something that another process does and tells nobody."""
    deadline = time.monotonic() + LAST_RESORT
    while not check():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@dataclass
class WakingGuest:
    """The agent ann in Claude Code, in a terminal."""

    guest: Guest
    mode: str = "store"
    title: str = "Claude Code"

    def __post_init__(self) -> None:
        self.configure()

    def configure(self) -> None:
        """Write what the program needs in a terminal."""
        program = self.guest.program
        assert isinstance(program, ClaudeCode)
        settings: dict[str, Any] = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [program.environ["ANTHROPIC_API_KEY"]], "rejected": []},
            "projects": {str(program.project): {"hasTrustDialogAccepted": True}},
        }
        (program.home / ".claude.json").write_text(json.dumps(settings))

    def open(self, *options: str) -> Terminal:
        program = self.guest.program
        command = [*program.build_program(), *_MODE_OPTIONS, *options]
        return Terminal(command, cwd=program.project, environ=program.environ)

    def prompt(self, terminal: Terminal, text: str = "Go ahead.") -> None:
        """Type a prompt and send it."""
        place = terminal.mark()
        terminal.type(text)
        terminal.wait_for(text, after=place)
        terminal.type(ENTER)

    def read_agent(self) -> dict[str, Any]:
        agent: dict[str, Any] = json.loads(self.guest.run_gatepost("agent", "show", "ann", "--json"))
        return agent

    def read_state(self) -> str | None:
        reachability = self.read_agent()["reachability"]
        return reachability["state"] if reachability else None

    def wait_for_state(self, *states: str) -> None:
        wait_until(lambda: self.read_state() in states, f"it is not {states}, but {self.read_agent()}")

    def wait_for_requests(self, count: int) -> None:
        wait_until(lambda: len(self.guest.model.exchanges) >= count, f"there were no {count} requests")

    def wait_until_idle(self) -> None:
        """Wait until a session of the agent is idle, and something waits to wake it."""
        wait_until(
            lambda: any(
                session["state"] == "idle" and session["reachability"]["state"] in ("armed", "proved")
                for session in self.read_agent()["sessions"]
            ),
            "no session is idle",
        )

    def check(self, name: str, *texts: str, requests: int) -> None:
        """Check that the model was shown each item once, and that each is proved; record it for the docs."""
        wait_until(lambda: self.guest.count_items()["delivered"] == len(texts), f"not all is proved: {texts}")
        model = self.guest.model
        assert not model.errors, model.errors
        assert {text: model.count_shown(text) for text in texts} == dict.fromkeys(texts, 1)
        assert len(model.exchanges) == requests
        counts = self.guest.count_items()
        assert (counts["pending"], counts["claimed"]) == (0, 0)
        _cells.append(Cell(self.title, name, self.mode, len(texts), requests))

    def list_waiters(self) -> Sequence[int]:
        """Return the processes that wait for sessions of this home."""
        pids = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                command = (folder / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            is_waiter = "waiter.py" in command or "\0hook\0wait" in command
            if is_waiter and (str(self.guest.home) in command or "\0hook\0wait" in command):
                environ = _read_environ(folder)
                if f"GATEPOST_HOME={self.guest.home}" in environ:
                    pids.append(int(folder.name))
        return pids

    def check_nothing_is_left(self) -> None:
        wait_until(lambda: not self.list_waiters(), f"processes are left: {self.list_waiters()}")


def _read_environ(folder: Path) -> Sequence[str]:
    try:
        return (folder / "environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []
