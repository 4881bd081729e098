"""
The processes behind a hook: its own, and that of the program that called it. Both are read from /proc; where there is
none, they are not known, and nothing is concluded from them.

The process of a program is named by its machine, its id and its beginning, so that another process, or a process in
another container, is never taken for it.
"""

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # a hook that only forwards imports this module, and has to start fast
    from collections.abc import Mapping

#: the clock by which Linux records when a process began
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
#: processes that stand between a program and its hook, and end with the hook
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox", "env", "timeout", "nice"})
#: how many of them there may be
_MAX_SHELLS = 4


def read_clock() -> float:
    """Return the seconds on the clock of `find_start`."""
    return time.clock_gettime(_CLOCK)


def find_start() -> float:
    """
    Return the last moment at which this process can have begun, because Linux counts in ticks, mostly of 10 ms; where
    that is not known, the present time.
    """
    fields = _read_stat("self")
    return (int(fields[20]) + 1) / os.sysconf("SC_CLK_TCK") if fields else read_clock()


def find_program(environ: "Mapping[str, str]", host: str) -> str | None:
    """Return the process of the program that called this hook; None if it is not known."""
    pid = environ.get("CLAUDE_PID", "") if host == "claude" else ""
    if not pid.isdecimal():
        pid = str(os.getppid())
        for _ in range(_MAX_SHELLS):
            fields = _read_stat(pid)
            if not fields or fields[0] not in _SHELLS:
                break
            pid = fields[2]
    return name_process(int(pid))


def name_process(pid: int) -> str | None:
    """Return the machine, the id and the beginning of a process of this machine; None if they are not known."""
    fields, machine = _read_stat(str(pid)), _name_machine()
    return f"{machine} {pid} {fields[20]}" if fields and machine and pid > 1 else None


def is_running(name: str) -> bool | None:
    """Return whether a process (from `name_process`) runs; None if it is one of another machine."""
    machine, _, process = name.partition(" ")
    pid, _, start = process.partition(" ")
    if machine != _name_machine():
        return None
    fields = _read_stat(pid)
    return bool(fields) and fields[20] == start and fields[1] != "Z"


def is_gone(program: str) -> bool:
    """Return True if a program (from `find_program`) ran on this machine and runs no more."""
    return is_running(program) is False


def _name_machine() -> str | None:
    """Return the boot of this machine and the namespace of process ids; None if they are not known."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def _read_stat(pid: str) -> list[str]:
    """Return the name, the state, the parent and so on of a process, as in proc(5); nothing if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            name, _, rest = file.read().decode(errors="replace").partition("(")[2].rpartition(") ")
    except OSError:
        return []
    return [name, *rest.split()]
