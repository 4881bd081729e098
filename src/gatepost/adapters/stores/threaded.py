"""
What SQLite and PostgreSQL have in common: threads that write, threads that read, and the four ways to ask them.

Synchronous callers (the command line, hooks) get a connection for their own thread and no other thread is started.
Asynchronous callers share the desks: calls made in one turn of the event loop are handed over together, and the
answers of a group come back together, so that a group costs two crossings between threads however large it is.

What only they need is imported when the first of them calls: a hook of a guest has to start fast.
"""

import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from gatepost.adapters.stores.desk import Desk
from gatepost.adapters.stores.group import Call, Connection, Outcome, Transaction, Writer, raised
from gatepost.adapters.stores.looking import Looking
from gatepost.core.limits import Limits
from gatepost.core.ring import Ring
from gatepost.errors import Unavailable
from gatepost.ports import Clock, SignalSink, ignore_signals

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


class ThreadedStore(ABC):
    def __init__(
        self,
        *,
        clock: Clock,
        clock_rules: bool = False,
        limits: Limits | None = None,
        bell: SignalSink = ignore_signals,
        writers: int = 1,
    ) -> None:
        """With `clock_rules`, time is the clock's even where the database has its own: for tests."""
        self._clock = clock
        self._clock_rules = clock_rules
        self._limits = limits or Limits()
        self._bell = bell
        self._writers = writers
        self._lock = threading.Lock()
        self._desks: list[Desk] = []
        self._looking: Looking | None = None
        self._local = threading.local()
        #: the connections of threads that call by themselves
        self._opened: list[tuple[threading.Thread, Connection]] = []
        self._gathered: dict[asyncio.AbstractEventLoop, list[tuple[int, Call]]] = {}
        self._turn = 0
        self._closed = False
        #: why the last transaction that writes could not be stored
        self.failure: str | None = None
        #: how often the bell raised after a commit
        self.signal_failures = 0

    @abstractmethod
    def connect(self, *, writes: bool) -> Connection:
        """Return a connection, not yet opened: `begin` does that, and again after it was lost."""

    def call(self, verb: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        self._refuse_if_closed()
        writer: Writer | None = getattr(self._local, "writer", None)
        if writer is None:
            writer = self._local.writer = self._writer(self._own(writes=True))
        [outcome] = writer.write([Call(verb, args, kwargs)])
        value: T = raised(outcome)
        return value

    def query(self, query: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        self._refuse_if_closed()
        return self._look(query, *args, **kwargs)

    def _look(self, query: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        connection: Connection | None = getattr(self._local, "reader", None)
        if connection is None:
            connection = self._local.reader = self._own(writes=False)
        try:
            now = connection.begin()
            return query(Transaction(connection, self._clock, self._limits, now), *args, **kwargs)
        finally:
            connection.abandon()

    async def run(self, verb: Callable[..., T], /, *args: Any, lane: str = "", **kwargs: Any) -> T:
        import asyncio

        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._lock:
            self._refuse_if_closed()
            together = self._gathered.setdefault(loop, [])
            if not together:
                loop.call_soon(self._hand_over, loop)
            together.append((self._place(lane), Call(verb, args, kwargs, lane, future)))
        return await future

    async def read(self, query: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        import asyncio

        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._refuse_if_closed()
            self._looking = self._looking or Looking(self._look, _settle)
            self._looking.put(Call(query, args, kwargs, future=future))
        return await future

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for loop in list(self._gathered):
                self._put(loop)
            desks, self._desks = self._desks, []
        for desk in desks:
            desk.close()
        if self._looking is not None:
            self._looking.close()
        for _, connection in self._opened:
            connection.close()
        self._opened.clear()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise Unavailable("the store is closed")

    def _own(self, *, writes: bool) -> Connection:
        """A connection for this thread. Those of threads that have ended are closed, now that there is one more."""
        connection = self.connect(writes=writes)
        with self._lock:
            ended = [each for each in self._opened if not each[0].is_alive()]
            self._opened = [each for each in self._opened if each not in ended]
            self._opened.append((threading.current_thread(), connection))
        for _, theirs in ended:
            theirs.close()
        return connection

    def _place(self, lane: str) -> int:
        """Which writer a lane goes to; without a lane they take turns."""
        if lane:
            return zlib.crc32(lane.encode(errors="surrogatepass")) % self._writers
        self._turn += 1
        return self._turn % self._writers

    def _hand_over(self, loop: "asyncio.AbstractEventLoop") -> None:
        """Put what was called in this turn of the loop on the desks, unless closing the store has done so."""
        with self._lock:
            self._put(loop)

    def _put(self, loop: "asyncio.AbstractEventLoop") -> None:
        if calls := self._gathered.pop(loop, None):
            self._desks = self._desks or [self._desk(number) for number in range(self._writers)]
            for place, call in calls:
                self._desks[place].put(call)

    def _desk(self, number: int) -> Desk:
        return Desk(self._writer(self.connect(writes=True)), _settle, f"gatepost-write-{number}")

    def _writer(self, connection: Connection) -> Writer:
        return Writer(connection, self._clock, self._limits, self._ring, self._report)

    def _ring(self, rings: Sequence[Ring]) -> None:
        """Ring, and count it if that fails: it is stored all the same."""
        try:
            self._bell(rings)
        except Exception:  # noqa: BLE001 (a ring is a hint; the janitor rings again)
            with self._lock:
                self.signal_failures += 1

    def _report(self, failure: str | None) -> None:
        self.failure = failure


def _settle(group: Sequence[tuple[Call, Outcome]]) -> None:
    """Send the answers of a group back to the loops they are awaited in, one crossing each."""
    answers: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Outcome]]] = {}
    for call, outcome in group:
        if call.future is not None:
            answers.setdefault(call.future.get_loop(), []).append((call.future, outcome))
    for loop, answered in answers.items():
        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(_answer, answered)


def _answer(answered: Sequence[tuple["asyncio.Future[Any]", Outcome]]) -> None:
    for future, outcome in answered:
        if future.done():
            continue
        match outcome.error:
            case None:
                future.set_result(outcome.value)
            case StopIteration():  # which a future does not take
                future.set_exception(RuntimeError("the verb raised StopIteration"))
            case error:
                future.set_exception(error)
