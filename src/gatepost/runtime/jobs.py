"""
The errand boy: does what verbs have written down, at least once.

Each kind of errand has a handler. A handler that returns has done it; one that raises has not, and it is tried again
later, `Later` naming when. Errands of a round are done side by side; what is not finished within the hold goes to the
next runner, so a handler should be done well within it or be safe to be doubled.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

from gatepost.actions import jobs
from gatepost.core.errand import Job
from gatepost.core.frame import TransportMessage
from gatepost.core.signals import Signal
from gatepost.core.times import SECOND, Duration
from gatepost.errors import Conflict, Unavailable
from gatepost.ports import CommandRunner, Reader, Store
from gatepost.telemetry import hide_secrets

#: seconds that a command may take, well within the hold of an errand
_COMMAND_TIMEOUT: Final = 60.0

JobHandler = Callable[[Job], Awaitable[None]]


class RetryLater(Exception):
    """Not now: try again in so long."""

    def __init__(self, reason: str, retry_in: Duration) -> None:
        super().__init__(reason)
        self.retry_in = retry_in


async def run_due_jobs(store: Store, handlers: Mapping[str, JobHandler], holder: str) -> float | None:
    """Do what is due; return in how many seconds there is more."""
    while due_jobs := await store.run(jobs.take, list(handlers), holder, lane="errands"):
        async with asyncio.TaskGroup() as group:
            for job in due_jobs:
                group.create_task(_run_job(store, handlers[job.kind], job, holder))
    return await store.read(_get_seconds_until_due, list(handlers))


async def run_answer_command(commands: CommandRunner, command: str, job: Job) -> None:
    """
    Run the command of `decision.on_answer`, with the answer as JSON on its stdin. One that does not end with 0 has
    failed, and is run again later.
    """
    result = await commands.run(command, stdin=json.dumps(job.payload, ensure_ascii=False), time_limit=_COMMAND_TIMEOUT)
    if result.code is None:
        raise Unavailable(f"decision.on_answer took over {_COMMAND_TIMEOUT:.0f} seconds")
    if result.code != 0:
        detail = f": {hide_secrets(result.first_line)}" if result.first_line else ""
        raise Unavailable(f"decision.on_answer ended with {result.code}{detail}")


def is_wake_signal(signal: TransportMessage) -> bool:
    """Whether a signal says that there is something to do."""
    return isinstance(signal, Signal) and signal.recipient.startswith("errand:")


async def _run_job(store: Store, handler: JobHandler, job: Job, holder: str) -> None:
    try:
        await handler(job)
    except RetryLater as retry:
        await store.run(jobs.fail, job, holder, str(retry), retry_in=retry.retry_in, lane="errands")
    except Exception as error:  # noqa: BLE001 (whatever it was, it is tried again, and written down)
        await store.run(jobs.fail, job, holder, str(error) or repr(error), lane="errands")
    else:
        with suppress(Conflict):  # it took longer than the hold, and another runner has it: it will be done twice
            await store.run(jobs.complete, job.id, holder, lane="errands")


def _get_seconds_until_due(tx: Reader, kinds: list[str]) -> float | None:
    due = jobs.find_next_due(tx, kinds)
    return max(0.0, (due - tx.now) / SECOND) if due is not None else None
