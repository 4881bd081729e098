"""What happens to a drain, and to any command, when the other end of a pipe is gone, full, closed or interrupts."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import EITHER_WAY_BY_DAY, GATEPOST_COMMAND, WITHOUT_GATEWAY, CommandLine
from tests.support.processes.fork_server import ForkedProcess
from tests.support.servers.private_servers import wait_until
from tests.support.waits import LAST_RESORT

EITHER_WAY = True


def start_command(cli: CommandLine, *words: str, **streams: Any) -> ForkedProcess:
    return ForkedProcess(
        [*GATEPOST_COMMAND, *words], env=os.environ | cli.environ, cwd=cli.cwd, stderr=subprocess.PIPE, **streams
    )


def wait_for_exit(process: ForkedProcess) -> tuple[int, str]:
    _, err = process.communicate(timeout=LAST_RESORT)
    return process.returncode, err.decode()


def list_pending(cli: CommandLine) -> list[str]:
    return [item["content"] for item in cli.run_ok("inbox", "list", "--to", "analyst", "--json").json]


@EITHER_WAY_BY_DAY
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_drain_into_a_broken_pipe_delivers_nothing(cli: CommandLine, form: str) -> None:
    cli.push("--to", "analyst", "precious")
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = start_command(cli, "inbox", "drain", "--to", "analyst", "--format", form, stdout=write_end)
    os.close(write_end)
    assert wait_for_exit(process) == (141, "")
    assert list_pending(cli) == ["precious"]
    assert "precious" in cli.run_ok("inbox", "drain", "--to", "analyst").out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_drain_onto_a_full_disk_delivers_nothing(cli: CommandLine) -> None:
    cli.push("--to", "analyst", "precious")
    with Path("/dev/full").open("wb") as full_device:
        code, err = wait_for_exit(start_command(cli, "inbox", "drain", "--to", "analyst", stdout=full_device))
    assert (code, err) == (3, "error: the output cannot be written: No space left on device\n")
    assert list_pending(cli) == ["precious"]


@pytest.mark.parametrize("closed", [(0,), (0, 2), (2,)])
def test_a_stream_that_is_closed_is_replaced(cli: CommandLine, closed: tuple[int, ...]) -> None:
    """A file or a socket would take its number, and the event loop ends the process when it closes one of those."""
    code = (
        "import os, sys\n"
        "from gatepost.cli.main import run\n"
        "code = run(['--version'])\n"
        "null = os.stat(os.devnull).st_rdev\n"
        "os._exit(code or any(os.fstat(int(number)).st_rdev != null for number in sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, *map(str, closed)]
    result = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" ' + " ".join(f"{number}>&-" for number in closed), "sh", *command],
        env=os.environ | cli.environ,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    assert result.returncode == 0


def test_a_package_that_is_gone_is_named_with_what_helps(cli: CommandLine) -> None:
    code = "import sys; sys.modules['click'] = None\nfrom gatepost.cli.main import main\nsys.argv = ['', 'up']\nmain()"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, env=os.environ | cli.environ, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (3, "")
    error, hint = result.stderr.splitlines()
    assert error.startswith("error: the installation of Gatepost is damaged: ")
    assert hint == "hint: install it again; in a clone: `make clean`, then `make up`"


def test_a_drain_without_stdout_delivers_nothing(cli: CommandLine) -> None:
    cli.push("--to", "analyst", "precious")
    code, err = wait_for_exit(start_command(cli, "inbox", "drain", "--to", "analyst", preexec_fn=lambda: os.close(1)))
    assert (code, err) == (141, "")
    assert list_pending(cli) == ["precious"]


@EITHER_WAY_BY_DAY
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    ("stdout", "reason"), [(">/dev/full", "cannot be written to: No space left on device"), (">&-", "is closed")]
)
def test_a_hook_that_cannot_print_says_so_and_delivers_nothing(cli: CommandLine, stdout: str, reason: str) -> None:
    cli.push("--to", "analyst", "precious")
    process = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {stdout}', "sh", *GATEPOST_COMMAND, "hook", "SessionStart"],
        input=b'{"session_id": "s-1", "source": "startup"}',
        env=os.environ | cli.environ | {"GATEPOST_AGENT": "analyst"},
        cwd=cli.cwd,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert (process.returncode, process.stderr.decode()) == (
        0,
        f"gatepost: the host gets no answer: stdout {reason}\n",
    )
    wait_until(lambda: list_pending(cli) == ["precious"], "a gateway has released the batch after the hook has gone")


@EITHER_WAY_BY_DAY
def test_a_reader_that_leaves_in_the_middle_gets_it_again(cli: CommandLine) -> None:
    """The batch is larger than a pipe holds, so the drain is still writing when the reader leaves."""
    cli.push("--to", "analyst", "x" * 200_000)
    process = start_command(cli, "inbox", "drain", "--to", "analyst", "--json", stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read(1_000)
    process.stdout.close()
    assert process.wait(LAST_RESORT) == 141
    assert process.stderr is not None
    process.stderr.close()
    assert len(list_pending(cli)) == 1


@WITHOUT_GATEWAY
def test_a_killed_drain_is_given_out_again_after_its_hold(cli: CommandLine) -> None:
    cli.push("--to", "analyst", "x" * 200_000)
    cli.environ["GATEPOST_INBOX__HOLD"] = "1ms"
    process = start_command(cli, "inbox", "drain", "--to", "analyst", "--json", stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read(1_000)  # it has claimed, and is writing
    process.kill()
    process.communicate(timeout=LAST_RESORT)
    assert list_pending(cli) == []
    assert len(cli.run_ok("inbox", "drain", "--to", "analyst", "--json").json) == 1


@pytest.mark.parametrize("words", [["inbox", "--help"], ["config", "show"], ["export"]])
def test_other_commands_end_quietly_in_a_broken_pipe(cli: CommandLine, words: list[str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = start_command(cli, *words, stdout=write_end)
    os.close(write_end)
    assert wait_for_exit(process) == (141, "")


def test_an_interrupt_is_quiet_and_stores_nothing(cli: CommandLine) -> None:
    process = start_command(cli, "inbox", "push", "--to", "analyst", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"x" * 200_000)  # more than a pipe holds: when it is through, the command is reading
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    assert wait_for_exit(process) == (130, "")
    assert list_pending(cli) == []


INTERRUPT_SCRIPT = """
from gatepost.cli import main

