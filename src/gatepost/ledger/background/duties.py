"""
The duties of a worker for a public ledger: post what was sent, and read what others have posted.

One process at a time does each of them, because the messages of a sender have an order. Both are correct without that:
what is done twice is done once (`ledger/posting_actions.py`, `ledger/intake_actions.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from gatepost.core.ports import Store
from gatepost.jobs.background import job_runner as jobs
from gatepost.jobs.background.periodic_duty import Duty, is_about
from gatepost.ledger.background.listener import LedgerListener
from gatepost.ledger.background.poster import LedgerPoster, retry_outages
from gatepost.ledger.background.profile_publisher import ProfilePublisher
from gatepost.ledger.background.transaction_steps import LedgerSteps
from gatepost.ledger.connections.actions import CONNECTION_JOB
from gatepost.ledger.connections.background import LedgerConnections
from gatepost.ledger.profile_actions import SYNC_JOB
from gatepost.ledger.public_ledger import PublicLedger
from gatepost.ledger.topic_actions import POST_JOB


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
