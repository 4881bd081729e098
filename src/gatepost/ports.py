"""
The ports: the interfaces through which the verbs and the background work use the outside world.

Adapters implement them; `gatepost.testing` has the suites that a store and a transport must pass. Records that go
through a port and have more than a few fields are in `core`. The ports of single features are there too, beside their
records: a public ledger (`public_ledger.py`), the provider of a channel (`provider.py`), the Bot API of Telegram
(`telegram_api.py`) and a transcriber (`speech.py`).

**The store is the truth.** A **verb** is a plain function over a `Transaction`: `push.push_event(tx, request)`. It runs
in one transaction, reads and writes by naming statements (`tables/sql`), takes time from `tx.now` and identity from
`tx.new_id`, and has no other effect, because it may be run more than once. A **query** is a function over a `Reader`,
and changes nothing.

    sync code     store.run_sync(verb, ...)          store.read_sync(query, ...)
    async code    await store.run(verb, ..., lane=)  await store.read(query, ...)

When `run_sync` or `run` returns, the changes of the verb are on disk. When it raises, nothing was changed, and no
signal was sent. `Unavailable` says that the store cannot do it now; the store recovers by itself when it can.

A verb marked `@batched` takes a list and returns one outcome for each element: a value, or an error that concerns that
element alone. Calls of it that wait at the same time run as one call, up to a number of elements; an element that costs
more than others counts as several (`@weigh_by`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Concatenate, ParamSpec, Protocol, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks import this module, and have to start fast
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from gatepost.core.agent import Tool, ToolServer
    from gatepost.core.event import Json
    from gatepost.core.gate import CommandResult
    from gatepost.core.limits import Limits
    from gatepost.core.model import ChatRequest, ModelOutput, ToolResult, ToolSpec
    from gatepost.core.session import Guest, PrintedBatch
    from gatepost.core.signals import Signal, TransportMessage
    from gatepost.core.spool_line import SpoolLine
    from gatepost.core.times import Instant
    from gatepost.core.transport import QueuedEntry, SubscribedEvent, TransportStatus

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
    def limits(self) -> Limits: ...

    def fetch_one(self, statement: str, /, **parameters: Any) -> Row | None:
        """Run a statement and return its first row, None if there is none."""

    def fetch_all(self, statement: str, /, **parameters: Any) -> list[Row]:
        """Run a statement and return its rows. A parameter may be a list where the statement expects one."""

    def fetch_page(self, statement: str, /, **parameters: Any) -> list[Row]:
        """
        Run a statement and return the rows of one page: all of them or, if `max_page_chars` is set, the first rows that
        fit, and at least one. The other rows are not read, and `is_truncated` is set.
        """

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

    def after_commit(self, signal: Signal) -> None:
        """Send the signal after the commit, and only if the transaction commits."""

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
        """Why the last writing transaction could not be stored; None if it was stored."""

    @property
    def signal_failures(self) -> int:
        """How often the signal sink raised after a commit. Those signals are lost; the janitor sends them again."""

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

    def migrate(self) -> tuple[int, int]:
        """Migrate the schema to the version of this code; return the old version and the new one."""

    def check(self) -> list[str]:
        """Check the integrity of the database; return the problems, a sentence each."""

    def check_durability(self) -> tuple[bool, str]:
        """Return True if commits survive a crash of the machine, and the database settings that decide it."""

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


class UnprovedBatches(Protocol):
    """The printed and unsettled batches of a session, while no one else may drain it."""

    @property
    def batches(self) -> Sequence[PrintedBatch]:
        """Return the batches, the oldest first."""

    def add(self, batch: PrintedBatch) -> None:
        """Add a batch that was just printed; it is on disk when this returns."""

    def replace(self, batches: Sequence[PrintedBatch]) -> None:
        """Replace all batches by these, atomically."""

    def put_back(self, lines: Sequence[bytes]) -> None:
        """Append lines to the spool again, except a line whose id is already there."""


class SpoolDrain(Protocol):
    """The lines that were taken out of a session's spool, while no one else may drain it."""

    @property
    def lines(self) -> Sequence[SpoolLine]:
        """All lines, in the order in which they were written; those that a dead drain left come first."""

    @property
    def warnings(self) -> Sequence[str]:
        """The problems, a sentence each: text that could not be parsed, and where it was put."""

    @property
    def unproved(self) -> UnprovedBatches:
        """The batches that were printed before and are not settled."""

    def save_copy(self, entry: SpoolLine) -> str:
        """Save a copy of an entry that is too long to be shown in full; return where it can be read."""

    def finish(self, remaining: Iterable[SpoolLine] = ()) -> None:
        """Record that all lines were shown, except the `remaining` ones, which wait in the spool again."""


