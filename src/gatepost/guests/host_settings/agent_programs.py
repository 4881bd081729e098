"""
The agent programs on this machine: which are installed, in which version, and in which terminals they run now.

A program is found by its command on the PATH; one without a command by its settings folder. Terminals are found in
/proc; where there is none, they are not known. A program that starts another of its own, such as a script that starts
the native program, counts once. Background services have no terminal, and do not count.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from gatepost.guests.setup_api import TITLES

#: seconds that a program may take to say its version; some start slowly
_VERSION_TIMEOUT: Final = 20.0
_VERSION: Final = re.compile(r"\d+\.\d+[\w.+-]*")


class _ProgramName(NamedTuple):
    #: its commands, and the scripts that these start
    commands: tuple[str, ...]
    #: a folder in the user's home that tells that the program is used, if it has no command
    folder: str | None = None


_PROGRAM_NAMES: Final[Mapping[str, _ProgramName]] = {
    "claude": _ProgramName(("claude",)),
    "codex": _ProgramName(("codex", "codex.js")),
    "gemini": _ProgramName(("gemini", "gemini.js")),
    "cursor": _ProgramName(("cursor-agent",), ".cursor"),
    "opencode": _ProgramName(("opencode",)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProgram:
    """A program that is installed here."""

    #: what `--host` calls it
    host: str
    title: str
    #: its command; None for a program that has only a settings folder
    path: str | None
    #: None if it does not say its version
    version: str | None
    #: the ids of its processes that have a terminal; None if processes cannot be listed here
    terminals: tuple[int, ...] | None


def find_programs(hosts: Iterable[str], environ: Mapping[str, str]) -> list[AgentProgram]:
    """Return the programs of these hosts that are installed here."""
    paths = {host: _find_command(host, environ) for host in hosts}
    home = Path(environ.get("HOME") or Path.home())
    installed = [
        host
        for host, path in paths.items()
        if path is not None or ((folder := _PROGRAM_NAMES[host].folder) is not None and (home / folder).is_dir())
    ]
    processes = _list_processes()
    with ThreadPoolExecutor(len(installed) or 1) as pool:
        versions = pool.map(lambda host: _read_version(paths[host], environ), installed)
    return [
        AgentProgram(
            host=host,
            title=TITLES[host],
            path=paths[host],
            version=version,
            terminals=None if processes is None else _find_terminals(host, processes),
        )
        for host, version in zip(installed, versions, strict=True)
    ]


def find_terminals(host: str) -> tuple[int, ...]:
    """Return the processes of a program that have a terminal; none where processes cannot be listed."""
    return _find_terminals(host, _list_processes() or {})


def _find_command(host: str, environ: Mapping[str, str]) -> str | None:
    return shutil.which(_PROGRAM_NAMES[host].commands[0], path=environ.get("PATH", os.defpath))


def _read_version(path: str | None, environ: Mapping[str, str]) -> str | None:
    """Return the version that a program says; None if it says none in time."""
    if path is None:
        return None
    try:
        result = subprocess.run(  # noqa: S603 (the user's own program)
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environ),
            timeout=_VERSION_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(result.stdout.decode(errors="replace"))
    return match[0] if match else None


class _Process(NamedTuple):
    id: int
    parent: int
    has_terminal: bool
    #: the names of its program, and of the script that it runs
    names: frozenset[str]


def _list_processes() -> dict[int, _Process] | None:
    """Return the processes of this user; None if they cannot be listed."""
    try:
        ids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 (names will do)
    except OSError:
        return None
    return {process.id: process for process in map(_read_process, ids) if process is not None}


def _read_process(id: int) -> _Process | None:
    """Return a process of this user; None for any other, and for one that has ended."""
    folder = Path(f"/proc/{id}")
    try:
        if folder.stat().st_uid != os.getuid():
            return None
        fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")[:2]
    except OSError:
        return None
    # proc(5): after the name come the state, the parent, the group, the session and the terminal
    return _Process(id, int(fields[1]), int(fields[4]) != 0, frozenset(Path(word).name for word in words if word))


def _find_terminals(host: str, processes: Mapping[int, _Process]) -> tuple[int, ...]:
    """Return the processes of a program that have a terminal and were started by something else."""
    commands = set(_PROGRAM_NAMES[host].commands)

    def is_program(process: _Process) -> bool:
        return bool(process.names & commands) and process.has_terminal

    def has_program_above(process: _Process) -> bool:
        return any(is_program(parent) for parent in _list_parents(process, processes))

    return tuple(process.id for process in processes.values() if is_program(process) and not has_program_above(process))


def _list_parents(process: _Process, processes: Mapping[int, _Process]) -> Iterator[_Process]:
    seen = {process.id}
    while (parent := processes.get(process.parent)) is not None and parent.id not in seen:
        seen.add(parent.id)
        yield (process := parent)
