"""
Transcripts of commands, which are run in this process, in a home with a store and without a gateway.

    $ gatepost gate list --owner analyst
    $ GATEPOST_AGENT=analyst gatepost inbox push - <<< 'two lines\non stdin'
    wait 3 hours                        moves the clock, and does what is due; a command takes a second
    anew                                a new story begins: everything is as it was at first
    cat .claude/settings.json           shows a file of the working directory
    write agent.json {"model": "demo"}  writes one
    gateway                             starts a gateway in the home
    empty home                          there is no store yet; it is the first step of a story

What is printed on stderr has a `!` before it. An exit code is shown if it is not 0.
"""

import asyncio
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, Final, TypeVar

import click
import pytest

from gatepost import paths
from gatepost.app import open_store
from gatepost.cli.main import run
from gatepost.gateway.hook_socket import HookSocket
from gatepost.settings import gateway_files
from gatepost.testing import FakeClock
from tests.snapshot.filled_store import copy_store, do_what_is_due, hold_clock, silence_logs
from tests.snapshot.transcript import Step, Values, find, split_stories
from tests.support.gateways.local_gateways import WAIT_TIMEOUT, serve_gateway
from tools import reference

T = TypeVar("T")

#: what the machine of the test must not say to commands
_FOREIGN_PREFIXES: Final = ("GATEPOST_", "CLAUDE", "CODEX_", "GEMINI_", "CURSOR_", "OPENAI_", "ANTHROPIC_", "XDG_")
#: commands that run until they are stopped, and where they are tested
ENDLESS: Final = {
    "up": "tests/cli/test_gateway.py",
    "courier": "tests/guests/test_courier_commands.py",
    "inbox watch": "tests/cli/test_gateway.py",
    "space watch": "tests/cli/test_gateway.py",
    "mcp": "tests/mcp",
}
#: spaces between the columns of a table
_COLUMN_GAP: Final = re.compile(r"(?<=\S) {2,}(?=\S)")
#: the room on the disk, as `doctor` prints it
_FREE_SPACE: Final = re.compile(r"\d+(?= MiB are free)")


def answer_commands(steps: Sequence[Step]) -> dict[int, list[str]]:
    """Return what is printed, by the numbers of the steps."""
    answers: dict[int, list[str]] = {}
    for story in split_stories(steps):
        with open_terminal(has_store=story[0].text != "empty home") as terminal:
            answers |= {step.number: list(terminal.answer(step)) for step in story}
    return answers


def find_command(text: str) -> str:
    """Return the path of the command that a step runs, such as `gate add`."""
    words = shlex.split(text)
    words = words[words.index("gatepost") + 1 :]
    paths = [" ".join(words[:count]) for count in (3, 2, 1)]
    return next((path for path in paths if path in list_commands()), "")


@cache
def list_commands() -> dict[str, click.Command]:
    """Return every command that does something, by its path."""
    return {
        path.removeprefix("gatepost").strip(): command
        for path, command in reference.list_commands()
        if not isinstance(command, click.Group) or command.invoke_without_command
    }


@contextmanager
def open_terminal(*, has_store: bool) -> Iterator["Terminal"]:
    """While entered, commands run in folders of their own."""
    with (
        TemporaryDirectory() as temporary_path,
        pytest.MonkeyPatch.context() as patch,
        hold_clock() as clock,
        silence_logs(),
        ExitStack() as stack,
    ):
        folder = Path(temporary_path).resolve()
        home = folder / "home"
        for part in ("here", "user"):
            (folder / part).mkdir()
        for variable in [name for name in os.environ if name.startswith(_FOREIGN_PREFIXES)]:
            patch.delenv(variable)
        for variable, value in _build_environment(folder).items():
            patch.setenv(variable, value)
        patch.chdir(folder / "here")
        objects: Mapping[str, object] = {}
        if has_store:
            home.mkdir(mode=0o700)
            objects = copy_store(home / "gatepost.db")
        masks = {
            str(folder): "<folder>",
            str(Path(sys.executable).parent): "<bin>",
            f"cli:{os.getpid()}": "cli:<process>",
            f"gatepost {version('gatepost')}": "gatepost <version>",
        }
        yield Terminal(folder, Values(objects, masks), clock, stack)


def _build_environment(folder: Path) -> dict[str, str]:
    return {
        "GATEPOST_HOME": str(folder / "home"),
        "HOME": str(folder / "user"),
        "GIT_CEILING_DIRECTORIES": str(folder),
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }


