"""
Many verbs, one commit.

A disk can flush a few thousand times a second; callers want more than that. So a writer takes every call that waits,
runs each in a savepoint of its own, commits once, and only then answers them all:

    calls ->  BEGIN  [savepoint verb] [savepoint verb] ... counters  COMMIT  -> rings -> answers

Why this is as good as a transaction each:

- *Answered means stored.* No answer leaves before COMMIT has returned.
- *Failed means nothing left.* A verb that raises is rolled back to its savepoint, and its rings and counts are dropped
  with it. If the database itself ends the transaction (a full disk, a lost connection), nothing of the group is stored
  and all of it is told `Unavailable`.
- *Order.* Verbs of one lane go to one writer, in the order of their calls, and run one after the other.
- *Again is safe.* When two writers collide (deadlock, serialisation) the database undoes one of the groups; it is run
  again from the start, which a verb permits by having no effect but on its transaction. It is run again in halves, so
  that groups that keep colliding become single verbs, which seldom do.
- *A lost answer to COMMIT* is looked up (`Connection.commit` asks what became of the transaction), not guessed.

Waiting calls of a `batched` verb are run as one call with all their elements; if that raises, each is run alone, so
that one bad element cannot fail its neighbours.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from gatepost.core.ids import mint
from gatepost.core.instants import Instant
from gatepost.core.limits import Limits
from gatepost.core.ring import Ring
from gatepost.errors import Unavailable
from gatepost.ports import Clock, RetryTransaction, Row, SignalSink, is_batched

if TYPE_CHECKING:
    import asyncio

#: savepoints in one transaction: past 64 PostgreSQL keeps them in a slower place
SAVEPOINTS: Final = 60
#: elements of a batched verb in one statement, those that weigh more counted as several
ELEMENTS: Final = 1_000
#: times a group is run again after a collision
TRIES: Final = 12

_COUNTS: Final = ("accepted", "delivered", "expired", "discarded")


class Connection(Protocol):
    """What a writer needs of a database. Whatever the driver raises comes out as `Unavailable` or `Again`."""

    def begin(self, waited: float = 0.0) -> Instant | None:
        """
        Begin a transaction, connecting first where needed; return the database's time if it has one. Its first caller
        has `waited` for so many seconds already: where others are waited for, that counts.
        """
        ...

    def savepoint(self) -> None: ...
    def release(self) -> None: ...

    def rollback_to(self) -> None:
        """Undo the verb; `Unavailable` if the transaction is gone altogether."""
        ...

    def commit(self) -> None: ...

    def abandon(self) -> None:
        """Undo everything and, if the connection is no longer good, let go of it; never raises."""
        ...

    def all(self, statement: str, parameters: Mapping[str, Any], /) -> list[Row]: ...

    def first(self, statement: str, parameters: Mapping[str, Any], room: int, /) -> tuple[list[Row], bool]:
        """Return the first rows, as many as have room, and whether there are more, which are not read."""
        ...

    def run(self, statement: str, parameters: Mapping[str, Any], /) -> int: ...
    def many(self, statement: str, columns: Mapping[str, Sequence[Any]], /) -> int: ...
    def close(self) -> None: ...


@dataclass(slots=True)
class Call:
    """A verb that somebody waits for."""

    verb: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    lane: str = ""
    #: where the answer is awaited, for callers in an event loop
    future: "asyncio.Future[Any] | None" = None
    #: since when it waits, by the monotonic clock
    since: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class Outcome:
    value: Any = None
    error: BaseException | None = None


class Transaction:
    """The `Transaction` of a group: statements go to the connection, rings and counts are kept for the end."""

    def __init__(self, connection: Connection, clock: Clock, limits: Limits, now: Instant | None) -> None:
        self._connection = connection
        self._clock = clock
        self.limits = limits
        self.now = clock.now() if now is None else now
        self.rings: list[Ring] = []
        self._counts: list[tuple[int, str, int]] = []
        self.room: int | None = None
        self.is_cut = False

    def fetch_one(self, statement: str, /, **parameters: Any) -> Row | None:
        rows = self._connection.all(statement, parameters)
        return rows[0] if rows else None

    def fetch_all(self, statement: str, /, **parameters: Any) -> list[Row]:
        return self._connection.all(statement, parameters)

    def fetch_page(self, statement: str, /, **parameters: Any) -> list[Row]:
        if self.room is None:
            return self._connection.all(statement, parameters)
        rows, is_cut = self._connection.first(statement, parameters, self.room)
        self.is_cut = self.is_cut or is_cut
        return rows

    def execute(self, statement: str, /, **parameters: Any) -> int:
        return self._connection.run(statement, parameters)

    def execute_many(self, statement: str, columns: Mapping[str, Sequence[Any]], /) -> int:
        return self._connection.many(statement, columns)

    def after_commit(self, ring: Ring) -> None:
        self.rings.append(ring)

    def add_to_tally(self, recipient: int, counter: str, amount: int) -> None:
        self._counts.append((recipient, counter, amount))

    def new_id(self, prefix: str) -> str:
        return mint(prefix, self.now, self._clock.entropy())

    def mark(self) -> tuple[int, int]:
        return len(self.rings), len(self._counts)

    def forget(self, mark: tuple[int, int]) -> None:
        """Drop the rings and counts since the mark."""
        del self.rings[mark[0] :], self._counts[mark[1] :]

    def settle(self) -> None:
        """Write the counts: once for each recipient, in order."""
        if not self._counts:
            return
        sums: dict[int, dict[str, int]] = defaultdict(lambda: dict.fromkeys(_COUNTS, 0))
        for recipient, counter, amount in self._counts:
            sums[recipient][counter] += amount
        recipients = sorted(sums)
        columns = {counter: [sums[recipient][counter] for recipient in recipients] for counter in _COUNTS}
        self._connection.many("tallies/add", {"recipient": recipients, **columns})


class Writer:
    """One connection, and the groups that go through it."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        limits: Limits,
        bell: SignalSink,
        report: Callable[[str | None], None] = lambda _: None,
    ) -> None:
        """
        The `bell` raises nothing. `report` is told after each transaction why it could not be stored; None when it was.
        """
        self._connection = connection
        self._clock = clock
        self._limits = limits
        self._bell = bell
        self._report = report
        self._waited = 0.0

    def write(self, calls: Sequence[Call], *, waited: float = 0.0) -> list[Outcome]:
        """
        Run the calls in one transaction and return what became of each; nothing is raised. The first of them has
        `waited` for so many seconds.
        """
        self._waited = waited
        for attempt in range(TRIES):
            try:
                outcomes, rings = self._attempt(calls)
            except RetryTransaction:
                self._connection.abandon()
                if len(calls) > 1:
                    half = len(calls) // 2
                    return self.write(calls[:half]) + self.write(calls[half:])
                import random

                # A collision clears when the other one is through: wait a little, unevenly, longer each time.
                time.sleep(random.uniform(0, 0.002 * 2 ** min(attempt, 6)))  # noqa: S311 (not for secrecy)
            except Unavailable as error:
                self._connection.abandon()
                self._report(error.message)
                return [Outcome(error=Unavailable(error.message, hint=error.hint)) for _ in calls]
            except BaseException:
                self._connection.abandon()
                raise
            else:
                self._report(None)
                self._ring(rings)
                return outcomes
        return [Outcome(error=Unavailable("the store is too busy with the same rows", hint="try again")) for _ in calls]

    def _attempt(self, calls: Sequence[Call]) -> tuple[list[Outcome], list[Ring]]:
        tx = self._begun()
        outcomes = [Outcome() for _ in calls]
        groups = _together(calls)
        if len(groups) == 1:
            # Nothing else is in the transaction: that is the savepoint. What failed as one is begun anew, each alone.
            [together] = groups
            groups = []
            if not self._try(tx, calls, together, outcomes, savepoint=False) and len(together) > 1:
                self._connection.abandon()
                tx = self._begun()
                groups = [[place] for place in together]
        for together in groups:
            if not self._try(tx, calls, together, outcomes) and len(together) > 1:
                for alone in together:
                    self._try(tx, calls, [alone], outcomes)
        if all(outcome.error for outcome in outcomes):
            self._connection.abandon()
        else:
            tx.settle()
            self._connection.commit()
        return outcomes, tx.rings

    def _begun(self) -> Transaction:
        begun_at = self._connection.begin(self._waited)
        return Transaction(self._connection, self._clock, self._limits, begun_at)

    def _try(
        self,
        tx: Transaction,
        calls: Sequence[Call],
        together: Sequence[int],
        outcomes: list[Outcome],
        *,
        savepoint: bool = True,
    ) -> bool:
        """Run one verb for the calls at these places, in a savepoint; say whether it went through."""
        mark = tx.mark()
        if savepoint:
            self._connection.savepoint()
        try:
            if len(together) == 1:
                call = calls[together[0]]
                values = [call.verb(tx, *call.args, **call.kwargs)]
            else:
                values = _run_as_one(tx, [calls[place] for place in together])
        except RetryTransaction:
            raise
        except Exception as error:  # noqa: BLE001 (whatever it was, it is the caller's to see)
            if savepoint:
                self._undo(error)
            tx.forget(mark)
            for place in together:
                outcomes[place].error = error
            return False
        if savepoint:
            self._connection.release()
        for place, value in zip(together, values, strict=True):
            outcomes[place].value, outcomes[place].error = value, None
        return True

    def _undo(self, error: Exception) -> None:
        """Undo the verb alone. If that cannot be done, the error was of the database and concerns the whole group."""
        try:
            self._connection.rollback_to()
        except Unavailable as gone:
            raise (error if isinstance(error, Unavailable) else gone) from gone

    def _ring(self, rings: Sequence[Ring]) -> None:
        if rings:
            self._bell(rings)

    def close(self) -> None:
        self._connection.close()


