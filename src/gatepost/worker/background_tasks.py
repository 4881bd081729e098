"""
The worker: all background tasks of one process.

A gateway runs one worker; a program that embeds Gatepost runs one too. It fires plans and cron triggers, ends gates and
decisions, runs jobs, sends lost signals again, and runs the think cycles of residents.
"""

import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from gatepost.channels.background.channel_tasks import Channels
from gatepost.core.ports import Store
from gatepost.core.signals import TransportMessage
from gatepost.core.times import Duration
from gatepost.gates import answer_command_background, condition_check_background, decision_actions as decisions
from gatepost.gates.condition_check_background import CommandOptions
from gatepost.jobs import job_runner_background as jobs
from gatepost.jobs.job_runner_background import JobHandler
from gatepost.jobs.periodic_duty_background import Duty, is_about, run_duties
from gatepost.ledger.background.listener import LedgerListener
from gatepost.ledger.background.poster import LedgerPoster, retry_outages
from gatepost.ledger.background.profile_publisher import ProfilePublisher
from gatepost.ledger.background.transaction_steps import LedgerSteps
from gatepost.ledger.connections.actions import CONNECTION_JOB
from gatepost.ledger.connections.background import LedgerConnections
from gatepost.ledger.profile_actions import SYNC_JOB
from gatepost.ledger.public_ledger import PublicLedger
from gatepost.ledger.topic_actions import POST_JOB
from gatepost.residents.agent_config import USER_AGENT
from gatepost.residents.background import function_agent, think_cycle as cycle
from gatepost.residents.background.cycle_outcome import CycleDeps, CycleOutcome
from gatepost.residents.background.function_agent import AgentFunction
from gatepost.residents.background.supervisor import Supervisor
from gatepost.residents.background.toolkit import run_tool_job
from gatepost.residents.runs.deferred_call_actions import TOOL_JOB
from gatepost.residents.runs.resume_actions import LEASE_LENGTH, LeasedRun
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker.duties import (
    MAX_WAIT,
    GateDeadlines,
    fire_due_plans,
    fire_due_triggers,
    resend_signals,
    run_janitor_round,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerOptions:
    ledger: PublicLedger
    #: seconds between two rounds of the listener
    poll: float = 5.0
    #: tinybars that the operator puts into an account that is new, or empty
    fund: int = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    #: seconds between two rounds of the janitor
    janitor_interval: float = 5.0
    #: think cycles that run at the same time
    max_cycles: int = 100
    #: after this silence another process may continue a run
    lease: Duration = LEASE_LENGTH
    #: called at intervals, because signals may have been lost
    remind: Callable[[], None] = field(default=lambda: None)
    #: None: the worker runs no commands
    command_options: CommandOptions | None = None
    #: None: there is no public ledger
    ledger_options: LedgerOptions | None = None
    #: None: the worker reads and sends nothing on channels
    channels: Channels | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    supervisor: Supervisor
    duties: tuple[Duty, ...]


@asynccontextmanager
async def run_worker(
    deps: CycleDeps, bus: SignalBus, options: WorkerOptions, functions: Mapping[str, AgentFunction] | None = None
) -> AsyncIterator[Worker]:
    """While entered, run the background tasks. Agents in `functions` are run by their function, others by a model."""
    holder = build_holder()
    agent_functions = functions or {}
    supervisor = Supervisor(
        deps.store,
        partial(_run_cycle, deps, agent_functions),
        holder=holder,
        max_cycles=options.max_cycles,
        lease=options.lease,
        has_function=agent_functions.__contains__,
    )
    duties = tuple(_build_duties(deps, bus, holder, options))

    def wake_duties(signal: TransportMessage) -> None:
        for duty in duties:
            duty.on_signal(signal)

    async with AsyncExitStack() as stack:
        stack.enter_context(bus.subscribe(wake_duties))
        await stack.enter_async_context(supervisor.run())
        stack.enter_context(bus.subscribe(supervisor.on_signal))
        await stack.enter_async_context(run_duties(duties))
        if options.channels is not None:
            await stack.enter_async_context(options.channels.run(bus, options.janitor_interval))
        yield Worker(supervisor=supervisor, duties=duties)


def build_holder() -> str:
    """Return a name of this process by which it holds leases and jobs."""
    return f"{os.uname().nodename}:{os.getpid()}:{secrets.token_hex(4)}"


async def _run_cycle(deps: CycleDeps, functions: Mapping[str, AgentFunction], leased_run: LeasedRun) -> CycleOutcome:
    if (function := functions.get(leased_run.run_lease.run.agent)) is not None:
        return await function_agent.run_function(deps, leased_run, function)
    if leased_run.run_lease.resident.config.model.name == USER_AGENT:
        return await function_agent.run_user_agent(deps, leased_run)
    return await cycle.think(deps, leased_run)


def _build_duties(deps: CycleDeps, bus: SignalBus, holder: str, options: WorkerOptions) -> Iterator[Duty]:
    store = deps.store
    handlers: dict[str, JobHandler] = {TOOL_JOB: partial(run_tool_job, store, deps.open_toolkit)}
    if options.command_options is not None and options.command_options.on_answer is not None:
        handlers[decisions.ANSWER_JOB] = partial(
            answer_command_background.run_answer_command,
            options.command_options.commands,
            options.command_options.on_answer,
        )

    async def resend_local_signals() -> None:
        options.remind()
        await resend_signals(store, bus.dispatch)

    deadlines = GateDeadlines(store)
    run_janitor = partial(run_janitor_round, store, bus)
    yield Duty("janitor", run_janitor, interval=options.janitor_interval, store=store, holder=holder)
    yield Duty("plans", partial(fire_due_plans, store), interval=MAX_WAIT, should_wake=partial(is_about, "plan"))
    fire_triggers = partial(fire_due_triggers, store)
    yield Duty("triggers", fire_triggers, interval=MAX_WAIT, should_wake=partial(is_about, "trigger"))
    run_jobs = partial(jobs.run_due_jobs, store, handlers, holder)
    yield Duty("jobs", run_jobs, interval=options.janitor_interval, should_wake=partial(is_about, "job"))
    yield Duty("deadlines", deadlines.check, interval=MAX_WAIT, should_wake=deadlines.is_wake_signal)
    if options.command_options is not None:
        check_gates = partial(condition_check_background.check_gates, store, options.command_options)
        yield Duty(
            "gate-checks",
            check_gates,
            interval=options.janitor_interval,
            should_wake=condition_check_background.is_wake_signal,
        )
    if options.ledger_options is not None:
        yield from _build_ledger_duties(store, options.ledger_options, holder, options.janitor_interval)
    yield Duty("resend", resend_local_signals, interval=options.janitor_interval)


def _build_ledger_duties(store: Store, options: LedgerOptions, holder: str, interval: float) -> Iterator[Duty]:
    """
    Yield the duties for a public ledger: post what was sent, and read what others have posted; `interval` are the
    seconds between two looks for jobs whose signal was lost. One process at a time does each of them, because the
    messages of a sender have an order. Both are correct without that: what is done twice is done once
    (`ledger/posting_actions.py`, `ledger/listening_actions.py`).
    """
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
