"""A process that looks at the world outside for gates, and does nothing else: to be stopped while it looks."""

import asyncio
import sys
from contextlib import closing

from gatepost.adapters.command import ShellCommands
from gatepost.app import open_store
from gatepost.core.instants import MINUTE
from gatepost.runtime import evaluator
from gatepost.runtime.evaluator import Reach


def main(url: str) -> None:
    with closing(open_store(url)) as store:
        reach = Reach(commands=ShellCommands(), allowed=True, limit=5 * MINUTE)
        asyncio.run(evaluator.look(store, reach))


if __name__ == "__main__":
    main(sys.argv[1])
