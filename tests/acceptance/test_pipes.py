"""What happens to a drain, and to any command, when the other end of a pipe is gone, full, closed or interrupts."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.office import ALONE, PROGRAM, Office

EITHER_WAY = True


def start(office: Office, *words: str, **streams: object) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [*PROGRAM, *words], env=os.environ | office.environ, cwd=office.here, stderr=subprocess.PIPE, **streams
    )


def ended(process: "subprocess.Popen[bytes]") -> tuple[int, str]:
    _, err = process.communicate(timeout=60)
    return process.returncode, err.decode()


def waiting(office: Office) -> list[str]:
    return [item["content"] for item in office.done("inbox", "list", "--to", "analyst", "--json").json]


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_drain_into_a_broken_pipe_delivers_nothing(office: Office, form: str) -> None:
    office.push("--to", "analyst", "precious")
    reading, writing = os.pipe()
    os.close(reading)
    process = start(office, "inbox", "drain", "--to", "analyst", "--format", form, stdout=writing)
    os.close(writing)
    assert ended(process) == (141, "")
    assert waiting(office) == ["precious"]
    assert "precious" in office.done("inbox", "drain", "--to", "analyst").out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_drain_onto_a_full_disk_delivers_nothing(office: Office) -> None:
    office.push("--to", "analyst", "precious")
    with Path("/dev/full").open("wb") as full:
        code, err = ended(start(office, "inbox", "drain", "--to", "analyst", stdout=full))
    assert (code, err) == (3, "error: cannot read or write: No space left on device\n")
    assert waiting(office) == ["precious"]


def test_a_drain_without_stdout_delivers_nothing(office: Office) -> None:
    office.push("--to", "analyst", "precious")
    code, err = ended(start(office, "inbox", "drain", "--to", "analyst", preexec_fn=lambda: os.close(1)))
    assert (code, err) == (141, "")
    assert waiting(office) == ["precious"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    ("stdout", "reason"), [(">/dev/full", "cannot be written to: No space left on device"), (">&-", "is closed")]
)
def test_a_hook_that_cannot_print_says_so_and_delivers_nothing(office: Office, stdout: str, reason: str) -> None:
    office.push("--to", "analyst", "precious")
    process = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {stdout}', "sh", *PROGRAM, "hook", "SessionStart"],
        input=b'{"session_id": "s-1", "source": "startup"}',
        env=os.environ | office.environ | {"GATEPOST_AGENT": "analyst"},
        cwd=office.here,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert (process.returncode, process.stderr.decode()) == (
        0,
        f"gatepost: the host is told nothing: stdout {reason}\n",
    )
    assert waiting(office) == ["precious"]


def test_a_reader_that_leaves_in_the_middle_gets_it_again(office: Office) -> None:
    """The batch is larger than a pipe holds, so the drain is still writing when the reader leaves."""
    office.push("--to", "analyst", "x" * 200_000)
    process = start(office, "inbox", "drain", "--to", "analyst", "--json", stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read(1_000)
    process.stdout.close()
    assert process.wait(60) == 141
    assert process.stderr is not None
    process.stderr.close()
    assert len(waiting(office)) == 1


@ALONE
def test_a_killed_drain_is_given_out_again_after_its_hold(office: Office) -> None:
    office.push("--to", "analyst", "x" * 200_000)
    office.environ["GATEPOST_INBOX__HOLD"] = "1ms"
    process = start(office, "inbox", "drain", "--to", "analyst", "--json", stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read(1_000)  # it has claimed, and is writing
    process.kill()
    process.communicate(timeout=60)
    assert waiting(office) == []
    assert len(office.done("inbox", "drain", "--to", "analyst", "--json").json) == 1


@pytest.mark.parametrize("words", [["inbox", "--help"], ["config", "show"], ["export"]])
def test_other_commands_end_quietly_in_a_broken_pipe(office: Office, words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = start(office, *words, stdout=writing)
    os.close(writing)
    assert ended(process) == (141, "")


def test_an_interrupt_is_quiet_and_stores_nothing(office: Office) -> None:
    process = start(office, "inbox", "push", "--to", "analyst", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"x" * 200_000)  # more than a pipe holds: when it is through, the command is reading
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    assert ended(process) == (130, "")
    assert waiting(office) == []


INTERRUPTED = """
from gatepost.cli import main

async def step():
    pass

def ended(arguments):
    begun = step()
    raise KeyboardInterrupt

main._ended = ended
main.main()
"""


def test_an_interrupt_before_a_step_has_begun_is_quiet(office: Office) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        env=os.environ | office.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


def test_without_stdin(office: Office) -> None:
    process = start(office, "inbox", "push", "--to", "analyst", "-", preexec_fn=lambda: os.close(0))
    assert ended(process) == (3, "error: there is no stdin to read\n")


@ALONE
def test_colours_only_for_terminals_that_want_them(office: Office) -> None:
    import pty

    def told(**environ: str) -> bytes:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [*PROGRAM, "inbox", "show", "evt_1"], stderr=theirs, env=os.environ | office.environ | environ
        )
        process.wait(60)
        os.close(theirs)
        said = os.read(ours, 10_000)
        os.close(ours)
        return said

    office.environ.pop("NO_COLOR")
    assert told(TERM="xterm").startswith(b"\x1b[1;31merror:\x1b[0m ")
    assert told(TERM="xterm", NO_COLOR="").startswith(b"error: ")
    assert told(TERM="dumb").startswith(b"error: ")
