"""
What a command stands on: what is set here, who I am, and where verbs are done. With a gateway in this home they are
done by it, far away, through its client; without one near, on the store. Commands say both, side by side, and what is
said to them once: they mean the same and return the same.

    ended = place.call(gates.resolve, lambda far: far.resolve_gate, id, by="husam")
"""

import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, ParamSpec, TypeVar

import typer

from gatepost import app, settings
from gatepost.actions import directory, sessions
from gatepost.actions.directory import ADMINISTRATOR
from gatepost.cli import output, words
from gatepost.cli.plain import argument, flag, option
from gatepost.core.entity import Entity
from gatepost.core.session import GuestSession
from gatepost.core.signals import Signal
from gatepost.core.times import Instant
from gatepost.errors import Invalid, Unavailable
from gatepost.hooks.session import Session, find_guest
from gatepost.ports import Query, SignalSink, Store, Verb, ignore_signals
from gatepost.runtime import gateway_files
from gatepost.settings import Configuration, mask_passwords

if TYPE_CHECKING:  # most commands do without
    from gatepost.cli.far import Far
    from gatepost.client import Client

P = ParamSpec("P")
T = TypeVar("T")

#: what the client has for a verb, and for a list
Told = Callable[..., Coroutine[Any, Any, T]]
Listed = Callable[..., AsyncIterator[T]]

#: where hosts tell their commands which session it is
_SESSIONS: Final = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "CODEX_SESSION_ID")
#: seconds between two looks of whoever watches the store
PAUSE: Final = 1.0

To = Annotated[str | None, option("--to", "NAME", "Whose inbox; else the current agent's.")]
Json = Annotated[bool, flag("--json", "Print JSON.")]
EventId = Annotated[str, argument("EVENT", "The id of an event.")]
As = Annotated[str | None, option("--as", "NAME", "Who I am; else the current agent, else the administrator.")]
Limit = Annotated[str, typer.Option("--limit", "-n", metavar="N", help="How many at most.")]


