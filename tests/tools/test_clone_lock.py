"""One tool at a time installs and builds in a clone, and what it has started counts, too."""

import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from tests.support.waits import LAST_RESORT
from tools.clone_lock import ROOT, hold_lock

#: Holds the lock of a folder and says so once a program runs that waits for the end of its input.
HOLDER = """
import pathlib, subprocess, sys
from tools.clone_lock import hold_lock
with hold_lock(pathlib.Path(sys.argv[1])):
    program = subprocess.Popen(["cat"], close_fds=False)
    print("holds it", flush=True)
    program.wait()
"""


def start_holder(folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", HOLDER, str(folder)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def read_line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_second_tool_waits_for_the_first_and_for_what_it_has_started(tmp_path: Path, is_killed: bool) -> None:
    with start_holder(tmp_path) as first:
        assert read_line(first.stdout) == "holds it\n"
        if is_killed:
            first.kill()
            first.wait(LAST_RESORT)
        with start_holder(tmp_path) as second:
            assert read_line(second.stderr) == "another `make` installs or builds in this folder; waiting for it\n"
            assert first.stdin is not None
            first.stdin.close()  # ends what it has started
            assert read_line(second.stdout) == "holds it\n"


def test_nothing_remains_of_a_lock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        with hold_lock(tmp_path):
            pass
    assert capsys.readouterr().err == ""
    assert not list(tmp_path.iterdir())
