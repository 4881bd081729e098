"""
The process that gets killed: `python -m tests.faults.stores.worker URL FOLDER`.

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

from gatepost.app import open_store, parse_sqlite_path
from gatepost.core.policy import Policy
from gatepost.core.ports import Store
from gatepost.stores import postgres, sqlite  # noqa: F401 (imported before the fork, for speed)
from gatepost.worker import background_tasks
from tests.faults.commit_points import KillPoint, watch_store
from tests.faults.stores import journal, loads, rounds
from tests.faults.stores.journaled_client import JournaledClient
from tests.faults.stores.statements import add_migration, observe_statements


def main(url: str, folder: Path) -> None:
    for line in sys.stdin:
        job = json.loads(line)
        journal.read_journals(folder, "journal")  # here once, rather than all of them in every child
        child = os.fork()
        if child == 0:
            run_life(url, folder, job)
        _, status = os.waitpid(child, 0)
        send_message(ended=os.waitstatus_to_exitcode(status))
    os._exit(0)  # the clean-up of the interpreter costs more than a life


def run_life(url: str, folder: Path, job: dict[str, Any]) -> NoReturn:
    """Live one life and end the process, whatever happens."""
    threading.Thread(target=exit_with_test, daemon=True).start()
    try:
        run_job(url, folder, **job)
        os._exit(0)
    except BaseException:  # noqa: BLE001 (a forked child must not go on as its parent)
        traceback.print_exc()
        os._exit(1)


def exit_with_test() -> None:
    """Leave nothing behind when the test is gone: then the other end of stdin is closed."""
    poller = select.poll()
    poller.register(0, 0)
    poller.poll()
    os._exit(1)


def run_job(url: str, folder: Path, *, life: str, kind: str, **details: Any) -> None:
    policy = Policy(remember=1) if kind == "quarrel" else None
    store = cast(Any, open_store(url, policy=policy))
    client = JournaledClient(store, folder, life)
    stop_event, request_event = threading.Event(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop_event.set())
    signal.signal(signal.SIGUSR1, lambda *_: request_event.set())
    send_message(started=os.getpid())
    match kind:
        case "migrate":
            send_message(visited=migrate(store, **details))
        case "sync" | "group":
            kill_point = KillPoint(**details)
            watch_store(store, kill_point)
            rounds.retry_unanswered(client, folder)
            if kind == "sync":
                rounds.run_sync_round(store, client, life, kill_point)
            else:
                asyncio.run(rounds.run_group_round(store, client, life, kill_point))
            send_message(visited=kill_point.point_counts)
        case "mail":
            kill_point = KillPoint(**details)
            watch_store(store, kill_point)
            rounds.run_mail_round(store, life, kill_point)
            send_message(visited=kill_point.point_counts)
        case "triggers":
            kill_point = KillPoint(**details)
            watch_store(store, kill_point)
            kill_point.is_armed = True
            asyncio.run(background_tasks.fire_due_triggers(store))
            send_message(visited=kill_point.point_counts)
        case "load":
            asyncio.run(loads.run_load(client, life, on_warm=report_warm, stop=stop_event, **details))
        case "crowd":
            asyncio.run(loads.run_crowd(client, life, on_warm=report_warm, stop=stop_event, **details))
        case "besieged":
            asyncio.run(
                loads.run_persistent_callers(
                    client, life, on_warm=report_warm, stop=stop_event, request_event=request_event, **details
                )
            )
        case "rationed":
            wal = Path(f"{parse_sqlite_path(url)}-wal")
            asyncio.run(
                loads.run_with_file_limit(client, life, measure_file=lambda: wal.stat().st_size, on_warm=report_warm)
            )
        case "quarrel":
            asyncio.run(loads.run_conflicting_writes(store, life, on_warm=report_warm, stop=stop_event))
        case _:
            raise ValueError(kind)
    store.close()


def migrate(store: Store, *, nth: int = 0, extra: bool = False) -> int:
    """Migrate, but die before the nth statement; return how many there were."""
    count = 0

    def on_statement(statement: str) -> None:
        nonlocal count
        count += 1
        if count == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    with observe_statements(on_statement), add_migration() if extra else nullcontext():
        store.migrate()
    return count


def report_warm() -> None:
    send_message(warm=True)


def send_message(**facts: Any) -> None:
    os.write(1, (json.dumps(facts) + "\n").encode())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
