"""
The ports: the interfaces through which the verbs and the background work use the world outside.

Adapters implement them; `gatepost.testing` has the suites that a store and a transport must pass. Records that go
through a port and are more than a few fields are in `core`.

**The store keeps the truth.** A **verb** is a plain function over a `Transaction`: `push.push_event(tx, push)`. It runs
in one transaction, reads and writes by naming statements (`tables/sql`), takes time from `tx.now` and identity from
`tx.new_id`, and has no other effect, because it may be run more than once. A **query** is a function over a `Reader`,
and changes nothing.

    sync code     store.call(verb, ...)              store.query(query, ...)
    async code    await store.run(verb, ..., lane=)  await store.read(query, ...)

All four answer after the fact: when `call` or `run` returns, what the verb did is on disk; when it raises, nothing of
it is, nor its signals. `Unavailable` says that the store could not do it now; the store heals by itself when it can.

A verb marked `@batched` takes a list and returns one outcome for each of its elements: a value, or an error that
concerns that element alone. Calls of it that wait at the same time are run as one, up to so many elements; one that
costs more than others counts for several (`@weigh_by`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Concatenate, ParamSpec, Protocol, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks import this page, and have to start fast
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from gatepost.core.agent import Tool, ToolServer
    from gatepost.core.command import CommandResult
    from gatepost.core.event import Event, Json
    from gatepost.core.frame import TransportMessage
    from gatepost.core.guest import Guest
    from gatepost.core.limits import Limits
    from gatepost.core.model import ChatRequest, ModelOutput, ToolResult, ToolSpec
    from gatepost.core.printed_batch import PrintedBatch
    from gatepost.core.signals import Signal
    from gatepost.core.spool_line import SpoolLine
    from gatepost.core.times import Instant

P = ParamSpec("P")
T = TypeVar("T")
W = TypeVar("W")
V = TypeVar("V", bound=Callable[..., Any])


class Row(tuple[Any, ...]):
    """A row that a statement gave. Its columns are attributes: `row.name`; it can also be unpacked."""

    __slots__ = ()
    columns: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:

        def __getattr__(self, column: str) -> Any: ...


class Clock(Protocol):
    """Where time and identity come from, so that tests can hold both still."""

    def now(self) -> Instant:
        """
        Return the present, in microseconds UTC. It is earlier than the answer before only when the machine's clock was
        set back by more than a few minutes.
        """

    def entropy(self) -> int:
        """Return at least 74 random bits."""


class RetryTransaction(Exception):
    """
    What another transaction did got in the way, and running it all again will do. The database says so when two
    collide, and a verb may when what it relied on was removed under it. Callers never see it.
    """


class Reader(Protocol):
    """What a query may do."""

    @property
    def now(self) -> Instant:
        """The time of this transaction: the database's on PostgreSQL, the process's on SQLite, the clock's in tests."""

    @property
    def limits(self) -> Limits: ...

    def fetch_one(self, statement: str, /, **parameters: Any) -> Row | None:
        """Run a statement and return its first row."""

    def fetch_all(self, statement: str, /, **parameters: Any) -> list[Row]:
        """Run a statement and return its rows. A parameter may be a list where the statement expects one."""

    def fetch_page(self, statement: str, /, **parameters: Any) -> list[Row]:
        """
        Run a statement and return the rows of one page: all of them or, where there is only so much `room`, the first
        that fit, and one at least. The others are not read; `is_cut` then says so.
        """

    #: characters of text that the rows of a page may have; None for any number
    room: int | None
    #: whether a page has left rows out
    is_cut: bool


class Transaction(Reader, Protocol):
    """What a verb may do: read, write, and say what shall happen after the commit."""

    def execute(self, statement: str, /, **parameters: Any) -> int:
        """Run a statement and return how many rows it changed."""

    def execute_many(self, statement: str, columns: Mapping[str, Sequence[Any]], /) -> int:
        """Run a statement for every row of these columns at once and return how many rows it changed."""

    def after_commit(self, signal: Signal) -> None:
        """Send the signal when, and only if, this is committed."""

    def add_to_tally(self, recipient: int, counter: str, amount: int) -> None:
        """
        Add to the tally of a recipient: to what it `accepted`, or to what was `delivered`, `expired` or `discarded`
        and is now reaped. Written once a group, last and in order of recipients, because many verbs touch the same
        row and must neither wait for each other nor deadlock.
        """

    def new_id(self, prefix: str) -> str:
        """Return a new id."""


