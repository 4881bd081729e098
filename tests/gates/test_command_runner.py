"""Commands as processes: what they are given, how they end, and that nothing of them is left."""

import asyncio
import os
from pathlib import Path

import pytest
import uvloop

from gatepost.gates.command_runner import ShellCommands
from gatepost.gates.condition_check import COMMAND_NOT_FOUND, CommandResult
from tests.support.waits import LAST_RESORT


async def run(
    command: str | list[str], *, stdin: str = "", limit: float = LAST_RESORT, folder: Path | None = None
) -> CommandResult:
    return await ShellCommands(folder).run(command, stdin=stdin, time_limit=limit)


@pytest.mark.parametrize(
    ("command", "result"),
    [
        ("cat; echo told >&2; exit 3", CommandResult(code=3, stdout="given\n", stderr="told\n")),
        (["printf", "%s", "$HOME; rm -rf x"], CommandResult(code=0, stdout="$HOME; rm -rf x")),
        ("kill -TERM $$", CommandResult(code=-15)),
        ("exec 0<&-; head -c 100000 /dev/zero | tr '\\0' x | wc -c", CommandResult(code=0, stdout="100000\n")),
    ],
)
async def test_how_a_command_ends(command: str | list[str], result: CommandResult) -> None:
    assert await run(command, stdin="given\n") == result


def test_one_that_reads_nothing_ends_well_on_the_loop_of_a_gateway() -> None:
    """A gateway runs on uvloop, which says in its own way that nobody reads any more."""

    async def run_many() -> list[CommandResult]:
        return await asyncio.gather(*(run("exit 0", stdin="x" * 100_000) for _ in range(30)))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(run_many()) == [CommandResult(code=0)] * 30


def test_what_it_says_to_people_can_be_printed() -> None:
    assert CommandResult(code=0, stdout="\x00\n a\x00\x1bb \nc").first_line == "ab"


@pytest.mark.parametrize("command", ["no-such-command-here", ["no-such-command-here"]])
async def test_one_that_is_not_there_says_so(command: str | list[str]) -> None:
    result = await run(command)
    assert (result.code, bool(result.first_line)) == (COMMAND_NOT_FOUND, True)


async def test_one_that_cannot_be_run(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a program")
    assert (await run([str(tmp_path / "text")])).code == 126
    assert (await run("pwd", folder=tmp_path)).stdout == f"{tmp_path}\n"


async def test_too_much_is_read_and_forgotten_whatever_it_does_not_read() -> None:
    result = await run("head -c 300000 /dev/zero | tr '\\0' x", stdin="y" * 1_000_000)
    assert (result.code, len(result.stdout)) == (0, 64 * 1024)


async def test_one_that_takes_too_long_is_cut_short() -> None:
    assert await run("sleep 600", limit=0.1) == CommandResult(code=None)


async def test_one_that_nobody_waits_for_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    task = asyncio.create_task(run(f"exec 3> '{pipe}'; echo here >&3; (sleep 600) & sleep 600"))
    with await asyncio.to_thread(pipe.open) as reader:
        assert await asyncio.to_thread(reader.readline) == "here\n"
        task.cancel()
        assert await asyncio.to_thread(reader.read) == "", "the last who could write has ended"
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_what_it_leaves_in_the_background_is_not_waited_for_nor_left(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read_pipe = asyncio.to_thread(pipe.read_text)
    result, _ = await asyncio.gather(run(f"exec 3> '{pipe}'; sleep 600 >/dev/null 2>&1 & echo done"), read_pipe)
    assert (result.code, result.first_line) == (0, "done")


@pytest.mark.parametrize(
    ("result", "first_line"),
    [
        (CommandResult(code=0, stdout="\n  \n first \nsecond"), "first"),
        (CommandResult(code=0, stderr="only\nthis"), "only"),
        (CommandResult(code=0), ""),
    ],
)
def test_what_a_command_said_is_its_first_line(result: CommandResult, first_line: str) -> None:
    assert result.first_line == first_line
