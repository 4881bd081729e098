"""
The process that gets killed: `python -m tests.faults.worker URL FOLDER`.

It reads jobs from stdin, a line of JSON each, and for every one forks a child that lives it. The child has everything
imported already, opens the store itself, and says `started` and its number; when it has ended, its parent says how.
"""

import asyncio
import json
import os
import select
import signal
import sys
import threading
import traceback
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NoReturn, cast

from gatepost.adapters.stores import postgres, sqlite  # noqa: F401 (imported before the fork, for speed)
from gatepost.app import open_store, parse_sqlite_path
from gatepost.core.limits import Limits
from gatepost.ports import Store
from tests.faults import loads, rounds
from tests.faults.clerk import Clerk
from tests.faults.points import Doom, watch
from tests.faults.statements import one_more, told


def main(url: str, folder: Path) -> None:
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            live(url, folder, job)
        _, status = os.waitpid(child, 0)
        say(ended=os.waitstatus_to_exitcode(status))


def live(url: str, folder: Path, job: dict[str, Any]) -> NoReturn:
    """Live one life and end the process, whatever happens."""
    threading.Thread(target=end_with_test, daemon=True).start()
    try:
        run(url, folder, **job)
        os._exit(0)
    except BaseException:  # noqa: BLE001 (a forked child must not go on as its parent)
        traceback.print_exc()
        os._exit(1)


def end_with_test() -> None:
    """Leave nothing behind when the test is gone: then the other end of stdin is closed."""
    closed = select.poll()
    closed.register(0, 0)
    closed.poll()
    os._exit(1)


def run(url: str, folder: Path, *, life: str, kind: str, **details: Any) -> None:
    limits = Limits(remember=1) if kind == "quarrel" else None
    store = cast(Any, open_store(url, limits=limits))
    clerk = Clerk(store, folder, life)
    stop, asked = threading.Event(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGUSR1, lambda *_: asked.set())
    say(started=os.getpid())
    match kind:
        case "migrate":
            say(visited=migrate(store, **details))
        case "sync" | "group":
            doom = Doom(**details)
            watch(store, doom)
            rounds.retry(clerk, folder)
            if kind == "sync":
                rounds.sync_round(store, clerk, life, doom)
            else:
                asyncio.run(rounds.group_round(store, clerk, life, doom))
            say(visited=doom.visited)
        case "load":
            asyncio.run(loads.load(clerk, life, warm=warm, stop=stop, **details))
        case "crowd":
            asyncio.run(loads.crowd(clerk, life, warm=warm, stop=stop, **details))
        case "besieged":
            asyncio.run(loads.besieged(clerk, life, warm=warm, stop=stop, asked=asked, **details))
        case "rationed":
            wal = Path(f"{parse_sqlite_path(url)}-wal")
            asyncio.run(loads.rationed(clerk, life, size=lambda: wal.stat().st_size, warm=warm))
        case "quarrel":
            asyncio.run(loads.quarrel(store, life, warm=warm, stop=stop))
        case _:
            raise ValueError(kind)
    store.close()


def migrate(store: Store, *, nth: int = 0, extra: bool = False) -> int:
    """Migrate, but die before the nth statement; return how many there were."""
    count = 0

    def visit(statement: str) -> None:
        nonlocal count
        count += 1
        if count == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    with told(visit), one_more() if extra else nullcontext():
        store.migrate()
    return count


def warm() -> None:
    say(warm=True)


def say(**facts: Any) -> None:
    os.write(1, (json.dumps(facts) + "\n").encode())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
