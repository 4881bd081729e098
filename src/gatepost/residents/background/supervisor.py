"""
The supervisor: starts a think cycle when an agent is signalled, and keeps no state for agents that sleep.

    signal -> queue -> check (a read) -> take (lease and batch) -> think -> back to the queue if there is more

A signal only says that a check may be worth it. An agent is in the queue at most once, however many signals come; a
signal during its turn causes one more check after the turn. The queue is first come, first served, and an agent that
has more to think about goes to its end, so a busy agent does not keep the others waiting. At most `max_cycles` agents
have their turn at the same time.

The janitor makes up for what is lost (a signal, a process): it signals every agent that should be awake. The journal is
correct whatever happens here: two supervisors may start a cycle for the same agent, and one of them gets the lease.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog

from gatepost.core.ports import Reader, Store
from gatepost.core.signals import Frame, Signal, Topic, TransportMessage
from gatepost.core.times import SECOND, Duration
from gatepost.errors import GatepostError, Invalid, Lost, NotFound, Unavailable
from gatepost.inbox import wake_actions as wakes
from gatepost.jobs.periodic_duty_background import open_task_group
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import CODE
from gatepost.residents.background.cycle_outcome import CycleOutcome, CyclePaused
from gatepost.residents.runs import (
    actions as runs,
    ending_actions as run_endings,
    journal_actions as run_journal,
    resume_actions as run_resume,
)
from gatepost.residents.runs.journal_actions import RunLease
from gatepost.residents.runs.resume_actions import LeasedRun

log = structlog.get_logger("gatepost.supervisor")

#: causes of signals after which all waiting items count, also those that do not wake an agent by themselves
_FORCED_CHECK_CAUSES: Final = frozenset(("wake", "wakeup", "resume"))
#: names that are remembered as guests, whose signals need no check, and for how many seconds
_MAX_GUESTS: Final = 100_000
_GUEST_CACHE_SECONDS: Final = 60.0
#: seconds before the next check of an agent whose turn failed
_RETRY: Final = 1.0

#: runs the cycle of a run that was taken
Think = Callable[[LeasedRun], Awaitable[CycleOutcome]]


class Supervisor:
    def __init__(
        self,
        store: Store,
        think: Think,
        *,
        holder: str,
        max_cycles: int = 100,
        lease: Duration = run_resume.LEASE_LENGTH,
        has_function: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """
        `holder` names this process in leases. `has_function` says whether it has the function of an agent whose model
        is code.
        """
        self._store = store
        self._think = think
        self._holder = holder
        self._max_cycles = max_cycles
        self._lease = lease
        self._has_function = has_function
        #: the agents that wait for their turn, each with whether its check is forced
        self._queue: OrderedDict[str, bool] = OrderedDict()
        #: the same for agents that were signalled during their turn: they are checked once more
        self._repeat_checks: dict[str, bool] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._run_leases: dict[str, RunLease] = {}
        #: agents that are checked later
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._guests: set[str] = set()
        self._wake_event = asyncio.Event()
        self._idle_event = asyncio.Event()
        self._is_stopping = False
        #: cycles that this process has started or resumed
        self.cycle_count = 0
        #: checks that found nothing to think about
        self.idle_check_count = 0

    def on_signal(self, signal: TransportMessage) -> None:
        """Enqueue the agent of a signal, or cancel its turn; a subscriber of `SignalBus`."""
        if isinstance(signal, Frame) or signal.topic.kind != "inbox" or self._is_stopping:
            return
        name = signal.topic.name
        if signal.cause == runs.CANCEL and name in self._tasks:
            self._tasks[name].cancel()
        if signal.cause == "settle":
            self._guests.discard(name)
        if name == "*":
            if "*" not in self._tasks:  # do not wait for the signals of the janitor
                self._tasks["*"] = asyncio.get_running_loop().create_task(self._enqueue_all(), name="agent-*")
        elif signal.wakes and name not in self._guests:
            self.enqueue(name, is_forced=signal.cause in _FORCED_CHECK_CAUSES)

    def enqueue(self, name: str, *, is_forced: bool = False) -> None:
        """Put an agent in the queue or, during its turn, have it checked once more afterwards."""
        queue = self._repeat_checks if name in self._tasks else self._queue
        queue[name] = queue.get(name, False) or is_forced
        self._idle_event.clear()
        self._wake_event.set()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """While entered, run cycles. Leaving stops each cycle at its last step and gives its lease back."""
        async with open_task_group() as group:
            loop_tasks = [group.create_task(self._run_queue(group)), group.create_task(self._renew_leases())]
            try:
                yield
            finally:
                self._is_stopping = True
                for task in (*loop_tasks, *self._tasks.values()):
                    task.cancel()

    async def wait_until_idle(self) -> None:
        """Wait until no agent thinks, and no agent has anything to think about."""
        while True:
            for name in await self._store.read(_list_awake_agents):
                self.enqueue(name)
            if not self._queue and not self._tasks:
                return
            await self._idle_event.wait()

    async def _run_queue(self, group: asyncio.TaskGroup) -> None:
        while True:
            while self._queue and len(self._tasks) < self._max_cycles:
                name, is_forced = self._queue.popitem(last=False)
                self._tasks[name] = group.create_task(self._run_turn(name, is_forced=is_forced), name=f"agent-{name}")
            self._wake_event.clear()
            await self._wake_event.wait()

    async def _run_turn(self, name: str, *, is_forced: bool) -> None:
        """Run one cycle of an agent, if it has something to think about."""
        try:
            if await self._is_ready(name, is_forced=is_forced):
                await self._run_cycle(name)
        except Lost as error:
            log.info("cycle was overtaken", agent=name, reason=error.message)
        except asyncio.CancelledError:
            log.info("cycle was stopped", agent=name)
        except Unavailable as error:
            log.warning("cycle waits", agent=name, reason=error.message)
            self._enqueue_later(name, _RETRY)
        except Exception as error:
            log.exception("cycle broke", agent=name, error=repr(error))
            self._enqueue_later(name, _RETRY)
        finally:
            if self._is_stopping:
                await self._release_lease(name)
            self._run_leases.pop(name, None)
            self._finish_turn(name)

    async def _is_ready(self, name: str, *, is_forced: bool) -> bool:
        try:
            resident, has_work = await self._store.read(run_resume.read_readiness, name, include_quiet=is_forced)
        except (NotFound, Invalid):
            return False
        if resident is None or (resident.config.model.name == CODE and not self._has_function(name)):
            if len(self._guests) < _MAX_GUESTS:
                self._guests.add(name)
            return False
        self.idle_check_count += not has_work
        return has_work

    async def _run_cycle(self, name: str) -> None:
        leased_run = await self._store.run(run_resume.take_run, name, self._holder, length=self._lease, lane=name)
        if leased_run is None:
            if (seconds := await self._store.read(agents.measure_rest, name)) is not None:
                self._enqueue_later(name, seconds)
            return
        self._run_leases[name] = leased_run.run_lease
        self.cycle_count += 1
        outcome = await self._think(leased_run)
        del self._run_leases[name]
        if isinstance(outcome, CyclePaused):
            self._enqueue_later(name, outcome.seconds)
        elif outcome.has_more:
            self.enqueue(name)

    def _enqueue_later(self, name: str, seconds: float) -> None:
        """Enqueue an agent in `seconds`; this replaces its earlier timer."""
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()
        self._timers[name] = asyncio.get_running_loop().call_later(seconds, self._on_timer, name)

    def _on_timer(self, name: str) -> None:
        del self._timers[name]
        self.on_signal(Signal(Topic("inbox", name), "rested"))

    async def _enqueue_all(self) -> None:
        """Enqueue every agent that has not seen the last broadcast."""
        try:
            after: int | None = 0
            while after is not None:
                names, after = await self._store.read(wakes.find_agents_behind, after=after)
                for name in names:
                    self.on_signal(Signal(Topic("inbox", name), "broadcast"))
        except GatepostError as error:
            log.warning("agents that have not read a broadcast cannot be listed", reason=error.message)
        finally:
            self._finish_turn("*")

    def _finish_turn(self, name: str) -> None:
        """End the turn of an agent; put it at the end of the queue if it was signalled during the turn."""
        del self._tasks[name]
        if name in self._repeat_checks:
            self._queue[name] = self._repeat_checks.pop(name)
        self._wake_event.set()
        if not self._queue and not self._tasks:
            self._idle_event.set()

    async def _renew_leases(self) -> None:
        """Renew the leases of running cycles, three times in the length of a lease."""
        elapsed = 0.0
        while True:
            elapsed += self._lease / SECOND / 3
            if elapsed > _GUEST_CACHE_SECONDS:
                self._guests.clear()
                elapsed = 0.0
            await asyncio.sleep(self._lease / SECOND / 3)
            await asyncio.gather(
                *(self._renew_lease(name, run_lease) for name, run_lease in list(self._run_leases.items()))
            )

    async def _renew_lease(self, name: str, run_lease: RunLease) -> None:
        try:
            await self._store.run(run_journal.renew_lease, run_lease, lane=name)
        except Lost as error:
            if self._run_leases.get(name) is run_lease:
                log.info("cycle was overtaken", agent=name, reason=error.message)
                self._tasks[name].cancel()
        except GatepostError as error:
            log.warning("lease not renewed", agent=name, reason=error.message)

    async def _release_lease(self, name: str) -> None:
        """Give the lease of a running cycle back, so that another process can continue it at once."""
        run_lease = self._run_leases.get(name)
        if run_lease is not None:
            with suppress(GatepostError):
                await self._store.run(run_endings.hand_over, run_lease, lane=name)


def _list_awake_agents(tx: Reader) -> list[str]:
    all_names: list[str] = []
    for query in (wakes.find_inboxes_to_wake, wakes.find_agents_behind, run_resume.find_abandoned):
        after: int | None = 0
        while after is not None:
            names, after = query(tx, after=after)
            all_names += names
    return [name for name in dict.fromkeys(all_names) if run_resume.read_readiness(tx, name)[1]]
