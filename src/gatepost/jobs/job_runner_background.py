"""
Run the jobs that verbs have written to the store, at least once.

Each kind of job has a handler. A handler that returns has done the job; one that raises has not, and the job is tried
again later (`RetryLater` names when). The jobs of a round run at the same time. A job that does not finish within its
hold goes to the next runner, so a handler must finish well within the hold or be safe to run twice. A new job wakes the
duty that has its handler, and no other; a round begins with a read, and writes only if a job is due.

A runner may name a shorter hold, which is renewed while its handlers run. Then the jobs of a process that was killed
are free soon, and a handler may take as long as it needs.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

from gatepost.core.ports import Reader, Store
from gatepost.core.times import SECOND, Duration
from gatepost.errors import Conflict, GatepostError
from gatepost.jobs import job_actions as jobs
from gatepost.jobs.job import Job
from gatepost.jobs.periodic_duty_background import Duty, open_task_group

#: seconds to wait for another runner that takes what is due
_MIN_WAIT: Final = 0.1

JobHandler = Callable[[Job], Awaitable[None]]


class RetryLater(Exception):
    """
    A handler raises this to have its job tried again after `retry_in`. An outage does not end a job, however long it
    lasts.
    """

    def __init__(self, reason: str, retry_in: Duration, *, is_outage: bool = False) -> None:
        super().__init__(reason)
        self.retry_in = retry_in
        self.is_outage = is_outage


def build_job_duty(
    name: str,
    store: Store,
    handlers: Mapping[str, JobHandler],
    holder: str,
    *,
    interval: float,
    hold: Duration | None = None,
    is_leased: bool = False,
) -> Duty:
    """Return the duty that runs the jobs of these handlers; if it is leased, in one process at a time."""
    return Duty(
        name,
        partial(run_due_jobs, store, handlers, holder, hold=hold),
        interval=interval,
        should_wake=lambda signal: signal.topic.name in handlers,
        store=store if is_leased else None,
        holder=holder,
        find_wait=partial(_find_wait, kinds=list(handlers)),
    )


async def run_due_jobs(
    store: Store, handlers: Mapping[str, JobHandler], holder: str, *, hold: Duration | None = None
) -> float | None:
    """
    Run the jobs that are due; return the seconds until the next job is due, None if there is none. A `hold` is renewed
    while the jobs run.
    """
    kinds, options = list(handlers), {} if hold is None else {"hold": hold}
    while (wait := await store.read(_find_wait, kinds)) == 0.0:
        due_jobs = await store.run(jobs.take, kinds, holder, **options, lane="jobs")
        if not due_jobs:
            return _MIN_WAIT
        async with _renew_holds(store, due_jobs, holder, hold), asyncio.TaskGroup() as group:
            for job in due_jobs:
                group.create_task(_run_job(store, handlers[job.kind], job, holder))
    return wait


@asynccontextmanager
async def _renew_holds(
    store: Store, held_jobs: Sequence[Job], holder: str, hold: Duration | None
) -> AsyncIterator[None]:
    async def renew_at_intervals(hold: Duration) -> None:
        while True:
            await asyncio.sleep(hold / SECOND / 3)
            with suppress(GatepostError):  # another runner may take them: then they are done twice
                await store.run(jobs.renew, [job.id for job in held_jobs], holder, hold, lane="jobs")

    async with open_task_group() as group:
        renewal = group.create_task(renew_at_intervals(hold)) if hold is not None else None
        try:
            yield
        finally:
            if renewal is not None:
                renewal.cancel()


async def _run_job(store: Store, handler: JobHandler, job: Job, holder: str) -> None:
    try:
        await handler(job)
    except RetryLater as retry:
        options = {"retry_in": retry.retry_in, "is_outage": retry.is_outage}
        await store.run(jobs.fail, job, holder, str(retry), **options, lane="jobs")
    except Exception as error:  # noqa: BLE001 (whatever it was, the job is tried again and keeps the reason)
        await store.run(jobs.fail, job, holder, str(error) or repr(error), lane="jobs")
    else:
        with suppress(Conflict):  # it took longer than the hold, and another runner has the job: it is done twice
            await store.run(jobs.complete, job.id, holder, lane="jobs")


def _find_wait(tx: Reader, kinds: list[str]) -> float | None:
    due = jobs.find_next_due(tx, kinds)
    return max(0.0, (due - tx.now) / SECOND) if due is not None else None
