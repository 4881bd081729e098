"""A process that looks at the world outside for gates, and does nothing else: to be stopped while it looks."""

import asyncio
import sys
from contextlib import closing
from pathlib import Path

from gatepost.app import open_store
from gatepost.core.times import MINUTE
from gatepost.gates import condition_check_background
from gatepost.gates.command_runner import ShellCommands
from gatepost.gates.condition_check_background import GateCommandOptions
from tests.faults.forked_tasks import SharedClock


def main(url: str, clock_file: str) -> None:
    with closing(open_store(url, clock=SharedClock(Path(clock_file)))) as store:
        options = GateCommandOptions(commands=ShellCommands(), can_run_commands=True, timeout=5 * MINUTE)
        asyncio.run(condition_check_background.check_gates(store, options))


if __name__ == "__main__":
    main(*sys.argv[1:])