class Spool(Protocol):
    """
    The lines that wait for the hooks of a guest's session, one file for each session.

    Any program on this machine may write to it, in any language: lock the file, append a line with one write, unlock.
    The store is the truth; a line only makes that an agent gets an event sooner, or while the store cannot be reached.

    A drain sets the lines aside until `finish`. The next drain gets them first, so that no line is lost when a process
    dies. Only one process at a time drains a session.

    A batch that a hook has printed is unproved until a reply of the model shows whether it was read.
    """

    def append(self, session: str, entries: Sequence[SpoolLine]) -> None:
        """Append entries to a session's spool, each in full or not at all. Raise Unavailable if that fails."""

    def peek(self, session: str) -> Sequence[SpoolLine]:
        """Return the lines of a session's spool, with those that an unfinished drain took; change nothing."""

    def is_empty(self, session: str) -> bool:
        """Return True if a session's spool has no lines; this is cheap."""

    def drain(self, session: str) -> AbstractContextManager[SpoolDrain]:
        """
        Take all lines out of a session's spool, and lock it for other drains meanwhile; without `finish` the next drain
        gets them. Raise Conflict if another drain of the session takes too long, Unavailable if the files are unusable.
        """

    def read_unproved(self, session: str) -> Sequence[PrintedBatch]:
        """Return the printed and unsettled batches of a session, the oldest first."""

    def settle_unproved(self, session: str) -> AbstractContextManager[UnprovedBatches]:
        """
        Lock a session for drains while its unproved batches are settled. Raise Conflict if a drain of the session takes
        too long, Unavailable if the files are unusable.
        """

    def clear(self, session: str, *, before: Instant) -> bool:
        """
        Remove the files of a session that was silent since `before`, except lines that still have to be read. Return
        True if nothing is left; else a program may be about to write: call again after the same length of time.
        """

    def read_shown_keys(self, session: str, *, since: Instant = 0) -> dict[str, bool]:
        """
        Return the keys that were shown in this session since then, oldest first, each with whether the store knows that
        it was shown. Keys of which the store does not know are returned whatever their age.
        """

    def record_shown_keys(self, session: str, keys: Iterable[str], *, is_known: bool, at: Instant) -> None:
        """Record keys that were shown, and whether the store knows it. Of very many known keys the newest are kept."""


ListGuests = Callable[[], "Sequence[Guest]"]


class Nudge(Protocol):
    async def __call__(self, guest: Guest, text: str) -> None:
        """Tell an idle guest that events wait. Raise Unavailable if that fails."""


class Model(Protocol):
    """A language model: it reads a conversation and replies, word by word if it can."""

    @property
    def name(self) -> str:
        """The name in the configuration, such as `openai:gpt-5`."""

    def respond(self, request: ChatRequest) -> AsyncGenerator[ModelOutput]:
        """
        Yield what the model writes as it writes it, and last the complete `ModelReply`. Raise `ModelFailed`, and
        nothing else, if there is no reply; what was yielded before is then void.
        """

    async def close(self) -> None: ...


class HttpToolCaller(Protocol):
    """
    Calls tools behind a URL. As with `ToolServerSession`, a failure there is a result, also if there was no response:
    `call` raises only for a problem of the call itself (an argument that cannot be put into the URL). A call may be
    repeated with the same id, if the process died before it wrote down the result.
    """

    async def call(self, tool: Tool, id: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Send the HTTP request of a tool."""


class ToolServerSession(Protocol):
    """The MCP servers of one agent for the length of a cycle; it connects to a server when it is first needed."""

    async def list_tools(self, server: ToolServer) -> Sequence[ToolSpec]:
        """Return the tools of a server, under their own names. Raise Unavailable if it does not answer."""

    async def call(self, server: ToolServer, tool: str, arguments: Mapping[str, Json]) -> ToolResult: ...


class ToolServers(Protocol):
    def open_session(self) -> AbstractAsyncContextManager[ToolServerSession]:
        """Return a session; leaving it closes the connections and ends the commands."""


class CommandRunner(Protocol):
    """
    Runs commands of the user: the condition of a gate, the command that an answer starts.

    A command that is a string is a line for the shell; a command that is a list is run as it is. It gets its input on
    stdin and has a time limit; after that it is killed, with all processes that it started.
    """

    async def run(self, command: str | Sequence[str], *, stdin: str = "", time_limit: float) -> CommandResult:
        """Run a command to its end, or for `time_limit` seconds; a command that does not exist ends with 127."""