class Terminal:
    """Runs commands, and shows what they print."""

    def __init__(self, folder: Path, values: Values, clock: FakeClock, stack: ExitStack) -> None:
        self._folder = folder
        self._home = folder / "home"
        self._url = f"sqlite:///{self._home / 'gatepost.db'}"
        self._values = values
        self._clock = clock
        self._stack = stack

    def answer(self, step: Step) -> Iterator[str]:
        verb, _, rest = step.text.partition(" ")
        match verb:
            case "$":
                yield from self._run(step)
            case "wait":
                self._clock.advance(rest)
                with closing(open_store(self._url)) as store:
                    asyncio.run(do_what_is_due(store))
            case "cat":
                yield from self._show(Path(rest).read_text(encoding="utf-8"))
            case "write":
                name, _, content = rest.partition(" ")
                Path(name).write_text(self._values.fill(content), encoding="utf-8")
            case "gateway":
                self._start_gateway()
            case _:
                assert step.text == "empty home", f"{step.text!r} is not a step"
        self._date_files()

    def _run(self, step: Step) -> Iterator[str]:
        self._clock.advance("1s")
        command, _, stdin = self._values.fill(step.text).partition(" <<< ")
        words, text = shlex.split(command)[1:], "".join(shlex.split(stdin)).replace("\\n", "\n")
        start = words.index("gatepost")
        assert find_command(step.text) not in ENDLESS, f"{step.text!r} may run until it is stopped"
        with pytest.MonkeyPatch.context() as patch, TemporaryFile() as out_file, TemporaryFile() as err_file:
            for assignment in words[:start]:
                patch.setenv(*assignment.split("=", 1))
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
            with _redirect_output(out_file.fileno(), err_file.fileno()):
                code = run(words[start + 1 :])
            out, err = _read(out_file), _read(err_file)
        for name, path in step.names.items():
            is_word = path in ("", "1")
            self._values.name(name, out.split()[int(path or 0)] if is_word else find(json.loads(out), path))
        yield from self._show(out)
        yield from (f"! {line}" if line else "!" for line in self._show(err))
        if code:
            yield f"exit {code}"

    def _show(self, text: str) -> list[str]:
        if not text:
            return []
        if str(self._folder) in text:
            text = _COLUMN_GAP.sub("  ", text)  # the width of a column depends on the path of the folder
        text = _FREE_SPACE.sub("<measured>", text)
        lines = self._values.mask(text).split("\n")
        return lines[:-1] if not lines[-1] else [*lines, "(without a line end)"]

    def _start_gateway(self) -> None:
        home, url = self._home, self._url
        server = self._stack.enter_context(serve_gateway(url, clock=self._clock))
        hook_socket = HookSocket(home, server.gateway.store, url, url=server.base_url).open()

        def run_there(work: Coroutine[Any, Any, T]) -> T:
            return asyncio.run_coroutine_threadsafe(work, server.loop).result(WAIT_TIMEOUT)

        path = run_there(hook_socket.__aenter__())
        self._stack.callback(lambda: run_there(hook_socket.__aexit__(None, None, None)))
        self._stack.enter_context(gateway_files.publish(home, server.base_url, url, path))
        paths.write_atomically(str(home / gateway_files.ADMIN_KEY), server.gateway.admin_key + "\n")
        self._values.hide(server.base_url, "<gateway>")

    def _date_files(self) -> None:
        """Date all files by the clock: commands compare the two."""
        now = self._clock.now() * 1_000
        for path in self._folder.rglob("*"):
            os.utime(path, ns=(now, now), follow_symlinks=False)


def _read(file: io.BufferedRandom) -> str:
    file.seek(0)
    return file.read().decode()


@contextmanager
def _redirect_output(*targets: int) -> Iterator[None]:
    """While entered, what is printed goes to these descriptors, also if it is written to those of the process."""
    saved = [os.dup(1), os.dup(2)]
    for descriptor, target in enumerate(targets, 1):
        os.dup2(target, descriptor)
    try:
        with (
            os.fdopen(os.dup(1), "w", encoding="utf-8") as out,
            os.fdopen(os.dup(2), "w", encoding="utf-8") as err,
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            yield
    finally:
        for descriptor, saved_descriptor in enumerate(saved, 1):
            os.dup2(saved_descriptor, descriptor)
            os.close(saved_descriptor)
