"""An export that is ended or killed leaves no part of a file for good, and takes nothing from one that still runs."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.command_line import GATEPOST_COMMAND
from tests.support.waits import LAST_RESORT

#: the command itself, but it stops in the middle of its file until its stdin ends
STALLED_EXPORT = """
import sys
from gatepost.export import export_actions as export
from gatepost.cli.main import main

def write_half(tx, write, **options):
    write(b"x" * 100_000)
    print("half", flush=True)
    sys.stdin.read()
    return export.Summary()

export.export_store = write_half
sys.argv = ["gatepost", "export", "out.jsonl", "--force"]
main()
"""

Start = Callable[..., "subprocess.Popen[bytes]"]


def restore_signals() -> None:
    """Let signals end a process also if this test runs under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Of a home with an empty store."""
    environ = os.environ | {"GATEPOST_HOME": str(tmp_path / "home")}
    subprocess.run([*GATEPOST_COMMAND, "init"], env=environ, check=True, capture_output=True)
    return environ


@pytest.fixture
def start(folder: Path, environ: dict[str, str]) -> Iterator[Start]:
    """Start an export, and return when half of its file is written."""
    with ExitStack() as stack:

        def start_export(**options: object) -> "subprocess.Popen[bytes]":
            process: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload]
                [sys.executable, "-c", STALLED_EXPORT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=environ,
                **({"preexec_fn": restore_signals} | options),
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == b"half\n"
            return process

        yield start_export


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def end(process: "subprocess.Popen[bytes]", number: signal.Signals) -> tuple[int, bytes]:
    process.send_signal(number)
    _, err = process.communicate(timeout=LAST_RESORT)
    return process.returncode, err


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + 15), (signal.SIGHUP, 128 + 1)]
)
def test_a_signal_ends_it_and_the_old_file_stays(start: Start, folder: Path, number: signal.Signals, code: int) -> None:
    (folder / "out.jsonl").write_text("old")
    process = start()
    assert len(list_names(folder)) == 2
    returned, err = end(process, number)
    assert returned == code
    assert b"Traceback" not in err
    assert list_names(folder) == ["out.jsonl"]
    assert (folder / "out.jsonl").read_text() == "old"


def test_a_hangup_that_is_ignored_does_not_end_it(start: Start, folder: Path) -> None:
    """As `nohup` does."""
    process = start(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=LAST_RESORT)
    assert process.returncode == 0
    assert (folder / "out.jsonl").stat().st_size == 100_000
    assert list_names(folder) == ["out.jsonl"]


def test_the_next_one_removes_what_a_killed_one_has_left(start: Start, folder: Path, environ: dict[str, str]) -> None:
    (folder / ".other.jsonl.0a1b2c3d.part").write_text("of another file")
    (folder / ".out.jsonl.part").write_text("of somebody else")
    others = list_names(folder)
    for _ in range(2):
        end(start(), signal.SIGKILL)
        [left] = {*list_names(folder)} - {*others}
        assert left.startswith(".out.jsonl.")
        assert left.endswith(".part")
    subprocess.run([*GATEPOST_COMMAND, "export", "out.jsonl"], cwd=folder, env=environ, capture_output=True, check=True)
    assert list_names(folder) == [*others, "out.jsonl"]


def test_the_next_one_leaves_alone_what_another_writes(start: Start, folder: Path, environ: dict[str, str]) -> None:
    first = start()
    [part] = list_names(folder)
    end(start(), signal.SIGKILL)
    subprocess.run([*GATEPOST_COMMAND, "export", "out.jsonl"], cwd=folder, env=environ, capture_output=True, check=True)
    assert list_names(folder) == [part, "out.jsonl"]
    first.communicate(timeout=LAST_RESORT)
    assert first.returncode == 0
    assert list_names(folder) == ["out.jsonl"]
    assert (folder / "out.jsonl").stat().st_size == 100_000, "the last one wins"
