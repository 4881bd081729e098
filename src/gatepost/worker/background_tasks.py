"""
The worker: all background tasks of one process.

A gateway runs one worker; a program that embeds Gatepost runs one too. It fires plans and cron triggers, ends gates and
decisions, runs jobs, sends lost signals again, and runs the think cycles of residents.

**Plans, triggers and deadlines.** A round reads when the next plan, trigger or deadline is due, and asks to run again
then, or after `MAX_WAIT` seconds at most, so that one whose signal was lost is seen soon anyway. Many processes can do
this on one store without a leader (`plans/actions.py`, `channels/triggers/cron_fire_actions.py`,
`gates/automatic_end_actions.py`), so nothing depends on one process: if one is stopped, another does what is due. A
round writes only if something is due.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog

from gatepost.channels.background.channel_tasks import Channels
from gatepost.channels.triggers import cron_fire_actions as schedules
from gatepost.core.ports import Reader, Store
from gatepost.core.signals import Signal
from gatepost.core.times import SECOND, Duration, Instant
from gatepost.errors import GatepostError, Unavailable
from gatepost.gates import automatic_end_actions as automatic_ends, condition_check_background
from gatepost.gates.answer_command_background import run_answer_command
from gatepost.gates.automatic_end_actions import EventScan
from gatepost.gates.condition_check_background import GateCommandOptions
from gatepost.gates.decision_actions import ANSWER_JOB
from gatepost.inbox.event import EventType
from gatepost.jobs.job_runner_background import JobHandler, build_job_duty
from gatepost.jobs.periodic_duty_background import Duty, run_duties
from gatepost.ledger.connections.actions import CONNECTION_JOB
from gatepost.ledger.connections.background import LedgerConnections
from gatepost.ledger.ledger_step_background import LedgerSteps
from gatepost.ledger.listener_background import LedgerListener
from gatepost.ledger.poster_background import LedgerPoster, retry_outages
from gatepost.ledger.profile_actions import SYNC_JOB
from gatepost.ledger.profile_publisher_background import ProfilePublisher
from gatepost.ledger.public_ledger import PublicLedger
from gatepost.ledger.topic_actions import POST_JOB
from gatepost.plans import actions as plans
from gatepost.residents.agent_config import USER_AGENT
from gatepost.residents.background import function_agent, think_cycle as cycle
from gatepost.residents.background.cycle_outcome import CycleDeps, CycleOutcome
from gatepost.residents.background.function_agent import AgentFunction
from gatepost.residents.background.supervisor import Supervisor
from gatepost.residents.background.toolkit import run_tool_job
from gatepost.residents.runs.deferred_call_actions import TOOL_JOB
from gatepost.residents.runs.resume_actions import LEASE_LENGTH, LeasedRun
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker import janitor

log = structlog.get_logger("gatepost.duties")

#: the most seconds between two rounds for plans, for triggers, or for deadlines
MAX_WAIT: Final = 5.0
#: seconds to wait for another process that does what is due
_MIN_WAIT: Final = 0.1
#: the causes of signals of pushes; a signal with another cause may be about an event of any type
_EVENT_TYPES: Final = frozenset(EventType)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerOptions:
    ledger: PublicLedger
    #: seconds between two rounds of the listener
    poll: float = 5.0
    #: tinybars that the operator puts into an account that is new, or empty
    fund: int = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    #: seconds after which the janitor and most duties look again, without a signal (the setting `janitor.interval`)
    recheck_interval: float = 5.0
    #: think cycles that run at the same time
    max_cycles: int = 100
    #: after this silence another process may continue a run
    lease: Duration = LEASE_LENGTH
    #: called at intervals, because signals may have been lost
    remind: Callable[[], None] = field(default=lambda: None)
    #: None: the worker runs no commands
    gate_commands: GateCommandOptions | None = None
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
    async with AsyncExitStack() as stack:
        for duty in duties:
            stack.enter_context(bus.subscribe(duty.on_signal, duty.name))
        await stack.enter_async_context(supervisor.run())
        stack.enter_context(bus.subscribe(supervisor.on_signal, "supervisor"))
        await stack.enter_async_context(run_duties(duties))
        if options.channels is not None:
            await stack.enter_async_context(options.channels.run(bus, options.recheck_interval))
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
    if options.gate_commands is not None and options.gate_commands.on_answer is not None:
        handlers[ANSWER_JOB] = partial(
            run_answer_command,
            options.gate_commands.commands,
            options.gate_commands.on_answer,
        )

    async def resend_local_signals() -> None:
        options.remind()
        await janitor.resend_signals(store, bus.dispatch)

    async def shrink_store() -> None:
        with suppress(Unavailable):  # another process shrinks it, or the next commit reports what is wrong
            await asyncio.to_thread(store.shrink)

    gate_ender, interval = GateEnder(store), options.recheck_interval
    run_janitor = partial(janitor.run_janitor_round, store)
    yield Duty("janitor", run_janitor, interval=interval, store=store, holder=holder, find_wait=janitor.find_wait)
    yield Duty("disk", shrink_store, interval=interval)
    yield Duty("plans", partial(fire_due_plans, store), interval=MAX_WAIT)
    yield Duty("triggers", partial(fire_due_triggers, store), interval=MAX_WAIT)
    yield build_job_duty("jobs", store, handlers, holder, interval=interval)
    yield Duty("deadlines", gate_ender.check, interval=MAX_WAIT, should_wake=gate_ender.is_wake_signal)
    if options.gate_commands is not None:
        check_gates = partial(condition_check_background.check_gates, store, options.gate_commands)
        yield Duty(
            "gate-checks",
            check_gates,
            interval=interval,
            should_wake=condition_check_background.is_wake_signal,
        )
    if options.ledger_options is not None:
        yield from _build_ledger_duties(store, options.ledger_options, holder, interval)
    yield Duty("resend", resend_local_signals, interval=interval)


def _build_ledger_duties(store: Store, options: LedgerOptions, holder: str, interval: float) -> Iterator[Duty]:
    """
    Yield the duties for a public ledger: post what was sent, and read what others have posted; `interval` are the
    seconds between two looks for jobs whose signal was lost. One process at a time does each of them, because the
    messages of a sender have an order. Both are correct without that: what is done twice is done once
    (`ledger/ledger_step_actions.py`, `ledger/message_order_actions.py`).
    """
    steps = LedgerSteps(store, options.ledger, fund=options.fund)
    handlers = {
        POST_JOB: retry_outages(steps.store, LedgerPoster(steps).run_job),
        SYNC_JOB: retry_outages(steps.store, ProfilePublisher(steps).run_job),
        CONNECTION_JOB: retry_outages(steps.store, LedgerConnections(steps).run_job),
    }
    yield build_job_duty("ledger-jobs", store, handlers, holder, interval=interval, is_leased=True)
    listener = LedgerListener(store, options.ledger)
    yield Duty("ledger-listener", listener.run_round, interval=options.poll, store=store, holder=holder)


async def fire_due_plans(store: Store) -> float:
    """Fire the plans that are due; return the seconds until the next round."""
    while (wait := await store.read(_get_seconds_until_plan)) <= 0:
        if not await store.run(plans.fire, lane="plans"):
            return _MIN_WAIT
    return wait


def _get_seconds_until_plan(tx: Reader) -> float:
    return _get_seconds_until(tx, plans.find_next_due(tx))


async def fire_due_triggers(store: Store) -> float:
    """
    Fire the cron triggers that are due; return the seconds until the next round. Each has a transaction of its own, so
    one that fails does not stop the others: its slot is skipped, and its owner gets an alert.
    """
    while (wait := await store.read(_get_seconds_until_trigger)) <= 0:
        fired_count = 0
        for number in await store.read(schedules.list_due):
            try:
                fired_count += await store.run(schedules.fire, number, lane="triggers")
            except Unavailable:
                raise
            except Exception as error:  # noqa: BLE001 (whatever is wrong with one, the others fire)
                reason = error.message if isinstance(error, GatepostError) else type(error).__name__
                log.warning("trigger cannot fire", trigger=number, reason=reason)
                fired_count += await store.run(schedules.skip, number, reason, lane="triggers")
        if not fired_count:
            return _MIN_WAIT
    return wait


def _get_seconds_until_trigger(tx: Reader) -> float:
    return _get_seconds_until(tx, schedules.find_next_due(tx))


def _get_seconds_until(tx: Reader, due: Instant | None) -> float:
    return MAX_WAIT if due is None else min(MAX_WAIT, (due - tx.now) / SECOND)


class GateEnder:
    """
    Ends gates and decisions whose deadline has passed, or whose awaited event has come. It does not scan again the
    events that came before the last check.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        #: the (recipient, event type) pairs that gates wait for, as of the last check
        self._watched_events: frozenset[tuple[str, str]] = frozenset()
        #: how far events were scanned
        self._last_scan: EventScan | None = None

    async def check(self) -> float:
        """End the gates and decisions that are due; return the seconds until the next check."""
        while True:
            wait, watched, self._last_scan = await self._store.read(_read_state, self._last_scan)
            if not watched <= self._watched_events:
                # The signal of an event that came for a new pair since that read was ignored: read once more, now that
                # it would not be ignored.
                self._watched_events = watched
                continue
            self._watched_events = watched
            if wait > 0:
                return wait
            ended_count, has_stuck = await self._end_due()
            if not ended_count:
                return MAX_WAIT if has_stuck else _MIN_WAIT

    async def _end_due(self) -> tuple[int, bool]:
        """
        End what is due: together, which nearly always works; else one by one, so that one failure does not stop the
        others. Return how many have ended, and whether ending together failed.
        """
        try:
            return await self._store.run(automatic_ends.end_due, last_scan=self._last_scan, lane="gates"), False
        except Unavailable:
            raise
        except GatepostError:
            ended_count = 0
        for id in await self._store.run(automatic_ends.take_due, self._last_scan, lane="gates"):
            try:
                ended_count += await self._store.run(
                    automatic_ends.end_due, gate_id=id, last_scan=self._last_scan, lane="gates"
                )
            except Unavailable:
                raise
            except GatepostError as error:
                log.warning("gate cannot be ended", gate=id, reason=error.message)
        return ended_count, True

    def is_wake_signal(self, signal: Signal) -> bool:
        """
        Return True if a signal says that there may be something to end before the next check. It is precise about
        event types: mail for a busy agent must not cause a check if a gate waits for the result of a tool.
        """
        return signal.topic.kind == "gate" or any(
            signal.topic.name in (name, "*") and (signal.cause == event_type or signal.cause not in _EVENT_TYPES)
            for name, event_type in self._watched_events
        )


def _read_state(tx: Reader, last_scan: EventScan | None) -> tuple[float, frozenset[tuple[str, str]], EventScan | None]:
    """Return the seconds until something is due, the watched events, and the scan of events up to now."""
    due = automatic_ends.find_next_due(tx)
    watched = automatic_ends.list_watches(tx)
    scan = automatic_ends.scan_events(tx, last_scan) if watched else None
    if scan is not None and scan.matches:
        return 0.0, watched, scan
    return _get_seconds_until(tx, due), watched, scan
