"""
The supervisor: starts a cycle when somebody's inbox rings, and knows nothing of those who sleep.

    ring -> queue -> look (a read) -> take (lease and batch) -> think -> back to the queue if there is more

A ring only says that it may be worth a look. An agent waits in the queue at most once, however often it rings; a ring
while it thinks has it looked at once more afterwards. The queue is first come, first served, and whoever has more to
think about goes to its end, so a busy agent does not keep the others waiting. At most so many think at once.

What is lost (a ring, a process) is made up for by the janitor, which rings for whoever should be awake. Nothing here
has to be right for the journal to be: two supervisors may start a cycle for the same agent, and one gets the lease.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog

from gatepost.actions import agents, cycle, upkeep
from gatepost.actions import journal as runs
from gatepost.actions.cycle import Held, Taken
from gatepost.core.agent import CODE
from gatepost.core.frame import Frame, TransportMessage
from gatepost.core.instants import SECOND, Duration
from gatepost.core.ring import Ring
from gatepost.errors import GatepostError, Invalid, Lost, NotFound, Unavailable
from gatepost.ports import Reader, Store
from gatepost.runtime.cycle import Outcome, Resting
from gatepost.runtime.loops import tasks

log = structlog.get_logger("gatepost.supervisor")

#: causes of rings after which whatever waits is looked at, also what does not wake by itself
_TOLD_TO_LOOK: Final = frozenset(("wake", "wakeup", "resume"))
#: names remembered as guests, whose rings need no look, and for how many seconds
_MOST_GUESTS: Final = 100_000
_REMEMBERED: Final = 60.0
_RETRY: Final = 1.0

#: thinks through a cycle that was taken
Think = Callable[[Taken], Awaitable[Outcome]]


class Supervisor:
    def __init__(
        self,
        store: Store,
        think: Think,
        *,
        holder: str,
        most: int = 100,
        lease: Duration = cycle.LENGTH,
        codes: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`codes` says whether this process has the function of an agent whose model is code."""
        self._store = store
        self._think = think
        self._holder = holder
        self._most = most
        self._lease = lease
        self._codes = codes
        #: who waits for their turn, and whether they were told to look
        self._queue: OrderedDict[str, bool] = OrderedDict()
        #: the same for those whose turn it is: they are looked at once more
        self._again: dict[str, bool] = {}
        self._turns: dict[str, asyncio.Task[None]] = {}
        self._held: dict[str, Held] = {}
        #: those who are looked at in a while
        self._rests: dict[str, asyncio.TimerHandle] = {}
        self._guests: set[str] = set()
        self._stirred = asyncio.Event()
        self._quiet = asyncio.Event()
        self._stopping = False
        #: cycles that were begun, or gone on with, by this process
        self.cycles = 0
        #: rings after which there was nothing to think about
        self.idle_looks = 0

    @property
    def thinking(self) -> int:
        return len(self._held)

    def heard(self, signal: TransportMessage) -> None:
        """Take note of a ring."""
        if isinstance(signal, Frame) or self._stopping:
            return
        if signal.cause == runs.CANCEL and signal.recipient in self._turns:
            self._turns[signal.recipient].cancel()
        if signal.cause == "settle":
            self._guests.discard(signal.recipient)
        if signal.recipient == "*":
            self._sweep()
        elif ":" not in signal.recipient and signal.wakes and signal.recipient not in self._guests:
            self.ring(signal.recipient, looking=signal.cause in _TOLD_TO_LOOK)

    def ring(self, name: str, *, looking: bool = False) -> None:
        """Have an agent looked at: now, or once more when it is its turn already."""
        queue = self._again if name in self._turns else self._queue
        queue[name] = queue.get(name, False) or looking
        self._quiet.clear()
        self._stirred.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While entered, residents think; leaving stops each at its last step and hands it over."""
        async with tasks() as group:
            loops = [group.create_task(self._pump(group)), group.create_task(self._renew())]
            try:
                yield
            finally:
                self._stopping = True
                for task in (*loops, *self._turns.values()):
                    task.cancel()

    async def idle(self) -> None:
        """Wait until nobody thinks and nobody has anything to think about."""
        while True:
            for name in await self._store.read(_everybody_stirring):
                self.ring(name)
            if not self._queue and not self._turns:
                return
            await self._quiet.wait()

    async def _pump(self, group: asyncio.TaskGroup) -> None:
        while True:
            self._start(group)
            self._stirred.clear()
            await self._stirred.wait()

    def _start(self, group: asyncio.TaskGroup) -> None:
        while self._queue and len(self._turns) < self._most:
            name, looking = self._queue.popitem(last=False)
            self._turns[name] = group.create_task(self._turn(name, looking=looking), name=f"agent-{name}")

    async def _turn(self, name: str, *, looking: bool) -> None:
        """Let an agent think once, if it has something to think about."""
        try:
            if await self._ready(name, looking=looking):
                await self._cycle(name)
        except Lost as error:
            log.info("cycle was overtaken", agent=name, reason=error.message)
        except asyncio.CancelledError:
            log.info("cycle was stopped", agent=name)
        except Unavailable as error:
            log.warning("cycle waits", agent=name, reason=error.message)
            self._later(name, _RETRY)
        except Exception as error:
            log.exception("cycle broke", agent=name, error=repr(error))
            self._later(name, _RETRY)
        finally:
            if self._stopping:
                await self._hand_over(name)
            self._held.pop(name, None)
            self._over(name)

    async def _ready(self, name: str, *, looking: bool) -> bool:
        try:
            resident, stirs = await self._store.read(cycle.looked_at, name, looking=looking)
        except (NotFound, Invalid):
            return False
        if resident is None or (resident.config.model.name == CODE and not self._codes(name)):
            if len(self._guests) < _MOST_GUESTS:
                self._guests.add(name)
            return False
        self.idle_looks += not stirs
        return stirs

    async def _cycle(self, name: str) -> None:
        taken = await self._store.run(cycle.take, name, self._holder, length=self._lease, lane=name)
        if taken is None:
            if (seconds := await self._store.read(agents.seconds_to_rest, name)) is not None:
                self._later(name, seconds)
            return
        self._held[name] = taken.held
        self.cycles += 1
        outcome = await self._think(taken)
        del self._held[name]
        if isinstance(outcome, Resting):
            self._later(name, outcome.seconds)
        elif outcome.more:
            self.ring(name)

    def _later(self, name: str, seconds: float) -> None:
        """Have an agent looked at in a while; whenever that is said anew, what was said before is void."""
        if (before := self._rests.pop(name, None)) is not None:
            before.cancel()
        self._rests[name] = asyncio.get_running_loop().call_later(seconds, self._rested, name)

    def _rested(self, name: str) -> None:
        del self._rests[name]
        self.heard(Ring(name, "rested"))

    def _sweep(self) -> None:
        """Somebody told everybody something: the janitor's rings would come late."""
        if "*" not in self._turns:
            self._turns["*"] = asyncio.get_running_loop().create_task(self._ring_everybody(), name="agent-*")

    async def _ring_everybody(self) -> None:
        try:
            after: int | None = 0
            while after is not None:
                names, after = await self._store.read(upkeep.behind, after=after)
                for name in names:
                    self.heard(Ring(name, "broadcast"))
        except GatepostError as error:
            log.warning("sweep failed", reason=error.message)
        finally:
            self._over("*")

    def _over(self, name: str) -> None:
        """Somebody's turn is over: they go to the end of the queue if they have rung meanwhile."""
        del self._turns[name]
        if name in self._again:
            self._queue[name] = self._again.pop(name)
        self._stirred.set()
        if not self._queue and not self._turns:
            self._quiet.set()

    async def _renew(self) -> None:
        """Keep the leases of those who think long."""
        remembered = 0.0
        while True:
            remembered += self._lease / SECOND / 3
            if remembered > _REMEMBERED:
                self._guests.clear()
                remembered = 0.0
            await asyncio.sleep(self._lease / SECOND / 3)
            await asyncio.gather(*(self._keep(name, held) for name, held in list(self._held.items())))

    async def _keep(self, name: str, held: Held) -> None:
        try:
            await self._store.run(cycle.renew, held, lane=name)
        except Lost as error:
            if self._held.get(name) is held:
                log.info("cycle was overtaken", agent=name, reason=error.message)
                self._turns[name].cancel()
        except GatepostError as error:
            log.warning("lease not renewed", agent=name, reason=error.message)

    async def _hand_over(self, name: str) -> None:
        """Give the lease back in the middle of a cycle, so that the next process goes on at once."""
        held = self._held.get(name)
        if held is not None:
            with suppress(GatepostError):
                await self._store.run(cycle.let_go, held, lane=name)


def _everybody_stirring(tx: Reader) -> list[str]:
    found: list[str] = []
    for query in (upkeep.awaiting, upkeep.behind, runs.abandoned):
        after: int | None = 0
        while after is not None:
            names, after = query(tx, after=after)
            found += names
    return [name for name in dict.fromkeys(found) if cycle.looked_at(tx, name)[1]]