def _together(calls: Sequence[Call]) -> list[list[int]]:
    """
    Put the places of calls that may run as one beside each other; every other call stands alone. A call joins those
    before it unless it would overtake another call of its own lane by that.
    """
    groups: list[list[int]] = []
    open: dict[Any, tuple[list[int], set[str]]] = {}
    for place, call in enumerate(calls):
        batch = call.verb if is_batched(call.verb) and len(call.args) == 1 and not call.kwargs else None
        for verb, (_, passed) in open.items():
            if verb is not batch:
                passed.add(call.lane)
        if batch in open and not (call.lane and call.lane in open[batch][1]):
            open[batch][0].append(place)
            continue
        groups.append([place])
        if batch is not None:
            open[batch] = groups[-1], set()
    return groups


def _run_as_one(tx: Transaction, calls: Sequence[Call]) -> list[Any]:
    """Run a batched verb over the elements of all the calls and give each its share of the outcomes."""
    elements = [element for call in calls for element in call.args[0]]
    outcomes = iter(calls[0].verb(tx, elements))
    return [[next(outcomes) for _ in call.args[0]] for call in calls]


def fit(rows: Iterable[Row], room: int) -> tuple[list[Row], bool]:
    """Return the first rows whose text has so much room, one at least, and whether another was read."""
    fitting: list[Row] = []
    for row in rows:
        room -= sum(len(value) for value in row if isinstance(value, str))
        if room < 0 and fitting:
            return fitting, True
        fitting.append(row)
    return fitting, False


def weight(call: Call) -> tuple[int, int]:
    """What a call adds to a group: savepoints and elements."""
    if is_batched(call.verb) and call.args:
        weigh = getattr(call.verb, "weigh", None)
        return 0, sum(map(weigh, call.args[0])) if weigh is not None else len(call.args[0])
    return 1, 0


def raised(outcome: Outcome) -> Any:
    """Return the value, or raise the error."""
    if outcome.error is not None:
        raise outcome.error
    return outcome.value
