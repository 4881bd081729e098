"""
The duties of a worker for a public ledger: post what was sent, and read what others have posted.

One process at a time does each of them, because the messages of a sender have an order. Both are correct without that:
what is done twice is done once (`actions/ledger_posts.py`, `actions/ledger_intake.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from gatepost.actions.connections import CONNECTION_JOB
from gatepost.actions.ledger import POST_JOB
from gatepost.actions.ledger_profiles import SYNC_JOB
from gatepost.core.public_ledger import PublicLedger
from gatepost.ports import Store
from gatepost.runtime import jobs
from gatepost.runtime.ledger_connections import LedgerConnections
from gatepost.runtime.ledger_listener import LedgerListener
from gatepost.runtime.ledger_poster import LedgerPoster, retry_outages
from gatepost.runtime.ledger_profiles import ProfilePublisher
from gatepost.runtime.ledger_steps import LedgerSteps
from gatepost.runtime.periodic import Duty, is_about


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerOptions:
    ledger: PublicLedger
    #: seconds between two rounds of the listener
    poll: float = 5.0
    #: tinybars that the operator puts into an account that is new, or empty
    fund: int = 100_000_000


def build_ledger_duties(store: Store, options: LedgerOptions, holder: str, interval: float) -> Iterator[Duty]:
    """Return the duties; `interval` are the seconds between two looks for jobs whose signal was lost."""
    steps = LedgerSteps(store, options.ledger, fund=options.fund)
    handlers = {
        POST_JOB: retry_outages(steps.store, LedgerPoster(steps).run_job),
        SYNC_JOB: retry_outages(steps.store, ProfilePublisher(steps).run_job),
        CONNECTION_JOB: retry_outages(steps.store, LedgerConnections(steps).run_job),
    }
    run_jobs = partial(jobs.run_due_jobs, store, handlers, holder)
    yield Duty(
        "ledger-jobs",
        run_jobs,
        interval=interval,
        should_wake=partial(is_about, "job"),
        store=store,
        holder=holder,
    )
    listener = LedgerListener(store, options.ledger)
    yield Duty("ledger-listener", listener.run_round, interval=options.poll, store=store, holder=holder)
