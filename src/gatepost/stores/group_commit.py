"""
Group commit: many verbs, one commit.

A disk can flush a few thousand times a second; callers want more than that. So a writer takes all waiting calls, runs
each in its own savepoint, commits once, and only then answers all of them:

    calls ->  BEGIN  [savepoint verb] [savepoint verb] ... counters  COMMIT  -> signals -> answers

Why this is as good as one transaction for each call:

- *An answer means stored.* No answer is sent before COMMIT has returned.
- *An error means that nothing is stored.* A verb that raises is rolled back to its savepoint, and its signals and
  counts are dropped with it. If the database itself ends the transaction (a full disk, a lost connection), nothing of
  the group is stored and all its callers get `Unavailable`.
- *Order.* Verbs of one lane go to one writer, in the order of their calls, and run one after the other.
- *A repeat is safe.* If two writers collide (deadlock, serialisation) the database undoes one of the groups. That group
  runs again from the start, which verbs permit because they have no effect outside their transaction. It runs again in
  halves, so groups that keep colliding become single verbs, which seldom collide.
- *A lost answer to COMMIT* is looked up, not guessed: `StoreConnection.commit` asks for the state of the transaction.

Waiting calls of a `batched` verb run as one call with all their elements. If that raises, each call runs alone, so one
bad element cannot fail its neighbours.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from gatepost.core.ids import mint
from gatepost.core.policy import Policy
from gatepost.core.ports import Clock, RetryTransaction, Row, SignalSink, is_batched
from gatepost.core.times import Instant
from gatepost.errors import Unavailable

if TYPE_CHECKING:
    import asyncio

    from gatepost.core.signals import Signal
    from gatepost.reactions import RoomQuestion

#: savepoints in one transaction: beyond 64 PostgreSQL keeps them in a slower place
MAX_SAVEPOINTS: Final = 60
#: elements of a batched verb in one statement; an element with a larger weight counts as several
MAX_ELEMENTS: Final = 1_000
#: times a group is run after collisions
MAX_ATTEMPTS: Final = 12

_NO_KWARGS: Final[Mapping[str, Any]] = MappingProxyType({})
_COUNTERS: Final = ("accepted", "delivered", "expired", "discarded")


class StoreConnection(Protocol):
    """What a writer needs of a database. Errors of the driver become `Unavailable` or `RetryTransaction`."""

    @property
    def is_remote(self) -> bool: ...

    def begin(self, waited_seconds: float = 0.0) -> None:
        """
        Begin a transaction, and connect first if needed. `waited_seconds` is how long the first call has waited in the
        queue; it counts towards the time to wait for a lock.
        """
        ...

    def read_time(self) -> Instant | None:
        """Return the time of the transaction, if the database has a clock of its own."""
        ...

    def savepoint(self) -> None: ...
    def release(self) -> None: ...

    def rollback_to(self) -> None:
        """Undo the verb; raise `Unavailable` if the database has ended the transaction."""
        ...

    def commit(self) -> None: ...

    def abandon(self) -> None:
        """Roll back, and close the connection if it is broken; never raises."""
        ...

    def all(self, statement: str, parameters: Mapping[str, Any], /) -> list[Row]: ...

    def all_later(self, statement: str, parameters: Mapping[str, Any], /) -> Callable[[], list[Row]]:
        """Run a statement, at the latest with the next one; return a function that returns its rows."""
        ...

    def fetch_page(self, statement: str, parameters: Mapping[str, Any], max_chars: int, /) -> tuple[list[Row], bool]:
        """Return the first rows, with at most `max_chars` of text, and True if there are more, which are not read."""
        ...

    def run(self, statement: str, parameters: Mapping[str, Any], /) -> int: ...
    def many(self, statement: str, columns: Mapping[str, Sequence[Any]], /) -> int: ...

    def get_cache(self, tables: str) -> dict[Any, Any] | None:
        """Return what transactions keep of these tables, as `Reader.get_cache` says."""
        ...

    def run_later(self, statement: str, parameters: Mapping[str, Any], /) -> None:
        """Run a statement, at the latest with the next one or with `release` or `commit`, which then has its error."""
        ...

    def many_later(
        self, statement: str, columns: Mapping[str, Sequence[Any]], /, *, may_collide: bool = False
    ) -> None: ...
    def close(self) -> None: ...


class PendingCall:
    """A call of a verb or a query whose caller waits. (A dataclass would take a hook as long as its whole answer.)"""

    __slots__ = ("args", "future", "kwargs", "lane", "outcome", "verb", "waiting_since")

    def __init__(
        self,
        verb: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] = _NO_KWARGS,
        lane: str = "",
        future: "asyncio.Future[Any] | None" = None,
    ) -> None:
        """`future` receives the outcome, for callers in an event loop."""
        self.verb = verb
        self.args = args
        self.kwargs = kwargs
        self.lane = lane
        self.future = future
        #: when it was made, by the monotonic clock
        self.waiting_since = time.monotonic()
        #: what came of it, for callers on threads that write in turns
        self.outcome: CallOutcome | None = None


T = TypeVar("T")


class CallOutcome:
    __slots__ = ("error", "value")

    def __init__(self, value: Any = None, error: BaseException | None = None) -> None:
        self.value = value
        self.error = error


class StoreTransaction:
    """The `Transaction` of a group: statements go to the connection; signals and counts are collected for the end."""

    def __init__(self, connection: StoreConnection, clock: Clock, policy: Policy) -> None:
        self._connection = connection
        self._clock = clock
        self.policy = policy
        self._now: Instant | None = None
        self.is_remote = connection.is_remote
        self.signals: list[Signal] = []
        self._counts: list[tuple[int, str, int]] = []
        self.max_page_chars: int | None = None
        self.is_truncated = False

    @property
    def now(self) -> Instant:
        if self._now is None:
            database_time = self._connection.read_time()
            self._now = self._clock.now() if database_time is None else database_time
        return self._now

    def fetch_one(self, statement: str, /, **parameters: Any) -> Row | None:
        rows = self._connection.all(statement, parameters)
        return rows[0] if rows else None

    def fetch_all(self, statement: str, /, **parameters: Any) -> list[Row]:
        return self._connection.all(statement, parameters)

    def fetch_later(self, statement: str, /, **parameters: Any) -> Callable[[], list[Row]]:
        return self._connection.all_later(statement, parameters)

    def fetch_page(self, statement: str, /, **parameters: Any) -> list[Row]:
        if self.max_page_chars is None:
            return self._connection.all(statement, parameters)
        rows, is_truncated = self._connection.fetch_page(statement, parameters, self.max_page_chars)
        self.is_truncated = self.is_truncated or is_truncated
        return rows

    def execute(self, statement: str, /, **parameters: Any) -> int:
        return self._connection.run(statement, parameters)

    def execute_many(self, statement: str, columns: Mapping[str, Sequence[Any]], /) -> int:
        return self._connection.many(statement, columns)

    def execute_later(self, statement: str, /, **parameters: Any) -> None:
        self._connection.run_later(statement, parameters)

    def execute_many_later(
        self, statement: str, columns: Mapping[str, Sequence[Any]], /, *, may_collide: bool = False
    ) -> None:
        self._connection.many_later(statement, columns, may_collide=may_collide)

    def get_cache(self, tables: str) -> dict[Any, Any] | None:
        return self._connection.get_cache(tables)

    def ask(self, question: "RoomQuestion[T]", /) -> T:
        from gatepost.reactions import find_reactions  # a hook that finds nothing to do asks nothing

        [find_answer] = find_reactions(type(question).__name__)
        answer: T = find_answer(self, question)
        return answer

    def react(self, event: tuple[Any, ...], /) -> None:
        from gatepost.reactions import find_reactions

        for reaction in find_reactions(type(event).__name__):
            reaction(self, event)

    def after_commit(self, signal: "Signal") -> None:
        self.signals.append(signal)

    def add_to_account(self, recipient: int, counter: str, amount: int) -> None:
        self._counts.append((recipient, counter, amount))

    def new_id(self, prefix: str) -> str:
        return mint(prefix, self.now, self._clock.entropy())

    def mark(self) -> tuple[int, int]:
        return len(self.signals), len(self._counts)

    def discard_since(self, mark: tuple[int, int]) -> None:
        """Drop the signals and counts since the mark."""
        del self.signals[mark[0] :], self._counts[mark[1] :]

    def write_counts(self) -> None:
        """Write the sums of the counts: one row for each recipient, in order."""
        if not self._counts:
            return
        sums: dict[int, dict[str, int]] = defaultdict(lambda: dict.fromkeys(_COUNTERS, 0))
        for recipient, counter, amount in self._counts:
            sums[recipient][counter] += amount
        recipients = sorted(sums)
        columns = {counter: [sums[recipient][counter] for recipient in recipients] for counter in _COUNTERS}
        self._connection.many_later("inbox/accounts/add", {"recipient": recipients, **columns})


class GroupWriter:
    """Writes groups of calls through one connection."""

    def __init__(
        self,
        connection: StoreConnection,
        clock: Clock,
        policy: Policy,
        signal_sink: SignalSink,
        report: Callable[[str | None, Sequence[PendingCall]], None] = lambda *_: None,
        require_disk_space: Callable[[], None] = lambda: None,
    ) -> None:
        """
        `signal_sink` never raises. `report` is called after each transaction: why it failed, or None, and its calls.
        `require_disk_space` raises Unavailable while nothing new may be stored.
        """
        self._connection = connection
        self._clock = clock
        self._policy = policy
        self._signal_sink = signal_sink
        self._report = report
        self._require_disk_space = require_disk_space
        self._waited_seconds = 0.0

    def write(self, calls: Sequence[PendingCall], *, waited_seconds: float = 0.0) -> list[CallOutcome]:
        """
        Run the calls in one transaction and return the outcome of each; errors of verbs and of the database are
        outcomes too. `waited_seconds` is how long the first call has waited.
        """
        self._waited_seconds = waited_seconds
        for attempt in range(MAX_ATTEMPTS):
            try:
                outcomes, signals = self._run_group(calls)
            except RetryTransaction:
                self._connection.abandon()
                if len(calls) > 1:
                    middle = len(calls) // 2
                    return self.write(calls[:middle]) + self.write(calls[middle:])
                import random

                from gatepost.core.backoff import Backoff

                # A collision clears when the other transaction ends: wait a random time, longer after each attempt.
                backoff = Backoff(0.002, cap=0.128, jitter=(0.0, 1.0))
                time.sleep(backoff.delay(attempt, random.SystemRandom().random()))
            except Unavailable as error:
                self._connection.abandon()
                self._report(error.message, calls)
                return [CallOutcome(error=Unavailable(error.message, hint=error.hint)) for _ in calls]
            except BaseException:
                self._connection.abandon()
                raise
            else:
                failures = [outcome.error for outcome in outcomes if isinstance(outcome.error, Unavailable)]
                # a verb reaches nothing but the database
                self._report(failures[0].message if failures else None, calls)
                if signals:
                    self._signal_sink(signals)
                return outcomes
        return [
            CallOutcome(error=Unavailable("the store is too busy with the same rows", hint="try again")) for _ in calls
        ]

    def _run_group(self, calls: Sequence[PendingCall]) -> "tuple[list[CallOutcome], list[Signal]]":
        tx = self._begin()
        outcomes = [CallOutcome() for _ in calls]
        groups = _group_calls(calls)
        if len(groups) == 1:
            # The transaction holds nothing else, so it is the savepoint. If it fails, begin again, each call alone.
            [indexes] = groups
            groups = []
            if not self._run_calls(tx, calls, indexes, outcomes, use_savepoint=False) and len(indexes) > 1:
                self._connection.abandon()
                tx = self._begin()
                groups = [[index] for index in indexes]
        for indexes in groups:
            if not self._run_calls(tx, calls, indexes, outcomes) and len(indexes) > 1:
                for single_index in indexes:
                    self._run_calls(tx, calls, [single_index], outcomes)
        if all(outcome.error for outcome in outcomes):
            self._connection.abandon()
        else:
            tx.write_counts()
            self._connection.commit()
        return outcomes, tx.signals

    def _begin(self) -> StoreTransaction:
        self._connection.begin(self._waited_seconds)
        return StoreTransaction(self._connection, self._clock, self._policy)

    def _run_calls(
        self,
        tx: StoreTransaction,
        calls: Sequence[PendingCall],
        indexes: Sequence[int],
        outcomes: list[CallOutcome],
        *,
        use_savepoint: bool = True,
    ) -> bool:
        """Run one verb for the calls at these indexes, in a savepoint; return True if it succeeded."""
        mark = tx.mark()
        if use_savepoint:
            self._connection.savepoint()
        try:
            call = calls[indexes[0]]
            when = getattr(call.verb, "needs_disk_space", None)
            if when is not None and when(*call.args):
                self._require_disk_space()
            if len(indexes) == 1:
                values = [call.verb(tx, *call.args, **call.kwargs)]
            else:
                values = _run_batched(tx, [calls[index] for index in indexes])
            if use_savepoint:
                self._connection.release()
        except RetryTransaction:
            raise
        except Exception as error:  # noqa: BLE001 (the caller gets every error)
            if use_savepoint:
                self._rollback_verb(error)
            tx.discard_since(mark)
            for index in indexes:
                outcomes[index].error = error
            return False
        for index, value in zip(indexes, values, strict=True):
            outcomes[index].value, outcomes[index].error = value, None
        return True

    def _rollback_verb(self, error: Exception) -> None:
        """Undo the verb alone. If that fails, the error came from the database and concerns the whole group."""
        try:
            self._connection.rollback_to()
        except Unavailable as rollback_error:
            raise (error if isinstance(error, Unavailable) else rollback_error) from rollback_error

    def close(self) -> None:
        self._connection.close()


def _group_calls(calls: Sequence[PendingCall]) -> list[list[int]]:
    """
    Return the indexes of the calls in groups that may run as one; most calls are alone in their group. A call joins an
    earlier group unless it would overtake another call of its own lane.
    """
    groups: list[list[int]] = []
    open_groups: dict[Any, tuple[list[int], set[str]]] = {}
    for index, call in enumerate(calls):
        batched_verb = call.verb if is_batched(call.verb) and len(call.args) == 1 and not call.kwargs else None
        for verb, (_, overtaken_lanes) in open_groups.items():
            if verb is not batched_verb:
                overtaken_lanes.add(call.lane)
        if batched_verb in open_groups and not (call.lane and call.lane in open_groups[batched_verb][1]):
            open_groups[batched_verb][0].append(index)
            continue
        groups.append([index])
        if batched_verb is not None:
            open_groups[batched_verb] = groups[-1], set()
    return groups


def _run_batched(tx: StoreTransaction, calls: Sequence[PendingCall]) -> list[Any]:
    """Run a batched verb over the elements of all calls; return a list of outcomes for each call."""
    elements = [element for call in calls for element in call.args[0]]
    outcomes = iter(calls[0].verb(tx, elements))
    return [[next(outcomes) for _ in call.args[0]] for call in calls]


def fit_rows(rows: Iterable[Row], max_chars: int) -> tuple[list[Row], bool]:
    """Return the first rows with at most `max_chars` of text, at least one row, and True if another was read."""
    page_rows: list[Row] = []
    for row in rows:
        max_chars -= sum(len(value) for value in row if isinstance(value, str))
        if max_chars < 0 and page_rows:
            return page_rows, True
        page_rows.append(row)
    return page_rows, False


def measure_calls(calls: Sequence[PendingCall]) -> int:
    """Return roughly how many bytes the calls want to store. It takes long, and is asked only after a failure."""
    return sum(len(repr(call.args)) + len(repr(call.kwargs)) for call in calls)


def weigh_call(call: PendingCall) -> tuple[int, int]:
    """Return what a call adds to a group: savepoints and elements."""
    if is_batched(call.verb) and call.args:
        weigh = getattr(call.verb, "weigh", None)
        return 0, sum(map(weigh, call.args[0])) if weigh is not None else len(call.args[0])
    return 1, 0