Verb = Callable[Concatenate[Transaction, P], T]
Query = Callable[Concatenate[Reader, P], T]


class Store(Protocol):
    @property
    def failure(self) -> str | None:
        """Why the last transaction that writes could not be stored; None when it was."""

    @property
    def signal_failures(self) -> int:
        """How often the sink raised after a commit; those signals are lost, and what they were for is found later."""

    def call(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb in a transaction of its own on this thread."""

    def query(self, query: Query[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a query on this thread."""

    async def run(self, verb: Callable[..., T], /, *args: Any, lane: str = "", **kwargs: Any) -> T:
        """
        Run a verb together with others that wait, in one commit. Verbs of one lane (an agent, a space) go through the
        same writer, in order of their calls.
        """

    async def read(self, query: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Run a query on a connection of its own."""

    def migrate(self) -> tuple[int, int]:
        """Bring the schema up to this code; return the version it had and the one it has."""

    def check(self) -> list[str]:
        """Ask the database whether it is whole; return what is wrong, a sentence each."""

    def check_durability(self) -> tuple[bool, str]:
        """Return True if what is committed survives a crash of the machine, and how the database is set for that."""

    def shrink(self) -> None:
        """Give back disk space that is not needed any more, unless others would have to wait for that now."""

    def close(self) -> None:
        """Finish what was taken on, then let go of everything."""


def batched(verb: Callable[[Transaction, Sequence[W]], list[T]]) -> Callable[[Transaction, Sequence[W]], list[T]]:
    """Mark a verb whose waiting calls may be run as one."""
    verb.batched = True  # type: ignore[attr-defined]
    return verb


def weigh_by(weigh: Callable[[Any], int]) -> Callable[[V], V]:
    """Mark a batched verb whose elements do not all cost the same; `weigh` says as how many usual ones one counts."""

    def mark(verb: V) -> V:
        verb.weigh = weigh  # type: ignore[attr-defined]
        return verb

    return mark


def is_batched(verb: Callable[..., Any]) -> bool:
    return getattr(verb, "batched", False)


class SignalSink(Protocol):
    def __call__(self, signals: Sequence[Signal], /) -> None:
        """
        Pass the signals on. Called after the commit, on the thread that committed, so it must not block. Whatever it
        raises is counted (`Store.signal_failures`) and forgotten: the truth is in the store, and the janitor signals
        again.
        """


def ignore_signals(signals: Sequence[Signal]) -> None:
    """Take signals for those who wait for none."""


@dataclass(frozen=True, slots=True)
class TransportStatus:
    """How a transport is: up, or degraded and why."""

    is_degraded: bool = False
    reason: str | None = None


MessageHandler = Callable[["TransportMessage"], None]


class Transport(Protocol):
    """
    Carries signals, and frames of live streams, to other processes.

    A transport may lose, repeat, delay and reorder; nothing is true because it said so. Whoever receives a signal looks
    into the store, and what no signal was received for is found by the janitor. Therefore a transport never raises
    towards those who send, never makes them wait, and heals by itself: while it cannot reach its server it is degraded,
    tries again with growing pauses, and what was sent meanwhile may be lost.
    """

    @property
    def name(self) -> str:
        """Its kind, as in the settings: `memory`, `socket`, `postgres`, `redis` or `nats`."""

    @property
    def status(self) -> TransportStatus: ...

    def send(self, messages: Sequence[TransportMessage]) -> None:
        """Pass messages on to every other process that listens. From any thread; returns at once; never raises."""

    def listen(self, handle: MessageHandler) -> AbstractAsyncContextManager[None]:
        """
        While entered, call `handle` in this event loop for every message of another process. It may also be called
        for messages of one's own. Entered once the subscription stands, so that no later message is missed for lack
        of it; if the server cannot be reached then, it is entered all the same, degraded.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscribedEvent:
    """An event on its way to one agent, as its courier is handed it."""

    #: None if it cannot be read, and then never will be
    event: Event | None
    #: why it cannot be read
    error: str = ""
    #: whether it is for every agent
    broadcast: bool = False
    ack: Callable[[], Awaitable[None]]
    #: in how many seconds it may come again
    refuse: Callable[[float], Awaitable[None]]


EventHandler = Callable[[SubscribedEvent], Awaitable[None]]
ResyncHandler = Callable[[], None]


class Subscription(Protocol):
    """
    Where the events of one agent come from.

    It may lose, repeat and reorder, as a transport may. A source that keeps what it was given (JetStream) hands an
    event out until it is acked; another (a channel of Redis, a stream of the gateway) hands it out once. So an ack says
    that the event is safe here, and whoever refuses an event is handed it again, or told to resync: that something may
    have been missed, and the store has to be asked.
    """

    @property
    def name(self) -> str:
        """What they come from: `nats`, `redis`, `gateway` or `store`."""

    async def follow(self, handle: EventHandler, resync: ResyncHandler) -> None:
        """
        Hand every event to `handle`, one after the other, until the connection is lost; raise why. `resync` is called
        as soon as nothing more can be missed, and whenever something may have been.

        Whoever cancels this while `handle` runs cancels that too.
        """


def build_unkept_event(
    event: Event | None, resync: ResyncHandler, *, error: str = "", broadcast: bool = False
) -> SubscribedEvent:
    """Return an event from a source that keeps nothing: there is nothing to ack, and whoever refuses it resyncs."""

    async def ack() -> None:
        pass

    async def refuse(_: float) -> None:
        resync()

    return SubscribedEvent(event=event, error=error, broadcast=broadcast, ack=ack, refuse=refuse)


@dataclass(frozen=True, slots=True)
class QueuedEntry:
    #: the agent it is for, as it was written there
    agent: str
    raw: bytes
    #: where it stands, if the queue keeps an order of all entries
    position: str | None = None


class IntakeQueue(Protocol):
    """
    Where programs that know nothing of the gateway leave events for agents.

    What is taken out is only set aside until it is settled. Whoever takes next for the same agent is given first what
    was taken and never settled, whoever had taken it: so nothing is lost when a taker dies, and what is given begins
    with the oldest, always. An entry may therefore be given twice; it has an id by which the second time is recognised.
    """

    @property
    def source(self) -> str:
        """What entries come by, as in the keys of their events: `redis` or `nats`."""

    async def open(self) -> None:
        """Connect, so that nothing is missed that is left from now on. Unavailable if it cannot be reached."""

    async def take(self, agents: Sequence[str]) -> list[QueuedEntry]:
        """
        Set aside some of what lies there for each of these agents, and return it, oldest first. Nothing is returned
        for an agent whose queue somebody else is emptying at the moment. Unavailable if it cannot be reached.
        """

    async def settle(self, entries: Sequence[tuple[QueuedEntry, str | None]]) -> None:
        """Remove entries; those with a reason are put where somebody can look at them."""

    async def close(self) -> None:
        """Let go of the connection."""

    async def agents(self) -> list[str]:
        """Return every agent for whom something lies there or was set aside."""


class UnprovedBatches(Protocol):
    """The batches that hooks of a session have printed and nobody has settled, as long as nobody else may drain it."""

    @property
    def batches(self) -> Sequence[PrintedBatch]:
        """Return the batches, the oldest first."""

    def add(self, batch: PrintedBatch) -> None:
        """Add a batch that was printed just now; it is on disk when this returns."""

    def replace(self, batches: Sequence[PrintedBatch]) -> None:
        """Keep these batches in place of all others, all or nothing."""

    def put_back(self, lines: Sequence[bytes]) -> None:
        """Append lines to the spool again; one that has an id and is there already is not added."""


class SpoolDrain(Protocol):
    """What was taken out of a session's spool, as long as nobody else may drain it."""

    @property
    def lines(self) -> Sequence[SpoolLine]:
        """All there was, in the order in which it was written; what a drain that died has left comes first."""

    @property
    def warnings(self) -> Sequence[str]:
        """What went wrong, a sentence each: text that could not be read, and where it was put."""

    @property
    def unproved(self) -> UnprovedBatches:
        """Return what was printed before and is not settled."""

    def save_copy(self, entry: SpoolLine) -> str:
        """Keep a copy of an entry that is too long to be shown whole; return where it can be read."""

    def finish(self, remaining: Iterable[SpoolLine] = ()) -> None:
        """Say that all has been shown but for what is `remaining`, which waits in the spool again."""


class Spool(Protocol):
    """
    Where lines wait for the hooks of a guest's session, one file a session.

    Anybody on this machine may write to it, in any language: lock the file, append a line by one write, unlock. The
    store has the truth; a line only makes that an agent is told sooner, or while the store is out of reach.

    What is taken out stays set aside until `finish`. Whoever drains next is given it first, so that nothing is lost
    when the one who took it dies. Only one drains a session at a time.

    What a hook has printed is noted as unproved until a reply of the model shows that it was read, or that it was not.
    """

    def append(self, session: str, entries: Sequence[SpoolLine]) -> None:
        """Add entries to a session's spool, each whole or not at all. Unavailable if they cannot be written."""

    def peek(self, session: str) -> Sequence[SpoolLine]:
        """Return what is in a session's spool, with what was taken out and is not finished; nothing changes."""

    def is_empty(self, session: str) -> bool:
        """Return True if there is nothing in a session's spool, found out at little cost."""

    def drain(self, session: str) -> AbstractContextManager[SpoolDrain]:
        """
        Take everything out of a session's spool, and let nobody else drain it meanwhile; without `finish` it is given
        to the next drain. Conflict if another drain of the session takes too long, Unavailable if the files are no use.
        """

    def read_unproved(self, session: str) -> Sequence[PrintedBatch]:
        """Return the batches that hooks of a session have printed and nobody has settled, the oldest first."""

    def settle_unproved(self, session: str) -> AbstractContextManager[UnprovedBatches]:
        """
        Let nobody drain a session while its unproved batches are settled. Conflict if a drain of the session takes too
        long, Unavailable if the files are no use.
        """

    def clear(self, session: str, *, before: Instant) -> bool:
        """
        Remove what belongs to a session of which nothing was heard since then, as far as no line is in it that is still
        to be read; say whether that is all. Else somebody may be about to write: call again after as long a time.
        """

    def read_shown_keys(self, session: str, *, since: Instant = 0) -> dict[str, bool]:
        """
        Return the keys that were shown in this session since then, oldest first, and whether the store knows it of
        each; those of which it does not, however long ago it was.
        """

    def record_shown_keys(self, session: str, keys: Iterable[str], *, is_known: bool, at: Instant) -> None:
        """Note keys that were shown, and whether the store knows it. Of very many that it does, the newest are kept."""


ListGuests = Callable[[], "Sequence[Guest]"]


class Nudge(Protocol):
    async def __call__(self, guest: Guest, text: str) -> None:
        """Tell an idle guest that something waits. Unavailable if it cannot be told."""


class Model(Protocol):
    """A language model: it is shown a conversation and replies, word by word if it can."""

    @property
    def name(self) -> str:
        """As it is written in the configuration, such as `openai:gpt-5`."""

    def respond(self, request: ChatRequest) -> AsyncGenerator[ModelOutput]:
        """
        Yield what the model writes as it writes it, and last the whole `Reply`. It raises `ModelFailed`, and nothing
        else, when there is no reply; what was yielded before is then void.
        """

    async def close(self) -> None: ...


class HttpToolCaller(Protocol):
    """
    Calls tools behind a URL. As with `ToolServerSession`, whatever happens there is an answer, also that nothing did:
    these raise nothing but what concerns the call itself (an argument that cannot be put into the URL). What is called
    may be called again with the same id, if we did not live to write down the answer.
    """

    async def call(self, tool: Tool, id: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Make the HTTP request that a tool is."""


class ToolServerSession(Protocol):
    """The MCP servers of one agent for the length of a cycle: each is connected to when it is first needed."""

    async def list_tools(self, server: ToolServer) -> Sequence[ToolSpec]:
        """Return what a server offers, under its own names; raises Unavailable."""

    async def call(self, server: ToolServer, tool: str, arguments: Mapping[str, Json]) -> ToolResult: ...


class ToolServers(Protocol):
    def open_session(self) -> AbstractAsyncContextManager[ToolServerSession]:
        """Connections are closed, and commands ended, when this is left."""


class CommandRunner(Protocol):
    """
    Runs commands of the user's: what a gate waits for, what an answer sets off.

    A command that is a text is the user's own line, and the shell reads it; one that is a list is run as it is. It has
    its input on stdin and only so long; then it is killed, with all that it started.
    """

    async def run(self, command: str | Sequence[str], *, stdin: str = "", time_limit: float) -> CommandResult:
        """Run a command to its end, or for `time_limit` seconds; one that is not there has ended with 127."""
