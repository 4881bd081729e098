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
from tests import forking


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The sentence after `error:`; there is exactly one, and at most one hint after it."""
        first, *rest = [line for line in self.err.splitlines() if not line.startswith("made a new store")]
        assert first.startswith("error: "), self.err
        assert len(rest) <= 1, self.err
        assert all(line.startswith("hint: ") for line in rest), self.err
        assert "Traceback" not in self.err
        return first.removeprefix("error: ")


@dataclass
class Office:
    """Runs commands in a home that is a folder of the test's."""

    home: Path
    here: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        return self.home / "gatepost.db"

    def __call__(self, *words: str, stdin: bytes = b"", **environ: str) -> Ended:
        """Run a command in this process: quick, and everything but the process itself is as it is."""
        with self.monkeypatch.context() as patch:
            for name, value in (self.environ | environ).items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            self.capsys.readouterr()
            code = run(words)
        out, err = self.capsys.readouterr()
        return Ended(code, out, err)

    def done(self, *words: str, stdin: bytes = b"", **environ: str) -> Ended:
        """Run a command that has to succeed."""
        ended = self(*words, stdin=stdin, **environ)
        assert ended.code == 0, ended
        return ended

    def process(self, *words: str, stdin: bytes = b"", **environ: str) -> Ended:
        """Run a command in a process of its own, as a shell does."""
        ended = forking.run(
            [*PROGRAM, *words],
            input=stdin,
            capture_output=True,
            env=os.environ | self.environ | environ,
            cwd=self.here,
            timeout=60,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def push(self, *words: str) -> str:
        """Push, and return the id of the event."""
        return self.done("inbox", "push", *words).out.strip()


PROGRAM = [sys.executable, "-m", "gatepost.cli.main"]

#: how a command may get to the store
ROADS = ("alone", "through a gateway")
ALONE = pytest.mark.parametrize("office", ROADS[:1], indirect=True)