async def step():
    pass

def ended(arguments):
    begun = step()
    raise KeyboardInterrupt

main._run_command = ended
main.main()
"""


def test_an_interrupt_before_a_step_has_begun_is_quiet(cli: CommandLine) -> None:
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPT_SCRIPT],
        env=os.environ | cli.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


def test_an_interrupt_keeps_what_was_printed_before(cli: CommandLine) -> None:
    program = """
from gatepost.cli import main


def print_and_stop(_):
    print("printed")
    raise KeyboardInterrupt


main._run_command = print_and_stop
main.main()
"""
    environ = os.environ | cli.environ | {"PYTHONUNBUFFERED": ""}  # with it, nothing could be lost
    result = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, "printed\n", "")


def test_without_stdin(cli: CommandLine) -> None:
    process = start_command(cli, "inbox", "push", "--to", "analyst", "-", preexec_fn=lambda: os.close(0))
    assert wait_for_exit(process) == (3, "error: there is no stdin to read\nhint: give the text itself instead of -\n")


@WITHOUT_GATEWAY
def test_colours_only_for_terminals_that_want_them(cli: CommandLine) -> None:
    import pty

    def read_error(**environ: str) -> bytes:
        master, slave = pty.openpty()
        process = ForkedProcess(
            [*GATEPOST_COMMAND, "inbox", "show", "evt_1"], stderr=slave, env=os.environ | cli.environ | environ
        )
        process.wait(LAST_RESORT)
        os.close(slave)
        output = os.read(master, 10_000)
        os.close(master)
        return output

    cli.environ.pop("NO_COLOR")
    assert read_error(TERM="xterm").startswith(b"\x1b[1;31merror:\x1b[0m ")
    assert read_error(TERM="xterm", NO_COLOR="").startswith(b"error: ")
    assert read_error(TERM="dumb").startswith(b"error: ")
