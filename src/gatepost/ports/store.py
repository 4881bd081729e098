"""
The store: where the truth is kept.

A **verb** is a plain function over a `Work`: `intake.push(work, wish)`. It runs in one transaction, reads and writes by
naming statements (`tables/sql`), takes time from `work.now` and identity from `work.id`, and has no other effect,
because it may be run more than once. A **query** is a function over a `Reader`, and changes nothing.

    sync code     store.call(verb, ...)              store.look(query, ...)
    async code    await store.run(verb, ..., lane=)  await store.read(query, ...)

All four answer after the fact: when `call` or `run` returns, what the verb did is on disk; when it raises, nothing of
it is, its rings neither. `Unavailable` says that the store could not do it now; the store heals by itself when it can.

A verb marked `@batched` takes a list and returns one outcome for each of its elements: a value, or an error that
concerns that element alone. Calls of it that wait at the same time are run as one, up to so many elements; one that
costs more than others counts for several (`@weigh_by`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from gatepost.core.instants import Instant
from gatepost.core.limits import Limits
from gatepost.core.ring import Ring

Row = tuple[Any, ...]


class Again(Exception):
    """
    What another transaction did got in the way, and running it all again will do. The database says so when two
    collide, and a verb may when what it relied on was removed under it. Callers never see it.
    """


P = ParamSpec("P")
T = TypeVar("T")
W = TypeVar("W")
V = TypeVar("V", bound=Callable[..., Any])


class Reader(Protocol):
    """What a query may do."""

    @property
    def now(self) -> Instant:
        """The time of this transaction: the database's on PostgreSQL, the process's on SQLite, the clock's in tests."""

    @property
    def limits(self) -> Limits: ...

    def one(self, statement: str, /, **parameters: Any) -> Row | None:
        """Run a statement and return its first row."""

    def all(self, statement: str, /, **parameters: Any) -> list[Row]:
        """Run a statement and return its rows. A parameter may be a list where the statement expects one."""

    def page(self, statement: str, /, **parameters: Any) -> list[Row]:
        """
        Run a statement and return the rows of one page: all of them or, where there is only so much `room`, the first
        that fit, and one at least. The others are not read; `is_cut` then says so.
        """

    #: characters of text that the rows of a page may have; None for any number
    room: int | None
    #: whether a page has left rows out
    is_cut: bool


class Work(Reader, Protocol):
    """What a verb may do: read, write, and say what shall happen after the commit."""

    def run(self, statement: str, /, **parameters: Any) -> int:
        """Run a statement and return how many rows it changed."""

    def many(self, statement: str, columns: Mapping[str, Sequence[Any]], /) -> int:
        """Run a statement for every row of these columns at once and return how many rows it changed."""

    def after_commit(self, ring: Ring) -> None:
        """Ring when, and only if, this is committed."""

    def count(self, recipient: int, what: str, by: int) -> None:
        """
        Add to the accounts of a recipient: to what it `accepted`, or to what was `delivered`, `expired` or `discarded`
        and is now reaped. Written once a group, last and in order of recipients, because many verbs touch the same
        row and must neither wait for each other nor deadlock.
        """

    def id(self, prefix: str) -> str:
        """A new id."""


Verb = Callable[Concatenate[Work, P], T]
Query = Callable[Concatenate[Reader, P], T]


class Store(Protocol):
    @property
    def failure(self) -> str | None:
        """Why the last transaction that writes could not be stored; None when it was."""

    @property
    def bell_failures(self) -> int:
        """How often the bell raised after a commit; those rings are lost, and what they were for is found later."""

    def call(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb in a transaction of its own on this thread."""

    def look(self, query: Query[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
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


def batched(verb: Callable[[Work, Sequence[W]], list[T]]) -> Callable[[Work, Sequence[W]], list[T]]:
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
