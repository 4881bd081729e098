"""A process that looks at the world outside for gates, and does nothing else: to be stopped while it looks."""

import asyncio
import sys
from contextlib import closing

from gatepost.adapters.command import ShellCommands
from gatepost.app import open_store
from gatepost.core.instants import MINUTE, SECOND
from gatepost.runtime.evaluator import Evaluator


def main(url: str) -> None:
    with closing(open_store(url)) as store:
        looking = Evaluator(
            store=store, commands=ShellCommands(), allowed=True, interval=30 * SECOND, limit=5 * MINUTE
        ).look()
        asyncio.run(looking)


if __name__ == "__main__":
    main(sys.argv[1])
