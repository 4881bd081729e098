"""
Run a command on a machine that is not quiet: beside two processes for each core that never wait.

    python -m tools.busy COMMAND ...

A test that passes alone and fails here waits for a time instead of a signal, or has found a race. The exit code is that
of the command. The busy processes end with this one, however it ends.
"""

import os
import subprocess
import sys
from contextlib import ExitStack

# It ends when the pipe from the process that started it closes.
BUSY_PROGRAM = """
import select, sys
while not select.select([sys.stdin], [], [], 0)[0]:
    sum(range(100_000))
"""


def run_beside_load(command: list[str]) -> int:
    with ExitStack() as stack:
        for _ in range(2 * (os.cpu_count() or 1)):
            process = subprocess.Popen([sys.executable, "-c", BUSY_PROGRAM], stdin=subprocess.PIPE)
            stack.enter_context(process)  # closes the pipe and waits
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"usage: {__doc__}")
    sys.exit(run_beside_load(sys.argv[1:]))
