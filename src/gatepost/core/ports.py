"""
The ports: the interfaces through which the verbs and the background work use the outside world.

Adapters implement them; `gatepost.testing` has the suites that a store and a transport must pass. The ports of a
single room are there, beside its records: models and tools (`residents/model_port.py`), the spool (`guests/ports.py`),
commands (`gates/condition_check.py`), a public ledger (`ledger/public_ledger.py`), the provider of a channel
(`channels/provider.py`), the API of bots (`bot_port.py` in their folder there) and a transcriber
(`channels/speech/transcriber.py`).

**The store is the truth.** A **verb** is a plain function over a `Transaction`: `spaces.actions.post(tx, ...)`. It runs
in one transaction, reads and writes by naming statements (`sql` in each room), takes time from `tx.now` and identity
from `tx.new_id`, and has no other effect, because it may be run more than once. A **query** is a function over a
`Reader`, and changes nothing.

    sync code     store.run_sync(verb, ...)          store.read_sync(query, ...)
    async code    await store.run(verb, ..., lane=)  await store.read(query, ...)

When `run_sync` or `run` returns, the changes of the verb are on disk. When it raises, nothing was changed, and no
signal was sent. `Unavailable` says that the store cannot do it now; the store recovers by itself when it can.

A verb marked `@batched` takes a list and returns one outcome for each element: a value, or an error that concerns that
element alone. Calls of it that wait at the same time run as one call, up to a number of elements; an element that costs
more than others counts as several (`@weigh_by`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, Concatenate, ParamSpec, Protocol, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks import this module, and have to start fast
    from contextlib import AbstractAsyncContextManager

    from gatepost.core.policy import Policy
    from gatepost.core.signals import Signal, TransportMessage
    from gatepost.core.times import Instant
    from gatepost.core.transport_records import QueuedEntry, SubscribedEvent, TransportStatus
    from gatepost.reactions import RoomQuestion

P = ParamSpec("P")
T = TypeVar("T")
W = TypeVar("W")
V = TypeVar("V", bound=Callable[..., Any])


class Row(tuple[Any, ...]):
    """A row of a statement. Its columns are attributes: `row.name`; it can also be unpacked."""

    __slots__ = ()
    columns: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:

        def __getattr__(self, column: str) -> Any: ...


class Clock(Protocol):
    """The source of time and identity, so that tests control both."""

    def now(self) -> Instant:
        """
        Return the present time, in microseconds UTC. It is earlier than the last one returned only if the machine's
        clock was set back by more than a few minutes.
        """

    def entropy(self) -> int:
        """Return at least 74 random bits."""


class RetryTransaction(Exception):
    """
    Another transaction got in the way, and the transaction has to run again. The database says so if two transactions
    collide; a verb may raise it if a row that it relied on was removed. Callers of the store never see it.
    """


class Reader(Protocol):
    """A transaction that only reads: what a query may do."""

    @property
    def now(self) -> Instant:
        """The time of this transaction: of the database on PostgreSQL, the process on SQLite, the clock in tests."""

    @property
    def policy(self) -> Policy: ...

    @property
    def is_remote(self) -> bool:
        """
        Whether each wait for the database is a round trip: then it pays to ask in advance for what is seldom needed.
        """

    def fetch_one(self, statement: str, /, **parameters: Any) -> Row | None:
        """Run a statement and return its first row, None if there is none."""

    def fetch_all(self, statement: str, /, **parameters: Any) -> list[Row]:
        """Run a statement and return its rows. A parameter may be a list where the statement expects one."""

    def fetch_later(self, statement: str, /, **parameters: Any) -> Callable[[], list[Row]]:
        """
        Run a statement whose rows are needed only after the next one has run, and return a function that returns them.
        It is sent with the next one: a round trip to the database is saved.
        """

    def fetch_page(self, statement: str, /, **parameters: Any) -> list[Row]:
        """
        Run a statement and return the rows of one page: all of them or, if `max_page_chars` is set, the first rows that
        fit, and at least one. The other rows are not read, and `is_truncated` is set.
        """

    def get_cache(self, tables: str) -> dict[Any, Any] | None:
        """
        Return what was read of these tables (their names, with spaces between) and kept for later transactions; None if
        nothing can be kept. It is emptied when one of the tables may have changed, here or in another process.
        """

    def ask(self, question: RoomQuestion[T], /) -> T:
        """Return the answer of a later room to a question (`reactions.py`)."""

    #: characters of text that the rows of a page may have; None for any number
    max_page_chars: int | None
    #: whether a page left rows out
    is_truncated: bool


class Transaction(Reader, Protocol):
    """What a verb may do: read, write, and send signals after the commit."""

    def execute(self, statement: str, /, **parameters: Any) -> int:
        """Run a statement and return the number of rows that it changed."""

    def execute_many(self, statement: str, columns: Mapping[str, Sequence[Any]], /) -> int:
        """Run a statement for every row of these columns at once and return the number of rows that it changed."""

    def execute_later(self, statement: str, /, **parameters: Any) -> None:
        """
        Run a statement of which the verb needs no result. It may reach the database only with the next one, or with the
        commit; every later statement sees what it did. If it fails, all of the verb fails, so it is not for a statement
        whose error the verb handles.
        """

    def execute_many_later(
        self, statement: str, columns: Mapping[str, Sequence[Any]], /, *, may_collide: bool = False
    ) -> None:
        """
        Run a statement for every row of these columns, as `execute_later` does. With `may_collide` the rows were not
        there when the verb looked: if another transaction has inserted one since, all runs again.
        """

    def after_commit(self, signal: Signal) -> None:
        """Send the signal after the commit, and only if the transaction commits."""

    def react(self, event: tuple[Any, ...], /) -> None:
        """Let later rooms react to what has happened, in this transaction (`reactions.py`)."""

    def add_to_account(self, recipient: int, counter: str, amount: int) -> None:
        """
        Add to a counter of a recipient: `accepted` items, or reaped items that were `delivered`, `expired` or
        `discarded`. The store writes counters once for a group of verbs, last and in order of recipients, because many
        verbs touch the same row and must neither wait for each other nor deadlock.
        """

    def new_id(self, prefix: str) -> str:
        """Return a new id."""


Verb = Callable[Concatenate[Transaction, P], T]
Query = Callable[Concatenate[Reader, P], T]


class Store(Protocol):
    @property
    def failure(self) -> str | None:
        """
        Why a writing transaction could not be stored; None again after one that is at least as large was stored, or
        `try_to_write` has succeeded.
        """

    @property
    def commit_count(self) -> int:
        """How many writing transactions this store has committed, also those that changed nothing."""

    @property
    def signal_failures(self) -> int:
        """How often the signal sink raised after a commit. Those signals are lost, and found again by query."""

    def run_sync(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb in a transaction of its own on this thread."""

    def read_sync(self, query: Query[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a query on this thread."""

    async def run(self, verb: Callable[..., T], /, *args: Any, lane: str = "", **kwargs: Any) -> T:
        """
        Run a verb together with other waiting verbs, in one commit. Verbs of one lane (an agent, a space) go through
        the same writer, in the order of their calls.
        """

    async def read(self, query: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Run a query on a connection of its own."""

    def migrate(self, *, can_create: bool = True, version: int | None = None) -> tuple[int, int]:
        """
        Migrate the schema to the version of this code, or to an older `version` in a new database; return the old
        version and the new one. Without `can_create`, leave a database alone that has no schema, and return zeros.
        """

    def check(self) -> list[str]:
        """Check the integrity of the database; return the problems, a sentence each."""

    def check_durability(self) -> tuple[bool, str]:
        """Return True if commits survive a crash of the machine, and the database settings that decide it."""

    def measure_free_space(self) -> int | None:
        """Return the free bytes of the disk that the store is on; None if that cannot be known."""

    def require_disk_space(self) -> None:
        """Raise Unavailable if the disk has less free space than `Policy.reserve`."""

    def try_to_write(self) -> None:
        """Write as much as the transaction that failed, and undo it; raise Unavailable if that is not possible."""

    def shrink(self) -> None:
        """Return free disk space to the system, unless other transactions would have to wait for it now."""

    def close(self) -> None:
        """Finish the accepted verbs, then close all connections."""


def batched(verb: Callable[[Transaction, Sequence[W]], list[T]]) -> Callable[[Transaction, Sequence[W]], list[T]]:
    """Mark a verb whose waiting calls may run as one call."""
    verb.batched = True  # type: ignore[attr-defined]
    return verb


def weigh_by(weigh: Callable[[Any], int]) -> Callable[[V], V]:
    """Mark a batched verb whose elements differ in cost; `weigh` returns as how many usual elements one counts."""

    def mark(verb: V) -> V:
        verb.weigh = weigh  # type: ignore[attr-defined]
        return verb

    return mark


def needs_disk_space(when: Callable[..., bool] = lambda *_: True) -> Callable[[V], V]:
    """
    Mark a verb that stores something new, if `when` says so of its arguments. As the verb of a call it is refused while
    the disk is nearly full; other verbs, such as an ack, go on, and may use it.
    """

    def mark(verb: V) -> V:
        verb.needs_disk_space = when  # type: ignore[attr-defined]
        return verb

    return mark


def is_batched(verb: Callable[..., Any]) -> bool:
    return getattr(verb, "batched", False)


class SignalSink(Protocol):
    def __call__(self, signals: Sequence[Signal], /) -> None:
        """
        Pass the signals on. The store calls it after the commit, on the thread that committed, so it must not block.
        An exception is counted (`Store.signal_failures`) and dropped: the truth is in the store, and the janitor
        signals again.
        """


def ignore_signals(signals: Sequence[Signal]) -> None:
    """Drop the signals: a `SignalSink` for a store without subscribers."""


MessageHandler = Callable[["TransportMessage"], None]


class Transport(Protocol):
    """
    Carries signals, and frames of live streams, to other processes.

    A transport may lose, repeat, delay and reorder messages; a message proves nothing. A receiver of a signal reads the
    store, and the janitor finds what no signal was received for. Therefore a transport never raises to a sender, never
    makes a sender wait, and recovers by itself: while it cannot reach its server it is degraded, tries again with
    growing pauses, and messages that are sent meanwhile may be lost.
    """

    @property
    def name(self) -> str:
        """The kind of transport, as in the settings: `memory`, `socket`, `postgres`, `redis` or `nats`."""

    @property
    def status(self) -> TransportStatus: ...

    def send(self, messages: Sequence[TransportMessage]) -> None:
        """Send messages to every other process that listens. From any thread; it returns at once and never raises."""

    def listen(self, handle: MessageHandler) -> AbstractAsyncContextManager[None]:
        """
        While entered, call `handle` in this event loop for every message of another process, and perhaps for messages
        of this process. Entering waits for the subscription, so that no later message is missed for lack of it; if the
        server cannot be reached, it enters all the same, degraded.
        """


EventHandler = Callable[["SubscribedEvent"], Awaitable[None]]
ResyncHandler = Callable[[], None]


class Subscription(Protocol):
    """
    The source of one agent's events, for its courier.

    It may lose, repeat and reorder events, as a transport may. A source that keeps events (JetStream) delivers an event
    until it is acked; another source (a channel of Redis, a stream of the gateway) delivers it once. So an ack says
    that the event is safe here. A courier that refuses an event gets it again, or is told to resync: an event may have
    been missed, and the courier has to ask the store.
    """

    @property
    def name(self) -> str:
        """The kind of source: `nats`, `redis`, `gateway` or `store`."""

    async def follow(self, handle: EventHandler, resync: ResyncHandler) -> None:
        """
        Pass every event to `handle`, one after the other, until the connection is lost; then raise the reason. Call
        `resync` as soon as no later event can be missed, and whenever an event may have been missed.

        Cancelling `follow` while `handle` runs cancels `handle` too.
        """


class IntakeQueue(Protocol):
    """
    A queue in which programs that know nothing of the gateway leave events for agents.

    `take` only sets entries aside until they are settled. The next `take` for the same agent returns first the entries
    that were taken and never settled, whichever process took them: so no entry is lost when a process dies, and the
    oldest entry always comes first. An entry may therefore come twice; it has an id by which a repeat is recognised.
    """

    @property
    def source(self) -> str:
        """The transport of the entries, as in the keys of their events: `redis` or `nats`."""

    async def open(self) -> None:
        """Connect, so that no later entry is missed. Raise Unavailable if the server cannot be reached."""

    async def take(self, agents: Sequence[str]) -> list[QueuedEntry]:
        """
        Set aside some entries of each of these agents and return them, oldest first. Return no entries of an agent
        whose queue another process is reading. Raise Unavailable if the server cannot be reached.
        """

    async def settle(self, entries: Sequence[tuple[QueuedEntry, str | None]]) -> None:
        """Remove entries; keep those that have a reason (the second element) where a person can look at them."""

    async def close(self) -> None:
        """Close the connection."""

    async def agents(self) -> list[str]:
        """Return every agent with entries that wait or were set aside."""