@dataclass(frozen=True, slots=True)
class Here:
    configuration: Configuration
    #: one of these two
    store: Store | None = None
    far: "Far | None" = None
    #: how others are rung for, without a gateway
    bell: SignalSink = ignore_signals

    @property
    def near(self) -> Store:
        """The store, for who knows that there is no gateway."""
        assert self.store is not None
        return self.store

    def do(self, near: Callable[[Store], T], far: "Callable[[Client], Coroutine[Any, Any, T]]") -> T:
        """Do it on the store, or have the gateway do it."""
        return near(self.near) if self.far is None else self.far.ask(far)

    def call(self, verb: Verb[P, T], far: "Callable[[Client], Told[T]]", *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a verb on the store, or what the client has for it, with the same words."""
        return self.do(lambda store: store.call(verb, *args, **kwargs), lambda client: far(client)(*args, **kwargs))

    def look(self, query: Query[P, T], far: "Callable[[Client], Told[T]]", *args: P.args, **kwargs: P.kwargs) -> T:
        """Ask the store, or the gateway, with the same words."""
        return self.do(lambda store: store.query(query, *args, **kwargs), lambda client: far(client)(*args, **kwargs))

    def all(
        self, query: Query[P, list[T]], far: "Callable[[Client], Listed[T]]", *args: P.args, **kwargs: P.kwargs
    ) -> list[T]:
        """The same with what a gateway tells page by page."""

        async def every(client: "Client") -> list[T]:
            return [each async for each in far(client)(*args, **kwargs)]

        return self.do(lambda store: store.query(query, *args, **kwargs), every)

    def now(self) -> Instant:
        return self.near.query(lambda tx: tx.now) if self.far is None else time.time_ns() // 1_000

    def entity(self, name: str) -> Entity:
        return self.look(directory.show, lambda far: far.entity, name)

    def session(self, id: str) -> GuestSession:
        return self.look(sessions.find, lambda far: far.session, id)

    def whose(self, to: str | None) -> str:
        """Whose inbox is meant: the one named, else the current agent's."""
        return whose(to, self.configuration)

    def myself(self, who: str | None) -> str:
        """Who does it: the one named, else the current agent, else the administrator."""
        return words.given(who, "--as") or current(self.configuration) or ADMINISTRATOR


def whose(to: str | None, configuration: Configuration) -> str:
    return named(to, "--to", configuration, otherwise="no address is given, and no current agent is set")


def named(name: str | None, option: str, configuration: Configuration, *, otherwise: str) -> str:
    """The one who is named, else the current agent."""
    found = words.given(name, option) or current(configuration)
    if found is None:
        raise Invalid(otherwise, hint=f"give {option} NAME, or set GATEPOST_AGENT, or `agent` in gatepost.toml")
    return found


def current(configuration: Configuration) -> str | None:
    """The current agent: the one in whose session this is, if its hooks have said who that is, else the one set."""
    inside = session(configuration)
    return (Session(configuration.home, inside).read().agent if inside else None) or configuration.settings.agent


def pusher(configuration: Configuration) -> str | None:
    """The agent in whose session this command was given, if the store knows it too: whatever it pushes is from it."""
    inside = session(configuration)
    state = Session(configuration.home, inside).read() if inside else None
    return state.agent if state is not None and state.registered else None


def folder() -> Path:
    """The working directory."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Unavailable("the working directory is gone", hint="go to a folder that is there") from None


def session(configuration: Configuration) -> str | None:
    """
    The session in which this command was given; hosts tell that to what they run, but for Gemini and Cursor.

    There may be several: one program runs another, and a helper in Codex has a thread of its own, whose hooks are those
    of the session. Then the one counts whose hooks have noted something last.
    """
    ids = list(dict.fromkeys(id for name in _SESSIONS if (id := os.environ.get(name))))
    if len(ids) < 2:
        return ids[0] if ids else None
    noted = {id: guest.revision for id in ids if (guest := find_guest(configuration.home, id)) is not None}
    return max(noted, key=lambda id: noted[id], default=ids[0])


@contextmanager
def opened(configuration: Configuration | None = None) -> Iterator[Here]:
    """The gateway that runs in this home; else the store that is set, made if there is none."""
    configuration = configuration or settings.load()
    with ExitStack() as stack:
        if (far := _reached(configuration, stack)) is not None:
            yield Here(configuration, far=far)
        else:
            bell = build_signal_sink(configuration)
            store = stack.enter_context(app.prepare_store(configuration, signal_sink=bell, report=output.talk))
            yield Here(configuration, store=store, bell=bell)


def build_signal_sink(configuration: Configuration) -> SignalSink:
    """
    Doorbells need no connection, so a command of a moment can ring them; whoever hears by other ways, looks. Guests of
    this machine find what is for them in their spools, but for the one in whose session this command was given.
    """
    carrier = app.build_spool_writer(configuration, own_session=session(configuration))
    if not configuration.settings.transport.startswith("socket:"):
        return carrier
    transport = app.build_transport(configuration)

    def ring(rings: Sequence[Signal]) -> None:
        transport.send(rings)
        carrier(rings)

    return ring


def _reached(configuration: Configuration, stack: ExitStack) -> "Far | None":
    """The gateway of this home, if it runs, is on the store that is set, and answers."""
    url = gateway(configuration)
    if url is None:
        return None
    from gatepost.cli import far

    return stack.enter_context(far.reached(url, configuration.home, partial(is_at, configuration, url)))


def gateway(configuration: Configuration) -> str | None:
    """Where the gateway of this home says on its socket that it is, if it is on the store that is set."""
    found = gateway_files.find_gateway(configuration.home)
    return found.url if found and found.store == mask_passwords(configuration.settings.store) else None


async def is_at(configuration: Configuration, url: str) -> bool:
    """Return True if the gateway of this home is still at that URL."""
    import asyncio  # most commands do without

    return await asyncio.to_thread(gateway, configuration) == url
