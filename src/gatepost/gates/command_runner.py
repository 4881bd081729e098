"""Run commands as processes on this machine."""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from gatepost.gates.condition_check import COMMAND_NOT_FOUND, CommandResult

#: bytes kept of the output of a command; the rest is read and dropped
_MAX_OUTPUT_BYTES: Final = 64 * 1024
_READ_SIZE: Final = 64 * 1024


class ShellCommands:
    """Runs commands in a folder, each in its own process group."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    async def run(self, command: str | Sequence[str], *, stdin: str = "", time_limit: float) -> CommandResult:
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        try:
            process = await _start(argv, self._folder)
        except (FileNotFoundError, NotADirectoryError):
            return CommandResult(code=COMMAND_NOT_FOUND, stderr=f"{argv[0]} is not here")
        except OSError as error:
            return CommandResult(code=126, stderr=f"{argv[0]} cannot be run: {error.strerror}")
        try:
            async with asyncio.timeout(time_limit):
                return await _communicate(process, stdin.encode())
        except TimeoutError:
            return CommandResult(code=None)
        finally:
            await _kill(process)


async def _start(argv: Sequence[str], folder: Path | None) -> Process:
    """Start a command. If cancelled meanwhile, kill its process group: asyncio would kill only the first process."""
    start_task = asyncio.ensure_future(
        asyncio.create_subprocess_exec(*argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=folder, start_new_session=True)
    )
    try:
        return await asyncio.shield(start_task)
    except asyncio.CancelledError:
        with suppress(OSError):
            await _kill(await start_task)
        raise


async def _communicate(process: Process, stdin: bytes) -> CommandResult:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    _, out, err = await asyncio.gather(
        _write_input(process.stdin, stdin), _read_output(process.stdout), _read_output(process.stderr)
    )
    return CommandResult(code=await process.wait(), stdout=out, stderr=err)


async def _write_input(stream: asyncio.StreamWriter, content: bytes) -> None:
    with suppress(ConnectionError, RuntimeError):  # the command does not read all of it; uvloop raises RuntimeError
        stream.write(content)
        await stream.drain()
        stream.close()
        await stream.wait_closed()


async def _read_output(stream: asyncio.StreamReader) -> str:
    output = b""
    while chunk := await stream.read(_READ_SIZE):
        output += chunk[: _MAX_OUTPUT_BYTES - len(output)]
    return output.decode(errors="replace")


async def _kill(process: Process) -> None:
    """Kill the process group, including background processes of the command, which could write for ever."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
