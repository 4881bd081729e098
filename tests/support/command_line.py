"""The command line as a person has it: a home of their own, words in, words out, and how it ended."""

import io
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gatepost.cli.main import run
from tests.support.processes import fork_server
from tests.support.waits import LAST_RESORT


@dataclass(frozen=True)
class CommandResult:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The sentence after `error:`; there is exactly one, and at most one hint after it."""
        error_line, *hint_lines = [line for line in self.err.splitlines() if not line.startswith("made a new store")]
        assert error_line.startswith("error: "), self.err
        assert len(hint_lines) <= 1, self.err
        assert all(line.startswith("hint: ") for line in hint_lines), self.err
        assert "Traceback" not in self.err
        return error_line.removeprefix("error: ")


@dataclass
class CommandLine:
    """Runs commands in a home that is a folder of the test's."""

    home: Path
    cwd: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        return self.home / "gatepost.db"

    def __call__(self, *args: str, stdin: bytes = b"", **environ: str) -> CommandResult:
        """Run a command in this process: quick, and everything but the process itself is as it is."""
        with self.monkeypatch.context() as patch:
            for name, value in (self.environ | environ).items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            self.capsys.readouterr()
            code = run(args)
        out, err = self.capsys.readouterr()
        return CommandResult(code, out, err)

    def run_ok(self, *args: str, stdin: bytes = b"", **environ: str) -> CommandResult:
        """Run a command that has to succeed."""
        result = self(*args, stdin=stdin, **environ)
        assert result.code == 0, result
        return result

    def run_process(self, *args: str, stdin: bytes = b"", **environ: str) -> CommandResult:
        """Run a command in a process of its own, as a shell does."""
        result = fork_server.run(
            [*GATEPOST_COMMAND, *args],
            input=stdin,
            capture_output=True,
            env=os.environ | self.environ | environ,
            cwd=self.cwd,
            timeout=LAST_RESORT,
            check=False,
        )
        return CommandResult(result.returncode, result.stdout.decode(), result.stderr.decode())

    def push(self, *args: str) -> str:
        """Push, and return the id of the event."""
        return self.run_ok("inbox", "push", *args).out.strip()


GATEPOST_COMMAND = [sys.executable, "-m", "gatepost.cli.main"]

#: how a command may get to the store
ACCESS_MODES = ("alone", "through a gateway")
#: for a test that takes both ways by day too, because more differs than who answers
EITHER_WAY_BY_DAY = pytest.mark.parametrize("cli", ACCESS_MODES, indirect=True)
WITHOUT_GATEWAY = pytest.mark.parametrize("cli", ACCESS_MODES[:1], indirect=True)
